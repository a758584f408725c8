//! Universal unique identifiers (RFC 4122).
//!
//! UUID() makes those of version 1: the time in units of 100 nanoseconds since 1582-10-15, a clock sequence and a
//! node that are random and the server's. No two of one server have the same time: if the clock has not gone on, the
//! time is one more than that of the last one.

use super::random_bytes::fill;
use crate::{Call, strings::characters::Characters};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};
use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Units of 100 nanoseconds from 1582-10-15 to 1970-01-01.
const EPOCH_OFFSET: u64 = 0x01B2_1DD2_1381_4000;

/// The positions of the hyphens in an identifier of 36 characters.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The state from which a server makes its identifiers.
struct Server {
    clock_sequence: [u8; 2],
    node: [u8; 6],
    last_time: AtomicU64,
    /// The number of the next UUID_SHORT, without the server's number.
    next_short: AtomicU64,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let mut random = [0; 8];
    // Without random numbers identifiers are unique on this server only.
    let _ = fill(&mut random);
    let [a, b, node @ ..] = random;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    Server {
        // The variant of the standard.
        clock_sequence: [a & 0x3F | 0x80, b],
        // A node that is no network card has the bit of addresses for groups.
        node: [node[0] | 1, node[1], node[2], node[3], node[4], node[5]],
        last_time: AtomicU64::new(0),
        next_short: AtomicU64::new((seconds & 0xFFFF_FFFF) << 24),
    }
});

/// The time of a new identifier.
fn next_time() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64 / 100) + EPOCH_OFFSET;
    let after = |last: u64| now.max(last + 1);
    match SERVER.last_time.fetch_update(Relaxed, Relaxed, |last| Some(after(last))) {
        Ok(last) | Err(last) => after(last),
    }
}

pub fn uuid(_: &mut Call, _: &[Value]) -> Result<Value> {
    let time = next_time();
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(time as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((time >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    bytes[8..10].copy_from_slice(&SERVER.clock_sequence);
    bytes[10..].copy_from_slice(&SERVER.node);
    Ok(Value::Text(printed(bytes)))
}

/// The server's number in 8 bits, the seconds of its start in 32, a number that grows by one in 24.
pub fn uuid_short(call: &mut Call, _: &[Value]) -> Result<Value> {
    let server = (call.session_int(0) as u64 & 255) << 56;
    Ok(Value::UInt(server | SERVER.next_short.fetch_add(1, Relaxed) & ((1 << 56) - 1)))
}

fn printed(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let digits = b"0123456789abcdef";
        text.push(digits[usize::from(byte >> 4)].into());
        text.push(digits[usize::from(byte & 15)].into());
    }
    text
}

/// The bytes of an identifier in 32 digits, with hyphens, or with these in braces.
fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let text = match text.len() {
        38 => text.strip_prefix(b"{")?.strip_suffix(b"}")?,
        _ => text,
    };
    let has_hyphens = text.len() == 36;
    if !has_hyphens && text.len() != 32 || has_hyphens && HYPHENS.iter().any(|i| text[*i] != b'-') {
        return None;
    }
    let mut bytes = [0; 16];
    let digits = text.iter().enumerate().filter(|(i, _)| !has_hyphens || !HYPHENS.contains(i));
    for (i, (_, digit)) in digits.enumerate() {
        let digit = (*digit as char).to_digit(16)? as u8;
        bytes[i / 2] = bytes[i / 2] << 4 | digit;
    }
    Some(bytes)
}

/// Error 1411 for what is no identifier.
fn no_identifier(call: &Call, text: &[u8]) -> SqlError {
    let text = String::from_utf8_lossy(text);
    let message = format!("Incorrect string value: '{text}' for function {}", call.name);
    SqlError::new(ErrorCode::WrongValueForType, message)
}

/// True if the parts of the time are to be swapped.
fn swaps(call: &mut Call, args: &[Value]) -> bool {
    match args.get(1) {
        None | Some(Value::Null) => false,
        Some(flag) => !matches!(call.cast(flag, SqlType::Double), Value::Double(0.0)),
    }
}

/// `UUID_TO_BIN(text [, swap])`: with `swap` the part of the time that changes least comes first.
pub fn uuid_to_bin(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let text = Characters::of(args, 0).bytes;
    let Some(bytes) = parse(&text) else { return Err(no_identifier(call, &text)) };
    let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
    if !swaps(call, args) {
        return Ok(Value::Bytes(bytes.to_vec()));
    }
    Ok(Value::Bytes([[g, h, e, f, a, b, c, d], rest].concat()))
}

/// `BIN_TO_UUID(bytes [, swap])`.
pub fn bin_to_uuid(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let text = Characters::of(args, 0).bytes;
    let Ok(bytes) = <[u8; 16]>::try_from(&*text) else { return Err(no_identifier(call, &text)) };
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
    let bytes = if swaps(call, args) { [e, f, g, h, c, d, a, b, i, j, k, l, m, n, o, p] } else { bytes };
    Ok(Value::Text(printed(bytes)))
}

pub fn is_uuid(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(parse(&Characters::of(args, 0).bytes).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_in_three_forms() {
        let want = parse(b"6ccd780c-baba-1026-9564-5b8c656024db").unwrap();
        assert_eq!(printed(want), "6ccd780c-baba-1026-9564-5b8c656024db");
        assert_eq!(parse(b"6CCD780CBABA102695645B8C656024DB"), Some(want));
        assert_eq!(parse(b"{6ccd780c-baba-1026-9564-5b8c656024db}"), Some(want));
        for text in ["", "x", "{6CCD780CBABA102695645B8C656024DB}", "6ccd780c-baba1026-9564-5b8c656024db-"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn times_of_identifiers_always_grow() {
        let times: Vec<u64> = (0..10_000).map(|_| next_time()).collect();
        assert!(times.is_sorted_by(|a, b| a < b));
    }
}
