//! Plans built by hand, run, and compared with rows that were worked out by hand or by a slower way.

mod aggregates;
mod columnwise;
mod early_stop;
mod expressions;
mod joins;
mod memory;
mod rows;
mod scans;
mod subplans;

use crate::{
    Buffers, ExecContext, Profile, QueryCounters, RowStream, Runtime, SessionCalls, TableSource, Warnings,
    arrow_value::value_at, execute, execute_measured,
};
use futures::TryStreamExt;
use muster_algebra::{ColId, Columns, Estimate, Expr, Plan, PlanOp, SortKey, TableId};
use muster_optimizer::physical::finish;
use muster_storage::{ReadView, Table};
use muster_types::{Collation, Result, SqlError, SqlType, Value};
use std::sync::Arc;

pub const TEXT: SqlType = SqlType::varchar(100, Collation::Utf8mb4_0900AiCi);
pub const INT: SqlType = SqlType::BIGINT;

struct NoTables;

impl TableSource for NoTables {
    fn storage(&self, table: TableId) -> Result<Arc<Table>> {
        Err(SqlError::internal(format!("no table {table:?}")))
    }
}

/// Answers no call.
struct NoSession;

impl muster_functions::UserVariables for NoSession {
    fn value(&self, _: &str) -> Value {
        Value::Null
    }

    fn assign(&self, name: &str, _: Value, _: Option<muster_types::Collation>) -> muster_types::Result<()> {
        Err(muster_types::SqlError::internal(format!("@{name} without a session")))
    }
}

impl SessionCalls for NoSession {
    fn call(
        &self,
        function: muster_algebra::SessionFunction,
        _: Vec<Value>,
    ) -> std::pin::Pin<Box<dyn Future<Output = muster_types::Result<Value>> + Send + '_>> {
        Box::pin(async move { Err(muster_types::SqlError::internal(format!("{function:?} without a session"))) })
    }
}

/// The columns of a test's statement, and how to run it.
pub struct Query {
    pub columns: Columns,
    pub threads: usize,
    pub runtime: Arc<Runtime>,
    pub warnings: Arc<Warnings>,
    pub tables: Arc<dyn TableSource>,
    pub counters: Arc<QueryCounters>,
    _temp: tempfile::TempDir,
}

impl Query {
    pub fn new() -> Query {
        Query::with_memory(256 << 20)
    }

    pub fn with_memory(bytes: usize) -> Query {
        let temp = tempfile::tempdir().unwrap();
        let runtime = Runtime::new(bytes, temp.path().to_path_buf()).unwrap();
        Query {
            columns: Columns::default(),
            threads: 2,
            runtime,
            warnings: Arc::default(),
            tables: Arc::new(NoTables),
            counters: Arc::default(),
            _temp: temp,
        }
    }

    pub fn column(&mut self, ty: SqlType) -> ColId {
        self.columns.add_computed("x", ty, true)
    }

    pub fn columns(&mut self, types: &[SqlType]) -> Vec<ColId> {
        types.iter().map(|ty| self.column(*ty)).collect()
    }

    /// Literal rows.
    pub fn values(&self, ids: &[ColId], rows: Vec<Vec<Value>>) -> Plan {
        let types: Vec<SqlType> = ids.iter().map(|id| self.columns.ty(*id)).collect();
        let literal = |(v, ty): (Value, &SqlType)| Expr::literal(v, *ty);
        let rows = rows.into_iter().map(|row| row.into_iter().zip(&types).map(literal).collect()).collect();
        plan(PlanOp::Values { rows }, ids.to_vec())
    }

    /// As [`Query::values`], in two partitions.
    pub fn split_values(&mut self, ids: &[ColId], rows: Vec<Vec<Value>>) -> Plan {
        let types: Vec<SqlType> = ids.iter().map(|id| self.columns.ty(*id)).collect();
        let mut inputs = Vec::new();
        let mut columns = Vec::new();
        let (mut even, mut odd) = (Vec::new(), Vec::new());
        for (i, row) in rows.into_iter().enumerate() {
            if i % 2 == 0 { even.push(row) } else { odd.push(row) }
        }
        for part in [even, odd] {
            let own = self.columns(&types);
            inputs.push(self.values(&own, part));
            columns.push(own);
        }
        plan(PlanOp::UnionAll { inputs, columns }, ids.to_vec())
    }

    pub fn context(&self) -> ExecContext {
        ExecContext {
            runtime: self.runtime.clone(),
            tables: self.tables.clone(),
            view: ReadView::latest(),
            counters: self.counters.clone(),
            warnings: self.warnings.clone(),
            buffers: Buffers::default(),
            text_bytes_max: 64 << 20,
            said_insert_id: Arc::new(|_| {}),
            user_variables: Arc::new(NoSession),
            session_calls: Arc::new(NoSession),
            parameters: Arc::default(),
            shared: Arc::default(),
            working: Vec::new(),
            threads: self.threads,
            node_profiles: None,
        }
    }

    pub fn try_run(&self, plan: &Plan) -> Result<Vec<Vec<Value>>> {
        self.try_run_in(plan, self.context())
    }

    pub fn try_run_in(&self, plan: &Plan, context: ExecContext) -> Result<Vec<Vec<Value>>> {
        let (plan, columns) = self.finished(plan);
        self.try_run_as_planned(&plan, &columns, context)
    }

    /// The plan with its exchanges, and the columns it has then.
    pub fn finished(&self, plan: &Plan) -> (Plan, Columns) {
        let mut columns = self.columns.clone();
        (finish(plan.clone(), &mut columns, self.threads), columns)
    }

    /// The operators that run a plan.
    pub fn described(&self, plan: &Plan) -> String {
        let (plan, columns) = self.finished(plan);
        crate::describe(&plan, &columns, &self.context()).unwrap()
    }

    /// Runs a plan that has its exchanges.
    pub fn try_run_as_planned(&self, plan: &Plan, columns: &Columns, context: ExecContext) -> Result<Vec<Vec<Value>>> {
        self.collected(plan, || execute(plan, columns, &context))
    }

    /// As [`Query::try_run_as_planned`], with measurements.
    pub fn try_run_measured(&self, plan: &Plan, columns: &Columns, profile: &Profile) -> Result<Vec<Vec<Value>>> {
        self.collected(plan, || execute_measured(plan, columns, &self.context(), profile))
    }

    fn collected(&self, plan: &Plan, start: impl FnOnce() -> Result<RowStream>) -> Result<Vec<Vec<Value>>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let batches: Vec<_> = start()?.try_collect().await?;
            let mut rows = Vec::new();
            for batch in batches {
                assert_eq!(batch.num_columns(), plan.output.len());
                for (column, id) in batch.columns().iter().zip(&plan.output) {
                    assert_eq!(column.data_type(), &crate::arrow_value::arrow_type(&self.columns.ty(*id)));
                }
                for row in 0..batch.num_rows() {
                    rows.push(batch.columns().iter().map(|c| value_at(c.as_ref(), row)).collect::<Result<_>>()?);
                }
            }
            Ok(rows)
        })
    }

    pub fn run(&self, plan: &Plan) -> Vec<Vec<Value>> {
        self.try_run(plan).unwrap()
    }

    /// Rows in an order of their own, for comparison.
    pub fn run_sorted(&self, plan: &Plan) -> Vec<Vec<Value>> {
        sorted(self.run(plan))
    }

    /// The value of an expression without columns.
    pub fn eval(&mut self, expr: Expr) -> Result<Value> {
        let id = self.column(expr.ty(&self.columns));
        let dual = plan(PlanOp::Values { rows: vec![Vec::new()] }, Vec::new());
        let project = plan(PlanOp::Project { input: Box::new(dual), exprs: vec![(id, expr)] }, vec![id]);
        Ok(self.try_run(&project)?.remove(0).remove(0))
    }
}

pub fn plan(op: PlanOp, output: Vec<ColId>) -> Plan {
    Plan::new(op, output, Estimate::default(), Vec::new())
}

pub fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by_cached_key(|r| format!("{r:?}"));
    rows
}

pub fn column(id: ColId) -> Expr {
    Expr::Column(id)
}

pub fn asc(id: ColId) -> SortKey {
    SortKey { expr: column(id), descending: false }
}

pub fn int(i: i64) -> Value {
    Value::Int(i)
}

pub fn text(s: &str) -> Value {
    Value::Text(s.into())
}

/// A number, or NULL.
pub fn opt(i: Option<i64>) -> Value {
    i.map_or(Value::Null, Value::Int)
}
