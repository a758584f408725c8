//! Columns of CREATE TABLE: types with their character sets, nullability, defaults, limits.

use super::{check_length, default};
use crate::{charset, statement::StatementContext};
use muster_algebra::{ColumnDef, DefaultValue, Generated, Visibility};
use muster_sql::{ColumnSpec, DefaultClause};
use muster_types::{
    BytesKind, Collation, ErrorCode, MemberList, NumberKind, Result, SqlError, SqlType, TextKind, UnsignedNumber,
    Value,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
    store::{StoredType, hexadecimal},
};

/// MySQL's limits (manual 8.4.7).
const MAX_COLUMNS: usize = 4096;
const MAX_ROW_BYTES: u64 = 65_535;
const MAX_COMMENT_CHARS: usize = 1024;

/// The columns, checked. `collation`: the table's.
pub fn columns(specs: &[ColumnSpec], collation: Collation, context: &StatementContext) -> Result<Vec<ColumnDef>> {
    if specs.is_empty() {
        return Err(SqlError::new(ErrorCode::TableMustHaveColumns, "A table must have at least 1 column"));
    }
    let columns = specs.iter().map(|spec| column(spec, collation, context)).collect::<Result<Vec<_>>>()?;
    check(&columns)?;
    Ok(columns)
}

/// Checks what concerns all columns of a table together. Errors: 1060, 1117, 1118.
pub fn check(columns: &[ColumnDef]) -> Result<()> {
    if columns.len() > MAX_COLUMNS {
        return Err(SqlError::new(ErrorCode::TooManyFields, "Too many columns"));
    }
    for (i, column) in columns.iter().enumerate() {
        if columns[..i].iter().any(|c| c.name.eq_ignore_ascii_case(&column.name)) {
            return Err(SqlError::duplicate_column(&column.name));
        }
    }
    if columns.iter().all(|c| c.visibility != Visibility::Visible) {
        let message = "A table must have at least one visible column.";
        return Err(SqlError::new(ErrorCode::TableMustHaveVisibleColumn, message));
    }
    let null_bytes = columns.iter().filter(|c| c.nullable).count().div_ceil(8) as u64;
    let row: u64 = columns.iter().map(|c| c.ty.declared_bytes()).sum::<u64>() + null_bytes;
    if row > MAX_ROW_BYTES {
        let message = format!(
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is \
             {MAX_ROW_BYTES}. This includes storage overhead, check the manual. You have to change some columns to \
             TEXT or BLOBs"
        );
        return Err(SqlError::new(ErrorCode::TooBigRowSize, message));
    }
    Ok(())
}

/// The column under `sql_mode` REAL_AS_FLOAT.
pub fn real_as_float(spec: &ColumnSpec) -> ColumnSpec {
    let ty = match spec.ty {
        SqlType::Double if spec.is_real => SqlType::Float,
        SqlType::Unsigned(number) if spec.is_real => {
            SqlType::Unsigned(UnsignedNumber { kind: NumberKind::Float, ..number })
        }
        ty => ty,
    };
    ColumnSpec { ty, ..spec.clone() }
}

/// The smallest type of TEXT or BLOB that holds so many characters or bytes.
fn sized(ty: SqlType, size: Option<u64>) -> SqlType {
    let Some(size) = size else { return ty };
    match ty {
        SqlType::Text { collation, .. } => {
            let (kind, length) = match size.saturating_mul(u64::from(collation.charset_max_bytes())) {
                0..=0xFF => (TextKind::TinyText, 0xFF),
                0x100..=0xFFFF => (TextKind::Text, 0xFFFF),
                0x1_0000..=0xFF_FFFF => (TextKind::MediumText, 0xFF_FFFF),
                _ => (TextKind::LongText, u32::MAX),
            };
            SqlType::Text { kind, length, collation }
        }
        // A TEXT of the character set binary is a BLOB.
        SqlType::Bytes { .. } => {
            let (kind, length) = match size {
                0..=0xFF => (BytesKind::TinyBlob, 0xFF),
                0x100..=0xFFFF => (BytesKind::Blob, 0xFFFF),
                0x1_0000..=0xFF_FFFF => (BytesKind::MediumBlob, 0xFF_FFFF),
                _ => (BytesKind::LongBlob, u32::MAX),
            };
            SqlType::Bytes { kind, length }
        }
        other => other,
    }
}

/// Errors: 1059, 1166.
pub fn check_name(name: &str) -> Result<()> {
    check_length(name)?;
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(ErrorCode::WrongColumnName, format!("Incorrect column name '{name}'")));
    }
    Ok(())
}

/// Error 1067.
fn invalid_default(name: &str) -> SqlError {
    SqlError::new(ErrorCode::InvalidDefault, format!("Invalid default value for '{name}'"))
}

/// Error 1101.
pub fn long_default(name: &str) -> SqlError {
    let message = format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value");
    SqlError::new(ErrorCode::BlobCantHaveDefault, message)
}

/// Returns true if the clock fills columns of a type. It fills those that show as many digits as it was asked for
/// (manual 13.2.5).
fn takes_clock(ty: SqlType, digits: u64) -> bool {
    match ty {
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => u64::from(fsp) == digits,
        _ => false,
    }
}

/// A column as it is defined. `collation`: the table's.
pub fn column(spec: &ColumnSpec, collation: Collation, context: &StatementContext) -> Result<ColumnDef> {
    let name = &spec.name;
    spec.deprecated.iter().for_each(|part| context.warn_of(part.warning()));
    check_name(name)?;
    let ty = sized(column_type(spec, collation)?, spec.size);
    if spec.auto_increment {
        if !matches!(ty.stored_type(), SqlType::Int { .. }) {
            let message = format!("Incorrect column specifier for column '{name}'");
            return Err(SqlError::new(ErrorCode::WrongFieldSpec, message));
        }
        if spec.default.is_some() {
            return Err(invalid_default(name));
        }
    }
    if spec.on_update_now.is_some_and(|digits| !takes_clock(ty, digits)) {
        let message = format!("Invalid ON UPDATE clause for '{name}' column");
        return Err(SqlError::new(ErrorCode::InvalidOnUpdate, message));
    }
    let generated = generated(spec)?;
    // A primary key column is NOT NULL without saying so, and so is an AUTO_INCREMENT column.
    let nullable = spec.nullable.unwrap_or(!spec.primary_key && !spec.auto_increment);
    let mut column = ColumnDef {
        digits: spec.digits,
        display_width: spec.display_width,
        auto_increment: spec.auto_increment,
        comment: spec.comment.clone(),
        explicit_collation: (spec.charset.is_some() || spec.collation.is_some()) && !spec.copies_collation,
        visibility: if spec.invisible { Visibility::Invisible } else { Visibility::Visible },
        generated,
        ..ColumnDef::plain(name.clone(), ty, nullable)
    };
    if let Some(clause) = &spec.default {
        column.default = default_of(&column, clause, context)?;
    }
    if spec.comment.chars().count() > MAX_COMMENT_CHARS {
        let message = format!("Comment for field '{name}' is too long (max = {MAX_COMMENT_CHARS})");
        return Err(SqlError::new(ErrorCode::TooLongComment, message));
    }
    Ok(column)
}

/// The expression that gives the column its values. Error 1221 for what it cannot have besides.
fn generated(spec: &ColumnSpec) -> Result<Option<Generated>> {
    let Some(generated) = &spec.generated else { return Ok(None) };
    let others = [
        (spec.default.is_some(), "DEFAULT"),
        (spec.on_update_now.is_some(), "ON UPDATE"),
        (spec.auto_increment, "AUTO_INCREMENT"),
    ];
    if let Some((_, what)) = others.iter().find(|(is_given, _)| *is_given) {
        let message = format!("Incorrect usage of {what} and generated column");
        return Err(SqlError::new(ErrorCode::WrongUsage, message));
    }
    Ok(Some(Generated { expr: muster_sql::canonical(&generated.expr)?, stored: generated.stored }))
}

/// What a DEFAULT clause gives a column. Errors: 1067, 1101.
pub fn default_of(
    column: &ColumnDef,
    clause: &DefaultClause,
    context: &StatementContext,
) -> Result<Option<DefaultValue>> {
    let ColumnDef { name, ty, nullable, .. } = column;
    Ok(match clause {
        DefaultClause::CurrentTimestamp { fsp } if takes_clock(*ty, *fsp) => Some(DefaultValue::CurrentTimestamp),
        DefaultClause::CurrentTimestamp { .. } => return Err(invalid_default(name)),
        DefaultClause::Expr(expr) => Some(DefaultValue::Expr(muster_sql::canonical(expr)?)),
        DefaultClause::Value(Value::Null) if *nullable => None,
        DefaultClause::Value(Value::Null) => return Err(invalid_default(name)),
        DefaultClause::Value(_) if ty.is_long() => return Err(long_default(name)),
        DefaultClause::Value(value) => {
            let literal = literal_of_bytes(value, *ty);
            let value = literal.as_ref().unwrap_or(value);
            if !names_members(value, *ty) || is_blank_time(value, *ty) {
                return Err(invalid_default(name));
            }
            let stored = stored_default(column, value, context).ok_or_else(|| invalid_default(name))?;
            Some(DefaultValue::Value(stored))
        }
    })
}

/// A hexadecimal or bit literal as the column takes it: a number, a text that names members, or bytes. `None` for
/// other values.
fn literal_of_bytes(value: &Value, ty: SqlType) -> Option<Value> {
    let Value::Bytes(bytes) = value else { return None };
    let is_named = matches!(ty, SqlType::Enum(_) | SqlType::Set(_));
    let text = String::from_utf8(bytes.clone()).ok().filter(|_| is_named);
    Some(text.map_or_else(|| hexadecimal(bytes, ty), Value::Text))
}

/// A blank text is stored as 00:00:00, but is no default.
fn is_blank_time(value: &Value, ty: SqlType) -> bool {
    matches!(value, Value::Text(text) if text.trim_matches(' ').is_empty()) && matches!(ty, SqlType::Time { .. })
}

/// The default as the column stores it; `None` if it does not fit. A warning where the zero date takes its place.
fn stored_default(column: &ColumnDef, value: &Value, context: &StatementContext) -> Option<Value> {
    let (zone, date_modes) = (context.clock.time_zone, context.date_modes());
    let stored = StoredType { ty: column.ty, digits: column.digits, zone, date_modes };
    let (stored, warning) = default::convert(value, stored, context.is_strict())?;
    if let Some(fault) = warning {
        context.warn(fault.code(), fault.message(&column.name, "", 1));
    }
    Some(stored)
}

fn column_type(spec: &ColumnSpec, table_collation: Collation) -> Result<SqlType> {
    let name = &spec.name;
    let too_long = |max: u64| Err(SqlError::column_too_long(name, max));
    match spec.ty {
        SqlType::Decimal { precision, .. } if precision > DECIMAL_MAX_PRECISION => {
            Err(SqlError::precision_too_big(precision, name, DECIMAL_MAX_PRECISION))
        }
        SqlType::Decimal { scale, .. } if scale > DECIMAL_MAX_SCALE => {
            Err(SqlError::scale_too_big(scale, name, DECIMAL_MAX_SCALE))
        }
        SqlType::Decimal { precision, scale } if scale > precision => Err(SqlError::scale_above_precision(name)),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } | SqlType::Time { fsp } if fsp > 6 => {
            Err(SqlError::precision_too_big(fsp, name, 6))
        }
        SqlType::Enum(members) => Ok(SqlType::Enum(distinct_members(spec, members, table_collation, "ENUM")?)),
        SqlType::Set(members) => Ok(SqlType::Set(distinct_members(spec, members, table_collation, "SET")?)),
        SqlType::Text { kind, length, .. } => {
            let collation = collation_of(spec, table_collation)?;
            if collation == Collation::Binary {
                return binary_type(kind, length).map_or_else(too_long, Ok);
            }
            let max = match kind {
                TextKind::Char => 255,
                TextKind::VarChar => MAX_ROW_BYTES / charset::max_bytes(collation),
                _ => u64::MAX,
            };
            if u64::from(length) > max {
                return too_long(max);
            }
            Ok(SqlType::Text { kind, length, collation })
        }
        SqlType::Bytes { kind: BytesKind::Binary, length } if length > 255 => too_long(255),
        SqlType::Bytes { kind: BytesKind::VarBinary, length } if u64::from(length) > MAX_ROW_BYTES => {
            too_long(MAX_ROW_BYTES)
        }
        ty => Ok(ty),
    }
}

fn collation_of(spec: &ColumnSpec, table_collation: Collation) -> Result<Collation> {
    let own = charset::resolve(spec.charset.as_deref(), spec.collation.as_deref())?;
    let collation = own.unwrap_or(table_collation);
    Ok(if spec.is_binary { Collation::binary_of_charset(collation.character_set()) } else { collation })
}

/// The members of an ENUM or SET under the column's collation. Error 1291 if two of them are equal.
fn distinct_members(spec: &ColumnSpec, members: MemberList, table: Collation, kind: &str) -> Result<MemberList> {
    let members = members.with_collation(collation_of(spec, table)?);
    match members.duplicate() {
        None => Ok(members),
        Some(value) => {
            let message = format!("Column '{}' has duplicated value '{value}' in {kind}", spec.name);
            Err(SqlError::new(ErrorCode::DuplicatedValueInType, message))
        }
    }
}

/// Returns true unless the type is ENUM or SET and the default is no text of members: numbers are not taken here.
fn names_members(value: &Value, ty: SqlType) -> bool {
    match (ty, value) {
        (SqlType::Enum(members), Value::Text(text)) => members.position(text.trim_end_matches(' ')).is_some(),
        (SqlType::Set(members), Value::Text(text)) => members.set_bits(text.trim_end_matches(' ')).1,
        (SqlType::Enum(_) | SqlType::Set(_), _) => false,
        _ => true,
    }
}

/// `CHARACTER SET binary` makes a text type the byte-string type of its size (manual 13.1.20.9); the largest length
/// when it does not fit.
fn binary_type(kind: TextKind, length: u32) -> Result<SqlType, u64> {
    let (kind, max) = match kind {
        TextKind::Char => (BytesKind::Binary, 255),
        TextKind::VarChar => (BytesKind::VarBinary, MAX_ROW_BYTES),
        TextKind::TinyText => (BytesKind::TinyBlob, u64::MAX),
        TextKind::Text => (BytesKind::Blob, u64::MAX),
        TextKind::MediumText => (BytesKind::MediumBlob, u64::MAX),
        TextKind::LongText => (BytesKind::LongBlob, u64::MAX),
    };
    if u64::from(length) > max { Err(max) } else { Ok(SqlType::Bytes { kind, length }) }
}

/// The type of a column that holds values of a type.
pub fn holding(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Null => SqlType::Bytes { kind: BytesKind::Binary, length: 0 },
        SqlType::Bool => SqlType::INT,
        SqlType::Text { kind, length, collation } => {
            let bytes = length.saturating_mul(collation.charset_max_bytes());
            let (kind, length) = match kind {
                TextKind::VarChar if length <= VARCHAR_MAX => (kind, length),
                TextKind::VarChar | TextKind::LongText if bytes <= TEXT_BYTES => (TextKind::Text, TEXT_BYTES),
                TextKind::LongText if bytes <= MEDIUM_BYTES => (TextKind::MediumText, MEDIUM_BYTES),
                TextKind::Char => (TextKind::VarChar, length),
                _ => (TextKind::LongText, u32::MAX),
            };
            SqlType::Text { kind, length, collation }
        }
        SqlType::Bytes { kind, length } => {
            let (kind, length) = match kind {
                BytesKind::Binary | BytesKind::VarBinary if length <= VARCHAR_MAX => (kind, length),
                BytesKind::VarBinary | BytesKind::LongBlob if length <= TEXT_BYTES => (BytesKind::Blob, TEXT_BYTES),
                BytesKind::LongBlob if length <= MEDIUM_BYTES => (BytesKind::MediumBlob, MEDIUM_BYTES),
                _ => (BytesKind::LongBlob, u32::MAX),
            };
            SqlType::Bytes { kind, length }
        }
        ty => ty,
    }
}

/// Most characters of a computed VARCHAR, and bytes of a VARBINARY: what is longer becomes a TEXT or a BLOB.
const VARCHAR_MAX: u32 = 512;
/// Bytes of a TEXT or BLOB, and of a MEDIUMTEXT or MEDIUMBLOB.
const TEXT_BYTES: u32 = 65_535;
const MEDIUM_BYTES: u32 = 16_777_215;
