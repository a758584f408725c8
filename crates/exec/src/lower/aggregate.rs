//! GROUP BY.
//!
//! A text is grouped by its bytes when they decide equality under its collation, else by its sort key; the value shown
//! is then the group's first.

use super::{
    Lowerer, Node,
    calls::{Finish, Parts},
    df, field_name,
};
use crate::{
    agg::Kind,
    expr::{Physical, Scope, codes::coded_key, scope::TraitMap},
    ops::{
        group::{GroupExec, Method},
        project::ProjectExec,
    },
};
use arrow_schema::SchemaRef;
use datafusion_physical_expr::{
    aggregate::{AggregateExprBuilder, AggregateFunctionExpr},
    expressions::Column,
};
use datafusion_physical_plan::{
    ExecutionPlan,
    aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy},
};
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Expr, Plan, PlanOp};
use muster_types::{Result, SqlError};
use std::sync::Arc;

/// The task of an aggregation, as its node in the plan says.
#[derive(Clone, Copy)]
pub(super) struct Grouping<'a> {
    pub input: &'a Plan,
    pub group: &'a [ColId],
    pub aggregates: &'a [(ColId, AggregateCall)],
}

/// The values that an aggregation accumulates, and how its results are computed from them.
pub struct Accumulated {
    /// Columns by which rows are grouped.
    group: Vec<ColId>,
    by: PhysicalGroupBy,
    functions: Vec<Arc<AggregateFunctionExpr>>,
    /// For each group column: the accumulated part that holds its shown value, if that is not the key itself.
    shown: Vec<Option<usize>>,
    results: Vec<(ColId, Finish)>,
    /// The known traits of the texts of the results.
    traits: TraitMap,
    /// The schema of the rows that are aggregated.
    input: SchemaRef,
}

impl Accumulated {
    /// The keys of groups, in rows of a partial aggregation.
    pub fn group_keys(&self) -> Vec<Physical> {
        self.by.as_final().expr().iter().map(|(key, _)| key.clone()).collect()
    }
}

impl Lowerer<'_> {
    /// Groups of each partition, found by hash.
    pub(super) fn hash_aggregate(&mut self, grouping: Grouping<'_>) -> Result<Node> {
        self.coded = codable(grouping);
        let (node, accumulated) = self.accumulated(grouping)?;
        let mode = match node.partitions() {
            1 => AggregateMode::Single,
            _ if grouping.group.is_empty() => return Err(SqlError::internal("one group in several partitions")),
            _ => AggregateMode::SinglePartitioned,
        };
        let exec = self.grouped(mode, accumulated.by.clone(), &accumulated, node.exec)?;
        self.results(exec, &accumulated)
    }

    /// Groups that end where the next begins.
    pub(super) fn stream_aggregate(&mut self, grouping: Grouping<'_>) -> Result<Node> {
        let (node, accumulated) = self.accumulated(grouping)?;
        if grouping.group.is_empty() {
            return Err(SqlError::internal("an aggregate in the order of no group"));
        }
        let exec = node.single("an aggregate in the order of its groups")?.exec;
        let plan = aggregate_exec(AggregateMode::Single, accumulated.by.clone(), &accumulated, exec)?;
        self.results(Arc::new(df(GroupExec::new(Arc::new(plan), Method::Order))?), &accumulated)
    }

    /// Accumulates each group in each partition.
    pub(super) fn partial_aggregate(&mut self, grouping: Grouping<'_>) -> Result<Node> {
        self.coded = codable(grouping);
        let (node, accumulated) = self.accumulated(grouping)?;
        let exec = self.grouped(AggregateMode::Partial, accumulated.by.clone(), &accumulated, node.exec)?;
        Ok(Node { accumulated: Some(Arc::new(accumulated)), ..Node::new(exec, Vec::new(), TraitMap::new()) })
    }

    /// The results, from what several partitions have accumulated.
    pub(super) fn final_aggregate(&mut self, input: &Plan) -> Result<Node> {
        let node = self.node(input)?;
        let Some(accumulated) = node.accumulated.clone() else {
            return Err(SqlError::internal("a final aggregation of rows that nobody has accumulated"));
        };
        let by = accumulated.by.as_final();
        let (node, mode) = match by.expr().is_empty() {
            true => (node.single("one group")?, AggregateMode::Final),
            false => (node, AggregateMode::FinalPartitioned),
        };
        let exec = self.grouped(mode, by, &accumulated, node.exec)?;
        self.results(exec, &accumulated)
    }

    /// The input of an aggregation, and what is accumulated of its rows.
    fn accumulated(&mut self, grouping: Grouping<'_>) -> Result<(Node, Accumulated)> {
        let Grouping { input, group, aggregates } = grouping;
        let node = self.node(input)?;
        let (node, calls) = self.with_computed_args(node, aggregates)?;
        let mut parts = Parts::default();
        let compiler = self.compiler(&node.scope);
        let mut keys: Vec<(Physical, String)> = Vec::with_capacity(group.len());
        let mut shown: Vec<Option<usize>> = Vec::with_capacity(group.len());
        for id in group {
            let expr = Expr::Column(*id);
            let (key, differs) = compiler.grouping_key(&expr)?;
            let (ty, nullable) = (df(key.data_type(&node.scope.schema))?, df(key.nullable(&node.scope.schema))?);
            let key = coded_key(&key, &ty, nullable).unwrap_or(key);
            keys.push((key, field_name(*id)));
            shown.push(match differs {
                false => None,
                true => {
                    let column = compiler.compile(&expr)?;
                    let ty = df(column.data_type(&node.scope.schema))?;
                    Some(parts.add(Kind::AnyValue(ty), vec![column]))
                }
            });
        }
        let mut traits: TraitMap = group.iter().filter_map(|id| Some((*id, *node.scope.traits.get(id)?))).collect();
        let mut results = Vec::with_capacity(calls.len());
        for (id, call) in &calls {
            results.push((*id, self.call_parts(call, &node.scope, &mut parts)?));
            let kept =
                matches!(call.function, AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue);
            if kept && let Some(known) = call.args.first().and_then(|a| node.scope.text_traits(a)) {
                traits.insert(*id, known);
            }
        }
        let functions = functions(&parts, &node.scope.schema)?;
        let (input, by) = (node.exec.schema(), PhysicalGroupBy::new_single(keys));
        let accumulated = Accumulated { group: group.to_vec(), by, functions, shown, results, traits, input };
        Ok((node, accumulated))
    }

    /// The columns of the query, from group keys and accumulated parts, which come in this order.
    fn results(&self, exec: Arc<dyn ExecutionPlan>, accumulated: &Accumulated) -> Result<Node> {
        let Accumulated { group, shown, results, traits, .. } = accumulated;
        let scope = Scope { schema: exec.schema(), columns: Vec::new(), traits: TraitMap::new() };
        let column = |at: usize| Column::new(scope.schema.field(at).name(), at);
        let part = |i: usize| column(group.len() + i);
        let mut outputs: Vec<(Physical, String)> = Vec::with_capacity(group.len() + results.len());
        for (i, id) in group.iter().enumerate() {
            let shown = shown[i].map_or_else(|| column(i), part);
            outputs.push((Arc::new(shown), field_name(*id)));
        }
        for (id, finish) in results {
            outputs.push((self.finish(finish, self.columns.ty(*id), &scope, part)?, field_name(*id)));
        }
        let columns = group.iter().copied().chain(results.iter().map(|(id, _)| *id)).collect();
        let exec = df(ProjectExec::new(outputs, exec))?;
        Ok(Node::new(Arc::new(exec), columns, traits.clone()))
    }

    /// Makes the operator of an aggregation. One with keys can spill.
    fn grouped(
        &self,
        mode: AggregateMode,
        by: PhysicalGroupBy,
        accumulated: &Accumulated,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = Arc::new(aggregate_exec(mode, by, accumulated, input)?);
        let method = match plan.group_expr().is_true_no_grouping() {
            true => Method::Whole,
            false => Method::Hash(self.spill_space()),
        };
        Ok(Arc::new(df(GroupExec::new(plan, method))?))
    }

    /// The calls, with columns that the returned node computes in place of subplans and long texts.
    fn with_computed_args(
        &mut self,
        node: Node,
        aggregates: &[(ColId, AggregateCall)],
    ) -> Result<(Node, Vec<(ColId, AggregateCall)>)> {
        let mut calls = aggregates.to_vec();
        let mut slots: Vec<&mut Expr> = Vec::new();
        for (_, call) in &mut calls {
            slots.extend(call.args.iter_mut());
            if let AggregateFunction::GroupConcat { order, .. } = &mut call.function {
                slots.extend(order.iter_mut().map(|k| &mut k.expr));
            }
        }
        let (node, exprs) = self.with_subplans(node, slots.iter().map(|e| (**e).clone()).collect())?;
        let (node, exprs) = self.with_long_texts(node, exprs)?;
        slots.into_iter().zip(exprs).for_each(|(slot, expr)| *slot = expr);
        Ok((node, calls))
    }
}

/// The group columns that a scan may deliver as dictionaries: nothing but the groups is made of them.
fn codable(grouping: Grouping<'_>) -> Vec<ColId> {
    let Grouping { input, group, aggregates } = grouping;
    if !matches!(input.op, PlanOp::Scan(_)) {
        return Vec::new();
    }
    let mut used: Vec<ColId> = Vec::new();
    for (_, call) in aggregates {
        used.extend(call.args.iter().flat_map(Expr::columns));
        if let AggregateFunction::GroupConcat { order, .. } = &call.function {
            used.extend(order.iter().flat_map(|key| key.expr.columns()));
        }
    }
    group.iter().copied().filter(|id| !used.contains(id)).collect()
}

fn functions(parts: &Parts, schema: &SchemaRef) -> Result<Vec<Arc<AggregateFunctionExpr>>> {
    let build = |(i, part): (usize, &super::calls::Part)| {
        let builder = AggregateExprBuilder::new(part.function.clone(), part.args.clone())
            .schema(schema.clone())
            .alias(format!("a{i}"));
        Ok(Arc::new(df(builder.build())?))
    };
    parts.list.iter().enumerate().map(build).collect()
}

fn aggregate_exec(
    mode: AggregateMode,
    by: PhysicalGroupBy,
    accumulated: &Accumulated,
    input: Arc<dyn ExecutionPlan>,
) -> Result<AggregateExec> {
    let functions = accumulated.functions.clone();
    let filters = vec![None; functions.len()];
    df(AggregateExec::try_new(mode, by, functions, filters, input, accumulated.input.clone()))
}
