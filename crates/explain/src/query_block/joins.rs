//! Joins: what each adds to the lines of its right input.

use super::{
    Extra, KeyUse, SubqueryPlace, TableLine,
    computed::computed_name,
    describe::BlockWalk,
    merged::{TwoSteps, two_steps},
    table::{LookupKeys, names_in_order},
};
use crate::{Entries, TableAccess};
use muster_algebra::{Expr, JoinKind, Plan, PlanOp, Scan};

impl<'a> BlockWalk<'_, '_, 'a> {
    pub(super) fn join(&mut self, plan: &'a Plan) {
        let before_left = self.block.tables.len();
        match &plan.op {
            PlanOp::HashJoin { kind, left, right, keys, residual, .. } => {
                self.part(left, true);
                let condition =
                    keys.iter().map(|(a, b)| Expr::eq(b.clone(), a.clone())).chain(residual.iter().cloned());
                let extra = Extra::JoinBuffer("hash join".into(), None);
                self.right(plan, (left, right), *kind, condition.collect(), Some(extra));
            }
            PlanOp::MergeJoin { kind, left, right, keys, residual } => {
                self.part(left, true);
                let condition =
                    keys.iter().map(|(a, b)| Expr::eq(b.clone(), a.clone())).chain(residual.iter().cloned());
                self.right(plan, (left, right), *kind, condition.collect(), Some(Extra::MergeJoin));
            }
            PlanOp::NestedLoopJoin { kind, left, right, on } => {
                self.part(left, true);
                let extra = Extra::JoinBuffer("Block Nested Loop".into(), None);
                let extra = (self.block.tables.len() > before_left).then_some(extra);
                self.right(plan, (left, right), *kind, on.clone(), extra);
            }
            PlanOp::LookupJoin { kind, left, lookup, keys, residual, entry_condition, .. } => {
                if let Some(steps) = two_steps(left, lookup) {
                    return self.two_steps(plan, steps, lookup);
                }
                self.part(left, true);
                let has_outer = self.block.tables.len() > before_left;
                let at = self.block.tables.len();
                self.table(lookup, Some(LookupKeys { keys, entry_condition }), plan);
                self.block.tables[at].extras.extend(join_buffer(&plan.op).filter(|_| has_outer));
                if matches!(kind, JoinKind::Inner | JoinKind::Semi) {
                    self.reject_nulls(keys, at);
                }
                self.joined(plan, left, at, *kind, residual.clone());
            }
            _ => {}
        }
        self.subqueries(plan, SubqueryPlace::Table(self.block.tables.len().saturating_sub(1)));
    }

    /// Notes that NULLs of the tables before find nothing, as MySQL's conditions say it.
    fn reject_nulls(&mut self, keys: &[Expr], before: usize) {
        let columns = self.describer.source.columns;
        for key in keys {
            let Expr::Column(id) = key else { continue };
            let Some(origin) = columns.get(*id).origin.as_ref().filter(|_| columns.get(*id).nullable) else { continue };
            let condition = Expr::IsNull { arg: Box::new(key.clone()), negated: true };
            let computed = computed_name(&self.block, *id, columns);
            let is_source = |line: &&mut TableLine<'_>| match (&computed, line.scan) {
                (Some(name), None) => line.name.shown() == name || line.alias.as_ref() == Some(name),
                (None, Some(scan)) => scan.alias == origin.alias && scan.table.name == origin.table,
                _ => false,
            };
            let line = self.block.tables[..before].iter_mut().find(is_source);
            if let Some(line) = line.filter(|line| line.access_type != "const" && !line.is_inner)
                && !line.condition.contains(&condition)
            {
                line.condition.push(condition);
            }
        }
    }

    /// The right input of a join.
    fn right(
        &mut self,
        plan: &'a Plan,
        (left, right): (&'a Plan, &'a Plan),
        kind: JoinKind,
        condition: Vec<Expr>,
        extra: Option<Extra>,
    ) {
        let at = self.block.tables.len();
        self.inner_depth += usize::from(kind != JoinKind::Inner);
        self.part(right, true);
        self.inner_depth -= usize::from(kind != JoinKind::Inner);
        if let Some(line) = self.block.tables.get_mut(at) {
            line.extras.extend(extra);
        }
        self.joined(plan, left, at, kind, condition);
    }

    /// What a join makes of the lines of its right input, which begin at `at`.
    fn joined(&mut self, plan: &Plan, left: &Plan, at: usize, kind: JoinKind, condition: Vec<Expr>) {
        let before = at.checked_sub(1).map(|i| self.block.tables[i].name.shown().to_string());
        let lines = &mut self.block.tables[at..];
        if kind != JoinKind::Inner {
            lines.iter_mut().for_each(|line| line.is_inner = true);
        }
        let Some(last) = lines.last_mut() else { return };
        match kind {
            JoinKind::Semi => last.extras.push(Extra::FirstMatch(before)),
            JoinKind::Anti | JoinKind::NullAwareAnti => last.extras.push(Extra::NotExists),
            JoinKind::Inner | JoinKind::Left => {}
        }
        match kind {
            JoinKind::Left => {
                lines_condition_to_join(last);
                last.join_condition.extend(condition);
            }
            _ => last.condition.extend(condition),
        }
        last.joined = plan.estimate.rows;
        last.joined_before = left.estimate.rows;
        last.cost = plan.estimate.cost;
        last.cost_before = left.estimate.cost;
    }

    /// A table whose primary keys are found first.
    fn two_steps(&mut self, plan: &'a Plan, steps: TwoSteps<'a>, lookup: &'a Scan) {
        match steps {
            TwoSteps::Merged(word, scans) => {
                let mut line = TableLine::of_scan(lookup, None, plan, self.describer.source);
                let accesses: Vec<TableAccess<'_>> = scans.into_iter().map(TableAccess::of_scan).collect();
                // MySQL sorts the primary keys of entries that do not come in their order.
                let sorted = accesses.iter().all(comes_by_primary_key);
                let word = if word == "union" && !sorted { "sort_union" } else { word };
                line.access_type = "index_merge";
                line.keys = accesses.iter().filter_map(key_use).collect();
                let known = |at: &usize| {
                    let name = &lookup.table.indexes[*at].name;
                    line.possible_keys.contains(name) || line.keys.iter().any(|key| key.name == *name)
                };
                let possible = (0..lookup.table.indexes.len()).filter(known).collect();
                line.possible_keys = names_in_order(&lookup.table, possible);
                let names: Vec<&str> = line.keys.iter().map(|key| key.name.as_str()).collect();
                line.extras = vec![Extra::MergedIndexes(word, names.join(","))];
                line.examined = plan.estimate.rows;
                self.block.tables.push(line);
            }
            TwoSteps::LateFetch(scan, keys) => {
                let sorts = !matches!(keys.op, PlanOp::Scan(_)) && !scan.ordered;
                self.table(scan, None, plan);
                if let Some(line) = self.block.tables.last_mut() {
                    line.extras.retain(|extra| *extra != Extra::Index);
                    line.extras.push(Extra::LateFetch);
                    line.condition.extend(
                        lookup.filter.iter().filter(|c| !line.condition.contains(c)).cloned().collect::<Vec<_>>(),
                    );
                }
                if sorts {
                    self.block.ordering.get_or_insert_default().filesort = true;
                    self.open.take_order();
                }
            }
        }
    }
}

/// Returns true if the entries that are read come in the order of the primary key: all parts of their key are fixed.
fn comes_by_primary_key(access: &TableAccess<'_>) -> bool {
    let declared = access.scan.table.indexes[access.scan.index].parts.len();
    access.scan.index == 0 || access.parts >= declared && matches!(access.entries, Entries::Row | Entries::Lookup)
}

/// The conditions of the inner table of an outer join decide about its matches.
fn lines_condition_to_join(line: &mut TableLine<'_>) {
    let own = std::mem::take(&mut line.condition);
    line.join_condition.extend(own);
}

fn key_use(access: &TableAccess<'_>) -> Option<KeyUse> {
    let name = access.index_name()?.to_string();
    let parts = access.scan.table.key_parts(access.scan.index);
    let column = |at: usize| access.scan.table.columns[at].name.clone();
    let parts = parts.iter().take(access.parts).map(|part| column(part.column)).collect();
    Some(KeyUse { name, parts, bytes: access.key_bytes() })
}

/// What MySQL and MariaDB say of a lookup join that collects keys.
fn join_buffer(op: &PlanOp) -> Option<Extra> {
    let PlanOp::LookupJoin { lookup, batched: true, key_ordered, incremental, .. } = op else { return None };
    let by_row_id = lookup.index != 0 && !lookup.is_covering();
    let order = match (key_ordered, by_row_id) {
        (true, true) => Some("Key-ordered Rowid-ordered scan"),
        (true, false) => Some("Key-ordered scan"),
        (false, true) => Some("Rowid-ordered scan"),
        (false, false) => None,
    };
    let incremental = if *incremental { "incremental, " } else { "" };
    Some(Extra::JoinBuffer(format!("{incremental}Batched Key Access"), order))
}
