//! Rows of latched leaves into columns: the condition's first, the others only for the rows it keeps.

use super::{
    BatchFilter, Condition, Projection,
    ranges::RangeTests,
    wanted::{Wanted, narrowed},
};
use crate::{
    Counters, ReadView, Result, StorageError, TableSchema,
    counters::Counter,
    tree::{
        LeafPage, Tree, TreeLayout, TreeOverflow,
        page::leaf::{
            Leaf,
            decode::{ColumnSink, DecodeError},
            rows::RowSelection,
        },
    },
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, FieldRef};
use muster_types::SqlType;
use std::sync::Arc;

/// A leaf as a view sees it and rows of it, in the order they are wanted.
pub(crate) struct LeafRows {
    pub page: LeafPage,
    pub rows: RowSelection,
}

/// Collects some columns of rows.
struct Sinks {
    /// The view that the rows are read for.
    view: Arc<ReadView>,
    projection: Projection,
    /// Stored column of each.
    stored: Vec<usize>,
    types: Vec<SqlType>,
    sinks: Vec<ColumnSink>,
    rows: usize,
}

impl Sinks {
    /// Makes a collector of table columns that `layout` holds.
    fn new(schema: &TableSchema, layout: &TreeLayout, projection: Projection, view: &Arc<ReadView>) -> Sinks {
        let types: Vec<_> =
            projection.columns.iter().filter_map(|c| schema.readable_column(*c)).map(|c| c.ty).collect();
        Sinks {
            view: Arc::clone(view),
            stored: projection.columns.iter().map(|c| layout.column_of(*c).unwrap_or(usize::MAX)).collect(),
            sinks: sinks(&projection, &types, 0),
            types,
            rows: 0,
            projection,
        }
    }

    /// Has the processor load the columns of a leaf of which so many rows will be appended soon.
    fn load_ahead(&self, leaf: &Leaf<'_>, wanted: usize) {
        self.stored.iter().for_each(|stored| leaf.load_ahead(*stored, wanted));
    }

    fn append(&mut self, leaf: &Leaf<'_>, wanted: &Wanted<'_>, overflow: &TreeOverflow<'_>) -> Result<(), DecodeError> {
        for (sink, stored) in self.sinks.iter_mut().zip(&self.stored) {
            match wanted {
                Wanted::Rows(rows) => {
                    sink.append(&leaf.column_of(*stored, sink.physical(), rows)?, rows, overflow)?;
                }
                Wanted::Runs(runs) => sink.append_runs(&leaf.column(*stored, sink.physical())?, runs, overflow)?,
            }
        }
        self.rows += wanted.len();
        Ok(())
    }

    /// Appends some rows of each leaf; `rows` has one entry for each.
    fn append_leaves(
        &mut self,
        tree: &Tree,
        leaves: &[LeafRows],
        rows: &[Option<Wanted<'_>>],
        counters: &Counters,
    ) -> Result<()> {
        let view = Arc::clone(&self.view);
        let overflow = &TreeOverflow { tree, view: Some(&view), counters };
        for (i, (LeafRows { page, .. }, rows_here)) in leaves.iter().zip(rows).enumerate() {
            if let (Some(next), Some(Some(rows))) = (leaves.get(i + 1), rows.get(i + 1)) {
                self.load_ahead(&tree.leaf(&next.page)?, rows.len());
            }
            if let Some(rows) = rows_here {
                self.append(&tree.leaf(page)?, rows, overflow).map_err(|e| tree.decode_error(page.page_no(), e))?;
            }
        }
        Ok(())
    }

    /// The columns collected; begins anew, with room for about as many rows.
    fn take(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let room = rows + rows / 8;
        let full = std::mem::replace(&mut self.sinks, sinks(&self.projection, &self.types, room));
        batch(&self.projection, full.into_iter().map(ColumnSink::finish).collect(), rows)
    }
}

/// Empty sinks for the columns of a projection, with room for so many rows.
fn sinks(projection: &Projection, types: &[SqlType], room: usize) -> Vec<ColumnSink> {
    let sink = |(field, ty): (&FieldRef, &SqlType)| match field.data_type() {
        DataType::Dictionary(..) => ColumnSink::coded(*ty, room),
        _ => ColumnSink::new(*ty, room),
    };
    projection.schema.fields().iter().zip(types).map(sink).collect()
}

/// A batch of a projection's columns.
fn batch(projection: &Projection, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(projection.schema.clone(), arrays, &options)
        // A NULL in a NOT NULL column: whoever wrote the page was wrong.
        .map_err(|e| StorageError::WrongType { value: format!("a stored row ({e})") })
}

/// These rows of a batch, in this order.
pub(super) fn reorder(batch_of: &RecordBatch, projection: &Projection, order: Vec<u32>) -> Result<RecordBatch> {
    let (rows, order) = (order.len(), UInt32Array::from(order));
    let arrays = batch_of.columns().iter().map(|c| arrow_select::take::take(c, &order, None));
    let arrays = arrays.collect::<std::result::Result<_, _>>();
    let arrays = arrays.map_err(|e| StorageError::WrongType { value: format!("a fetched row ({e})") })?;
    batch(projection, arrays, rows)
}

/// A condition over rows in leaves of one tree.
pub(crate) struct Tester {
    tree: Arc<Tree>,
    filter: Arc<dyn BatchFilter>,
    ranges: RangeTests,
    sinks: Sinks,
    /// True if what it does is to be counted as work of an index condition.
    counted: bool,
}

impl Tester {
    /// `tree` holds the condition's columns.
    pub fn new(
        schema: &TableSchema,
        tree: &Arc<Tree>,
        condition: Condition,
        view: &Arc<ReadView>,
        counted: bool,
    ) -> Tester {
        let ranges = RangeTests::new(schema, tree.layout(), condition.filter.ranges());
        let sinks = Sinks::new(schema, tree.layout(), condition.input, view);
        Tester { tree: Arc::clone(tree), filter: condition.filter, ranges, sinks, counted }
    }

    /// Which of all the rows the condition keeps. `keys`: of entries that were looked up; else none.
    fn test(&mut self, leaves: &[LeafRows], keys: &[u32], counters: &Counters) -> Result<BooleanBuffer> {
        let passed = match self.ranges.test(&self.tree, leaves)? {
            None => {
                let rows: Vec<Option<Wanted>> = leaves.iter().map(|leaf| Some(Wanted::all(&leaf.rows))).collect();
                self.evaluate(leaves, &rows, keys, counters)?
            }
            Some(within) => {
                let mut places = within.iter();
                let keys: Vec<u32> = keys.iter().filter(|_| places.next() == Some(true)).copied().collect();
                let passed = match self.sinks.stored.is_empty() {
                    true => self.evaluate_rows(within.count_set_bits(), &keys)?,
                    false => self.evaluate(leaves, &wanted(leaves, &within), &keys, counters)?,
                };
                if passed.count_set_bits() == passed.len() { within } else { narrowed(&within, &passed) }
            }
        };
        if self.counted {
            counters.add(Counter::entries_tested, passed.len() as u64);
            counters.add(Counter::entries_passed, passed.count_set_bits() as u64);
        }
        Ok(passed)
    }

    /// Evaluates the filter for some rows of each leaf.
    fn evaluate(
        &mut self,
        leaves: &[LeafRows],
        rows: &[Option<Wanted<'_>>],
        keys: &[u32],
        counters: &Counters,
    ) -> Result<BooleanBuffer> {
        self.sinks.append_leaves(&self.tree, leaves, rows, counters)?;
        evaluate(self.filter.as_ref(), &self.sinks.take()?, keys)
    }

    /// Evaluates a filter that looks at no column.
    fn evaluate_rows(&mut self, rows: usize, keys: &[u32]) -> Result<BooleanBuffer> {
        evaluate(self.filter.as_ref(), &batch(&self.sinks.projection, Vec::new(), rows)?, keys)
    }

    /// Leaves out the entries that the condition does not keep, and the keys that found them (one per entry, or none at
    /// all).
    pub fn narrow(&mut self, leaves: &mut Vec<LeafRows>, keys: &mut Vec<u32>, counters: &Counters) -> Result<()> {
        let passed = self.test(leaves, keys, counters)?;
        let mut offset = 0;
        for leaf in leaves.iter_mut() {
            let here = passed.slice(offset, leaf.rows.len());
            offset += leaf.rows.len();
            if here.count_set_bits() < here.len() {
                leaf.rows = leaf.rows.pick(here.set_indices());
            }
        }
        leaves.retain(|leaf| !leaf.rows.is_empty());
        let mut places = 0..passed.len();
        keys.retain(|_| places.next().is_some_and(|place| passed.value(place)));
        Ok(())
    }
}

/// Collects rows from leaves of one tree: those that a condition keeps.
pub(crate) struct Collector {
    tree: Arc<Tree>,
    output: Sinks,
    tester: Option<Tester>,
    /// The tag of each collected row, if rows are tagged.
    tags: Vec<u32>,
}

impl Collector {
    /// From leaves of `tree`, which holds the columns of the output and of the tester.
    pub fn new(
        schema: &TableSchema,
        tree: &Arc<Tree>,
        output: Projection,
        view: &Arc<ReadView>,
        tester: Option<Tester>,
    ) -> Collector {
        let output = Sinks::new(schema, tree.layout(), output, view);
        Collector { tree: Arc::clone(tree), output, tester, tags: Vec::new() }
    }

    /// Rows collected.
    pub fn rows(&self) -> usize {
        self.output.rows
    }

    pub fn projection(&self) -> &Projection {
        &self.output.projection
    }

    /// Takes in the rows that the condition keeps, with their tags (one per row, or none at all).
    pub fn add(&mut self, leaves: &[LeafRows], tags: &[u32], counters: &Counters) -> Result<()> {
        let passed = match &mut self.tester {
            Some(tester) if !leaves.is_empty() => Some(tester.test(leaves, &[], counters)?),
            _ => None,
        };
        if !tags.is_empty() {
            keep_tags(&mut self.tags, tags, passed.as_ref());
        }
        let rows = match &passed {
            None => leaves.iter().map(|leaf| Some(Wanted::all(&leaf.rows))).collect(),
            Some(passed) => wanted(leaves, passed),
        };
        self.output.append_leaves(&self.tree, leaves, &rows, counters)
    }

    /// Takes the collected rows, as a batch, and their tags.
    pub fn take(&mut self) -> Result<(RecordBatch, Vec<u32>)> {
        Ok((self.output.take()?, std::mem::take(&mut self.tags)))
    }
}

/// Returns the rows whose bit is set, leaf after leaf.
fn wanted<'a>(leaves: &'a [LeafRows], passed: &BooleanBuffer) -> Vec<Option<Wanted<'a>>> {
    let mut offset = 0;
    let of_leaf = |leaf: &'a LeafRows| {
        let here = passed.slice(offset, leaf.rows.len());
        offset += leaf.rows.len();
        Wanted::of(&leaf.rows, &here)
    };
    leaves.iter().map(of_leaf).collect()
}

fn keep_tags(kept: &mut Vec<u32>, tags: &[u32], passed: Option<&BooleanBuffer>) {
    match passed {
        None => kept.extend_from_slice(tags),
        Some(passed) => kept.extend(passed.set_indices().map(|i| tags[i])),
    }
}

/// The rows for which a filter is TRUE.
fn evaluate(filter: &dyn BatchFilter, batch: &RecordBatch, keys: &[u32]) -> Result<BooleanBuffer> {
    if batch.num_rows() == 0 {
        return Ok(BooleanBuffer::new_unset(0));
    }
    let passed: BooleanArray = match keys {
        [] => filter.evaluate(batch)?,
        keys => filter.evaluate_found(batch, keys)?,
    };
    if passed.len() != batch.num_rows() {
        let value = format!("a filter's answer for {} of {} rows", passed.len(), batch.num_rows());
        return Err(StorageError::WrongType { value });
    }
    Ok(match passed.nulls() {
        Some(nulls) => passed.values() & nulls.inner(),
        None => passed.values().clone(),
    })
}
