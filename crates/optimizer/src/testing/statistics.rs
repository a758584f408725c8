//! Statistics that a test makes up.

use muster_algebra::{ColumnStatistics, IndexStatistics, KeyRange, SqlType, Statistics, TableDef, Value};
use muster_types::distribution::{Distribution, RowSample};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Row counts, columns and indexes by table name; all else is not known.
#[derive(Debug, Clone, Default)]
pub struct Injected {
    pub rows: HashMap<String, f64>,
    pub columns: HashMap<(String, usize), ColumnStatistics>,
    pub indexes: HashMap<(String, usize), IndexStatistics>,
    /// What index dives answer: share of a table's rows, by table and index.
    pub dives: HashMap<(String, usize), f64>,
    pub distributions: HashMap<String, Distribution>,
}

impl Injected {
    pub fn rows(mut self, table: &str, rows: f64) -> Injected {
        self.rows.insert(table.into(), rows);
        self
    }

    pub fn distinct(mut self, table: &str, column: usize, distinct: f64) -> Injected {
        let known = ColumnStatistics { distinct, ..ColumnStatistics::default() };
        self.columns.insert((table.into(), column), known);
        self
    }

    /// An index of so many leaves, of which a share is in memory.
    pub fn index(mut self, table: &str, index: usize, leaf_pages: f64, resident_share: f64) -> Injected {
        let known = IndexStatistics { distinct: Vec::new(), leaf_pages, height: 3, resident_share, clustering: None };
        self.indexes.insert((table.into(), index), known);
        self
    }

    /// A column with a share of NULL and whole numbers between bounds.
    pub fn column(mut self, table: &str, column: usize, known: ColumnStatistics) -> Injected {
        self.columns.insert((table.into(), column), known);
        self
    }

    /// A sample of INT columns, with histograms made of it. The columns' other statistics must be there before.
    pub fn sampled(mut self, table: &str, rows: Vec<Vec<Option<i64>>>) -> Injected {
        let types = vec![SqlType::INT; rows[0].len()];
        let value = |v: Option<i64>| Some(v.map_or(Value::Null, Value::Int));
        let rows = rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect();
        let of_rows = self.rows.get(table).copied().unwrap_or_default() as u64;
        let distribution = Distribution::new(RowSample::new(rows, &types, of_rows), types, BTreeMap::new());
        for ((_, column), known) in self.columns.iter_mut().filter(|((name, _), _)| name == table) {
            known.histogram = distribution.histogram(*column, known.distinct);
        }
        self.distributions.insert(table.into(), distribution);
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

    fn sample(&self, table: &TableDef) -> Option<Arc<RowSample>> {
        Some(self.distributions.get(&table.name)?.sample.clone())
    }

    fn range_rows(&self, table: &TableDef, index: usize, _ranges: &[KeyRange]) -> Option<f64> {
        self.dives.get(&(table.name.clone(), index)).copied()
    }
}
