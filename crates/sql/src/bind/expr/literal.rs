//! Literals and parameters.

use crate::{
    bind::{Parameters, binder::Binder},
    deprecated_charset,
    parse::{bit_bytes, hex_bytes, number},
    typing::{Derivation, Item},
};
use muster_algebra::Expr;
use muster_types::{
    Collation, ErrorCode, Result, SqlError, SqlType, Value,
    charset::{Charset, decode, encode, valid_up_to},
    sql_type::DECIMAL_MAX_PRECISION,
    temporal::{self, DateModes},
};
use sqlparser::ast::{self, DataType};

/// Type of a value that comes from outside: a parameter, a variable, the statement itself.
pub(crate) fn value_type(value: &Value, collation: Collation) -> SqlType {
    match value {
        Value::Null => SqlType::Null,
        Value::Bool(_) => SqlType::Bool,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Decimal(d) => SqlType::decimal(d.precision() as u32, d.scale as u32),
        Value::Float(_) => SqlType::Float,
        Value::Double(_) => SqlType::Double,
        Value::Date(_) => SqlType::Date,
        Value::DateTime(t) => SqlType::DateTime { fsp: fraction_digits(*t) },
        Value::Time(t) => SqlType::Time { fsp: fraction_digits(*t) },
        Value::Text(s) => crate::typing::text_of_length(s.chars().count() as u64, collation),
        Value::Bytes(b) => crate::typing::bytes_of_length(b.len() as u64),
        Value::Json(_) => SqlType::Json,
    }
}

/// Digits that the fraction of a second needs.
fn fraction_digits(micros: i64) -> u8 {
    let mut fraction = micros.rem_euclid(1_000_000);
    if fraction == 0 {
        return 0;
    }
    let mut digits = 6;
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    digits
}

/// The value of `?3`. Error 1210 when there are not so many.
pub(crate) fn parameter(binder: &Binder, placeholder: &ast::Value) -> Result<Value> {
    let ast::Value::Placeholder(name) = placeholder else { return Err(SqlError::internal("not a parameter")) };
    match binder.env.parameters {
        Parameters::Values(values) => of_position(name, values).map(|(_, value)| value),
        Parameters::Types(_) => Err(SqlError::unsupported("a parameter whose value decides what the query is")),
        Parameters::Unknown => Ok(Value::Null),
    }
}

/// The position that the placeholder `?3` has, and what is there. Error 1210 when there are not so many.
fn of_position<T: Clone>(name: &str, all: &[T]) -> Result<(usize, T)> {
    let position: Option<usize> = name.strip_prefix('?').and_then(|n| n.parse().ok());
    position.and_then(|i| Some((i, all.get(i)?.clone()))).ok_or_else(|| SqlError::wrong_arguments("EXECUTE"))
}

impl Binder<'_> {
    /// A value of the statement or its session as a literal.
    pub fn given(&self, value: Value) -> Item {
        let ty = value_type(&value, self.default_collation());
        Item::literal(value, ty)
    }

    /// The number that these digits are. A decimal has the digits in front of the point that are written, zeros too,
    /// but one of several that are nothing but zeros (MySQL: `internal_str2dec`).
    pub(super) fn number_as_written(&self, digits: &str, value: Value) -> Item {
        let Value::Decimal(decimal) = value else { return self.given(value) };
        let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
        let written = if whole.bytes().all(|digit| digit == b'0') { whole.len().min(1) } else { whole.len() };
        let scale = u32::from(decimal.scale);
        let precision = u32::from(decimal.precision()).max(written as u32 + scale).min(DECIMAL_MAX_PRECISION.into());
        Item::literal(value, SqlType::decimal(precision, scale))
    }

    /// A value that the server knows by itself; texts are under [`Collation::SYSTEM`].
    pub fn system_text(&self, value: Value) -> Item {
        let ty = value_type(&value, Collation::SYSTEM);
        let item = Item::literal(value, ty);
        let derivation = if ty.is_text() { Derivation::System } else { item.derivation };
        Item { derivation, ..item }
    }

    pub fn value(&mut self, value: &ast::Value) -> Result<Item> {
        use ast::Value as V;
        Ok(match value {
            V::Number(digits, _) => self.number_as_written(digits, number(digits, false)?),
            V::SingleQuotedString(s) | V::DoubleQuotedString(s) => {
                let charset = self.default_collation().character_set();
                self.given(Value::Text(charset.kept(s).into_owned()))
            }
            V::NationalStringLiteral(s) => {
                let value = Value::Text(Charset::Utf8mb3.kept(s).into_owned());
                let ty = value_type(&value, Collation::Utf8mb3GeneralCi);
                Item::literal(value, ty)
            }
            V::HexStringLiteral(digits) => match hex_bytes(digits) {
                Some(bytes) => Item { hexadecimal: true, ..self.given(Value::Bytes(bytes)) },
                None => return Err(SqlError::syntax(digits, 1)),
            },
            V::SingleQuotedByteStringLiteral(digits) | V::DoubleQuotedByteStringLiteral(digits) => bits(digits)?,
            // Without a place for a sign.
            V::Boolean(b) => Item { characters: Some(1), ..Item::literal(Value::Int(*b as i64), SqlType::BIGINT) },
            V::Null => Item::null(),
            V::Placeholder(name) => match self.env.parameters {
                Parameters::Types(types) => {
                    let (index, ty) = of_position(name, types)?;
                    let mut item = Item::new(Expr::parameter(index, ty), ty);
                    if item.derivation == Derivation::Implicit {
                        item.derivation = Derivation::Literal;
                    }
                    item
                }
                _ => {
                    let value = parameter(self, value)?;
                    self.given(value)
                }
            },
            other => return Err(SqlError::syntax(other, 1)),
        })
    }

    /// `_utf8mb4'..'`, `_binary x'..'`.
    pub fn introduced(&mut self, introducer: &str, value: &ast::Expr) -> Result<Item> {
        let name = introducer.trim_start_matches('_');
        let unknown = || SqlError::unknown_character_set(name);
        deprecated_charset(name).into_iter().for_each(|warning| self.warn_of(warning));
        let charset = Charset::from_name(name).ok_or_else(unknown)?;
        let collation = Collation::default_of_charset(name).ok_or_else(unknown)?;
        let ast::Expr::Value(literal) = value else { return Err(SqlError::syntax(value, 1)) };
        let item = self.value(&literal.value)?;
        let mut bytes = match item.as_literal() {
            // The text was read in the client's character set; its bytes are those of another one.
            Some(Value::Text(text)) => encode(self.env.session.client_charset(), text).into_owned(),
            Some(Value::Bytes(bytes)) => bytes.clone(),
            _ => return Err(SqlError::syntax(literal, 1)),
        };
        // The first character is filled up with zeros.
        let unit = charset.min_bytes() as usize;
        let missing = bytes.len().next_multiple_of(unit) - bytes.len();
        bytes.splice(..0, std::iter::repeat_n(0, missing));
        let value = match decode(charset, &bytes) {
            _ if charset == Charset::Binary => Value::Bytes(bytes),
            Some(text) => Value::Text(text.into_owned()),
            None => return Err(invalid_text(charset, &bytes)),
        };
        let ty = value_type(&value, collation);
        Ok(Item { derivation: Derivation::Literal, ..Item::literal(value, ty) })
    }

    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`. Error 1525 for what is none.
    pub fn typed_string(&mut self, typed: &ast::TypedString) -> Result<Item> {
        let (ast::Value::SingleQuotedString(text) | ast::Value::DoubleQuotedString(text)) = &typed.value.value else {
            return Err(SqlError::syntax(typed, 1));
        };
        let (what, literal) = match typed.data_type {
            DataType::Date => ("DATE", date_literal(text, self.env.session.date_modes())),
            DataType::Time(None, _) => ("TIME", time_literal(text)),
            DataType::Timestamp(None, _) | DataType::Datetime(None) => {
                ("DATETIME", datetime_literal(text, self.env.session.date_modes()))
            }
            _ => return Err(SqlError::syntax(typed, 1)),
        };
        match literal {
            Some((value, ty)) => Ok(Item::literal(value, ty)),
            None => Err(SqlError::new(ErrorCode::WrongValue, format!("Incorrect {what} value: '{text}'"))),
        }
    }
}

/// Error 1300 shows this many of the bytes that are not of the character set.
const SHOWN_BYTES: usize = 3;

fn invalid_text(charset: Charset, bytes: &[u8]) -> SqlError {
    let wrong = &bytes[valid_up_to(charset, bytes)..];
    let shown: String = wrong.iter().take(SHOWN_BYTES).map(|b| format!("{b:02X}")).collect();
    let message = format!("Invalid {} character string: '{shown}'", charset.name());
    SqlError::new(ErrorCode::InvalidCharacterString, message)
}

fn date_literal(text: &str, modes: DateModes) -> Option<(Value, SqlType)> {
    let read = modes.read_text(text).filter(|read| !read.is_cut && !read.has_clock && modes.keep(&read.moment))?;
    Some((Value::Date(read.moment.date()?), SqlType::Date))
}

/// The type has the digits of the fraction that are written, `.0` too.
fn datetime_literal(text: &str, modes: DateModes) -> Option<(Value, SqlType)> {
    let read = modes.read_text(text).filter(|read| !read.is_cut && read.has_clock && modes.keep(&read.moment))?;
    Some((Value::DateTime(read.moment.datetime()?), SqlType::DateTime { fsp: read.fsp }))
}

fn time_literal(text: &str) -> Option<(Value, SqlType)> {
    let is_time = |read: &temporal::TimeText| !read.is_cut && !read.is_clamped && !read.is_datetime();
    let read = temporal::read_time(text).filter(is_time)?;
    Some((Value::Time(read.micros), SqlType::Time { fsp: read.fsp }))
}

/// `b'0101'`: bytes, of which a number is made where one is wanted.
fn bits(digits: &str) -> Result<Item> {
    let value = bit_bytes(digits).map(Value::Bytes).ok_or_else(|| SqlError::syntax(digits, 1))?;
    let ty = value_type(&value, Collation::Binary);
    Ok(Item { hexadecimal: true, is_bits: true, ..Item::literal(value, ty) })
}

impl Binder<'_> {
    /// A hexadecimal or bit literal where a number is wanted, with warning 1292 of one that is longer than numbers are.
    pub(crate) fn number_of_bytes(&mut self, item: Item) -> Item {
        if let Some(Value::Bytes(bytes)) = item.as_literal().filter(|_| item.hexadecimal)
            && is_long(bytes)
        {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let message = format!("Truncated incorrect BINARY value: 'x'{digits}''");
            self.warn(ErrorCode::TruncatedWrongValue, message);
        }
        bytes_as_number(item)
    }
}

/// Returns true if the number of the bytes has more than eight of them.
fn is_long(bytes: &[u8]) -> bool {
    bytes.iter().skip_while(|byte| **byte == 0).count() > size_of::<u64>()
}

/// A hexadecimal or bit literal where a number is wanted: its bytes are the number's, high ones first. A longer number
/// is 0 (MySQL: `Item_hex_string::val_int`). Other byte strings are numbers by their text.
pub(crate) fn bytes_as_number(item: Item) -> Item {
    match item.as_literal() {
        Some(Value::Bytes(b)) if item.hexadecimal => {
            let n = if is_long(b) { 0 } else { b.iter().fold(0u64, |v, b| v << 8 | *b as u64) };
            // Digits of the largest number of so many bytes.
            let most = u64::MAX.checked_shr(64 - 8 * b.len().clamp(1, 8) as u32).unwrap_or(u64::MAX);
            let digits = most.ilog10() as u8 + 1;
            match item.is_bits {
                true => Item { characters: Some(digits + 1), ..Item::literal(Value::Int(n as i64), SqlType::BIGINT) },
                false => Item { characters: Some(digits), ..Item::literal(Value::UInt(n), SqlType::BIGINT_UNSIGNED) },
            }
        }
        _ => item,
    }
}
