//! The rows of one partition, put in order within the memory it is granted.
//!
//! Rows are kept with their keys until the memory pool refuses more; then they go to disk as a sorted run. Where only
//! the first rows are wanted, those that cannot be among them are dropped on arrival, and whenever twice as many have
//! gathered. Blocks of runs have a size that lets two of them be merged within the memory a sorter always holds
//! ([`Shares`]).

use super::{
    Sorting,
    block::Block,
    buffer::{Buffer, BufferedRow, ENTRY_BYTES},
    merge::{Delivery, Merge, MergeInput},
    run::{RunWriter, SortedRun},
};
use crate::counters::OperatorCounter;
use crate::ops::compact::{compact, used_bytes};
use crate::ops::reschedule::reschedule;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, UInt32Array, cast::AsArray};
use arrow_row::{RowConverter, SortField};
use arrow_select::{
    filter::filter_record_batch,
    take::{take, take_record_batch},
};
use datafusion_common::{DataFusionError, Result, resources_err};
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use futures::StreamExt;
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// A sorter that has rows always holds memory for so many blocks of a run: two runs that are merged, and what comes of
/// it.
const MERGE_RESERVE_BLOCKS: usize = 8;
/// And for so many blocks of rows in memory: a part of a batch with its keys, and something to compare it with.
const ROWS_RESERVE_BLOCKS: usize = 8;
/// Blocks of memory that a merge takes beside those of its runs: the rows picked, and the batch made of them.
const MERGE_BLOCKS: usize = 3;
/// Blocks of memory for each run that is merged: one that is read, and one that is being read.
const BLOCKS_PER_RUN: usize = 2;
/// Rows are taken into memory in parts of so many blocks.
const PART_BLOCKS: usize = 4;
/// Most runs that one merge reads.
const FAN_IN: usize = 16;

/// The memory that the sorters of one sort hold of the pool. When the first of them has rows, all get what they cannot
/// do without, so that none starves beside those that came first.
pub struct Shares {
    reservations: Vec<Arc<MemoryReservation>>,
    /// Bytes that each sorter always holds.
    floor_bytes: usize,
    begun: Mutex<bool>,
}

impl Shares {
    /// `reservations`: an empty one for each sorter, of consumers that can spill.
    pub fn new(reservations: Vec<MemoryReservation>, block_bytes: usize) -> Shares {
        let floor_bytes = (MERGE_RESERVE_BLOCKS + ROWS_RESERVE_BLOCKS) * block_bytes;
        Shares { reservations: reservations.into_iter().map(Arc::new).collect(), floor_bytes, begun: Mutex::default() }
    }

    fn begin(&self) -> Result<()> {
        let mut begun = self.begun.lock();
        if !*begun {
            self.reservations.iter().try_for_each(|r| r.try_grow(self.floor_bytes))?;
            *begun = true;
        }
        Ok(())
    }
}

/// See the module.
pub struct Sorter {
    sorting: Arc<Sorting>,
    converter: RowConverter,
    buffer: Buffer,
    /// Memory of the rows in the buffer.
    buffer_bytes: usize,
    runs: VecDeque<SortedRun>,
    shares: Arc<Shares>,
    memory: Arc<MemoryReservation>,
}

/// The sorted rows of a partition, and the memory that reading them takes.
pub struct Sorted {
    pub sources: Vec<MergeInput>,
    pub memory: Arc<MemoryReservation>,
}

impl Sorter {
    /// `number`: of its share.
    pub fn new(sorting: Arc<Sorting>, shares: Arc<Shares>, number: usize) -> Result<Sorter> {
        let fields = sorting.keys.iter().map(|k| {
            let ty = k.expr.data_type(&sorting.schema)?;
            Ok(SortField::new_with_options(ty, k.options))
        });
        let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
        Ok(Sorter {
            sorting,
            converter,
            buffer: Buffer::default(),
            buffer_bytes: 0,
            runs: VecDeque::new(),
            memory: shares.reservations[number].clone(),
            shares,
        })
    }

    /// Sorts all that comes. Errors: those of the input and of the file system; no memory even for one row, or for two
    /// blocks of runs.
    pub async fn sort(mut self, mut input: SendableRecordBatchStream) -> Result<Sorted> {
        while let Some(batch) = input.next().await.transpose()? {
            self.add(batch).await?;
        }
        drop(input);
        let mut sources = Vec::new();
        if self.runs.is_empty() {
            let order = self.buffer.order(self.sorting.limit);
            sources.push(MergeInput::Buffer(self.buffer, order));
        } else {
            if self.buffer.rows() > 0 {
                self.spill().await?;
            }
            self.merge_runs().await?;
            sources.extend(self.runs.into_iter().map(MergeInput::Run));
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
        self.shares.begin()?;
        let parts = used_bytes(&batch)?.div_ceil(PART_BLOCKS * self.sorting.space.block_bytes);
        let part_rows = batch.num_rows().div_ceil(parts.max(1));
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = part_rows.min(batch.num_rows() - at);
            self.add_part(batch.slice(at, rows)).await?;
            at += rows;
        }
        Ok(())
    }

    /// Adds rows. Those that do not fit at once, since some are much wider than others, are added in halves.
    async fn add_part(&mut self, part: RecordBatch) -> Result<()> {
        let mut parts = vec![part];
        while let Some(part) = parts.pop() {
            let Some(block) = self.block(&part)? else { continue };
            match self.grant(block.memory_bytes() + block.rows() * ENTRY_BYTES).await {
                Ok(()) => self.push(block)?,
                Err(DataFusionError::ResourcesExhausted(_)) if part.num_rows() > 1 => {
                    let half = part.num_rows() / 2;
                    parts.push(part.slice(half, part.num_rows() - half));
                    parts.push(part.slice(0, half));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The rows that may be wanted, with their keys.
    fn block(&self, part: &RecordBatch) -> Result<Option<Block>> {
        let mut keys = self.keys(part)?;
        let Some(bound) = self.sorting.cutoff.as_ref().and_then(|c| c.bound()) else {
            return Ok(Some(Block::new(compact(part)?, keys)));
        };
        let mut part = part.clone();
        let wanted = (0..keys.len()).filter(|row| keys.value(*row) < &*bound).map(|row| row as u32);
        let wanted = UInt32Array::from_iter_values(wanted);
        if wanted.len() < keys.len() {
            part = take_record_batch(&part, &wanted)?;
            keys = take(&keys, &wanted, None)?.as_binary::<i32>().clone();
        }
        Ok(if keys.is_empty() { None } else { Some(Block::new(compact(&part)?, keys)) })
    }

    /// Memory for so many bytes of rows more; for that, those in memory may go to disk.
    async fn grant(&mut self, bytes: usize) -> Result<()> {
        while let Err(refused) = self.room(bytes) {
            if self.buffer.rows() == 0 {
                return Err(refused);
            }
            if !self.keep_first()? {
                self.spill().await?;
            }
        }
        self.buffer_bytes += bytes;
        Ok(())
    }

    /// Makes sure that the buffer takes so many bytes more; an empty one takes anything there is memory for.
    fn room(&self, bytes: usize) -> Result<()> {
        if self.buffer_bytes > 0 && self.buffer_bytes + bytes > self.sorting.buffer_bytes {
            return resources_err!("a full sort buffer");
        }
        self.reserve(bytes)
    }

    /// Makes sure of memory for so many bytes beside the rows and what a merge needs.
    fn reserve(&self, bytes: usize) -> Result<()> {
        let wanted = self.held_bytes() + bytes;
        if wanted > self.memory.size() { self.memory.try_grow(wanted - self.memory.size()) } else { Ok(()) }
    }

    fn held_bytes(&self) -> usize {
        MERGE_RESERVE_BLOCKS * self.sorting.space.block_bytes + self.buffer_bytes
    }

    /// Gives back what the rows do not take.
    fn release(&self) {
        self.memory.resize(self.held_bytes().max(self.shares.floor_bytes));
    }

    fn push(&mut self, block: Block) -> Result<()> {
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

    /// Drops the rows behind the first that are wanted. False if there are none, or no memory to copy those that stay.
    fn keep_first(&mut self) -> Result<bool> {
        let Some(limit) = self.sorting.limit.filter(|limit| *limit < self.buffer.rows()) else { return Ok(false) };
        let order = self.buffer.order(Some(limit));
        let row_bytes = |e: &BufferedRow| self.buffer.blocks[e.block as usize].row_bytes(e.row as usize) + ENTRY_BYTES;
        if self.reserve(order.iter().map(row_bytes).sum()).is_err() {
            return Ok(false);
        }
        let source = MergeInput::Buffer(std::mem::take(&mut self.buffer), order);
        let mut merge = self.merge(vec![source])?;
        self.buffer_bytes = 0;
        while let Some((batch, keys)) = merge.next()? {
            let Some(keys) = keys else { break };
            let block = Block::new(batch, keys);
            self.buffer_bytes += block.memory_bytes() + block.rows() * ENTRY_BYTES;
            self.buffer.push(block);
        }
        drop(merge);
        self.release();
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

    /// Writes all rows that are in memory to disk as a sorted run.
    async fn spill(&mut self) -> Result<()> {
        let order = self.buffer.order(self.sorting.limit);
        let source = MergeInput::Buffer(std::mem::take(&mut self.buffer), order);
        let run = self.write(vec![source]).await?;
        self.runs.push_back(run);
        self.buffer_bytes = 0;
        self.release();
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
            let sources = self.runs.drain(..mergeable).map(MergeInput::Run).collect();
            self.sorting.space.counters.add(OperatorCounter::merge_passes, 1);
            let run = self.write(sources).await?;
            self.runs.push_back(run);
        }
    }

    fn bytes_to_merge(&self, runs: usize) -> usize {
        let blocks: usize = self.runs.iter().take(runs).map(|run| BLOCKS_PER_RUN * run.block_bytes).sum();
        blocks + MERGE_BLOCKS * self.sorting.space.block_bytes
    }

    fn merge(&self, sources: Vec<MergeInput>) -> Result<Merge> {
        let delivery = Delivery::new(self.sorting.space.block_bytes, true);
        Merge::new(self.sorting.schema.clone(), sources, self.sorting.limit, delivery)
    }

    async fn write(&self, sources: Vec<MergeInput>) -> Result<SortedRun> {
        let mut merge = self.merge(sources)?;
        let mut writer = RunWriter::create(&self.sorting.space, &self.sorting.schema)?;
        let mut rows = 0;
        while let Some((batch, Some(keys))) = merge.next()? {
            rows += keys.len();
            if Some(rows) == self.sorting.limit {
                self.lower_cutoff(&batch, &keys)?;
            }
            writer.write(&batch, keys)?;
            // Whoever waits for the query may have gone.
            reschedule().await;
        }
        writer.finish()
    }
}
