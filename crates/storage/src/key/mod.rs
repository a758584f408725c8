//! Keys as bytes that compare as the keys do ("memcomparable"), so one `memcmp` serves every type.
//!
//! ```text
//!   KeyCodec   the parts of one tree's key; makes keys from rows and values    mod.rs
//!   encode     one part's bytes                                              encode.rs
//!   Keys       many keys from Arrow arrays                                   bulk.rs
//!   KeyWords   short keys as numbers                                         words.rs
//!   parts      where the parts of a key end                                  parts.rs
//!   ByteRange  ranges of values as ranges of bytes                           range.rs
//! ```
//!
//! Bytes: `docs/format.md`, "Keys".

mod bulk;
mod encode;
mod parts;
mod range;
mod words;

#[cfg(test)]
mod tests;

pub use bulk::{KeyList, Keys};
pub use encode::{cut_bytes, cut_text};
pub use muster_types::prefix_end;
pub use range::ByteRange;
pub use words::{KeyWords, NumberWords, WordBound, be_word};

use crate::{Result, StorageError};
use arrow_buffer::i256;
use muster_types::{
    Collation, Decimal, IntWidth, MemberList, SqlType, Value,
    sql_type::{DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION},
};

/// How values of a part become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Int {
        width: usize,
        signed: bool,
    },
    /// Decimals of up to 18 digits.
    Decimal64 {
        scale: u8,
    },
    /// Decimals of up to 38 digits.
    Decimal128 {
        scale: u8,
    },
    Decimal256 {
        scale: u8,
    },
    Float,
    Double,
    Text(Collation),
    Bytes,
}

impl KeyKind {
    /// `Null` columns (there are none in tables) count as one-byte integers.
    pub fn of(ty: &SqlType) -> KeyKind {
        match *ty {
            SqlType::Null | SqlType::Bool => KeyKind::Int { width: 1, signed: true },
            SqlType::Int { width, unsigned } => KeyKind::Int { width: int_bytes(width), signed: !unsigned },
            SqlType::Decimal { precision, scale } if precision <= DECIMAL64_MAX_PRECISION => {
                KeyKind::Decimal64 { scale }
            }
            SqlType::Decimal { precision, scale } if precision <= DECIMAL128_MAX_PRECISION => {
                KeyKind::Decimal128 { scale }
            }
            SqlType::Decimal { scale, .. } => KeyKind::Decimal256 { scale },
            SqlType::Float => KeyKind::Float,
            SqlType::Double => KeyKind::Double,
            SqlType::Date => KeyKind::Int { width: 4, signed: true },
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => {
                KeyKind::Int { width: 8, signed: true }
            }
            SqlType::Enum(members) => KeyKind::Int { width: enum_bytes(members), signed: false },
            SqlType::Year => KeyKind::Int { width: 2, signed: false },
            SqlType::Unsigned(number) => KeyKind::of(&number.plain()),
            SqlType::Set(_) | SqlType::Bit { .. } => KeyKind::Int { width: 8, signed: false },
            SqlType::Text { collation, .. } => KeyKind::Text(collation),
            // No index has a document as a part of its key.
            SqlType::Bytes { .. } | SqlType::Json => KeyKind::Bytes,
        }
    }

    /// Bytes of every value, the null byte not counted; `None` when values differ.
    fn fixed_width(self) -> Option<usize> {
        match self {
            KeyKind::Int { width, .. } => Some(width),
            KeyKind::Decimal64 { .. } | KeyKind::Double => Some(8),
            KeyKind::Decimal128 { .. } => Some(16),
            KeyKind::Decimal256 { .. } => Some(32),
            KeyKind::Float => Some(4),
            KeyKind::Text(_) | KeyKind::Bytes => None,
        }
    }
}

/// Bytes of an ENUM value in a page and in a key.
pub fn enum_bytes(members: MemberList) -> usize {
    if members.fits_one_byte() { 1 } else { 2 }
}

/// Bytes of an integer in a page and in a key.
pub fn int_bytes(width: IntWidth) -> usize {
    match width {
        IntWidth::Tiny => 1,
        IntWidth::Small => 2,
        IntWidth::Medium | IntWidth::Int => 4,
        IntWidth::Big => 8,
    }
}

/// One part of a tree's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPartCodec {
    /// Position among the tree's stored columns.
    pub column: usize,
    pub kind: KeyKind,
    pub nullable: bool,
    pub descending: bool,
    /// Characters (bytes for byte strings) of the value that the key holds.
    pub prefix: Option<u32>,
}

/// A row that keys are made from. Columns are the tree's stored columns.
pub trait KeyRow {
    fn is_null(&self, column: usize) -> bool;
    /// Integers, temporals and short decimals; floats and doubles as their bits.
    fn int(&self, column: usize) -> i64;
    /// Decimals of 19 to 38 digits.
    fn wide(&self, column: usize) -> i128;
    /// Decimals beyond 38 digits.
    fn wide256(&self, column: usize) -> i256;
    fn bytes(&self, column: usize) -> &[u8];
}

/// Makes the keys of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCodec {
    pub parts: Vec<KeyPartCodec>,
}

impl KeyCodec {
    /// Appends the key of a row.
    pub fn append_row(&self, row: &impl KeyRow, out: &mut Vec<u8>) {
        self.append_row_parts(row, self.parts.len(), out)
    }

    /// Appends the key's first `parts` parts of a row. Returns whether one of them is NULL.
    pub fn append_row_parts(&self, row: &impl KeyRow, parts: usize, out: &mut Vec<u8>) {
        for part in &self.parts[..parts] {
            let start = out.len();
            let null = part.nullable && row.is_null(part.column);
            if part.nullable {
                out.push(!null as u8);
            }
            if !null {
                let c = part.column;
                match part.kind {
                    KeyKind::Int { width, signed } => encode::int(row.int(c), width, signed, out),
                    KeyKind::Decimal64 { .. } => encode::int(row.int(c), 8, true, out),
                    KeyKind::Decimal128 { .. } => encode::wide(row.wide(c), out),
                    KeyKind::Decimal256 { .. } => encode::wide256(row.wide256(c), out),
                    KeyKind::Float => encode::float(f32::from_bits(row.int(c) as u32), out),
                    KeyKind::Double => encode::double(f64::from_bits(row.int(c) as u64), out),
                    KeyKind::Text(collation) => {
                        let text = String::from_utf8_lossy(row.bytes(c));
                        encode::text(cut_text(&text, part.prefix), collation, out)
                    }
                    KeyKind::Bytes => encode::bytes(cut_bytes(row.bytes(c), part.prefix), out),
                }
            }
            if part.descending {
                complement(&mut out[start..]);
            }
        }
    }

    /// Appends the bytes of the first `values.len()` parts. Values have their columns' types (a decimal may have fewer
    /// digits behind the point, a text may be the bytes of a sort key); others are an error.
    pub fn append_values(&self, values: &[Value], out: &mut Vec<u8>) -> Result<()> {
        for (part, value) in self.parts.iter().zip(values) {
            part.append_value(value, out)?;
        }
        Ok(())
    }
}

impl KeyPartCodec {
    fn append_value(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        if self.nullable {
            out.push(!value.is_null() as u8);
        }
        if value.is_null() {
            // A NOT NULL column holds no NULL: nothing sorts at or before it but the start of the part.
            if self.descending {
                complement(&mut out[start..]);
            }
            return Ok(());
        }
        let wrong = || StorageError::WrongType { value: value.to_string() };
        let decimal256 = |scale: u8| -> Result<Decimal> {
            let d = match value {
                Value::Decimal(d) => *d,
                Value::Int(i) => Decimal::new(*i as i128, 0),
                Value::UInt(u) => Decimal::new(*u as i128, 0),
                _ => return Err(wrong()),
            };
            d.rescale(scale).filter(|r| *r == d).ok_or_else(wrong)
        };
        let decimal = |scale: u8| -> Result<i128> { decimal256(scale)?.narrow().ok_or_else(wrong) };
        match (self.kind, value) {
            (KeyKind::Int { width, signed }, _) => {
                encode::int(int_of(value, width, signed).ok_or_else(wrong)?, width, signed, out)
            }
            (KeyKind::Decimal64 { scale }, _) => {
                encode::int(i64::try_from(decimal(scale)?).map_err(|_| wrong())?, 8, true, out)
            }
            (KeyKind::Decimal128 { scale }, _) => encode::wide(decimal(scale)?, out),
            (KeyKind::Decimal256 { scale }, _) => encode::wide256(decimal256(scale)?.unscaled(), out),
            (KeyKind::Float, Value::Float(x)) => encode::float(*x, out),
            (KeyKind::Float, Value::Double(x)) if *x as f32 as f64 == *x => encode::float(*x as f32, out),
            (KeyKind::Double, Value::Float(x)) => encode::double(*x as f64, out),
            (KeyKind::Double, Value::Double(x)) => encode::double(*x, out),
            (KeyKind::Text(collation), Value::Text(s)) => encode::text(cut_text(s, self.prefix), collation, out),
            // A bound may give a text as the bytes of a sort key.
            (KeyKind::Text(_), Value::Bytes(sort_key)) => encode::bytes(sort_key, out),
            (KeyKind::Bytes, Value::Bytes(b)) => encode::bytes(cut_bytes(b, self.prefix), out),
            (KeyKind::Bytes, Value::Text(s)) => encode::bytes(cut_bytes(s.as_bytes(), self.prefix), out),
            _ => return Err(wrong()),
        }
        if self.descending {
            complement(&mut out[start..]);
        }
        Ok(())
    }
}

/// The value as a stored integer of `width` bytes (unsigned 64-bit values as their bits), or `None` if it is none or
/// does not fit.
pub fn int_of(value: &Value, width: usize, signed: bool) -> Option<i64> {
    let wide: i128 = match *value {
        Value::Int(i) => i as i128,
        Value::UInt(u) => u as i128,
        Value::Bool(b) => b as i128,
        Value::Date(d) => d as i128,
        Value::DateTime(t) | Value::Time(t) => t as i128,
        _ => return None,
    };
    let bits = 8 * width as u32;
    let (min, max) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    (min..=max).contains(&wide).then_some(wide as i64)
}

fn complement(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|b| *b = !*b);
}
