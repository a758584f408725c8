//! What a table's definition says of a row: defaults that are expressions, generated columns and CHECKs.

use super::{convert::Conversion, evaluation::Evaluation};
use muster_algebra::{ColId, ColumnDef, Expr};
use muster_eval::compare::truth;
use muster_sql::bind::RowRules;
use muster_types::{ErrorCode, Result, SqlError, Value};

/// The rules of a table, to be applied to one row after the other.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub rules: &'a RowRules,
    /// The row's columns in the rules.
    pub columns: &'a [ColId],
    pub defs: &'a [ColumnDef],
    pub evaluation: &'a Evaluation<'a>,
    pub conversion: &'a Conversion<'a>,
}

impl Rules<'_> {
    fn value(&self, expr: &Expr, row: &[Value]) -> Result<Value> {
        let known = |id| self.columns.iter().position(|c| *c == id).map(|at| row[at].clone());
        self.evaluation.value(expr, &known)
    }

    /// The default of a column, if it is an expression. `row`: the values that the row has so far; `number` counts rows
    /// from 1.
    pub fn default(&self, column: usize, row: &[Value], number: u64) -> Result<Option<Value>> {
        let Some((_, expr)) = self.rules.defaults.iter().find(|(at, _)| *at == column) else { return Ok(None) };
        let value = self.value(expr, row)?;
        self.conversion.stored(&self.defs[column], &value, number).map(Some)
    }

    /// Gives the generated columns of a row their values.
    pub fn generate(&self, row: &mut [Value], number: u64) -> Result<()> {
        for (column, expr) in &self.rules.generated {
            let value = self.value(expr, row)?;
            row[*column] = self.conversion.stored(&self.defs[*column], &value, number)?;
        }
        Ok(())
    }

    /// Returns true if a row meets the CHECKs. Error 3819, or with IGNORE a warning of that number.
    pub fn passes(&self, row: &[Value]) -> Result<bool> {
        for check in &self.rules.checks {
            if truth(&self.value(&check.condition, row)?) == Some(false) {
                self.conversion.tolerate(violated(&check.name))?;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Error 3819.
pub fn violated(check: &str) -> SqlError {
    SqlError::new(ErrorCode::CheckViolated, format!("Check constraint '{check}' is violated."))
}
