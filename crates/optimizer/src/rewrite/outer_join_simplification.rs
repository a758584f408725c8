//! A left join whose NULL-extended rows a condition above rejects is an inner join; one of which a condition wants no
//! other rows is an anti join.

mod anti_join;

use super::{RewriteContext, bottom_up};
use crate::properties::rejects_null;
use crate::scope;
use crate::substitution::{Substitution, substitute};
use anti_join::Mentions;
use muster_algebra::{Expr, JoinKind, Rel, lateral_outputs};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    let mentions = Mentions::of(&rel, &rel.output());
    // Subqueries first, each by itself; then this level from the top.
    let rel = bottom_up(rel, &mut |mut node| {
        for expr in node.exprs_mut() {
            scope::for_each_subquery(expr, &mut |inner| {
                let taken = crate::substitution::take(inner);
                *inner = simplify(taken, &[]);
            });
        }
        Ok(node)
    })?;
    bottom_up(simplify(rel, &[]), &mut |node| Ok(anti_join::turned(node, &mentions, context.columns)))
}

/// `known`: conditions that every row must pass above.
fn simplify(rel: Rel, known: &[Expr]) -> Rel {
    let with = |more: &[Expr]| -> Vec<Expr> { known.iter().chain(more).cloned().collect() };
    match rel {
        Rel::Filter { input, predicates } => {
            let all = with(&predicates);
            Rel::Filter { input: Box::new(simplify(*input, &all)), predicates }
        }
        Rel::Join { kind, left, right, on, straight } => {
            let nullable = scope::output_set(&right);
            let kind = match kind {
                JoinKind::Left if known.iter().any(|p| rejects_null(p, &nullable)) => JoinKind::Inner,
                other => other,
            };
            let (for_left, for_right) = match kind {
                JoinKind::Inner => (with(&on), with(&on)),
                JoinKind::Semi => (with(&on), on.clone()),
                JoinKind::Left | JoinKind::Anti => (known.to_vec(), on.clone()),
                JoinKind::NullAwareAnti => (known.to_vec(), Vec::new()),
            };
            let left = Box::new(simplify(*left, &for_left));
            let right = Box::new(simplify(*right, &for_right));
            Rel::Join { kind, left, right, on, straight }
        }
        Rel::Project { input, exprs } => {
            let map: Substitution = exprs.iter().cloned().collect();
            let below: Vec<Expr> = known.iter().map(|p| substitute(p.clone(), &map)).collect();
            Rel::Project { input: Box::new(simplify(*input, &below)), exprs }
        }
        Rel::Sort { input, keys } => Rel::Sort { input: Box::new(simplify(*input, known)), keys },
        Rel::Aggregate { input, group, aggregates } => {
            let keys = group.iter().copied().collect();
            let below: Vec<Expr> = known.iter().filter(|p| scope::covered(p, &keys)).cloned().collect();
            // Without a group there is a row even when no row comes in; conditions on it say nothing of the input.
            let below = if group.is_empty() { Vec::new() } else { below };
            Rel::Aggregate { input: Box::new(simplify(*input, &below)), group, aggregates }
        }
        Rel::Recursive { input, recursion } => Rel::Recursive { input: Box::new(simplify(*input, &[])), recursion },
        Rel::Rollup { input, rollup } => Rel::Rollup { input: Box::new(simplify(*input, &[])), rollup },
        Rel::Window { input, window } => Rel::Window { input: Box::new(simplify(*input, &[])), window },
        Rel::Limit { input, offset, count } => Rel::Limit { input: Box::new(simplify(*input, &[])), offset, count },
        Rel::Union { inputs, columns } => {
            let inputs = inputs.into_iter().map(|(r, ids)| (simplify(r, &[]), ids)).collect();
            Rel::Union { inputs, columns }
        }
        Rel::Lateral { input, rows, keeps } => {
            let added = lateral_outputs(&rows).iter().copied().collect();
            let keeps = keeps && !known.iter().any(|p| rejects_null(p, &added));
            Rel::Lateral { input: Box::new(simplify(*input, known)), rows, keeps }
        }
        Rel::JsonTable { input, table, keeps } => {
            let added = table.outputs.iter().copied().collect();
            let keeps = keeps && !known.iter().any(|p| rejects_null(p, &added));
            Rel::JsonTable { input: Box::new(simplify(*input, known)), table, keeps }
        }
        leaf @ (Rel::Get { .. } | Rel::Values { .. } | Rel::Working { .. }) => leaf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    fn kind_after(rel: Rel, t: &mut Tables) -> JoinKind {
        fn find(rel: &Rel) -> Option<JoinKind> {
            match rel {
                Rel::Join { kind, .. } => Some(*kind),
                other => other.inputs().into_iter().find_map(find),
            }
        }
        find(&t.run(run, rel)).expect("a join")
    }

    #[test]
    fn a_condition_that_rejects_nulls_makes_it_inner() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, b, c) = t.table("r", &["b", "y"]).pair();
        let outer = join_of(JoinKind::Left, l, r, vec![eq(a, b)]);
        assert_eq!(kind_after(filter(outer.clone(), vec![lt(c, 5)]), &mut t), JoinKind::Inner);
        assert_eq!(kind_after(filter(outer.clone(), vec![is_null(c)]), &mut t), JoinKind::Left);
        assert_eq!(kind_after(filter(outer, vec![lt(a, 5)]), &mut t), JoinKind::Left);
    }

    #[test]
    fn an_or_rejects_only_if_all_branches_do() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, b, c) = t.table("r", &["b", "y"]).pair();
        let outer = join_of(JoinKind::Left, l, r, vec![eq(a, b)]);
        let or = |args| Expr::Logic { op: muster_algebra::LogicOp::Or, args };
        assert_eq!(kind_after(filter(outer.clone(), vec![or(vec![lt(c, 5), eq(b, 1)])]), &mut t), JoinKind::Inner);
        assert_eq!(kind_after(filter(outer, vec![or(vec![lt(c, 5), eq(a, 1)])]), &mut t), JoinKind::Left);
    }
}
