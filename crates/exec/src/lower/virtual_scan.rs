//! Tables whose rows are made when they are read.

use super::{Lowerer, Node, row};
use muster_algebra::{ColId, Expr, Plan, Scan};
use muster_types::{Result, Value};

impl Lowerer<'_> {
    /// `rows`: all that the table has now, with all columns. They have no order and no key.
    pub(super) fn virtual_scan(&mut self, plan: &Plan, scan: &Scan, rows: &[Vec<Value>]) -> Result<Node> {
        let (columns, positions): (Vec<ColId>, Vec<usize>) =
            scan.columns.iter().chain(&scan.filter_columns).copied().unzip();
        let rows: Vec<Vec<Value>> =
            rows.iter().map(|row| positions.iter().map(|at| row[*at].clone()).collect()).collect();
        let node = self.rows_in_memory(&rows, &columns, plan.partitions)?;
        let conditions: Vec<Expr> = scan.index_condition.iter().chain(&scan.filter).cloned().collect();
        let node = self.filter_node(node, &conditions, None)?;
        match scan.limit {
            Some(rows) => row::limit_node(node, 0, Some(rows)),
            None => Ok(node),
        }
    }
}
