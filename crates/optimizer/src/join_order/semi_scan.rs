//! Semi joins the other way round: from the distinct keys of the subquery to the rows around it.
//!
//! ```text
//!   a SEMI b on a.x = b.y   ->   a JOIN (Aggregate[b.y] b) on a.x = b.y
//! ```
//!
//! An inner join can begin with few keys and look the other tables up. Made distinct by hash this is MySQL's
//! materialise-scan, in the order of an index its LooseScan.

use crate::options::Options;
use crate::scope;
use muster_algebra::{ColId, CompareOp, Expr, JoinKind, Rel};

/// The join region with every semi join that allows it made an inner one; `None` if there is none.
pub fn variant(rel: &Rel, options: &Options) -> Option<Rel> {
    let mut changed = false;
    let rel = turn(rel.clone(), options, &mut changed);
    changed.then_some(rel)
}

fn turn(rel: Rel, options: &Options, changed: &mut bool) -> Rel {
    match rel {
        Rel::Filter { input, predicates } if matches!(*input, Rel::Join { .. }) => {
            Rel::Filter { input: Box::new(turn(*input, options, changed)), predicates }
        }
        Rel::Join { kind, left, right, on, straight } => {
            let left = Box::new(turn(*left, options, changed));
            let keys = if kind == JoinKind::Semi && !straight { keys_of(&right, &on) } else { None };
            if let Some(group) = keys
                && may_turn(&right, &group, options)
            {
                *changed = true;
                let right = Box::new(Rel::Aggregate { input: right, group, aggregates: Vec::new() });
                return Rel::Join { kind: JoinKind::Inner, left, right, on, straight };
            }
            let right = match kind {
                JoinKind::Inner => Box::new(turn(*right, options, changed)),
                _ => right,
            };
            Rel::Join { kind, left, right, on, straight }
        }
        other => other,
    }
}

/// The columns of the right side that the conditions, all of them equalities, compare with something of the left one.
fn keys_of(right: &Rel, on: &[Expr]) -> Option<Vec<ColId>> {
    let own = scope::output_set(right);
    let mut keys = Vec::new();
    for condition in on {
        let Expr::Compare { op: CompareOp::Eq, left: a, right: b } = condition else { return None };
        let key = match (&**a, &**b) {
            (Expr::Column(id), other) | (other, Expr::Column(id))
                if own.contains(id) && scope::expr_columns(other).is_disjoint(&own) && !other.has_subquery() =>
            {
                *id
            }
            _ => return None,
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    (!keys.is_empty() && scope::free_columns(right).is_empty()).then_some(keys)
}

/// Whether switches and hints allow it: with an index on the keys as LooseScan, else by materializing.
fn may_turn(right: &Rel, keys: &[ColId], options: &Options) -> bool {
    let options = options.for_rel(right);
    if options.is_forced("merge_join") {
        // What is merged comes in the order of an index, its distinct keys do not.
        return false;
    }
    let bare = match right {
        Rel::Filter { input, .. } => input,
        other => other,
    };
    let by_index = match bare {
        Rel::Get { table, columns, .. } => table.indexes.iter().any(|index| {
            let parts = index.parts.iter().take(keys.len());
            let is_key = |p: &muster_algebra::KeyPart| {
                columns.iter().any(|(id, position)| *position == p.column && keys.contains(id))
            };
            index.parts.len() >= keys.len() && parts.into_iter().all(is_key)
        }),
        _ => false,
    };
    options.is_on("materialization") || (by_index && options.is_on("loosescan"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn only_equalities_turn() {
        let mut t = Tables::new();
        let (l, a, x) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let options = Options::default();
        let semi = |on: Vec<Expr>| join_of(JoinKind::Semi, l.clone(), r.clone(), on);
        let turned = variant(&semi(vec![eq(x, y)]), &options);
        let Some(Rel::Join { kind: JoinKind::Inner, right, .. }) = turned else { panic!("{turned:?}") };
        assert!(matches!(*right, Rel::Aggregate { ref group, .. } if *group == [y]));
        assert_eq!(variant(&semi(vec![eq(x, y), lt(a, b)]), &options), None);
        assert_eq!(variant(&semi(vec![eq(x, y)]), &options.clone().without("materialization")), None, "no index on y");
        let by_key = semi(vec![eq(x, b)]);
        assert!(variant(&by_key, &options.clone().without("materialization")).is_some(), "LooseScan");
        assert_eq!(variant(&by_key, &options.without("materialization").without("loosescan")), None);
    }
}
