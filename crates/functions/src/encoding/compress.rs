//! COMPRESS, UNCOMPRESS, UNCOMPRESSED_LENGTH.
//!
//! A compressed text is the number of its bytes in 4 bytes, little-endian, and the text in the format of zlib; the
//! empty text is empty. Its last byte is never a space, which a CHAR column would drop: a point follows that.

use crate::{Call, strings::characters::bytes_in_charset};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::io::{Read, Write};

/// Bytes of the length in front.
const HEADER: usize = 4;

/// The upper bits of the length are not used.
const LENGTH: u32 = 0x3FFF_FFFF;

/// Most bytes of a compressed text: zlib's bound, the length in front and the point behind.
pub fn bound(bytes: u64) -> u64 {
    bytes + (bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 13 + HEADER as u64 + 1
}

pub fn compress(call: &mut Call, args: &[Value]) -> Result<Value> {
    let bytes = bytes_in_charset(call, args, 0);
    if bytes.is_empty() {
        return Ok(Value::Bytes(Vec::new()));
    }
    if !call.has_room(usize::try_from(bound(bytes.len() as u64)).unwrap_or(usize::MAX))? {
        return Ok(Value::Null);
    }
    let mut out = (bytes.len() as u32 & LENGTH).to_le_bytes().to_vec();
    let mut encoder = ZlibEncoder::new(&mut out, Compression::default());
    let written = encoder.write_all(&bytes).and_then(|()| encoder.finish().map(|_| ()));
    written.map_err(|e| SqlError::internal(format!("zlib: {e}")))?;
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(Value::Bytes(out))
}

/// The length that a compressed text begins with; `None` with warning 1259 if it is too short to be one.
fn stored_length(call: &mut Call, bytes: &[u8]) -> Option<u32> {
    match bytes.split_first_chunk::<HEADER>() {
        Some((length, rest)) if !rest.is_empty() => Some(u32::from_le_bytes(*length) & LENGTH),
        _ => {
            call.warn(ErrorCode::ZlibDataError, "ZLIB: Input data corrupted");
            None
        }
    }
}

pub fn uncompressed_length(call: &mut Call, args: &[Value]) -> Result<Value> {
    let bytes = bytes_in_charset(call, args, 0);
    if bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    Ok(Value::Int(stored_length(call, &bytes).unwrap_or(0).into()))
}

/// The text of a compressed text. NULL with a warning if it is none: 1256 for a length that no result may have.
pub fn uncompress(call: &mut Call, args: &[Value]) -> Result<Value> {
    let bytes = bytes_in_charset(call, args, 0);
    if bytes.is_empty() {
        return Ok(Value::Bytes(Vec::new()));
    }
    let Some(length) = stored_length(call, &bytes) else { return Ok(Value::Null) };
    if length as usize > call.text_bytes_max {
        let message = format!(
            "Uncompressed data size too large; the maximum size is {} (probably, length of uncompressed data was corrupted)",
            call.text_bytes_max
        );
        call.warn(ErrorCode::TooBigForUncompress, message);
        return Ok(Value::Null);
    }
    (call.reserve)(length as usize)?;
    let mut out = Vec::new();
    // One byte more than there may be tells that there are too many.
    let read = ZlibDecoder::new(&bytes[HEADER..]).take(u64::from(length) + 1).read_to_end(&mut out);
    if read.is_ok() && out.len() <= length as usize {
        return Ok(Value::Bytes(out));
    }
    let (code, message) = match read {
        Ok(_) => {
            let message =
                "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)";
            (ErrorCode::ZlibBufferError, message)
        }
        Err(_) => (ErrorCode::ZlibDataError, "ZLIB: Input data corrupted"),
    };
    call.warn(code, message);
    Ok(Value::Null)
}
