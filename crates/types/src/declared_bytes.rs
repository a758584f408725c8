//! Bytes of a declared type as MySQL counts them: for its limits on rows and keys, and for `key_len` of EXPLAIN.

use crate::{BytesKind, IntWidth, SqlType, TextKind};

impl SqlType {
    /// Returns true for the TEXT and BLOB families and JSON.
    pub fn is_long(&self) -> bool {
        match self {
            SqlType::Text { kind, .. } => !matches!(kind, TextKind::Char | TextKind::VarChar),
            SqlType::Bytes { kind, .. } => !matches!(kind, BytesKind::Binary | BytesKind::VarBinary),
            SqlType::Json => true,
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
            SqlType::Decimal { precision, scale } => {
                let (whole, fraction) = (u64::from(precision).saturating_sub(u64::from(scale)), u64::from(scale));
                digits_bytes(whole) + digits_bytes(fraction)
            }
            SqlType::Float => 4,
            SqlType::Double => 8,
            SqlType::Date => 3,
            SqlType::DateTime { fsp } => 5 + u64::from(fsp).div_ceil(2),
            SqlType::Timestamp { fsp } => 4 + u64::from(fsp).div_ceil(2),
            SqlType::Time { fsp } => 3 + u64::from(fsp).div_ceil(2),
            SqlType::Text { length, collation, .. } if !self.is_long() => {
                u64::from(length) * u64::from(collation.charset_max_bytes()) + 2
            }
            SqlType::Bytes { length, .. } if !self.is_long() => u64::from(length) + 2,
            SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Json => 12,
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

/// Bytes of decimal digits: nine in four bytes, the rest in as many as they need.
fn digits_bytes(digits: u64) -> u64 {
    digits / 9 * 4 + (digits % 9).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_long_as_in_mysql() {
        let decimal = |precision, scale| SqlType::Decimal { precision, scale }.declared_bytes();
        assert_eq!([decimal(10, 2), decimal(9, 0), decimal(20, 6), decimal(65, 30)], [5, 4, 10, 30]);
        let moments = [SqlType::DateTime { fsp: 0 }, SqlType::DateTime { fsp: 3 }, SqlType::Timestamp { fsp: 6 }];
        assert_eq!(moments.map(|ty| ty.declared_bytes()), [5, 7, 7]);
        assert_eq!([SqlType::Time { fsp: 0 }, SqlType::Time { fsp: 1 }].map(|ty| ty.declared_bytes()), [3, 4]);
    }
}
