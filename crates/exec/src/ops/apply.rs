//! One more column per row, for which something else has to run: a subquery, or time.
//!
//! A subquery without parameters runs once for all partitions, when the first row asks. One with parameters runs once
//! per distinct combination of their values, with those values in place of the outer columns; answers are kept while
//! they fit [`CACHE_ENTRIES`].

mod answer;
mod benchmark;
mod members;

use super::{
    only,
    plan_methods::{columns_beside_input, no_expressions},
    unordered_like,
};
use crate::{ExecContext, SessionCalls, arrow_value, bind::bind, error::external, expr::Physical, runtime::BATCH_ROWS};
use answer::Answer;
use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types::Float64Type};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
pub use benchmark::Benchmark;
use datafusion_common::Result;
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    stream::RecordBatchStreamAdapter,
};
use futures::{StreamExt, TryStreamExt};
use muster_algebra::{ColId, Columns, Expr, Plan, SessionFunction, SubqueryKind};
use muster_types::{SqlType, Value};
use parking_lot::Mutex;
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

/// Answers of a subquery with parameters that are kept.
const CACHE_ENTRIES: usize = 65_536;

/// An outer column that a subquery mentions.
#[derive(Debug, Clone)]
pub struct Param {
    pub id: ColId,
    /// Position of the column in the input.
    pub column: usize,
    pub ty: SqlType,
}

/// A subquery and what it takes to run it.
#[derive(Clone)]
pub struct SubplanColumn {
    pub kind: SubqueryKind,
    pub plan: Plan,
    /// Place in the plan's output and type of each column the expression uses.
    pub outputs: Vec<(usize, SqlType)>,
    pub params: Vec<Param>,
    /// Left side of IN or of the comparison, over the input.
    pub left: Vec<(Physical, SqlType)>,
    pub columns: Columns,
    pub context: ExecContext,
    /// True if it has the same rows whenever it runs with the same parameters, and running it does nothing else.
    pub is_repeatable: bool,
}

/// The expression that computes the column.
#[derive(Clone)]
pub enum Applied {
    Subplan(Box<SubplanColumn>),
    /// Waits this many seconds for each row; 0.
    Sleep(Physical),
    Benchmark(Benchmark),
    Session(SessionColumn),
}

/// A function that the session answers for each row, and its arguments.
#[derive(Clone)]
pub struct SessionColumn {
    pub function: SessionFunction,
    pub args: Vec<Physical>,
    pub calls: Arc<dyn SessionCalls>,
}

/// Answers so far, shared by all partitions.
#[derive(Default)]
struct Answers {
    /// The answer of a subquery without parameters.
    only: tokio::sync::OnceCell<Arc<Answer>>,
    by_params: Mutex<HashMap<Box<[u8]>, Arc<Answer>>>,
}

/// The operator: its input's columns and then the new one.
pub struct ApplyExec {
    input: Arc<dyn ExecutionPlan>,
    applied: Applied,
    ty: SqlType,
    answers: Arc<Answers>,
    properties: Arc<PlanProperties>,
}

impl ApplyExec {
    /// `schema`: the input's with the new column, of type `ty`, behind it.
    pub fn new(input: Arc<dyn ExecutionPlan>, schema: SchemaRef, applied: Applied, ty: SqlType) -> Result<ApplyExec> {
        let properties = unordered_like(&*input, schema);
        Ok(ApplyExec { input, applied, ty, answers: Arc::default(), properties })
    }
}

impl DisplayAs for ApplyExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.applied {
            Applied::Subplan(s) => write!(f, "ApplyExec: subquery of {} parameters", s.params.len()),
            Applied::Sleep(seconds) => write!(f, "ApplyExec: sleep({seconds})"),
            Applied::Benchmark(benchmark) => write!(f, "ApplyExec: benchmark({})", benchmark.repeated),
            Applied::Session(session) => write!(f, "ApplyExec: {:?}", session.function),
        }
    }
}

impl ExecutionPlan for ApplyExec {
    fn name(&self) -> &str {
        "ApplyExec"
    }

    columns_beside_input!();
    no_expressions!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ApplyExec::new(only(children)?, self.schema(), self.applied.clone(), self.ty)?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        let worker = Arc::new(Worker {
            applied: self.applied.clone(),
            ty: self.ty,
            answers: self.answers.clone(),
            memory: MemoryConsumer::new("subquery").register(context.memory_pool()),
            schema: self.schema(),
        });
        let stream = input.then(move |batch| {
            let worker = worker.clone();
            async move { worker.extend(batch?).await }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

struct Worker {
    applied: Applied,
    ty: SqlType,
    answers: Arc<Answers>,
    memory: MemoryReservation,
    schema: SchemaRef,
}

impl Worker {
    async fn extend(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let column = match &self.applied {
            Applied::Subplan(subplan) => self.subplan(subplan, &batch).await?,
            Applied::Sleep(seconds) => sleep(seconds, &batch, self.ty).await?,
            Applied::Benchmark(benchmark) => benchmark.column(&batch, self.ty).await?,
            Applied::Session(session) => session_column(session, &batch, self.ty).await?,
        };
        let columns = batch.columns().iter().cloned().chain([column]).collect();
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    async fn subplan(&self, subplan: &SubplanColumn, batch: &RecordBatch) -> Result<ArrayRef> {
        let rows = batch.num_rows();
        let left: Vec<ArrayRef> =
            subplan.left.iter().map(|(e, _)| e.evaluate(batch)?.into_array(rows)).collect::<Result<_>>()?;
        let mut results: Vec<Value> = Vec::with_capacity(rows);
        if subplan.params.is_empty() && subplan.is_repeatable {
            if rows > 0 {
                let none = HashMap::new();
                let run = || self.run(subplan, &none, subplan.context.threads);
                let answer = self.answers.only.get_or_try_init(run).await?.clone();
                for row in 0..rows {
                    results.push(answer.of_row(&left, row).map_err(external)?);
                }
            }
            return arrow_value::array_of(&results, self.ty).map_err(external);
        }
        let params: Vec<ArrayRef> = subplan.params.iter().map(|p| batch.column(p.column).clone()).collect();
        let fields = params.iter().map(|p| SortField::new(p.data_type().clone())).collect();
        let keys = RowConverter::new(fields)?.convert_columns(&params)?;
        for row in 0..rows {
            let key = keys.row(row).data();
            let known = self.answers.by_params.lock().get(key).filter(|_| subplan.is_repeatable).cloned();
            let answer = match known {
                Some(answer) => answer,
                None => {
                    let mut values = HashMap::new();
                    for (param, array) in subplan.params.iter().zip(&params) {
                        let value = arrow_value::value_at(array.as_ref(), row).map_err(external)?;
                        values.insert(param.id, Expr::literal(value, param.ty));
                    }
                    // Small and many: tasks would cost more than they bring.
                    let answer = self.run(subplan, &values, 1).await?;
                    let mut cache = self.answers.by_params.lock();
                    if cache.len() >= CACHE_ENTRIES {
                        cache.clear();
                    }
                    cache.insert(key.into(), answer.clone());
                    answer
                }
            };
            results.push(answer.of_row(&left, row).map_err(external)?);
        }
        arrow_value::array_of(&results, self.ty).map_err(external)
    }

    async fn run(&self, subplan: &SubplanColumn, values: &HashMap<ColId, Expr>, threads: usize) -> Result<Arc<Answer>> {
        let mut plan = subplan.plan.clone();
        if !values.is_empty() {
            bind(&mut plan, values);
        }
        let context = ExecContext { threads, ..subplan.context.clone() };
        let mut rows = crate::execute(&plan, &subplan.columns, &context).map_err(external)?;
        let left: Vec<SqlType> = subplan.left.iter().map(|(_, ty)| *ty).collect();
        let mut answer = Answer::new(subplan.kind.clone(), &left, &subplan.outputs);
        while let Some(batch) = rows.try_next().await.map_err(external)? {
            let grown = answer.add(&batch).map_err(external)?;
            // Answers with parameters are small or short-lived; a large set is accounted for.
            if grown > BATCH_ROWS {
                self.memory.try_grow(grown)?;
            }
        }
        Ok(Arc::new(answer))
    }
}

/// The answers of the session, row by row.
async fn session_column(session: &SessionColumn, batch: &RecordBatch, ty: SqlType) -> Result<ArrayRef> {
    let rows = batch.num_rows();
    let evaluate = |arg: &Physical| arg.evaluate(batch)?.into_array(rows);
    let args: Vec<ArrayRef> = session.args.iter().map(evaluate).collect::<Result<_>>()?;
    let mut results = Vec::with_capacity(rows);
    for row in 0..rows {
        let values = args.iter().map(|arg| arrow_value::value_at(arg.as_ref(), row));
        let values = values.collect::<muster_types::Result<Vec<_>>>().map_err(external)?;
        results.push(session.calls.call(session.function, values).await.map_err(external)?);
    }
    arrow_value::array_of(&results, ty).map_err(external)
}

/// MySQL ignores NULL and negative times here with an error or at once; we wait for what is positive.
async fn sleep(seconds: &Physical, batch: &RecordBatch, ty: SqlType) -> Result<ArrayRef> {
    let rows = batch.num_rows();
    let seconds = seconds.evaluate(batch)?.into_array(rows)?;
    let seconds = seconds.as_primitive::<Float64Type>();
    for row in 0..rows {
        if seconds.is_valid(row)
            && let Ok(time) = Duration::try_from_secs_f64(seconds.value(row))
            // The timer would take a millisecond for it.
            && !time.is_zero()
        {
            tokio::time::sleep(time).await;
        }
    }
    arrow_value::array_of(&vec![Value::Int(0); rows], ty).map_err(external)
}
