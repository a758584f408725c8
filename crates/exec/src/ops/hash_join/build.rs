//! The build side: in memory if it fits, else in files.

use super::{
    Kernel,
    bloom::Bloom,
    build_bytes, building_bytes,
    grace::Grace,
    input::InputExec,
    probe_filter::{self, Bounds, KeySet},
};
use crate::ops::{
    compact::{compact, held_bytes},
    spill::{PartitionWriter, SpillFile, hashes},
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::{
    SendableRecordBatchStream,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_plan::{ExecutionPlan, stream::RecordBatchStreamAdapter};
use futures::{StreamExt, TryStreamExt};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio::task::JoinSet;

/// A filter of the keys takes at most so many blocks while it is not known how many keys there are.
const BLOOM_BLOCKS: usize = 32;

/// A build side that has been read.
pub enum Built {
    InMemory(InMemory),
    OnDisk(Arc<Grace>),
}

/// Reads the build side, all partitions at once.
pub struct Build {
    kernel: Arc<Kernel>,
    parts: Vec<(SendableRecordBatchStream, MemoryReservation)>,
}

impl Build {
    /// `parts`: rows of each partition, and empty reservations of consumers that can spill.
    pub fn new(kernel: Arc<Kernel>, parts: Vec<(SendableRecordBatchStream, MemoryReservation)>) -> Build {
        Build { kernel, parts }
    }

    /// Errors: those of the input and of the file system.
    pub async fn run(self) -> Result<Arc<Built>, Arc<DataFusionError>> {
        self.read().await.map(Arc::new).map_err(Arc::new)
    }

    async fn read(self) -> Result<Built> {
        let spilling = Arc::new(Spilling::default());
        let mut tasks = JoinSet::new();
        for (i, (rows, memory)) in self.parts.into_iter().enumerate() {
            let part = Part::new(self.kernel.clone(), spilling.clone(), memory);
            tasks.spawn(async move { Ok::<_, DataFusionError>((i, part.read(rows).await?)) });
        }
        let mut parts = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok(part) => parts.push(part?),
                Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
                Err(e) => return Err(DataFusionError::External(Box::new(e))),
            }
        }
        parts.sort_by_key(|(i, _)| *i);
        let parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
        if !spilling.begun.load(Relaxed) {
            return Ok(Built::InMemory(InMemory::new(&self.kernel, parts)?));
        }
        let (mut files, mut nulls, mut bounds) = (Vec::new(), Vec::new(), self.kernel.bounds()?);
        for part in parts {
            let spread = part.into_files()?;
            files.push(spread.files);
            nulls.extend(spread.nulls);
            bounds.merge(spread.bounds)?;
        }
        let rows = files.iter().flatten().flatten().map(|file| file.rows).sum();
        let bloom = Arc::into_inner(spilling).and_then(|spilling| spilling.bloom.into_inner().flatten()?.fit(rows));
        let bloom = bloom.map(Arc::new);
        self.kernel.publish(bounds, KeySet::of_hashes(bloom.clone()))?;
        Ok(Built::OnDisk(Arc::new(Grace::new(self.kernel, files, nulls, bloom))))
    }
}

/// The state that the partitions of a build side share.
#[derive(Default)]
struct Spilling {
    /// Some part does not fit: all go to disk.
    begun: AtomicBool,
    /// The keys that went to disk; made for the first of them, if there is memory.
    bloom: OnceLock<Option<Bloom>>,
}

/// A part of the build side on disk.
struct Spread {
    /// Rows on disk, partitioned by the hashes of their keys.
    files: Vec<Option<SpillFile>>,
    /// Rows with NULL keys of NOT IN.
    nulls: Vec<SpillFile>,
    bounds: Bounds,
}

impl Kernel {
    fn bounds(&self) -> Result<Bounds> {
        let types = self.keys[0].iter().map(|key| key.data_type(&self.join.left().schema()));
        Bounds::new(&types.collect::<Result<Vec<_>>>()?)
    }

    fn build_writer(&self) -> PartitionWriter {
        PartitionWriter::new(&self.space, &self.join.left().schema(), 0)
    }

    fn new_bloom(&self) -> Option<Bloom> {
        let needed = self.probe_rows_need_partners();
        needed.then(|| Bloom::new(BLOOM_BLOCKS * self.space.block_bytes, self.filter_memory())).flatten()
    }

    fn filter_memory(&self) -> MemoryReservation {
        MemoryConsumer::new("join filter").register(self.context.memory_pool())
    }

    /// Tells whoever reads the probe side which of its rows may have partners.
    fn publish(&self, bounds: Bounds, set: KeySet) -> Result<()> {
        if let Some(published) = &self.published {
            published.update(probe_filter::filter(&self.keys[1], bounds, set)?)?;
            published.mark_complete();
        }
        Ok(())
    }

    /// Publishes the keys of a build side in memory.
    fn publish_batches(&self, parts: &[Part]) -> Result<()> {
        if self.published.is_none() {
            return Ok(());
        }
        let (mut bounds, mut keys) = (self.bounds()?, Vec::new());
        for batch in parts.iter().flat_map(|part| &part.batches) {
            let values = self.key_values(0, batch)?;
            bounds.add(&values)?;
            keys.push(values);
        }
        let rows = parts.iter().map(|part| part.rows).sum();
        let set = KeySet::new(&keys, &mut bounds, rows, || self.filter_memory())?;
        self.publish(bounds, set)
    }
}

/// A partition of the build side under way.
struct Part {
    kernel: Arc<Kernel>,
    spilling: Arc<Spilling>,
    memory: MemoryReservation,
    batches: Vec<RecordBatch>,
    bytes: usize,
    rows: usize,
    writer: Option<PartitionWriter>,
    /// Rows with NULL in their key, for NOT IN.
    nulls: Option<PartitionWriter>,
    /// The bounds of the keys that are on disk.
    bounds: Option<Bounds>,
}

impl Part {
    fn new(kernel: Arc<Kernel>, spilling: Arc<Spilling>, memory: MemoryReservation) -> Part {
        let (batches, bytes, rows) = (Vec::new(), 0, 0);
        Part { kernel, spilling, memory, batches, bytes, rows, writer: None, nulls: None, bounds: None }
    }

    async fn read(mut self, mut rows: SendableRecordBatchStream) -> Result<Part> {
        while let Some(batch) = rows.try_next().await? {
            if batch.num_rows() == 0 {
                continue;
            }
            if self.spilling.begun.load(Relaxed) {
                self.write_batches()?;
                self.write(&batch)?;
                continue;
            }
            let batch = compact(&batch)?;
            self.bytes += held_bytes(&batch);
            self.rows += batch.num_rows();
            self.batches.push(batch);
            let wanted = building_bytes(self.bytes, self.rows);
            if wanted > self.memory.size() && self.memory.try_grow(wanted - self.memory.size()).is_err() {
                self.spilling.begun.store(true, Relaxed);
                self.kernel.spills.add(1);
            }
        }
        Ok(self)
    }

    fn write_batches(&mut self) -> Result<()> {
        for batch in std::mem::take(&mut self.batches) {
            self.write(&batch)?;
        }
        self.memory.free();
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = self.kernel.key_values(0, batch)?;
        let null_aware = self.kernel.join.null_aware;
        let nulls = keys.first().and_then(|k| k.logical_nulls()).filter(|n| null_aware && n.null_count() > 0);
        let Some(nulls) = nulls else { return self.write_known(batch, &keys) };
        let valid = BooleanArray::new(nulls.inner().clone(), None);
        let (with_key, with_null) =
            (filter_record_batch(batch, &valid)?, filter_record_batch(batch, &arrow::compute::not(&valid)?)?);
        let nulls = self.nulls.get_or_insert_with(|| self.kernel.build_writer());
        nulls.write(&with_null, &hashes(&self.kernel.key_values(0, &with_null)?)?)?;
        self.write_known(&with_key, &self.kernel.key_values(0, &with_key)?)
    }

    /// Writes rows whose keys may find partners.
    fn write_known(&mut self, batch: &RecordBatch, keys: &[ArrayRef]) -> Result<()> {
        let bounds = match &mut self.bounds {
            Some(bounds) => bounds,
            none => none.insert(self.kernel.bounds()?),
        };
        bounds.add(keys)?;
        let hashes = hashes(keys)?;
        if let Some(bloom) = self.spilling.bloom.get_or_init(|| self.kernel.new_bloom()) {
            hashes.iter().for_each(|hash| bloom.add(*hash));
        }
        self.writer.get_or_insert_with(|| self.kernel.build_writer()).write(batch, &hashes)
    }

    fn into_files(mut self) -> Result<Spread> {
        self.write_batches()?;
        let finish = |writer: Option<PartitionWriter>| writer.map(PartitionWriter::finish).transpose();
        let files = finish(self.writer)?.map_or(Vec::new(), Vec::from);
        let nulls = finish(self.nulls)?.into_iter().flatten().flatten().collect();
        let bounds = self.bounds.map_or_else(|| self.kernel.bounds(), Ok)?;
        Ok(Spread { files, nulls, bounds })
    }
}

/// A build side in memory.
pub struct InMemory {
    /// DataFusion's join over it.
    join: Arc<dyn ExecutionPlan>,
    kernel: Arc<Kernel>,
    held: Arc<Held>,
}

/// The memory of each part of a build side, until its last reader has gone, and what it needs when its table is there.
struct Held(Vec<(MemoryReservation, usize)>);

impl Held {
    /// A partition of the probe side that delivers rows has found its table: its own, or the only one.
    fn built(&self, partition: usize) {
        if let Some((memory, bytes)) = self.0.get(partition).or(self.0.first()) {
            memory.resize(memory.size().min(*bytes));
        }
    }
}

impl InMemory {
    fn new(kernel: &Arc<Kernel>, parts: Vec<Part>) -> Result<InMemory> {
        kernel.publish_batches(&parts)?;
        let (mut batches, mut held) = (Vec::new(), Vec::new());
        for part in parts {
            held.push((part.memory, build_bytes(part.bytes, part.rows)));
            batches.push(part.batches);
        }
        let join = &kernel.join;
        let inputs = vec![
            InputExec::batches(batches, join.left()),
            InputExec::below(join.right().clone(), kernel.context.clone()),
        ];
        let join = join.builder().reset_state().with_new_children(inputs)?.build_exec()?;
        Ok(InMemory { join, kernel: kernel.clone(), held: Arc::new(Held(held)) })
    }

    /// The joined rows of a partition of the probe side.
    pub fn join(&self, partition: usize) -> Result<SendableRecordBatchStream> {
        let rows = self.join.execute(partition, self.kernel.unlimited.clone())?;
        let held = self.held.clone();
        let rows = rows.inspect(move |_| held.built(partition));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.join.schema(), rows)))
    }
}
