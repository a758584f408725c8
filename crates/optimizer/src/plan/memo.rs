//! Plans that were made before. Alternatives of a statement (semi joins turned to inner joins, an input in an order and
//! in none, a unit before and after it is restricted) contain the same relations; without a memory each level of
//! nesting would multiply the work by their number.

use super::Planner;
use super::joins::reduction::Restricted;
use crate::fingerprint;
use crate::ranges::KnownRanges;
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Expr, Plan, Rel};
use muster_types::Result;
use std::collections::HashMap;
use std::rc::Rc;

/// Results that the planner of a statement remembers.
#[derive(Default)]
pub struct Memo {
    /// True if the statement joins anything; else it has no alternatives that contain the same relations.
    is_useful: bool,
    plans: HashMap<u64, Vec<Made>>,
    ranges: HashMap<u64, Vec<Restriction>>,
    pub restricted: Restricted,
}

impl Memo {
    /// The memory for a statement, with nothing in it.
    pub fn of(rel: &Rel) -> Memo {
        Memo { is_useful: has_join(rel), ..Memo::default() }
    }
}

/// A table with conditions on it, and what is known of the ranges that these leave.
struct Restriction {
    table: Rel,
    conjuncts: Vec<Expr>,
    known: Rc<KnownRanges>,
}

impl Memo {
    /// What is known of the ranges that conjuncts leave of a table's indexes; filled by who asks for them.
    pub fn ranges_of(&mut self, table: &Rel, conjuncts: &[Expr]) -> Rc<KnownRanges> {
        if !self.is_useful || conjuncts.is_empty() {
            return Rc::default();
        }
        let hash = fingerprint::of_exprs(conjuncts);
        let alike = self.ranges.entry(hash).or_default();
        if let Some(found) = alike.iter().find(|r| r.table == *table && r.conjuncts == conjuncts) {
            return found.known.clone();
        }
        let known = Rc::default();
        alike.push(Restriction { table: table.clone(), conjuncts: conjuncts.to_vec(), known: Rc::clone(&known) });
        known
    }
}

/// Returns true if there is a join in a relation or in one of its subqueries.
fn has_join(rel: &Rel) -> bool {
    let in_subquery = |expr: &Expr| {
        let mut found = false;
        expr.visit(&mut |e| {
            if let Expr::Subquery(q) = e {
                found |= has_join(&q.rel);
            }
        });
        found
    };
    matches!(rel, Rel::Join { .. })
        || rel.inputs().into_iter().any(has_join)
        || rel.exprs().into_iter().any(in_subquery)
}

/// A plan of a relation for the columns required of it, in the order of a column or in any order. Without a plan, the
/// relation does not come in that order.
struct Made {
    rel: Rel,
    required: ColSet,
    order: Option<ColId>,
    plan: Option<Plan>,
}

impl Planner<'_> {
    /// The plan that `make` makes, or has made before, of a relation for those of the required columns that the
    /// relation has.
    pub fn memoized(
        &mut self,
        rel: &Rel,
        required: &ColSet,
        order: Option<ColId>,
        make: impl FnOnce(&mut Self, &ColSet) -> Result<Option<Plan>>,
    ) -> Result<Option<Plan>> {
        if !self.memo.is_useful {
            return make(self, required);
        }
        let own = scope::output_set(rel);
        let required: ColSet = required.intersection(&own).copied().collect();
        let hash = fingerprint::of_rel(rel);
        let is_same = |m: &&Made| m.order == order && m.required == required && m.rel == *rel;
        if let Some(made) = self.memo.plans.get(&hash).and_then(|list| list.iter().find(is_same)) {
            return Ok(made.plan.clone());
        }
        let plan = make(self, &required)?;
        let made = Made { rel: rel.clone(), required, order, plan: plan.clone() };
        self.memo.plans.entry(hash).or_default().push(made);
        Ok(plan)
    }
}
