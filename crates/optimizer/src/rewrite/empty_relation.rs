//! What can have no rows is not computed: `WHERE FALSE`, `LIMIT 0`, joins with nothing.

use super::{RewriteContext, bottom_up, with_nulls};
use crate::literal::never_true;
use muster_algebra::{Expr, JoinKind, Rel};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Filter { predicates, input } if predicates.iter().any(never_true) => empty(&input),
            Rel::Filter { input, .. } if is_empty(&input) => *input,
            Rel::Limit { count: Some(0), input, .. } => empty(&input),
            Rel::Sort { input, .. } | Rel::Limit { input, .. } if is_empty(&input) => *input,
            Rel::Project { ref input, .. }
            | Rel::Rollup { ref input, .. }
            | Rel::Window { ref input, .. }
            | Rel::Lateral { ref input, .. }
            | Rel::JsonTable { ref input, .. }
                if is_empty(input) =>
            {
                empty(&node)
            }
            Rel::Aggregate { ref input, ref group, .. } if is_empty(input) && !group.is_empty() => empty(&node),
            Rel::Join { kind, left, right, on, straight } => empty_join(kind, left, right, on, straight, context),
            Rel::Union { inputs, columns } => {
                let inputs: Vec<_> = inputs.into_iter().filter(|(r, _)| !is_empty(r)).collect();
                if inputs.is_empty() {
                    Rel::Values { columns, rows: Vec::new() }
                } else {
                    Rel::Union { inputs, columns }
                }
            }
            other => other,
        })
    })
}

fn empty_join(
    kind: JoinKind,
    left: Box<Rel>,
    right: Box<Rel>,
    on: Vec<Expr>,
    straight: bool,
    context: &RewriteContext<'_>,
) -> Rel {
    let no_match = is_empty(&right) || (kind != JoinKind::NullAwareAnti && on.iter().any(never_true));
    match kind {
        _ if is_empty(&left) => empty(&Rel::Join { kind, left, right, on, straight }),
        JoinKind::Inner if no_match => empty(&Rel::Join { kind, left, right, on, straight }),
        JoinKind::Semi if no_match => empty(&left),
        JoinKind::Anti | JoinKind::NullAwareAnti if no_match => *left,
        JoinKind::Left if no_match => with_nulls(*left, right.output(), context.columns),
        _ => Rel::Join { kind, left, right, on, straight },
    }
}

/// No rows, with the columns of this relation.
fn empty(rel: &Rel) -> Rel {
    Rel::Values { columns: rel.output(), rows: Vec::new() }
}

fn is_empty(rel: &Rel) -> bool {
    matches!(rel, Rel::Values { rows, .. } if rows.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn emptiness_goes_up_to_what_it_decides() {
        let mut t = Tables::new();
        let (l, a, x) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let nothing = filter(r, vec![Expr::bool(false)]);
        let inner = join(l.clone(), nothing.clone(), vec![eq(a, b)]);
        assert_eq!(t.run(run, inner), Rel::Values { columns: vec![a, x, b, y], rows: vec![] });
        let anti = join_of(JoinKind::Anti, l.clone(), nothing.clone(), vec![eq(a, b)]);
        assert_eq!(t.run(run, anti), l);
        // An aggregate without group has its one row all the same.
        let (count, _) = t.aggregate(nothing, &[], muster_algebra::AggregateFunction::Count, None);
        assert!(matches!(t.run(run, count), Rel::Aggregate { .. }));
    }

    #[test]
    fn a_left_join_with_nothing_is_nulls() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let rel = join_of(JoinKind::Left, l.clone(), filter(r, vec![Expr::bool(false)]), vec![eq(a, b)]);
        let Rel::Project { input, exprs } = t.run(run, rel) else { panic!("a projection") };
        assert_eq!(*input, l);
        assert_eq!(exprs[3], (y, Expr::null(muster_types::SqlType::INT)));
    }
}
