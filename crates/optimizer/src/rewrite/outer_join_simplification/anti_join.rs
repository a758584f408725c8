//! `a LEFT JOIN b ON .. WHERE b.id IS NULL`, of a column that a partner never has NULL in: the rows without a partner,
//! an anti join. MySQL stops at the first partner of a row then ("Not exists" in EXPLAIN).

use crate::properties::{not_null_columns, rejects_null};
use crate::rewrite::with_nulls;
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Columns, Expr, JoinKind, Rel};
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

/// Turns a left join with a condition above it into an anti join, if the condition says that there is no partner. What
/// is wanted of the columns of the right input all the same is NULL.
pub fn turned(rel: Rel, mentions: &Mentions, columns: &Columns) -> Rel {
    let Rel::Filter { input, mut predicates } = rel else { return rel };
    let Some(at) = predicates.iter().position(|p| says_alone(&input, p)) else {
        return Rel::Filter { input, predicates };
    };
    let condition = predicates.remove(at);
    let wanted = wanted_of_right(&input, &condition, mentions);
    let mut joined = match *input {
        Rel::Join { left, right, on, straight, .. } => Rel::Join { kind: JoinKind::Anti, left, right, on, straight },
        other => other,
    };
    if !wanted.is_empty() {
        joined = with_nulls(joined, wanted, columns);
    }
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

/// The columns of the right input that are mentioned outside of the join and the condition.
fn wanted_of_right(join: &Rel, condition: &Expr, mentions: &Mentions) -> Vec<ColId> {
    let Rel::Join { right, .. } = join else { return Vec::new() };
    right.output().into_iter().filter(|id| mentions.has_outside(*id, join, condition)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    /// A left join under a condition, as it is rewritten. `wants_right`: a column of its right side is delivered.
    fn turned_join(condition: impl Fn(&[ColId], &[ColId]) -> Vec<Expr>, wants_right: bool) -> Rel {
        let mut t = Tables::new();
        let (l, r) = (t.table("l", &["a", "x"]), t.table("r", &["b", "y"]));
        let (left, right) = (l.ids.clone(), r.ids.clone());
        let joined = join_of(JoinKind::Left, l.rel, r.rel, vec![eq(left[1], right[1])]);
        let mut outputs = left.clone();
        outputs.extend(right.iter().take(usize::from(wants_right)));
        let rel = filter(joined, condition(&left, &right));
        let mentions = Mentions::of(&rel, &outputs);
        turned(rel, &mentions, &t.columns)
    }

    fn kind(rel: &Rel) -> JoinKind {
        match rel {
            Rel::Join { kind, .. } => *kind,
            other => kind(other.inputs()[0]),
        }
    }

    #[test]
    fn rows_without_a_partner_are_an_anti_join() {
        let turned_kind = |condition: &dyn Fn(&[ColId], &[ColId]) -> Vec<Expr>| kind(&turned_join(condition, false));
        assert_eq!(turned_kind(&|_, r| vec![is_null(r[0])]), JoinKind::Anti, "a key is never NULL");
        assert_eq!(turned_kind(&|_, r| vec![is_null(r[1])]), JoinKind::Anti, "the join rejects NULL");
        assert_eq!(turned_kind(&|l, r| vec![eq(l[0], 5), is_null(r[0])]), JoinKind::Anti);
        assert_eq!(turned_kind(&|_, r| vec![is_null(r[0]), is_null(r[1])]), JoinKind::Anti);
    }

    #[test]
    fn what_is_wanted_of_the_partners_is_null() {
        let Rel::Project { input, exprs } = turned_join(|_, r| vec![is_null(r[0])], true) else {
            panic!("a projection");
        };
        assert_eq!(kind(&input), JoinKind::Anti);
        assert!(matches!(exprs[0], (id, Expr::Column(passed)) if id == passed), "{exprs:?}");
        assert_eq!(exprs[2].1, Expr::null(muster_types::SqlType::INT));
        assert_eq!(exprs.len(), 3, "the join delivers its left side, and one column is wanted of the other");
    }

    #[test]
    fn others_stay() {
        let turned_kind = |condition: &dyn Fn(&[ColId], &[ColId]) -> Vec<Expr>| kind(&turned_join(condition, false));
        assert_eq!(turned_kind(&|_, r| vec![not_null(r[0])]), JoinKind::Left);
        assert_eq!(turned_kind(&|l, _| vec![is_null(l[1])]), JoinKind::Left);
    }
}
