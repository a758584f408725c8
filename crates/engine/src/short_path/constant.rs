//! Values of expressions for one row, or for none: what warns or fails is left to the general path.

use super::run_end::TEXT_BYTES_MAX;
use muster_algebra::{ColId, Expr};
use muster_eval::Evaluator;
use muster_types::{SqlType, Value};

/// The value of an expression over the columns of a row; `None` if it cannot be had without a warning.
pub(super) fn value_of_row(
    expr: &Expr,
    value: &dyn Fn(ColId) -> Option<Value>,
    ty: &dyn Fn(ColId) -> Option<SqlType>,
    parameters: &[Value],
) -> Option<Value> {
    let mut warned = false;
    let outcome = Evaluator {
        value,
        ty,
        parameters,
        warn: &mut |_| warned = true,
        text_bytes_max: TEXT_BYTES_MAX,
        reserve: &mut |_| Ok(()),
        last_insert_id: None,
        states: None,
    }
    .eval(expr);
    outcome.and_then(Result::ok).filter(|_| !warned)
}

/// The value of an expression without columns; `None` if it cannot be had without a warning.
pub(super) fn constant_value(expr: &Expr, parameters: &[Value]) -> Option<Value> {
    match expr {
        Expr::Literal { value, .. } => Some(value.clone()),
        // A value of the parameter's own type, which is what plans are made for.
        Expr::Parameter { index, .. } => parameters.get(*index).cloned(),
        _ => value_of_row(expr, &|_| None, &|_| None, parameters),
    }
}
