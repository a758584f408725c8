//! Loading: rows from files and generators into new files of a table, swapped in at the end.
//!
//! ```text
//!   load_into   opens a loader, lets the caller fill it, publishes the files   mod.rs
//!   batches     rows that are Arrow batches already                            batches.rs
//!   statement   LOAD DATA [LOCAL] INFILE                                       statement.rs
//!   files       `muster load FILE..`: .csv, .tbl, .arrow                       files.rs
//! ```

mod batches;
mod files;
mod statement;

pub use statement::load_data;

use crate::{
    accounts::Privilege,
    catalog::TableEntry,
    ddl::{now_utc_micros, qualify, storage_error},
    statement::Context,
    virtual_tables::information_schema,
};
use muster_algebra::TableDef;
use muster_sql::TableName;
use muster_storage::{DuplicatePolicy, LoadOptions, LoadProgress, LoadedFiles, StorageError, TableLoader};
use muster_types::{Result, SqlError};
use std::sync::Arc;

/// Bounds of the memory that a load sorts in.
const MEMORY_BYTES_MIN: usize = 32 << 20;
const MEMORY_BYTES_MAX: usize = 1 << 30;

/// Sorting memory, spill directory and threads of a load.
pub fn load_options(context: &Context, duplicates: DuplicatePolicy, progress: Arc<LoadProgress>) -> LoadOptions {
    let options = context.database.options();
    LoadOptions {
        memory_bytes: (options.memory_limit_bytes / 2).clamp(MEMORY_BYTES_MIN, MEMORY_BYTES_MAX),
        temp_dir: context.database.temp_dir().to_path_buf(),
        threads: options.threads,
        duplicates,
        progress,
    }
}

/// The table of a statement that loads; errors 1046, 1044, 1142, 1146.
pub fn target(context: &Context, name: &TableName) -> Result<Arc<TableEntry>> {
    let (database, name) = qualify(context, name)?;
    if information_schema::is_name(&database) {
        return Err(context.access.database_denied(&database));
    }
    context.access.check_table(&database, &name, Privilege::Insert, "INSERT")?;
    Ok(context.database.catalog().snapshot().table(&database, &name)?.clone())
}

/// `database.name` or `name`.
pub fn parse_name(name: &str) -> TableName {
    match name.split_once('.') {
        Some((database, name)) => TableName { database: Some(database.into()), name: name.into() },
        None => TableName { database: None, name: name.into() },
    }
}

/// Loads into a table: `fill` pushes the rows. On an error the table is as it was.
pub fn load_into<R>(
    context: &Context,
    name: &TableName,
    duplicates: DuplicatePolicy,
    progress: Arc<LoadProgress>,
    fill: impl FnOnce(&TableEntry, &mut TableLoader) -> Result<R>,
) -> Result<(R, LoadedFiles)> {
    let catalog = context.database.catalog();
    let writer = target(context, name)?.writer.clone();
    // One load at a time per table: each one keeps the rows that it finds.
    let _writing = writer.lock();
    let entry = target(context, name)?;
    let table = entry.storage(catalog.store())?;
    let options = load_options(context, duplicates, progress.clone());
    let (filled, loaded) = context.while_watching_kill(&progress, || {
        let mut loader = TableLoader::new(table.clone(), options).map_err(|e| storage_error(&entry.def, e))?;
        let filled = fill(&entry, &mut loader)?;
        let loaded = loader.finish().map_err(|e| load_error(&entry.def, duplicates, e))?;
        Ok::<_, SqlError>((filled, loaded))
    })?;
    let mut next = entry.with_files(loaded.files.clone(), loaded.statistics.clone());
    next.updated = Some(now_utc_micros());
    next.auto_increment = next.auto_increment.max(next_auto_increment(&next));
    match catalog.change(|snapshot| snapshot.replace_table(&entry, next)) {
        Ok(()) => catalog.discard(&entry, &entry.files),
        Err(e) => {
            catalog.discard_unpublished(entry.schema(), loaded.files);
            return Err(e);
        }
    }
    Ok((filled, loaded))
}

/// Error 1235 where MySQL would drop or replace a row for the sake of a unique secondary index.
fn load_error(def: &TableDef, duplicates: DuplicatePolicy, e: StorageError) -> SqlError {
    let action = match duplicates {
        DuplicatePolicy::Error => return storage_error(def, e),
        DuplicatePolicy::Ignore => "IGNORE",
        DuplicatePolicy::Replace => "REPLACE",
    };
    match e {
        StorageError::Duplicate { entry, index } if index > 0 => {
            let key = def.indexes.get(index).map_or("?", |i| &i.name);
            SqlError::unsupported(format!(
                "{action} of entry '{entry}', which the unique key '{}.{key}' repeats",
                def.name
            ))
        }
        e => storage_error(def, e),
    }
}

/// One more than the largest value of the AUTO_INCREMENT column.
fn next_auto_increment(entry: &TableEntry) -> u64 {
    use muster_types::Value;
    let column = entry.def.columns.iter().position(|c| c.auto_increment);
    match column.and_then(|i| entry.statistics.columns.get(i)).and_then(|c| c.max.as_ref()) {
        Some(Value::Int(i)) => u64::try_from(*i).map_or(1, |u| u.saturating_add(1)),
        Some(Value::UInt(u)) => u.saturating_add(1),
        _ => 1,
    }
}
