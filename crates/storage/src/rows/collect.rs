//! Rows of latched leaves into columns: the condition's first, the others only for the rows it keeps.

use super::{BatchFilter, Condition, Projection};
use crate::{
    Counters, Result, StorageError, TableSchema,
    buffer_pool::PageGuard,
    counters::Counter,
    tree::{
        Tree, TreeLayout, TreeOverflow,
        leaf::{
            Leaf,
            decode::{ColumnSink, DecodeError},
            visible::Rows,
        },
    },
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::BooleanBuffer;
use muster_types::SqlType;
use std::{ops::Range, sync::Arc};

/// A latched leaf and rows of it, in the order they are wanted.
pub(crate) struct LeafRows {
    pub page: PageGuard,
    pub rows: Rows,
}

/// Collects some columns of rows.
struct Sinks {
    projection: Projection,
    /// Stored column of each.
    stored: Vec<usize>,
    types: Vec<SqlType>,
    sinks: Vec<ColumnSink>,
    rows: usize,
}

impl Sinks {
    /// Makes a collector of table columns that `layout` holds.
    fn new(schema: &TableSchema, layout: &TreeLayout, projection: Projection) -> Sinks {
        let types: Vec<_> = projection.columns.iter().map(|c| schema.columns[*c].ty).collect();
        Sinks {
            stored: projection.columns.iter().map(|c| layout.column_of(*c).unwrap_or(usize::MAX)).collect(),
            sinks: types.iter().map(|ty| ColumnSink::new(*ty, 0)).collect(),
            types,
            rows: 0,
            projection,
        }
    }

    fn append(&mut self, leaf: &Leaf<'_>, rows: &Rows, overflow: &TreeOverflow<'_>) -> Result<(), DecodeError> {
        for (sink, stored) in self.sinks.iter_mut().zip(&self.stored) {
            let column = leaf.column_of(*stored, sink.physical(), rows)?;
            sink.append(&column, rows, overflow)?;
        }
        self.rows += rows.len();
        Ok(())
    }

    /// The columns collected; begins anew, with room for about as many rows.
    fn take(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let room = rows + rows / 8;
        let next = self.types.iter().map(|ty| ColumnSink::new(*ty, room));
        let full = std::mem::replace(&mut self.sinks, next.collect());
        batch(&self.projection, full.into_iter().map(ColumnSink::finish).collect(), rows)
    }
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
    sinks: Sinks,
    /// True if what it does is to be counted as work of an index condition.
    counted: bool,
}

impl Tester {
    /// `tree` holds the condition's columns.
    pub fn new(schema: &TableSchema, tree: &Arc<Tree>, condition: Condition, counted: bool) -> Tester {
        let sinks = Sinks::new(schema, tree.layout(), condition.input);
        Tester { tree: Arc::clone(tree), filter: condition.filter, sinks, counted }
    }

    /// Which of all the rows the condition keeps. `keys`: of entries that were looked up; else none.
    fn test(&mut self, leaves: &[LeafRows], keys: &[u32], counters: &Counters) -> Result<BooleanBuffer> {
        let overflow = TreeOverflow { tree: &self.tree, counters };
        for LeafRows { page, rows } in leaves {
            let leaf = self.tree.leaf(page)?;
            self.sinks.append(&leaf, rows, &overflow).map_err(|e| self.tree.decode_error(page.page_no(), e))?;
        }
        let passed = evaluate(self.filter.as_ref(), &self.sinks.take()?, keys)?;
        if self.counted {
            counters.add(Counter::entries_tested, passed.len() as u64);
            counters.add(Counter::entries_passed, passed.count_set_bits() as u64);
        }
        Ok(passed)
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
    pub fn new(schema: &TableSchema, tree: &Arc<Tree>, output: Projection, tester: Option<Tester>) -> Collector {
        let output = Sinks::new(schema, tree.layout(), output);
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
        let overflow = TreeOverflow { tree: &self.tree, counters };
        let passed = match &mut self.tester {
            Some(tester) if !leaves.is_empty() => Some(tester.test(leaves, &[], counters)?),
            _ => None,
        };
        let mut offset = 0;
        for LeafRows { page, rows } in leaves {
            let places = offset..offset + rows.len();
            offset = places.end;
            let picked;
            let wanted = match &passed {
                None => rows,
                Some(passed) => {
                    let here = passed.slice(places.start, places.len());
                    match here.count_set_bits() {
                        0 => continue,
                        n if n == places.len() => rows,
                        _ => {
                            picked = rows.pick(here.set_indices());
                            &picked
                        }
                    }
                }
            };
            if !tags.is_empty() {
                keep_tags(&mut self.tags, tags, passed.as_ref(), places);
            }
            let leaf = self.tree.leaf(page)?;
            self.output.append(&leaf, wanted, &overflow).map_err(|e| self.tree.decode_error(page.page_no(), e))?;
        }
        Ok(())
    }

    /// Takes the collected rows, as a batch, and their tags.
    pub fn take(&mut self) -> Result<(RecordBatch, Vec<u32>)> {
        Ok((self.output.take()?, std::mem::take(&mut self.tags)))
    }
}

fn keep_tags(kept: &mut Vec<u32>, tags: &[u32], passed: Option<&BooleanBuffer>, places: Range<usize>) {
    match passed {
        None => kept.extend_from_slice(&tags[places]),
        Some(passed) => {
            let tags = &tags[places.clone()];
            kept.extend(passed.slice(places.start, places.len()).set_indices().map(|i| tags[i]));
        }
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
