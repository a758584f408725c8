//! A join of two sides on disk, two files with the same hashes at a time.

use super::{
    Kernel,
    bloom::Bloom,
    building_bytes,
    input::{InputExec, read},
    preserves_build, preserves_probe,
};
use crate::ops::{
    compact::used_bytes,
    reschedule::reschedule,
    spill::{LEVELS, PARTITIONS, PartitionWriter, SpillFile, hashes},
};
use arrow_array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_select::filter::filter_record_batch;
use datafusion_common::{DataFusionError, JoinType, Result};
use datafusion_execution::{
    SendableRecordBatchStream,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, joins::PartitionMode, stream::RecordBatchStreamAdapter,
};
use futures::TryStreamExt;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::watch;

/// A worker always holds memory for so many blocks: one of the side in memory, as a table.
const FLOOR_BLOCKS: usize = 16;
/// Spreading was no use if so many of a hundred rows stayed together.
const TOGETHER_PERCENT: usize = 90;

/// Files of both sides whose rows may be partners.
struct Pair {
    build: Vec<SpillFile>,
    probe: Vec<SpillFile>,
    /// Number of times that the rows have been partitioned.
    level: usize,
}

/// The state that the workers share.
struct GracePhase {
    pairs: Vec<Pair>,
    nulls: Vec<SpillFile>,
    probe_has_rows: bool,
    probe_has_nulls: bool,
    /// Workers that have not yet spread their part of the probe side.
    missing: usize,
    failure: Option<Arc<DataFusionError>>,
}

/// See the module.
pub struct Grace {
    kernel: Arc<Kernel>,
    state: Mutex<GracePhase>,
    /// True if all of the probe side is on disk, or some part of it failed.
    ready: watch::Sender<bool>,
    /// The keys of the build side, if rows of the probe side need partners among them.
    bloom: Option<Arc<Bloom>>,
}

impl Grace {
    /// `build`: the files of each partition of the build side, by hashes; `nulls`: rows with NULL keys of NOT IN;
    /// `bloom`: the keys, if rows of the probe side need partners among them.
    pub fn new(
        kernel: Arc<Kernel>,
        build: Vec<Vec<Option<SpillFile>>>,
        nulls: Vec<SpillFile>,
        bloom: Option<Arc<Bloom>>,
    ) -> Grace {
        let mut pairs: Vec<Pair> =
            (0..PARTITIONS).map(|_| Pair { build: Vec::new(), probe: Vec::new(), level: 1 }).collect();
        for files in build {
            pairs.iter_mut().zip(files).for_each(|(pair, file)| pair.build.extend(file));
        }
        let missing = kernel.join.right().output_partitioning().partition_count();
        let state = GracePhase { pairs, nulls, probe_has_rows: false, probe_has_nulls: false, missing, failure: None };
        Grace { kernel, state: Mutex::new(state), ready: watch::Sender::new(false), bloom }
    }

    /// Spreads a partition of the probe side, and when all are spread, joins files that no other worker does.
    pub async fn join(grace: Arc<Grace>, partition: usize) -> Result<SendableRecordBatchStream> {
        let mut ready = grace.ready.subscribe();
        let spread = grace.spread(partition).await;
        grace.arrive(spread);
        ready.wait_for(|ready| *ready).await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        if let Some(failure) = &grace.state.lock().failure {
            return Err(DataFusionError::Shared(failure.clone()));
        }
        let kernel = grace.kernel.clone();
        let memory = MemoryConsumer::new(format!("join[{partition}]")).with_can_spill(true);
        let memory = memory.register(kernel.context.memory_pool());
        memory.try_grow(FLOOR_BLOCKS * kernel.space.block_bytes)?;
        let schema = kernel.join.schema();
        let worker = Worker { grace, memory, blocks: None, rows: None };
        let rows = futures::stream::try_unfold(worker, |mut worker| async move {
            Ok(worker.next().await?.map(|batch| (batch, worker)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, Box::pin(rows))))
    }

    async fn spread(&self, partition: usize) -> Result<Spread> {
        let kernel = &self.kernel;
        let probe = kernel.join.right();
        let mut rows = probe.execute(partition, kernel.context.clone())?;
        let mut writer = PartitionWriter::new(&kernel.space, &probe.schema(), 0);
        let (mut has_rows, mut has_nulls) = (false, false);
        while let Some(batch) = rows.try_next().await? {
            if batch.num_rows() == 0 {
                continue;
            }
            let keys = kernel.key_values(1, &batch)?;
            has_rows = true;
            has_nulls |= keys.iter().any(|k| k.logical_null_count() > 0);
            let mut hashes = hashes(&keys)?;
            match &self.bloom {
                None => writer.write(&batch, &hashes)?,
                Some(bloom) => {
                    let kept: BooleanArray = hashes.iter().map(|hash| Some(bloom.may_contain(*hash))).collect();
                    hashes.retain(|hash| bloom.may_contain(*hash));
                    kernel.dropped.add(batch.num_rows() - hashes.len());
                    writer.write(&filter_record_batch(&batch, &kept)?, &hashes)?;
                }
            }
        }
        kernel.spills.add(1);
        Ok(Spread { files: writer.finish()?, has_rows, has_nulls })
    }

    /// A part of the probe side is on disk. With the last, it is known which files there are to join.
    fn arrive(&self, spread: Result<Spread>) {
        let mut state = self.state.lock();
        match spread {
            Ok(spread) => {
                state.probe_has_rows |= spread.has_rows;
                state.probe_has_nulls |= spread.has_nulls;
                state.pairs.iter_mut().zip(spread.files).for_each(|(pair, file)| pair.probe.extend(file));
            }
            Err(e) => state.failure = Some(Arc::new(e)),
        }
        state.missing -= 1;
        if state.missing == 0 && self.kernel.join.null_aware {
            let nulls = std::mem::take(&mut state.nulls);
            if state.probe_has_nulls {
                // No comparison is FALSE for all rows.
                state.pairs.clear();
            } else if !state.probe_has_rows {
                state.pairs.push(Pair { build: nulls, probe: Vec::new(), level: LEVELS });
            }
        }
        if state.missing == 0 || state.failure.is_some() {
            self.ready.send_replace(true);
        }
    }

    /// Spreads both sides of a pair.
    async fn split(&self, pair: Pair) -> Result<()> {
        let kernel = &self.kernel;
        let build = kernel.spread_files(0, &pair.build, pair.level).await?;
        let probe = kernel.spread_files(1, &pair.probe, pair.level).await?;
        let all: usize = pair.build.iter().map(|f| f.rows).sum();
        let pairs = build.into_iter().zip(probe).map(|(build, probe)| {
            let together = build.as_ref().is_some_and(|f| f.rows * 100 > all * TOGETHER_PERCENT);
            let level = if together { LEVELS } else { pair.level + 1 };
            Pair { build: build.into_iter().collect(), probe: probe.into_iter().collect(), level }
        });
        self.state.lock().pairs.extend(pairs);
        Ok(())
    }

    fn next_pair(&self) -> Option<Pair> {
        let join_type = *self.kernel.join.join_type();
        let mut state = self.state.lock();
        loop {
            let pair = state.pairs.pop()?;
            let matters = match (pair.build.is_empty(), pair.probe.is_empty()) {
                (true, true) => false,
                (true, false) => !self.kernel.probe_rows_need_partners(),
                (false, true) => preserves_build(join_type) && join_type != JoinType::LeftSemi,
                (false, false) => true,
            };
            if matters {
                return Some(pair);
            }
        }
    }
}

/// A part of the probe side on disk.
struct Spread {
    files: [Option<SpillFile>; PARTITIONS],
    has_rows: bool,
    has_nulls: bool,
}

/// Joins pairs of files.
struct Worker {
    grace: Arc<Grace>,
    memory: MemoryReservation,
    /// The blocks that are left of a pair of files.
    blocks: Option<Blocks>,
    /// The rows of the probe side for the block that is in memory.
    rows: Option<SendableRecordBatchStream>,
}

/// A pair of which one side is read in blocks that fit in memory, the other one again for each of them.
struct Blocks {
    side: SendableRecordBatchStream,
    /// A batch that did not fit beside those before it.
    ahead: Option<RecordBatch>,
    other: Vec<SpillFile>,
    /// True if the whole side is one block that fits into memory.
    fits: bool,
    /// True if the side that is read in blocks is the probe side.
    swapped: bool,
    /// It has no rows, which is a block too.
    begun: bool,
}

impl Worker {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(rows) = &mut self.rows {
                if let Some(batch) = rows.try_next().await? {
                    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                    let schema = self.grace.kernel.join.schema();
                    return Ok(Some(RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options)?));
                }
                self.rows = None;
            }
            if let Some(blocks) = &mut self.blocks {
                match load(&self.memory, blocks).await? {
                    Some(block) => self.rows = Some(self.grace.kernel.join_block(block, blocks)?),
                    None => self.blocks = None,
                }
                continue;
            }
            let Some(pair) = self.grace.next_pair() else { return Ok(None) };
            self.begin(pair).await?;
        }
    }

    /// Joins a pair, or makes smaller ones of it.
    async fn begin(&mut self, pair: Pair) -> Result<()> {
        let kernel = &self.grace.kernel;
        self.memory.resize(FLOOR_BLOCKS * kernel.space.block_bytes);
        let (bytes, rows) = pair.build.iter().fold((0, 0), |(bytes, rows), f| (bytes + f.bytes, rows + f.rows));
        let wanted = building_bytes(bytes, rows);
        let fits = wanted <= self.memory.size() || self.memory.try_grow(wanted - self.memory.size()).is_ok();
        if !fits && pair.level < LEVELS {
            return self.grace.split(pair).await;
        }
        let swapped = !fits && preserves_probe(*kernel.join.join_type());
        let (side, schema, other) = match swapped {
            false => (pair.build, kernel.join.left().schema(), pair.probe),
            true => (pair.probe, kernel.join.right().schema(), pair.build),
        };
        self.blocks = Some(Blocks { side: read(&side, schema)?, ahead: None, other, fits, swapped, begun: false });
        Ok(())
    }
}

impl Kernel {
    async fn spread_files(
        &self,
        side: usize,
        files: &[SpillFile],
        level: usize,
    ) -> Result<[Option<SpillFile>; PARTITIONS]> {
        let input = if side == 0 { self.join.left() } else { self.join.right() };
        let mut writer = PartitionWriter::new(&self.space, &input.schema(), level);
        let mut rows = read(files, input.schema())?;
        while let Some(batch) = rows.try_next().await? {
            writer.write(&batch, &hashes(&self.key_values(side, &batch)?)?)?;
            // Whoever waits for the query may have gone.
            reschedule().await;
        }
        self.spills.add(1);
        writer.finish()
    }

    /// The joined rows of a block and all of the other side.
    fn join_block(&self, block: Vec<RecordBatch>, blocks: &Blocks) -> Result<SendableRecordBatchStream> {
        let (left, right) = (self.join.left().schema(), self.join.right().schema());
        let (build, probe) = match blocks.swapped {
            false => (InputExec::one(block, left), InputExec::files(blocks.other.clone(), right)),
            true => (InputExec::files(blocks.other.clone(), left), InputExec::one(block, right)),
        };
        let join = self.join.builder().reset_state().with_null_aware(false);
        let join =
            join.with_partition_mode(PartitionMode::CollectLeft).with_new_children(vec![build, probe])?.build()?;
        let join: Arc<dyn ExecutionPlan> =
            if blocks.swapped { join.swap_inputs(PartitionMode::CollectLeft)? } else { Arc::new(join) };
        join.execute(0, self.unlimited.clone())
    }
}

/// Reads as many rows as fit into memory, one batch at least; `None` at the end.
async fn load(memory: &MemoryReservation, blocks: &mut Blocks) -> Result<Option<Vec<RecordBatch>>> {
    let (mut block, mut bytes, mut rows) = (Vec::new(), 0, 0);
    loop {
        let next = match blocks.ahead.take() {
            Some(batch) => Some(batch),
            None => blocks.side.try_next().await?,
        };
        let Some(batch) = next else { break };
        bytes += used_bytes(&batch)?;
        rows += batch.num_rows();
        let wanted = building_bytes(bytes, rows);
        if !blocks.fits
            && wanted > memory.size()
            && let Err(refused) = memory.try_grow(wanted - memory.size())
        {
            if block.is_empty() {
                return Err(refused);
            }
            blocks.ahead = Some(batch);
            break;
        }
        block.push(batch);
    }
    let first = !std::mem::replace(&mut blocks.begun, true);
    Ok(if block.is_empty() && !first { None } else { Some(block) })
}
