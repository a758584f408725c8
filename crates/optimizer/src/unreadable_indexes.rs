//! Indexes that a statement cannot read because they are younger than what it sees, and those that are invisible: they
//! are left out as by IGNORE INDEX. One that the statement forces is kept, and reading it is an error.

use muster_algebra::{Expr, IndexHint, IndexHintKind, IndexHintScope, Rel, Statistics};

/// Adds the hints, in subqueries too.
pub fn leave_out(rel: &mut Rel, statistics: &dyn Statistics) {
    if let Rel::Get { table, hints, .. } = rel {
        let is_forced =
            |index: &usize| hints.iter().any(|h| h.kind == IndexHintKind::Force && h.indexes.contains(index));
        // The clustered index is the table, which has no other.
        let secondary = 1..table.indexes.len();
        let indexes: Vec<usize> = secondary.filter(|i| !statistics.is_readable(table, *i) && !is_forced(i)).collect();
        if !indexes.is_empty() {
            hints.push(IndexHint { kind: IndexHintKind::Ignore, scope: IndexHintScope::All, indexes });
        }
    }
    rel.exprs_mut().into_iter().for_each(|expr| leave_out_in_subqueries(expr, statistics));
    rel.inputs_mut().into_iter().for_each(|input| leave_out(input, statistics));
}

fn leave_out_in_subqueries(expr: &mut Expr, statistics: &dyn Statistics) {
    if let Expr::Subquery(subquery) = expr {
        leave_out(&mut subquery.rel, statistics);
    }
    expr.for_each_child_mut(&mut |child| leave_out_in_subqueries(child, statistics));
}
