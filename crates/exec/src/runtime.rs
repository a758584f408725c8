//! The surroundings that queries run in: memory, spill files, and the settings of DataFusion's operators.

use crate::QueryCounters;
use crate::{error::to_sql, expr::text_memory::TextMemory, memory::SharedPool, ops::spill::SpillSpace};
use datafusion_execution::{
    TaskContext,
    config::SessionConfig,
    disk_manager::{DiskManagerBuilder, DiskManagerMode},
    memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation},
    runtime_env::{RuntimeEnv, RuntimeEnvBuilder},
};
use muster_types::{Result, SqlError};
use parking_lot::Mutex;
use std::{collections::HashMap, path::PathBuf, sync::Arc};

/// Rows in a batch; fewer where they are wide and memory is short.
pub const BATCH_ROWS: usize = 8192;
const BATCH_ROWS_MIN: usize = 32;
/// A batch takes at most this part of each thread's share of the memory: operators hold some of them at once.
const BATCH_SHARE: usize = 128;
/// Bounds of what counts as a long text, in characters.
const LONG_TEXT_MIN: usize = 256;
const LONG_TEXT_MAX: usize = 4096;
/// A block of rows on disk has at most this part of each thread's share of the memory, so that a merge of some runs in
/// every thread takes little of it.
const BLOCK_SHARE: usize = 256;
const BLOCK_BYTES_MIN: usize = 1 << 10;
const BLOCK_BYTES_MAX: usize = 1 << 20;
/// A hash join whose keys are numbers of so small a range looks them up in an array, four bytes for each: it stays in
/// the second-level cache, and in the same part of the memory as a batch.
const KEY_ARRAY_RANGE: usize = 1 << 18;
/// Part of a larger range that keys must fill for an array of its values: the array is then no larger than a hash
/// table.
pub const KEY_ARRAY_DENSITY: f64 = 0.1;

/// Memory and spill files shared by all queries of a database.
pub struct Runtime {
    env: Arc<RuntimeEnv>,
    memory_bytes: usize,
    temp_dir: PathBuf,
    /// The settings that the last query ran with.
    config: Mutex<Option<SessionConfig>>,
}

/// Memory that is taken until this is dropped.
#[derive(Debug)]
pub struct Reserved {
    _memory: MemoryReservation,
}

impl Runtime {
    /// `memory_bytes`: what all queries together may use; beyond it they spill to `temp_dir` or fail.
    pub fn new(memory_bytes: usize, temp_dir: PathBuf) -> Result<Arc<Runtime>> {
        // For nested loops, whose passes are DataFusion's own; all others spill to files without names.
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![temp_dir.clone()]));
        let env = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(SharedPool::new(memory_bytes)))
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(SqlError::internal)?;
        Ok(Arc::new(Runtime { env, memory_bytes, temp_dir, config: Mutex::default() }))
    }

    /// The limit, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Bytes that running queries hold now.
    pub fn memory_used_bytes(&self) -> usize {
        self.env.memory_pool.reserved()
    }

    pub(crate) fn memory_pool(&self) -> &Arc<dyn MemoryPool> {
        &self.env.memory_pool
    }

    /// Takes memory for something that is no operator. Error 1041.
    pub fn reserve(&self, what: &str, bytes: usize) -> Result<Reserved> {
        let memory = MemoryConsumer::new(what).register(&self.env.memory_pool);
        memory.try_grow(bytes).map_err(|e| to_sql(&e, self.memory_bytes))?;
        Ok(Reserved { _memory: memory })
    }

    /// The spill space of a query with so many threads. `counters` counts what is spilled.
    pub(crate) fn spill_space(&self, threads: usize, counters: &Arc<QueryCounters>) -> SpillSpace {
        let block_bytes = self.memory_bytes / threads.max(1) / BLOCK_SHARE;
        SpillSpace {
            temp_dir: self.temp_dir.clone(),
            block_bytes: block_bytes.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX),
            counters: counters.clone(),
        }
    }

    /// Bytes of a batch.
    pub(crate) fn batch_bytes(&self, threads: usize) -> usize {
        self.memory_bytes / threads.max(1) / BATCH_SHARE
    }

    /// The memory that the texts of a statement may take. `text_bytes_max`: each of them.
    pub(crate) fn text_memory(&self, threads: usize, text_bytes_max: usize) -> Arc<TextMemory> {
        let long = (self.batch_bytes(threads) / BATCH_ROWS).clamp(LONG_TEXT_MIN, LONG_TEXT_MAX);
        Arc::new(TextMemory {
            pool: self.env.memory_pool.clone(),
            limit_bytes: self.memory_bytes,
            text_bytes_max,
            long: long as u32,
        })
    }

    /// Rows in a batch. `row_bytes`: of the widest row, by estimate.
    pub(crate) fn batch_rows(&self, threads: usize, row_bytes: f64) -> usize {
        let bytes = self.batch_bytes(threads) as f64;
        (bytes / row_bytes.max(1.0)).clamp(BATCH_ROWS_MIN as f64, BATCH_ROWS as f64) as usize
    }

    /// The settings of DataFusion's operators, which has so many of them that those of the last query are kept.
    pub(crate) fn session_config(&self, threads: usize, batch_rows: usize) -> SessionConfig {
        let threads = threads.max(1);
        let mut last = self.config.lock();
        if let Some(config) = &*last
            && (config.target_partitions(), config.batch_size()) == (threads, batch_rows)
        {
            return config.clone();
        }
        let config = self.new_config(threads, batch_rows);
        *last = Some(config.clone());
        config
    }

    fn new_config(&self, threads: usize, batch_rows: usize) -> SessionConfig {
        let mut config = SessionConfig::new().with_batch_size(batch_rows).with_target_partitions(threads);
        let key_array_range = self.batch_bytes(threads) / size_of::<u32>();
        let options = config.options_mut();
        options.execution.perfect_hash_join_small_build_threshold = key_array_range.min(KEY_ARRAY_RANGE);
        options.execution.perfect_hash_join_min_key_density = KEY_ARRAY_DENSITY;
        // Join order and build sides are the optimizer's choice.
        options.optimizer.join_reordering = false;
        options.optimizer.enable_dynamic_filter_pushdown = true;
        options.optimizer.enable_join_dynamic_filter_pushdown = true;
        config
    }

    pub(crate) fn task_context(&self, config: SessionConfig) -> Arc<TaskContext> {
        Arc::new(TaskContext::new(
            None,
            String::new(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            self.env.clone(),
        ))
    }
}
