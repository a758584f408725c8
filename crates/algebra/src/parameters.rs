//! The values of parameters, put in their places.

use crate::{Expr, Plan, PlanOp, SqlType, Value};

/// The value of a parameter by its number, as the type that it has; `None` if it has none.
pub type ParameterValue<'v> = dyn FnMut(usize, SqlType) -> Option<Value> + 'v;

impl Plan {
    /// Replaces the parameters of a plan and of the subplans inside it by their values. `None` if one has no value;
    /// some others are replaced then. The conditions that a scan keeps stay as they are.
    pub fn set_parameters(&mut self, value: &mut ParameterValue<'_>) -> Option<()> {
        // These are not among the expressions of the node.
        if let PlanOp::FinalAggregate { aggregates, .. } = &mut self.op {
            let mut args = aggregates.iter_mut().flat_map(|(_, call)| &mut call.args);
            args.try_for_each(|arg| arg.set_parameters(value))?;
        }
        self.inputs_mut().into_iter().try_for_each(|input| input.set_parameters(value))?;
        self.order.iter_mut().try_for_each(|key| key.expr.set_parameters(value))?;
        self.exprs_mut().into_iter().try_for_each(|expr| expr.set_parameters(value))
    }
}

impl Expr {
    /// As [`Plan::set_parameters`].
    pub fn set_parameters(&mut self, value: &mut ParameterValue<'_>) -> Option<()> {
        if let Expr::Parameter { index, ty, .. } = *self {
            *self = Expr::literal(value(index, ty)?, ty);
            return Some(());
        }
        let mut found = Some(());
        self.for_each_child_mut(&mut |child| found = found.and_then(|()| child.set_parameters(value)));
        match self {
            Expr::Subplan(subplan) => found.and_then(|()| subplan.plan.set_parameters(value)),
            _ => found,
        }
    }
}
