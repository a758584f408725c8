//! Statistics of a table's rows, and when the rows were loaded. One small file beside the clustered tree's, and one for
//! how the values are spread, which changes more seldom.
//!
//! It names columns by their ids, so that it stays right when columns are added, dropped or moved and rows stay: a
//! column that the file does not have is one that came since, and until it is written again all rows have its initial
//! value.
//!
//! It is named after the clustered tree, whose file number is never used again, so it cannot speak of other rows. A
//! file that is lost or damaged costs good plans, not the table: what the trees' headers know takes its place, with a
//! warning.

use super::Companions;
use crate::{
    catalog::TableEntry,
    persist::{self, ChangeError},
};
use muster_storage::{ColumnStats, FileId, IndexStats, Table, TableSchema, TableStatistics, file::Companion};
use muster_types::{
    SqlType,
    distribution::{Distribution, RowSample, SampledColumn},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const KIND: persist::Kind = persist::Kind { magic: *b"MUSTSTAT", version: 1 };
const DISTRIBUTION_KIND: persist::Kind = persist::Kind { magic: *b"MUSTSAMP", version: 1 };

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    pub statistics: TableStatistics,
    /// Rows that had changed since the statistics were made when they were written.
    pub changed_rows: u64,
    /// Time of the last load, in microseconds since 1970-01-01 UTC.
    pub loaded: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    loaded: Option<i64>,
    rows: u64,
    #[serde(default)]
    changed_rows: u64,
    columns: Vec<ColumnStats>,
    /// The ids of the columns; empty: their positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    column_ids: Vec<u32>,
    /// Statistics of indexes by their files. Files that the table does not have (any more) mean nothing.
    indexes: Vec<(FileId, IndexStats)>,
}

impl Content {
    /// Takes over the histograms that statements have made of the rows before, as MySQL does. `sources`: for each
    /// column the position of the one before whose values it has.
    pub fn with_histograms_of(mut self, before: &TableStatistics, sources: &[Option<usize>]) -> Content {
        if let (Some(own), Some(before)) = (&self.statistics.distribution, &before.distribution)
            && !before.histograms.is_empty()
        {
            let distribution = Distribution::clone(own).with_histograms_of(before, sources);
            self.statistics.distribution = Some(Arc::new(distribution));
        }
        self
    }

    /// The content of a table that has lost its rows: the histograms that statements have made are left. `None` if
    /// there are none.
    pub fn histograms_alone(&self, schema: &TableSchema) -> Option<Content> {
        let before = self.statistics.distribution.as_ref().filter(|before| !before.histograms.is_empty())?;
        let types: Vec<SqlType> = schema.columns.iter().map(|column| column.ty).collect();
        let none = RowSample::new(Vec::new(), &types, 0);
        let distribution = Some(Arc::new(Distribution::new(none, types, before.histograms.clone())));
        let statistics = TableStatistics { distribution, ..TableStatistics::of_no_rows(schema) };
        Some(Content { statistics, ..Content::default() })
    }

    /// Writes all that is known of the rows in these files, the clustered tree's first. Nobody reads it before the
    /// catalog names the files. `column_ids`: of the columns that it is of; empty: their positions.
    pub fn write_all(&self, companions: &Companions, files: &[FileId], column_ids: &[u32]) -> Result<(), ChangeError> {
        if let Some(distribution) = &self.statistics.distribution {
            let mut distribution = Distribution::clone(distribution);
            distribution.column_ids = column_ids.to_vec();
            companions.write(files[0], Companion::Distribution, DISTRIBUTION_KIND, &distribution)?;
        }
        self.write(companions, files, column_ids)
    }

    /// Writes it without the sample of the rows and histograms.
    pub fn write(&self, companions: &Companions, files: &[FileId], column_ids: &[u32]) -> Result<(), ChangeError> {
        let Content { statistics, loaded, changed_rows } = self;
        let stored = Stored {
            loaded: *loaded,
            rows: statistics.rows,
            changed_rows: *changed_rows,
            columns: statistics.columns.clone(),
            column_ids: column_ids.to_vec(),
            indexes: files.iter().copied().zip(statistics.indexes.iter().cloned()).collect(),
        };
        companions.write(files[0], Companion::Statistics, KIND, &stored)
    }

    /// Reads what is known of the rows of a table.
    pub fn read(companions: &Companions, entry: &TableEntry) -> Content {
        let stored = match companions.read::<Stored>(entry.clustered_file(), Companion::Statistics, KIND) {
            Ok(Some(stored)) => stored,
            Ok(None) => return Content::of_trees(companions, entry, "there are no statistics"),
            Err(e) => return Content::of_trees(companions, entry, &e.message),
        };
        let index = |file: &FileId| stored.indexes.iter().find(|(of, _)| of == file).map(|(_, stats)| stats.clone());
        let indexes = entry.files.iter().map(index).collect::<Option<Vec<_>>>();
        match indexes.zip(columns_of(&stored, entry)) {
            Some((indexes, columns)) => Content {
                statistics: TableStatistics {
                    rows: stored.rows,
                    columns,
                    indexes,
                    distribution: read_distribution(companions, entry),
                },
                changed_rows: stored.changed_rows,
                loaded: stored.loaded,
            },
            _ => Content::of_trees(companions, entry, "the statistics are of another definition"),
        }
    }

    /// Statistics that the trees of a table hold themselves. A table without rows has no other statistics.
    fn of_trees(companions: &Companions, entry: &TableEntry, reason: &str) -> Content {
        let store = companions.store();
        let table = store.open_table(entry.schema(), entry.files.clone(), TableStatistics::default());
        if let Ok(table) = &table
            && let Ok(true) = table.is_empty()
        {
            return Content { statistics: TableStatistics::of_no_rows(&entry.schema()), ..Content::default() };
        }
        let (database, name) = (&entry.def.database, &entry.def.name);
        tracing::warn!(
            "table {database}.{name} is planned without statistics of its columns until they are made anew: {reason}"
        );
        // A table that cannot be opened says so to those who read it.
        let statistics = table.map_or_else(|_| TableStatistics::default(), |table| without_values(&table));
        // So that they are made anew soon.
        Content { changed_rows: statistics.rows, statistics, loaded: None }
    }
}

/// The statistics of the columns that a table has by now; `None` if they are of another definition.
fn columns_of(stored: &Stored, entry: &TableEntry) -> Option<Vec<ColumnStats>> {
    let known = known_columns(&stored.column_ids, stored.columns.len(), entry)?;
    let column = |known: SampledColumn<'_>| match known {
        SampledColumn::Known(at) => stored.columns.get(at).cloned(),
        SampledColumn::Constant(value) => Some(ColumnStats::of_constant(value, stored.rows)),
    };
    known.into_iter().map(column).collect()
}

/// For each column of a table, where it is among those of a file, or the value that all rows have in it. `None` if the
/// file is of other columns.
fn known_columns<'e>(ids: &[u32], columns: usize, entry: &'e TableEntry) -> Option<Vec<SampledColumn<'e>>> {
    let layouts = &entry.layouts;
    let ids: Vec<u32> = if ids.is_empty() { (0..columns as u32).collect() } else { ids.to_vec() };
    if ids.len() != columns {
        return None;
    }
    let known = |id: u32| match ids.iter().position(|known| *known == id) {
        Some(at) => Some(SampledColumn::Known(at)),
        None => layouts.initial.get(&id).map(SampledColumn::Constant),
    };
    // A table that has ever had the same columns has no others, nor fewer.
    let is_of_all = !layouts.ids.is_empty() || columns == entry.def.columns.len();
    let columns = layouts.ids_of(entry.def.columns.len()).into_iter().map(known).collect::<Option<Vec<_>>>();
    columns.filter(|_| is_of_all)
}

/// Returns true if values of a column of the first type are values of the second one, as they are.
fn is_same_or_wider(before: SqlType, now: SqlType) -> bool {
    before == now
        || match (before, now) {
            (SqlType::Enum(before), SqlType::Enum(now)) | (SqlType::Set(before), SqlType::Set(now)) => {
                now.begins_with(before)
            }
            (SqlType::Text { collation: before, .. }, SqlType::Text { collation: now, .. }) => before == now,
            (SqlType::Bytes { .. }, SqlType::Bytes { .. }) => true,
            _ => false,
        }
}

/// What is known of how a table's values are spread. A file that is lost or damaged, or of columns of other types,
/// costs good plans, not the table.
fn read_distribution(companions: &Companions, entry: &TableEntry) -> Option<Arc<Distribution>> {
    let read = companions.read::<Distribution>(entry.clustered_file(), Companion::Distribution, DISTRIBUTION_KIND);
    let (database, name) = (&entry.def.database, &entry.def.name);
    let without = |reason: &str| {
        tracing::warn!(
            "table {database}.{name} is planned without a sample of its rows until it is made anew: {reason}"
        );
    };
    match read {
        Ok(found) => {
            let found = found?;
            let fitting = Some(&found).filter(|found| found.is_sound(found.types.len()));
            let fitting = fitting.and_then(|found| with_columns_of(found, entry));
            if fitting.is_none() {
                without("it is of another definition");
                return None;
            }
            fitting.map(Arc::new)
        }
        Err(e) => {
            without(&e.message);
            None
        }
    }
}

/// A distribution of the columns that a table has by now; `None` if it is of another definition.
fn with_columns_of(found: &Distribution, entry: &TableEntry) -> Option<Distribution> {
    let types: Vec<SqlType> = entry.def.columns.iter().map(|column| column.ty).collect();
    let columns = known_columns(&found.column_ids, found.types.len(), entry)?;
    let is_right = |(column, ty): (&SampledColumn<'_>, &SqlType)| match column {
        SampledColumn::Known(at) => found.types.get(*at).is_some_and(|before| is_same_or_wider(*before, *ty)),
        SampledColumn::Constant(_) => true,
    };
    columns.iter().zip(&types).all(is_right).then(|| found.with_columns(&columns, types))
}

/// Statistics without anything that only the values tell: nothing of columns, and as many distinct keys as MySQL takes
/// for an index without statistics, ten rows each, but one row each for a whole unique key.
fn without_values(table: &Table) -> TableStatistics {
    let rows = table.row_count();
    let indexes = table.trees().iter().zip(&table.schema().indexes).map(|(tree, schema)| {
        let leaf_pages = tree.file().header().leaf_count;
        let mut distinct = vec![(rows as f64 / 10.0).max(1.0); schema.parts.len()];
        if let (true, Some(last)) = (schema.unique, distinct.last_mut()) {
            *last = rows as f64;
        }
        IndexStats { distinct, leaf_pages, height: tree.height(table.counters()).unwrap_or(1) }
    });
    TableStatistics { rows, columns: Vec::new(), indexes: indexes.collect(), distribution: None }
}
