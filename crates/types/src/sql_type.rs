//! Types of columns and expressions, with MySQL's names and limits.

use crate::{Collation, MemberList, UnsignedNumber, Value, decimal};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest precision that arithmetic can deliver (MySQL manual 14.24 "Precision Math").
pub const DECIMAL_MAX_PRECISION: u8 = 65;
/// Largest number of digits behind the point.
pub const DECIMAL_MAX_SCALE: u8 = 30;
/// Largest precision whose unscaled values always fit 128 bits.
pub const DECIMAL128_MAX_PRECISION: u8 = 38;

/// Largest precision whose unscaled values always fit 64 bits.
pub const DECIMAL64_MAX_PRECISION: u8 = 18;

/// Bytes of an integer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IntWidth {
    Tiny,
    Small,
    Medium,
    Int,
    Big,
}

/// Which of MySQL's text types a column was declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TextKind {
    Char,
    VarChar,
    TinyText,
    Text,
    MediumText,
    LongText,
}

/// Which of MySQL's byte-string types a column was declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BytesKind {
    Binary,
    VarBinary,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
}

/// M and D of `FLOAT(M,D)` and `DOUBLE(M,D)`: digits in all, and behind the point, of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FloatDigits {
    pub precision: u8,
    pub scale: u8,
}

/// Integers below are exact as doubles.
const EXACT_INTEGERS: f64 = (1u64 << 53) as f64;

impl FloatDigits {
    /// The number rounded to the digits behind the point. Error: the nearest number that has no more digits in front of
    /// it than there is room for (MySQL: `truncate_double`).
    pub fn fit(self, x: f64) -> std::result::Result<f64, f64> {
        let unit = 10f64.powi(self.scale.into());
        let largest = 10f64.powi(self.precision.saturating_sub(self.scale).into()) - 1.0 / unit;
        let whole = x.floor();
        let fraction = ((x - whole) * unit).round_ties_even();
        let units = whole * unit + fraction;
        // The quotient of two exact integers is the number nearest to the digits.
        let rounded = if units.abs() < EXACT_INTEGERS { units / unit } else { whole + fraction / unit };
        if rounded.abs() <= largest { Ok(rounded) } else { Err(largest.copysign(x)) }
    }
}

impl fmt::Display for FloatDigits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.precision, self.scale)
    }
}

/// The type of a column or an expression.
///
/// In memory (Arrow) a value of each type is: `Null` -> `Null`, `Bool` -> `Boolean`, `Int` -> `Int8/16/32/64` or
/// `UInt8/16/32/64` (`Medium` uses 32 bits), `Decimal` -> `Decimal64(precision, scale)` up to 18 digits,
/// `Decimal128` up to 38 and `Decimal256` beyond, `Float` -> `Float32`, `Double` -> `Float64`, `Date` -> `Date32`,
/// `DateTime` and `Timestamp` -> `Timestamp(Microsecond, None)`, `Time` -> `Duration(Microsecond)`, `Text` ->
/// `Utf8View`, `Bytes` -> `BinaryView`, `Enum` -> `UInt8` or `UInt16`, `Set` and `Bit` -> `UInt64`, `Year` -> `UInt16`,
/// `Unsigned` -> that of its plain type, `Json` -> `LargeBinary`. Dates and datetimes are codes there, no counts of
/// days ([`crate::temporal::date_code`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SqlType {
    /// The type of a bare `NULL`.
    Null,
    /// Outcome of a predicate. Clients see it as `BIGINT` 0 or 1.
    Bool,
    Int {
        width: IntWidth,
        unsigned: bool,
    },
    /// `precision` digits in all, `scale` of them behind the point.
    Decimal {
        #[serde(with = "stored_precision")]
        precision: u8,
        scale: u8,
    },
    Float,
    Double,
    Date,
    /// `fsp`: digits of fractional seconds, 0 to 6.
    DateTime {
        fsp: u8,
    },
    Timestamp {
        fsp: u8,
    },
    Time {
        fsp: u8,
    },
    /// `length` in characters.
    Text {
        kind: TextKind,
        length: u32,
        collation: Collation,
    },
    /// `length` in bytes.
    Bytes {
        kind: BytesKind,
        length: u32,
    },
    /// Values are the positions of members. An expression sees the member's text ([`SqlType::operand_type`]).
    Enum(MemberList),
    /// Values have a bit for each member. An expression sees the members' text.
    Set(MemberList),
    /// Values are 0 and 1901 to 2155. An expression sees a number.
    Year,
    /// A number of `width` bits, 1 to 64. An expression sees a number.
    Bit {
        width: u8,
    },
    /// A DECIMAL, FLOAT or DOUBLE that is UNSIGNED, or a number with ZEROFILL. An expression sees the number.
    Unsigned(UnsignedNumber),
    /// A document. Values are its binary form ([`crate::json`]).
    Json,
}

impl SqlType {
    pub const TINYINT: SqlType = SqlType::Int { width: IntWidth::Tiny, unsigned: false };
    pub const INT: SqlType = SqlType::Int { width: IntWidth::Int, unsigned: false };
    pub const BIGINT: SqlType = SqlType::Int { width: IntWidth::Big, unsigned: false };
    pub const BIGINT_UNSIGNED: SqlType = SqlType::Int { width: IntWidth::Big, unsigned: true };

    /// `VARCHAR(length)` with this collation.
    pub const fn varchar(length: u32, collation: Collation) -> SqlType {
        SqlType::Text { kind: TextKind::VarChar, length, collation }
    }

    /// A decimal type, cut to MySQL's largest precision and scale.
    pub fn decimal(precision: u32, scale: u32) -> SqlType {
        let scale = scale.min(DECIMAL_MAX_SCALE as u32) as u8;
        let precision = precision.clamp(1, DECIMAL_MAX_PRECISION as u32) as u8;
        SqlType::Decimal { precision: precision.max(scale), scale }
    }

    /// The decimal type under which two decimals are compared: with as many digits as both have, or as there are bits
    /// for. Digits in front of the point can be too many for it only of the number with fewer digits behind it, and
    /// the number nearest to that one compares with the other as the number does.
    pub fn compared_decimal((p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> SqlType {
        let (whole, scale) = ((p1 - s1).max(p2 - s2), s1.max(s2));
        SqlType::Decimal { precision: (whole + scale).clamp(1, decimal::DIGITS_MAX as u8), scale }
    }

    /// Returns true for a decimal type beyond those of columns and results: [`SqlType::compared_decimal`].
    pub fn is_compared_decimal(&self) -> bool {
        matches!(self, SqlType::Decimal { precision, .. } if *precision > DECIMAL_MAX_PRECISION)
    }

    /// The type that a value of a column has as the operand of an expression: text for ENUM and SET, a number for YEAR
    /// and BIT. Columns of these four types have them themselves where values are sorted, grouped, returned or stored.
    pub fn operand_type(&self) -> SqlType {
        match *self {
            SqlType::Enum(members) => SqlType::varchar(members.longest(), members.collation()),
            SqlType::Set(members) => SqlType::varchar(members.total_length(), members.collation()),
            SqlType::Year => SqlType::Int { width: IntWidth::Small, unsigned: true },
            SqlType::Bit { .. } => SqlType::BIGINT_UNSIGNED,
            SqlType::Unsigned(number) => number.plain(),
            other => other,
        }
    }

    /// The type that values have in pages, keys and arrays: without attributes of the column.
    pub fn stored_type(&self) -> SqlType {
        match self {
            SqlType::Unsigned(number) => number.plain(),
            other => *other,
        }
    }

    /// The text of a value as a client sees it; `None` for NULL. `decimals`: digits behind the point that a
    /// floating-point column shows.
    pub fn shown_text(&self, value: &Value, decimals: Option<u8>) -> Option<String> {
        let text = self.shown(value)?.to_text_with(self.fsp(), decimals)?;
        Some(match self {
            SqlType::Unsigned(number) => number.filled(text),
            _ => text,
        })
    }

    /// A value of this type as a client sees it; `None` for NULL. What is no value of an ENUM, SET, YEAR or BIT is
    /// shown as [`Value::to_text`] shows it.
    pub fn shown(&self, value: &Value) -> Option<Value> {
        Some(match (self, value) {
            (_, Value::Null) => return None,
            (SqlType::Enum(members), Value::UInt(position)) => Value::Text(members.enum_text(*position).to_owned()),
            (SqlType::Set(members), Value::UInt(bits)) => Value::Text(members.set_text(*bits)),
            (SqlType::Year, Value::UInt(year)) => Value::Text(format!("{year:04}")),
            (SqlType::Bit { width }, Value::UInt(bits)) => Value::Bytes(bit_bytes(*bits, *width)),
            (_, other) => other.clone(),
        })
    }

    /// A value of a key as the error of a duplicate names it; bytes of a BIT that do not print as `\xHH`.
    pub fn entry_text(&self, value: &Value) -> String {
        match self.shown(value) {
            None => "NULL".into(),
            Some(Value::Bytes(bytes)) if matches!(self, SqlType::Bit { .. }) => {
                let printed = bytes.iter().map(|b| match b {
                    b' '..=b'~' => char::from(*b).to_string(),
                    _ => format!("\\x{b:02X}"),
                });
                printed.collect()
            }
            Some(other) => other.to_text(self.fsp()).unwrap_or_default(),
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self, SqlType::Text { .. })
    }

    pub fn is_bytes(&self) -> bool {
        matches!(self, SqlType::Bytes { .. })
    }

    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int { .. } | SqlType::Bool)
    }

    pub fn is_unsigned(&self) -> bool {
        matches!(self, SqlType::Int { unsigned: true, .. })
    }

    /// Integers, decimals and floating-point numbers.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self, SqlType::Decimal { .. } | SqlType::Float | SqlType::Double)
    }

    pub fn is_temporal(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. })
    }

    /// Digits of fractional seconds that the type shows; 0 for types without a clock.
    pub fn fsp(&self) -> u8 {
        match self {
            SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } | SqlType::Time { fsp } => *fsp,
            _ => 0,
        }
    }

    /// The collation of a text type; `Binary` for byte strings; `None` for all others.
    pub fn collation(&self) -> Option<Collation> {
        match self {
            SqlType::Text { collation, .. } => Some(*collation),
            SqlType::Bytes { .. } => Some(Collation::Binary),
            SqlType::Enum(members) | SqlType::Set(members) => Some(members.collation()),
            _ => None,
        }
    }

    /// Decimal digits in front of and behind the point that values of a numeric type can have
    /// (MySQL: `Item::decimal_precision`). `None` for approximate and non-numeric types.
    pub fn decimal_digits(&self) -> Option<(u8, u8)> {
        Some(match self {
            SqlType::Bool => (1, 0),
            SqlType::Int { width, unsigned } => {
                let digits = match (width, unsigned) {
                    (IntWidth::Tiny, _) => 3,
                    (IntWidth::Small, _) => 5,
                    (IntWidth::Medium, false) => 7,
                    (IntWidth::Medium, true) => 8,
                    (IntWidth::Int, _) => 10,
                    (IntWidth::Big, false) => 19,
                    (IntWidth::Big, true) => 20,
                };
                (digits, 0)
            }
            SqlType::Decimal { precision, scale } => (*precision, *scale),
            _ => return None,
        })
    }
}

/// The precision of a decimal as files have it. Beyond 38 digits it has 1000 more, which tells columns of 256 bits from
/// those that were made when there were no more than 128: the latter have values of up to 38 digits.
pub(crate) mod stored_precision {
    use super::DECIMAL128_MAX_PRECISION;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    const OF_256_BITS: u16 = 1000;

    pub fn serialize<S: Serializer>(precision: &u8, serializer: S) -> Result<S::Ok, S::Error> {
        let is_256 = *precision > DECIMAL128_MAX_PRECISION;
        serializer.serialize_u16(u16::from(*precision) + if is_256 { OF_256_BITS } else { 0 })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        let stored = u16::deserialize(deserializer)?;
        match stored.checked_sub(OF_256_BITS) {
            Some(precision) => u8::try_from(precision).map_err(D::Error::custom),
            None => Ok(stored.min(DECIMAL128_MAX_PRECISION.into()) as u8),
        }
    }
}

/// The bytes that a client sees of a BIT value: as many as the width needs, the highest first.
pub fn bit_bytes(bits: u64, width: u8) -> Vec<u8> {
    let bytes = usize::from(width).div_ceil(8).min(8);
    bits.to_be_bytes()[8 - bytes..].to_vec()
}

/// The type as MySQL prints it in `SHOW CREATE TABLE` (without character set).
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fsp = |f: &mut fmt::Formatter<'_>, name: &str, n: u8| match n {
            0 => f.write_str(name),
            n => write!(f, "{name}({n})"),
        };
        match self {
            SqlType::Null => f.write_str("null"),
            SqlType::Bool => f.write_str("tinyint(1)"),
            SqlType::Int { width, unsigned } => {
                f.write_str(match width {
                    IntWidth::Tiny => "tinyint",
                    IntWidth::Small => "smallint",
                    IntWidth::Medium => "mediumint",
                    IntWidth::Int => "int",
                    IntWidth::Big => "bigint",
                })?;
                if *unsigned { f.write_str(" unsigned") } else { Ok(()) }
            }
            SqlType::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            SqlType::Float => f.write_str("float"),
            SqlType::Double => f.write_str("double"),
            SqlType::Date => f.write_str("date"),
            SqlType::DateTime { fsp: n } => fsp(f, "datetime", *n),
            SqlType::Timestamp { fsp: n } => fsp(f, "timestamp", *n),
            SqlType::Time { fsp: n } => fsp(f, "time", *n),
            SqlType::Text { kind, length, .. } => match kind {
                TextKind::Char => write!(f, "char({length})"),
                TextKind::VarChar => write!(f, "varchar({length})"),
                TextKind::TinyText => f.write_str("tinytext"),
                TextKind::Text => f.write_str("text"),
                TextKind::MediumText => f.write_str("mediumtext"),
                TextKind::LongText => f.write_str("longtext"),
            },
            SqlType::Bytes { kind, length } => match kind {
                BytesKind::Binary => write!(f, "binary({length})"),
                BytesKind::VarBinary => write!(f, "varbinary({length})"),
                BytesKind::TinyBlob => f.write_str("tinyblob"),
                BytesKind::Blob => f.write_str("blob"),
                BytesKind::MediumBlob => f.write_str("mediumblob"),
                BytesKind::LongBlob => f.write_str("longblob"),
            },
            SqlType::Enum(members) => write!(f, "enum{members}"),
            SqlType::Set(members) => write!(f, "set{members}"),
            SqlType::Year => f.write_str("year"),
            SqlType::Bit { width } => write!(f, "bit({width})"),
            SqlType::Unsigned(number) => number.fmt(f),
            SqlType::Json => f.write_str("json"),
        }
    }
}
