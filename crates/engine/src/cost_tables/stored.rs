//! The two tables as stored ones, made when a statement first changes one of them. Those that another version has
//! stored get the rows and the defaults of this one.

use super::{
    definitions::{ENGINE, SERVER, default_rows, entry},
    read,
};
use crate::{
    catalog::{Schema, Snapshot, TableEntry, now_utc_micros},
    system_schema,
    tables::{Content, Tables, UnpublishedRows},
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema as ArrowSchema};
use muster_algebra::{ColumnDef, TableDef};
use muster_storage::{FileId, LoadOptions, LoadedFiles, ReadView, TableLoader, TableStatistics, array_of};
use muster_types::{Collation, Result, SqlError, Value};
use std::sync::Arc;

/// Stores the tables, unless they are stored. Errors: those of storage and of the catalog, such as 1881.
pub fn store(tables: &Tables, options: &LoadOptions) -> Result<()> {
    for made in [SERVER, ENGINE].into_iter().filter_map(entry) {
        if stored_entry(tables, &made.def.name).is_none() {
            add(tables, &made, options)?;
        }
    }
    Ok(())
}

/// Brings tables that another version has stored to the rows and the defaults of this one, when a directory is opened.
/// One that a transaction has changed which is yet to be rolled back is left for the next start.
pub fn refresh(tables: &Tables, options: &LoadOptions) -> Result<()> {
    for made in [SERVER, ENGINE].into_iter().filter_map(entry) {
        let Some(old) = stored_entry(tables, &made.def.name).filter(|old| old.def.columns != made.def.columns) else {
            continue;
        };
        let is_cut_off = tables.store().cut_off().iter().any(|of| of.trees.contains(&old.clustered_file()));
        if !is_cut_off {
            replace(tables, &old, &made, options)?;
        }
    }
    Ok(())
}

fn stored_entry(tables: &Tables, name: &str) -> Option<Arc<TableEntry>> {
    tables.definitions().schemas.get(system_schema::MYSQL)?.tables.get(name).cloned()
}

/// Makes the files of a table with its default rows, and names them in the catalog.
fn add(tables: &Tables, made: &TableEntry, options: &LoadOptions) -> Result<()> {
    let loaded = load(tables, made, &default_rows(&made.def.name, now_utc_micros()), options)?;
    publish(tables, loaded, |next, files| {
        let id = next.next_table_id();
        let schema = next.schemas.entry(system_schema::MYSQL.into()).or_insert_with(|| Schema::new(Collation::SYSTEM));
        // Another session may have been faster.
        if schema.has(&made.def.name) {
            return Ok(false);
        }
        let def = Arc::new(TableDef { id, ..TableDef::clone(&made.def) });
        schema.tables.insert(made.def.name.clone(), Arc::new(TableEntry { def, ..made.with_files(files) }));
        Ok(true)
    })
}

/// Puts a table in the place of one with other columns. Rows keep what statements have given them.
fn replace(tables: &Tables, old: &TableEntry, made: &TableEntry, options: &LoadOptions) -> Result<()> {
    let rows = default_rows(&made.def.name, now_utc_micros());
    let kept = read::stored_rows(tables, &ReadView::latest(), &made.def.name)?;
    let loaded = load(tables, made, &merged(&made.def, rows, kept), options)?;
    publish(tables, loaded, |next, files| {
        let def = Arc::new(TableDef { id: old.def.id, ..TableDef::clone(&made.def) });
        next.replace_table(old, TableEntry { def, created: old.created, ..made.with_files(files) })?;
        Ok(true)
    })
}

/// The rows of this version, with the costs that were set, and the rows that are not of this version.
fn merged(def: &TableDef, mut rows: Vec<Vec<Value>>, kept: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let (key, defaults) = (def.columns.len() - 4, def.columns.len() - 1);
    let is_same = |a: &[Value], b: &[Value]| {
        let text = |value: &Value| value.to_text(0).unwrap_or_default();
        a.iter().zip(b).take(key).all(|(a, b)| text(a).eq_ignore_ascii_case(&text(b)))
    };
    for row in kept.into_iter().filter(|row| row.len() > defaults) {
        match rows.iter_mut().find(|new| is_same(new, &row)) {
            // A row whose default is in force tells the origin of the new one.
            Some(_) if row[key].is_null() => {}
            Some(new) => new[key..defaults].clone_from_slice(&row[key..defaults]),
            None => rows.push(row),
        }
    }
    rows
}

/// Gives files to the catalog by `name`, unless that returns false.
fn publish(
    tables: &Tables,
    loaded: LoadedFiles,
    name: impl FnOnce(&mut Snapshot, Vec<FileId>) -> Result<bool>,
) -> Result<()> {
    let files = tables.new_files(loaded.files.clone());
    let content = Content { statistics: loaded.statistics, ..Content::default() };
    let (files_of_rows, column_ids) = (&loaded.files, &[]);
    let rows = UnpublishedRows { files: files_of_rows, column_ids, content: &content, auto_increment: Some(1) };
    if !tables.publish(Some(&rows), files, |next| name(next, loaded.files.clone()))? {
        drop(tables.new_files(loaded.files));
    }
    Ok(())
}

/// Makes the files of a table with these rows.
fn load(tables: &Tables, made: &TableEntry, rows: &[Vec<Value>], options: &LoadOptions) -> Result<LoadedFiles> {
    let schema = made.schema();
    // The loader takes a table whose rows it keeps: one without any.
    let empty = tables.store().create_table(&schema)?;
    let empty_files = tables.new_files(empty.clone());
    let target = tables.store().open_table(schema.clone(), empty, TableStatistics::of_no_rows(&schema))?;
    let mut loader = TableLoader::new(target, options.clone())?;
    loader.push(&batch(&made.def, rows)?)?;
    let loaded = loader.finish()?;
    drop(empty_files);
    Ok(loaded)
}

fn batch(def: &TableDef, rows: &[Vec<Value>]) -> Result<RecordBatch> {
    let column = |(at, column): (usize, &ColumnDef)| -> Result<(Field, ArrayRef)> {
        let values = array_of(rows.iter().map(|row| &row[at]), column.ty)?;
        Ok((Field::new(&column.name, values.data_type().clone(), column.nullable), values))
    };
    let columns = def.columns.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).map_err(SqlError::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_another_version_keep_what_was_set() {
        let text = |text: &str| Value::Text(text.into());
        let row = |name: &str, cost: Value, comment: &str, default: f32| {
            vec![text(name), cost, Value::DateTime(7), text(comment), Value::Float(default)]
        };
        let def = entry(SERVER).unwrap().def;
        let new = vec![row("a", Value::Null, "default: now", 1.0), row("b", Value::Null, "default: now", 2.0)];
        let kept = vec![
            row("A", Value::Float(5.0), "set by x", 9.0),
            row("b", Value::Null, "default: before", 9.0),
            row("gone", Value::Float(3.0), "set by x", 9.0),
        ];
        let merged = merged(&def, new, kept);
        assert_eq!(
            merged,
            [
                row("a", Value::Float(5.0), "set by x", 1.0),
                row("b", Value::Null, "default: now", 2.0),
                row("gone", Value::Float(3.0), "set by x", 9.0),
            ]
        );
    }
}
