//! Whether a locked row meets the conditions of the scan that has met it. At READ COMMITTED the locks of rows that do
//! not are released again (MySQL manual, "Transaction Isolation Levels"), and a scan with a LIMIT counts the rows that
//! do.

use crate::statement::{StatementContext, query::Planned};
use muster_algebra::{ColId, Columns, Expr, Scan};
use muster_eval::{Evaluator, compare::truth};
use muster_types::Value;

/// The conditions of a scan.
pub(super) struct Conditions<'a> {
    /// Empty if they cannot be decided here: what differs from call to call is computed once, by the plan.
    exprs: Vec<&'a Expr>,
    is_decidable: bool,
    scan: &'a Scan,
    columns: &'a Columns,
    text_bytes_max: usize,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(context: &StatementContext, planned: &'a Planned, scan: &'a Scan) -> Conditions<'a> {
        let exprs: Vec<&Expr> = scan.index_condition.iter().chain(&scan.filter).collect();
        let is_decidable = exprs.iter().all(|expr| expr.is_movable());
        let exprs = if is_decidable { exprs } else { Vec::new() };
        let text_bytes_max = context.session.variables.settings().packet_bytes_max;
        Conditions { exprs, is_decidable, scan, columns: &planned.columns, text_bytes_max }
    }

    /// Whether a row meets all conditions. `row`: all columns of the table. `None` if that cannot be decided here.
    pub(super) fn are_met(&self, row: &[Value]) -> Option<bool> {
        if !self.is_decidable {
            return None;
        }
        for expr in &self.exprs {
            if truth(&self.value(expr, row)?) != Some(true) {
                return Some(false);
            }
        }
        Some(true)
    }

    fn value(&self, expr: &Expr, row: &[Value]) -> Option<Value> {
        let position = |id: ColId| {
            let mut columns = self.scan.columns.iter().chain(&self.scan.filter_columns);
            columns.find(|(column, _)| *column == id).map(|(_, position)| *position)
        };
        let outcome = Evaluator {
            value: &|id| row.get(position(id)?).cloned(),
            ty: &|id| Some(self.columns.ty(id)),
            parameters: &[],
            // The plan computes the conditions once more, and warns then.
            warn: &mut |_| {},
            text_bytes_max: self.text_bytes_max,
            reserve: &mut |_| Ok(()),
            last_insert_id: None,
            states: None,
        }
        .eval(expr);
        outcome?.ok()
    }
}
