//! Runs a plan over some tables.

use super::{
    NestedPlan, RowScope,
    groups::groups,
    output::deliver,
    reads::{Budget, LevelReading, PartOfRange, Portion, RowReads},
};
use crate::short_path::{
    key_access::KeyValue,
    plan::ShortPlan,
    run_end::{ENTRIES_MAX, Left, ReadTotals, RunEnd, RunFigures},
    sink::RowSink,
};
use muster_storage::Table;
use muster_types::Value;
use std::sync::Arc;

/// How much longer the next portion of the first table is, if one does not give enough rows.
const PORTION_GROWTH: usize = 4;
/// The first portion has room for some rows that conditions leave out.
const PORTION_SPARE: usize = 4;

/// Runs a plan with the values of its parameters.
pub fn run(
    whole: &ShortPlan,
    plan: &NestedPlan,
    values: &[Value],
    reads: &RowReads<'_>,
    sink: &mut dyn RowSink,
) -> RunEnd {
    sink.begin(whole);
    let Some(tables) = plan.tables() else { return RunEnd::General };
    let scope = RowScope { slots: &plan.slots, columns: &plan.query.columns, parameters: values };
    let budget = Budget { entries: ENTRIES_MAX, bytes: 0, read: ReadTotals::default() };
    let mut run = NestedRun { plan, tables: &tables, scope, reads, budget };
    let mut figures = RunFigures::default();
    let done = run.rows().and_then(|rows| run.finish(rows, sink, &mut figures));
    figures.read = run.budget.read;
    match done {
        Ok(()) => RunEnd::Rows(figures),
        Err(left) => left.into(),
    }
}

struct NestedRun<'a> {
    plan: &'a NestedPlan,
    tables: &'a [Arc<Table>],
    scope: RowScope<'a>,
    reads: &'a RowReads<'a>,
    budget: Budget,
}

impl NestedRun<'_> {
    /// The joined rows, at least as many as the result has.
    fn rows(&mut self) -> Result<Vec<Vec<Value>>, Left> {
        let query = &self.plan.query;
        if self.plan.levels.is_empty() {
            return Ok(vec![Vec::new()]);
        }
        if let Some(ends) = self.plan.ends {
            let first = if ends.first { self.first_row(0, &[], false)? } else { Vec::new() };
            let last = if ends.last { self.first_row(0, &[], true)? } else { Vec::new() };
            return Ok([first, last].concat());
        }
        let enough = query.limit.map(|limit| usize::try_from(limit.saturating_add(query.offset)).unwrap_or(usize::MAX));
        let enough = enough.filter(|_| self.plan.is_in_order).unwrap_or(usize::MAX);
        if query.limit == Some(0) {
            return Ok(Vec::new());
        }
        let mut portion = enough.saturating_add(PORTION_SPARE);
        loop {
            // Rows of one table that are locked come one by one, so that none is locked beyond those that are wanted.
            let wanted = if self.plan.levels.len() == 1 { enough } else { usize::MAX };
            let Portion { rows, more } = self.portion(portion, wanted)?;
            if !more || rows.len() >= enough {
                return Ok(rows);
            }
            portion = portion.saturating_mul(PORTION_GROWTH);
            self.budget.bytes = 0;
        }
    }

    /// The first row of a level, or the last one, behind a row of those before it.
    fn first_row(&mut self, number: usize, before: &[Value], last: bool) -> Result<Vec<Vec<Value>>, Left> {
        let mut portion = PORTION_SPARE;
        loop {
            let part = PartOfRange { entries: portion, wanted: 1, reverse: last };
            let Portion { rows, more } = self.level_rows(number, before, part)?;
            if !more || !rows.is_empty() {
                return Ok(rows);
            }
            portion = portion.saturating_mul(PORTION_GROWTH);
        }
    }

    /// The joined rows of so many entries of the first table's index.
    fn portion(&mut self, entries: usize, wanted: usize) -> Result<Portion, Left> {
        let reverse = self.plan.levels[0].reverse;
        let first = self.level_rows(0, &[], PartOfRange { entries, wanted, reverse })?;
        let mut rows = first.rows;
        for number in 1..self.plan.levels.len() {
            let mut joined = Vec::with_capacity(rows.len());
            for row in &rows {
                match self.plan.levels[number].exists {
                    Some(negated) if self.first_row(number, row, false)?.is_empty() == negated => {
                        joined.push(row.clone());
                    }
                    Some(_) => {}
                    None => joined.append(&mut self.level_rows(number, row, PartOfRange::ALL)?.rows),
                }
            }
            rows = joined;
        }
        Ok(Portion { rows, more: first.more })
    }

    /// The rows of a level behind a row of those before it.
    fn level_rows(&mut self, number: usize, before: &[Value], part: PartOfRange) -> Result<Portion, Left> {
        let level = &self.plan.levels[number];
        let scope = self.scope;
        let mut unevaluated = None;
        let ranges = level.access.ranges(|constant| match scope.value(&constant.expr, before) {
            Ok(value) => constant.key_value(&value),
            Err(left) => {
                unevaluated = Some(left);
                KeyValue::Unknown
            }
        });
        let mut found = match ranges {
            Ok(ranges) => {
                let reading = LevelReading { level, table: &self.tables[number], scope, before, part };
                reading.read(ranges, self.reads, &mut self.budget)?
            }
            // Nothing compares with NULL.
            Err(KeyValue::Null) => Portion::default(),
            Err(_) => return Err(unevaluated.unwrap_or(Left::General)),
        };
        if level.outer {
            if found.rows.is_empty() {
                let nulls = std::iter::repeat_n(Value::Null, level.columns.len());
                found.rows.push(before.iter().cloned().chain(nulls).collect());
            }
            let mut kept = Vec::with_capacity(found.rows.len());
            for row in found.rows {
                if scope.meets(&level.afterwards, &row)? {
                    kept.push(row);
                }
            }
            found.rows = kept;
        }
        Ok(found)
    }

    fn finish(&self, rows: Vec<Vec<Value>>, sink: &mut dyn RowSink, figures: &mut RunFigures) -> Result<(), Left> {
        let (plan, query) = (self.plan, &self.plan.query);
        let Some(grouping) = &query.grouping else {
            return deliver(&self.scope, query, rows, plan.is_in_order, sink, figures);
        };
        let grouped = RowScope { slots: &plan.group_slots, ..self.scope };
        let mut kept = Vec::new();
        for group in groups(&self.scope, grouping, &rows)? {
            if grouped.meets(&grouping.having, &group)? {
                kept.push(group);
            }
        }
        deliver(&grouped, query, kept, false, sink, figures)
    }
}
