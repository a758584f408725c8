//! Loading: rows from files and generators into new files of a table, swapped in at the end.
//!
//! ```text
//!   load_into   opens a loader, lets the caller fill it, publishes the files   mod.rs
//!   batches     rows that are Arrow batches already                            batches.rs
//!   statement   LOAD DATA [LOCAL] INFILE                                       statement.rs
//!   server_file files of the server that a statement names                     server_file.rs
//!   statistics_file   EXPORT and IMPORT STATISTICS                           statistics_file.rs
//!   out_file    SELECT .. INTO OUTFILE                                         out_file.rs
//!   files       `muster load FILE..`: .csv, .tbl, .arrow                       files.rs
//! ```

mod batches;
mod files;
mod out_file;
mod server_file;
mod statement;
mod statistics_file;

pub use batches::load_batches;
pub use files::load_file;
pub use out_file::select_into_file;
pub use statement::load_data;
pub use statistics_file::{export as export_statistics, import as import_statistics};

use crate::{
    accounts::Privilege,
    catalog::{TableEntry, now_utc_micros},
    metadata_locks::TableUse,
    statement::{StatementContext, enter_to_build},
    system_schema,
    tables::{Content, TableSet, UnpublishedRows, least_auto_increment, storage_error},
    threads,
};
use muster_exec::counters::OperatorCounter;
use muster_sql::TableName;
use muster_storage::{Counter, DuplicatePolicy, LoadProgress, LoadedFiles, TableLoader};
use muster_types::{Result, SqlError};
use std::sync::Arc;

/// The table of a statement that loads; errors 1046, 1044, 1142, 1146.
pub fn target(context: &StatementContext, tables: &TableSet, name: &TableName) -> Result<Arc<TableEntry>> {
    let (database, name) = context.qualify(name)?;
    if system_schema::is_name(&database) {
        return Err(context.rights.database_denied(&database));
    }
    context.check_table(&database, &name, Privilege::Insert, "INSERT")?;
    Ok(tables.definitions.table(&database, &name)?.clone())
}

/// `database.name` or `name`.
pub fn parse_name(name: &str) -> TableName {
    match name.split_once('.') {
        Some((database, name)) => TableName { database: Some(database.into()), name: name.into() },
        None => TableName { database: None, name: name.into() },
    }
}

/// The holder of the rows that a load reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSource {
    /// Files that are there: the load waits for admission as a heavy statement, since it takes much memory.
    Files,
    /// A client, or an iterator of the embedding program. They may wait for something themselves, such as a query that
    /// waits for admission, so the load takes no place from others.
    Caller,
}

/// Returns true if each row has to be looked at: it has values that are computed, conditions to meet, or a parent.
fn comes_checked(context: &StatementContext, entry: &TableEntry) -> bool {
    entry.def.has_row_expressions() || context.checks_foreign_keys() && !entry.def.foreign_keys.is_empty()
}

/// Loads into a table: `fill` pushes the rows. On an error the table is as it was.
pub fn load_into<R>(
    context: &StatementContext,
    name: &TableName,
    duplicates: DuplicatePolicy,
    progress: Arc<LoadProgress>,
    source: RowSource,
    fill: impl FnOnce(&TableEntry, &mut TableLoader) -> Result<R>,
) -> Result<(R, LoadedFiles)> {
    let tables = &context.tables;
    let before = target(context, &tables.current(), name)?;
    // One load at a time per table: each one keeps the rows that it finds.
    context.lock_to_rebuild(&before.def.database, &before.def.name)?;
    let admitted = match source {
        RowSource::Files => Some(enter_to_build(context)?),
        RowSource::Caller => None,
    };
    let current = tables.current();
    let entry = target(context, &current, name)?;
    let table = current.storage(entry.def.id, tables.store())?;
    let next = current.auto_increment(entry.def.id)?.next();
    let before = current.statistics(entry.def.id)?;
    drop(current);
    let options = context.database.load_options(duplicates, progress.clone());
    let (filled, loaded) = threads::while_watching_kill(&context.cancel, &progress, || {
        let mut loader = TableLoader::new(table.clone(), options).map_err(|e| storage_error(&entry.def, e))?;
        let filled = fill(&entry, &mut loader)?;
        let loaded = loader.finish().map_err(|e| storage_error(&entry.def, e))?;
        Ok::<_, SqlError>((filled, loaded))
    })?;
    let made = tables.new_files(loaded.files.clone());
    // Those who are waited for now may wait for admission themselves.
    drop(admitted);
    let content = Content { statistics: loaded.statistics.clone(), changed_rows: 0, loaded: Some(now_utc_micros()) };
    let columns: Vec<Option<usize>> = (0..entry.def.columns.len()).map(Some).collect();
    let content = content.with_histograms_of(&before, &columns);
    let auto_increment = match entry.auto_increment_column() {
        Some(column) => Some(next.max(least_auto_increment(&content.statistics, column))),
        None => Some(next),
    };
    let rows = UnpublishedRows { files: &loaded.files, column_ids: &[], content: &content, auto_increment };
    context.lock_named(&entry.def.database, &entry.def.name, TableUse::Alone)?;
    let loaded_entry = entry.with_files(loaded.files.clone());
    tables.publish_of(entry.def.id, Some(&rows), made, |snapshot| snapshot.replace_table(&entry, loaded_entry))?;
    context.process.counters.add(OperatorCounter::row_writes, loaded.loaded);
    context.process.counters.storage().add(Counter::rows_inserted, loaded.loaded);
    Ok((filled, loaded))
}
