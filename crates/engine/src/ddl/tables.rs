//! DROP, TRUNCATE and RENAME TABLE.

use super::{check_not_virtual, check_table_name, expressions::renamed_checks, foreign_keys};
use crate::{
    accounts::Privilege,
    catalog::{Snapshot, TableEntry, ViewEntry},
    metadata_locks::TableUse,
    statement::{Done, StatementContext},
    tables::UnpublishedRows,
    transaction::TemporaryChange,
};
use muster_algebra::{TableDef, ViewDef};
use muster_sql::TableName;
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// Drops those that exist; the others are an error 1051 (a note with IF EXISTS), and then none is dropped.
///
/// `temporary`: only temporary tables. Without it they are dropped, too, in the places of stored ones of their names.
pub fn drop_tables(context: &StatementContext, names: &[TableName], if_exists: bool, temporary: bool) -> Result<Done> {
    let mut wanted: Vec<(String, String)> = Vec::with_capacity(names.len());
    for name in names {
        let (database, name) = context.qualify(name)?;
        if !temporary {
            context.check_table(&database, &name, Privilege::Drop, "DROP")?;
            check_not_virtual(context, &database)?;
        }
        if wanted.contains(&(database.clone(), name.clone())) {
            return Err(SqlError::table_not_unique(&name));
        }
        wanted.push((database, name));
    }
    let (own, stored): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|(database, name)| context.tables.is_temporary(database, name));
    match temporary {
        true => tell_missing(context, stored.iter().map(|(d, n)| format!("{d}.{n}")).collect(), if_exists)?,
        false if stored.is_empty() => {}
        false => remove_tables(context, &stored, if_exists)?,
    }
    if !own.is_empty() {
        context.tables.change_temporary(|next| {
            for (database, name) in &own {
                next.schema_mut(database)?.tables.remove(name);
            }
            Ok(())
        })?;
        context.transaction.note_temporary(TemporaryChange::Dropped);
    }
    Ok(Done::rows(0))
}

/// Error 1051 for tables that are missing, notes with IF EXISTS.
fn tell_missing(context: &StatementContext, missing: Vec<String>, if_exists: bool) -> Result<()> {
    if !missing.is_empty() && !if_exists {
        return Err(SqlError::unknown_tables(&missing));
    }
    for name in missing {
        let unknown = SqlError::unknown_tables(&[name]);
        context.note(unknown.code, unknown.message);
    }
    Ok(())
}

fn remove_tables(context: &StatementContext, wanted: &[(String, String)], if_exists: bool) -> Result<()> {
    let locked = context.lock_names(wanted.iter(), TableUse::Drop)?;
    let remove = |next: &mut Snapshot| {
        if context.checks_foreign_keys() {
            foreign_keys::refuse_drop_of_parents(next, wanted)?;
        }
        let mut missing: Vec<String> = Vec::new();
        for wanted in wanted {
            let (database, name) = wanted;
            // A database that is missing is a table that is missing. What has come since the names were locked stays.
            let schema = next.schemas.get_mut(database).filter(|_| locked.contains_key(wanted));
            if schema.and_then(|schema| schema.tables.remove(name)).is_none() {
                missing.push(format!("{database}.{name}"));
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(SqlError::unknown_tables(&missing));
        }
        Ok(missing)
    };
    let tables = context.database.tables();
    let missing = tables.in_reserve(|| tables.change(remove))?;
    tell_missing(context, missing, true)
}

pub fn truncate_table(context: &StatementContext, name: &TableName) -> Result<Done> {
    let (database, name) = context.qualify(name)?;
    context.check_table(&database, &name, Privilege::Drop, "DROP")?;
    check_not_virtual(context, &database)?;
    let tables = &context.tables;
    let entry = context.lock_named(&database, &name, TableUse::Alone)?;
    if context.checks_foreign_keys() && !entry.def.id.is_temporary() {
        foreign_keys::refuse_truncate_of_parent(&tables.definitions(), &entry)?;
    }
    // Histograms that a statement has made stay until one makes them anew, as in MySQL.
    let content = tables.current().content(entry.def.id)?.histograms_alone(&entry.schema());
    tables.in_reserve(|| {
        let files = tables.create_files(&entry.def, entry.def.id.is_temporary())?;
        let made = tables.new_files(files.clone());
        let empty = entry.with_files(files.clone());
        let rows = content.as_ref();
        let rows =
            rows.map(|content| UnpublishedRows { files: &files, column_ids: &[], content, auto_increment: None });
        tables.publish_of(entry.def.id, rows.as_ref(), made, |next| next.replace_table(&entry, empty))
    })?;
    Ok(Done::rows(0))
}

pub fn rename_tables(context: &StatementContext, pairs: &[(TableName, TableName)]) -> Result<Done> {
    let mut steps = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        let (from, to) = (context.qualify(from)?, context.qualify(to)?);
        check_table_name(&to.1)?;
        context.rights.check_table_all(&from.0, &from.1, &[Privilege::Alter, Privilege::Drop])?;
        context.rights.check_table_all(&to.0, &to.1, &[Privilege::Create, Privilege::Insert])?;
        check_not_virtual(context, &from.0)?;
        check_not_virtual(context, &to.0)?;
        steps.push((from, to));
    }
    let tables = context.database.tables();
    // A table that a step before made is locked by the name that it has now.
    context.lock_names(steps.iter().flat_map(|(from, to)| [from, to]), TableUse::Alone)?;
    let children = foreign_keys::tables_referring(&tables.definitions(), steps.iter().map(|(from, _)| from));
    context.lock_names(children.iter(), TableUse::Alone)?;
    tables.change(|next| {
        for (from, to) in &steps {
            if let Some(view) = next.schema(&from.0)?.views.get(&from.1).cloned() {
                rename_view(next, &view, from, to)?;
                continue;
            }
            if next.schemas.get(&to.0).is_some_and(|target| target.has(&to.1)) {
                return Err(SqlError::table_exists(&to.1));
            }
            let entry = next.table(&from.0, &from.1)?.clone();
            next.schema(&to.0)?;
            let (checks, foreign_keys) = (renamed_checks(&entry.def, &to.1), foreign_keys::renamed(&entry.def, &to.1));
            let (database, name) = to.clone();
            let def = TableDef { database, name, checks, foreign_keys, ..TableDef::clone(&entry.def) };
            let renamed = TableEntry { def: Arc::new(def), ..TableEntry::clone(&entry) };
            next.schema_mut(&from.0)?.tables.remove(&from.1);
            next.schema_mut(&to.0)?.tables.insert(to.1.clone(), Arc::new(renamed));
            foreign_keys::follow(next, (&from.0, &from.1), (&to.0, &to.1), &[])?;
        }
        Ok(())
    })?;
    Ok(Done::rows(0))
}

/// Gives a view another name in its database. Errors: 1450 for another database, 1050.
fn rename_view(next: &mut Snapshot, view: &ViewEntry, from: &(String, String), to: &(String, String)) -> Result<()> {
    if from.0 != to.0 {
        let message = format!("Changing schema from '{}' to '{}' is not allowed.", from.0, to.0);
        return Err(SqlError::new(ErrorCode::ForbidSchemaChange, message));
    }
    let schema = next.schema_mut(&from.0)?;
    if schema.has(&to.1) {
        return Err(SqlError::table_exists(&to.1));
    }
    schema.views.remove(&from.1);
    let def = ViewDef { name: to.1.clone(), ..ViewDef::clone(&view.def) };
    schema.views.insert(to.1.clone(), Arc::new(ViewEntry { def: Arc::new(def), ..view.clone() }));
    Ok(())
}
