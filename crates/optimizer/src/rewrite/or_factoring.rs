//! Conditions common to all branches of an OR come out of it: `(j AND a) OR (j AND b)` becomes `j AND (a OR b)`, so
//! that `j` can be a join condition. An OR of equalities with constants becomes an IN list.

use super::{RewriteContext, logic, update_exprs};
use crate::fingerprint::{self, ExprSet};
use crate::literal::literal;
use crate::substitution::replace_with;
use muster_algebra::{CompareOp, Expr, LogicOp, Rel, SqlType};
use muster_types::Result;

pub fn run(rel: Rel, _context: &mut RewriteContext<'_>) -> Result<Rel> {
    let factored = update_exprs(rel, &mut |expr| {
        if !is_factored(expr) {
            replace_with(expr, factor);
        }
    })?;
    super::bottom_up(factored, &mut |node| {
        Ok(match node {
            Rel::Filter { input, predicates } => Rel::Filter { input, predicates: Expr::conjuncts_of(predicates) },
            Rel::Join { kind, left, right, on, straight } => {
                Rel::Join { kind, left, right, on: Expr::conjuncts_of(on), straight }
            }
            other => other,
        })
    })
}

/// Returns true if [`factor`] certainly leaves an expression as it is: it is no OR, or an OR of at least one AND whose
/// branches have nothing in common, nothing to flatten and nothing that is decided.
fn is_factored(expr: &Expr) -> bool {
    let Expr::Logic { op: LogicOp::Or, args } = expr else { return true };
    let is_plain = |e: &Expr| !matches!(e, Expr::Logic { .. } | Expr::Literal { .. });
    let branches: Option<Vec<&[Expr]>> = args
        .iter()
        .map(|arg| match arg {
            Expr::Logic { op: LogicOp::And, args } => {
                (args.len() > 1 && args.iter().all(|e| is_plain(e) || is_nested_or(e))).then_some(args.as_slice())
            }
            other => is_plain(other).then_some(std::slice::from_ref(other)),
        })
        .collect();
    // Branches of one condition each may become a list.
    branches.is_some_and(|branches| branches.iter().any(|b| b.len() > 1) && common_to(&branches).is_empty())
}

fn is_nested_or(expr: &Expr) -> bool {
    matches!(expr, Expr::Logic { op: LogicOp::Or, .. })
}

/// Factors one OR whose parts are done.
pub fn factor(expr: Expr) -> Expr {
    let Expr::Logic { op: LogicOp::Or, args } = expr else { return expr };
    let mut branches: Vec<Vec<Expr>> = args.into_iter().map(Expr::into_conjuncts).collect();
    if branches.is_empty() {
        return Expr::bool(false);
    }
    // An empty branch is TRUE, and so is the whole.
    if branches.iter().any(Vec::is_empty) {
        return Expr::bool(true);
    }
    let mut common: Vec<Expr> = common_to(&branches).into_iter().cloned().collect();
    if !common.is_empty() {
        let known: ExprSet<'_> = common.iter().collect();
        branches.iter_mut().for_each(|branch| branch.retain(|c| !known.contains(c)));
    }
    if branches.iter().any(Vec::is_empty) {
        // One branch asks for nothing more.
        return Expr::and(common);
    }
    let rest = match as_in_list(&branches) {
        Some(list) => list,
        None => logic(LogicOp::Or, branches.into_iter().map(Expr::and).collect()),
    };
    common.push(rest);
    Expr::and(common)
}

/// The conditions that all branches have.
fn common_to<B: AsRef<[Expr]>>(branches: &[B]) -> Vec<&Expr> {
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    let mut common: Vec<&Expr> = first.as_ref().iter().collect();
    for branch in others {
        if common.is_empty() {
            break;
        }
        let own: ExprSet<'_> = branch.as_ref().iter().collect();
        common.retain(|c| own.contains(c));
    }
    common
}

fn same_type(a: SqlType, b: SqlType) -> bool {
    match (a, b) {
        (SqlType::Text { collation: x, .. }, SqlType::Text { collation: y, .. }) => x == y,
        _ => a == b,
    }
}

/// `x = 1 OR x IN (2, 3)` as `x IN (1, 2, 3)`.
fn as_in_list(branches: &[Vec<Expr>]) -> Option<Expr> {
    let mut found: Option<(&Expr, Vec<Expr>)> = None;
    let mut ty = None;
    for branch in branches {
        let [condition] = branch.as_slice() else { return None };
        let (arg, values): (&Expr, Vec<&Expr>) = match condition {
            Expr::Compare { op: CompareOp::Eq, left, right } => match (literal(left), literal(right)) {
                (None, Some(_)) => (left, vec![right]),
                (Some(_), None) => (right, vec![left]),
                _ => return None,
            },
            Expr::InList { arg, list, negated: false } => (arg, list.iter().collect()),
            _ => return None,
        };
        if !matches!(arg, Expr::Column(_)) || found.as_ref().is_some_and(|(a, _)| *a != arg) {
            return None;
        }
        let list = &mut found.get_or_insert((arg, Vec::new())).1;
        for value in values {
            let (_, own) = literal(value)?;
            if !same_type(*ty.get_or_insert(own), own) {
                return None;
            }
            list.push(value.clone());
        }
    }
    let (arg, mut list) = found?;
    fingerprint::remove_repeated(&mut list);
    Some(Expr::InList { arg: Box::new(arg.clone()), list, negated: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn common_conditions_come_out() {
        let mut t = Tables::new();
        let (_, a, b) = t.table("t", &["a", "b"]).pair();
        let branch = |n| Expr::and(vec![eq(a, b), lt(a, n)]);
        let got = factor(logic(LogicOp::Or, vec![branch(1), branch(2)]));
        assert_eq!(got, Expr::and(vec![eq(a, b), logic(LogicOp::Or, vec![lt(a, 1), lt(a, 2)])]));
        // A branch without more: only what is common is asked.
        assert_eq!(factor(logic(LogicOp::Or, vec![eq(a, b), branch(2)])), eq(a, b));
    }

    #[test]
    fn equalities_become_a_list() {
        let mut t = Tables::new();
        let (_, a, b) = t.table("t", &["a", "b"]).pair();
        let or = |args| factor(logic(LogicOp::Or, args));
        assert_eq!(or(vec![eq(a, 1), eq(a, 2)]), in_list(a, &[1, 2]));
        let mixed = vec![eq(a, 1), eq(b, 2)];
        assert_eq!(or(mixed.clone()), logic(LogicOp::Or, mixed));
    }
}
