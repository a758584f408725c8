//! Foreign keys of a table that is defined: their names, and what both tables need for them (MySQL manual 13.1.20.5).

use super::check_length;
use crate::{
    accounts::Privilege,
    catalog::{Snapshot, TableEntry},
    statement::StatementContext,
    tables::leading_index,
};
use muster_algebra::{ColumnDef, ForeignKey, ReferentialAction, TableDef};
use muster_sql::{ForeignKeySpec, canonical::names_column};
use muster_types::{ErrorCode, Result, SqlError, SqlType};
use std::collections::HashSet;

/// The foreign keys that a statement defines, checked. `table`: as it will be, without them, but with those that it
/// keeps. Errors: 1142, 1215, 1822, 1824, 1826, 1830, 3104, 3733, 3734, 3780, 3823.
pub fn defined<'s>(
    context: &StatementContext,
    table: &TableDef,
    kept: &[ForeignKey],
    specs: impl Iterator<Item = &'s ForeignKeySpec>,
) -> Result<Vec<ForeignKey>> {
    let definitions = context.database.tables().definitions();
    let mut taken: HashSet<String> = kept.iter().map(|key| key.name.to_lowercase()).collect();
    taken.extend(names_of_others(&definitions, table));
    let mut number = kept.iter().filter_map(|key| generated_number(&table.name, &key.name)).max().unwrap_or(0);
    let mut keys = Vec::new();
    for spec in specs {
        let name = spec.name.clone().unwrap_or_else(|| {
            number += 1;
            format!("{}_ibfk_{number}", table.name)
        });
        check_length(&name)?;
        if !taken.insert(name.to_lowercase()) {
            let message = format!("Duplicate foreign key constraint name '{name}'");
            return Err(SqlError::new(ErrorCode::ForeignKeyDupName, message));
        }
        let (database, parent) = spec.table.in_database(&table.database);
        let key = ForeignKey {
            name,
            columns: own_names(table, &spec.columns),
            database,
            table: parent,
            referenced: spec.referenced.clone(),
            on_delete: spec.on_delete,
            on_update: spec.on_update,
        };
        check_child(table, &key)?;
        keys.push(with_parent(context, &definitions, table, key)?);
    }
    Ok(keys)
}

/// The names that columns have in the table.
fn own_names(table: &TableDef, names: &[String]) -> Vec<String> {
    let name = |name: &String| table.column(name).map_or_else(|| name.clone(), |at| table.columns[at].name.clone());
    names.iter().map(name).collect()
}

/// The names of the foreign keys of the other tables of a database.
fn names_of_others(definitions: &Snapshot, table: &TableDef) -> Vec<String> {
    let tables = definitions.schemas.get(&table.database).map(|schema| &schema.tables);
    let others = tables.into_iter().flatten().filter(|(_, entry)| entry.def.id != table.id);
    others.flat_map(|(_, entry)| entry.def.foreign_keys.iter().map(|key| key.name.to_lowercase())).collect()
}

/// The number in the name that a foreign key of a table without one has got.
pub fn generated_number(table: &str, name: &str) -> Option<u64> {
    name.strip_prefix(table)?.strip_prefix("_ibfk_")?.parse().ok()
}

/// The foreign keys of a table under another name: those whose names were given by the server get that of the table.
pub fn renamed(def: &TableDef, to: &str) -> Vec<ForeignKey> {
    let name = |key: &ForeignKey| match generated_number(&def.name, &key.name) {
        Some(number) => format!("{to}_ibfk_{number}"),
        None => key.name.clone(),
    };
    def.foreign_keys.iter().map(|key| ForeignKey { name: name(key), ..key.clone() }).collect()
}

fn rules(key: &ForeignKey) -> [(&'static str, ReferentialAction); 2] {
    [("ON DELETE", key.on_delete), ("ON UPDATE", key.on_update)]
}

/// Returns true if an action gives columns of the child other values.
fn changes_column(on: &str, action: ReferentialAction) -> bool {
    matches!((on, action), (_, ReferentialAction::SetNull) | ("ON UPDATE", ReferentialAction::Cascade))
}

/// Checks the columns of the child. Errors: 1830 and those of generated columns and of [`refuse_dependents`].
fn check_child(table: &TableDef, key: &ForeignKey) -> Result<()> {
    for column in key.columns.iter().filter_map(|name| table.column(name)).map(|at| &table.columns[at]) {
        check_generated(column, key)?;
        let sets_null = rules(key).iter().any(|(_, action)| *action == ReferentialAction::SetNull);
        if sets_null && !column.nullable {
            return Err(not_null(column, key));
        }
    }
    refuse_dependents(table, key)
}

/// Refuses actions that would give other values to columns which CHECKs or generated columns look at. Errors: 1215,
/// 3823; 1235 for VIRTUAL columns.
pub fn refuse_dependents(table: &TableDef, key: &ForeignKey) -> Result<()> {
    if !rules(key).iter().any(|(on, action)| changes_column(on, *action)) {
        return Ok(());
    }
    for name in &key.columns {
        if let Some(check) = table.checks.iter().find(|check| names_column(&check.expr, name)) {
            let message = format!(
                "Column '{name}' cannot be used in a check constraint '{}': needed in a foreign key constraint '{}' \
                 referential action.",
                check.name, key.name
            );
            return Err(SqlError::new(ErrorCode::CheckUsesForeignKeyColumn, message));
        }
        let generated = table.columns.iter().filter_map(|column| column.generated.as_ref());
        if let Some(generated) = generated.into_iter().find(|generated| names_column(&generated.expr, name)) {
            return Err(match generated.stored {
                true => cannot_add(),
                false => SqlError::unsupported("actions of foreign keys on columns that generated columns depend on"),
            });
        }
    }
    Ok(())
}

/// Error 1215.
pub fn cannot_add() -> SqlError {
    SqlError::new(ErrorCode::CannotAddForeign, "Cannot add foreign key constraint")
}

/// Error 1830.
pub fn not_null(column: &ColumnDef, key: &ForeignKey) -> SqlError {
    let message = format!(
        "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
        column.name, key.name
    );
    SqlError::new(ErrorCode::ForeignKeyColumnNotNull, message)
}

/// Error 3733.
fn virtual_column(column: &ColumnDef, key: &ForeignKey) -> SqlError {
    let message = format!("Foreign key '{}' uses virtual column '{}' which is not supported.", key.name, column.name);
    SqlError::new(ErrorCode::ForeignKeyVirtualColumn, message)
}

fn check_generated(column: &ColumnDef, key: &ForeignKey) -> Result<()> {
    let Some(generated) = &column.generated else { return Ok(()) };
    if !generated.stored {
        return Err(virtual_column(column, key));
    }
    for (on, action) in rules(key) {
        if changes_column(on, action) {
            let message =
                format!("Cannot define foreign key with {on} {} clause on a generated column.", action.name());
            return Err(SqlError::new(ErrorCode::WrongForeignKeyOptionForGenerated, message));
        }
    }
    Ok(())
}

/// The key with the names that the parent's columns have there. A parent that is missing is an error if the session
/// checks foreign keys.
fn with_parent(
    context: &StatementContext,
    definitions: &Snapshot,
    table: &TableDef,
    key: ForeignKey,
) -> Result<ForeignKey> {
    let is_itself = key.refers_to(&table.database, &table.name);
    let found = definitions.table(&key.database, &key.table).ok();
    let parent = if is_itself { Some(table) } else { found.map(|entry| &*entry.def) };
    if !is_itself {
        let rights = &context.rights;
        let denied = |_| rights.table_denied(&format!("{}.{}", key.database, key.table), "REFERENCES");
        rights.check_table(&key.database, &key.table, Privilege::References, "REFERENCES").map_err(denied)?;
    }
    let Some(parent) = parent else {
        if context.checks_foreign_keys() {
            let message = format!("Failed to open the referenced table '{}'", key.table);
            return Err(SqlError::new(ErrorCode::ForeignKeyCannotOpenParent, message));
        }
        return Ok(key);
    };
    match is_itself {
        true => {
            // The index that the child's columns have does not serve as the parent's, too.
            let own = table.positions(&key.columns);
            let mut others = table.clone();
            if let Some(at) = own.and_then(|own| leading_index(table, &own)) {
                others.indexes.remove(at);
            }
            check_parent(table, &key, &others)?;
        }
        false => check_parent(table, &key, parent)?,
    }
    Ok(ForeignKey { referenced: own_names(parent, &key.referenced), ..key })
}

/// Checks the columns and indexes of the parent. Errors: 1822, 3734, 3733, 3780.
pub fn check_parent(table: &TableDef, key: &ForeignKey, parent: &TableDef) -> Result<()> {
    let mut columns = Vec::with_capacity(key.referenced.len());
    for (name, own) in key.referenced.iter().zip(&key.columns) {
        let Some(at) = parent.column(name).filter(|at| !parent.columns[*at].is_hidden()) else {
            let message = format!(
                "Failed to add the foreign key constraint. Missing column '{name}' for constraint '{}' in the \
                 referenced table '{}'",
                key.name, parent.name
            );
            return Err(SqlError::new(ErrorCode::ForeignKeyNoColumnInParent, message));
        };
        columns.push(at);
        let column = &parent.columns[at];
        if column.generated.as_ref().is_some_and(|generated| !generated.stored) {
            return Err(virtual_column(column, key));
        }
        let own = table.column(own).map(|at| table.columns[at].ty);
        if own.is_some_and(|own| !are_compatible(own, column.ty)) {
            return Err(incompatible(key, name, columns.len() - 1));
        }
    }
    if leading_index(parent, &columns).is_none() {
        let message = format!(
            "Failed to add the foreign key constraint. Missing index for constraint '{}' in the referenced table '{}'",
            key.name, parent.name
        );
        return Err(SqlError::new(ErrorCode::ForeignKeyNoIndexInParent, message));
    }
    Ok(())
}

/// Error 3780.
pub fn incompatible(key: &ForeignKey, referenced: &str, at: usize) -> SqlError {
    let message = format!(
        "Referencing column '{}' and referenced column '{referenced}' in foreign key constraint '{}' are incompatible.",
        key.columns[at], key.name
    );
    SqlError::new(ErrorCode::ForeignKeyIncompatibleColumns, message)
}

/// Returns true if columns of these types can be compared by their keys: numbers of one type; texts, and byte strings,
/// of any length, texts of one collation.
pub fn are_compatible(child: SqlType, parent: SqlType) -> bool {
    match (child, parent) {
        (SqlType::Text { collation: a, .. }, SqlType::Text { collation: b, .. }) => a == b,
        (SqlType::Bytes { .. }, SqlType::Bytes { .. }) => true,
        (a, b) => a == b,
    }
}

/// The foreign keys of other tables that refer to a table, each with its table, in the order of their names.
pub fn referring<'s>(
    definitions: &'s Snapshot,
    database: &'s str,
    table: &'s str,
) -> impl Iterator<Item = (&'s TableEntry, &'s ForeignKey)> {
    let is_other =
        move |entry: &&std::sync::Arc<TableEntry>| (&*entry.def.database, &*entry.def.name) != (database, table);
    let of = move |key: &&ForeignKey| key.refers_to(database, table);
    let entries = definitions.tables().filter(is_other);
    entries.flat_map(move |entry| entry.def.foreign_keys.iter().filter(of).map(move |key| (&**entry, key)))
}

/// The names of the other tables that refer to one of these.
pub fn tables_referring<'n>(
    definitions: &Snapshot,
    tables: impl Iterator<Item = &'n (String, String)>,
) -> Vec<(String, String)> {
    let name = |(child, _): (&TableEntry, &ForeignKey)| (child.def.database.clone(), child.def.name.clone());
    tables.flat_map(|(database, table)| referring(definitions, database, table).map(name).collect::<Vec<_>>()).collect()
}

/// Error 3730 if a table that refers to one of these is not among them.
pub fn refuse_drop_of_parents(definitions: &Snapshot, tables: &[(String, String)]) -> Result<()> {
    for (database, table) in tables {
        let is_dropped = |entry: &TableEntry| {
            tables.iter().any(|(database, table)| (database, table) == (&entry.def.database, &entry.def.name))
        };
        if let Some((child, key)) = referring(definitions, database, table).find(|(child, _)| !is_dropped(child)) {
            let message = format!(
                "Cannot drop table '{table}' referenced by a foreign key constraint '{}' on table '{}'.",
                key.name, child.def.name
            );
            return Err(SqlError::new(ErrorCode::ForeignKeyCannotDropParent, message));
        }
    }
    Ok(())
}

/// Error 1701 if another table refers to this one.
pub fn refuse_truncate_of_parent(definitions: &Snapshot, entry: &TableEntry) -> Result<()> {
    let Some((child, key)) = referring(definitions, &entry.def.database, &entry.def.name).next() else { return Ok(()) };
    let message = format!(
        "Cannot truncate a table referenced in a foreign key constraint (`{}`.`{}`, CONSTRAINT `{}`)",
        child.def.database, child.def.name, key.name
    );
    Err(SqlError::new(ErrorCode::TruncateOfParent, message))
}

/// The names of a table's columns before and after a change, as far as they differ.
pub type RenamedColumns = Vec<(String, String)>;

/// The name of a column after a change.
pub fn new_name<'n>(renamed: &'n [(String, String)], name: &'n str) -> &'n str {
    renamed.iter().find(|(before, _)| before.eq_ignore_ascii_case(name)).map_or(name, |(_, new)| new)
}

/// Has the foreign keys of all tables name a table, and its columns, as they are from now on.
pub fn follow(next: &mut Snapshot, from: (&str, &str), to: (&str, &str), columns: &[(String, String)]) -> Result<()> {
    let is_it = |key: &ForeignKey| key.refers_to(from.0, from.1);
    let children: Vec<(String, String)> = next
        .tables()
        .filter(|entry| entry.def.foreign_keys.iter().any(is_it))
        .map(|entry| (entry.def.database.clone(), entry.def.name.clone()))
        .collect();
    for (database, name) in children {
        let entry = next.table(&database, &name)?.clone();
        let mut def = TableDef::clone(&entry.def);
        for key in def.foreign_keys.iter_mut().filter(|key| is_it(key)) {
            (key.database, key.table) = (to.0.to_owned(), to.1.to_owned());
            for column in &mut key.referenced {
                *column = new_name(columns, column).to_owned();
            }
        }
        let entry = TableEntry { def: std::sync::Arc::new(def), ..TableEntry::clone(&entry) };
        next.schema_mut(&database)?.tables.insert(name, std::sync::Arc::new(entry));
    }
    Ok(())
}
