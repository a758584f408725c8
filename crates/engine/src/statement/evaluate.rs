//! The value of an expression outside queries: of SET, DO and KILL.

use super::{BindEnvironment, StatementContext, StatementTables, first_values, query};
use muster_sql::ScalarExpr;
use muster_types::{Result, Value};
use std::sync::Arc;

/// The one row of `SELECT expression`, without columns. `parameters`: of the whole statement.
pub fn evaluate(context: &Arc<StatementContext>, expr: &ScalarExpr, parameters: &[Value]) -> Result<Value> {
    let (bound, tables) = loop {
        let (bound, tables) = StatementTables::resolve(context, StatementTables::new, |tables| {
            muster_sql::bind_constant(expr, &BindEnvironment::new(context).with(tables, parameters.into()))
        })?;
        if let Some((value, _)) = bound.literal() {
            return Ok(value.clone());
        }
        if tables.lock_to_read()? {
            break (bound, tables);
        }
    };
    let planned = query::optimize(context, bound, tables)?;
    let rows = first_values(query::run(context, planned, None, None)?, 1)?;
    Ok(rows.into_iter().flatten().next().unwrap_or(Value::Null))
}
