//! How many values a column of a plan can have at most, as far as the plan tells: an inner or semi join leaves no
//! values of a key that the other side does not have.

use muster_algebra::{ColId, Expr, JoinKind, Plan, PlanOp};

/// The most values that these columns can have together in the rows of a plan.
pub fn groups_max(plan: &Plan, group: &[ColId]) -> f64 {
    group.iter().map(|id| values_max(plan, *id)).product()
}

/// The most values that a column can have in the rows of a plan.
fn values_max(plan: &Plan, id: ColId) -> f64 {
    let partners = |pairs: &mut dyn Iterator<Item = (&Expr, &Expr)>, side: &Plan| {
        let equal = pairs.filter(|(own, _)| **own == Expr::Column(id));
        let other = equal.filter_map(|(_, other)| match other {
            Expr::Column(other) => Some(values_max(side, *other)),
            _ => None,
        });
        other.fold(f64::INFINITY, f64::min)
    };
    let below = match &plan.op {
        PlanOp::HashJoin { kind, left, right, keys, .. } | PlanOp::MergeJoin { kind, left, right, keys, .. } => {
            let own = if left.output.contains(&id) { left } else { right };
            let of_own = if own.output.contains(&id) { values_max(own, id) } else { f64::INFINITY };
            match kind {
                JoinKind::Inner | JoinKind::Semi => {
                    let of_left = partners(&mut keys.iter().map(|(l, r)| (l, r)), right);
                    let of_right = partners(&mut keys.iter().map(|(l, r)| (r, l)), left);
                    of_own.min(of_left).min(of_right)
                }
                JoinKind::Left | JoinKind::Anti | JoinKind::NullAwareAnti => of_own,
            }
        }
        PlanOp::LookupJoin { kind, left, lookup, keys, .. } => {
            if left.output.contains(&id) {
                values_max(left, id)
            } else if *kind == JoinKind::Inner {
                let position = lookup.columns.iter().find(|(own, _)| *own == id).map(|(_, position)| *position);
                let parts = lookup.table.key_parts(lookup.index);
                let mut keys = keys.iter().zip(parts).filter(|(_, part)| Some(part.column) == position);
                match keys.next() {
                    Some((Expr::Column(key), _)) => values_max(left, *key),
                    _ => f64::INFINITY,
                }
            } else {
                f64::INFINITY
            }
        }
        PlanOp::Filter { input, .. }
        | PlanOp::Sort { input, .. }
        | PlanOp::Limit { input, .. }
        | PlanOp::EarlyStop { input, .. } => values_max(input, id),
        PlanOp::Project { input, exprs } => match exprs.iter().find(|(new, _)| *new == id) {
            Some((_, Expr::Column(old))) => values_max(input, *old),
            _ => f64::INFINITY,
        },
        PlanOp::HashAggregate { input, group, .. } | PlanOp::StreamAggregate { input, group, .. }
            if group.contains(&id) =>
        {
            values_max(input, id)
        }
        _ => f64::INFINITY,
    };
    below.min(plan.estimate.rows.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_algebra::{Cost, Estimate, Side};

    fn read(id: u32, rows: f64) -> Plan {
        let op = PlanOp::Values { rows: Vec::new() };
        Plan::new(op, vec![ColId(id), ColId(id + 1)], Estimate { rows, cost: Cost::ZERO }, Vec::new())
    }

    #[test]
    fn a_join_leaves_no_more_values_of_its_keys_than_either_side_has() {
        let join = |kind, output: &[u32]| {
            let (left, right) = (Box::new(read(1, 1000.0)), Box::new(read(3, 20.0)));
            let keys = vec![(Expr::Column(ColId(1)), Expr::Column(ColId(3)))];
            let op = PlanOp::HashJoin { kind, left, right, keys, residual: Vec::new(), build: Side::Right };
            let output = output.iter().copied().map(ColId).collect();
            Plan::new(op, output, Estimate { rows: 600.0, cost: Cost::ZERO }, Vec::new())
        };
        let inner = join(JoinKind::Inner, &[1, 2, 4]);
        assert_eq!(groups_max(&inner, &[ColId(1)]), 20.0);
        assert_eq!(groups_max(&inner, &[ColId(2)]), 600.0, "no key");
        assert_eq!(groups_max(&inner, &[ColId(4)]), 20.0, "the rows of its side");
        assert_eq!(groups_max(&inner, &[ColId(1), ColId(4)]), 400.0);
        assert_eq!(groups_max(&join(JoinKind::Semi, &[1, 2]), &[ColId(1)]), 20.0);
        assert_eq!(groups_max(&join(JoinKind::Left, &[1, 2]), &[ColId(1)]), 600.0);
        assert_eq!(groups_max(&join(JoinKind::Anti, &[1, 2]), &[ColId(1)]), 600.0);
    }
}
