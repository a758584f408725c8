//! What is known of a column is known of every column equal to it: from `a = b AND a = 5` follows `b = 5`, from
//! `a = b AND a < 9` follows `b < 9`. (Equalities between more than two columns are closed when joins are ordered.)

use super::{RewriteContext, bottom_up};
use crate::column_classes::EqualColumns;
use crate::fingerprint::{self, ExprSet};
use crate::literal::is_constant;
use crate::relation::filtered;
use crate::substitution::{Substitution, substitute};
use muster_algebra::{ColId, Columns, CompareOp, Expr, JoinKind, Rel, SqlType};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    let columns = &*context.columns;
    bottom_up(rel, &mut |node| {
        Ok(match &node {
            Rel::Filter { .. } | Rel::Join { .. } => {
                let more = implied(&node, columns);
                match node {
                    // Conditions on the right input of a semi or left join belong to the join.
                    Rel::Join { kind, left, right, mut on, straight } if kind != JoinKind::Inner => {
                        if matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
                            on.extend(more);
                        }
                        Rel::Join { kind, left, right, on, straight }
                    }
                    other => filtered(other, more),
                }
            }
            _ => node,
        })
    })
}

/// Conditions that follow from those of a region of inner joins and are not among them.
fn implied(rel: &Rel, columns: &Columns) -> Vec<Expr> {
    let mut conjuncts = Vec::new();
    let dependent = match rel {
        Rel::Join { kind, left, on, .. } if *kind != JoinKind::Inner => {
            collect(left, &mut conjuncts);
            let before = conjuncts.len();
            conjuncts.extend(on.iter().cloned());
            Some(before)
        }
        _ => {
            collect(rel, &mut conjuncts);
            None
        }
    };
    let mut equal = EqualColumns::default();
    for conjunct in &conjuncts {
        if let Expr::Compare { op: CompareOp::Eq, left, right } = conjunct
            && let (Expr::Column(a), Expr::Column(b)) = (&**left, &**right)
            && same_type(columns.ty(*a), columns.ty(*b))
        {
            equal.join(*a, *b);
        }
    }
    let right = match rel {
        Rel::Join { right, .. } if dependent.is_some() => Some(crate::scope::output_set(right)),
        _ => None,
    };
    let mut more: Vec<Expr> = Vec::new();
    for (i, conjunct) in conjuncts.iter().enumerate() {
        // Of a left or semi join: what the left rows are known to be is handed to the right.
        if dependent.is_some_and(|before| i >= before) {
            continue;
        }
        let Some(id) = constrained_column(conjunct) else { continue };
        for other in equal.class_of(id).unwrap_or(&[]).iter().filter(|c| **c != id) {
            if right.as_ref().is_some_and(|r| !r.contains(other)) {
                continue;
            }
            let map = Substitution::from([(id, Expr::Column(*other))]);
            more.push(substitute(conjunct.clone(), &map));
        }
    }
    let known: ExprSet<'_> = conjuncts.iter().collect();
    more.retain(|new| !known.contains(new));
    fingerprint::remove_repeated(&mut more);
    more
}

fn collect(rel: &Rel, conjuncts: &mut Vec<Expr>) {
    match rel {
        Rel::Filter { input, predicates } => {
            conjuncts.extend(predicates.iter().cloned());
            collect(input, conjuncts);
        }
        Rel::Join { kind: JoinKind::Inner, left, right, on, .. } => {
            conjuncts.extend(on.iter().cloned());
            collect(left, conjuncts);
            collect(right, conjuncts);
        }
        Rel::Join { left, .. } => collect(left, conjuncts),
        _ => {}
    }
}

/// The column that a condition compares with constants, if it is worth knowing of its equals.
fn constrained_column(expr: &Expr) -> Option<ColId> {
    match expr {
        Expr::Compare { op, left, right } if *op != CompareOp::NotEq && *op != CompareOp::NullSafeEq => {
            match (&**left, &**right) {
                (Expr::Column(id), other) | (other, Expr::Column(id)) => is_constant(other).then_some(*id),
                _ => None,
            }
        }
        Expr::InList { arg, list, negated: false } => match &**arg {
            Expr::Column(id) if list.iter().all(is_constant) => Some(*id),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if equal values of the two types are the same value in every comparison.
fn same_type(a: SqlType, b: SqlType) -> bool {
    match (a, b) {
        (SqlType::Text { collation: x, .. }, SqlType::Text { collation: y, .. }) => x == y,
        (SqlType::Float | SqlType::Double, _) => false,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn constants_and_bounds_reach_all_equal_columns() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, b, c) = t.table("r", &["b", "c"]).pair();
        let rel = filter(join(l, r, vec![eq(a, b), eq(b, c)]), vec![lt(a, 9)]);
        let Rel::Filter { predicates, .. } = t.run(run, rel) else { panic!("a filter") };
        assert_eq!(predicates, vec![lt(a, 9), lt(b, 9), lt(c, 9)]);
    }

    #[test]
    fn the_right_of_a_left_join_learns_from_the_left_only() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, b, c) = t.table("r", &["b", "c"]).pair();
        let rel = join_of(JoinKind::Left, filter(l, vec![eq(a, 5)]), r, vec![eq(a, b), eq(c, 1)]);
        let Rel::Join { on, .. } = t.run(run, rel) else { panic!("a join") };
        assert_eq!(on, vec![eq(a, b), eq(c, 1), eq(b, 5)]);
    }
}
