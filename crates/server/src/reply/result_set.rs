//! A result set: column count, column definitions, rows, end.

use super::{ResultCharset, Status, binary, column, end_of_rows, eof, text};
use crate::{ConnectionError, packet::PacketStream};
use arrow_array::RecordBatch;
use muster_engine::ColumnInfo;
use muster_protocol::put_length;
use mysql_common::constants::CapabilityFlags;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Rows of texts (COM_QUERY).
    Text,
    /// Rows of values in the form of their types (COM_STMT_EXECUTE).
    Binary,
}

/// Writes what comes before the rows.
pub async fn write_head(
    packets: &mut PacketStream,
    columns: &[ColumnInfo],
    charset: ResultCharset,
    capabilities: CapabilityFlags,
    status: Status,
) -> Result<(), ConnectionError> {
    let mut count = Vec::new();
    put_length(columns.len() as u64, &mut count);
    packets.write(&count).await?;
    write_columns(packets, columns, charset, capabilities, status).await
}

/// Writes column definitions and, for clients that expect it, the EOF behind them.
pub async fn write_columns(
    packets: &mut PacketStream,
    columns: &[ColumnInfo],
    charset: ResultCharset,
    capabilities: CapabilityFlags,
    status: Status,
) -> Result<(), ConnectionError> {
    for column in columns {
        packets.write(&column::definition(column, charset)).await?;
    }
    if !capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
        packets.write(&eof(status)).await?;
    }
    Ok(())
}

/// Writes the rows of a batch.
pub async fn write_rows(
    packets: &mut PacketStream,
    columns: &[ColumnInfo],
    batch: &RecordBatch,
    charset: ResultCharset,
    encoding: Encoding,
) -> Result<(), ConnectionError> {
    let mut payload = Vec::new();
    match encoding {
        Encoding::Text => {
            let writers = text::writers(columns, batch, charset);
            for row in 0..batch.num_rows() {
                payload.clear();
                writers.iter().for_each(|w| w.write(row, &mut payload));
                packets.write(&payload).await?;
            }
        }
        Encoding::Binary => {
            let writers = binary::writers(columns, batch, charset);
            for row in 0..batch.num_rows() {
                payload.clear();
                binary::write_row(&writers, row, &mut payload);
                packets.write(&payload).await?;
            }
        }
    }
    Ok(())
}

pub async fn write_end(
    packets: &mut PacketStream,
    capabilities: CapabilityFlags,
    status: Status,
) -> Result<(), ConnectionError> {
    packets.write(&end_of_rows(capabilities, status)).await
}
