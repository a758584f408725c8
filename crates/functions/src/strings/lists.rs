//! Functions of lists of texts: FIELD, FIND_IN_SET, ELT, MAKE_SET, EXPORT_SET.

use super::characters::Characters;
use crate::{Call, call::int};
use muster_types::{Collation, Result, Value};

/// `FIELD(value, other, ..)`: position of the first of the others that is equal, from 1; 0 if none is.
pub fn field(call: &mut Call, args: &[Value]) -> Result<Value> {
    let equal = |other: &Value| match (&args[0], other) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Text(a), Value::Text(b)) => call.collation.equals(a, b),
        (a, b) => a == b,
    };
    let position = args[1..].iter().position(equal);
    Ok(Value::Int(position.map_or(0, |i| i as i64 + 1)))
}

/// Position of a text in a text of elements with commas between them, from 1; 0 if it is none of them.
pub fn find_in_set(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (wanted, list) = (Characters::of(args, 0), Characters::of(args, 1));
    if list.bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    // Spaces at the end count under all collations.
    let spaces = |bytes: &[u8]| bytes.iter().rev().take_while(|byte| **byte == b' ').count();
    let equal = |element: &[u8]| match (std::str::from_utf8(element), std::str::from_utf8(&wanted.bytes)) {
        (Ok(text), Ok(wanted)) if call.collation != Collation::Binary => {
            spaces(element) == spaces(wanted.as_bytes()) && call.collation.equals(text, wanted)
        }
        _ => *element == *wanted.bytes,
    };
    let position = list.bytes.split(|b| *b == b',').position(equal);
    Ok(Value::Int(position.map_or(0, |i| i as i64 + 1)))
}

/// `ELT(n, text, ..)`: the text number n.
pub fn elt(_: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let n = usize::try_from(int(args, 0)).unwrap_or(0);
    Ok(args.get(n).filter(|_| n > 0).cloned().unwrap_or(Value::Null))
}

/// The bits of a number.
fn bits(args: &[Value]) -> u64 {
    match args.first() {
        Some(Value::UInt(n)) => *n,
        _ => int(args, 0) as u64,
    }
}

/// `MAKE_SET(bits, text, ..)`: the texts whose bits are set, without those that are NULL.
pub fn make_set(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let bits = bits(args);
    let chosen = |i: &usize| (bits >> (i - 1)) & 1 == 1 && !args[*i].is_null();
    let chosen: Vec<Characters> = (1..args.len().min(65)).filter(chosen).map(|i| Characters::of(args, i)).collect();
    let bytes = chosen.iter().map(|text| text.bytes.len() + 1).sum();
    if !call.has_room(bytes)? {
        return Ok(Value::Null);
    }
    let parts: Vec<&[u8]> = chosen.iter().map(|text| &*text.bytes).collect();
    let is_binary = args[1..].iter().any(|arg| matches!(arg, Value::Bytes(_)));
    Ok(Characters { bytes: [].as_slice().into(), is_binary }.value(parts.join(&b',')))
}

/// `EXPORT_SET(bits, on, off [, separator [, count]])`: a text for each bit, the lowest first.
pub fn export_set(call: &mut Call, args: &[Value]) -> Result<Value> {
    const BITS: i64 = 64;
    let bits = bits(args);
    // A count that is no number of bits means all of them.
    let count = match args.len() {
        5 => Some(int(args, 4)).filter(|count| (0..=BITS).contains(count)).unwrap_or(BITS),
        _ => BITS,
    };
    let (on, off) = (Characters::of(args, 1), Characters::of(args, 2));
    let separator = if args.len() > 3 { Characters::of(args, 3).bytes } else { b",".as_slice().into() };
    let longest = on.bytes.len().max(off.bytes.len()) + separator.len();
    if !call.has_room(longest.saturating_mul(count as usize))? {
        return Ok(Value::Null);
    }
    let texts = (0..count).map(|bit| if (bits >> bit) & 1 == 1 { &*on.bytes } else { &*off.bytes });
    Ok(on.value(texts.collect::<Vec<_>>().join(&*separator)))
}
