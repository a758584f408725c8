//! Top-N over the entries of an index: its rows are fetched when the first entries in the wanted order are known.
//!
//! ```text
//!   lookup of rows by primary key
//!     Sort: id desc, 20 rows
//!       covering scan of i_state over 'A', 'B'
//! ```
//!
//! The index has all columns that conditions and order need, but not all that are wanted. The same is known as late
//! materialization, or as a deferred join where people write it by hand.

use super::index_merge::{Keys, Merged, has_exact_key};
use super::{Planner, Wanted, order};
use crate::access_path::{self, Request, hints};
use crate::scope::{self, ColSet};
use crate::substitution::substitute;
use muster_algebra::{ColId, Expr, Plan, SortKey, Switch};

impl Planner<'_> {
    /// The cheapest such plan, if an index allows one. It delivers no order.
    pub(super) fn late_fetch(&mut self, merged: Merged<'_>, wanted: Wanted<'_>) -> Option<Plan> {
        let Merged { table, hints, options, .. } = merged;
        let Wanted { order, limit: Some(limit), .. } = wanted else { return None };
        let is_on = |switch| options.is_on(switch);
        if order.is_empty()
            || ![Switch::LateFetch, Switch::LookupJoin, Switch::AccessPath].into_iter().all(is_on)
            || !has_exact_key(table)
        {
            return None;
        }
        let usable = |i: &usize| hints::may_read(*i, hints) && options.is_on_for(Switch::RangeOptimization, *i);
        let plans =
            (1..table.indexes.len()).filter(usable).filter_map(|i| self.first_of_entries(merged, i, order, limit));
        let plans: Vec<Plan> = plans.collect();
        plans.into_iter().min_by(|a, b| a.estimate.cost.compared_ms().total_cmp(&b.estimate.cost.compared_ms()))
    }

    fn first_of_entries(&mut self, merged: Merged<'_>, index: usize, keys: &[SortKey], limit: u64) -> Option<Plan> {
        let Merged { table, alias, columns, hints, conjuncts, required, options, known } = merged;
        let has = |id: &ColId| columns.iter().any(|(own, c)| own == id && table.index_has_column(index, *c));
        let decides = scope::exprs_columns(conjuncts.iter().chain(keys.iter().map(|key| &key.expr)));
        if !decides.iter().all(has) || required.iter().all(has) {
            return None;
        }
        let (columns, renamed) = self.columns_again(merged);
        self.learn(&muster_algebra::Rel::Get {
            table: table.clone(),
            alias: alias.into(),
            columns: columns.clone(),
            hints: Vec::new(),
        });
        let of_part = |column: usize| columns.iter().find(|(_, c)| *c == column).map(|(id, _)| *id);
        let ids: Vec<ColId> = table.indexes[0].parts.iter().map(|p| of_part(p.column)).collect::<Option<_>>()?;
        let again = |expr: &Expr| substitute(expr.clone(), &renamed);
        let keys: Vec<SortKey> = keys.iter().map(|k| SortKey { expr: again(&k.expr), ..k.clone() }).collect();
        let ordered_by = scope::exprs_columns(keys.iter().map(|key| &key.expr));
        let required: ColSet = ids.iter().copied().chain(ordered_by).collect();
        let conjuncts: Vec<Expr> = conjuncts.iter().map(again).collect();
        let request = Request {
            table,
            alias,
            columns: &columns,
            hints,
            conjuncts: &conjuncts,
            required: &required,
            order: &[],
            limit: None,
            takes_risks: false,
            known,
        };
        let entries = access_path::entries(&request, index, self.statistics, &self.estimator, options)?;
        let plan = order::sorted(entries, keys, Some(limit), &self.options.cost);
        Some(self.rows_of(merged, Keys { plan, ids, index }))
    }
}
