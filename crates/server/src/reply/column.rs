//! Column definitions: a column's MySQL type, length, character set and flags.

use super::ResultCharset;
use muster_engine::{ColumnInfo, ToldColumn};
use muster_protocol::put_length_bytes;
use muster_types::{BytesKind, Collation, IntWidth, NumberKind, SqlType, TextKind, charset::Charset};
use mysql_common::constants::{ColumnFlags, ColumnType};
use std::borrow::Cow;

const BINARY_COLLATION: u16 = 63;
/// Bytes of the fixed part of a definition.
const FIXED_BYTES: u8 = 12;
/// Characters of a computed double of any number of digits; a column of a table has one less.
const COMPUTED_DOUBLE_LENGTH: u32 = 23;
/// Characters of a computed double beside its digits behind the point.
const DOUBLE_DIGITS: u32 = 17;
/// Bytes of the longest character of utf8mb4.
const UTF8MB4_BYTES: u32 = 4;
/// "Not fixed" in the decimals field of floating-point numbers.
const FLOATING_DECIMALS: u8 = 31;

/// The payload of a column definition packet.
pub fn definition(column: &ColumnInfo, charset: ResultCharset) -> Vec<u8> {
    let told = &column.shape;
    let ty = told.ty.unwrap_or(column.ty);
    let mut shape = shape(&ty, charset);
    if let (SqlType::Float | SqlType::Double, Some(decimals)) = (column.ty.stored_type(), column.decimals) {
        shape.decimals = decimals;
    }
    if told.stored {
        match ty {
            SqlType::Int { .. } => shape.length = column.length.unwrap_or(shape.length),
            SqlType::Double if column.computed => shape.length = computed_double_length(column.decimals),
            _ => {}
        }
        let is_blob = column.computed && shape.flags.contains(ColumnFlags::BLOB_FLAG);
        if let Some(collation) = ty.collation().filter(|_| is_blob) {
            shape.length = shape.length.saturating_mul(collation.charset_max_bytes());
        }
    } else if column.computed {
        match ty {
            SqlType::Int { .. } => shape.length = column.length.unwrap_or(shape.length),
            SqlType::Double => shape.length = computed_double_length(column.decimals),
            SqlType::Year => shape.flags = ColumnFlags::BINARY_FLAG,
            SqlType::Enum(_) if told.ty.is_some() => chosen_member(ColumnType::MYSQL_TYPE_ENUM, &mut shape),
            SqlType::Set(_) if told.ty.is_some() => chosen_member(ColumnType::MYSQL_TYPE_SET, &mut shape),
            SqlType::Text { .. } | SqlType::Bytes { .. } => {
                computed_string(&ty, &mut shape);
                shape.decimals = column.decimals.unwrap_or(FLOATING_DECIMALS);
            }
            _ if column.chosen => {
                let (number, max_bytes) = charset.metadata(Collation::DEFAULT);
                shape.collation = number;
                shape.length *= max_bytes;
                shape.flags.remove(ColumnFlags::BINARY_FLAG);
            }
            _ => {}
        }
    }
    if let Some(length) = told.length {
        let text = ty.collation().filter(|_| ty.is_text()).map_or(1, |collation| charset.metadata(collation).1);
        shape.length = length.saturating_mul(text);
    }
    shape.decimals = told.decimals.unwrap_or(shape.decimals);
    if !column.computed {
        // `TINYINT(1)`, `FLOAT(7,2)`.
        let is_float = matches!(column.ty.stored_type(), SqlType::Float | SqlType::Double);
        let declared = column.display_width.map(u32::from).or(column.length.filter(|_| is_float));
        shape.length = declared.unwrap_or(shape.length);
    }
    if told.in_client_charset && ty.is_temporal() && shape.collation == BINARY_COLLATION {
        let (number, max_bytes) = charset.metadata(Collation::DEFAULT);
        shape.collation = number;
        shape.length *= max_bytes;
    }
    let flags = flags(column, shape.flags);
    let names = [&column.database, &column.table, &column.org_table, &column.name, &column.org_name];
    let shape = column.told.and_then(|told| told_shape(told, &shape, charset)).unwrap_or(Shape { flags, ..shape });
    encode(names.map(|n| charset.name(n)), &shape)
}

/// The flags of a column, of which its type gives `of_type`.
fn flags(column: &ColumnInfo, of_type: ColumnFlags) -> ColumnFlags {
    let told = &column.shape;
    let is_table_column = !column.computed && !told.stored;
    let mut flags = of_type;
    // Numbers that are computed count as byte strings, those of a table do not.
    if column.ty.stored_type().is_numeric() {
        flags.set(ColumnFlags::BINARY_FLAG, column.computed && !told.stored);
    }
    if told.ty == Some(SqlType::Year) && !told.stored {
        flags.remove(ColumnFlags::UNSIGNED_FLAG | ColumnFlags::ZEROFILL_FLAG);
    }
    if told.unsigned {
        flags.insert(ColumnFlags::UNSIGNED_FLAG);
    }
    flags.set(ColumnFlags::NOT_NULL_FLAG, !column.nullable);
    flags.set(ColumnFlags::NO_DEFAULT_VALUE_FLAG, !column.computed && column.no_default);
    if is_table_column {
        flags.set(ColumnFlags::TIMESTAMP_FLAG, column.filled_by_clock);
        flags.set(ColumnFlags::ON_UPDATE_NOW_FLAG, column.on_update_now);
        flags.set(ColumnFlags::PRI_KEY_FLAG, column.primary_key);
        flags.set(ColumnFlags::UNIQUE_KEY_FLAG, column.unique_key);
        flags.set(ColumnFlags::MULTIPLE_KEY_FLAG, column.multiple_key);
        flags.set(ColumnFlags::AUTO_INCREMENT_FLAG, column.auto_increment);
        flags.set(ColumnFlags::PART_KEY_FLAG, column.primary_key || column.unique_key || column.multiple_key);
    }
    flags
}

/// The shape that a column of SHOW is told to have.
fn told_shape(told: ToldColumn, own: &Shape, charset: ResultCharset) -> Option<Shape> {
    let (number, max_bytes) = charset.metadata(Collation::DEFAULT);
    let is_text = told.charset != BINARY_COLLATION;
    let is_converted = is_text && max_bytes != UTF8MB4_BYTES;
    let length = told.length.map(|bytes| if is_converted { bytes / UTF8MB4_BYTES * max_bytes } else { bytes });
    Some(Shape {
        column_type: ColumnType::try_from(told.column_type).ok()?,
        length: length.unwrap_or(own.length),
        decimals: told.decimals,
        collation: if is_text { number } else { BINARY_COLLATION },
        flags: ColumnFlags::from_bits_truncate(told.flags),
    })
}

/// Characters of a computed double of so many digits behind the point; `None`: as many as it takes.
fn computed_double_length(decimals: Option<u8>) -> u32 {
    decimals.map_or(COMPUTED_DOUBLE_LENGTH, |decimals| DOUBLE_DIGITS + u32::from(decimals))
}

/// A value of an ENUM or SET that a function gives unchanged.
fn chosen_member(column_type: ColumnType, shape: &mut Shape) {
    shape.column_type = column_type;
    shape.flags.remove(ColumnFlags::ENUM_FLAG | ColumnFlags::SET_FLAG);
    shape.decimals = FLOATING_DECIMALS;
}

/// A computed text or byte string: what is long has a type by its length, and the length of a long text is declared as
/// if each of its bytes were a character.
fn computed_string(ty: &SqlType, shape: &mut Shape) {
    let (column_type, is_long) = match ty {
        SqlType::Text { kind, .. } => match kind {
            TextKind::Char | TextKind::VarChar => (shape.column_type, false),
            TextKind::MediumText => (ColumnType::MYSQL_TYPE_MEDIUM_BLOB, true),
            TextKind::LongText => (ColumnType::MYSQL_TYPE_LONG_BLOB, true),
            _ => (ColumnType::MYSQL_TYPE_BLOB, true),
        },
        SqlType::Bytes { kind: BytesKind::MediumBlob, .. } => (ColumnType::MYSQL_TYPE_MEDIUM_BLOB, false),
        SqlType::Bytes { kind: BytesKind::LongBlob, .. } => (ColumnType::MYSQL_TYPE_LONG_BLOB, false),
        _ => (shape.column_type, false),
    };
    if is_long && let Some(collation) = ty.collation() {
        shape.length = shape.length.saturating_mul(collation.charset_max_bytes());
    }
    shape.column_type = column_type;
    shape.flags.remove(ColumnFlags::BLOB_FLAG);
}

/// A definition's bytes. Not `mysql_common`'s: it writes the length before the character set.
fn encode(names: [Cow<'_, [u8]>; 5], shape: &Shape) -> Vec<u8> {
    let mut out = Vec::new();
    put_length_bytes(b"def", &mut out);
    names.iter().for_each(|name| put_length_bytes(name, &mut out));
    out.push(FIXED_BYTES);
    out.extend_from_slice(&shape.collation.to_le_bytes());
    out.extend_from_slice(&shape.length.to_le_bytes());
    out.push(shape.column_type as u8);
    out.extend_from_slice(&shape.flags.bits().to_le_bytes());
    out.extend_from_slice(&[shape.decimals, 0, 0]);
    out
}

/// The definition of a statement's parameter: its type is not known before it is bound.
pub fn parameter() -> Vec<u8> {
    let shape = Shape {
        column_type: ColumnType::MYSQL_TYPE_VAR_STRING,
        length: 0,
        decimals: 0,
        collation: BINARY_COLLATION,
        flags: ColumnFlags::BINARY_FLAG,
    };
    encode([&b""[..], b"", b"", b"?", b""].map(Cow::Borrowed), &shape)
}

/// The character set that a column's texts are sent in.
pub fn charset(column: &ColumnInfo, charset: ResultCharset) -> Charset {
    charset.of_column(column.ty.collation().unwrap_or(Collation::DEFAULT))
}

struct Shape {
    column_type: ColumnType,
    /// Display width in bytes.
    length: u32,
    decimals: u8,
    collation: u16,
    flags: ColumnFlags,
}

/// The protocol type that values of a type are sent as.
pub fn column_type(ty: &SqlType) -> ColumnType {
    shape(ty, ResultCharset::UTF8).column_type
}

fn shape(ty: &SqlType, charset: ResultCharset) -> Shape {
    use ColumnType::*;
    let none = ColumnFlags::empty();
    let number = |column_type, length| Shape {
        column_type,
        length,
        decimals: 0,
        collation: BINARY_COLLATION,
        flags: ColumnFlags::BINARY_FLAG,
    };
    let temporal = |column_type, length: u32, fsp: u8| Shape {
        column_type,
        length: length + if fsp > 0 { fsp as u32 + 1 } else { 0 },
        decimals: fsp,
        collation: BINARY_COLLATION,
        flags: ColumnFlags::BINARY_FLAG,
    };
    let bytes = |column_type, length, flags| Shape {
        column_type,
        length,
        decimals: 0,
        collation: BINARY_COLLATION,
        flags: flags | ColumnFlags::BINARY_FLAG,
    };
    match *ty {
        SqlType::Null => bytes(MYSQL_TYPE_NULL, 0, none),
        SqlType::Bool => number(MYSQL_TYPE_LONGLONG, 1),
        SqlType::Int { width, unsigned } => {
            let (column_type, length) = match width {
                IntWidth::Tiny => (MYSQL_TYPE_TINY, 4 - unsigned as u32),
                IntWidth::Small => (MYSQL_TYPE_SHORT, 6 - unsigned as u32),
                IntWidth::Medium => (MYSQL_TYPE_INT24, 9 - unsigned as u32),
                IntWidth::Int => (MYSQL_TYPE_LONG, 11 - unsigned as u32),
                IntWidth::Big => (MYSQL_TYPE_LONGLONG, 20),
            };
            let mut shape = number(column_type, length);
            shape.flags.set(ColumnFlags::UNSIGNED_FLAG, unsigned);
            shape
        }
        SqlType::Decimal { precision, scale } => {
            let length = precision as u32 + 1 + (scale > 0) as u32;
            Shape { decimals: scale, ..number(MYSQL_TYPE_NEWDECIMAL, length) }
        }
        SqlType::Float => Shape { decimals: FLOATING_DECIMALS, ..number(MYSQL_TYPE_FLOAT, 12) },
        SqlType::Double => Shape { decimals: FLOATING_DECIMALS, ..number(MYSQL_TYPE_DOUBLE, 22) },
        SqlType::Date => temporal(MYSQL_TYPE_DATE, 10, 0),
        SqlType::DateTime { fsp } => temporal(MYSQL_TYPE_DATETIME, 19, fsp),
        SqlType::Timestamp { fsp } => temporal(MYSQL_TYPE_TIMESTAMP, 19, fsp),
        SqlType::Time { fsp } => temporal(MYSQL_TYPE_TIME, 10, fsp),
        SqlType::Text { kind, length, collation } => {
            let (column_type, flags) = match kind {
                TextKind::Char => (MYSQL_TYPE_STRING, none),
                TextKind::VarChar => (MYSQL_TYPE_VAR_STRING, none),
                _ => (MYSQL_TYPE_BLOB, ColumnFlags::BLOB_FLAG),
            };
            let (number, max_bytes) = charset.metadata(collation);
            let mut shape = bytes(column_type, length.saturating_mul(max_bytes), flags);
            shape.flags.set(ColumnFlags::BINARY_FLAG, collation.is_binary());
            shape.collation = number;
            shape
        }
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } | SqlType::Unsigned(_) => {
            declared_shape(ty, charset)
        }
        SqlType::Json => bytes(MYSQL_TYPE_JSON, u32::MAX, ColumnFlags::BLOB_FLAG),
        SqlType::Bytes { kind: BytesKind::Binary, length } => bytes(MYSQL_TYPE_STRING, length, none),
        SqlType::Bytes { kind: BytesKind::VarBinary, length } => bytes(MYSQL_TYPE_VAR_STRING, length, none),
        SqlType::Bytes { length, .. } => bytes(MYSQL_TYPE_BLOB, length, ColumnFlags::BLOB_FLAG),
    }
}

/// The shape of a column whose type is not that of an operand.
fn declared_shape(ty: &SqlType, charset: ResultCharset) -> Shape {
    let operand = shape(&ty.operand_type(), charset);
    match *ty {
        SqlType::Enum(_) | SqlType::Set(_) => {
            let flag = if matches!(ty, SqlType::Enum(_)) { ColumnFlags::ENUM_FLAG } else { ColumnFlags::SET_FLAG };
            Shape { column_type: ColumnType::MYSQL_TYPE_STRING, flags: operand.flags | flag, ..operand }
        }
        SqlType::Year => {
            let flags = ColumnFlags::UNSIGNED_FLAG | ColumnFlags::ZEROFILL_FLAG;
            Shape { column_type: ColumnType::MYSQL_TYPE_YEAR, length: 4, flags, ..operand }
        }
        SqlType::Bit { width } => {
            let flags = ColumnFlags::UNSIGNED_FLAG;
            Shape { column_type: ColumnType::MYSQL_TYPE_BIT, length: width.into(), flags, ..operand }
        }
        SqlType::Unsigned(attributes) => {
            let mut flags = operand.flags | ColumnFlags::UNSIGNED_FLAG;
            flags.set(ColumnFlags::ZEROFILL_FLAG, attributes.zerofill.is_some());
            let length = match (attributes.zerofill, attributes.kind) {
                (Some(width), _) => width.into(),
                // Without a sign.
                (None, NumberKind::Decimal { .. }) => operand.length - 1,
                (None, _) => operand.length,
            };
            Shape { flags, length, ..operand }
        }
        _ => operand,
    }
}
