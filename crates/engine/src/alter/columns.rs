//! The columns of a table as the clauses of a statement leave them, in the order of MySQL's
//! `mysql_prepare_alter_table`: first the columns that are there, each dropped, changed in its place or kept; then, as
//! they are written, the columns that are added and those that are changed and get another place.

use crate::{
    catalog::TableEntry,
    ddl::{
        columns::{self, default_of, long_default, real_as_float},
        keys::unsupported_on_generated,
    },
    statement::StatementContext,
};
use muster_algebra::{ColumnDef, DefaultValue, TableDef, Visibility};
use muster_sql::{AlterAction, ColumnPlace, ColumnSpec, DefaultClause};
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlModes, SqlType, TextKind, Value};

/// A column of the altered table.
pub struct AlteredColumn {
    pub def: ColumnDef,
    /// The position of the column before that has its values.
    pub source: Option<usize>,
    pub on_update_now: bool,
    /// Its definition says NULL.
    pub asks_null: bool,
}

/// Errors: 1054, 1067, 1090, 1101 and those of definitions of columns. `collation`: the table's from now on;
/// `converted`: that of all texts.
pub fn altered(
    context: &StatementContext,
    entry: &TableEntry,
    actions: &[AlterAction],
    collation: Collation,
    converted: Option<Collation>,
) -> Result<Vec<AlteredColumn>> {
    let before = &entry.def;
    let mut columns = Vec::with_capacity(before.columns.len() + 1);
    for (at, old) in before.columns.iter().enumerate() {
        if is_dropped(old, actions) {
            continue;
        }
        let column = match change_of(old, actions) {
            // It comes to its place later.
            Some((_, Some(_))) => continue,
            Some((spec, None)) => changed(context, spec, collation, (at, old))?,
            None => AlteredColumn {
                def: adjusted(context, old, actions, converted)?,
                source: Some(at),
                on_update_now: entry.extras.on_update_now.contains(&at),
                asks_null: false,
            },
        };
        columns.push(column);
    }
    for action in actions {
        let (column, place) = match action {
            AlterAction::AddColumn { column, place } => (defined(context, column, collation, None)?, place),
            AlterAction::ChangeColumn { from, column, place } => {
                let Some(source) = before.column(from).filter(|at| !before.columns[*at].is_hidden()) else {
                    return Err(unknown_column(from, before));
                };
                if place.is_none() || is_dropped(&before.columns[source], actions) {
                    continue;
                }
                (changed(context, column, collation, (source, &before.columns[source]))?, place)
            }
            _ => continue,
        };
        put(&mut columns, column, place.as_ref(), before)?;
    }
    check_names(before, actions)?;
    if columns.iter().all(|column| column.def.is_hidden()) {
        let message = "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
        return Err(SqlError::new(ErrorCode::CantRemoveAllFields, message));
    }
    // Hidden columns stay behind all others.
    let (hidden, mut shown): (Vec<_>, Vec<_>) = columns.into_iter().partition(|column| column.def.is_hidden());
    shown.extend(hidden);
    Ok(shown)
}

fn unknown_column(name: &str, table: &TableDef) -> SqlError {
    SqlError::new(ErrorCode::BadField, format!("Unknown column '{name}' in '{}'", table.name))
}

fn is_dropped(column: &ColumnDef, actions: &[AlterAction]) -> bool {
    let drops = |action: &AlterAction| match action {
        AlterAction::DropColumn(name) => name.eq_ignore_ascii_case(&column.name),
        _ => false,
    };
    !column.is_hidden() && actions.iter().any(drops)
}

/// The definition that a column gets, and its new place.
fn change_of<'a>(column: &ColumnDef, actions: &'a [AlterAction]) -> Option<(&'a ColumnSpec, Option<&'a ColumnPlace>)> {
    actions.iter().find_map(|action| match action {
        AlterAction::ChangeColumn { from, column: spec, place }
            if from.eq_ignore_ascii_case(&column.name) && !column.is_hidden() =>
        {
            Some((spec, place.as_ref()))
        }
        _ => None,
    })
}

fn defined(
    context: &StatementContext,
    spec: &ColumnSpec,
    collation: Collation,
    source: Option<usize>,
) -> Result<AlteredColumn> {
    let is_float = context.session.variables.settings().modes.has(SqlModes::REAL_AS_FLOAT);
    let def = match is_float {
        true => columns::column(&real_as_float(spec), collation, context)?,
        false => columns::column(spec, collation, context)?,
    };
    let (on_update_now, asks_null) = (spec.on_update_now.is_some(), spec.nullable == Some(true));
    Ok(AlteredColumn { def, source, on_update_now, asks_null })
}

/// A column that is defined anew, from the one that has its values. Error 3106 for a VIRTUAL column that becomes
/// another one, or comes of another one.
fn changed(
    context: &StatementContext,
    spec: &ColumnSpec,
    collation: Collation,
    (source, old): (usize, &ColumnDef),
) -> Result<AlteredColumn> {
    let column = defined(context, spec, collation, Some(source))?;
    let is_virtual = |column: &ColumnDef| column.generated.as_ref().is_some_and(|generated| !generated.stored);
    if is_virtual(old) != is_virtual(&column.def) {
        return Err(unsupported_on_generated("Changing the STORED status"));
    }
    Ok(column)
}

/// A column that is not defined anew, with what clauses say of it.
fn adjusted(
    context: &StatementContext,
    old: &ColumnDef,
    actions: &[AlterAction],
    converted: Option<Collation>,
) -> Result<ColumnDef> {
    let mut def = old.clone();
    if let Some(collation) = converted {
        def.ty = in_collation(&old.name, def.ty, collation)?;
    }
    let is_it = |name: &String| name.eq_ignore_ascii_case(&old.name) && !old.is_hidden();
    for action in actions {
        match action {
            AlterAction::RenameColumn { from, to } if is_it(from) => {
                columns::check_name(to)?;
                def.name.clone_from(to);
            }
            AlterAction::SetDefault { column, default } if is_it(column) => {
                if def.auto_increment {
                    let message = format!("Invalid default value for '{}'", def.name);
                    return Err(SqlError::new(ErrorCode::InvalidDefault, message));
                }
                if def.ty.is_long() && *default != DefaultClause::Value(Value::Null) {
                    return Err(long_default(&def.name));
                }
                def.default = default_of(&def, default, context)?;
            }
            AlterAction::DropDefault(column) if is_it(column) => {
                def.default = def.nullable.then_some(DefaultValue::Dropped);
            }
            AlterAction::SetColumnVisible { column, visible } if is_it(column) => {
                def.visibility = if *visible { Visibility::Visible } else { Visibility::Invisible };
            }
            _ => {}
        }
    }
    Ok(def)
}

/// A type with the texts under another collation. A text that is limited in bytes gets the type that holds as many
/// characters as before. Error 1074.
fn in_collation(name: &str, ty: SqlType, collation: Collation) -> Result<SqlType> {
    let SqlType::Text { kind, length, collation: old } = ty else {
        return Ok(match ty {
            SqlType::Enum(members) => SqlType::Enum(members.with_collation(collation)),
            SqlType::Set(members) => SqlType::Set(members.with_collation(collation)),
            other => other,
        });
    };
    let widest = u64::from(collation.charset_max_bytes());
    let (kind, length) = match kind {
        TextKind::Char | TextKind::VarChar => {
            let max = if kind == TextKind::Char { 255 } else { 65_535 / widest };
            if u64::from(length) > max {
                return Err(SqlError::column_too_long(name, max));
            }
            (kind, length)
        }
        _ => {
            let bytes = u64::from(length) / u64::from(old.charset_max_bytes()) * widest;
            match bytes.max(u64::from(length).min(bytes)) {
                _ if bytes <= u64::from(length) => (kind, length),
                ..=0xFF => (TextKind::TinyText, 0xFF),
                0x100..=0xFFFF => (TextKind::Text, 0xFFFF),
                0x1_0000..=0xFF_FFFF => (TextKind::MediumText, 0xFF_FFFF),
                _ => (TextKind::LongText, u32::MAX),
            }
        }
    };
    Ok(SqlType::Text { kind, length, collation })
}

/// Error 1054 for a place behind a column that is not there.
fn put(
    columns: &mut Vec<AlteredColumn>,
    column: AlteredColumn,
    place: Option<&ColumnPlace>,
    table: &TableDef,
) -> Result<()> {
    let at = match place {
        None => columns.len(),
        Some(ColumnPlace::First) => 0,
        Some(ColumnPlace::After(name)) => {
            let is_it = |c: &AlteredColumn| c.def.name.eq_ignore_ascii_case(name) && !c.def.is_hidden();
            columns.iter().position(is_it).ok_or_else(|| unknown_column(name, table))? + 1
        }
    };
    columns.insert(at, column);
    Ok(())
}

/// Error 1054 for a clause about a column that is not there, or that another clause defines anew.
fn check_names(before: &TableDef, actions: &[AlterAction]) -> Result<()> {
    // A column has one clause that defines it anew, or one that says something of it.
    let mut named: Vec<String> = Vec::new();
    for action in actions {
        if let AlterAction::ChangeColumn { from, .. } = action {
            if named.contains(&from.to_lowercase()) {
                return Err(unknown_column(from, before));
            }
            named.push(from.to_lowercase());
        }
    }
    for action in actions {
        let name = match action {
            AlterAction::RenameColumn { from: name, .. }
            | AlterAction::SetDefault { column: name, .. }
            | AlterAction::SetColumnVisible { column: name, .. }
            | AlterAction::DropDefault(name) => name,
            _ => continue,
        };
        let column = before.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name) && !c.is_hidden());
        if column.is_none_or(|column| is_dropped(column, actions)) || named.contains(&name.to_lowercase()) {
            return Err(unknown_column(name, before));
        }
        named.push(name.to_lowercase());
    }
    Ok(())
}

/// Error 1091 for a column to drop that is not there, or is dropped twice.
pub fn refuse_missing(before: &TableDef, actions: &[AlterAction]) -> Result<()> {
    let mut left: Vec<&ColumnDef> = before.columns.iter().filter(|column| !column.is_hidden()).collect();
    for action in actions {
        let AlterAction::DropColumn(name) = action else { continue };
        let Some(at) = left.iter().position(|column| column.name.eq_ignore_ascii_case(name)) else {
            return Err(super::keys::cannot_drop(name));
        };
        left.remove(at);
    }
    Ok(())
}
