//! Bytes of a declared type as MySQL counts them: for its limits on rows and keys, and for `key_len` of EXPLAIN.

use crate::{BytesKind, IntWidth, SqlType, TextKind};

impl SqlType {
    /// Returns true for the TEXT and BLOB families.
    pub fn is_long(&self) -> bool {
        match self {
            SqlType::Text { kind, .. } => !matches!(kind, TextKind::Char | TextKind::VarChar),
            SqlType::Bytes { kind, .. } => !matches!(kind, BytesKind::Binary | BytesKind::VarBinary),
            _ => false,
        }
    }

    /// Bytes that count for MySQL's limits on rows and keys; the TEXT and BLOB families count with their pointers.
    pub fn declared_bytes(&self) -> u64 {
        use IntWidth::*;
        match *self {
            SqlType::Null => 0,
            SqlType::Bool => 1,
            SqlType::Int { width, .. } => match width {
                Tiny => 1,
                Small => 2,
                Medium => 3,
                Int => 4,
                Big => 8,
            },
            SqlType::Decimal { precision, .. } => u64::from(precision).div_ceil(9) * 4,
            SqlType::Float => 4,
            SqlType::Double => 8,
            SqlType::Date => 3,
            SqlType::DateTime { .. } => 8,
            SqlType::Timestamp { .. } => 7,
            SqlType::Time { .. } => 6,
            SqlType::Text { length, collation, .. } if !self.is_long() => {
                u64::from(length) * u64::from(collation.charset_max_bytes()) + 2
            }
            SqlType::Bytes { length, .. } if !self.is_long() => u64::from(length) + 2,
            SqlType::Text { .. } | SqlType::Bytes { .. } => 12,
            SqlType::Enum(members) => {
                if members.fits_one_byte() {
                    1
                } else {
                    2
                }
            }
            SqlType::Set(members) => match members.names().len() {
                n @ 0..=32 => (n as u64).div_ceil(8),
                _ => 8,
            },
            SqlType::Year => 1,
            SqlType::Unsigned(number) => number.plain().declared_bytes(),
            SqlType::Bit { width } => u64::from(width).div_ceil(8),
        }
    }

    /// Bytes of a key part of this type, with at most `prefix` characters or bytes of it (`key_len` of EXPLAIN without
    /// the byte for NULL).
    pub fn key_bytes(&self, prefix: Option<u32>) -> u64 {
        match (self, prefix) {
            (SqlType::Text { length, collation, .. }, prefix) => {
                u64::from(prefix.unwrap_or(*length)) * u64::from(collation.charset_max_bytes())
            }
            (SqlType::Bytes { length, .. }, prefix) => u64::from(prefix.unwrap_or(*length)),
            (ty, _) => ty.declared_bytes(),
        }
    }
}
