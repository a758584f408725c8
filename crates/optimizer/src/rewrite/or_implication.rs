//! What an OR over several relations implies for each of them: `(n1 = 'F' AND n2 = 'G') OR (n1 = 'G' AND n2 = 'F')`
//! implies `n1 IN ('F', 'G')` and `n2 IN ('G', 'F')`, which can be checked before the join. The OR itself stays.

use super::{RewriteContext, bottom_up, or_factoring};
use crate::fingerprint;
use crate::literal::is_truth;
use crate::scope::{self, ColSet};
use muster_algebra::{Expr, JoinKind, LogicOp, Rel};
use muster_types::Result;

pub fn run(rel: Rel, _context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Filter { input, mut predicates } if matches!(*input, Rel::Join { .. }) => {
                add_implied(&mut predicates, &[&input]);
                Rel::Filter { input, predicates }
            }
            Rel::Join { kind: JoinKind::Inner, left, right, mut on, straight } => {
                add_implied(&mut on, &[&left, &right]);
                Rel::Join { kind: JoinKind::Inner, left, right, on, straight }
            }
            other => other,
        })
    })
}

fn add_implied(predicates: &mut Vec<Expr>, inputs: &[&Rel]) {
    let mut leaves = Vec::new();
    inputs.iter().for_each(|r| collect_leaves(r, &mut leaves));
    let implied = |predicate| leaves.iter().filter_map(move |leaf| implied(predicate, leaf));
    let more = predicates.iter().flat_map(implied).collect();
    fingerprint::extend_new(predicates, more);
}

fn collect_leaves(rel: &Rel, leaves: &mut Vec<ColSet>) {
    match rel {
        Rel::Join { kind, left, right, .. } => {
            collect_leaves(left, leaves);
            if *kind == JoinKind::Inner {
                collect_leaves(right, leaves);
            }
        }
        Rel::Filter { input, .. } => collect_leaves(input, leaves),
        other => leaves.push(scope::output_set(other)),
    }
}

/// What an OR says about these columns alone; nothing if it speaks of no others anyway.
pub fn implied(expr: &Expr, columns: &ColSet) -> Option<Expr> {
    let Expr::Logic { op: LogicOp::Or, args } = expr else { return None };
    if scope::covered(expr, columns) {
        return None;
    }
    let mut branches: Vec<Expr> = Vec::new();
    for arg in args {
        let own: Vec<Expr> = conjuncts_in(arg)
            .into_iter()
            .filter(|c| !c.has_subquery() && c.is_movable())
            .filter(|c| {
                let mentioned = scope::expr_columns(c);
                !mentioned.is_empty() && mentioned.is_subset(columns)
            })
            .cloned()
            .collect();
        if own.is_empty() {
            return None;
        }
        branches.push(Expr::and(own));
    }
    fingerprint::remove_repeated(&mut branches);
    Some(match branches.len() {
        1 => branches.remove(0),
        _ => or_factoring::factor(Expr::Logic { op: LogicOp::Or, args: branches }),
    })
}

/// The conditions that an expression is the AND of, where they are.
fn conjuncts_in(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Logic { op: LogicOp::And, args } => args.iter().flat_map(conjuncts_in).collect(),
        e if is_truth(e, true) => Vec::new(),
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::logic;
    use crate::testing::builder::*;

    #[test]
    fn each_relation_learns_its_part() {
        let mut t = Tables::new();
        let (n1, a, _) = t.table("n1", &["a", "x"]).pair();
        let (n2, b, _) = t.table("n2", &["b", "y"]).pair();
        let or = logic(LogicOp::Or, vec![Expr::and(vec![eq(a, 1), eq(b, 2)]), Expr::and(vec![eq(a, 2), eq(b, 1)])]);
        let rel = filter(join(n1, n2, vec![]), vec![or.clone()]);
        let Rel::Filter { predicates, .. } = t.run(run, rel) else { panic!("a filter") };
        assert_eq!(predicates, vec![or, in_list(a, &[1, 2]), in_list(b, &[2, 1])]);
    }

    #[test]
    fn a_branch_that_says_nothing_implies_nothing() {
        let mut t = Tables::new();
        let (_, a, b) = t.table("t", &["a", "b"]).pair();
        let or = logic(LogicOp::Or, vec![eq(a, 1), eq(b, 2)]);
        assert_eq!(implied(&or, &ColSet::from([a])), None);
    }
}
