//! Inputs of aggregates from the ends of an index: the first or last entry of each group (loose index scan), or of all
//! (MIN and MAX without GROUP BY). The aggregate above stays, so they may deliver more rows than it needs.

use super::{Planner, append};
use crate::access_path::loose::{self, End};
use crate::access_path::{Request, hints};
use crate::copy;
use crate::ranges::KnownRanges;
use crate::scope::ColSet;
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, Expr, IndexHintScope, Plan, PlanOp, Rel, SortKey, Switch,
};
use muster_types::Result;
use std::collections::BTreeMap;

/// An input with fewer rows than the table has.
pub(super) struct Fewer {
    pub plan: Plan,
    /// True if a hint asks for this alternative.
    pub forced: bool,
}

/// A base table with conditions that storage can check.
#[derive(Clone, Copy)]
struct Table<'a> {
    /// The table with its conditions.
    rel: &'a Rel,
    get: &'a Rel,
    predicates: &'a [Expr],
}

impl<'a> Table<'a> {
    fn of(rel: &'a Rel) -> Option<Table<'a>> {
        match rel {
            Rel::Get { .. } => Some(Table { rel, get: rel, predicates: &[] }),
            Rel::Filter { input, predicates } if matches!(**input, Rel::Get { .. }) => {
                let checkable = predicates.iter().all(|p| !p.has_subquery() && p.is_movable());
                checkable.then_some(Table { rel, get: input, predicates })
            }
            // Of columns that are passed through.
            Rel::Project { input, exprs } if exprs.iter().all(|(id, e)| *e == Expr::Column(*id)) => Table::of(input),
            _ => None,
        }
    }
}

impl Planner<'_> {
    /// The input of an aggregate from the ends of an index. `None` if it needs other rows, or no index has them.
    pub(super) fn plan_index_ends(
        &mut self,
        input: &Rel,
        group: &[ColId],
        aggregates: &[(ColId, AggregateCall)],
        below: &ColSet,
    ) -> Result<Option<Fewer>> {
        let (Some(table), Some(mut wanted)) = (Table::of(input), wanted_ends(aggregates)) else { return Ok(None) };
        if group.is_empty() {
            let plan = match !wanted.is_empty() && self.options.is_on(Switch::MinMaxByIndex) {
                true => self.ends_of_all(table, &wanted, below)?,
                false => None,
            };
            return Ok(plan.map(|plan| Fewer { plan, forced: false }));
        }
        if !self.options.is_on(Switch::LooseIndexScan) || !self.options.is_on(Switch::AccessPath) {
            return Ok(None);
        }
        // Any row of a group has the group's own columns.
        wanted.retain(|(_, id)| !group.contains(id));
        Ok(self.ends_of_groups(table, group, &wanted, below))
    }

    fn ends_of_groups(
        &mut self,
        table: Table<'_>,
        group: &[ColId],
        wanted: &[(End, ColId)],
        below: &ColSet,
    ) -> Option<Fewer> {
        match wanted {
            [] => self.loose_scan(table, group, None, below),
            [one] => self.loose_scan(table, group, Some(*one), below),
            // The smallest and the largest value of one column: two scans.
            [(_, a), (_, b)] if a == b => {
                let outputs: Vec<ColId> = below.iter().copied().collect();
                let (mut plans, mut lists, mut forced) = (Vec::new(), Vec::new(), false);
                for (end, id) in wanted {
                    let copied = copy::copy(table.rel, self.columns_mut());
                    self.learn(&copied.rel);
                    let new = |ids: &[ColId]| ids.iter().map(|id| copied.columns.get(id).copied()).collect();
                    let (group, list): (Option<Vec<ColId>>, Option<Vec<ColId>>) = (new(group), new(&outputs));
                    let (group, list) = (group?, list?);
                    let one = (*end, *copied.columns.get(id)?);
                    let required = list.iter().copied().collect();
                    let fewer = self.loose_scan(Table::of(&copied.rel)?, &group, Some(one), &required)?;
                    plans.push(fewer.plan);
                    lists.push(list);
                    forced = fewer.forced;
                }
                Some(Fewer { plan: append(plans, lists, outputs), forced })
            }
            _ => None,
        }
    }

    fn loose_scan(
        &self,
        table: Table<'_>,
        group: &[ColId],
        wanted: Option<(End, ColId)>,
        required: &ColSet,
    ) -> Option<Fewer> {
        let Rel::Get { table: definition, alias, columns, hints } = table.get else { return None };
        let (conjuncts, known) = (table.predicates, &KnownRanges::default());
        let request = Request {
            table: definition,
            alias,
            columns,
            hints,
            conjuncts,
            required,
            order: &[],
            limit: None,
            takes_risks: true,
            known,
        };
        let plan = loose::choose(&request, group, wanted, self.statistics, &self.estimator, self.options)?;
        let PlanOp::Scan(scan) = &plan.op else { return None };
        let forced = hints::forces(scan.index, hints, IndexHintScope::GroupBy);
        Some(Fewer { plan, forced })
    }

    /// One row for each of these smallest and largest values of the table.
    fn ends_of_all(&mut self, table: Table<'_>, wanted: &[(End, ColId)], below: &ColSet) -> Result<Option<Plan>> {
        if let [(end, id)] = wanted {
            return self.end_of_all(table, *end, *id, below);
        }
        let outputs: Vec<ColId> = below.iter().copied().collect();
        let (mut plans, mut lists) = (Vec::new(), Vec::new());
        for (end, id) in wanted {
            let copied = copy::copy(table.rel, self.columns_mut());
            self.learn(&copied.rel);
            let (Some(copy), Some(own)) = (Table::of(&copied.rel), copied.columns.get(id).copied()) else {
                return Ok(None);
            };
            let Some(plan) = self.end_of_all(copy, *end, own, &ColSet::from([own]))? else { return Ok(None) };
            // Nothing of the other columns.
            let mut exprs: BTreeMap<ColId, Expr> = BTreeMap::new();
            let mut list = Vec::new();
            for output in &outputs {
                if output == id {
                    exprs.insert(own, Expr::Column(own));
                    list.push(own);
                } else {
                    let ty = self.columns.ty(*output);
                    let nothing = self.columns_mut().add_computed("NULL", ty, true);
                    exprs.insert(nothing, Expr::null(ty));
                    list.push(nothing);
                }
            }
            plans.push(self.project(plan, exprs.into_iter().collect())?);
            lists.push(list);
        }
        Ok(Some(append(plans, lists, outputs)))
    }

    /// The row with the smallest or largest value of a column, if an index is in its order.
    fn end_of_all(&mut self, table: Table<'_>, end: End, id: ColId, required: &ColSet) -> Result<Option<Plan>> {
        let mut predicates = table.predicates.to_vec();
        if end == End::Min && self.columns.get(id).nullable {
            // NULLs come first, and MIN passes over them.
            predicates.push(Expr::IsNull { arg: Box::new(Expr::Column(id)), negated: true });
        }
        let order = [SortKey { expr: Expr::Column(id), descending: end == End::Max }];
        let plan = self.plan_table(table.get, &predicates, required, &order, Some(1))?;
        let first = match &plan.op {
            PlanOp::EarlyStop { input, .. } => input,
            _ => &plan,
        };
        let is_first = matches!(&first.op, PlanOp::Scan(scan) if scan.ordered && scan.limit == Some(1));
        Ok(is_first.then_some(plan))
    }
}

/// The smallest and largest values that aggregates ask for, each once; `None` if they ask for anything else.
fn wanted_ends(aggregates: &[(ColId, AggregateCall)]) -> Option<Vec<(End, ColId)>> {
    let mut wanted = Vec::new();
    for (_, call) in aggregates {
        let end = match call.function {
            AggregateFunction::Min => End::Min,
            AggregateFunction::Max => End::Max,
            _ => return None,
        };
        let [Expr::Column(id)] = call.args.as_slice() else { return None };
        if !wanted.contains(&(end, *id)) {
            wanted.push((end, *id));
        }
    }
    Some(wanted)
}
