//! Column definitions: types, defaults, attributes.

use super::{
    cursor::Cursor,
    ddl::{check_constraint, constraint_name, parenthesised_expression},
    foreign_key::references,
};
use crate::{ColumnSpec, DefaultClause, DeprecatedPart, GeneratedSpec};
use muster_types::{
    BytesKind, Collation, Decimal, ErrorCode, FloatDigits, IntWidth, MemberList, NumberKind, Result, SqlError, SqlType,
    TextKind, UnsignedNumber, Value,
    decimal::DIGITS_MAX,
    members::{ENUM_MEMBERS_MAX, SET_MEMBERS_MAX},
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
    store::decimal_max_256,
};
use sqlparser::tokenizer::Token;

/// Longest VARCHAR and VARBINARY, in characters or bytes (MySQL: the row size).
const VARCHAR_MAX: u64 = 65_535;

/// `name type attributes..`.
pub(super) fn column(c: &mut Cursor) -> Result<ColumnSpec> {
    let name = c.unreserved()?;
    let mut spec = ColumnSpec::plain(name, SqlType::Null);
    if data_type(c, &mut spec)? {
        // SERIAL
        spec.nullable = Some(false);
        spec.auto_increment = true;
        spec.unique = true;
    }
    while attribute(c, &mut spec)? {}
    Ok(spec)
}

/// A column of a table function, which has a name and a type and nothing else.
pub(super) fn column_of_type(c: &mut Cursor, name: String) -> Result<ColumnSpec> {
    let mut spec = ColumnSpec::plain(name, SqlType::Null);
    data_type(c, &mut spec)?;
    Ok(spec)
}

/// Reads one attribute; false when there is none.
fn attribute(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<bool> {
    if c.accept("NOT NULL") {
        spec.nullable = Some(false);
    } else if c.accept("NULL") {
        spec.nullable = Some(true);
    } else if c.accept("DEFAULT") {
        spec.default = Some(default(c)?);
    } else if c.accept("ON UPDATE") {
        spec.on_update_now = Some(current_timestamp(c)?);
    } else if c.accept("AUTO_INCREMENT") {
        spec.auto_increment = true;
    } else if c.accept("PRIMARY KEY") || c.accept("PRIMARY") || c.accept("KEY") {
        spec.primary_key = true;
    } else if c.accept("UNIQUE KEY") || c.accept("UNIQUE") {
        spec.unique = true;
    } else if c.accept("COMMENT") {
        spec.comment = c.string()?;
    } else if c.accept("COLLATE") {
        let name = c.name_or_string()?;
        spec.deprecated.extend(DeprecatedPart::of_collation(&name));
        spec.collation = Some(name);
    } else if spec.ty != SqlType::Json && (c.accept("CHARACTER SET") || c.accept("CHARSET")) {
        let name = c.name_or_string()?;
        spec.deprecated.extend(DeprecatedPart::of_charset(&name));
        spec.charset = Some(name);
    } else if let Some(word) = c.accept_any(&["VISIBLE", "INVISIBLE"]) {
        spec.invisible = word == "INVISIBLE";
    } else if c.at("CONSTRAINT") || c.at("CHECK") {
        let name = constraint_name(c)?.flatten();
        spec.checks.push(check_constraint(c, name, Some(&spec.name))?);
    } else if c.at("GENERATED") || c.at("AS") {
        generated(c, spec)?;
    } else if c.accept_any(&["COLUMN_FORMAT FIXED", "COLUMN_FORMAT DYNAMIC", "COLUMN_FORMAT DEFAULT"]).is_some()
        || c.accept_any(&["STORAGE DISK", "STORAGE MEMORY"]).is_some()
    {
        // Nothing to do with them here.
    } else {
        if c.at("REFERENCES") {
            // MySQL reads it there, and forgets it (manual 13.1.20.5).
            return references(c).map(|_| true);
        }
        if c.at("SRID") {
            return Err(SqlError::unsupported("spatial types"));
        }
        return Ok(false);
    }
    Ok(true)
}

/// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
fn generated(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<()> {
    if c.accept("GENERATED") {
        c.expect("ALWAYS")?;
    }
    c.expect("AS")?;
    let expr = parenthesised_expression(c)?;
    let stored = c.accept_any(&["VIRTUAL", "STORED"]) == Some("STORED");
    spec.generated = Some(GeneratedSpec { expr, stored });
    Ok(())
}

/// The type; true for SERIAL, which is more than a type.
fn data_type(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<bool> {
    let word = c.word(0);
    if word.is_empty() {
        return Err(c.error());
    }
    let place = c.position();
    c.advance();
    let name = spec.name.clone();
    spec.ty = match word.as_str() {
        "TINYINT" | "INT1" => integer(c, IntWidth::Tiny, spec)?,
        "BOOL" | "BOOLEAN" => {
            spec.display_width = Some(1);
            SqlType::TINYINT
        }
        "SMALLINT" | "INT2" => integer(c, IntWidth::Small, spec)?,
        "MEDIUMINT" | "INT3" | "MIDDLEINT" => integer(c, IntWidth::Medium, spec)?,
        "INT" | "INTEGER" | "INT4" => integer(c, IntWidth::Int, spec)?,
        "BIGINT" | "INT8" => integer(c, IntWidth::Big, spec)?,
        "SERIAL" => {
            spec.ty = SqlType::BIGINT_UNSIGNED;
            return Ok(true);
        }
        "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => decimal(c, spec)?,
        "FLOAT" | "FLOAT4" => float(c, spec)?,
        "DOUBLE" | "REAL" | "FLOAT8" => double(c, &word, spec)?,
        "DATE" => SqlType::Date,
        "DATETIME" => SqlType::DateTime { fsp: fsp(c, &name)? },
        "TIMESTAMP" => SqlType::Timestamp { fsp: fsp(c, &name)? },
        "TIME" => SqlType::Time { fsp: fsp(c, &name)? },
        "CHAR" | "CHARACTER" if c.accept("VARYING") => varchar(c, &name)?,
        "CHAR" | "CHARACTER" => text(TextKind::Char, bounded(length(c, &name)?.unwrap_or(1), 255, &name)?),
        "VARCHAR" | "VARCHARACTER" => varchar(c, &name)?,
        "NCHAR" | "NVARCHAR" | "NATIONAL" => national(c, &word, spec)?,
        "TINYTEXT" => text(TextKind::TinyText, 255),
        "TEXT" => {
            spec.size = length(c, &name)?;
            text(TextKind::Text, 65_535)
        }
        "MEDIUMTEXT" => text(TextKind::MediumText, 16_777_215),
        "LONGTEXT" => text(TextKind::LongText, u32::MAX),
        "LONG" => long(c),
        "BINARY" => bytes(BytesKind::Binary, bounded(length(c, &name)?.unwrap_or(1), 255, &name)?),
        "VARBINARY" => match length(c, &name)? {
            Some(n) => bytes(BytesKind::VarBinary, bounded(n, VARCHAR_MAX, &name)?),
            None => return Err(c.error()),
        },
        "TINYBLOB" => bytes(BytesKind::TinyBlob, 255),
        "BLOB" => {
            spec.size = length(c, &name)?;
            bytes(BytesKind::Blob, 65_535)
        }
        "MEDIUMBLOB" => bytes(BytesKind::MediumBlob, 16_777_215),
        "LONGBLOB" => bytes(BytesKind::LongBlob, u32::MAX),
        "ENUM" => SqlType::Enum(members(c, &name, ENUM_MEMBERS_MAX)?),
        "SET" => SqlType::Set(members(c, &name, SET_MEMBERS_MAX)?),
        "YEAR" => year(c, spec)?,
        "BIT" => bit(c, &name)?,
        "JSON" => SqlType::Json,
        "GEOMETRY" | "POINT" | "LINESTRING" | "POLYGON" | "MULTIPOINT" | "MULTILINESTRING" | "MULTIPOLYGON"
        | "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" | "VECTOR" => {
            return Err(SqlError::unsupported(format!("type {word}")));
        }
        _ => return Err(c.source.error_at(place)),
    };
    if spec.ty.is_text() || matches!(spec.ty, SqlType::Enum(_) | SqlType::Set(_)) {
        character_set(c, spec)?;
    }
    Ok(false)
}

/// The character set behind a type of texts, in any of its forms, and BINARY.
fn character_set(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<()> {
    loop {
        if c.accept("CHARACTER SET") || c.accept("CHARSET") || c.accept("CHAR SET") {
            let name = c.name_or_string()?;
            spec.deprecated.extend(DeprecatedPart::of_charset(&name));
            spec.charset = Some(name);
        } else if c.accept("ASCII") {
            spec.deprecated.push(DeprecatedPart::Ascii);
            spec.charset = Some("latin1".into());
        } else if c.accept("UNICODE") {
            spec.deprecated.push(DeprecatedPart::Unicode);
            spec.charset = Some("ucs2".into());
        } else if c.accept("BYTE") {
            spec.charset = Some("binary".into());
        } else if c.accept("BINARY") {
            spec.deprecated.push(DeprecatedPart::BinaryAttribute);
            spec.is_binary = true;
        } else {
            return Ok(());
        }
    }
}

/// `('a', 'b', ..)` of ENUM and SET. Spaces at the end of a member do not belong to it. Errors: 1097 for too many, 1367
/// for a comma within a member of a SET.
fn members(c: &mut Cursor, name: &str, max: usize) -> Result<MemberList> {
    let mut names = Vec::new();
    c.expect_token(&Token::LParen)?;
    loop {
        names.push(c.string()?.trim_end_matches(' ').to_owned());
        if !c.accept_token(&Token::Comma) {
            break;
        }
    }
    c.expect_token(&Token::RParen)?;
    if names.len() > max {
        let message = format!("Too many strings for column {name} and SET");
        return Err(match max {
            SET_MEMBERS_MAX => SqlError::new(ErrorCode::TooBigSet, message),
            _ => SqlError::new(ErrorCode::TooBigEnum, format!("Too many enumeration values for column {name}.")),
        });
    }
    if max == SET_MEMBERS_MAX
        && let Some(wrong) = names.iter().find(|name| name.contains(','))
    {
        let message = format!("Illegal set '{wrong}' value found during parsing");
        return Err(SqlError::new(ErrorCode::IllegalValueForType, message));
    }
    Ok(MemberList::new(names, Collation::DEFAULT))
}

/// `YEAR` and `YEAR(4)`. Error 1818 for another width.
fn year(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<SqlType> {
    let width = length(c, &spec.name)?;
    // As in MySQL they change nothing.
    attributes(c, spec);
    match width {
        None => Ok(SqlType::Year),
        Some(4) => {
            spec.deprecated.push(DeprecatedPart::YearWidth);
            Ok(SqlType::Year)
        }
        Some(_) => {
            let message = "Invalid display width. Use YEAR instead.";
            Err(SqlError::new(ErrorCode::InvalidYearColumnLength, message))
        }
    }
}

/// `BIT` and `BIT(n)`. Errors: 3013 for no bits, 1439 for more than 64.
fn bit(c: &mut Cursor, name: &str) -> Result<SqlType> {
    match length(c, name)?.unwrap_or(1) {
        0 => Err(SqlError::new(ErrorCode::InvalidFieldSize, format!("Invalid size for column '{name}'."))),
        width @ 1..=64 => Ok(SqlType::Bit { width: width as u8 }),
        _ => {
            let message = format!("Display width out of range for column '{name}' (max = 64)");
            Err(SqlError::new(ErrorCode::TooBigDisplayWidth, message))
        }
    }
}

/// `NCHAR`, `NVARCHAR`, `NATIONAL CHAR` and so on: text of the character set utf8mb3.
fn national(c: &mut Cursor, word: &str, spec: &mut ColumnSpec) -> Result<SqlType> {
    let varying = match word {
        "NVARCHAR" => true,
        "NCHAR" => c.accept_any(&["VARCHAR", "VARCHARACTER", "VARYING"]).is_some(),
        _ => match c.accept_any(&["VARCHAR", "VARCHARACTER", "CHARACTER", "CHAR"]) {
            Some("VARCHAR" | "VARCHARACTER") => true,
            Some(_) => c.accept("VARYING"),
            None => return Err(c.error()),
        },
    };
    spec.charset = Some("utf8mb3".into());
    spec.deprecated.push(DeprecatedPart::National);
    match varying {
        true => varchar(c, &spec.name),
        false => Ok(text(TextKind::Char, bounded(length(c, &spec.name)?.unwrap_or(1), 255, &spec.name)?)),
    }
}

/// `LONG`, `LONG VARCHAR` and `LONG CHAR VARYING` are MEDIUMTEXT, `LONG VARBINARY` is MEDIUMBLOB (manual 11.9 "Using
/// Data Types from Other Database Engines").
fn long(c: &mut Cursor) -> SqlType {
    match c.accept_any(&["VARBINARY", "VARCHAR", "VARCHARACTER", "CHARACTER", "CHAR"]) {
        Some("VARBINARY") => return bytes(BytesKind::MediumBlob, 16_777_215),
        Some("CHARACTER" | "CHAR") => _ = c.accept("VARYING"),
        _ => {}
    }
    text(TextKind::MediumText, 16_777_215)
}

fn text(kind: TextKind, length: u32) -> SqlType {
    SqlType::Text { kind, length, collation: Collation::DEFAULT }
}

fn bytes(kind: BytesKind, length: u32) -> SqlType {
    SqlType::Bytes { kind, length }
}

/// A number in parentheses. Error 1439 for one that does not fit 32 bits.
fn length(c: &mut Cursor, name: &str) -> Result<Option<u64>> {
    if !c.accept_token(&Token::LParen) {
        return Ok(None);
    }
    let n = match c.peek(0) {
        Token::Number(digits, _) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            let n = digits.parse().unwrap_or(u64::MAX);
            c.advance();
            n
        }
        _ => return Err(c.error()),
    };
    c.expect_token(&Token::RParen)?;
    if n > u64::from(u32::MAX) {
        let message = format!("Display width out of range for column '{name}' (max = {})", u32::MAX);
        return Err(SqlError::new(ErrorCode::TooBigDisplayWidth, message));
    }
    Ok(Some(n))
}

fn varchar(c: &mut Cursor, name: &str) -> Result<SqlType> {
    match length(c, name)? {
        // The longest depends on the character set, which is not known yet.
        Some(n) => Ok(text(TextKind::VarChar, bounded(n, u32::MAX.into(), name)?)),
        None => Err(c.error()),
    }
}

fn bounded(n: u64, max: u64, name: &str) -> Result<u32> {
    match u32::try_from(n) {
        Ok(small) if n <= max => Ok(small),
        _ => Err(SqlError::column_too_long(name, max)),
    }
}

fn fsp(c: &mut Cursor, name: &str) -> Result<u8> {
    match length(c, name)?.unwrap_or(0) {
        n @ 0..=6 => Ok(n as u8),
        n => Err(SqlError::precision_too_big(n, name, 6)),
    }
}

/// UNSIGNED and ZEROFILL behind a number's type.
#[derive(Clone, Copy)]
struct NumberAttributes {
    unsigned: bool,
    zerofill: bool,
}

impl NumberAttributes {
    /// The type of a column of this kind. `width`: the display width, if one is written.
    fn of(self, kind: NumberKind, width: Option<u8>) -> SqlType {
        let filled = || width.unwrap_or_else(|| UnsignedNumber::default_width(kind));
        let number = UnsignedNumber { kind, zerofill: self.zerofill.then(filled) };
        match (kind, self.unsigned, self.zerofill) {
            (NumberKind::Int(width), unsigned, false) => SqlType::Int { width, unsigned },
            (_, false, false) => number.plain(),
            _ => SqlType::Unsigned(number),
        }
    }

    /// Notes what a number that is no integer may not have for long. `has_digits`: a floating-point type has `(M,D)`.
    fn deprecate(self, has_digits: bool, spec: &mut ColumnSpec) {
        if has_digits {
            spec.deprecated.push(DeprecatedPart::FloatDigits);
        }
        if self.unsigned {
            spec.deprecated.push(DeprecatedPart::UnsignedFraction);
        }
    }
}

/// Reads UNSIGNED, SIGNED and ZEROFILL, in any order. ZEROFILL makes a number unsigned.
fn attributes(c: &mut Cursor, spec: &mut ColumnSpec) -> NumberAttributes {
    let mut attributes = NumberAttributes { unsigned: false, zerofill: false };
    while let Some(word) = c.accept_any(&["UNSIGNED", "SIGNED", "ZEROFILL"]) {
        attributes.unsigned |= word == "UNSIGNED";
        if word == "ZEROFILL" {
            attributes.zerofill = true;
            spec.deprecated.push(DeprecatedPart::Zerofill);
        }
    }
    attributes
}

fn integer(c: &mut Cursor, width: IntWidth, spec: &mut ColumnSpec) -> Result<SqlType> {
    let display = match length(c, &spec.name)? {
        None => None,
        Some(0) => None,
        Some(n) => Some(u8::try_from(n).map_err(|_| display_width_out_of_range(&spec.name))?),
    };
    let ty = attributes(c, spec).of(NumberKind::Int(width), display);
    if display.is_some() {
        spec.deprecated.push(DeprecatedPart::DisplayWidth);
    }
    if ty == SqlType::TINYINT && display == Some(1) {
        spec.display_width = display;
    }
    Ok(ty)
}

/// Error 1439.
fn display_width_out_of_range(name: &str) -> SqlError {
    let message = format!("Display width out of range for column '{name}' (max = 255)");
    SqlError::new(ErrorCode::TooBigDisplayWidth, message)
}

/// `FLOAT`, `FLOAT(p)` and `FLOAT(M,D)`. Error 1063 for a precision that no double has.
fn float(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<SqlType> {
    let written = if *c.peek(0) == Token::LParen { c.parenthesised(|c| c.unsigned())? } else { Vec::new() };
    let attributes = attributes(c, spec);
    attributes.deprecate(written.len() > 1, spec);
    match written[..] {
        [0..=24] | [] => Ok(attributes.of(NumberKind::Float, None)),
        [25..=53] => Ok(attributes.of(NumberKind::Double, None)),
        [_] => {
            let message = format!("Incorrect column specifier for column '{}'", spec.name);
            Err(SqlError::new(ErrorCode::WrongFieldSpec, message))
        }
        [m, d] => {
            spec.digits = Some(float_digits(m, d, &spec.name)?);
            Ok(attributes.of(NumberKind::Float, u8::try_from(m).ok()))
        }
        _ => Err(c.error()),
    }
}

/// `DOUBLE [PRECISION]` and `REAL`, also with `(M,D)`.
fn double(c: &mut Cursor, word: &str, spec: &mut ColumnSpec) -> Result<SqlType> {
    spec.is_real = word == "REAL";
    c.accept("PRECISION");
    let mut width = None;
    if *c.peek(0) == Token::LParen {
        let [m, d] = c.parenthesised(|c| c.unsigned())?[..] else { return Err(c.error()) };
        spec.digits = Some(float_digits(m, d, &spec.name)?);
        width = u8::try_from(m).ok();
    }
    let attributes = attributes(c, spec);
    attributes.deprecate(spec.digits.is_some(), spec);
    Ok(attributes.of(NumberKind::Double, width))
}

/// M and D of a floating-point type. Errors: 1439, 1425, 1427.
fn float_digits(precision: u64, scale: u64, name: &str) -> Result<FloatDigits> {
    if scale > DECIMAL_MAX_SCALE as u64 {
        return Err(SqlError::scale_too_big(scale, name, DECIMAL_MAX_SCALE));
    }
    let Ok(width) = u8::try_from(precision) else { return Err(display_width_out_of_range(name)) };
    if scale > precision {
        return Err(SqlError::scale_above_precision(name));
    }
    Ok(FloatDigits { precision: width, scale: scale as u8 })
}

fn decimal(c: &mut Cursor, spec: &mut ColumnSpec) -> Result<SqlType> {
    let digits = if *c.peek(0) == Token::LParen { c.parenthesised(|c| c.unsigned())? } else { vec![10] };
    let (precision, scale) = match digits[..] {
        [p] => (if p == 0 { 10 } else { p }, 0),
        [p, s] => (if p == 0 && s == 0 { 10 } else { p }, s),
        _ => return Err(c.error()),
    };
    let attributes = attributes(c, spec);
    attributes.deprecate(false, spec);
    let name = &spec.name;
    if scale > DECIMAL_MAX_SCALE as u64 {
        return Err(SqlError::scale_too_big(scale, name, DECIMAL_MAX_SCALE));
    }
    if precision > DECIMAL_MAX_PRECISION as u64 {
        return Err(SqlError::precision_too_big(precision, name, DECIMAL_MAX_PRECISION));
    }
    if scale > precision {
        return Err(SqlError::scale_above_precision(name));
    }
    Ok(attributes.of(NumberKind::Decimal { precision: precision as u8, scale: scale as u8 }, None))
}

/// `CURRENT_TIMESTAMP` or a synonym of it; returns the digits of its fraction of a second.
fn current_timestamp(c: &mut Cursor) -> Result<u64> {
    if c.accept_any(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]).is_none() {
        return Err(c.error());
    }
    if !c.accept_token(&Token::LParen) || c.accept_token(&Token::RParen) {
        return Ok(0);
    }
    let fsp = c.unsigned()?;
    c.expect_token(&Token::RParen)?;
    Ok(fsp)
}

/// What stands behind DEFAULT.
pub(super) fn default(c: &mut Cursor) -> Result<DefaultClause> {
    if ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"].iter().any(|w| c.at(w)) {
        return Ok(DefaultClause::CurrentTimestamp { fsp: current_timestamp(c)? });
    }
    if *c.peek(0) == Token::LParen {
        return Ok(DefaultClause::Expr(parenthesised_expression(c)?));
    }
    Ok(DefaultClause::Value(literal(c)?))
}

/// A literal: number, string, NULL, TRUE, FALSE, hexadecimal, DATE '..'.
fn literal(c: &mut Cursor) -> Result<Value> {
    if let Some(word) = c.accept_any(&["NULL", "TRUE", "FALSE"]) {
        return Ok(match word {
            "NULL" => Value::Null,
            word => Value::Int((word == "TRUE") as i64),
        });
    }
    if c.accept_any(&["DATE", "TIME", "TIMESTAMP"]).is_some() {
        return Ok(Value::Text(c.string()?));
    }
    if let Some(text) = c.try_string() {
        return Ok(Value::Text(text));
    }
    if let Token::HexStringLiteral(digits) = c.peek(0) {
        let bytes = hex_bytes(digits).ok_or_else(|| c.error())?;
        c.advance();
        return Ok(Value::Bytes(bytes));
    }
    if let Token::SingleQuotedByteStringLiteral(digits) = c.peek(0) {
        let bytes = bit_bytes(digits).ok_or_else(|| c.error())?;
        c.advance();
        return Ok(Value::Bytes(bytes));
    }
    let negative = c.accept_token(&Token::Minus);
    if !negative {
        c.accept_token(&Token::Plus);
    }
    let Token::Number(digits, _) = c.peek(0) else { return Err(c.error()) };
    let value = number(digits, negative)?;
    c.advance();
    Ok(value)
}

/// The value of a number as written: an integer, a decimal, or with an exponent a double. Errors: 1690 for a decimal of
/// more digits than there is room for, 1367 for a double beyond the largest.
pub(crate) fn number(digits: &str, negative: bool) -> Result<Value> {
    let signed = if negative { format!("-{digits}") } else { digits.to_string() };
    if let Ok(i) = signed.parse::<i64>() {
        return Ok(Value::Int(i));
    }
    if let Ok(u) = signed.parse::<u64>() {
        return Ok(Value::UInt(u));
    }
    if !digits.contains(['e', 'E']) {
        return decimal_literal(&signed).map(Value::Decimal).ok_or_else(|| {
            SqlError::new(ErrorCode::DataOutOfRange, format!("DECIMAL value is out of range in '{signed}'"))
        });
    }
    signed.parse::<f64>().ok().filter(|x| x.is_finite()).map(Value::Double).ok_or_else(|| {
        SqlError::new(ErrorCode::IllegalValueForType, format!("Illegal double '{digits}' value found during parsing"))
    })
}

/// Digits of a word of MySQL's decimals, and words of the longest of them (MySQL: `DECIMAL_BUFF_LENGTH`).
const DIGITS_OF_WORD: usize = 9;
const WORDS: usize = 9;

/// A number without exponent, rounded to as many digits behind the point as a decimal can have; `None` if what is left
/// is too long.
fn decimal_literal(signed: &str) -> Option<Decimal> {
    let (whole, fraction) = signed.split_once('.').unwrap_or((signed, ""));
    let digits = whole.trim_start_matches(['-', '0']).len();
    if digits > DIGITS_MAX as usize {
        // MySQL's largest decimal stands for what is too large.
        let largest = Decimal::wide(decimal_max_256(DECIMAL_MAX_PRECISION), 0);
        return Some(if signed.starts_with('-') { largest.negated() } else { largest });
    }
    // MySQL keeps nine words of nine digits: those behind the point are what the whole ones leave of them.
    let words = WORDS.saturating_sub(digits.div_ceil(DIGITS_OF_WORD));
    let cut = &fraction[..fraction.len().min(words * DIGITS_OF_WORD)];
    let kept = cut.len().min(DECIMAL_MAX_SCALE as usize).min((DIGITS_MAX as usize).saturating_sub(digits));
    let number = Decimal::parse(&format!("{whole}.{}", &cut[..kept]))?;
    let up = cut.as_bytes().get(kept).is_some_and(|digit| *digit >= b'5');
    let step = if signed.starts_with('-') { -1 } else { 1 };
    if up { number.checked_add(Decimal::new(step, number.scale)) } else { Some(number) }
}

/// The bytes of bits, of which the first ones may be missing; `None` if they are none.
pub(crate) fn bit_bytes(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|b| b == b'0' || b == b'1') {
        return None;
    }
    let width = digits.len().div_ceil(8) * 8;
    let padded = format!("{digits:0>width$}");
    Some(padded.as_bytes().chunks(8).map(|c| c.iter().fold(0, |v, b| v << 1 | (b - b'0'))).collect())
}

/// The bytes of hexadecimal digits; an odd number of them begins with half a byte.
pub(crate) fn hex_bytes(digits: &str) -> Option<Vec<u8>> {
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_string() };
    if !padded.is_ascii() {
        return None;
    }
    (0..padded.len()).step_by(2).map(|i| u8::from_str_radix(&padded[i..i + 2], 16).ok()).collect()
}
