//! The subqueries of values that a statement gives to columns, which are computed apart from the search for its rows.

use crate::statement::{RowLocks, StatementContext, StatementTables, first_values, query};
use muster_algebra::{ColId, Expr, Rel};
use muster_sql::bind::{Surroundings, replace_columns};
use muster_storage::LockMode;
use muster_types::{Result, SqlError, Value};
use std::{collections::HashMap, sync::Arc};

/// The only row of a relation. What it reads is locked where a statement that changes rows does that.
pub fn compute(
    context: &Arc<StatementContext>,
    rel: Rel,
    surroundings: &Surroundings,
    tables: &Arc<StatementTables>,
) -> Result<Vec<Value>> {
    let planned = query::optimize(context, surroundings.bound(rel), tables.clone())?;
    if context.reads_for_writing_lock() {
        let (mode, waits) = (LockMode::Shared, context.lock_waits());
        let locks = RowLocks { mode, waits, of: &|_| true, skip_locked: false, whole_tables: false, subplans: true };
        context.lock_rows(&planned, &[locks])?;
    }
    Ok(first_values(query::run(context, planned, None, None)?, 1)?.into_iter().flatten().collect())
}

/// Subqueries that look at the row which an INSERT brings or meets. Each is planned and run for every row that asks for
/// its value.
pub struct DependentSubqueries<'a> {
    context: Arc<StatementContext>,
    tables: Arc<StatementTables>,
    surroundings: &'a Surroundings,
}

impl<'a> DependentSubqueries<'a> {
    /// Those of a statement; `None` if it has none.
    pub fn of(
        context: &Arc<StatementContext>,
        surroundings: &'a Surroundings,
        tables: &Arc<StatementTables>,
    ) -> Option<DependentSubqueries<'a>> {
        let found = !surroundings.dependent.is_empty();
        found.then(|| DependentSubqueries { context: context.clone(), tables: tables.clone(), surroundings })
    }

    /// The value of the subquery that a column stands for; `None` for another column. `value`: the values of the row's
    /// columns.
    pub fn value(&self, id: ColId, value: &dyn Fn(ColId) -> Option<Value>) -> Option<Result<Value>> {
        let (_, subquery) = self.surroundings.dependent.iter().find(|(column, _)| *column == id)?;
        Some(self.compute(id, subquery.clone(), value))
    }

    fn compute(&self, id: ColId, mut subquery: Expr, value: &dyn Fn(ColId) -> Option<Value>) -> Result<Value> {
        let literal = |column| {
            let value = value(column).ok_or_else(|| SqlError::internal("a subquery mentions a column of no row"))?;
            Ok((column, Expr::Literal { value, ty: self.surroundings.columns.ty(column) }))
        };
        let literals: HashMap<ColId, Expr> = subquery.columns().into_iter().map(literal).collect::<Result<_>>()?;
        replace_columns(&mut subquery, &literals);
        let rel = Rel::Project { input: Box::new(Rel::dual()), exprs: vec![(id, subquery)] };
        let row = compute(&self.context, rel, self.surroundings, &self.tables)?;
        row.into_iter().next().ok_or_else(|| SqlError::internal("a subquery without a row"))
    }
}
