//! The build side: in memory if it fits, else in files.

use super::{Kernel, build_bytes, building_bytes, grace::Grace, input::InputExec};
use crate::ops::{
    compact::{compact, held_bytes},
    spill::{PartitionWriter, SpillFile},
};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use datafusion_physical_plan::{ExecutionPlan, stream::RecordBatchStreamAdapter};
use futures::{StreamExt, TryStreamExt};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio::task::JoinSet;

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
        let spill = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for (i, (rows, memory)) in self.parts.into_iter().enumerate() {
            let part = Part::new(self.kernel.clone(), spill.clone(), memory);
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
        if !spill.load(Relaxed) {
            return Ok(Built::InMemory(InMemory::new(&self.kernel, parts)?));
        }
        let (mut files, mut nulls) = (Vec::new(), Vec::new());
        for part in parts {
            let (spread, with_null) = part.into_files()?;
            files.push(spread);
            nulls.extend(with_null);
        }
        Ok(Built::OnDisk(Arc::new(Grace::new(self.kernel, files, nulls))))
    }
}

/// A partition of the build side under way.
struct Part {
    kernel: Arc<Kernel>,
    /// Some part does not fit: all go to disk.
    spill: Arc<AtomicBool>,
    memory: MemoryReservation,
    batches: Vec<RecordBatch>,
    bytes: usize,
    rows: usize,
    writer: Option<PartitionWriter>,
    /// Rows with NULL in their key, for NOT IN.
    nulls: Option<PartitionWriter>,
}

impl Part {
    fn new(kernel: Arc<Kernel>, spill: Arc<AtomicBool>, memory: MemoryReservation) -> Part {
        Part { kernel, spill, memory, batches: Vec::new(), bytes: 0, rows: 0, writer: None, nulls: None }
    }

    async fn read(mut self, mut rows: SendableRecordBatchStream) -> Result<Part> {
        while let Some(batch) = rows.try_next().await? {
            if batch.num_rows() == 0 {
                continue;
            }
            if self.spill.load(Relaxed) {
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
                self.spill.store(true, Relaxed);
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
        let kernel = self.kernel.clone();
        let new = || PartitionWriter::new(&kernel.space, &kernel.join.left().schema(), 0);
        let keys = kernel.key_values(0, batch)?;
        let nulls =
            keys.first().and_then(|k| k.logical_nulls()).filter(|n| kernel.join.null_aware && n.null_count() > 0);
        let Some(nulls) = nulls else { return self.writer.get_or_insert_with(new).write(batch, &keys) };
        let valid = BooleanArray::new(nulls.inner().clone(), None);
        let (with_key, with_null) =
            (filter_record_batch(batch, &valid)?, filter_record_batch(batch, &arrow::compute::not(&valid)?)?);
        self.nulls.get_or_insert_with(new).write(&with_null, &kernel.key_values(0, &with_null)?)?;
        self.writer.get_or_insert_with(new).write(&with_key, &kernel.key_values(0, &with_key)?)
    }

    /// The files of the rows by their hashes, and those of the rows with NULL keys of NOT IN.
    #[allow(clippy::type_complexity, reason = "two kinds of files")]
    fn into_files(mut self) -> Result<(Vec<Option<SpillFile>>, Vec<SpillFile>)> {
        self.write_batches()?;
        let finish = |writer: Option<PartitionWriter>| writer.map(PartitionWriter::finish).transpose();
        let files = finish(self.writer)?.map_or(Vec::new(), Vec::from);
        let nulls = finish(self.nulls)?.into_iter().flatten().flatten().collect();
        Ok((files, nulls))
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
        let join = join.builder().with_new_children(inputs)?.build_exec()?;
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
