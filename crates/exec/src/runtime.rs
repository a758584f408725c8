//! What queries run on: memory, spill files, and the settings of DataFusion's operators.

use crate::memory::SharedPool;
use datafusion_execution::{
    TaskContext,
    config::SessionConfig,
    disk_manager::{DiskManagerBuilder, DiskManagerMode},
    runtime_env::{RuntimeEnv, RuntimeEnvBuilder},
};
use muster_types::{Result, SqlError};
use std::{collections::HashMap, path::PathBuf, sync::Arc};

/// Rows in a batch.
pub const BATCH_ROWS: usize = 8192;
/// Memory a sort sets aside for merging its spilled runs; less when the limit is small.
const SORT_RESERVATION_MAX_BYTES: usize = 10 * 1024 * 1024;

/// Memory and spill files shared by all queries of a database.
pub struct Runtime {
    env: Arc<RuntimeEnv>,
    memory_bytes: usize,
}

impl Runtime {
    /// `memory_bytes`: what all queries together may use; beyond it they spill to `temp_dir` or fail.
    pub fn new(memory_bytes: usize, temp_dir: PathBuf) -> Result<Arc<Runtime>> {
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![temp_dir]));
        let env = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(SharedPool::new(memory_bytes)))
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(SqlError::internal)?;
        Ok(Arc::new(Runtime { env, memory_bytes }))
    }

    /// The limit, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Bytes that running queries hold now.
    pub fn memory_used_bytes(&self) -> usize {
        self.env.memory_pool.reserved()
    }

    pub(crate) fn session_config(&self, threads: usize) -> SessionConfig {
        let mut config = SessionConfig::new()
            .with_batch_size(BATCH_ROWS)
            .with_target_partitions(threads.max(1))
            .with_sort_spill_reservation_bytes(SORT_RESERVATION_MAX_BYTES.min(self.memory_bytes / 16 / threads.max(1)));
        let options = config.options_mut();
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
