//! WITH RECURSIVE.

use super::{Lowered, Lowerer, Node, subplans::output_places};
use crate::{
    ExecContext,
    arrow_value::arrow_type,
    expr::{Scope, scope::TraitMap},
    ops::recursive::{Kept, Layout, RecursiveExec, RoundRows, Step, WorkingExec},
};
use muster_algebra::{ColId, Expr, Plan, PlanOp, Recursion, Subplan};
use muster_types::{Result, SqlError, store::StoredType};
use std::sync::Arc;

impl Lowerer<'_> {
    /// The rows of the round before of a recursive table.
    pub(super) fn working(&mut self, plan: &Plan, table: usize) -> Result<Node> {
        let found = self.context.working.iter().rev().find(|(number, _)| *number == table);
        let rows = found.map(|(_, rows)| rows.clone());
        let rows = rows.ok_or_else(|| SqlError::internal("a recursive table outside of its recursion"))?;
        let exec = WorkingExec::new(rows, self.schema(&plan.output));
        Ok(Node::new(Arc::new(exec), plan.output.clone(), TraitMap::new()))
    }

    pub(super) fn recursive(&mut self, input: &Plan, recursion: &Recursion) -> Result<Node> {
        let seed = self.node(input)?.single("the first rows of a recursion")?.select(&recursion.seed)?;
        let rows = RoundRows::default();
        let mut working = self.context.working.clone();
        working.push((recursion.working, rows.clone()));
        // Rounds are many and small: tasks would cost more than they bring.
        let context = ExecContext { working, threads: 1, node_profiles: None, ..self.context.clone() };
        let (mut steps, mut outputs) = (Vec::new(), Vec::new());
        for step in &recursion.steps {
            let Expr::Subplan(subplan) = step else {
                return Err(SqlError::internal("a recursion without a subplan"));
            };
            let Subplan { plan, outputs: ids, params, .. } = &**subplan;
            if !params.is_empty() {
                return Err(SqlError::internal("a recursion with columns of a query around it"));
            }
            outputs.push(output_places(plan, ids)?);
            steps.push(match keeps_nothing(plan) {
                true => {
                    let Lowered { operators, config } = super::lower(plan, &self.columns, &context)?;
                    Step::Repeated { operators, config }
                }
                false => Step::Planned(plan.clone()),
            });
        }
        let schema = self.schema(&recursion.columns);
        let keys = match recursion.distinct {
            true => {
                let scope =
                    Scope { schema: schema.clone(), columns: recursion.columns.clone(), traits: TraitMap::new() };
                let compiler = self.compiler(&scope);
                let key = |id: &_| Ok(compiler.grouping_key(&Expr::Column(*id))?.0);
                Some(recursion.columns.iter().map(key).collect::<Result<Vec<_>>>()?)
            }
            false => None,
        };
        let kept = |id: &ColId| {
            let (name, ty) = (self.columns.get(*id).name.clone(), self.columns.ty(*id));
            Kept { name, ty: StoredType::new(ty), data_type: arrow_type(&ty) }
        };
        let layout = Layout {
            steps,
            outputs,
            rows,
            columns: self.columns.clone().into_owned(),
            context,
            keys,
            kept: recursion.columns.iter().map(kept).collect(),
            rounds_max: recursion.rounds_max,
            strict: recursion.strict,
        };
        let exec = RecursiveExec::new(seed.exec, schema, Arc::new(layout));
        Ok(Node::new(Arc::new(exec), recursion.columns.clone(), TraitMap::new()))
    }
}

/// Returns true for operators that keep nothing from one run to the next.
fn keeps_nothing(plan: &Plan) -> bool {
    let here = match &plan.op {
        PlanOp::Working { .. } => true,
        PlanOp::Filter { .. } | PlanOp::Project { .. } => !plan.exprs().into_iter().any(Expr::has_subquery),
        _ => false,
    };
    here && plan.inputs().into_iter().all(keeps_nothing)
}
