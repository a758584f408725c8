//! Statistics of which each question is asked once in a statement: the alternatives of a plan ask the same ones many
//! times, a dive into an index reads pages, and a plan is made from one state of the data.

use crate::fingerprint;
use muster_algebra::{ColumnStatistics, IndexStatistics, KeyRange, Statistics, TableDef, TableId};
use muster_types::distribution::RowSample;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers of other statistics, kept.
pub struct Remembered<'a> {
    source: &'a dyn Statistics,
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    rows: HashMap<TableId, Option<f64>>,
    indexes: HashMap<(TableId, usize), Option<IndexStatistics>>,
    /// Dives by table, index and the hash of the ranges.
    dives: HashMap<(TableId, usize, u64), Vec<Dive>>,
}

struct Dive {
    ranges: Vec<KeyRange>,
    rows: Option<f64>,
}

impl<'a> Remembered<'a> {
    pub fn new(source: &'a dyn Statistics) -> Remembered<'a> {
        Remembered { source, answers: Mutex::default() }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Statistics for Remembered<'_> {
    fn row_count(&self, table: &TableDef) -> Option<f64> {
        *self.answers().rows.entry(table.id).or_insert_with(|| self.source.row_count(table))
    }

    /// Asked once for each column of a statement, so that there is nothing to remember.
    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        self.source.column(table, column)
    }

    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics> {
        let mut answers = self.answers();
        answers.indexes.entry((table.id, index)).or_insert_with(|| self.source.index(table, index)).clone()
    }

    fn range_rows(&self, table: &TableDef, index: usize, ranges: &[KeyRange]) -> Option<f64> {
        let mut answers = self.answers();
        let dives = answers.dives.entry((table.id, index, fingerprint::of_ranges(ranges))).or_default();
        if let Some(dive) = dives.iter().find(|dive| dive.ranges == ranges) {
            return dive.rows;
        }
        let rows = self.source.range_rows(table, index, ranges);
        dives.push(Dive { ranges: ranges.to_vec(), rows });
        rows
    }

    fn sample(&self, table: &TableDef) -> Option<Arc<RowSample>> {
        self.source.sample(table)
    }

    fn is_readable(&self, table: &TableDef, index: usize) -> bool {
        self.source.is_readable(table, index)
    }
}
