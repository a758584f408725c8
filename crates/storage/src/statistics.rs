//! Facts that a load learns about the data; kept by whoever opens the table, and given back when it is opened.

use crate::{IndexSchema, TableSchema};
use muster_types::{Value, collation::TextTraits, distribution::Distribution};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ColumnStats {
    /// Estimated number of distinct values (HyperLogLog), NULL not counted.
    pub distinct: f64,
    pub null_count: u64,
    /// Text bounds are cut to 64 bytes (the upper one is then not exact).
    pub min: Option<Value>,
    pub max: Option<Value>,
    /// The known traits of all text values ever stored. They decide where bytes may be compared instead of sort keys.
    pub text: TextTraits,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct IndexStats {
    /// `distinct[i]`: distinct values of the first `i + 1` declared key parts.
    pub distinct: Vec<f64>,
    pub leaf_pages: u64,
    /// Levels, the leaves included.
    pub height: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct TableStatistics {
    pub rows: u64,
    pub columns: Vec<ColumnStats>,
    pub indexes: Vec<IndexStats>,
    /// How the values are spread, with a sample of the rows. It has a file of its own.
    #[serde(skip)]
    pub distribution: Option<Arc<Distribution>>,
}

impl ColumnStats {
    /// The statistics of a column that has the same value in all of so many rows.
    pub fn of_constant(value: &Value, rows: u64) -> ColumnStats {
        let text = match value {
            Value::Text(text) => TextTraits::of(text.as_bytes()),
            Value::Bytes(bytes) => TextTraits::of(bytes),
            _ => TextTraits::default(),
        };
        if value.is_null() || rows == 0 {
            return ColumnStats { null_count: if value.is_null() { rows } else { 0 }, text, ..ColumnStats::default() };
        }
        let (min, max) = (Some(value.clone()), Some(value.clone()));
        ColumnStats { distinct: 1.0, null_count: 0, min, max, text }
    }
}

impl TableStatistics {
    /// The statistics of a table that has no rows.
    pub fn of_no_rows(schema: &TableSchema) -> TableStatistics {
        let index =
            |index: &IndexSchema| IndexStats { distinct: vec![0.0; index.parts.len()], leaf_pages: 1, height: 1 };
        TableStatistics {
            rows: 0,
            columns: vec![ColumnStats::default(); schema.columns.len()],
            indexes: schema.indexes.iter().map(index).collect(),
            distribution: None,
        }
    }
}
