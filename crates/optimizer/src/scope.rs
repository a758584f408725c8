//! Which columns an expression or a relation mentions, produces, and takes from the queries around it.

use muster_algebra::{ColId, Expr, Rel, SubqueryKind};
use std::collections::BTreeSet;

pub type ColSet = BTreeSet<ColId>;

/// The columns an expression mentions; a subquery mentions its outer columns.
pub fn expr_columns(expr: &Expr) -> ColSet {
    let mut found = ColSet::new();
    add_expr_columns(expr, &mut found);
    found
}

pub fn add_expr_columns(expr: &Expr, found: &mut ColSet) {
    expr.visit(&mut |e| match e {
        Expr::Column(id) => {
            found.insert(*id);
        }
        Expr::Subquery(q) => found.extend(&q.outer),
        Expr::Subplan(p) => found.extend(&p.params),
        _ => {}
    });
}

/// The columns all these expressions mention.
pub fn exprs_columns<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> ColSet {
    let mut found = ColSet::new();
    exprs.into_iter().for_each(|e| add_expr_columns(e, &mut found));
    found
}

/// Returns true if all columns the expression mentions are in the set.
pub fn covered(expr: &Expr, by: &ColSet) -> bool {
    expr_columns(expr).is_subset(by)
}

/// The columns a relation delivers, as a set.
pub fn output_set(rel: &Rel) -> ColSet {
    rel.output().into_iter().collect()
}

/// Columns that the relation mentions and does not produce itself: those of the queries around it.
pub fn free_columns(rel: &Rel) -> ColSet {
    let (mut mentioned, mut produced) = (ColSet::new(), ColSet::new());
    collect(rel, &mut mentioned, &mut produced);
    mentioned.difference(&produced).copied().collect()
}

fn collect(rel: &Rel, mentioned: &mut ColSet, produced: &mut ColSet) {
    for expr in rel.exprs() {
        collect_expr(expr, mentioned, produced);
    }
    match rel {
        Rel::Get { columns, .. } => produced.extend(columns.iter().map(|(id, _)| id)),
        Rel::Values { columns, .. } => produced.extend(columns),
        Rel::Project { exprs, .. } => produced.extend(exprs.iter().map(|(id, _)| id)),
        Rel::Aggregate { group, aggregates, .. } => {
            mentioned.extend(group);
            produced.extend(aggregates.iter().map(|(id, _)| id));
        }
        Rel::Working { columns, .. } => produced.extend(columns),
        Rel::Recursive { recursion, .. } => {
            mentioned.extend(&recursion.seed);
            produced.extend(&recursion.columns);
        }
        Rel::Rollup { rollup, .. } => {
            mentioned.extend(rollup.sources());
            produced.extend(rollup.columns());
        }
        Rel::JsonTable { table, .. } => produced.extend(&table.outputs),
        Rel::Window { window, .. } => produced.extend(window.calls.iter().map(|(id, _)| id)),
        Rel::Union { inputs, columns } => {
            inputs.iter().for_each(|(_, ids)| mentioned.extend(ids));
            produced.extend(columns);
        }
        _ => {}
    }
    rel.inputs().into_iter().for_each(|input| collect(input, mentioned, produced));
}

fn collect_expr(expr: &Expr, mentioned: &mut ColSet, produced: &mut ColSet) {
    expr.visit(&mut |e| match e {
        Expr::Column(id) => {
            mentioned.insert(*id);
        }
        Expr::Subquery(q) => {
            mentioned.extend(&q.outputs);
            collect(&q.rel, mentioned, produced);
        }
        Expr::Subplan(p) => mentioned.extend(&p.params),
        _ => {}
    });
}

/// Runs `f` on the relation of every subquery in an expression.
pub fn for_each_subquery(expr: &mut Expr, f: &mut dyn FnMut(&mut Rel)) {
    if let Expr::Subquery(q) = expr {
        f(&mut q.rel);
    }
    expr.for_each_child_mut(&mut |child| for_each_subquery(child, f));
}

/// Returns true if there is a subquery in an expression of the relation.
pub fn has_subquery(rel: &Rel) -> bool {
    rel.exprs().into_iter().any(Expr::has_subquery) || rel.inputs().into_iter().any(has_subquery)
}

/// Returns true if the subquery is `EXISTS` or `NOT EXISTS`.
pub fn is_exists(kind: &SubqueryKind) -> bool {
    matches!(kind, SubqueryKind::Exists { .. })
}
