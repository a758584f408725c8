//! CREATE and DROP INDEX, ALTER TABLE.

use super::{check_not_virtual, check_table_name, keys};
use crate::{
    accounts::Privilege,
    catalog::{TableEntry, schema_of},
    charset,
    metadata_locks::TableUse,
    statement::{Done, StatementContext, enter_to_build},
    tables::{Content, UnpublishedRows, storage_error},
    threads,
};
use muster_algebra::{IndexDef, TableDef};
use muster_sql::{AlterAction, AlterTable, CreateIndex, IndexKind, IndexSpec, TableName, TableOptions};
use muster_storage::DuplicatePolicy;
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

pub fn create_index(context: &StatementContext, statement: &CreateIndex) -> Result<Done> {
    let name = open(context, &statement.table, Privilege::Index, "INDEX")?;
    add(context, &name, &statement.index)?;
    Ok(Done::rows(0))
}

pub fn drop_index(context: &StatementContext, index: &str, table: &TableName) -> Result<Done> {
    let name = open(context, table, Privilege::Index, "INDEX")?;
    remove(context, &name, index)?;
    Ok(Done::rows(0))
}

/// One action after the other, each whole; an error leaves those before it done and says which one failed.
pub fn alter_table(context: &StatementContext, statement: &AlterTable) -> Result<Done> {
    let mut name = open(context, &statement.table, Privilege::Alter, "ALTER")?;
    for action in &statement.actions {
        match action {
            AlterAction::AddIndex(spec) => add(context, &name, spec)?,
            AlterAction::DropIndex(index) => remove(context, &name, index)?,
            AlterAction::DropPrimaryKey => return Err(SqlError::unsupported("ALTER TABLE .. DROP PRIMARY KEY")),
            AlterAction::Rename(to) => {
                let to = context.qualify(to)?;
                check_table_name(&to.1)?;
                let table = |(database, name): &(String, String)| TableName {
                    database: Some(database.clone()),
                    name: name.clone(),
                };
                super::rename_tables(context, &[(table(&name), table(&to))])?;
                name = to;
            }
            AlterAction::RenameIndex { from, to } => rename(context, &name, from, to)?,
            AlterAction::Options(options) => set_options(context, &name, options)?,
            // As InnoDB says it: dumps have such lines around the rows of each table.
            AlterAction::Keys => context
                .note(ErrorCode::IllegalHa, format!("Table storage engine for '{}' doesn't have this option", name.1)),
        }
    }
    Ok(Done::rows(0))
}

fn open(context: &StatementContext, table: &TableName, p: Privilege, command: &str) -> Result<(String, String)> {
    let (database, name) = context.qualify(table)?;
    context.rights.check_table(&database, &name, p, command)?;
    check_not_virtual(context, &database)?;
    context.database.tables().definitions().table(&database, &name)?;
    Ok((database, name))
}

fn add(context: &StatementContext, name: &(String, String), spec: &IndexSpec) -> Result<()> {
    if spec.kind == IndexKind::Primary {
        return Err(SqlError::unsupported("ALTER TABLE .. ADD PRIMARY KEY"));
    }
    let tables = context.database.tables();
    context.lock_to_rebuild(&name.0, &name.1)?;
    let admitted = enter_to_build(context)?;
    let current = tables.current();
    let entry = current.definitions.table(&name.0, &name.1)?.clone();
    let index = keys::index(spec, &entry.def.columns, &entry.def.indexes)?;
    let id = entry.next_index_id;
    let mut def = TableDef::clone(&entry.def);
    def.indexes.push(IndexDef { id, ..index });
    let at = def.indexes.len() - 1;

    let table = current.storage(entry.def.id, tables.store())?;
    let content = current.content(entry.def.id)?;
    drop(current);
    let options = context.database.load_options(DuplicatePolicy::Error, Default::default());
    let built = threads::while_watching_kill(&context.cancel, &options.progress, || {
        muster_storage::load::build_index(&table, &schema_of(&def), at, &options)
    });
    let (file, statistics) = built.map_err(|e| storage_error(&def, e))?;
    let made = tables.new_files(vec![file]);
    // Those who are waited for now may wait for admission themselves.
    drop(admitted);

    let mut files = entry.files.clone();
    files.push(file);
    let mut content = Content { changed_rows: table.changed_rows(), ..Content::clone(&content) };
    let all = &mut content.statistics.indexes;
    all.push(statistics);
    // In the order that SHOW CREATE TABLE prints; a stable sort keeps the order of definition.
    let mut order: Vec<usize> = (0..def.indexes.len()).collect();
    order.sort_by_key(|i| keys::rank(&def.indexes[*i], &def.columns));
    let permuted = TableDef { indexes: order.iter().map(|i| def.indexes[*i].clone()).collect(), ..def.clone() };
    *all = order.iter().map(|i| all[*i].clone()).collect();
    let mut next = entry.with_files(order.iter().map(|i| files[*i]).collect());
    next.def = Arc::new(permuted);
    next.next_index_id = id + 1;
    if !spec.comment.is_empty() {
        next.extras.index_comments.insert(id, spec.comment.clone());
    }
    let files = next.files.clone();
    let rows = UnpublishedRows { files: &files, content: &content, auto_increment: None };
    context.lock_named(&name.0, &name.1, TableUse::Alone)?;
    tables.publish(Some(&rows), made, |snapshot| snapshot.replace_table(&entry, next))
}

fn position(entry: &TableEntry, index: &str) -> Result<usize> {
    let at = entry.def.indexes.iter().position(|i| !i.parts.is_empty() && i.name.eq_ignore_ascii_case(index));
    at.ok_or_else(|| {
        let message = format!("Can't DROP '{index}'; check that column/key exists");
        SqlError::new(ErrorCode::CantDropFieldOrKey, message)
    })
}

fn remove(context: &StatementContext, name: &(String, String), index: &str) -> Result<()> {
    let tables = context.database.tables();
    context.lock_named(&name.0, &name.1, TableUse::Alone)?;
    let entry = tables.definitions().table(&name.0, &name.1)?.clone();
    let at = position(&entry, index)?;
    if at == 0 {
        return Err(SqlError::unsupported("DROP INDEX `PRIMARY`"));
    }
    let mut def = TableDef::clone(&entry.def);
    let dropped = def.indexes.remove(at);
    keys::check_auto_increment(&def.columns, &def.indexes)?;
    let mut files = entry.files.clone();
    files.remove(at);
    let mut next = entry.with_files(files);
    next.def = Arc::new(def);
    next.extras.index_comments.remove(&dropped.id);
    tables.in_reserve(|| tables.change(|snapshot| snapshot.replace_table(&entry, next.clone())))
}

fn rename(context: &StatementContext, name: &(String, String), from: &str, to: &str) -> Result<()> {
    let tables = context.database.tables();
    context.lock_named(&name.0, &name.1, TableUse::Alone)?;
    tables.change(|snapshot| {
        let entry = snapshot.table(&name.0, &name.1)?.clone();
        let missing = || {
            let message = format!("Key '{from}' doesn't exist in table '{}'", name.1);
            SqlError::new(ErrorCode::KeyDoesNotExist, message)
        };
        let at = position(&entry, from).map_err(|_| missing())?;
        if at == 0 || to.eq_ignore_ascii_case(keys::PRIMARY) || to.is_empty() {
            let wrong = if at == 0 { from } else { to };
            return Err(SqlError::new(ErrorCode::WrongNameForIndex, format!("Incorrect index name '{wrong}'")));
        }
        super::check_length(to)?;
        if entry.def.index(to).is_some_and(|other| other != at) {
            return Err(SqlError::new(ErrorCode::DupKeyName, format!("Duplicate key name '{to}'")));
        }
        let mut def = TableDef::clone(&entry.def);
        def.indexes[at].name = to.to_owned();
        snapshot.replace_table(&entry, TableEntry { def: Arc::new(def), ..TableEntry::clone(&entry) })
    })
}

/// Comment, next AUTO_INCREMENT value, and the character set of columns to come.
fn set_options(context: &StatementContext, name: &(String, String), options: &TableOptions) -> Result<()> {
    let collation = charset::resolve(options.charset.as_deref(), options.collation.as_deref())?;
    let tables = context.database.tables();
    context.lock_named(&name.0, &name.1, TableUse::Alone)?;
    tables.change(|snapshot| {
        let entry = snapshot.table(&name.0, &name.1)?.clone();
        let mut def = TableDef::clone(&entry.def);
        if !options.comment.is_empty() {
            def.comment.clone_from(&options.comment);
        }
        def.collation = collation.unwrap_or(def.collation);
        snapshot.replace_table(&entry, TableEntry { def: Arc::new(def), ..TableEntry::clone(&entry) })
    })?;
    let Some(next) = options.auto_increment else { return Ok(()) };
    let current = tables.current();
    current.auto_increment(current.definitions.table(&name.0, &name.1)?.def.id)?.raise(next).map(drop)
}
