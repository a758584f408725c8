//! Statistics of a table's rows, and when the rows were loaded. One small file beside the clustered tree's, and one for
//! how the values are spread, which changes more seldom.
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
    SqlType, TextKind,
    distribution::{Distribution, RowSample},
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
    /// catalog names the files.
    pub fn write_all(&self, companions: &Companions, files: &[FileId]) -> Result<(), ChangeError> {
        if let Some(distribution) = &self.statistics.distribution {
            companions.write(files[0], Companion::Distribution, DISTRIBUTION_KIND, &**distribution)?;
        }
        self.write(companions, files)
    }

    /// Writes it without the sample of the rows and histograms.
    pub fn write(&self, companions: &Companions, files: &[FileId]) -> Result<(), ChangeError> {
        let Content { statistics, loaded, changed_rows } = self;
        let stored = Stored {
            loaded: *loaded,
            rows: statistics.rows,
            changed_rows: *changed_rows,
            columns: statistics.columns.clone(),
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
        match indexes {
            Some(indexes) if stored.columns.len() == entry.def.columns.len() => Content {
                statistics: TableStatistics {
                    rows: stored.rows,
                    columns: stored.columns,
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

/// Returns true if values of a VARCHAR are values of another one, in the same bytes and in the same order.
pub fn is_longer_varchar(before: SqlType, now: SqlType) -> bool {
    match (before, now) {
        (
            SqlType::Text { kind: TextKind::VarChar, length: before, collation: old },
            SqlType::Text { kind: TextKind::VarChar, length: now, collation: new },
        ) => old == new && before <= now,
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
            let mut found = found?;
            let types: Vec<SqlType> = entry.def.columns.iter().map(|column| column.ty).collect();
            let known = found.types.iter().zip(&types);
            let is_kept = |(before, now): (&SqlType, &SqlType)| before == now || is_longer_varchar(*before, *now);
            let fits = found.is_sound(types.len()) && known.clone().all(is_kept);
            if !fits {
                without("it is of another definition");
                return None;
            }
            // As in MySQL, a column of another type loses the histogram that a statement has made.
            let same: Vec<bool> = known.map(|(before, now)| before == now).collect();
            found.histograms.retain(|column, _| same.get(*column) == Some(&true));
            found.types = types;
            Some(Arc::new(found.prepared()))
        }
        Err(e) => {
            without(&e.message);
            None
        }
    }
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
