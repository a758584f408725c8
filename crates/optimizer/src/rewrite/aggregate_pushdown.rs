//! An aggregate over a left join, grouped by a key of the left input and aggregating the right one, aggregates before
//! it joins: each left row then meets one row instead of all its partners.
//!
//! ```text
//!   Aggregate[c_custkey; count(o_orderkey)] (customer LEFT orders on c_custkey = o_custkey)
//!     ->  customer LEFT (Aggregate[o_custkey; count(o_orderkey)] orders), the count of no partner being 0
//! ```
//!
//! Only where the left input is a whole table: restricted to few rows, it would make most groups for nothing.

use super::{RewriteContext, bottom_up};
use crate::properties::unique_keys;
use crate::scope::{self, ColSet};
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, Columns, CompareOp, Expr, JoinKind, Rel, ScalarFunction, Value,
};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Aggregate { input, group, aggregates } => match pushed(&input, &group, &aggregates, context.columns) {
                Some(rel) => rel,
                None => Rel::Aggregate { input, group, aggregates },
            },
            other => other,
        })
    })
}

fn pushed(input: &Rel, group: &[ColId], aggregates: &[(ColId, AggregateCall)], columns: &mut Columns) -> Option<Rel> {
    let Rel::Join { kind: JoinKind::Left, left, right, on, straight } = input else { return None };
    let (left_columns, right_columns) = (scope::output_set(left), scope::output_set(right));
    let grouped: ColSet = group.iter().copied().collect();
    let by_row = grouped.is_subset(&left_columns) && unique_keys(left).iter().any(|k| k.is_subset(&grouped));
    if !matches!(**left, Rel::Get { .. }) || !by_row || !aggregates.iter().all(|(_, c)| is_of(c, &right_columns)) {
        return None;
    }
    let mut keys: Vec<ColId> = Vec::new();
    for condition in on {
        let key = join_key(condition, &left_columns, &right_columns)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return None;
    }
    let mut exprs: Vec<(ColId, Expr)> = group.iter().map(|id| (*id, Expr::Column(*id))).collect();
    let mut inner = Vec::new();
    for (id, call) in aggregates {
        let fresh = columns.add_computed(columns.get(*id).name.clone(), call.ty, true);
        let value = match call.function {
            AggregateFunction::Count => {
                let args = vec![Expr::Column(fresh), Expr::literal(Value::Int(0), call.ty)];
                Expr::Call { function: ScalarFunction::Coalesce, args, ty: call.ty }
            }
            _ => Expr::Column(fresh),
        };
        inner.push((fresh, call.clone()));
        exprs.push((*id, value));
    }
    let right = Box::new(Rel::Aggregate { input: right.clone(), group: keys, aggregates: inner });
    let join = Rel::Join { kind: JoinKind::Left, left: left.clone(), right, on: on.clone(), straight: *straight };
    Some(Rel::Project { input: Box::new(join), exprs })
}

/// Returns true if an aggregate depends on the right rows alone and a NULL-extended row does not change it.
fn is_of(call: &AggregateCall, right: &ColSet) -> bool {
    use AggregateFunction::{Avg, Count, Max, Min, Sum};
    let ignores_null = matches!(call.function, Count | Sum | Avg | Min | Max);
    // Arguments that are NULL in a NULL-extended row; COUNT(*) would count it.
    ignores_null
        && !call.args.is_empty()
        && call
            .args
            .iter()
            .all(|a| scope::covered(a, right) && crate::properties::is_null_with(a, right) && !a.has_subquery())
}

/// The right column of `left = right`.
fn join_key(condition: &Expr, left: &ColSet, right: &ColSet) -> Option<ColId> {
    let Expr::Compare { op: CompareOp::Eq, left: a, right: b } = condition else { return None };
    match (&**a, &**b) {
        (other, Expr::Column(id)) | (Expr::Column(id), other) if right.contains(id) && scope::covered(other, left) => {
            Some(*id)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    fn counted(t: &mut Tables, on: impl Fn(ColId, ColId, ColId) -> Vec<Expr>, by_key: bool) -> Rel {
        let (l, a, x) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let join = join_of(JoinKind::Left, l, r, on(a, b, y));
        t.aggregate(join, &[if by_key { a } else { x }], AggregateFunction::Count, Some(b)).0
    }

    #[test]
    fn counts_before_it_joins() {
        let mut t = Tables::new();
        let rel = counted(&mut t, |a, _, y| vec![eq(a, y)], true);
        let output = rel.output();
        let after = t.run(run, rel);
        assert_eq!(after.output(), output);
        let Rel::Project { input, exprs } = after else { panic!("a projection") };
        assert!(matches!(&exprs[1].1, Expr::Call { function: ScalarFunction::Coalesce, .. }));
        let Rel::Join { right, .. } = *input else { panic!("a join") };
        assert!(matches!(*right, Rel::Aggregate { .. }));
    }

    #[test]
    fn needs_a_key_and_equalities() {
        let mut t = Tables::new();
        for rel in [counted(&mut t, |a, _, y| vec![eq(a, y)], false), counted(&mut t, |a, _, y| vec![lt(a, y)], true)] {
            assert_eq!(t.run(run, rel.clone()), rel);
        }
    }
}
