//! The values of expressions for one row after the other.

use super::{
    convert::Conversion,
    subqueries::{self, DependentSubqueries},
};
use crate::statement::{StatementContext, StatementTables};
use muster_algebra::{ColId, ColumnMeta, Columns, Expr};
use muster_eval::Evaluator;
use muster_functions::CallStates;
use muster_sql::bind::{Surroundings, TableSearch};
use muster_types::{CastWarning, ErrorCode, Result, SqlError, Value};
use std::{cell::RefCell, collections::HashMap, sync::Arc};

/// Evaluates the expressions of a statement.
pub struct Evaluation<'a> {
    conversion: Conversion<'a>,
    columns: &'a Columns,
    /// Values of subqueries that look at no row of the statement's.
    constants: HashMap<ColId, Value>,
    dependent: Option<DependentSubqueries<'a>>,
    /// Values of parameters, of a statement that was bound without them.
    parameters: &'a [Value],
    text_bytes_max: usize,
    states: CallStates,
}

impl<'a> Evaluation<'a> {
    /// Computes what does not depend on rows. `parameters`: their values, of a statement that was bound without them;
    /// `finds_rows`: whether the statement is about the rows that its conditions find.
    pub fn new(
        context: &Arc<StatementContext>,
        conversion: Conversion<'a>,
        surroundings: &'a Surroundings,
        tables: &Arc<StatementTables>,
        parameters: &'a [Value],
        finds_rows: bool,
    ) -> Result<Evaluation<'a>> {
        // Constants are converted before the first row; MySQL converts them for each row, and never where there are
        // none.
        let looks_at_none = finds_rows && looks_at_no_row(context, surroundings, tables)?;
        let is_of_constant = |warning: &&SqlError| warning.code == ErrorCode::TruncatedWrongValue;
        for warning in surroundings.warnings.iter().filter(|warning| !looks_at_none || !is_of_constant(warning)) {
            if conversion.is_strict() && warning.code.is_refused_by_strict_modes() {
                return Err(warning.clone());
            }
            context.warn(warning.code, warning.message.clone());
        }
        let text_bytes_max = context.session.variables.settings().packet_bytes_max;
        let mut evaluation = Evaluation {
            conversion,
            columns: &surroundings.columns,
            constants: HashMap::new(),
            dependent: DependentSubqueries::of(context, surroundings, tables),
            parameters,
            text_bytes_max,
            states: CallStates::with_variables(context.session.live_variables.clone()),
        };
        if let Some(rel) = &surroundings.constants {
            let ids = rel.output();
            let row = subqueries::compute(context, rel.clone(), surroundings, tables)?;
            evaluation.constants = ids.into_iter().zip(row).collect();
        }
        Ok(evaluation)
    }

    /// The value of an expression. `value`: those of the row's columns. Where values that do not fit are errors, so are
    /// those that an expression warns of.
    pub fn value(&self, expr: &Expr, value: &dyn Fn(ColId) -> Option<Value>) -> Result<Value> {
        let mut warnings: Vec<CastWarning> = Vec::new();
        let failed = RefCell::new(None);
        let dependent = |id| {
            let computed = self.dependent.as_ref()?.value(id, value)?;
            Some(computed.unwrap_or_else(|e| {
                failed.borrow_mut().get_or_insert(e);
                Value::Null
            }))
        };
        let known = |id| self.constants.get(&id).cloned().or_else(|| value(id)).or_else(|| dependent(id));
        let outcome = Evaluator {
            value: &known,
            ty: &|id| Some(self.columns.ty(id)),
            parameters: self.parameters,
            warn: &mut |warning| warnings.push(warning),
            text_bytes_max: self.text_bytes_max,
            reserve: &mut |_| Ok(()),
            last_insert_id: Some(&mut |id| self.conversion.context.process.say_insert_id(id)),
            states: Some(&self.states),
        }
        .eval(expr);
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        let ignored = &self.conversion.context.diagnostics.warnings;
        for warning in warnings.into_iter().filter(|warning| !ignored.ignores(warning.code)) {
            let fails = self.conversion.is_strict() && warning.code.is_refused_by_strict_modes();
            if fails {
                return Err(SqlError::new(warning.code, warning.message));
            }
            self.conversion.context.warn(warning.code, warning.message);
        }
        outcome.unwrap_or_else(|| Err(SqlError::unsupported("this expression in a statement that changes rows")))
    }

    /// The column that an expression is; `None` for others.
    pub fn column(&self, expr: &Expr) -> Option<&ColumnMeta> {
        match expr {
            Expr::Column(id) => Some(self.columns.get(*id)),
            _ => None,
        }
    }

    /// The search of one table with the constants of the statement in their places.
    pub fn with_constants(&self, search: &TableSearch) -> TableSearch {
        let mut search = search.clone();
        let keys = search.order.iter_mut().map(|key| &mut key.expr);
        search.conditions.iter_mut().chain(keys).for_each(|expr| self.put_constants(expr));
        search
    }

    fn put_constants(&self, expr: &mut Expr) {
        if let Expr::Column(id) = expr {
            if let Some(value) = self.constants.get(id) {
                *expr = Expr::Literal { value: value.clone(), ty: self.columns.ty(*id) };
            }
            return;
        }
        expr.children_mut().into_iter().for_each(|child| self.put_constants(child));
    }

    /// Returns true if all conditions are met.
    pub fn is_met(&self, conditions: &[Expr], value: &dyn Fn(ColId) -> Option<Value>) -> Result<bool> {
        for condition in conditions {
            if muster_eval::compare::truth(&self.value(condition, value)?) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns true if a table of the statement has no rows, so that nothing is compared with them.
fn looks_at_no_row(
    context: &StatementContext,
    surroundings: &Surroundings,
    tables: &Arc<StatementTables>,
) -> Result<bool> {
    if surroundings.warnings.is_empty() {
        return Ok(false);
    }
    let set = tables.set();
    for (database, name) in &surroundings.tables {
        let Some(entry) = set.definitions.schemas.get(database).and_then(|schema| schema.tables.get(name)) else {
            continue;
        };
        if set.storage(entry.def.id, context.tables.store())?.is_empty()? {
            return Ok(true);
        }
    }
    Ok(false)
}
