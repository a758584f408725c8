//! Parts of texts: INSERT, SUBSTRING_INDEX, QUOTE, ORD.

use super::characters::{Characters, bytes_in_charset};
use crate::{Call, call::int};
use muster_types::{Result, SqlType, Value};

/// `INSERT(text, position, length, new)`: `length` characters from `position` on become `new`.
pub fn insert(call: &mut Call, args: &[Value]) -> Result<Value> {
    let text = Characters::of(args, 0);
    let (position, length, new) = (int(args, 1), int(args, 2), Characters::of(args, 3));
    let characters = text.count() as i64;
    // As in MySQL, what stands behind a text of longer characters than bytes may be the first place behind it.
    if position < 1 || position > text.bytes.len() as i64 || position > characters + 1 {
        return Ok(args[0].clone());
    }
    let start = text.offset(position as usize - 1);
    let rest = characters - (position - 1);
    let end = match length {
        0.. if length < rest => text.offset((position - 1 + length) as usize),
        _ => text.bytes.len(),
    };
    let bytes = [&text.bytes[..start], &new.bytes, &text.bytes[end..]].concat();
    if !call.has_room(bytes.len())? {
        return Ok(Value::Null);
    }
    Ok(text.value(bytes))
}

/// `SUBSTRING_INDEX(text, delimiter, count)`: what stands in front of the delimiter number `count`; behind it, counted
/// from the end, if `count` is negative.
pub fn substring_index(_: &mut Call, args: &[Value]) -> Result<Value> {
    let (text, delimiter, count) = (Characters::of(args, 0), Characters::of(args, 1), int(args, 2));
    if text.bytes.is_empty() || delimiter.bytes.is_empty() || count == 0 {
        return Ok(text.value(Vec::new()));
    }
    let nth = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let part = if count > 0 {
        let end = text.positions(&delimiter.bytes).nth(nth - 1);
        &text.bytes[..end.unwrap_or(text.bytes.len())]
    } else {
        // Delimiters that overlap are those that are found from the front.
        let found = text.positions(&delimiter.bytes).count();
        let last = found.checked_sub(nth).and_then(|i| text.positions(&delimiter.bytes).nth(i));
        &text.bytes[last.map_or(0, |at| at + delimiter.bytes.len())..]
    };
    Ok(text.value(part.to_vec()))
}

/// The text as a literal of SQL; NULL is the word.
pub fn quote(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(match call.ty {
            SqlType::Bytes { .. } => Value::Bytes(b"NULL".to_vec()),
            _ => Value::Text("NULL".into()),
        });
    }
    let text = Characters::of(args, 0);
    if !call.has_room(2 * text.bytes.len() + 2)? {
        return Ok(Value::Null);
    }
    let mut quoted = Vec::with_capacity(text.bytes.len() + 2);
    quoted.push(b'\'');
    for byte in text.bytes.iter() {
        match byte {
            0 => quoted.extend(b"\\0"),
            0x1A => quoted.extend(b"\\Z"),
            b'\'' | b'\\' => quoted.extend([b'\\', *byte]),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    Ok(text.value(quoted))
}

/// The bytes of the first character as a number.
pub fn ord(call: &mut Call, args: &[Value]) -> Result<Value> {
    let first = match &args[0] {
        Value::Text(text) => [Value::Text(text.chars().take(1).collect())],
        Value::Bytes(bytes) => [Value::Bytes(bytes.iter().take(1).copied().collect())],
        other => [Value::Text(other.to_text(6).unwrap_or_default().chars().take(1).collect())],
    };
    let bytes = bytes_in_charset(call, &first, 0);
    Ok(Value::Int(bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))))
}
