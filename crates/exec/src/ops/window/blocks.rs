//! Input rows as blocks of whole partitions.

use super::Layout;
use crate::{
    expr::Physical,
    ops::compact::{compact, used_bytes},
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_ord::{cmp::distinct, ord::make_comparator};
use arrow_schema::SortOptions;
use arrow_select::concat::concat_batches;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use futures::StreamExt;
use std::{ops::Range, sync::Arc};

/// Whole partitions, with the places where each begins.
pub struct Block {
    pub rows: RecordBatch,
    /// The rows of each partition.
    pub partitions: Vec<Range<usize>>,
    /// The rows of each group of peers, in order.
    pub peers: Vec<Range<usize>>,
}

/// Reads blocks.
pub struct Blocks {
    layout: Arc<Layout>,
    /// Until it has ended.
    input: Option<SendableRecordBatchStream>,
    /// Rows that have not been delivered.
    pending: Vec<RecordBatch>,
    /// Number of these rows.
    pending_rows: usize,
    /// Rows of `pending` at which partitions begin, but for the first row.
    begins: Vec<usize>,
    /// The keys of the last pending row, each in an array of one.
    last: Vec<ArrayRef>,
    memory: MemoryReservation,
    batch_rows: usize,
}

impl Blocks {
    /// `memory`: an empty reservation; `batch_rows`: rows that a block has at least, but for the last one.
    pub fn new(
        layout: Arc<Layout>,
        input: SendableRecordBatchStream,
        memory: MemoryReservation,
        batch_rows: usize,
    ) -> Blocks {
        let (pending, begins, last) = (Vec::new(), Vec::new(), Vec::new());
        Blocks { layout, input: Some(input), pending, pending_rows: 0, begins, last, memory, batch_rows }
    }

    /// The next block. Errors: those of the input; a partition does not fit in memory.
    pub async fn next(&mut self) -> Result<Option<Block>> {
        while let Some(input) = &mut self.input {
            match input.next().await.transpose()? {
                None => self.input = None,
                Some(batch) if batch.num_rows() > 0 => self.add(batch)?,
                Some(_) => {}
            }
            if self.begins.last().is_some_and(|begin| *begin >= self.batch_rows) {
                break;
            }
        }
        let end = match (&self.input, self.begins.last()) {
            (Some(_), Some(begin)) => *begin,
            _ => self.pending_rows,
        };
        if end == 0 { Ok(None) } else { self.block(end).map(Some) }
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        let batch = compact(&batch)?;
        // Once as it came, and once more when the parts of a block are put together and results come to it.
        self.memory.try_grow(used_bytes(&batch)?.saturating_mul(2))?;
        let keys = evaluated(&self.layout.partition, &batch)?;
        let begins = begins(&keys, &self.last)?;
        for row in begins.set_indices() {
            if self.pending_rows + row > 0 {
                self.begins.push(self.pending_rows + row);
            }
        }
        self.last = keys.iter().map(|key| key.slice(key.len() - 1, 1)).collect();
        self.pending_rows += batch.num_rows();
        self.pending.push(batch);
        Ok(())
    }

    /// The first pending rows, which are whole partitions.
    fn block(&mut self, end: usize) -> Result<Block> {
        let Some(schema) = self.pending.first().map(RecordBatch::schema) else {
            return Err(datafusion_common::internal_datafusion_err!("a block without rows"));
        };
        let (mut parts, mut rest, mut at) = (Vec::new(), Vec::new(), 0);
        for batch in std::mem::take(&mut self.pending) {
            let rows = batch.num_rows();
            let own = rows.min(end.saturating_sub(at));
            if own > 0 {
                parts.push(batch.slice(0, own));
            }
            if own < rows {
                rest.push(batch.slice(own, rows - own));
            }
            at += rows;
        }
        let rows = concat_batches(&schema, &parts)?;
        let inner: Vec<usize> = self.begins.iter().copied().filter(|begin| *begin < end).collect();
        self.begins = self.begins.iter().filter_map(|begin| begin.checked_sub(end)).filter(|b| *b > 0).collect();
        self.pending_rows -= end;
        self.pending = rest;
        let left = self.pending.iter().map(used_bytes).sum::<Result<usize>>()?;
        // The block is in memory until the next one is asked for.
        self.memory.try_resize(left.saturating_add(used_bytes(&rows)?).saturating_mul(2))?;
        let partitions = ranges(&inner, end);
        let peers = peers(&self.layout.peers, &rows, &partitions)?;
        Ok(Block { rows, partitions, peers })
    }
}

pub(super) fn evaluated(keys: &[Physical], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    keys.iter().map(|key| key.evaluate(batch)?.into_array(batch.num_rows())).collect()
}

/// The ranges between these rows, from the first row to `end`.
fn ranges(begins: &[usize], end: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(begins.iter().copied());
    let ends = begins.iter().copied().chain(std::iter::once(end));
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// One bit for each row: true if one of the keys differs from the row's before. `last`: the keys of the row before the
/// first one; empty: there is none, so that the first row differs.
pub(super) fn begins(keys: &[ArrayRef], last: &[ArrayRef]) -> Result<BooleanBuffer> {
    let Some(rows) = keys.first().map(|key| key.len()) else { return Ok(BooleanBuffer::new_unset(0)) };
    let mut first = last.is_empty();
    for (last, key) in last.iter().zip(keys) {
        first |= !make_comparator(last, key, SortOptions::default())?(0, 0).is_eq();
    }
    let mut others = BooleanBuffer::new_unset(rows - 1);
    for key in keys {
        let differs = distinct(&key.slice(0, rows - 1), &key.slice(1, rows - 1))?;
        others = &others | differs.values();
    }
    Ok(BooleanBuffer::collect_bool(rows, |row| if row == 0 { first } else { others.value(row - 1) }))
}

/// The groups of peers of these partitions.
fn peers(keys: &[Physical], rows: &RecordBatch, partitions: &[Range<usize>]) -> Result<Vec<Range<usize>>> {
    if keys.is_empty() {
        return Ok(partitions.to_vec());
    }
    let mut found: Vec<usize> = begins(&evaluated(keys, rows)?, &[])?.set_indices().filter(|row| *row > 0).collect();
    found.extend(partitions.iter().map(|partition| partition.start).filter(|start| *start > 0));
    found.sort_unstable();
    found.dedup();
    Ok(ranges(&found, rows.num_rows()))
}
