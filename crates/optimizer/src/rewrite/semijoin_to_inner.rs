//! A semi join to at most one row is an inner join: the right input is unique in the columns it is joined by. Inner
//! joins can be ordered freely and built on either side.

use super::{RewriteContext, bottom_up};
use crate::properties::{equated, unique_keys};
use crate::scope;
use muster_algebra::{ColId, Expr, JoinKind, Rel};
use muster_types::Result;

pub fn run(rel: Rel, _context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Join { kind: JoinKind::Semi, left, right, on, straight } => {
                let kind = kind_of(&left, &right, &on);
                Rel::Join { kind, left, right, on, straight }
            }
            other => other,
        })
    })
}

/// What kind of join a semi join is: an inner one if each left row has at most one partner.
pub fn kind_of(left: &Rel, right: &Rel, on: &[Expr]) -> JoinKind {
    let left_columns = scope::output_set(left);
    let bound =
        |id: &ColId| on.iter().any(|e| equated(e, *id).is_some_and(|other| scope::covered(other, &left_columns)));
    let unique = unique_keys(right).iter().any(|key| key.iter().all(bound));
    if unique { JoinKind::Inner } else { JoinKind::Semi }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn needs_a_key_on_the_right() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, key, other) = t.table("r", &["k", "y"]).pair();
        for (on, expected) in [(eq(a, key), JoinKind::Inner), (eq(a, other), JoinKind::Semi)] {
            let rel = join_of(JoinKind::Semi, l.clone(), r.clone(), vec![on.clone()]);
            assert_eq!(t.run(run, rel), join_of(expected, l.clone(), r.clone(), vec![on]));
        }
    }

    #[test]
    fn a_group_is_a_key() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, _, y) = t.table("r", &["k", "y"]).pair();
        let (grouped, _) = t.aggregate(r, &[y], muster_algebra::AggregateFunction::Count, None);
        let rel = join_of(JoinKind::Semi, l.clone(), grouped.clone(), vec![eq(a, y)]);
        assert_eq!(t.run(run, rel), join_of(JoinKind::Inner, l, grouped, vec![eq(a, y)]));
    }
}
