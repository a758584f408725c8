//! Rows of latched leaves into columns: the filter's first, the others only for the rows it keeps.

use super::{BatchFilter, Projection, Scan};
use crate::{
    Counters, Result, StorageError, TableSchema,
    buffer_pool::PageGuard,
    tree::{
        Tree, TreeLayout, TreeOverflow,
        leaf::{
            Leaf,
            decode::{ColumnSink, DecodeError},
            visible::Rows,
        },
    },
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use muster_types::SqlType;
use std::ops::Range;

/// A latched leaf and rows of it, in the order they are wanted.
pub(super) struct LeafRows {
    pub page: PageGuard,
    pub rows: Rows,
}

/// Collects some columns of rows.
struct Sinks {
    /// Stored column of each.
    stored: Vec<usize>,
    types: Vec<SqlType>,
    sinks: Vec<ColumnSink>,
    rows: usize,
}

impl Sinks {
    /// For table columns that `layout` holds.
    fn new(schema: &TableSchema, layout: &TreeLayout, columns: &[usize]) -> Sinks {
        let types: Vec<_> = columns.iter().map(|c| schema.columns[*c].ty).collect();
        Sinks {
            stored: columns.iter().map(|c| layout.column_of(*c).unwrap_or(usize::MAX)).collect(),
            sinks: types.iter().map(|ty| ColumnSink::new(*ty, 0)).collect(),
            types,
            rows: 0,
        }
    }

    fn append(&mut self, leaf: &Leaf<'_>, rows: &Rows, overflow: &TreeOverflow<'_>) -> Result<(), DecodeError> {
        for (sink, stored) in self.sinks.iter_mut().zip(&self.stored) {
            let column = leaf.column(*stored, sink.physical())?;
            sink.append(&column, rows, overflow)?;
        }
        self.rows += rows.len();
        Ok(())
    }

    /// The columns collected; begins anew, with room for about as many rows.
    fn take(&mut self, projection: &Projection) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let room = rows + rows / 8;
        let next = self.types.iter().map(|ty| ColumnSink::new(*ty, room));
        let full = std::mem::replace(&mut self.sinks, next.collect());
        batch(projection, full.into_iter().map(ColumnSink::finish).collect(), rows)
    }
}

/// A batch of a projection's columns.
pub(super) fn batch(projection: &Projection, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(projection.schema.clone(), arrays, &options)
        // A NULL in a NOT NULL column: whoever wrote the page was wrong.
        .map_err(|e| StorageError::WrongType { value: format!("a stored row ({e})") })
}

/// The scan's filter over leaves of one tree.
pub(super) struct Tester {
    sinks: Sinks,
}

impl Tester {
    /// `None` if there is no filter. `tree` holds its columns.
    pub fn new(scan: &Scan, tree: &Tree) -> Option<Tester> {
        let tested = scan.tested.as_ref()?;
        Some(Tester { sinks: Sinks::new(scan.table.schema(), tree.layout(), &tested.columns) })
    }

    /// Which of all the rows the filter keeps; `None` if there is no filter.
    fn test(
        &mut self,
        scan: &Scan,
        tree: &Tree,
        leaves: &[LeafRows],
        counters: &Counters,
    ) -> Result<Option<BooleanBuffer>> {
        let (Some(filter), Some(projection)) = (&scan.request.filter, &scan.tested) else { return Ok(None) };
        let overflow = TreeOverflow { tree, counters };
        for LeafRows { page, rows } in leaves {
            let leaf = tree.leaf(page)?;
            self.sinks.append(&leaf, rows, &overflow).map_err(|e| tree.decode_error(page.page_no(), e))?;
        }
        let batch = self.sinks.take(projection)?;
        evaluate(filter.as_ref(), &batch).map(Some)
    }

    /// Leaves out the rows that the filter does not keep.
    pub fn narrow(&mut self, scan: &Scan, tree: &Tree, leaves: &mut Vec<LeafRows>, counters: &Counters) -> Result<()> {
        let Some(passed) = self.test(scan, tree, leaves, counters)? else { return Ok(()) };
        let mut offset = 0;
        for leaf in leaves.iter_mut() {
            let here = passed.slice(offset, leaf.rows.len());
            offset += leaf.rows.len();
            if here.count_set_bits() < here.len() {
                leaf.rows = leaf.rows.pick(here.set_indices());
            }
        }
        leaves.retain(|leaf| !leaf.rows.is_empty());
        Ok(())
    }
}

/// Collects the rows of a scan from leaves of one tree.
pub(super) struct Collector {
    output: Sinks,
    tester: Option<Tester>,
}

impl Collector {
    /// From leaves of `tree`, which holds the columns of the output, and of the tester if there is one.
    pub fn new(scan: &Scan, tree: &Tree, tester: Option<Tester>) -> Collector {
        Collector { output: Sinks::new(scan.table.schema(), tree.layout(), &scan.output.columns), tester }
    }

    /// Rows collected.
    pub fn rows(&self) -> usize {
        self.output.rows
    }

    /// Takes in the rows that the tester keeps. Their places among all rows given go to `kept`, if asked for.
    pub fn add(
        &mut self,
        scan: &Scan,
        tree: &Tree,
        leaves: &[LeafRows],
        mut kept: Option<&mut Vec<usize>>,
        counters: &Counters,
    ) -> Result<()> {
        let overflow = TreeOverflow { tree, counters };
        let passed = match &mut self.tester {
            Some(tester) => tester.test(scan, tree, leaves, counters)?,
            None => None,
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
            if let Some(kept) = &mut kept {
                keep_places(kept, passed.as_ref(), places);
            }
            let leaf = tree.leaf(page)?;
            self.output.append(&leaf, wanted, &overflow).map_err(|e| tree.decode_error(page.page_no(), e))?;
        }
        Ok(())
    }

    /// What was collected, as a batch; begins anew.
    pub fn take(&mut self, scan: &Scan) -> Result<RecordBatch> {
        self.output.take(&scan.output)
    }
}

fn keep_places(kept: &mut Vec<usize>, passed: Option<&BooleanBuffer>, places: Range<usize>) {
    match passed {
        None => kept.extend(places),
        Some(passed) => {
            let start = places.start;
            kept.extend(passed.slice(start, places.len()).set_indices().map(|i| start + i));
        }
    }
}

/// The rows for which a filter is TRUE.
fn evaluate(filter: &dyn BatchFilter, batch: &RecordBatch) -> Result<BooleanBuffer> {
    if batch.num_rows() == 0 {
        return Ok(BooleanBuffer::new_unset(0));
    }
    let passed: BooleanArray = filter.evaluate(batch)?;
    if passed.len() != batch.num_rows() {
        let value = format!("a filter's answer for {} of {} rows", passed.len(), batch.num_rows());
        return Err(StorageError::WrongType { value });
    }
    Ok(match passed.nulls() {
        Some(nulls) => passed.values() & nulls.inner(),
        None => passed.values().clone(),
    })
}
