//! How a run of a plan ends, what stops it, and what it has done.

use muster_storage::{
    Counters, Pages, ReadView, RowVisit, Table, VisitCounts, VisitEnd, counters::Counter, key::ByteRange,
};
use muster_types::{SqlError, ValueRef};
use std::{cell::Cell, ops::ControlFlow, time::Instant};
use tokio_util::sync::CancellationToken;

/// Most entries that a statement reads here.
pub(super) const ENTRIES_MAX: usize = 1000;
/// The same where no rows are fetched for them, which takes a tenth of the time.
const COVERED_ENTRIES_MAX: usize = 4000;
/// Longest text that a function makes here, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 1024;
/// Most bytes that the values of a result have here. They are not taken from the memory of queries.
pub(super) const RESULT_BYTES_MAX: usize = 256 << 10;
/// Bytes that a value is counted as besides those of its text.
const VALUE_BYTES: usize = 16;

/// Most entries of an index that a statement reads here. `is_covering`: no rows are fetched for them.
pub fn entries_max(is_covering: bool) -> usize {
    if is_covering { COVERED_ENTRIES_MAX } else { ENTRIES_MAX }
}

/// Bytes that a value is counted as.
pub(super) fn counted_bytes(value: &ValueRef<'_>) -> usize {
    VALUE_BYTES
        + match value {
            ValueRef::Text(text) => text.len(),
            ValueRef::Bytes(bytes) | ValueRef::Json(bytes) => bytes.len(),
            _ => 0,
        }
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// The sink has all rows.
    Rows(RunFigures),
    /// A page is not in memory, or somebody has locked a row.
    MustWait,
    /// The statement is for the general path.
    General,
    /// The same, since it reads more rows than the short path has.
    TooMany,
    /// A locking read has waited in vain.
    Failed(SqlError),
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunFigures {
    pub rows: u64,
    /// Rows that came out of a sort.
    pub sorted: u64,
    pub read: ReadTotals,
}

/// What all visits of a run have read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadTotals {
    page_requests: u64,
    first_lookups: u64,
    last_lookups: u64,
    key_lookups: u64,
    entries_forward: u64,
    entries_backward: u64,
    rows_fetched: u64,
    rows_delivered: u64,
}

impl ReadTotals {
    /// Adds a visit of a range of keys, which began with a descent. `single`: it is for one entry.
    pub fn add(&mut self, visit: &VisitCounts, single: bool, delivered: u64) {
        self.page_requests += visit.page_requests;
        let lookups = match (visit.from_first, visit.from_last) {
            (true, _) => &mut self.first_lookups,
            (_, true) => &mut self.last_lookups,
            _ => &mut self.key_lookups,
        };
        *lookups += 1;
        let entries = if visit.backward { &mut self.entries_backward } else { &mut self.entries_forward };
        *entries += if single { 0 } else { visit.entries };
        self.rows_fetched += visit.rows_fetched;
        self.rows_delivered += delivered;
    }

    pub fn add_to(&self, counters: &Counters) {
        for (counter, n) in [
            (Counter::page_requests, self.page_requests),
            (Counter::first_lookups, self.first_lookups),
            (Counter::last_lookups, self.last_lookups),
            (Counter::key_lookups, self.key_lookups),
            (Counter::entries_forward, self.entries_forward),
            (Counter::entries_backward, self.entries_backward),
            (Counter::rows_fetched, self.rows_fetched),
            (Counter::rows_delivered, self.rows_delivered),
        ] {
            if n > 0 {
                counters.add(counter, n);
            }
        }
    }
}

/// Why a run leaves off.
#[derive(Debug)]
pub(super) enum Left {
    General,
    TooMany,
    MustWait,
    Failed(SqlError),
}

impl From<Left> for RunEnd {
    fn from(left: Left) -> RunEnd {
        match left {
            Left::General => RunEnd::General,
            Left::TooMany => RunEnd::TooMany,
            Left::MustWait => RunEnd::MustWait,
            Left::Failed(e) => RunEnd::Failed(e),
        }
    }
}

/// What ends a run that waits for pages: KILL, and the time that the statement may take.
pub struct Stop {
    pub cancel: CancellationToken,
    pub deadline: Option<Instant>,
}

impl Stop {
    pub(super) fn is_due(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

/// Makes sure that the pages with the first rows of a range are in memory, and nobody is at work on them.
pub(super) fn is_resident(
    table: &Table,
    index: usize,
    range: &ByteRange,
    reverse: bool,
    entries_max: usize,
) -> Result<(), Left> {
    let request = RowVisit {
        index,
        range,
        whole_rows: true,
        view: ReadView::latest(),
        pages: &Pages::Resident { requests: Cell::new(0) },
        reverse,
        entries_max,
    };
    let mut counts = VisitCounts::default();
    match table.visit_rows(&request, &mut counts, &mut |_| ControlFlow::Continue(())) {
        Ok(VisitEnd::MustWait) => Err(Left::MustWait),
        Ok(_) if counts.too_many => Err(Left::TooMany),
        Ok(_) => Ok(()),
        Err(_) => Err(Left::General),
    }
}
