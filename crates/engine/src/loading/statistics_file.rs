//! EXPORT STATISTICS and IMPORT STATISTICS: what the optimizer knows of tables, as a file of JSON. With it plans can be
//! looked into where the data are not: the tables have to be there, their rows do not.
//!
//! Imported statistics count in place of the table's own, dives into its indexes included, until ANALYZE TABLE or the
//! end of the server.

use super::server_file;
use crate::{
    accounts::Privilege,
    catalog::TableEntry,
    metadata_locks::TableUse,
    statement::{Done, StatementContext},
};
use muster_sql::TableName;
use muster_storage::{ColumnStats, IndexStats, TableStatistics};
use muster_types::{
    ErrorCode, Result, SqlError, SqlType, Value,
    distribution::{Distribution, Histogram, RowSample},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::OpenOptions,
    io::{Read, Write as _},
    sync::Arc,
};

/// Version of the file.
const FORMAT: u32 = 1;
/// A longer file is not read.
const FILE_BYTES_MAX: u64 = 256 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatisticsFile {
    muster_statistics: u32,
    tables: Vec<TableOfFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableOfFile {
    database: String,
    table: String,
    rows: u64,
    columns: Vec<ColumnOfFile>,
    indexes: Vec<IndexOfFile>,
    /// By the column's name.
    histograms: BTreeMap<String, Arc<Histogram>>,
    sample: Option<Arc<RowSample>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnOfFile {
    name: String,
    ty: SqlType,
    distinct: f64,
    null_count: u64,
    min: Option<Value>,
    max: Option<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexOfFile {
    name: String,
    /// Distinct values of the first part, of the first two, and so on.
    distinct: Vec<f64>,
    leaf_pages: u64,
    height: u32,
}

/// Writes what is known of some tables into a new file below `secure_file_priv`. Errors: 1086 if it is there, 1290
/// elsewhere, 1227 without the FILE privilege.
pub fn export(context: &StatementContext, names: &[TableName], path: &str) -> Result<Done> {
    let mut tables = Vec::with_capacity(names.len());
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.check_table(&database, &name, Privilege::Select, "SELECT")?;
        let entry = context.lock_named(&database, &name, TableUse::Read)?;
        let known = context.tables.current().known_statistics(entry.def.id)?;
        tables.push(of_table(&entry, &known));
    }
    let text = text_of(&tables)?;
    let target = server_file::new_path(context, path)?;
    let made = OpenOptions::new().write(true).create_new(true).open(&target);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            SqlError::new(ErrorCode::FileExists, format!("File '{path}' already exists"))
        }
        _ => SqlError::new(ErrorCode::Unknown, format!("{path}: {e}")),
    })?;
    Ok(Done::rows(tables.len() as u64))
}

fn of_table(entry: &TableEntry, known: &TableStatistics) -> TableOfFile {
    let def = &entry.def;
    let column = |(column, known): (&muster_algebra::ColumnDef, &ColumnStats)| ColumnOfFile {
        name: column.name.clone(),
        ty: column.ty,
        distinct: known.distinct,
        null_count: known.null_count,
        min: known.min.clone(),
        max: known.max.clone(),
    };
    let index = |(index, known): (&muster_algebra::IndexDef, &IndexStats)| IndexOfFile {
        name: index.name.clone(),
        distinct: known.distinct.clone(),
        leaf_pages: known.leaf_pages,
        height: known.height,
    };
    let distribution = known.distribution.as_deref();
    let histograms = distribution.map(|d| d.histograms.iter()).into_iter().flatten();
    TableOfFile {
        database: def.database.clone(),
        table: def.name.clone(),
        rows: known.rows,
        columns: def.columns.iter().zip(&known.columns).map(column).collect(),
        indexes: def.indexes.iter().zip(&known.indexes).map(index).collect(),
        histograms: histograms.map(|(at, made)| (def.columns[*at].name.clone(), made.clone())).collect(),
        sample: distribution.map(|d| d.sample.clone()),
    }
}

/// The file: a line for each column, index and histogram, so that an error's line says where it is.
fn text_of(tables: &[TableOfFile]) -> Result<String> {
    fn json(value: &impl Serialize) -> Result<String> {
        serde_json::to_string(value).map_err(SqlError::internal)
    }
    fn list<T: Serialize>(items: &[T]) -> Result<String> {
        Ok(items.iter().map(json).collect::<Result<Vec<_>>>()?.join(",\n"))
    }
    let mut text = format!("{{\"muster_statistics\": {FORMAT}, \"tables\": [\n");
    for (at, table) in tables.iter().enumerate() {
        let histograms = table.histograms.iter().map(|(name, made)| Ok(format!("{}: {}", json(name)?, json(made)?)));
        let _ = write!(
            text,
            "{}{{\"database\": {}, \"table\": {}, \"rows\": {}, \"columns\": [\n{}],\n\"indexes\": [\n{}],\n\
             \"histograms\": {{\n{}}},\n\"sample\":\n{}}}",
            if at == 0 { "" } else { ",\n" },
            json(&table.database)?,
            json(&table.table)?,
            table.rows,
            list(&table.columns)?,
            list(&table.indexes)?,
            histograms.collect::<Result<Vec<_>>>()?.join(",\n"),
            json(&table.sample)?,
        );
    }
    text += "\n]}\n";
    Ok(text)
}

/// Reads a file below `secure_file_priv` and has its statistics count for the tables that it names. It is refused as a
/// whole, with line or table and reason, if anything in it is wrong.
pub fn import(context: &StatementContext, path: &str) -> Result<Done> {
    let refused = |reason: String| SqlError::new(ErrorCode::Unknown, format!("Statistics file '{path}': {reason}"));
    let mut text = String::new();
    let file = server_file::open(context, path)?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|e| refused(e.to_string()))?;
    let file: StatisticsFile = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
    if file.muster_statistics != FORMAT {
        return Err(refused(format!("format {}, not {FORMAT}", file.muster_statistics)));
    }
    let mut made = Vec::with_capacity(file.tables.len());
    for table in file.tables {
        context.check_table(&table.database, &table.table, Privilege::Insert, "INSERT")?;
        let entry = context.lock_named(&table.database, &table.table, TableUse::Read)?;
        let name = format!("table {}.{}", table.database, table.table);
        let statistics = statistics_of(&entry, table).map_err(|reason| refused(format!("{name}: {reason}")))?;
        made.push((entry.def.id, statistics));
    }
    let count = made.len() as u64;
    context.database.tables().import_statistics(&context.tables.current(), made)?;
    Ok(Done::rows(count))
}

/// The statistics of a table of this definition, or why they cannot be.
fn statistics_of(entry: &TableEntry, table: TableOfFile) -> std::result::Result<TableStatistics, String> {
    let def = &entry.def;
    let is_count = |number: f64| number.is_finite() && number >= 0.0;
    if table.columns.len() != def.columns.len() || table.indexes.len() != def.indexes.len() {
        return Err("other columns or indexes".into());
    }
    let mut columns = Vec::with_capacity(def.columns.len());
    for (known, column) in table.columns.into_iter().zip(&def.columns) {
        if !known.name.eq_ignore_ascii_case(&column.name) || known.ty != column.ty {
            return Err(format!("column {} has another name or type", known.name));
        }
        if !is_count(known.distinct) || known.null_count > table.rows {
            return Err(format!("column {} has wrong counts", known.name));
        }
        let ColumnOfFile { distinct, null_count, min, max, .. } = known;
        columns.push(ColumnStats { distinct, null_count, min, max, ..ColumnStats::default() });
    }
    let mut indexes = Vec::with_capacity(def.indexes.len());
    for (known, index) in table.indexes.into_iter().zip(&def.indexes) {
        if !known.name.eq_ignore_ascii_case(&index.name) || known.distinct.len() != index.parts.len() {
            return Err(format!("index {} has another name or other parts", known.name));
        }
        if !known.distinct.iter().all(|distinct| is_count(*distinct)) {
            return Err(format!("index {} has wrong counts", known.name));
        }
        indexes.push(IndexStats { distinct: known.distinct, leaf_pages: known.leaf_pages, height: known.height });
    }
    let types: Vec<SqlType> = def.columns.iter().map(|column| column.ty).collect();
    let mut histograms = BTreeMap::new();
    for (name, made) in table.histograms {
        let at = def.column(&name).ok_or_else(|| format!("a histogram of column {name}, which is not there"))?;
        if made.ty != types[at] || !made.is_sound() {
            return Err(format!("the histogram of column {name} is wrong, or of another type"));
        }
        histograms.insert(at, made);
    }
    let sample = table.sample.map(Arc::unwrap_or_clone).unwrap_or_default();
    let sample = if sample.rows() == 0 { RowSample::new(Vec::new(), &types, table.rows) } else { sample };
    let distribution = Distribution::new(sample, types, histograms);
    if !distribution.is_sound(def.columns.len()) {
        return Err("the sample is wrong".into());
    }
    Ok(TableStatistics { rows: table.rows, columns, indexes, distribution: Some(Arc::new(distribution)) })
}
