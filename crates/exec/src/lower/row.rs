//! Nodes that treat each row by itself: Filter, Project, Limit, EarlyStop, UnionAll, Shared.

use super::{Lowerer, Node, df, field_name};
use crate::{
    expr::{Physical, scope::TraitMap},
    ops::{
        early_stop::{EarlyStopExec, ScanWatch},
        project::ProjectExec,
        shared::SharedExec,
        single_rows::SingleRowsExec,
    },
};
use datafusion_physical_expr::conjunction;
use datafusion_physical_plan::{
    ExecutionPlan,
    filter::FilterExecBuilder,
    limit::{GlobalLimitExec, LocalLimitExec},
    union::UnionExec,
};
use muster_algebra::{ColId, Expr, Plan, PlanOp, Scan, ScanBudget};
use muster_types::{Result, SqlError, collation::TextTraits};
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn filter(&mut self, input: &Plan, predicates: &[Expr], output: &[ColId]) -> Result<Node> {
        let node = self.node(input)?;
        self.filter_node(node, predicates, Some(output))
    }

    /// Keeps the rows for which all predicates are TRUE. Those without subqueries are tested first.
    pub(super) fn filter_node(&mut self, node: Node, predicates: &[Expr], output: Option<&[ColId]>) -> Result<Node> {
        let all: Vec<Expr> = predicates.iter().cloned().flat_map(Expr::into_conjuncts).collect();
        let (costly, cheap): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(Expr::runs_apart);
        let cheap_output = if costly.is_empty() { output } else { None };
        let node = self.row_after_row(node, cheap.iter().chain(&costly));
        let mut node = self.plain_filter(node, &cheap, cheap_output)?;
        // One subquery after the other, each for the rows that are left.
        let last = costly.len();
        for (i, predicate) in costly.into_iter().enumerate() {
            let (applied, exprs) = self.with_subplans(node, vec![predicate])?;
            node = self.plain_filter(applied, &exprs, if i + 1 == last { output } else { None })?;
        }
        Ok(node)
    }

    /// The node, with one row in each batch if the expressions over it use user variables.
    fn row_after_row<'e>(&mut self, node: Node, mut exprs: impl Iterator<Item = &'e Expr>) -> Node {
        match exprs.any(Expr::uses_variables) {
            true => {
                self.uses_variables = true;
                Node { exec: Arc::new(SingleRowsExec::new(node.exec)), ..node }
            }
            false => node,
        }
    }

    fn plain_filter(&mut self, node: Node, predicates: &[Expr], output: Option<&[ColId]>) -> Result<Node> {
        if predicates.is_empty() {
            return Ok(node);
        }
        let compiler = self.compiler(&node.scope);
        let tests: Vec<Physical> = predicates.iter().map(|p| compiler.predicate(p)).collect::<Result<_>>()?;
        let mut builder = FilterExecBuilder::new(conjunction(tests), node.exec.clone());
        let mut columns = node.scope.columns.clone();
        if let Some(output) = output
            && output != columns
        {
            let kept = output.iter().map(|id| node.index(*id)).collect::<Result<Vec<_>>>()?;
            builder = df(builder.apply_projection(Some(kept)))?;
            columns = output.to_vec();
        }
        Ok(Node::new(Arc::new(df(builder.build())?), columns, node.scope.traits))
    }

    pub(super) fn project(&mut self, input: &Plan, exprs: &[(ColId, Expr)]) -> Result<Node> {
        let node = self.node(input)?;
        self.project_node(node, exprs)
    }

    pub(super) fn project_node(&mut self, node: Node, exprs: &[(ColId, Expr)]) -> Result<Node> {
        let node = self.row_after_row(node, exprs.iter().map(|(_, e)| e));
        let (node, rewritten) = self.with_subplans(node, exprs.iter().map(|(_, e)| e.clone()).collect())?;
        let (node, rewritten) = self.with_long_texts(node, rewritten)?;
        let compiler = self.compiler(&node.scope);
        let mut traits = TraitMap::new();
        let mut projected: Vec<(Physical, String)> = Vec::with_capacity(exprs.len());
        for ((id, _), expr) in exprs.iter().zip(&rewritten) {
            projected.push((compiler.compile_for_projection(expr, self.columns.ty(*id))?, field_name(*id)));
            if let Some(known) = node.scope.text_traits(expr) {
                traits.insert(*id, known);
            }
        }
        let columns = exprs.iter().map(|(id, _)| *id).collect();
        let exec = df(ProjectExec::new(projected, node.exec))?;
        Ok(Node::new(Arc::new(exec), columns, traits))
    }

    pub(super) fn limit(&mut self, input: &Plan, offset: u64, count: Option<u64>) -> Result<Node> {
        self.portion = count.filter(|_| is_read_row_by_row(input)).map(|count| count.saturating_add(offset));
        let node = self.node(input)?;
        limit_node(node, offset, count)
    }

    /// A scan with a budget, and what takes over beyond it.
    pub(super) fn early_stop(&mut self, input: &Plan, fallback: &Plan, budget: ScanBudget) -> Result<Node> {
        let PlanOp::Scan(Scan { limit: Some(limit), .. }) = &input.op else {
            return Err(SqlError::internal("an early stop of a scan without a limit"));
        };
        let watch = ScanWatch::new(budget, self.counters(input).storage());
        self.watch = Some(watch.clone());
        let Node { exec, scope, .. } = self.node(input)?.single("an early stop")?;
        let fallback = self.node(fallback)?.single("a fallback")?;
        if scope.columns != fallback.scope.columns {
            return Err(SqlError::internal("a fallback with other columns"));
        }
        let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
        let exec = Arc::new(EarlyStopExec::new(exec, fallback.exec, watch, limit));
        Ok(Node::new(exec, scope.columns, scope.traits))
    }

    pub(super) fn union_all(&mut self, inputs: &[Plan], columns: &[Vec<ColId>], output: &[ColId]) -> Result<Node> {
        let mut execs: Vec<Arc<dyn ExecutionPlan>> = Vec::with_capacity(inputs.len());
        let mut traits: Option<Vec<Option<TextTraits>>> = None;
        for (input, ids) in inputs.iter().zip(columns) {
            if ids.len() != output.len() {
                return Err(SqlError::internal("inputs of a union differ in their columns"));
            }
            let node = self.node(input)?;
            let exprs: Vec<(ColId, Expr)> =
                output.iter().copied().zip(ids.iter().map(|id| Expr::Column(*id))).collect();
            let node = self.project_node(node, &exprs)?;
            let of_input: Vec<_> = output.iter().map(|id| node.scope.traits.get(id).copied()).collect();
            traits = Some(match traits {
                None => of_input,
                Some(all) => {
                    let pairs = all.into_iter().zip(of_input);
                    pairs.map(|(a, b)| a.zip(b).map(|(a, b)| TextTraits::merge(a, b))).collect()
                }
            });
            execs.push(node.exec);
        }
        if execs.is_empty() {
            return self.values(&[], output);
        }
        let known = traits.unwrap_or_default();
        let traits = output.iter().zip(known).filter_map(|(id, t)| Some((*id, t?))).collect();
        Ok(Node::new(df(UnionExec::try_new(execs))?, output.to_vec(), traits))
    }

    /// Rows that several places of the statement read.
    pub(super) fn shared(&mut self, plan: &Plan) -> Result<Node> {
        let PlanOp::Shared { id, input, columns, per_run } = &plan.op else {
            return Err(SqlError::internal("not shared rows"));
        };
        let node = self.node(input)?.single("shared rows")?;
        let kept = if *per_run { self.run.of(*id) } else { self.context.shared.of(*id) };
        let exec = SharedExec::new(node.exec, kept, plan.partitions, self.spill_space());
        let node = Node { exec: Arc::new(exec), ..node };
        let exprs: Vec<(ColId, Expr)> =
            plan.output.iter().copied().zip(columns.iter().map(|id| Expr::Column(*id))).collect();
        self.project_node(node, &exprs)
    }
}

/// Returns true if a plan looks rows up for those of a scan in order, one after the other, so that who stops early
/// leaves rows unread.
fn is_read_row_by_row(plan: &Plan) -> bool {
    match &plan.op {
        PlanOp::Project { input, .. } | PlanOp::Filter { input, .. } => is_read_row_by_row(input),
        PlanOp::LookupJoin { left, batched: false, .. } => match &left.op {
            PlanOp::Scan(scan) => scan.ordered,
            _ => is_read_row_by_row(left),
        },
        _ => false,
    }
}

/// Skips `offset` rows and delivers at most `count`; of several partitions, `count` rows of each.
pub(super) fn limit_node(node: Node, offset: u64, count: Option<u64>) -> Result<Node> {
    let rows = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let exec: Arc<dyn ExecutionPlan> = match (node.partitions(), offset, count) {
        (1, ..) => Arc::new(GlobalLimitExec::new(node.exec.clone(), rows(offset), count.map(rows))),
        (_, 0, Some(count)) => Arc::new(LocalLimitExec::new(node.exec.clone(), rows(count))),
        _ => return Err(SqlError::internal("an offset in several partitions")),
    };
    Ok(Node { exec, ..node })
}
