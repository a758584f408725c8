//! Replies: OK, EOF and ERR packets, and result sets.

pub mod binary;
mod cells;
pub mod charset;
pub mod column;
mod format;
pub mod result_set;
pub mod short_rows;
pub mod text;

pub use charset::ResultCharset;

use muster_protocol::{put_length, put_length_bytes};
use muster_types::SqlError;
use mysql_common::constants::{CapabilityFlags, StatusFlags};
use mysql_common::packets::{ErrPacket, ServerError, SqlState};
use mysql_common::proto::MySerialize;

/// The status that every OK and EOF packet carries.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    pub flags: StatusFlags,
    pub warnings: u16,
}

/// An OK packet. `header` is 0x00, or 0xFE when it ends a result set.
pub fn ok(header: u8, affected_rows: u64, last_insert_id: u64, status: Status, info: &str) -> Vec<u8> {
    let mut out = vec![header];
    put_length(affected_rows, &mut out);
    put_length(last_insert_id, &mut out);
    out.extend_from_slice(&status.flags.bits().to_le_bytes());
    out.extend_from_slice(&status.warnings.to_le_bytes());
    if !info.is_empty() {
        put_length_bytes(info.as_bytes(), &mut out);
    }
    out
}

/// An EOF packet, for clients that have not left it behind.
pub fn eof(status: Status) -> Vec<u8> {
    let mut out = vec![0xFE];
    out.extend_from_slice(&status.warnings.to_le_bytes());
    out.extend_from_slice(&status.flags.bits().to_le_bytes());
    out
}

/// The packet that ends a result set for this client.
pub fn end_of_rows(capabilities: CapabilityFlags, status: Status) -> Vec<u8> {
    if capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) { ok(0xFE, 0, 0, status, "") } else { eof(status) }
}

pub fn error(e: &SqlError, capabilities: CapabilityFlags, charset: ResultCharset) -> Vec<u8> {
    let state = e.code.sqlstate().as_bytes().try_into().unwrap_or(*b"HY000");
    let state = capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41).then(|| SqlState::new(state));
    let mut out = Vec::new();
    ErrPacket::Error(ServerError::new(e.code.number(), state, charset.message(&e.message))).serialize(&mut out);
    out
}
