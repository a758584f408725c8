//! The rows of one partition, put in order within the memory it is granted.
//!
//! Rows are kept with their keys until the memory pool refuses more; then they go to disk as a sorted run. Where only
//! the first rows are wanted, those that cannot be among them are dropped on arrival, and whenever twice as many have
//! gathered. Blocks of runs have a size that lets two of them be merged within the memory a sorter always holds.

use super::{
    Sorting,
    block::Block,
    buffer::{Buffer, ENTRY_BYTES, Entry},
    merge::{Delivery, Merge, Source},
    run::{Run, RunWriter},
};
use crate::ops::compact::{compact, used_bytes};
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, UInt32Array, cast::AsArray};
use arrow_row::{RowConverter, SortField};
use arrow_select::{
    filter::filter_record_batch,
    take::{take, take_record_batch},
};
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use futures::StreamExt;
use std::{collections::VecDeque, sync::Arc};

/// A sorter always holds memory for so many blocks of a run: two runs that are merged, and what comes of it.
const RESERVED_BLOCKS: usize = 8;
/// Blocks of memory that a merge takes beside those of its runs: the rows picked, and the batch made of them.
const MERGE_BLOCKS: usize = 3;
/// Blocks of memory for each run that is merged: one that is read, and one that is being read.
const BLOCKS_PER_RUN: usize = 2;
/// Rows are taken into memory in parts of so many blocks.
const PART_BLOCKS: usize = 4;
/// Most runs that one merge reads.
const FAN_IN: usize = 16;

/// See the module.
pub struct Sorter {
    sorting: Arc<Sorting>,
    converter: RowConverter,
    buffer: Buffer,
    runs: VecDeque<Run>,
    memory: MemoryReservation,
}

/// All rows of a partition in order, and the memory that reading them takes.
pub struct Sorted {
    pub sources: Vec<Source>,
    pub memory: MemoryReservation,
}

impl Sorter {
    /// `memory`: an empty reservation of a consumer that can spill.
    pub fn new(sorting: Arc<Sorting>, memory: MemoryReservation) -> Result<Sorter> {
        let fields = sorting.keys.iter().map(|k| {
            let ty = k.expr.data_type(&sorting.schema)?;
            Ok(SortField::new_with_options(ty, k.options))
        });
        let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
        Ok(Sorter { sorting, converter, buffer: Buffer::default(), runs: VecDeque::new(), memory })
    }

    /// Sorts all that comes. Errors: those of the input and of the file system; no memory even for one part of a
    /// batch, or for two blocks of runs.
    pub async fn sort(mut self, mut input: SendableRecordBatchStream) -> Result<Sorted> {
        while let Some(batch) = input.next().await.transpose()? {
            self.add(batch).await?;
        }
        drop(input);
        let mut sources = Vec::new();
        if self.runs.is_empty() {
            let order = self.buffer.order(self.sorting.limit);
            sources.push(Source::Buffer(self.buffer, order));
        } else {
            if self.buffer.rows() > 0 {
                self.spill().await?;
            }
            self.merge_runs().await?;
            sources.extend(self.runs.into_iter().map(Source::Run));
        }
        Ok(Sorted { sources, memory: self.memory })
    }

    async fn add(&mut self, batch: RecordBatch) -> Result<()> {
        let passing = match &self.sorting.cutoff {
            Some(cutoff) => cutoff.passing(&batch)?,
            None => None,
        };
        let batch = match passing {
            Some(passing) if passing.true_count() < batch.num_rows() => filter_record_batch(&batch, &passing)?,
            _ => batch,
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if self.memory.size() == 0 {
            self.memory.try_grow(self.reserved_bytes())?;
        }
        let parts = used_bytes(&batch)?.div_ceil(PART_BLOCKS * self.sorting.block_bytes).clamp(1, batch.num_rows());
        let part_rows = batch.num_rows().div_ceil(parts);
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = part_rows.min(batch.num_rows() - at);
            self.add_part(batch.slice(at, rows)).await?;
            at += rows;
        }
        Ok(())
    }

    async fn add_part(&mut self, mut batch: RecordBatch) -> Result<()> {
        let mut keys = self.keys(&batch)?;
        if let Some(bound) = self.sorting.cutoff.as_ref().and_then(|c| c.bound()) {
            let wanted = (0..keys.len()).filter(|row| keys.value(*row) < &*bound).map(|row| row as u32);
            let wanted = UInt32Array::from_iter_values(wanted);
            if wanted.len() < keys.len() {
                batch = take_record_batch(&batch, &wanted)?;
                keys = take(&keys, &wanted, None)?.as_binary::<i32>().clone();
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let block = Block::new(compact(&batch)?, keys);
        let bytes = block.memory_bytes() + block.rows() * ENTRY_BYTES;
        while let Err(refused) = self.memory.try_grow(bytes) {
            if self.buffer.rows() == 0 {
                return Err(refused);
            }
            if !self.keep_first()? {
                self.spill().await?;
            }
        }
        self.buffer.push(block);
        if self.sorting.limit.is_some_and(|limit| self.buffer.rows() / 2 >= limit) {
            self.keep_first()?;
        }
        Ok(())
    }

    fn keys(&self, batch: &RecordBatch) -> Result<BinaryArray> {
        let rows = batch.num_rows();
        let keys = self.sorting.keys.iter().map(|k| k.expr.evaluate(batch)?.into_array(rows));
        let keys: Vec<ArrayRef> = keys.collect::<Result<_>>()?;
        Ok(self.converter.convert_columns(&keys)?.try_into_binary()?)
    }

    fn reserved_bytes(&self) -> usize {
        RESERVED_BLOCKS * self.sorting.block_bytes
    }

    /// Drops the rows behind the first that are wanted. False if there are none, or no memory to copy those that stay.
    fn keep_first(&mut self) -> Result<bool> {
        let Some(limit) = self.sorting.limit.filter(|limit| *limit < self.buffer.rows()) else { return Ok(false) };
        let order = self.buffer.order(Some(limit));
        let row_bytes = |e: &Entry| self.buffer.blocks[e.block as usize].row_bytes(e.row as usize) + ENTRY_BYTES;
        if self.memory.try_grow(order.iter().map(row_bytes).sum()).is_err() {
            return Ok(false);
        }
        let source = Source::Buffer(std::mem::take(&mut self.buffer), order);
        let mut merge = self.merge(vec![source])?;
        let mut bytes = self.reserved_bytes();
        while let Some((batch, keys)) = merge.next()? {
            let Some(keys) = keys else { break };
            let block = Block::new(batch, keys);
            bytes += block.memory_bytes() + block.rows() * ENTRY_BYTES;
            self.buffer.push(block);
        }
        drop(merge);
        self.memory.resize(bytes);
        if let Some(last) = self.buffer.blocks.last() {
            self.lower_cutoff(&last.batch, &last.keys)?;
        }
        Ok(true)
    }

    /// The last of these rows is the last that is wanted.
    fn lower_cutoff(&self, batch: &RecordBatch, keys: &BinaryArray) -> Result<()> {
        match (&self.sorting.cutoff, keys.len().checked_sub(1)) {
            (Some(cutoff), Some(last)) => cutoff.lower(keys.value(last), &batch.slice(last, 1)),
            _ => Ok(()),
        }
    }

    /// All rows in memory go to disk.
    async fn spill(&mut self) -> Result<()> {
        let order = self.buffer.order(self.sorting.limit);
        let source = Source::Buffer(std::mem::take(&mut self.buffer), order);
        let run = self.write(vec![source]).await?;
        self.runs.push_back(run);
        self.memory.resize(self.reserved_bytes());
        Ok(())
    }

    /// Merges runs until the rest can be read at once with the memory that is granted for it.
    async fn merge_runs(&mut self) -> Result<()> {
        loop {
            let mut mergeable = 1;
            while mergeable < self.runs.len().min(FAN_IN) {
                let bytes = self.bytes_to_merge(mergeable + 1);
                if bytes > self.memory.size() {
                    match self.memory.try_grow(bytes - self.memory.size()) {
                        Err(refused) if mergeable == 1 => return Err(refused),
                        Err(_) => break,
                        Ok(()) => {}
                    }
                }
                mergeable += 1;
            }
            if mergeable == self.runs.len() {
                return Ok(());
            }
            let sources = self.runs.drain(..mergeable).map(Source::Run).collect();
            let run = self.write(sources).await?;
            self.runs.push_back(run);
        }
    }

    fn bytes_to_merge(&self, runs: usize) -> usize {
        let blocks: usize = self.runs.iter().take(runs).map(|run| BLOCKS_PER_RUN * run.block_bytes).sum();
        blocks + MERGE_BLOCKS * self.sorting.block_bytes
    }

    fn merge(&self, sources: Vec<Source>) -> Result<Merge> {
        let delivery = Delivery::new(self.sorting.block_bytes, true);
        Merge::new(self.sorting.schema.clone(), sources, self.sorting.limit, delivery)
    }

    async fn write(&self, sources: Vec<Source>) -> Result<Run> {
        let mut merge = self.merge(sources)?;
        let mut writer = RunWriter::create(&self.sorting.temp_dir, &self.sorting.schema)?;
        let mut rows = 0;
        while let Some((batch, Some(keys))) = merge.next()? {
            rows += keys.len();
            if Some(rows) == self.sorting.limit {
                self.lower_cutoff(&batch, &keys)?;
            }
            writer.write(&batch, keys)?;
            // Whoever waits for the query may have gone.
            tokio::task::yield_now().await;
        }
        writer.finish()
    }
}
