//! The binary form of documents: how it is written. Drawn in `docs/format.md`, "JSON documents".
//!
//! A container is written in the small form, whose counts and offsets have 16 bits, and anew in the large one with 32
//! bits if that turns out to be too small. Only a container of more than 64 KiB is written twice, and the containers in
//! it may be small ones.

use super::{DEPTH_MAX, JsonLimit, JsonObject, JsonValue};
use crate::{Decimal, SqlType};

pub(super) const SMALL_OBJECT: u8 = 0x0;
pub(super) const LARGE_OBJECT: u8 = 0x1;
pub(super) const SMALL_ARRAY: u8 = 0x2;
pub(super) const LARGE_ARRAY: u8 = 0x3;
pub(super) const LITERAL: u8 = 0x4;
pub(super) const INT16: u8 = 0x5;
pub(super) const UINT16: u8 = 0x6;
pub(super) const INT32: u8 = 0x7;
pub(super) const UINT32: u8 = 0x8;
pub(super) const INT64: u8 = 0x9;
pub(super) const UINT64: u8 = 0xA;
pub(super) const DOUBLE: u8 = 0xB;
pub(super) const TEXT: u8 = 0xC;
pub(super) const OPAQUE: u8 = 0xF;

pub(super) const LITERAL_NULL: u8 = 0;
pub(super) const LITERAL_TRUE: u8 = 1;
pub(super) const LITERAL_FALSE: u8 = 2;

/// Types of opaque values that readers turn into values of their own.
pub(super) const OPAQUE_TIMESTAMP: u8 = 7;
pub(super) const OPAQUE_DATE: u8 = 10;
pub(super) const OPAQUE_TIME: u8 = 11;
pub(super) const OPAQUE_DATETIME: u8 = 12;
pub(super) const OPAQUE_DECIMAL: u8 = 246;

/// Bytes of a document at most: offsets have 32 bits.
const BYTES_MAX: usize = u32::MAX as usize;

/// Bytes of counts and offsets of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OffsetWidth {
    Small,
    Large,
}

impl OffsetWidth {
    pub fn bytes(self) -> usize {
        match self {
            OffsetWidth::Small => 2,
            OffsetWidth::Large => 4,
        }
    }

    fn max(self) -> usize {
        match self {
            OffsetWidth::Small => u16::MAX as usize,
            OffsetWidth::Large => u32::MAX as usize,
        }
    }

    fn put(self, at: usize, number: usize, out: &mut [u8]) {
        match self {
            OffsetWidth::Small => out[at..at + 2].copy_from_slice(&(number as u16).to_le_bytes()),
            OffsetWidth::Large => out[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes()),
        }
    }
}

/// A container that its form is too small for, or that no form can hold.
enum Unfit {
    NeedsLarge,
    Limit(JsonLimit),
}

impl From<JsonLimit> for Unfit {
    fn from(limit: JsonLimit) -> Unfit {
        Unfit::Limit(limit)
    }
}

/// A document as bytes. Error: it is deeper or longer than a document may be.
pub fn encode(value: &JsonValue) -> Result<Vec<u8>, JsonLimit> {
    let mut out = vec![0];
    match append(value, OffsetWidth::Large, 0, &mut out) {
        Ok(kind) if out.len() <= BYTES_MAX => {
            out[0] = kind;
            Ok(out)
        }
        Ok(_) | Err(Unfit::NeedsLarge) => Err(JsonLimit::TooLarge),
        Err(Unfit::Limit(limit)) => Err(limit),
    }
}

/// Appends a value without its type, which is returned. `parent`: the form of the container around it. What needs the
/// large form is not even begun in it within a small container, which needs the large form too then: so each container
/// is written in the large form once, however deep it lies.
fn append(value: &JsonValue, parent: OffsetWidth, depth: usize, out: &mut Vec<u8>) -> Result<u8, Unfit> {
    if value.is_container() && depth >= DEPTH_MAX {
        return Err(JsonLimit::TooDeep.into());
    }
    let start = out.len();
    let write = |width: OffsetWidth, out: &mut Vec<u8>| match value {
        JsonValue::Array(items) => array(items, width, depth, out),
        JsonValue::Object(members) => object(members, width, depth, out),
        _ => Ok(()),
    };
    let (small, large) = match value {
        JsonValue::Array(_) => (SMALL_ARRAY, LARGE_ARRAY),
        JsonValue::Object(_) => (SMALL_OBJECT, LARGE_OBJECT),
        scalar => return Ok(append_scalar(scalar, out)),
    };
    match write(OffsetWidth::Small, out) {
        Ok(()) => Ok(small),
        Err(Unfit::NeedsLarge) if parent == OffsetWidth::Large => {
            out.truncate(start);
            write(OffsetWidth::Large, out)?;
            Ok(large)
        }
        Err(unfit) => Err(unfit),
    }
}

/// Appends what is no container, without its type.
fn append_scalar(value: &JsonValue, out: &mut Vec<u8>) -> u8 {
    match value {
        JsonValue::Null | JsonValue::Array(_) | JsonValue::Object(_) => {
            out.push(LITERAL_NULL);
            LITERAL
        }
        JsonValue::Bool(b) => {
            out.push(if *b { LITERAL_TRUE } else { LITERAL_FALSE });
            LITERAL
        }
        JsonValue::Int(i) => {
            if let Ok(short) = i16::try_from(*i) {
                out.extend_from_slice(&short.to_le_bytes());
                INT16
            } else if let Ok(middle) = i32::try_from(*i) {
                out.extend_from_slice(&middle.to_le_bytes());
                INT32
            } else {
                out.extend_from_slice(&i.to_le_bytes());
                INT64
            }
        }
        JsonValue::UInt(u) => {
            if let Ok(short) = u16::try_from(*u) {
                out.extend_from_slice(&short.to_le_bytes());
                UINT16
            } else if let Ok(middle) = u32::try_from(*u) {
                out.extend_from_slice(&middle.to_le_bytes());
                UINT32
            } else {
                out.extend_from_slice(&u.to_le_bytes());
                UINT64
            }
        }
        JsonValue::Double(x) => {
            out.extend_from_slice(&x.to_le_bytes());
            DOUBLE
        }
        JsonValue::Text(text) => {
            put_length(text.len(), out);
            out.extend_from_slice(text.as_bytes());
            TEXT
        }
        JsonValue::Decimal(d) => opaque(OPAQUE_DECIMAL, &decimal_bytes(*d), out),
        JsonValue::Date(d) => opaque(OPAQUE_DATE, &i64::from(*d).to_le_bytes(), out),
        JsonValue::DateTime(t) => opaque(OPAQUE_DATETIME, &t.to_le_bytes(), out),
        JsonValue::Timestamp(t) => opaque(OPAQUE_TIMESTAMP, &t.to_le_bytes(), out),
        JsonValue::Time(t) => opaque(OPAQUE_TIME, &t.to_le_bytes(), out),
        JsonValue::Opaque { field_type, bytes } => opaque(*field_type, bytes, out),
    }
}

fn opaque(field_type: u8, bytes: &[u8], out: &mut Vec<u8>) -> u8 {
    out.push(field_type);
    put_length(bytes.len(), out);
    out.extend_from_slice(bytes);
    OPAQUE
}

/// A length in groups of seven bits, the lowest first; the highest bit says that another group follows.
fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length > 0x7F {
        out.push(0x80 | (length & 0x7F) as u8);
        length >>= 7;
    }
    out.push(length as u8);
}

/// Precision and scale, then the unscaled number in as many bytes as MySQL's decimals of these digits take.
fn decimal_bytes(decimal: Decimal) -> Vec<u8> {
    let precision = decimal.precision().max(decimal.scale).max(1);
    let ty = SqlType::Decimal { precision, scale: decimal.scale };
    let width = (ty.declared_bytes() as usize).clamp(1, 32);
    let unscaled = decimal.unscaled().to_be_bytes();
    let mut bytes = vec![precision, decimal.scale];
    bytes.extend_from_slice(&unscaled[32 - width..]);
    bytes
}

/// Returns true for values that stand in the entry of their container, in place of an offset.
fn is_inlined(kind: u8, width: OffsetWidth) -> bool {
    matches!(kind, LITERAL | INT16 | UINT16) || width == OffsetWidth::Large && matches!(kind, INT32 | UINT32)
}

/// Fills in the entry of a value and appends the value, unless it stands in the entry. `start`: of the container.
fn put_value(
    value: &JsonValue,
    entry: usize,
    start: usize,
    width: OffsetWidth,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    let at = out.len();
    let kind = append(value, width, depth, out)?;
    out[entry] = kind;
    if is_inlined(kind, width) {
        let bytes = out.split_off(at);
        out[entry + 1..entry + 1 + bytes.len()].copy_from_slice(&bytes);
        return Ok(());
    }
    if at - start > width.max() {
        return Err(Unfit::NeedsLarge);
    }
    width.put(entry + 1, at - start, out);
    Ok(())
}

/// Count and size; entries of values; values. The offsets count from the beginning of the container.
fn array(items: &[JsonValue], width: OffsetWidth, depth: usize, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let (start, offset) = (out.len(), width.bytes());
    let head = 2 * offset + items.len() * (1 + offset);
    if items.len() > width.max() || head > width.max() {
        return Err(Unfit::NeedsLarge);
    }
    out.resize(start + head, 0);
    for (i, item) in items.iter().enumerate() {
        put_value(item, start + 2 * offset + i * (1 + offset), start, width, depth + 1, out)?;
        check_size(start, width, out)?;
    }
    finish(start, items.len(), width, out)
}

/// Count and size; entries of names; entries of values; names; values.
fn object(members: &JsonObject, width: OffsetWidth, depth: usize, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let (start, offset, count) = (out.len(), width.bytes(), members.len());
    let names = start + 2 * offset;
    let values = names + count * (offset + 2);
    let head = values + count * (1 + offset) - start;
    if count > width.max() || head > width.max() {
        return Err(Unfit::NeedsLarge);
    }
    out.resize(start + head, 0);
    for (i, (name, _)) in members.members().iter().enumerate() {
        let Ok(length) = u16::try_from(name.len()) else { return Err(JsonLimit::KeyTooLong.into()) };
        let (at, entry) = (out.len() - start, names + i * (offset + 2));
        if at > width.max() {
            return Err(Unfit::NeedsLarge);
        }
        width.put(entry, at, out);
        out[entry + offset..entry + offset + 2].copy_from_slice(&length.to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    for (i, (_, value)) in members.members().iter().enumerate() {
        put_value(value, values + i * (1 + offset), start, width, depth + 1, out)?;
        check_size(start, width, out)?;
    }
    finish(start, count, width, out)
}

/// Ends the writing of a container that its form is too small for before the rest of it is written in vain.
fn check_size(start: usize, width: OffsetWidth, out: &[u8]) -> Result<(), Unfit> {
    if out.len() - start > width.max() { Err(Unfit::NeedsLarge) } else { Ok(()) }
}

fn finish(start: usize, count: usize, width: OffsetWidth, out: &mut [u8]) -> Result<(), Unfit> {
    check_size(start, width, out)?;
    let size = out.len() - start;
    width.put(start, count, out);
    width.put(start + width.bytes(), size, out);
    Ok(())
}
