//! From `Plan` to operators.
//!
//! ```text
//!   mod.rs         the walk, and what all nodes share
//!   scan.rs        Scan, Values
//!   row.rs         Filter, Project, Limit, EarlyStop, UnionAll, Shared
//!   exchange.rs    Exchange
//!   join.rs        HashJoin, NestedLoopJoin, MergeJoin
//!   lookup.rs      LookupJoin
//!   aggregate.rs   HashAggregate, PartialAggregate, FinalAggregate, StreamAggregate
//!   calls.rs       aggregate calls taken apart into what is accumulated
//!   recursion.rs   Recursive, Working
//!   rollup.rs      Rollup
//!   sort.rs        Sort
//!   window.rs      Window
//!   dynamic_filters.rs  filters that operators make while they run, handed down to scans
//!   subplans.rs    subqueries that run by themselves, as extra columns
//!   long_texts.rs  long texts that functions make, as extra columns
//!   width.rs       how wide rows are, which decides how many make a batch
//! ```
//!
//! Every node becomes its operator; nothing is decided here, and what cannot run as it was planned is an error. Every
//! node delivers exactly `plan.output`, in as many partitions as were planned; field i of its schema is named after the
//! query column.

mod aggregate;
mod calls;
mod dynamic_filters;
mod exchange;
mod join;
mod long_texts;
mod lookup;
mod recursion;
mod rollup;
mod row;
mod scan;
mod sort;
mod subplans;
mod virtual_scan;
mod width;
mod window;

use crate::QueryCounters;
use crate::{
    ExecContext,
    error::to_sql,
    expr::{Compiler, Physical, Scope, scope::TraitMap, text_memory::TextMemory},
    ops::{
        early_stop::ScanWatch, measure::MeasureExec, order_check::OrderCheckExec, project::ProjectExec,
        shared::SharedRows, spill::SpillSpace,
    },
};
use aggregate::{Accumulated, Grouping};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use datafusion_execution::config::SessionConfig;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties, coop::CooperativeExec};
use muster_algebra::{ColId, ColumnMeta, Columns, Plan, PlanOp};
use muster_types::{Result, SqlError, SqlType};
use std::{borrow::Cow, sync::Arc};

/// Operators that deliver the columns of a scope.
#[derive(Clone)]
pub struct Node {
    pub exec: Arc<dyn ExecutionPlan>,
    pub scope: Scope,
    /// The values that a partial aggregation has accumulated in its rows, which have no columns of the query.
    pub accumulated: Option<Arc<Accumulated>>,
}

impl Node {
    pub fn new(exec: Arc<dyn ExecutionPlan>, columns: Vec<ColId>, traits: TraitMap) -> Node {
        Node { scope: Scope { schema: exec.schema(), columns, traits }, exec, accumulated: None }
    }

    pub fn partitions(&self) -> usize {
        self.exec.output_partitioning().partition_count()
    }

    /// The node, whose rows must be in one partition for an operator to be right.
    pub fn single(self, operator: &str) -> Result<Node> {
        match self.partitions() {
            1 => Ok(self),
            n => Err(SqlError::internal(format!("{operator} over {n} partitions"))),
        }
    }

    /// Exactly these columns, in this order.
    pub fn select(self, outputs: &[ColId]) -> Result<Node> {
        if self.scope.columns == outputs || self.accumulated.is_some() {
            return Ok(self);
        }
        let exprs: Vec<(Physical, String)> = outputs.iter().map(|id| self.column(*id)).collect::<Result<_>>()?;
        let exec = df(ProjectExec::new(exprs, self.exec.clone()))?;
        Ok(Node::new(Arc::new(exec), outputs.to_vec(), self.scope.traits))
    }

    /// The physical column of a query column, and its field's name.
    pub fn column(&self, id: ColId) -> Result<(Physical, String)> {
        let at = self.index(id)?;
        let name = self.scope.schema.field(at).name().clone();
        Ok((Arc::new(Column::new(&name, at)), name))
    }

    pub fn index(&self, id: ColId) -> Result<usize> {
        self.scope.position(id).ok_or_else(|| SqlError::internal(format!("column {} is not in the input", id.0)))
    }
}

pub(crate) fn df<T>(result: datafusion_common::Result<T>) -> Result<T> {
    result.map_err(|e| to_sql(&e, 0))
}

/// Name of the field of a query column.
pub(crate) fn field_name(id: ColId) -> String {
    format!("c{}", id.0)
}

/// Lowers one plan.
pub struct Lowerer<'a> {
    pub context: &'a ExecContext,
    /// The statement's columns and, behind them, those made up while lowering.
    pub columns: Cow<'a, Columns>,
    texts: Arc<TextMemory>,
    /// Estimated bytes of a row of all leaves together: without long texts no row of the plan is much wider.
    row_bytes: f64,
    /// Estimated bytes of the long texts that functions make for a row.
    text_bytes: usize,
    /// Rows that are computed once for several places of this run.
    run: SharedRows,
    /// Columns that the scan lowered next may deliver as dictionaries.
    coded: Vec<ColId>,
    /// So many rows, or not many more, are wanted of the scan that is lowered next.
    portion: Option<u64>,
    /// Watches the scan that is lowered next, to end it when it has read too much.
    watch: Option<Arc<ScanWatch>>,
    /// The node lowered next is a join by lookup whose rows go into the join buffer of another one.
    linked: bool,
    /// An expression lowered so far uses user variables.
    uses_variables: bool,
}

/// A plan ready to run.
pub struct Lowered {
    /// One partition.
    pub operators: Arc<dyn ExecutionPlan>,
    pub config: SessionConfig,
}

/// The finished operators of a plan.
pub fn lower(plan: &Plan, columns: &Columns, context: &ExecContext) -> Result<Lowered> {
    let texts = context.runtime.text_memory(context.threads, context.text_bytes_max);
    let run = SharedRows::default();
    let mut lowerer = Lowerer {
        context,
        columns: Cow::Borrowed(columns),
        texts,
        row_bytes: 0.0,
        text_bytes: 0,
        run,
        coded: Vec::new(),
        portion: None,
        watch: None,
        linked: false,
        uses_variables: false,
    };
    let node = lowerer.node(plan)?.single("a result")?;
    let mut batch_rows = context.runtime.batch_rows(context.threads, lowerer.row_bytes);
    if let Some(rows) = context.runtime.batch_bytes(context.threads).checked_div(lowerer.text_bytes) {
        // Operators collect batches in many places: of such rows even one at a time.
        batch_rows = rows.clamp(1, batch_rows);
    }
    if lowerer.uses_variables {
        // A value that one row assigns is read by the next one, in all operators.
        batch_rows = 1;
    }
    let config = context.runtime.session_config(context.threads, batch_rows);
    let operators = df(dynamic_filters::hand_down(node.exec, config.options()))?;
    Ok(Lowered { operators, config })
}

impl Lowerer<'_> {
    pub fn node(&mut self, plan: &Plan) -> Result<Node> {
        let node = match &plan.op {
            PlanOp::Scan(scan) => self.scan(plan, scan)?,
            PlanOp::Values { rows } => self.values(rows, &plan.output)?,
            PlanOp::Filter { input, predicates } => self.filter(input, predicates, &plan.output)?,
            PlanOp::Project { input, exprs } => self.project(input, exprs)?,
            PlanOp::HashJoin { kind, left, right, keys, residual, build } => {
                self.hash_join(plan, *kind, left, right, keys, residual, *build)?
            }
            PlanOp::LookupJoin { .. } => self.lookup_join(plan)?,
            PlanOp::NestedLoopJoin { kind, left, right, on } => self.nested_loop_join(*kind, left, right, on)?,
            PlanOp::MergeJoin { kind, left, right, keys, residual } => {
                self.merge_join(plan, *kind, left, right, keys, residual)?
            }
            PlanOp::HashAggregate { input, group, aggregates } => {
                self.hash_aggregate(Grouping { input, group, aggregates })?
            }
            PlanOp::PartialAggregate { input, group, aggregates } => {
                self.partial_aggregate(Grouping { input, group, aggregates })?
            }
            PlanOp::FinalAggregate { input, .. } => self.final_aggregate(input)?,
            PlanOp::StreamAggregate { input, group, aggregates } => {
                self.stream_aggregate(Grouping { input, group, aggregates })?
            }
            PlanOp::Working { table, .. } => self.working(plan, *table)?,
            PlanOp::Recursive { input, recursion } => self.recursive(input, recursion)?,
            PlanOp::Rollup { input, rollup } => self.rollup(input, rollup)?,
            PlanOp::Window { input, window } => self.window(input, window)?,
            PlanOp::Lateral { input, rows, keeps } => self.lateral(input, rows, *keeps)?,
            PlanOp::JsonTable { input, table, keeps } => self.json_table(input, table, *keeps)?,
            PlanOp::Sort { input, keys, fetch } => self.sort(input, keys, *fetch)?,
            PlanOp::Limit { input, offset, count } => self.limit(input, *offset, *count)?,
            PlanOp::EarlyStop { input, fallback, budget } => self.early_stop(input, fallback, *budget)?,
            PlanOp::UnionAll { inputs, columns } => self.union_all(inputs, columns, &plan.output)?,
            // Measured where it is made, since joins make their own.
            PlanOp::Exchange { input, .. } => {
                let node = self.node(input)?;
                return self.exchange(plan, node, None);
            }
            PlanOp::Shared { .. } => self.shared(plan)?,
        };
        let node = match &plan.op {
            // Rows joined without end must let others run, and themselves be stopped.
            PlanOp::HashJoin { .. }
            | PlanOp::LookupJoin { .. }
            | PlanOp::NestedLoopJoin { .. }
            | PlanOp::Lateral { .. }
            | PlanOp::JsonTable { .. }
            | PlanOp::MergeJoin { .. } => Node { exec: Arc::new(CooperativeExec::new(node.exec)), ..node },
            _ => node,
        };
        let node = node.select(&plan.output)?;
        self.finished(plan, node)
    }

    /// The node with what watches it, if it keeps what the plan promises.
    fn finished(&self, plan: &Plan, node: Node) -> Result<Node> {
        let partitions = node.partitions();
        if partitions != plan.partitions {
            let (id, planned) = (plan.id.0, plan.partitions);
            return Err(SqlError::internal(format!("node {id} has {partitions} partitions instead of {planned}")));
        }
        let node = if cfg!(debug_assertions) { self.checked_order(plan, node)? } else { node };
        Ok(match &self.context.node_profiles {
            Some(profiles) => Node { exec: Arc::new(MeasureExec::new(node.exec, profiles.node(plan.id))), ..node },
            None => node,
        })
    }

    /// The node, which answers with an error where its rows are not in the order that the plan promises.
    fn checked_order(&self, plan: &Plan, node: Node) -> Result<Node> {
        if plan.order.is_empty() {
            return Ok(node);
        }
        let node = node.single("an order")?;
        let compiler = self.compiler(&node.scope);
        let keys = plan.order.iter().map(|key| Ok((compiler.ordering_key(&key.expr)?, key.descending)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        Ok(Node { exec: Arc::new(OrderCheckExec::new(node.exec, plan.id, keys)), ..node })
    }

    /// The counters of a node of the plan.
    pub fn counters(&self, plan: &Plan) -> Arc<QueryCounters> {
        match &self.context.node_profiles {
            Some(profiles) => profiles.node(plan.id).counters.clone(),
            None => self.context.counters.clone(),
        }
    }

    pub fn threads(&self) -> usize {
        self.context.threads.max(1)
    }

    /// The files that operators of this query spill to.
    pub fn spill_space(&self) -> SpillSpace {
        self.context.runtime.spill_space(self.threads(), &self.context.counters)
    }

    pub fn compiler<'s>(&'s self, scope: &'s Scope) -> Compiler<'s> {
        let ExecContext { warnings, said_insert_id, user_variables, .. } = self.context;
        Compiler { columns: &self.columns, scope, warnings, texts: &self.texts, said_insert_id, user_variables }
    }

    /// A column that the statement does not have.
    pub fn new_column(&mut self, ty: SqlType) -> ColId {
        self.columns.to_mut().add(ColumnMeta { name: String::new(), ty, nullable: true, origin: None, decimals: None })
    }

    pub fn field(&self, id: ColId, nullable: bool) -> FieldRef {
        Arc::new(Field::new(field_name(id), crate::arrow_value::arrow_type(&self.columns.ty(id)), nullable))
    }

    pub fn schema(&self, ids: &[ColId]) -> SchemaRef {
        Arc::new(Schema::new(ids.iter().map(|id| self.field(*id, true)).collect::<Vec<_>>()))
    }
}
