//! The statistics of tables that the optimizer may ask for. The engine answers from storage; tests inject.

use crate::TableDef;
use muster_types::{
    KeyRange, Value,
    distribution::{Histogram, RowSample},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Statistics of one column. All figures are estimates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// Number of distinct values, NULL not counted.
    pub distinct: f64,
    /// Share of rows that are NULL, 0 to 1.
    pub null_share: f64,
    pub min: Option<Value>,
    pub max: Option<Value>,
    /// Share of the table's rows, 0 to 1, that came or changed since this was found out. They may lie outside of `min`
    /// and `max`.
    #[serde(default)]
    pub changed_share: f64,
    #[serde(default)]
    pub histogram: Option<Arc<Histogram>>,
}

/// Statistics of one index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexStatistics {
    /// `distinct[i]`: number of distinct values of the first `i + 1` key parts.
    pub distinct: Vec<f64>,
    pub leaf_pages: f64,
    pub height: u32,
    /// Share of its pages that are in memory now, 0 to 1.
    pub resident_share: f64,
    /// Rank correlation of its first part with the order of the primary key, -1 to 1; `None`: not known.
    #[serde(default)]
    pub clustering: Option<f64>,
}

/// Statistics of all tables. An answer of `None` means: not known.
pub trait Statistics: Send + Sync {
    fn row_count(&self, table: &TableDef) -> Option<f64>;
    /// `column`: position in [`TableDef::columns`].
    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics>;
    /// `index`: position in [`TableDef::indexes`].
    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics>;
    /// Rows in these ranges of the index, by descending its tree (an index dive).
    fn range_rows(&self, table: &TableDef, index: usize, ranges: &[KeyRange]) -> Option<f64>;
    /// Some rows of the table, at random.
    fn sample(&self, table: &TableDef) -> Option<Arc<RowSample>> {
        let _ = table;
        None
    }
    /// Returns false for an index that the statement cannot read, since it is younger than what the statement sees.
    fn is_readable(&self, table: &TableDef, index: usize) -> bool {
        let _ = (table, index);
        true
    }
}
