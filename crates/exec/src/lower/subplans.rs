//! Subqueries that run by themselves: each becomes a column that an operator below the expression computes.

use super::{Lowerer, Node, df, field_name};
use crate::{
    ExecContext,
    expr::Physical,
    ops::{
        apply::{Applied, ApplyExec, Benchmark, Param, SessionColumn, SubplanColumn},
        json_table::{ExpandedTable, JsonTableExec},
        lateral::LateralExec,
    },
};
use arrow_schema::Schema;
use muster_algebra::{ColId, Expr, JsonTable, Plan, ScalarFunction, Subplan, SubqueryKind};
use muster_types::{Result, SqlError, SqlType};
use std::sync::Arc;

impl Lowerer<'_> {
    /// The expressions with every subplan (and SLEEP and calls of the session, which wait as they do) replaced by a
    /// column that the returned node computes.
    pub(super) fn with_subplans(&mut self, node: Node, exprs: Vec<Expr>) -> Result<(Node, Vec<Expr>)> {
        if !exprs.iter().any(Expr::runs_apart) {
            return Ok((node, exprs));
        }
        // Innermost first, so that what is above can use their columns.
        let mut found: Vec<(ColId, Expr)> = Vec::new();
        let rewritten = exprs
            .into_iter()
            .map(|expr| {
                expr.rewrite(&mut |e| {
                    if !(matches!(e, Expr::Subplan(_)) || e.acts()) {
                        return e;
                    }
                    if let Some((id, _)) = found.iter().find(|(_, other)| *other == e && !e.acts()) {
                        return Expr::Column(*id);
                    }
                    let id = self.new_column(e.ty(&self.columns));
                    found.push((id, e));
                    Expr::Column(id)
                })
            })
            .collect();
        let mut node = node;
        for (id, expr) in found {
            node = self.apply(node, id, expr)?;
        }
        Ok((node, rewritten))
    }

    /// A dependent join: the rows of the input with those that a subplan has for each.
    pub(super) fn lateral(&mut self, input: &Plan, rows: &Expr, keeps: bool) -> Result<Node> {
        let node = self.node(input)?;
        let Expr::Subplan(subplan) = rows.clone() else {
            return Err(SqlError::internal("a dependent join without a subplan"));
        };
        let added = subplan.outputs.clone();
        let column = self.subplan_column(&node, *subplan)?;
        let mut fields: Vec<_> = node.scope.schema.fields().iter().cloned().collect();
        fields.extend(added.iter().map(|id| self.field(*id, true)));
        let exec = LateralExec::new(node.exec.clone(), Arc::new(Schema::new(fields)), column, keeps);
        let columns = node.scope.columns.iter().copied().chain(added).collect();
        Ok(Node::new(Arc::new(exec), columns, node.scope.traits))
    }

    /// JSON_TABLE: the rows of the input with those that a document has for each.
    pub(super) fn json_table(&mut self, input: &Plan, table: &JsonTable, keeps: bool) -> Result<Node> {
        let node = self.node(input)?;
        let (mut node, mut document) = self.with_subplans(node, vec![table.document.clone()])?;
        let document = self.compiler(&node.scope).compile(&document.remove(0))?;
        let types = table.outputs.iter().map(|id| self.columns.ty(*id)).collect();
        let expanded = ExpandedTable::new(table, types, document)?;
        let mut fields: Vec<_> = node.scope.schema.fields().iter().cloned().collect();
        fields.extend(table.outputs.iter().map(|id| self.field(*id, true)));
        let exec = JsonTableExec::new(node.exec.clone(), Arc::new(Schema::new(fields)), expanded, keeps);
        let columns = node.scope.columns.iter().copied().chain(table.outputs.iter().copied()).collect();
        node.exec = Arc::new(exec);
        Ok(Node::new(node.exec, columns, node.scope.traits))
    }

    /// A subplan over the rows of a node, ready to run.
    fn subplan_column(&self, node: &Node, subplan: Subplan) -> Result<SubplanColumn> {
        let compiler = self.compiler(&node.scope);
        let Subplan { kind, plan, outputs, params } = subplan;
        let left: Vec<(Physical, SqlType)> = match &kind {
            SubqueryKind::In { left, .. } => {
                left.iter().map(|e| Ok((compiler.compile(e)?, e.ty(&self.columns)))).collect::<Result<_>>()?
            }
            SubqueryKind::Compare { left, .. } => vec![(compiler.compile(left)?, left.ty(&self.columns))],
            _ => Vec::new(),
        };
        let params = params
            .iter()
            .map(|id| Ok(Param { id: *id, column: node.index(*id)?, ty: self.columns.ty(*id) }))
            .collect::<Result<_>>()?;
        let places = output_places(&plan, &outputs)?;
        let positions = places.into_iter().zip(&outputs).map(|(at, id)| (at, self.columns.ty(*id))).collect();
        let is_repeatable = !uses_variables(&plan);
        Ok(SubplanColumn {
            kind,
            is_repeatable,
            plan: *plan,
            outputs: positions,
            params,
            left,
            columns: self.columns.clone().into_owned(),
            // The plan has the values of its parameters by now.
            context: ExecContext { parameters: Arc::default(), ..self.context.clone() },
        })
    }

    fn apply(&self, node: Node, id: ColId, expr: Expr) -> Result<Node> {
        let compiler = self.compiler(&node.scope);
        let ty = self.columns.ty(id);
        let applied = match expr {
            Expr::Subplan(subplan) => Applied::Subplan(Box::new(self.subplan_column(&node, *subplan)?)),
            Expr::Call { function: ScalarFunction::Sleep, args, .. } => {
                let seconds = args.first().ok_or_else(|| SqlError::internal("SLEEP without argument"))?;
                Applied::Sleep(compiler.compile_as(seconds, SqlType::Double)?)
            }
            Expr::Call { function: ScalarFunction::Benchmark, args, .. } => {
                let [count, repeated] = args.as_slice() else {
                    return Err(SqlError::internal("BENCHMARK without its arguments"));
                };
                let (count, repeated) = (compiler.compile_as(count, SqlType::BIGINT)?, compiler.compile(repeated)?);
                Applied::Benchmark(Benchmark { count, repeated, warnings: self.context.warnings.clone() })
            }
            Expr::Call { function: ScalarFunction::Session(function), args, .. } => {
                let args = args.iter().map(|arg| compiler.compile(arg)).collect::<Result<_>>()?;
                let calls = self.context.session_calls.clone();
                Applied::Session(SessionColumn { function, args, calls })
            }
            other => return Err(SqlError::internal(format!("cannot apply {other:?}"))),
        };
        let mut fields: Vec<_> = node.scope.schema.fields().iter().cloned().collect();
        fields.push(self.field(id, true));
        let schema = Arc::new(Schema::new(fields));
        debug_assert_eq!(schema.fields().last().map(|f| f.name().clone()), Some(field_name(id)));
        let exec = df(ApplyExec::new(node.exec.clone(), schema, applied, ty))?;
        let columns = node.scope.columns.iter().copied().chain([id]).collect();
        Ok(Node::new(Arc::new(exec), columns, node.scope.traits))
    }
}

/// The places of columns among those that a subquery delivers.
pub(super) fn output_places(plan: &Plan, outputs: &[ColId]) -> Result<Vec<usize>> {
    let place = |id: &ColId| {
        let missing = || SqlError::internal(format!("the subquery does not deliver column {}", id.0));
        plan.output.iter().position(|own| own == id).ok_or_else(missing)
    };
    outputs.iter().map(place).collect()
}

/// Returns true if a plan reads or assigns user variables.
fn uses_variables(plan: &Plan) -> bool {
    let within = |expr: &Expr| {
        let mut found = expr.uses_variables();
        expr.visit(&mut |part| found |= matches!(part, Expr::Subplan(subplan) if uses_variables(&subplan.plan)));
        found
    };
    plan.exprs().into_iter().any(within) || plan.inputs().into_iter().any(uses_variables)
}
