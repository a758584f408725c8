//! Statistics that a test makes up.

use muster_algebra::{ColumnStatistics, IndexStatistics, KeyRange, Statistics, TableDef};
use std::collections::HashMap;

/// Row counts, columns and indexes by table name; all else is not known.
#[derive(Debug, Clone, Default)]
pub struct Injected {
    pub rows: HashMap<String, f64>,
    pub columns: HashMap<(String, usize), ColumnStatistics>,
    pub indexes: HashMap<(String, usize), IndexStatistics>,
    /// What index dives answer: share of a table's rows, by table and index.
    pub dives: HashMap<(String, usize), f64>,
}

impl Injected {
    pub fn rows(mut self, table: &str, rows: f64) -> Injected {
        self.rows.insert(table.into(), rows);
        self
    }

    pub fn distinct(mut self, table: &str, column: usize, distinct: f64) -> Injected {
        let known = ColumnStatistics { distinct, null_share: 0.0, min: None, max: None, changed_share: 0.0 };
        self.columns.insert((table.into(), column), known);
        self
    }

    /// An index of so many leaves, of which a share is in memory.
    pub fn index(mut self, table: &str, index: usize, leaf_pages: f64, resident_share: f64) -> Injected {
        let known = IndexStatistics { distinct: Vec::new(), leaf_pages, height: 3, resident_share };
        self.indexes.insert((table.into(), index), known);
        self
    }

    pub fn dive(mut self, table: &str, index: usize, rows: f64) -> Injected {
        self.dives.insert((table.into(), index), rows);
        self
    }
}

impl Statistics for Injected {
    fn row_count(&self, table: &TableDef) -> Option<f64> {
        self.rows.get(&table.name).copied()
    }

    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        self.columns.get(&(table.name.clone(), column)).cloned()
    }

    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics> {
        self.indexes.get(&(table.name.clone(), index)).cloned()
    }

    fn range_rows(&self, table: &TableDef, index: usize, _ranges: &[KeyRange]) -> Option<f64> {
        self.dives.get(&(table.name.clone(), index)).copied()
    }
}
