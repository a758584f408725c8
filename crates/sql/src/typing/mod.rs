//! MySQL's type rules, apart from names and plans.
//!
//! ```text
//!   arithmetic   + - * / DIV % and unary minus
//!   comparison   in which type two values are compared; literals that fit a column's type exactly
//!   result       CASE, IF, COALESCE, UNION: one type for several
//!   aggregate    SUM, AVG, MIN ..
//!   collation    whose collation decides
//!   length       characters of integers
//!   fold         arithmetic on literals, where types depend on it
//! ```

pub(crate) mod aggregate;
pub(crate) mod arithmetic;
pub(crate) mod collation;
pub mod comparison;
pub(crate) mod fold;
pub(crate) mod length;
pub(crate) mod result;

pub(crate) use collation::Derivation;

use muster_algebra::Expr;
use muster_types::{Collation, NumberKind, SqlType, Value};

/// A bound expression with what the type rules ask about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub expr: Expr,
    pub ty: SqlType,
    pub derivation: Derivation,
    /// The digits behind the point of a quotient, or of what is computed from one, before it is rounded to those that
    /// its type shows. Arithmetic around it goes on with these: `1 / 3 * 3` is 1.0000.
    pub kept: Option<u32>,
    /// True if it is a hexadecimal or bit literal: a byte string, and a number where one is wanted (manual 11.1.4).
    pub hexadecimal: bool,
    /// True if it is a bit literal, whose number is signed.
    pub is_bits: bool,
    /// Digits behind the point that a floating-point number shows; `None`: as many as it takes (MySQL:
    /// `Item::decimals`).
    pub decimals: Option<u8>,
    /// The text of a decimal that is one of several values, if it has the digits behind the point of that value and
    /// not those of its type (MySQL: `my_decimal::frac`).
    pub shown: Option<Box<Expr>>,
    /// Characters of an integer, sign included, where a type is made of several; `None`: as many as its type has.
    pub characters: Option<u8>,
    /// The collation that an integer has as a text: that of the texts which INSTR and REGEXP_LIKE compare, `binary`
    /// for the bits of BIT_AND and its kin. `None`: it has the collation of the texts around it.
    pub text_collation: Option<Collation>,
    /// True if its text is known to be of ASCII (MySQL: `MY_REPERTOIRE_ASCII`): then it goes with those of any
    /// character set.
    pub is_ascii: bool,
}

impl Item {
    pub fn new(expr: Expr, ty: SqlType) -> Item {
        let derivation = match ty {
            SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Json => Derivation::Implicit,
            SqlType::Null => Derivation::Ignorable,
            _ => Derivation::Numeric,
        };
        let (kept, decimals, shown, characters) = (None, None, None, None);
        let text_collation = None;
        let is_named = matches!(ty, SqlType::Enum(_) | SqlType::Set(_));
        let is_ascii = derivation == Derivation::Numeric && !is_named || collation::is_ascii(&expr);
        Item {
            expr,
            ty,
            derivation,
            kept,
            hexadecimal: false,
            is_bits: false,
            decimals,
            shown,
            characters,
            text_collation,
            is_ascii,
        }
    }

    /// The value with at most this many digits behind the point of those it keeps, never with fewer than it shows.
    pub fn unrounded(self, most: u32) -> Item {
        let (Some(kept), SqlType::Decimal { precision, scale }) = (self.kept, self.ty) else { return self };
        let digits = kept.min(most).max(scale as u32);
        let of_scale = |digits: u32| SqlType::decimal((precision - scale) as u32 + digits, digits);
        let ty = of_scale(digits);
        let expr = match self.expr {
            Expr::Arithmetic { op, left, right, .. } => Expr::Arithmetic { op, left, right, ty },
            Expr::Negate { arg, .. } => Expr::Negate { arg, ty },
            Expr::Cast { arg, .. } if ty == of_scale(kept) => *arg,
            Expr::Cast { arg, .. } => Expr::Cast { arg, ty },
            _ => return self,
        };
        Item::new(expr, ty)
    }

    /// `ty`, or the type of the unrounded value if it keeps digits.
    pub fn kept_type(&self, ty: SqlType, most: u32) -> SqlType {
        if self.kept.is_some() { self.clone().unrounded(most).ty } else { ty }
    }

    /// Digits behind the point that arithmetic around it sees, `scale` being those of its type.
    pub fn kept_scale(&self, scale: u32) -> u32 {
        self.kept.unwrap_or(scale)
    }

    pub fn literal(value: Value, ty: SqlType) -> Item {
        let mut item = Item::new(Expr::literal(value, ty), ty);
        if item.derivation == Derivation::Implicit {
            item.derivation = Derivation::Literal;
        }
        item
    }

    /// Digits behind the point of a number; `None` for a floating-point number of any number of digits, and for what
    /// is no number.
    pub fn shown_decimals(&self) -> Option<u8> {
        match self.ty {
            SqlType::Float | SqlType::Double => self.decimals,
            SqlType::Null => Some(0),
            SqlType::Bytes { .. } if self.hexadecimal => Some(0),
            // A text that was made of numbers and moments knows their digits.
            SqlType::Text { .. } | SqlType::Bytes { .. } => self.decimals,
            ty if ty.is_temporal() => Some(ty.fsp()),
            ty => ty.decimal_digits().map(|(_, scale)| scale),
        }
    }

    /// Characters of the value as text: of a literal integer its digits and one for a sign.
    pub fn text_length(&self) -> u32 {
        match (self.integer_characters(), self.as_literal()) {
            (Some(characters), _) => characters,
            (None, Some(Value::Int(i))) => i.unsigned_abs().max(1).ilog10() + 2,
            _ => display_length(self.ty),
        }
    }

    /// The collation of the value as a text.
    pub fn collation(&self) -> Option<Collation> {
        self.ty.collation().or(self.text_collation)
    }

    pub fn bool(expr: Expr) -> Item {
        Item::new(expr, SqlType::Bool)
    }

    pub fn null() -> Item {
        Item::literal(Value::Null, SqlType::Null)
    }

    /// Characters of an integer, if they are known.
    fn integer_characters(&self) -> Option<u32> {
        self.characters.filter(|_| matches!(self.ty, SqlType::Int { .. })).map(u32::from)
    }

    /// The value, if it is written in the statement (a parameter, too).
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.expr {
            Expr::Literal { value, .. } => Some(value),
            _ => None,
        }
    }

    pub fn is_null_literal(&self) -> bool {
        matches!(self.as_literal(), Some(Value::Null))
    }

    /// Digits in all and behind the point when the value is used as a decimal (MySQL: `Item::decimal_precision`): of
    /// a literal those it is written with. `None` for doubles and what becomes one.
    pub fn decimal_digits(&self) -> Option<(u32, u32)> {
        match self.as_literal() {
            _ if self.integer_characters().is_some() => {
                let signs = u32::from(!self.ty.is_unsigned());
                self.integer_characters().map(|characters| (characters.saturating_sub(signs).max(1), 0))
            }
            Some(Value::Int(i)) => Some((i.unsigned_abs().max(1).ilog10() + 1, 0)),
            Some(Value::UInt(u)) => Some(((*u).max(1).ilog10() + 1, 0)),
            Some(Value::Bool(_)) => Some((1, 0)),
            _ if self.ty == SqlType::Bool => Some((1, 0)),
            _ => temporal_digits(self.ty).or_else(|| decimal_digits(self.ty)),
        }
    }
}

/// Digits of a date or time as a number, in all and behind the point (MySQL: `Item::decimal_int_part`).
fn temporal_digits(ty: SqlType) -> Option<(u32, u32)> {
    let fsp = u32::from(ty.fsp());
    match ty {
        SqlType::Date => Some((8, 0)),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Some((14 + fsp, fsp)),
        SqlType::Time { .. } => Some((7 + fsp, fsp)),
        _ => None,
    }
}

/// Returns what [`Item::decimal_digits`] does, by the type alone.
pub(crate) fn decimal_digits(ty: SqlType) -> Option<(u32, u32)> {
    match numeric_type(ty) {
        SqlType::Null => Some((1, 0)),
        other => other.decimal_digits().map(|(p, s)| (p as u32, s as u32)),
    }
}

/// The type a value has where a number is wanted (manual 14.3): text is a double, a date is a number like 19980902.
pub(crate) fn numeric_type(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Null | SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Double => ty,
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } | SqlType::Unsigned(_) => {
            numeric_type(ty.operand_type())
        }
        SqlType::Bool => SqlType::BIGINT,
        SqlType::Float | SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Json => SqlType::Double,
        SqlType::Date => SqlType::BIGINT,
        SqlType::DateTime { fsp: 0 } | SqlType::Timestamp { fsp: 0 } | SqlType::Time { fsp: 0 } => SqlType::BIGINT,
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => SqlType::decimal(14 + fsp as u32, fsp as u32),
        SqlType::Time { fsp } => SqlType::decimal(7 + fsp as u32, fsp as u32),
    }
}

/// Characters that the values of a type have at most when written as text.
pub(crate) fn display_length(ty: SqlType) -> u32 {
    match ty {
        SqlType::Null => 0,
        SqlType::Bool => 1,
        SqlType::Int { .. } => ty.decimal_digits().map_or(20, |(p, _)| p as u32) + 1,
        SqlType::Decimal { precision, scale } => {
            precision as u32 + 1 + (scale > 0) as u32 + (precision == scale) as u32
        }
        SqlType::Float => 12,
        SqlType::Double => 22,
        SqlType::Date => 10,
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => 19 + if fsp > 0 { fsp as u32 + 1 } else { 0 },
        SqlType::Time { fsp } => 10 + if fsp > 0 { fsp as u32 + 1 } else { 0 },
        SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => length,
        SqlType::Json => u32::MAX,
        SqlType::Year => 4,
        // Without a sign.
        SqlType::Unsigned(number) => {
            let sign = u32::from(matches!(number.kind, NumberKind::Decimal { .. }));
            (display_length(number.plain()) - sign).max(number.zerofill.unwrap_or(0).into())
        }
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Bit { .. } => display_length(ty.operand_type()),
    }
}

/// The type of a JSON document where text is wanted.
pub(crate) const JSON_TEXT: SqlType =
    SqlType::Text { kind: muster_types::TextKind::LongText, length: u32::MAX, collation: Collation::Utf8mb4Bin };

/// The text type of a value where text is wanted; text keeps its own.
pub(crate) fn text_type(ty: SqlType, collation: Collation) -> SqlType {
    match ty {
        SqlType::Text { .. } | SqlType::Bytes { .. } => ty,
        SqlType::Json => JSON_TEXT,
        other => SqlType::varchar(display_length(other), collation),
    }
}

/// Text of at most this many characters: VARCHAR while its bytes fit one, MEDIUMTEXT and LONGTEXT beyond (MySQL:
/// `Item::set_data_type_string`).
pub(crate) fn text_of_length(length: u64, collation: Collation) -> SqlType {
    use muster_types::TextKind;
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let kind = match u64::from(length) * u64::from(collation.charset_max_bytes()) {
        0..=VARCHAR_BYTES_MAX => TextKind::VarChar,
        bytes if bytes <= MEDIUM_BYTES_MAX => TextKind::MediumText,
        _ => TextKind::LongText,
    };
    SqlType::Text { kind, length, collation }
}

/// A byte string of at most this many bytes: VARBINARY, MEDIUMBLOB or LONGBLOB.
pub(crate) fn bytes_of_length(length: u64) -> SqlType {
    use muster_types::BytesKind;
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let kind = match u64::from(length) {
        0..=VARCHAR_BYTES_MAX => BytesKind::VarBinary,
        bytes if bytes <= MEDIUM_BYTES_MAX => BytesKind::MediumBlob,
        _ => BytesKind::LongBlob,
    };
    SqlType::Bytes { kind, length }
}

/// Most bytes of a VARCHAR, and of a MEDIUMTEXT.
const VARCHAR_BYTES_MAX: u64 = 65_535;
const MEDIUM_BYTES_MAX: u64 = 16_777_215;
