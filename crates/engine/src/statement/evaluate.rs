//! The value of an expression outside queries: of SET, DO and KILL.

use super::{BindEnvironment, StatementContext, StatementTables, first_values, query};
use muster_sql::ScalarExpr;
use muster_types::{Result, SqlType, Value};
use std::sync::Arc;

/// The one row of `SELECT expression`, without columns. `parameters`: of the whole statement.
pub fn evaluate(context: &Arc<StatementContext>, expr: &ScalarExpr, parameters: &[Value]) -> Result<Value> {
    evaluate_typed(context, expr, parameters).map(|(value, _)| value)
}

/// Evaluates as [`evaluate`] does, and returns the value's type with it.
pub fn evaluate_typed(
    context: &Arc<StatementContext>,
    expr: &ScalarExpr,
    parameters: &[Value],
) -> Result<(Value, SqlType)> {
    let (bound, tables) = loop {
        let (bound, tables) = StatementTables::resolve(context, StatementTables::new, |tables| {
            muster_sql::bind_constant(expr, &BindEnvironment::new(context).with(tables, parameters.into()))
        })?;
        if let Some((value, ty)) = bound.literal() {
            bound.warnings.iter().for_each(|warning| context.warn_of(warning.clone()));
            return Ok((value.clone(), ty));
        }
        if tables.lock_to_read()? {
            break (bound, tables);
        }
    };
    let planned = query::optimize(context, bound, tables)?;
    let result = query::run(context, planned, None, None)?;
    let ty = result.columns.first().map_or(SqlType::Null, |column| column.ty);
    let rows = first_values(result, 1)?;
    Ok((rows.into_iter().flatten().next().unwrap_or(Value::Null), ty))
}
