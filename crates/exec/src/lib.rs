//! Execution: lowers a `Plan` to DataFusion operators and our own, and runs it as a stream of Arrow batches.

//!
//! ```text
//!   lower/          Plan -> operators
//!   expr/           Expr -> physical expressions, column-wise
//!   agg/            aggregate functions
//!   ops/            operators of ours: scan, values, subqueries that run by themselves
//!   bind.rs         values in place of outer columns and of parameters
//!   arrow_value.rs  single values and arrays
//!   profile.rs      what each node did, for EXPLAIN ANALYZE
//!   kept_rows.rs    rows that a statement keeps before it changes the first of them
//!   first_rows.rs   those of rows that are met first, by a key
//!   runtime.rs, memory.rs    what queries share; error.rs  DataFusion's errors as MySQL's
//! ```

mod agg;
pub mod arrow_value;
mod bind;
pub mod counters;
mod error;
mod expr;
mod first_rows;
mod kept_rows;
mod lower;
mod memory;
mod ops;
mod profile;
mod runtime;

pub use counters::QueryCounters;
pub use first_rows::FirstRows;
pub use kept_rows::{KeptRows, RowKeeper};
pub use ops::{
    compact::{compact, used_bytes},
    shared::SharedRows,
};
pub use profile::{NodeProfiles, Profile};
pub use runtime::{Reserved, Runtime};

use futures::StreamExt;
use muster_algebra::{Columns, Plan, SessionFunction, TableDef, TableId};
use muster_functions::UserVariables;
use muster_storage::{ReadView, Table};
use muster_types::{Result, SqlError, Value};
use std::{pin::Pin, sync::Arc};

/// Rows as they come. Column i of every batch is `plan.output[i]`, with the Arrow type `SqlType` documents.
/// Dropping the stream cancels the query.
pub type RowStream = futures::stream::BoxStream<'static, Result<arrow_array::RecordBatch>>;

/// Rows of a table that is not stored, with all of its columns.
pub type VirtualRows = Arc<Vec<Vec<Value>>>;

/// Finds the rows of a plan's tables.
pub trait TableSource: Send + Sync {
    fn storage(&self, table: TableId) -> Result<Arc<Table>>;
    /// The rows of a table that is not stored; `None` for one that is. Asked when a plan starts that reads the table.
    fn virtual_rows(&self, _table: &TableDef) -> Result<Option<VirtualRows>> {
        Ok(None)
    }
}

/// One warning of a statement (SHOW WARNINGS).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub code: muster_types::ErrorCode,
    pub message: String,
}

/// Warnings raised while rows are computed; bounded, and counted beyond.
#[derive(Debug, Default)]
pub struct Warnings {
    list: parking_lot::Mutex<Vec<Warning>>,
    /// Number of those that the list had no room for.
    dropped: std::sync::atomic::AtomicU64,
    /// How many of a statement are shown (`max_error_count`), if somebody has said it.
    shown_max: std::sync::OnceLock<usize>,
    /// Divisions by zero are not warned of: `sql_mode` has no ERROR_FOR_DIVISION_BY_ZERO.
    ignores_divisions: std::sync::atomic::AtomicBool,
}

impl Warnings {
    /// Number that is kept, if no more are to be shown.
    pub const MAX: usize = 1024;

    /// Says whether divisions by zero are warned of.
    pub fn ignore_divisions(&self, ignores: bool) {
        self.ignores_divisions.store(ignores, std::sync::atomic::Ordering::Relaxed);
    }

    /// Returns true if there are no warnings of this number.
    pub fn ignores(&self, code: muster_types::ErrorCode) -> bool {
        code == muster_types::ErrorCode::DivisionByZero
            && self.ignores_divisions.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub fn push(&self, code: muster_types::ErrorCode, message: impl Into<String>) {
        if self.ignores(code) {
            return;
        }
        let mut list = self.list.lock();
        if list.len() < self.shown_max().max(Self::MAX) {
            list.push(Warning { code, message: message.into() });
        } else {
            self.dropped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Says how many are shown, unless that has been said.
    pub fn show_at_most(&self, count: usize) {
        self.shown_max.get_or_init(|| count);
    }

    /// How many of a statement are shown.
    pub fn shown_max(&self) -> usize {
        self.shown_max.get().copied().unwrap_or(Self::MAX)
    }

    /// Number of those that were counted only.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub fn take(&self) -> Vec<Warning> {
        std::mem::take(&mut self.list.lock())
    }

    pub fn count(&self) -> usize {
        self.list.lock().len()
    }

    /// The first of those behind the first so many that `is` accepts.
    pub fn find_since(&self, count: usize, is: impl Fn(&Warning) -> bool) -> Option<Warning> {
        self.list.lock().iter().skip(count).find(|warning| is(warning)).cloned()
    }

    /// Forgets all but the first so many.
    pub fn truncate(&self, count: usize) {
        self.list.lock().truncate(count);
    }
}

/// Sizes of a session's buffers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// `join_buffer_size`: outer rows of a Batched Key Access join.
    pub join_bytes: usize,
    /// `mrr_buffer_size` (MariaDB), `read_rnd_buffer_size` (MySQL): primary keys of a Multi-Range Read.
    pub mrr_bytes: usize,
    /// `sort_buffer_size`: rows of a sort that one thread keeps in memory.
    pub sort_bytes: usize,
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers { join_bytes: 16 << 20, mrr_bytes: 8 << 20, sort_bytes: usize::MAX }
    }
}

/// Takes what `LAST_INSERT_ID(id)` says.
pub type SaidInsertId = Arc<dyn Fn(u64) + Send + Sync>;

/// Answers the functions that ask or change what is shared between sessions.
pub trait SessionCalls: Send + Sync {
    /// The value of a call. It may wait, as GET_LOCK does; a statement that ends meanwhile drops the future.
    fn call(
        &self,
        function: SessionFunction,
        args: Vec<Value>,
    ) -> Pin<Box<dyn Future<Output = muster_types::Result<Value>> + Send + '_>>;
}

/// The memory, threads, counters and limits that a query runs with.
#[derive(Clone)]
pub struct ExecContext {
    pub runtime: Arc<Runtime>,
    pub tables: Arc<dyn TableSource>,
    pub view: Arc<ReadView>,
    pub counters: Arc<QueryCounters>,
    pub warnings: Arc<Warnings>,
    pub buffers: Buffers,
    /// Longest text that a function makes, in bytes (`max_allowed_packet`).
    pub text_bytes_max: usize,
    /// Takes what `LAST_INSERT_ID(id)` says.
    pub said_insert_id: SaidInsertId,
    /// The user variables, for a statement that assigns to some.
    pub user_variables: Arc<dyn UserVariables>,
    /// Answers the functions that ask the session.
    pub session_calls: Arc<dyn SessionCalls>,
    /// Values of the statement's parameters, in order.
    pub parameters: Arc<[Value]>,
    /// The rows that the statement computes once for several places.
    pub shared: Arc<SharedRows>,
    /// The rows of the round before of each recursive table around, by the table's number.
    pub working: Vec<(usize, ops::recursive::RoundRows)>,
    /// Degree of parallelism.
    pub threads: usize,
    /// Measurements of every node, if the query is measured ([`execute_measured`]).
    pub node_profiles: Option<Arc<NodeProfiles>>,
}

/// Starts a query. Must be called, and its stream polled, inside a tokio runtime.
pub fn execute(plan: &Plan, columns: &Columns, context: &ExecContext) -> Result<RowStream> {
    let plan = bind::with_parameters(plan, &context.parameters)?;
    let lowered = lower::lower(&plan, columns, context)?;
    run(lowered, context)
}

/// As [`execute`], and measures every node into the profile.
pub fn execute_measured(plan: &Plan, columns: &Columns, context: &ExecContext, profile: &Profile) -> Result<RowStream> {
    let plan = bind::with_parameters(plan, &context.parameters)?;
    let context = ExecContext { node_profiles: Some(profile.nodes().clone()), ..context.clone() };
    let lowered = lower::lower(&plan, columns, &context)?;
    profile.keep(&lowered.operators);
    run(lowered, &context)
}

fn run(lowered: lower::Lowered, context: &ExecContext) -> Result<RowStream> {
    let limit = context.runtime.memory_bytes();
    let task = context.runtime.task_context(lowered.config);
    let rows = lowered.operators.execute(0, task).map_err(|e| error::to_sql(&e, limit))?;
    let rows = rows.map(move |batch| batch.map_err(|e| error::to_sql(&e, limit)));
    // A fault in an operator must not take the server down.
    let rows = std::panic::AssertUnwindSafe(rows).catch_unwind();
    Ok(rows.map(|batch| batch.unwrap_or_else(|_| Err(SqlError::internal("an operator panicked")))).boxed())
}

/// The operators that would run a plan, as text, one line each.
pub fn describe(plan: &Plan, columns: &Columns, context: &ExecContext) -> Result<String> {
    let plan = bind::with_parameters(plan, &context.parameters)?;
    let lowered = lower::lower(&plan, columns, context)?;
    Ok(datafusion_physical_plan::displayable(lowered.operators.as_ref()).indent(false).to_string())
}

#[cfg(test)]
mod plan_tests;
