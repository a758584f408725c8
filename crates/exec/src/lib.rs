//! Execution: lowers a `Plan` to DataFusion operators and our own, and runs it as a stream of Arrow batches.

use muster_algebra::{Columns, Plan, TableId};
use muster_storage::{Counters, ReadView, Table};
use muster_types::{Result, SqlError};
use std::sync::Arc;

/// Rows as they come. Column i of every batch is `plan.output[i]`, with the Arrow type `SqlType` documents.
/// Dropping the stream cancels the query.
pub type RowStream = futures::stream::BoxStream<'static, Result<arrow_array::RecordBatch>>;

/// Finds the storage of a plan's tables.
pub trait TableSource: Send + Sync {
    fn storage(&self, table: TableId) -> Result<Arc<Table>>;
}

/// One warning of a statement (SHOW WARNINGS).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub code: muster_types::ErrorCode,
    pub message: String,
}

/// Warnings raised while rows are computed; bounded (`max_error_count`), counted beyond.
#[derive(Debug, Default)]
pub struct Warnings {
    list: parking_lot::Mutex<Vec<Warning>>,
}

impl Warnings {
    pub const MAX: usize = 1024;

    pub fn push(&self, code: muster_types::ErrorCode, message: impl Into<String>) {
        let mut list = self.list.lock();
        if list.len() < Self::MAX {
            list.push(Warning { code, message: message.into() });
        }
    }

    pub fn take(&self) -> Vec<Warning> {
        std::mem::take(&mut self.list.lock())
    }
}

/// Memory and spill files shared by all queries of a database.
pub struct Runtime {}

impl Runtime {
    /// `memory_bytes`: what all queries together may use; beyond it they spill to `temp_dir` or fail.
    pub fn new(_memory_bytes: usize, _temp_dir: std::path::PathBuf) -> Result<Arc<Runtime>> {
        todo!()
    }
}

/// What a query runs with.
#[derive(Clone)]
pub struct ExecContext {
    pub runtime: Arc<Runtime>,
    pub tables: Arc<dyn TableSource>,
    pub view: ReadView,
    pub counters: Arc<Counters>,
    pub warnings: Arc<Warnings>,
    /// Degree of parallelism.
    pub threads: usize,
}

/// Starts a query. Must be called, and its stream polled, inside a tokio runtime.
pub fn execute(_plan: &Plan, _columns: &Columns, _context: &ExecContext) -> Result<RowStream> {
    Err(SqlError::internal("not built"))
}
