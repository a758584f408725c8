//! `a LEFT JOIN b ON .. WHERE b.id IS NULL`, of a column that a partner never has NULL in: the rows without a partner,
//! an anti join. MySQL stops at the first partner of a row then ("Not exists" in EXPLAIN).

use crate::properties::{not_null_columns, rejects_null};
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Expr, JoinKind, Rel};
use std::collections::HashMap;

/// How often columns are mentioned in a statement.
#[derive(Default)]
pub struct Mentions(HashMap<ColId, usize>);

impl Mentions {
    /// `outputs`: the columns that the statement delivers.
    pub fn of(rel: &Rel, outputs: &[ColId]) -> Mentions {
        let mut mentions = Mentions::default();
        mentions.add_all(outputs);
        mentions.add_rel(rel);
        mentions
    }

    fn add_all(&mut self, ids: &[ColId]) {
        ids.iter().for_each(|id| *self.0.entry(*id).or_default() += 1);
    }

    fn add_expr(&mut self, expr: &Expr) {
        expr.visit(&mut |e| match e {
            Expr::Column(id) => self.add_all(&[*id]),
            Expr::Subquery(q) => {
                self.add_all(&q.outputs);
                self.add_rel(&q.rel);
            }
            Expr::Subplan(p) => self.add_all(&p.params),
            _ => {}
        });
    }

    fn add_rel(&mut self, rel: &Rel) {
        rel.exprs().into_iter().for_each(|expr| self.add_expr(expr));
        match rel {
            Rel::Aggregate { group, .. } => self.add_all(group),
            Rel::Union { inputs, .. } => inputs.iter().for_each(|(_, ids)| self.add_all(ids)),
            _ => {}
        }
        rel.inputs().into_iter().for_each(|input| self.add_rel(input));
    }

    /// Returns true if a column is mentioned outside of a relation and an expression.
    fn has_outside(&self, id: ColId, rel: &Rel, expr: &Expr) -> bool {
        let mut inside = Mentions::default();
        inside.add_rel(rel);
        inside.add_expr(expr);
        let count = |mentions: &Mentions| mentions.0.get(&id).copied().unwrap_or(0);
        count(self) > count(&inside)
    }
}

/// Turns a left join with a condition above it into an anti join, if the condition says that there is no partner and
/// nothing else mentions the columns of the right input.
pub fn turned(rel: Rel, mentions: &Mentions) -> Rel {
    let Rel::Filter { input, mut predicates } = rel else { return rel };
    let says_alone = |p: &Expr| says_alone(&input, p) && nothing_else_is_wanted(&input, p, mentions);
    let Some(at) = predicates.iter().position(says_alone) else {
        return Rel::Filter { input, predicates };
    };
    predicates.remove(at);
    let joined = match *input {
        Rel::Join { left, right, on, straight, .. } => Rel::Join { kind: JoinKind::Anti, left, right, on, straight },
        other => other,
    };
    if predicates.is_empty() { joined } else { Rel::Filter { input: Box::new(joined), predicates } }
}

/// Returns true if a condition holds for the rows of a left join that have no partner, and for no others.
fn says_alone(join: &Rel, condition: &Expr) -> bool {
    let (Rel::Join { kind: JoinKind::Left, right, on, .. }, Expr::IsNull { arg, negated: false }) = (join, condition)
    else {
        return false;
    };
    let Expr::Column(id) = &**arg else { return false };
    let only = ColSet::from([*id]);
    scope::output_set(right).contains(id)
        && (not_null_columns(right).contains(id) || on.iter().any(|condition| rejects_null(condition, &only)))
}

fn nothing_else_is_wanted(join: &Rel, condition: &Expr, mentions: &Mentions) -> bool {
    let Rel::Join { right, .. } = join else { return false };
    scope::output_set(right).into_iter().all(|id| !mentions.has_outside(id, join, condition))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    fn turned_kind(condition: impl Fn(&[ColId], &[ColId]) -> Vec<Expr>, wants_right: bool) -> JoinKind {
        let mut t = Tables::new();
        let (l, r) = (t.table("l", &["a", "x"]), t.table("r", &["b", "y"]));
        let (left, right) = (l.ids.clone(), r.ids.clone());
        let joined = join_of(JoinKind::Left, l.rel, r.rel, vec![eq(left[1], right[1])]);
        let mut outputs = left.clone();
        outputs.extend(right.iter().take(usize::from(wants_right)));
        let rel = filter(joined, condition(&left, &right));
        let mentions = Mentions::of(&rel, &outputs);
        fn kind(rel: &Rel) -> JoinKind {
            match rel {
                Rel::Join { kind, .. } => *kind,
                other => kind(other.inputs()[0]),
            }
        }
        kind(&turned(rel, &mentions))
    }

    #[test]
    fn rows_without_a_partner_are_an_anti_join() {
        assert_eq!(turned_kind(|_, r| vec![is_null(r[0])], false), JoinKind::Anti, "a key is never NULL");
        assert_eq!(turned_kind(|_, r| vec![is_null(r[1])], false), JoinKind::Anti, "the join rejects NULL");
        assert_eq!(turned_kind(|l, r| vec![eq(l[0], 5), is_null(r[0])], false), JoinKind::Anti);
    }

    #[test]
    fn others_stay() {
        assert_eq!(turned_kind(|_, r| vec![is_null(r[0])], true), JoinKind::Left, "the column is wanted");
        assert_eq!(turned_kind(|_, r| vec![not_null(r[0])], false), JoinKind::Left);
        assert_eq!(turned_kind(|l, _| vec![is_null(l[1])], false), JoinKind::Left);
        assert_eq!(turned_kind(|_, r| vec![is_null(r[0]), is_null(r[1])], false), JoinKind::Left);
    }
}
