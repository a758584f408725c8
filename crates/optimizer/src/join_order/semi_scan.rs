//! Semi joins the other way round: as inner joins, which can begin with the rows of the subquery and look the tables
//! around it up.
//!
//! ```text
//!   a SEMI b on a.x = b.y   ->   a JOIN (Aggregate[b.y] b) on a.x = b.y             duplicates leave before the join
//!   a SEMI b on p(a, b)     ->   Aggregate[key of a, columns] (a JOIN b on p(a, b))  or after it
//! ```
//!
//! The first, made distinct by hash, is MySQL's materialise-scan, in the order of an index its LooseScan. The second is
//! its DuplicateWeedout: it serves any condition, but all joined rows go through it.

use crate::options::Options;
use crate::properties;
use crate::rewrite::group_by_key;
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Columns, CompareOp, Expr, JoinKind, Rel, Switch};

/// The join region with semi joins made inner ones, as far as switches and hints allow; none if there are no semi
/// joins. `required`: columns wanted above.
pub fn variants(rel: &Rel, required: &ColSet, columns: &mut Columns, options: &Options) -> Vec<Rel> {
    if !has_semi_join(rel) {
        return Vec::new();
    }
    let distinct_first = turned(rel, &|right, on| distinct_keys(right, on, options));
    let distinct_last = turned(rel, &|right, on| may_weed_out(right, on, options).then(|| right.clone()));
    let weeded = distinct_last.and_then(|joined| weeded_out(rel, joined, required, columns));
    distinct_first.into_iter().chain(weeded).collect()
}

/// Returns true if there is a semi join where [`turn`] looks for one.
fn has_semi_join(rel: &Rel) -> bool {
    match rel {
        Rel::Filter { input, .. } if matches!(**input, Rel::Join { .. }) => has_semi_join(input),
        Rel::Join { kind: JoinKind::Semi, .. } => true,
        Rel::Join { kind: JoinKind::Inner, left, right, .. } => has_semi_join(left) || has_semi_join(right),
        Rel::Join { left, .. } => has_semi_join(left),
        _ => false,
    }
}

/// The region with those semi joins made inner ones for which there is another right input.
fn turned(rel: &Rel, right_of: &dyn Fn(&Rel, &[Expr]) -> Option<Rel>) -> Option<Rel> {
    let mut changed = false;
    let rel = turn(rel.clone(), right_of, &mut changed);
    changed.then_some(rel)
}

fn turn(rel: Rel, right_of: &dyn Fn(&Rel, &[Expr]) -> Option<Rel>, changed: &mut bool) -> Rel {
    match rel {
        Rel::Filter { input, predicates } if matches!(*input, Rel::Join { .. }) => {
            Rel::Filter { input: Box::new(turn(*input, right_of, changed)), predicates }
        }
        Rel::Join { kind, left, right, on, straight } => {
            let left = Box::new(turn(*left, right_of, changed));
            let other = if kind == JoinKind::Semi && !straight { right_of(&right, &on) } else { None };
            if let Some(right) = other {
                *changed = true;
                return Rel::Join { kind: JoinKind::Inner, left, right: Box::new(right), on, straight };
            }
            let right = match kind {
                JoinKind::Inner => Box::new(turn(*right, right_of, changed)),
                _ => right,
            };
            Rel::Join { kind, left, right, on, straight }
        }
        other => other,
    }
}

/// The distinct keys of a semi join's right side.
fn distinct_keys(right: &Rel, on: &[Expr], options: &Options) -> Option<Rel> {
    let group = keys_of(right, on).filter(|group| may_turn(right, group, options))?;
    Some(Rel::Aggregate { input: Box::new(right.clone()), group, aggregates: Vec::new() })
}

fn may_weed_out(right: &Rel, on: &[Expr], options: &Options) -> bool {
    options.for_rel(right).is_on(Switch::Duplicateweedout)
        && !on.iter().any(Expr::has_subquery)
        && scope::free_columns(right).is_empty()
}

/// Each row of the region once, told by a key of it.
fn weeded_out(region: &Rel, joined: Rel, required: &ColSet, columns: &mut Columns) -> Option<Rel> {
    let own = scope::output_set(region);
    let key = properties::unique_keys(region).into_iter().filter(|key| !key.is_empty()).min_by_key(ColSet::len)?;
    let group: ColSet = key.into_iter().chain(required.intersection(&own).copied()).collect();
    Some(group_by_key::shrink(Box::new(joined), group.into_iter().collect(), Vec::new(), columns))
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

/// Returns true if switches and hints allow the semi join to be read first: as LooseScan with an index on the keys,
/// else by materializing.
fn may_turn(right: &Rel, keys: &[ColId], options: &Options) -> bool {
    let options = options.for_rel(right);
    if options.is_forced(Switch::MergeJoin) {
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
    options.is_on(Switch::Materialization) || (by_index && options.is_on(Switch::Loosescan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn equalities_turn_to_distinct_keys() {
        let mut t = Tables::new();
        let (l, a, x) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let options = Options::default();
        let semi = |on: Vec<Expr>| join_of(JoinKind::Semi, l.clone(), r.clone(), on);
        let turned = |on, options: &Options| turned(&semi(on), &|right, on| distinct_keys(right, on, options));
        let by_value = turned(vec![eq(x, y)], &options);
        let Some(Rel::Join { kind: JoinKind::Inner, right, .. }) = by_value else { panic!("{by_value:?}") };
        assert!(matches!(*right, Rel::Aggregate { ref group, .. } if *group == [y]));
        assert_eq!(turned(vec![eq(x, y), lt(a, b)], &options), None);
        assert_eq!(turned(vec![eq(x, y)], &options.clone().without(Switch::Materialization)), None, "no index on y");
        let by_key = || vec![eq(x, b)];
        assert!(turned(by_key(), &options.clone().without(Switch::Materialization)).is_some(), "LooseScan");
        assert_eq!(turned(by_key(), &options.without(Switch::Materialization).without(Switch::Loosescan)), None);
    }

    #[test]
    fn any_condition_lets_duplicates_be_weeded_out() {
        let mut t = Tables::new();
        let (l, a, x) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let semi = join_of(JoinKind::Semi, l.clone(), r, vec![eq(x, y), lt(a, b)]);
        let required = ColSet::from([x]);
        let options = Options::default();
        let found = variants(&semi, &required, &mut t.columns, &options);
        // The key of `l` tells its rows apart, and has one `x`.
        let [Rel::Project { input, exprs }] = found.as_slice() else { panic!("{found:?}") };
        assert!(exprs.iter().any(|(id, _)| *id == x));
        let Rel::Aggregate { input, group, .. } = &**input else { panic!("{found:?}") };
        assert_eq!(*group, [a]);
        assert!(matches!(**input, Rel::Join { kind: JoinKind::Inner, .. }));
        assert!(variants(&semi, &required, &mut t.columns, &options.without(Switch::Duplicateweedout)).is_empty());
        assert!(variants(&l, &required, &mut t.columns, &Options::default()).is_empty());
    }
}
