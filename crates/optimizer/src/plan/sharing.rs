//! Relations that a statement has more than once, equal but for the numbers of their columns: a common table expression
//! or a view named twice, a subquery over the joins that the query around it has (DBT-3 Q11 and Q15). Their rows are
//! computed once and kept, if that costs less.

use super::Planner;
use crate::{copy, properties::unique_keys, scope, scope::ColSet};
use muster_algebra::{ColId, Estimate, Expr, JoinKind, Plan, PlanOp, Rel};
use muster_types::Result;
use std::collections::BTreeMap;

/// The families of equal relations of a statement.
#[derive(Default)]
pub struct Sharing {
    families: Vec<Family>,
}

/// Equal relations.
struct Family {
    members: Vec<Member>,
    /// Columns of the first member that are wanted around any member, as the first numbers them.
    wanted: Vec<ColId>,
    /// The plan for the first member's wanted columns; `None` if sharing costs more.
    plan: Option<Option<Plan>>,
}

struct Member {
    rel: Rel,
    /// The first member's column for each of its own.
    first: BTreeMap<ColId, ColId>,
}

/// A relation that may be shared, at its place in the statement.
struct Candidate<'a> {
    rel: &'a Rel,
    normal: copy::Copy,
    /// Places of the candidates it is part of.
    within: Vec<usize>,
}

impl Sharing {
    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// Finds the largest relations that come more than once.
    pub fn of(rel: &Rel) -> Sharing {
        if !reads_a_table_twice(rel) {
            return Sharing::default();
        }
        let mut candidates = Vec::new();
        collect(rel, false, &mut Vec::new(), &mut candidates);
        let mut taken = vec![false; candidates.len()];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for i in 0..candidates.len() {
            let is_free = |taken: &[bool], j: usize| !taken[j] && !candidates[j].within.iter().any(|w| taken[*w]);
            if !is_free(&taken, i) {
                continue;
            }
            let equal = |j: &usize| candidates[*j].normal.rel == candidates[i].normal.rel && is_free(&taken, *j);
            let group: Vec<usize> = (i..candidates.len()).filter(equal).collect();
            if group.len() > 1 {
                group.iter().for_each(|j| taken[*j] = true);
                groups.push(group);
            }
        }
        if groups.is_empty() {
            return Sharing::default();
        }
        let inside: Vec<&Rel> = groups.iter().flatten().map(|i| candidates[*i].rel).collect();
        let mut mentioned: ColSet = rel.output().into_iter().collect();
        mentioned_outside(rel, &inside, &mut mentioned);
        let may_weed_out = has_semi_join(rel);
        let family = |group: &Vec<usize>| {
            let first = &candidates[group[0]];
            let by_number: BTreeMap<ColId, ColId> = first.normal.columns.iter().map(|(own, n)| (*n, *own)).collect();
            let members: Vec<Member> = group
                .iter()
                .map(|i| {
                    let numbers = candidates[*i].normal.columns.iter();
                    let first = numbers.filter_map(|(own, n)| Some((*own, *by_number.get(n)?))).collect();
                    Member { rel: candidates[*i].rel.clone(), first }
                })
                .collect();
            let named = members.iter().flat_map(|m| m.first.iter()).filter(|(own, _)| mentioned.contains(own));
            let named: ColSet = named.map(|(_, first)| *first).collect();
            // Where duplicates are weeded out, by their keys.
            let keys: ColSet = match may_weed_out {
                true => unique_keys(first.rel).into_iter().flatten().collect(),
                false => ColSet::new(),
            };
            let is_wanted = |id: &ColId| named.contains(id) || keys.contains(id);
            let wanted = first.rel.output().into_iter().filter(is_wanted).collect();
            Family { members, wanted, plan: None }
        };
        Sharing { families: groups.iter().map(family).collect() }
    }
}

impl Planner<'_> {
    /// The plan of a relation whose rows are shared; `None` if they are not.
    pub(super) fn shared(&mut self, rel: &Rel, required: &ColSet) -> Result<Option<Plan>> {
        let found = self.sharing.families.iter().enumerate().find_map(|(id, family)| {
            let member = family.members.iter().position(|m| m.rel == *rel)?;
            Some((id, member))
        });
        let Some((id, member)) = found else { return Ok(None) };
        if self.sharing.families[id].plan.is_none() {
            let plan = self.worth_sharing(id)?;
            self.sharing.families[id].plan = Some(plan);
        }
        let family = &self.sharing.families[id];
        let Some(Some(input)) = &family.plan else { return Ok(None) };
        let own_to_first = &family.members[member].first;
        let output: Vec<ColId> = rel.output().into_iter().filter(|id| required.contains(id)).collect();
        let columns: Vec<ColId> = output.iter().filter_map(|own| own_to_first.get(own).copied()).collect();
        if columns.len() != output.len() || !columns.iter().all(|c| family.wanted.contains(c)) {
            return Ok(None);
        }
        // The first reader pays.
        let read = self.options.cost.shared_rows(input.estimate.rows, columns.len(), 0);
        let cost = if member == 0 { input.estimate.cost.before_first_row() + read } else { read };
        let estimate = Estimate { rows: input.estimate.rows, cost };
        let op = PlanOp::Shared { id: id + 1, input: Box::new(input.clone()), columns, per_run: false };
        Ok(Some(Plan::new(op, output, estimate, Vec::new())))
    }

    fn worth_sharing(&mut self, id: usize) -> Result<Option<Plan>> {
        let family = &self.sharing.families[id];
        let (rel, wanted, readers) = (family.members[0].rel.clone(), family.wanted.clone(), family.members.len());
        let plan = self.plan_alone(&rel, &wanted.iter().copied().collect())?;
        let plan = super::deliver(plan, &wanted);
        let saved = plan.estimate.cost * (readers - 1) as f64;
        let spent = self.options.cost.shared_rows(plan.estimate.rows, wanted.len(), readers);
        Ok((saved.compared_ms() > spent.compared_ms()).then_some(plan))
    }
}

/// Replaces each shared relation that has a single reader left by its own plan.
pub fn inline_single_readers(mut plan: Plan) -> Plan {
    let mut readers: BTreeMap<usize, usize> = BTreeMap::new();
    for_each(&mut plan, &mut |p| {
        if let PlanOp::Shared { id, .. } = &p.op {
            *readers.entry(*id).or_default() += 1;
        }
    });
    if readers.values().any(|n| *n == 1) {
        for_each(&mut plan, &mut |p| {
            if let PlanOp::Shared { id, input, columns, .. } = &mut p.op
                && readers[id] == 1
            {
                let exprs = p.output.iter().copied().zip(columns.iter().map(|c| Expr::Column(*c))).collect();
                let input = std::mem::replace(input, Box::new(empty()));
                p.op = PlanOp::Project { input, exprs };
            }
        });
    }
    plan
}

fn empty() -> Plan {
    let op = PlanOp::Values { rows: Vec::new() };
    Plan::new(op, Vec::new(), Estimate::default(), Vec::new())
}

/// Runs `f` on every node, also those of subplans; not on what is below shared rows, which share nothing themselves.
fn for_each(plan: &mut Plan, f: &mut dyn FnMut(&mut Plan)) {
    if !matches!(plan.op, PlanOp::Shared { .. }) {
        plan.inputs_mut().into_iter().for_each(|input| for_each(input, f));
        plan.exprs_mut().into_iter().for_each(|expr| for_each_subplan(expr, f));
    }
    f(plan);
}

fn for_each_subplan(expr: &mut Expr, f: &mut dyn FnMut(&mut Plan)) {
    if let Expr::Subplan(subplan) = expr {
        for_each(&mut subplan.plan, f);
    }
    expr.children_mut().into_iter().for_each(|child| for_each_subplan(child, f));
}

/// Returns true if there is a semi join anywhere in the statement.
fn has_semi_join(rel: &Rel) -> bool {
    let mut found = false;
    rel.visit(&mut |rel| found |= matches!(rel, Rel::Join { kind: JoinKind::Semi, .. }));
    found
}

fn reads_a_table_twice(rel: &Rel) -> bool {
    fn tables<'a>(rel: &'a Rel, names: &mut Vec<(&'a str, &'a str)>) {
        if let Rel::Get { table, .. } = rel {
            names.push((&table.database, &table.name));
        }
        rel.inputs().into_iter().for_each(|input| tables(input, names));
        rel.exprs().into_iter().for_each(|expr| {
            expr.visit(&mut |e| {
                if let Expr::Subquery(q) = e {
                    tables(&q.rel, names);
                }
            });
        });
    }
    let mut names = Vec::new();
    tables(rel, &mut names);
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// Whole regions of joins, and aggregates, that stand by themselves. `in_join`: part of a region that is planned as
/// one.
fn collect<'a>(rel: &'a Rel, in_join: bool, within: &mut Vec<usize>, candidates: &mut Vec<Candidate<'a>>) {
    let joins = match rel {
        Rel::Join { .. } => true,
        Rel::Filter { input, .. } => matches!(**input, Rel::Join { .. }),
        _ => false,
    };
    let fits = matches!(rel, Rel::Aggregate { .. }) || (joins && !in_join);
    let fits = fits && stands_alone(rel);
    if fits {
        candidates.push(Candidate { rel, normal: copy::normal_form(rel), within: within.clone() });
        within.push(candidates.len() - 1);
    }
    rel.inputs().into_iter().for_each(|input| collect(input, joins, within, candidates));
    for expr in rel.exprs() {
        expr.visit(&mut |e| {
            if let Expr::Subquery(q) = e {
                collect(&q.rel, false, within, candidates);
            }
        });
    }
    if fits {
        within.pop();
    }
}

/// Returns true if the rows are the same wherever the relation stands.
fn stands_alone(rel: &Rel) -> bool {
    fn plain(rel: &Rel) -> bool {
        // The rows of a round are others in the next one.
        !matches!(rel, Rel::Working { .. })
            && rel.exprs().into_iter().all(|e| !e.has_subquery() && e.is_movable())
            && rel.inputs().into_iter().all(plain)
    }
    plain(rel) && scope::free_columns(rel).is_empty()
}

/// Columns that are mentioned outside of some relations.
fn mentioned_outside(rel: &Rel, inside: &[&Rel], mentioned: &mut ColSet) {
    if inside.iter().any(|r| std::ptr::eq(*r, rel)) {
        return;
    }
    match rel {
        Rel::Aggregate { group, .. } => mentioned.extend(group),
        Rel::Rollup { rollup, .. } => mentioned.extend(rollup.sources()),
        Rel::Union { inputs, .. } => inputs.iter().for_each(|(_, ids)| mentioned.extend(ids)),
        _ => {}
    }
    for expr in rel.exprs() {
        expr.visit(&mut |e| match e {
            Expr::Column(id) => {
                mentioned.insert(*id);
            }
            Expr::Subquery(q) => {
                mentioned.extend(&q.outputs);
                mentioned_outside(&q.rel, inside, mentioned);
            }
            _ => {}
        });
    }
    rel.inputs().into_iter().for_each(|input| mentioned_outside(input, inside, mentioned));
}

#[cfg(test)]
#[path = "sharing_tests.rs"]
mod tests;
