//! COLUMNS, and how a column is described in SHOW COLUMNS and DESCRIBE.

use super::{optional, text, uint, yes_no};
use crate::{
    accounts::{Level, Privileges, Rights},
    catalog::{Snapshot, column_key},
    charset, ddl,
    statement::StatementContext,
    system_schema,
};
use muster_algebra::{ColumnDef, DefaultValue, Visibility};
use muster_types::{IntWidth, SqlType, Value, time_zone::TimeZone};

/// The type's bare name: `int` for `int unsigned`, `varchar` for `varchar(10)`.
pub fn data_type(ty: &SqlType) -> String {
    let full = ty.to_string();
    full.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

/// A default as `information_schema` and SHOW COLUMNS give it; `None` without one.
fn default_text(column: &ColumnDef, zone: TimeZone) -> Option<String> {
    match ddl::shown_default(column, zone)? {
        DefaultValue::Value(Value::UInt(bits)) if matches!(column.ty, SqlType::Bit { .. }) => {
            Some(format!("b'{bits:b}'"))
        }
        DefaultValue::Value(Value::Bytes(bytes)) if bytes.is_empty() => Some(String::new()),
        DefaultValue::Value(Value::Bytes(bytes)) => {
            // Zeros at the end, which also fill a BINARY, are not shown.
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            Some(bytes[..end].iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}")))
        }
        DefaultValue::Value(value) => column.shown(&value),
        DefaultValue::CurrentTimestamp => Some(match column.ty.fsp() {
            0 => "CURRENT_TIMESTAMP".into(),
            n => format!("CURRENT_TIMESTAMP({n})"),
        }),
        DefaultValue::Expr(text) => Some(escaped(&text)),
        DefaultValue::Dropped => None,
    }
}

/// An expression of a definition as `information_schema` has it: as a text within quotes, without these.
pub(super) fn escaped(expr: &str) -> String {
    expr.replace('\\', "\\\\").replace('\'', "\\'")
}

pub fn extra(column: &ColumnDef, on_update_now: bool) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_owned());
    }
    if matches!(column.default, Some(DefaultValue::CurrentTimestamp | DefaultValue::Expr(_))) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if on_update_now {
        words.push(match column.ty.fsp() {
            0 => "on update CURRENT_TIMESTAMP".to_owned(),
            n => format!("on update CURRENT_TIMESTAMP({n})"),
        });
    }
    if column.visibility == Visibility::Invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// The privileges on a column, as COLUMNS shows them.
fn privileges(rights: &Rights, database: &str, table: &str, column: &str) -> String {
    if system_schema::is_for_all(database) {
        return "select".into();
    }
    let on_column = rights.on_column(database, table, column).both(Privileges::all(Level::Column));
    on_column.names().join(",").to_lowercase()
}

/// The precision and the scale of a number.
fn number_digits(c: &ColumnDef) -> (Option<u64>, Option<u64>) {
    match (c.ty.stored_type(), c.digits) {
        (_, Some(digits)) => (Some(digits.precision.into()), Some(digits.scale.into())),
        (SqlType::Int { width: IntWidth::Big, unsigned: true }, _) => (Some(20), Some(0)),
        (SqlType::Bit { width }, _) => (Some(u64::from(width)), None),
        (SqlType::Float, _) => (Some(12), None),
        (SqlType::Double, _) => (Some(22), None),
        (ty, _) => ty.decimal_digits().map_or((None, None), |(p, s)| (Some(u64::from(p)), Some(u64::from(s)))),
    }
}

/// A column of a table or view as a row. `key` and `extra`: what COLUMN_KEY and EXTRA say of it.
fn row(
    context: &StatementContext,
    (database, table): (&str, &str),
    at: usize,
    c: &ColumnDef,
    (key, extra): (&str, String),
) -> Vec<Value> {
    let zone = context.clock.time_zone;
    let (mut characters, mut octets) = (None, None);
    match c.ty {
        SqlType::Text { kind, length, collation } => {
            use muster_types::TextKind::{Char, VarChar};
            // The TEXT family is limited in bytes.
            let is_short = matches!(kind, Char | VarChar);
            let each = if is_short { 1 } else { collation.character_set().min_bytes() };
            let bytes = if is_short { charset::max_bytes(collation) } else { 1 };
            characters = Some(i64::from(length / each));
            octets = Some(i64::from(length) * bytes as i64);
        }
        SqlType::Bytes { length, .. } => {
            characters = Some(i64::from(length));
            octets = characters;
        }
        SqlType::Enum(members) | SqlType::Set(members) => {
            let length = if matches!(c.ty, SqlType::Enum(_)) { members.longest() } else { members.total_length() };
            characters = Some(i64::from(length));
            octets = Some(i64::from(length) * charset::max_bytes(members.collation()) as i64);
        }
        _ => {}
    }
    let (precision, scale) = number_digits(c);
    let seconds = match c.ty {
        ty @ (SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. }) => Some(u64::from(ty.fsp())),
        _ => None,
    };
    let collation = match c.ty {
        SqlType::Bytes { .. } => None,
        ty => ty.collation(),
    };
    vec![
        text("def"),
        text(database),
        text(table),
        text(&c.name),
        uint(at as u64 + 1),
        optional(default_text(c, zone), Value::Text),
        yes_no(c.nullable),
        text(data_type(&c.ty)),
        optional(characters, Value::Int),
        optional(octets, Value::Int),
        optional(precision, uint),
        optional(scale, uint),
        optional(seconds, uint),
        optional(collation, |c| text(c.charset())),
        optional(collation, |c| text(c.name())),
        text(c.declared_type()),
        text(key),
        text(extra),
        text(privileges(&context.rights, database, table, &c.name)),
        text(&c.comment),
        text(c.generated.as_ref().map_or(String::new(), |generated| escaped(&generated.expr))),
        Value::Null,
    ]
}

pub(super) fn columns(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let is_seen = |database: &str, table: &str| context.rights.sees_table(database, table);
    for table in super::virtual_tables_of(snapshot, context) {
        let plain = |(i, c)| row(context, (&table.database, &table.name), i, c, ("", extra(c, false)));
        rows.extend(table.columns.iter().enumerate().map(plain));
    }
    for (database, schema) in &snapshot.schemas {
        for entry in schema.tables.values().filter(|entry| is_seen(database, &entry.def.name)) {
            let name = &entry.def.name;
            let shown = |c: &ColumnDef| !c.is_hidden() && context.rights.sees_column(database, name, &c.name);
            for (i, c) in entry.def.columns.iter().enumerate().filter(|(_, c)| shown(c)) {
                let extra = extra(c, entry.extras.on_update_now.contains(&i));
                rows.push(row(context, (database, name), i, c, (column_key(&entry.def, i), extra)));
            }
        }
        for v in schema.views.values().filter(|v| is_seen(database, &v.def.name)) {
            let shown = |c: &ColumnDef| context.rights.sees_column(database, &v.def.name, &c.name);
            let plain = |(i, c)| row(context, (database, &v.def.name), i, c, ("", String::new()));
            rows.extend(v.columns.iter().enumerate().filter(|(_, c)| shown(c)).map(plain));
        }
    }
    rows
}
