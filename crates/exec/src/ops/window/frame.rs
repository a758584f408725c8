//! The rows that a function sees, for each row of a block.

use super::{blocks::Block, without_negative_zero};
use crate::expr::Physical;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::SortOptions;
use datafusion_common::Result;
use std::{cmp::Ordering, ops::Range};

/// A bound of a frame.
pub enum PhysicalBound {
    UnboundedPreceding,
    RowsBefore(u64),
    Before(ValueRange),
    CurrentRow,
    After(ValueRange),
    RowsAfter(u64),
    UnboundedFollowing,
}

/// A bound that is a value: see [`muster_algebra::ValueBound`]. Both have one type.
pub struct ValueRange {
    pub key: Physical,
    pub value: Physical,
    pub descending: bool,
}

/// See [`muster_algebra::Frame`].
pub struct PhysicalFrame {
    /// True for ROWS: the current row does not stand for its peers.
    pub by_row: bool,
    pub start: PhysicalBound,
    pub end: PhysicalBound,
}

/// The keys and bounds of all rows of a block.
struct Values {
    keys: ArrayRef,
    bounds: ArrayRef,
    /// Compares a row's key with another row's bound, in the order of the rows.
    compare: DynComparator,
}

impl PhysicalFrame {
    /// The frame of each row; its start is not behind its end. Both only grow within a partition.
    pub fn frames(&self, block: &Block) -> Result<Vec<Range<usize>>> {
        let (starts, ends) = (self.start.values(&block.rows)?, self.end.values(&block.rows)?);
        let mut frames = Vec::with_capacity(block.rows.num_rows());
        let mut peers = block.peers.iter();
        let mut group = peers.next().cloned().unwrap_or_default();
        for partition in &block.partitions {
            let (mut start, mut end) = (Edge::new(&starts, partition), Edge::new(&ends, partition));
            for row in partition.clone() {
                while row >= group.end {
                    group = peers.next().cloned().unwrap_or(row..row + 1);
                }
                let current = if self.by_row { row..row + 1 } else { group.clone() };
                let at = start.first(&self.start, row, &current);
                frames.push(at..end.behind_last(&self.end, row, &current).max(at));
            }
        }
        Ok(frames)
    }
}

impl PhysicalBound {
    fn values(&self, rows: &RecordBatch) -> Result<Option<Values>> {
        let (PhysicalBound::Before(range) | PhysicalBound::After(range)) = self else { return Ok(None) };
        let array = |physical: &Physical| -> Result<ArrayRef> {
            Ok(without_negative_zero(physical.evaluate(rows)?.into_array(rows.num_rows())?))
        };
        let (keys, bounds) = (array(&range.key)?, array(&range.value)?);
        let options = SortOptions { descending: range.descending, nulls_first: !range.descending };
        let compare = make_comparator(&keys, &bounds, options)?;
        Ok(Some(Values { keys, bounds, compare }))
    }
}

/// One edge of the frames of a partition, from row to row.
struct Edge<'a> {
    values: &'a Option<Values>,
    partition: &'a Range<usize>,
    /// The rows of the partition whose keys are not NULL.
    set: Range<usize>,
    /// The row at which the last value was found.
    at: usize,
}

impl<'a> Edge<'a> {
    fn new(values: &'a Option<Values>, partition: &'a Range<usize>) -> Edge<'a> {
        let mut set = partition.clone();
        if let Some(values) = values
            && values.keys.null_count() > 0
        {
            // NULLs are together at one end.
            let is_set = |row: &usize| values.keys.is_valid(*row);
            let start = partition.clone().find(is_set).unwrap_or(partition.end);
            let end = partition.clone().rev().find(is_set).map_or(start, |last| last + 1);
            set = start..end;
        }
        Edge { values, partition, at: set.start, set }
    }

    /// The first row of the frame.
    fn first(&mut self, bound: &PhysicalBound, row: usize, current: &Range<usize>) -> usize {
        let partition = self.partition;
        match bound {
            PhysicalBound::UnboundedPreceding => partition.start,
            PhysicalBound::RowsBefore(n) => row.saturating_sub(rows(*n)).max(partition.start),
            PhysicalBound::CurrentRow => current.start,
            PhysicalBound::RowsAfter(n) => row.saturating_add(rows(*n)).min(partition.end),
            PhysicalBound::UnboundedFollowing => partition.end,
            PhysicalBound::Before(_) | PhysicalBound::After(_) => {
                self.behind(bound, row, Ordering::is_lt).unwrap_or(current.start)
            }
        }
    }

    /// The row behind the last one of the frame.
    fn behind_last(&mut self, bound: &PhysicalBound, row: usize, current: &Range<usize>) -> usize {
        let partition = self.partition;
        match bound {
            PhysicalBound::UnboundedPreceding => partition.start,
            PhysicalBound::RowsBefore(n) => (row + 1).saturating_sub(rows(*n)).max(partition.start),
            PhysicalBound::CurrentRow => current.end,
            PhysicalBound::RowsAfter(n) => (row + 1).saturating_add(rows(*n)).min(partition.end),
            PhysicalBound::UnboundedFollowing => partition.end,
            PhysicalBound::Before(_) | PhysicalBound::After(_) => {
                self.behind(bound, row, Ordering::is_le).unwrap_or(current.end)
            }
        }
    }

    /// The row behind those whose keys compare so with a row's bound; `None` for a row whose key is NULL.
    fn behind(&mut self, bound: &PhysicalBound, row: usize, is_before: fn(Ordering) -> bool) -> Option<usize> {
        let values = self.values.as_ref().filter(|values| values.keys.is_valid(row))?;
        if values.bounds.is_null(row) {
            return Some(if matches!(bound, PhysicalBound::Before(_)) { self.set.start } else { self.set.end });
        }
        while self.at < self.set.end && is_before((values.compare)(self.at, row)) {
            self.at += 1;
        }
        Some(self.at)
    }
}

fn rows(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
