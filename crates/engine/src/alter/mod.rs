//! ALTER TABLE, and CREATE and DROP INDEX, which are clauses of it.
//!
//! ```text
//!   mod         the statement: locks, one of three ways, the end        mod.rs
//!   AlteredTable   the table as all clauses leave it                    table.rs
//!     columns   its columns, and where their values come from           columns.rs
//!     keys      its keys                                                keys.rs
//!     expressions   its CHECKs, and columns that expressions need       expressions.rs
//!     foreign_keys  its foreign keys, and those that refer to it        foreign_keys.rs
//!   instant     whether rows can stay as they are, and their layouts    instant.rs
//!   algorithm   what MySQL would do: ALGORITHM and LOCK, counts         algorithm.rs
//!   copy        the rows, converted, into files of their own            copy.rs
//!   optimize    OPTIMIZE TABLE, which is a copy                         optimize.rs
//! ```
//!
//! All clauses are one change ([docs/schemas.md](../../../../docs/schemas.md)): until the catalog names the altered
//! table, the table is as it was.

mod algorithm;
mod columns;
mod copy;
mod expressions;
mod foreign_keys;
mod instant;
mod keys;
mod optimize;
mod table;

pub use optimize::optimize;

use crate::{
    accounts::Privilege,
    catalog::{Snapshot, TableEntry, now_utc_micros, schema_of},
    ddl::check_not_virtual,
    metadata_locks::TableUse,
    statement::{Done, StatementContext, enter_to_build},
    tables::{Content, NewFiles, UnpublishedRows, storage_error},
    threads,
};
use algorithm::Algorithm;
use muster_algebra::{ColumnDef, IndexDef, TableDef};
use muster_sql::{AlterAction, AlterMethod, AlterTable, CreateIndex, DropIndex, TableName};
use muster_storage::{DuplicatePolicy, FileId};
use muster_types::{ErrorCode, KeyPart, Result, SqlError};
use std::sync::Arc;
use table::AlteredTable;

pub fn create_index(context: &Arc<StatementContext>, statement: &CreateIndex) -> Result<Done> {
    let name = open(context, &statement.table, Privilege::Index, "INDEX")?;
    let action = AlterAction::AddIndex(statement.index.clone());
    alter(context, &name, &[action], statement.method)
}

pub fn drop_index(context: &Arc<StatementContext>, statement: &DropIndex) -> Result<Done> {
    let name = open(context, &statement.table, Privilege::Index, "INDEX")?;
    alter(context, &name, &[AlterAction::DropIndex(statement.name.clone())], statement.method)
}

pub fn alter_table(context: &Arc<StatementContext>, statement: &AlterTable) -> Result<Done> {
    let name = open(context, &statement.table, Privilege::Alter, "ALTER")?;
    check_renamed(context, &name, &statement.actions)?;
    alter(context, &name, &statement.actions, statement.method)
}

/// Errors: 1142, 1044, 1146; 1347 for a view.
fn open(context: &StatementContext, table: &TableName, p: Privilege, command: &str) -> Result<(String, String)> {
    let (database, name) = context.qualify(table)?;
    context.check_table(&database, &name, p, command)?;
    check_not_virtual(context, &database)?;
    if context.tables.is_temporary(&database, &name) {
        return Ok((database, name));
    }
    context.wait_while_filled(&database, &name)?;
    let definitions = context.database.tables().definitions();
    if definitions.schema(&database)?.views.contains_key(&name) {
        let message = format!("'{database}.{name}' is not BASE TABLE");
        return Err(SqlError::new(ErrorCode::WrongObject, message));
    }
    definitions.table(&database, &name)?;
    Ok((database, name))
}

/// The privileges that a new name takes besides ALTER. Errors: 1142, 1044.
fn check_renamed(context: &StatementContext, from: &(String, String), actions: &[AlterAction]) -> Result<()> {
    for action in actions {
        let AlterAction::Rename(to) = action else { continue };
        let to = context.qualify(to)?;
        context.check_table(&from.0, &from.1, Privilege::Drop, "DROP")?;
        context.check_table_all(&to.0, &to.1, &[Privilege::Create, Privilege::Insert])?;
        check_not_virtual(context, &to.0)?;
    }
    Ok(())
}

/// What was built for the altered table before anybody sees it.
struct Built<'a> {
    /// All files of the table, the clustered tree's first.
    files: Vec<FileId>,
    /// The files among them that are new.
    made: NewFiles<'a>,
    content: Content,
    /// The first value of the AUTO_INCREMENT column for rows in a new clustered tree.
    auto_increment: Option<u64>,
    /// Rows that were copied.
    rows: u64,
}

fn alter(
    context: &Arc<StatementContext>,
    name: &(String, String),
    actions: &[AlterAction],
    method: AlterMethod,
) -> Result<Done> {
    let tables = &context.tables;
    // First all who have it in their transactions end: they would have to be waited for at the end, when they in turn
    // may wait to change it.
    let entry = context.lock_named(&name.0, &name.1, TableUse::Alone)?;
    let related = foreign_keys::lock_related(context, &entry, actions)?;
    let mut altered = AlteredTable::new(context, &entry, actions)?;
    let checks_keys = context.checks_foreign_keys();
    let algorithm = algorithm::decide(context, &entry, &altered, actions, method)?;
    altered.algorithm = algorithm;
    note_keys(context, &name.1, actions);
    if algorithm != Algorithm::Copy {
        altered.layouts = instant::layouts(context, &entry, &altered)?;
    }
    let must_copy = altered.layouts.is_none();
    let adds_indexes = altered.index_sources.iter().any(Option::is_none);
    let validates = !must_copy && altered.must_validate(&entry.def);
    let checks_parents = checks_keys && !altered.foreign_keys.added.is_empty();
    let (mut built, mut rows) = (None, 0);
    if must_copy || adds_indexes || validates || checks_parents {
        context.weaken_to_rebuild(entry.def.id);
        foreign_keys::weaken_related(context, &related);
        let admitted = enter_to_build(context)?;
        if validates {
            rows = copy::validate(context, &entry, &altered)?;
        }
        if must_copy {
            built = Some(copy::copy(context, &entry, &altered)?);
        } else if adds_indexes {
            built = Some(indexes(context, &entry, &altered)?);
        }
        if checks_parents {
            let files = files_of(&entry, &altered, built.as_ref());
            let checked = foreign_keys::validate(context, &entry, &altered, &files)?;
            rows = if must_copy { 0 } else { checked };
        }
        // Those who are waited for now may wait for admission themselves.
        drop(admitted);
    }
    rows += built.as_ref().map_or(0, |built| built.rows);
    context.lock_names(related.iter(), TableUse::Alone)?;
    publish(context, &entry, &altered, built)?;
    if let (false, Some(next)) = (must_copy, altered.auto_increment) {
        let current = tables.current();
        current.set_auto_increment(entry.def.id, next)?;
    }
    let copied = if algorithm == Algorithm::Copy { rows } else { 0 };
    let warnings = context.diagnostics.counts().0;
    let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
    Ok(Done { info, ..Done::rows(copied) })
}

/// DISABLE KEYS, as InnoDB says it: dumps have such lines around the rows of each table.
fn note_keys(context: &StatementContext, table: &str, actions: &[AlterAction]) {
    if actions.contains(&AlterAction::Keys) {
        context.note(ErrorCode::IllegalHa, format!("Table storage engine for '{table}' doesn't have this option"));
    }
}

/// Builds the trees of the new indexes from the rows that are there.
fn indexes<'a>(context: &'a StatementContext, entry: &TableEntry, altered: &AlteredTable) -> Result<Built<'a>> {
    let tables = &context.tables;
    let current = tables.current();
    let table = current.storage(entry.def.id, tables.store())?;
    let before = current.content(entry.def.id)?;
    drop(current);
    let (mut files, mut new_files, mut statistics) = (Vec::new(), Vec::new(), Vec::new());
    let mut made = tables.new_files(Vec::new());
    for (at, source) in altered.index_sources.iter().enumerate() {
        if let Some(source) = source {
            files.push(entry.files[*source]);
            statistics.extend(before.statistics.indexes.get(*source).cloned());
            continue;
        }
        // The table's own indexes and the new one, which the builder takes, over the columns that the rows have by now:
        // the new columns are not in an index that is built of rows that stay.
        let mut def = TableDef { columns: entry.def.columns.clone(), ..TableDef::clone(&altered.def) };
        let part = |part: &KeyPart| altered.sources[part.column].map(|column| KeyPart { column, ..part.clone() });
        let parts = altered.def.indexes[at].parts.iter().map(part).collect::<Option<Vec<_>>>();
        let parts = parts.ok_or_else(|| SqlError::internal("an index of a column that no row has"))?;
        let new = IndexDef { parts, ..altered.def.indexes[at].clone() };
        def.indexes = entry.def.indexes.iter().cloned().chain([new]).collect();
        let last = def.indexes.len() - 1;
        let options = context.database.load_options(DuplicatePolicy::Error, Default::default());
        let built = threads::while_watching_kill(&context.cancel, &options.progress, || {
            muster_storage::load::build_index(&table, &schema_of(&def), last, &options)
        });
        let (file, of_index) = built.map_err(|e| storage_error(&def, e))?;
        new_files.push(file);
        made = made.with(file);
        files.push(file);
        statistics.push(of_index);
    }
    let mut content = Content { changed_rows: table.changed_rows(), ..Content::clone(&before) };
    content.statistics.indexes = statistics;
    Ok(Built { files, made, content, auto_increment: None, rows: 0 })
}

/// The files of the altered table.
fn files_of(entry: &TableEntry, altered: &AlteredTable, built: Option<&Built<'_>>) -> Vec<FileId> {
    let sources = altered.index_sources.iter();
    match built {
        Some(built) => built.files.clone(),
        None => sources.filter_map(|source| source.map(|at| entry.files[at])).collect(),
    }
}

/// Puts the altered table in the place of the one that was there.
fn publish(
    context: &StatementContext,
    entry: &Arc<TableEntry>,
    altered: &AlteredTable,
    built: Option<Built<'_>>,
) -> Result<()> {
    let tables = &context.tables;
    let files = files_of(entry, altered, built.as_ref());
    let has_new_rows = files.first() != entry.files.first();
    let layouts = altered.layouts.clone().unwrap_or_default();
    let has_other_columns = layouts != entry.layouts;
    let next = TableEntry {
        def: Arc::new(altered.def.clone()),
        extras: altered.extras.clone(),
        next_index_id: altered.next_index_id,
        created: if has_new_rows || has_other_columns { now_utc_micros() } else { entry.created },
        files: files.clone(),
        layouts,
    };
    context.lock_named(&entry.def.database, &entry.def.name, TableUse::Alone)?;
    let replace = |snapshot: &mut Snapshot| {
        snapshot.replace_table(entry, next.clone())?;
        if entry.def.id.is_temporary() {
            return Ok(());
        }
        foreign_keys::follow(snapshot, entry, altered)
    };
    match built {
        None => {
            let ty = |column: &ColumnDef| column.ty;
            let has_other_types = !entry.def.columns.iter().map(ty).eq(next.def.columns.iter().map(ty));
            if has_other_columns || has_other_types {
                context.database.tables().keep_content(entry)?;
            }
            tables.in_reserve(|| tables.change_of(entry.def.id, replace))
        }
        Some(Built { made, content, auto_increment, .. }) => {
            // What is known of rows that stay is of the columns that they have by now.
            let column_ids: &[u32] = if has_new_rows { &[] } else { &entry.layouts.ids };
            let rows = UnpublishedRows { files: &files, column_ids, content: &content, auto_increment };
            tables.publish_of(entry.def.id, Some(&rows), made, replace)
        }
    }
}
