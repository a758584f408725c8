//! GROUP BY: partial aggregation in every partition, rows of a group brought together by hash, final aggregation.
//!
//! A text is grouped by its bytes when they decide equality under its collation, else by its sort key; the value shown
//! is then the group's first. DISTINCT over one list of arguments becomes two levels of grouping, which can spill.

use super::{
    Lowerer, Node,
    calls::{Finish, Parts},
    df, field_name,
};
use crate::{
    agg::Kind,
    expr::{Physical, Scope, scope::TraitMap},
    ops::group::{GroupExec, Method},
};
use arrow_schema::SchemaRef;
use datafusion_physical_expr::{
    aggregate::{AggregateExprBuilder, AggregateFunctionExpr},
    expressions::Column,
};
use datafusion_physical_plan::{
    ExecutionPlan, ExecutionPlanProperties,
    aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy},
    coalesce_partitions::CoalescePartitionsExec,
    projection::ProjectionExec,
};
use muster_algebra::{AggregateCall, AggregateFunction, ArithmeticOp, ColId, Expr, Plan, PlanOp, ScalarFunction};
use muster_types::{Result, SqlType};
use std::sync::Arc;

/// Partial aggregation is skipped when it is expected to leave at least this part of so many rows.
const NO_PARTIAL_SHARE: f64 = 0.5;
const NO_PARTIAL_ROWS: f64 = 200_000.0;

impl Lowerer<'_> {
    pub(super) fn aggregate(
        &mut self,
        plan: &Plan,
        input: &Plan,
        group: &[ColId],
        aggregates: &[(ColId, AggregateCall)],
        ordered: bool,
    ) -> Result<Node> {
        if !ordered && let Some(two_levels) = self.split_distinct(plan, input, group, aggregates) {
            return self.node(&two_levels);
        }
        let node = self.node(input)?;
        let (node, calls) = self.with_computed_args(node, aggregates)?;
        let mut parts = Parts::default();
        let compiler = self.compiler(&node.scope);
        let mut keys: Vec<(Physical, String)> = Vec::with_capacity(group.len());
        // For each group column: the part that holds its shown value, if that is not the key itself.
        let mut shown: Vec<Option<usize>> = Vec::with_capacity(group.len());
        for id in group {
            let expr = Expr::Column(*id);
            let (key, differs) = compiler.grouping_key(&expr)?;
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
        let finishes: Vec<Finish> =
            calls.iter().map(|(_, call)| self.call_parts(call, &node.scope, &mut parts)).collect::<Result<_>>()?;
        let functions = functions(&parts, &node.scope.schema)?;
        let exec = if ordered {
            self.streaming(node.clone(), keys, functions)?
        } else {
            let many_groups =
                input.estimate.rows > NO_PARTIAL_ROWS && plan.estimate.rows > input.estimate.rows * NO_PARTIAL_SHARE;
            self.hashed(node.exec.clone(), keys, functions, many_groups)?
        };
        // Group keys come first, then the parts.
        let scope = Scope { schema: exec.schema(), columns: Vec::new(), traits: TraitMap::new() };
        let column = |at: usize| Column::new(scope.schema.field(at).name(), at);
        let part = |i: usize| column(group.len() + i);
        let mut outputs: Vec<(Physical, String)> = Vec::with_capacity(group.len() + calls.len());
        for (i, id) in group.iter().enumerate() {
            let shown = shown[i].map_or_else(|| column(i), part);
            outputs.push((Arc::new(shown), field_name(*id)));
        }
        let mut traits: TraitMap = group.iter().filter_map(|id| Some((*id, *node.scope.traits.get(id)?))).collect();
        for ((id, call), finish) in calls.iter().zip(&finishes) {
            outputs.push((self.finish(finish, self.columns.ty(*id), &scope, part)?, field_name(*id)));
            let kept =
                matches!(call.function, AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue);
            if kept && let Some(known) = call.args.first().and_then(|a| node.scope.text_traits(a)) {
                traits.insert(*id, known);
            }
        }
        let columns = group.iter().copied().chain(calls.iter().map(|(id, _)| *id)).collect();
        let exec = df(ProjectionExec::try_new(outputs, exec))?;
        Ok(Node::new(Arc::new(exec), columns, traits))
    }

    /// Groups end where the next begins.
    fn streaming(
        &self,
        node: Node,
        keys: Vec<(Physical, String)>,
        functions: Vec<Arc<AggregateFunctionExpr>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if keys.is_empty() || node.partitions() > 1 {
            return self.hashed(node.exec, keys, functions, false);
        }
        let schema = node.exec.schema();
        let by = PhysicalGroupBy::new_single(keys);
        let plan = aggregate_exec(AggregateMode::Single, by, functions, node.exec, schema)?;
        Ok(Arc::new(df(GroupExec::new(Arc::new(plan), Method::Order))?))
    }

    fn hashed(
        &self,
        input: Arc<dyn ExecutionPlan>,
        keys: Vec<(Physical, String)>,
        functions: Vec<Arc<AggregateFunctionExpr>>,
        many_groups: bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = input.schema();
        if input.output_partitioning().partition_count() == 1 {
            return self.grouped(AggregateMode::Single, PhysicalGroupBy::new_single(keys), functions, input, schema);
        }
        if many_groups && !keys.is_empty() {
            let exprs = keys.iter().map(|(k, _)| k.clone()).collect();
            let spread = self.exchange(input, exprs);
            let by = PhysicalGroupBy::new_single(keys);
            return self.grouped(AggregateMode::SinglePartitioned, by, functions, spread, schema);
        }
        let by = PhysicalGroupBy::new_single(keys);
        let last = by.as_final();
        let partial = self.grouped(AggregateMode::Partial, by, functions.clone(), input, schema.clone())?;
        let (mode, together): (_, Arc<dyn ExecutionPlan>) = if last.expr().is_empty() {
            (AggregateMode::Final, Arc::new(CoalescePartitionsExec::new(partial)))
        } else {
            let exprs = last.expr().iter().map(|(k, _)| k.clone()).collect();
            (AggregateMode::FinalPartitioned, self.exchange(partial, exprs))
        };
        self.grouped(mode, last, functions, together, schema)
    }

    /// With keys, an operator that spills.
    fn grouped(
        &self,
        mode: AggregateMode,
        by: PhysicalGroupBy,
        functions: Vec<Arc<AggregateFunctionExpr>>,
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = Arc::new(aggregate_exec(mode, by, functions, input, schema)?);
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

    /// DISTINCT as two levels: first one row per group and distinct value, then the rows of each group. `None` when
    /// there is no DISTINCT that needs it, or the calls do not all fit.
    fn split_distinct(
        &mut self,
        plan: &Plan,
        input: &Plan,
        group: &[ColId],
        aggregates: &[(ColId, AggregateCall)],
    ) -> Option<Plan> {
        let distinct: Vec<&AggregateCall> =
            aggregates.iter().map(|(_, c)| c).filter(|c| c.distinct && distinct_matters(&c.function)).collect();
        let args = &distinct.first()?.args;
        if distinct.iter().any(|c| c.args != *args) || !aggregates.iter().all(|(_, c)| splits(c)) {
            return None;
        }
        let node = |op: PlanOp, output: Vec<ColId>| Plan { op, output, estimate: plan.estimate, order: Vec::new() };
        // The distinct values, as columns.
        let mut below: Vec<(ColId, Expr)> = input.output.iter().map(|id| (*id, Expr::Column(*id))).collect();
        let mut values: Vec<ColId> = Vec::with_capacity(args.len());
        for arg in args {
            values.push(match arg {
                Expr::Column(id) => *id,
                expr => {
                    let id = self.new_column(expr.ty(&self.columns));
                    below.push((id, expr.clone()));
                    id
                }
            });
        }
        let mut inner_group = group.to_vec();
        values.iter().for_each(|id| {
            if !inner_group.contains(id) {
                inner_group.push(*id);
            }
        });
        let mut inner: Vec<(ColId, AggregateCall)> = Vec::new();
        let mut outer: Vec<(ColId, AggregateCall)> = Vec::new();
        let mut results: Vec<(ColId, Expr)> = group.iter().map(|id| (*id, Expr::Column(*id))).collect();
        let call = |function: AggregateFunction, args: Vec<Expr>, ty: SqlType| AggregateCall {
            function,
            args,
            distinct: false,
            ty,
        };
        for (id, c) in aggregates {
            if c.distinct && distinct_matters(&c.function) {
                let args = values.iter().map(|id| Expr::Column(*id)).collect();
                outer.push((*id, call(c.function.clone(), args, c.ty)));
                results.push((*id, Expr::Column(*id)));
                continue;
            }
            // One column below and one above for each thing accumulated.
            let mut both = |this: &mut Self, first: AggregateCall, second: AggregateFunction| {
                let ty = first.ty;
                let (a, b) = (this.new_column(ty), this.new_column(ty));
                inner.push((a, first));
                outer.push((b, call(second, vec![Expr::Column(a)], ty)));
                b
            };
            let zero_if_null = |id: ColId| Expr::Call {
                function: ScalarFunction::Coalesce,
                args: vec![Expr::Column(id), Expr::int(0)],
                ty: SqlType::BIGINT,
            };
            let result = match &c.function {
                AggregateFunction::Count => {
                    let first = call(AggregateFunction::Count, c.args.clone(), SqlType::BIGINT);
                    zero_if_null(both(self, first, AggregateFunction::Sum))
                }
                AggregateFunction::Avg => {
                    let ty = match c.args.first()?.ty(&self.columns).decimal_digits() {
                        Some((_, scale)) if !matches!(c.ty, SqlType::Double) => SqlType::decimal(65, scale as u32),
                        _ => SqlType::Double,
                    };
                    let sum = both(self, call(AggregateFunction::Sum, c.args.clone(), ty), AggregateFunction::Sum);
                    let first = call(AggregateFunction::Count, c.args.clone(), SqlType::BIGINT);
                    let count = both(self, first, AggregateFunction::Sum);
                    Expr::Case {
                        branches: vec![(
                            Expr::compare(muster_algebra::CompareOp::Gt, Expr::Column(count), Expr::int(0)),
                            Expr::Arithmetic {
                                op: ArithmeticOp::Div,
                                left: Box::new(Expr::Column(sum)),
                                right: Box::new(Expr::Column(count)),
                                ty: c.ty,
                            },
                        )],
                        otherwise: None,
                        ty: c.ty,
                    }
                }
                function => Expr::Column(both(self, call(function.clone(), c.args.clone(), c.ty), function.clone())),
            };
            results.push((*id, result));
        }
        let below_output: Vec<ColId> = below.iter().map(|(id, _)| *id).collect();
        let source = match below.len() == input.output.len() {
            true => input.clone(),
            false => Plan {
                estimate: input.estimate,
                ..node(PlanOp::Project { input: Box::new(input.clone()), exprs: below }, below_output)
            },
        };
        let inner_output = inner_group.iter().copied().chain(inner.iter().map(|(id, _)| *id)).collect();
        let outer_output = group.iter().copied().chain(outer.iter().map(|(id, _)| *id)).collect();
        let output = results.iter().map(|(id, _)| *id).collect();
        let first = PlanOp::HashAggregate { input: Box::new(source), group: inner_group, aggregates: inner };
        let second = PlanOp::HashAggregate {
            input: Box::new(node(first, inner_output)),
            group: group.to_vec(),
            aggregates: outer,
        };
        Some(node(PlanOp::Project { input: Box::new(node(second, outer_output)), exprs: results }, output))
    }
}

/// Whether a value that comes twice changes the result.
fn distinct_matters(function: &AggregateFunction) -> bool {
    !matches!(
        function,
        AggregateFunction::Min
            | AggregateFunction::Max
            | AggregateFunction::AnyValue
            | AggregateFunction::BitAnd
            | AggregateFunction::BitOr
    )
}

/// Whether the call can be computed in two levels of grouping.
fn splits(call: &AggregateCall) -> bool {
    match &call.function {
        AggregateFunction::GroupConcat { .. } => false,
        AggregateFunction::StdDevPop
        | AggregateFunction::StdDevSamp
        | AggregateFunction::VarPop
        | AggregateFunction::VarSamp => call.distinct,
        _ => true,
    }
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
    functions: Vec<Arc<AggregateFunctionExpr>>,
    input: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
) -> Result<AggregateExec> {
    let filters = vec![None; functions.len()];
    df(AggregateExec::try_new(mode, by, functions, filters, input, schema))
}
