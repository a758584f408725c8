//! Runs a plan over some tables.

use super::{
    NestedPlan, RowScope,
    distinct::COMBINATIONS_MAX,
    groups::{Groups, codec_of, key},
    output::{deliver, sorted},
    query::Grouping,
    reads::{Budget, LevelReading, PartOfRange, Portion, RowReads},
    scalar::{OneValue, OpenPlan},
};
use crate::short_path::{
    key_access::KeyValue,
    plan::ShortPlan,
    run_end::{Left, ReadTotals, RunEnd, RunFigures, entries_max},
    sink::RowSink,
};
use muster_algebra::{ColId, Expr};
use muster_types::{KeyRange, Value, ValueRef};
use std::{collections::HashSet, ops::Bound};

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
    let Some(open) = OpenPlan::of(plan) else { return RunEnd::General };
    let scope = RowScope { slots: &plan.slots, columns: &plan.query.columns, parameters: values };
    let is_covering = matches!(&*plan.levels, [level] if !level.access.whole_rows);
    let mut budget = Budget { entries: entries_max(is_covering), bytes: 0, read: ReadTotals::default() };
    let mut figures = RunFigures::default();
    let mut run = NestedRun { open: &open, base: &[], scope, reads, budget: &mut budget };
    let done = run.first_scalars().and_then(|base| NestedRun { base: &base, ..run }.answer(sink, &mut figures));
    figures.read = budget.read;
    match done {
        Ok(()) => RunEnd::Rows(figures),
        Err(left) => left.into(),
    }
}

struct NestedRun<'a> {
    open: &'a OpenPlan<'a>,
    /// What all rows begin with.
    base: &'a [Value],
    scope: RowScope<'a>,
    reads: &'a RowReads<'a>,
    budget: &'a mut Budget,
}

impl<'a> NestedRun<'a> {
    fn plan(&self) -> &'a NestedPlan {
        self.open.plan
    }

    /// Hands on the rows of the result.
    fn answer(&mut self, sink: &mut dyn RowSink, figures: &mut RunFigures) -> Result<(), Left> {
        match &self.plan().query.grouping {
            Some(grouping) => {
                let groups = self.groups(grouping)?;
                self.finish_groups(groups, sink, figures)
            }
            None => {
                let rows = self.rows()?;
                self.finish(rows, sink, figures)
            }
        }
    }

    /// The values of the subqueries that depend on no table.
    fn first_scalars(&mut self) -> Result<Vec<Value>, Left> {
        let mut values = Vec::with_capacity(self.open.first.len());
        for scalar in &self.open.first {
            let value = self.scalar(scalar, &values)?;
            values.push(value);
        }
        Ok(values)
    }

    /// The value of a subquery behind a row.
    fn scalar(&mut self, open: &OpenPlan<'_>, row: &[Value]) -> Result<Value, Left> {
        let bytes = self.budget.bytes;
        let scope = RowScope { slots: &open.plan.slots, ..self.scope };
        let mut run = NestedRun { open, base: row, scope, reads: self.reads, budget: &mut *self.budget };
        let mut value = OneValue::default();
        run.answer(&mut value, &mut RunFigures::default())?;
        // Its rows are gone.
        self.budget.bytes = bytes;
        let value = value.value()?;
        self.budget.keep(&ValueRef::from(&value))?;
        Ok(value)
    }

    /// Adds the values of the subqueries that depend on a row to it. Returns false if it does not meet the conditions
    /// on them.
    fn add_scalars(&mut self, row: &mut Vec<Value>) -> Result<bool, Left> {
        for scalar in &self.open.of_rows {
            let value = self.scalar(scalar, row)?;
            row.push(value);
        }
        self.scope.meets(&self.plan().scalars.conditions, row)
    }

    /// The joined rows, at least as many as the result has.
    fn rows(&mut self) -> Result<Vec<Vec<Value>>, Left> {
        let query = &self.plan().query;
        if self.plan().levels.is_empty() {
            return Ok(vec![self.base.to_vec()]);
        }
        if let Some(distinct) = &self.plan().distinct {
            return self.distinct_rows(distinct);
        }
        if let Some(ends) = self.plan().ends {
            let first = if ends.first { self.first_row(0, self.base, false)? } else { Vec::new() };
            let last = if ends.last { self.first_row(0, self.base, true)? } else { Vec::new() };
            return Ok([first, last].concat());
        }
        let enough = query.limit.map(|limit| usize::try_from(limit.saturating_add(query.offset)).unwrap_or(usize::MAX));
        let enough = enough.filter(|_| self.plan().is_in_order).unwrap_or(usize::MAX);
        if query.limit == Some(0) {
            return Ok(Vec::new());
        }
        let mut portion = enough.saturating_add(PORTION_SPARE);
        let bytes = self.budget.bytes;
        loop {
            // Rows of one table that are locked come one by one, so that none is locked beyond those that are wanted.
            let is_alone = self.plan().levels.len() == 1 && self.plan().scalars.conditions.is_empty();
            let wanted = if is_alone { enough } else { usize::MAX };
            let Portion { rows, more } = self.portion(portion, wanted)?;
            if !more || rows.len() >= enough {
                return Ok(rows);
            }
            portion = portion.saturating_mul(PORTION_GROWTH);
            self.budget.bytes = bytes;
        }
    }

    /// The first row of each combination of columns, in the order of the first table's index.
    fn distinct_rows(&mut self, columns: &[ColId]) -> Result<Vec<Vec<Value>>, Left> {
        let mut all = Vec::new();
        let Some(mut range) = self.ranges(0, self.base)?.pop() else { return Ok(all) };
        let equal = match &range.lower {
            Bound::Included(equal) => equal.clone(),
            _ => Vec::new(),
        };
        while let Some(row) = self.first_of(0, self.base, std::slice::from_ref(&range), false)?.pop() {
            if all.len() == COMBINATIONS_MAX {
                return Err(Left::TooMany);
            }
            let values = columns.iter().map(|id| self.scope.value(&Expr::Column(*id), &row));
            let values = equal.iter().cloned().map(Ok).chain(values).collect::<Result<Vec<_>, _>>()?;
            range.lower = Bound::Excluded(values);
            all.push(row);
        }
        Ok(all)
    }

    /// The first row of a level, or the last one, behind a row of those before it.
    fn first_row(&mut self, number: usize, before: &[Value], last: bool) -> Result<Vec<Vec<Value>>, Left> {
        let ranges = self.ranges(number, before)?;
        self.first_of(number, before, &ranges, last)
    }

    fn first_of(
        &mut self,
        number: usize,
        before: &[Value],
        ranges: &[KeyRange],
        last: bool,
    ) -> Result<Vec<Vec<Value>>, Left> {
        let mut portion = PORTION_SPARE;
        loop {
            let part = PartOfRange { entries: portion, wanted: 1, reverse: last };
            let Portion { rows, more } = self.rows_of(number, before, ranges.to_vec(), part)?;
            if !more || !rows.is_empty() {
                return Ok(rows);
            }
            portion = portion.saturating_mul(PORTION_GROWTH);
        }
    }

    /// The joined rows of so many entries of the first table's index.
    fn portion(&mut self, entries: usize, wanted: usize) -> Result<Portion, Left> {
        let reverse = self.plan().levels[0].reverse;
        let first = self.level_rows(0, self.base, PartOfRange { entries, wanted, reverse })?;
        let mut rows = first.rows;
        if let Some(leading) = &self.plan().query.leading {
            self.keep_apart(&leading.columns, &mut rows)?;
        }
        for number in 1..self.plan().late {
            let mut joined = Vec::with_capacity(rows.len());
            for row in rows {
                self.join(number, row, &mut joined)?;
            }
            rows = joined;
        }
        if !self.plan().scalars.are_late {
            let mut kept = Vec::with_capacity(rows.len());
            for mut row in rows {
                if self.add_scalars(&mut row)? {
                    kept.push(row);
                }
            }
            rows = kept;
        }
        Ok(Portion { rows, more: first.more })
    }

    /// Keeps one row of each combination of columns.
    fn keep_apart(&self, columns: &[ColId], rows: &mut Vec<Vec<Value>>) -> Result<(), Left> {
        let codec = codec_of(columns.iter().map(|id| self.scope.ty(*id)));
        let (mut seen, mut failed) = (HashSet::new(), None);
        rows.retain(|row| {
            let values = columns.iter().map(|id| self.scope.value(&Expr::Column(*id), row));
            match values.collect::<Result<Vec<_>, _>>().and_then(|values| key(&codec, &values)) {
                Ok(key) => seen.insert(key),
                Err(left) => {
                    failed = Some(left);
                    false
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// Adds to `joined` what a level makes of a row of those before it.
    fn join(&mut self, number: usize, row: Vec<Value>, joined: &mut Vec<Vec<Value>>) -> Result<(), Left> {
        match self.plan().levels[number].exists {
            Some(negated) if self.first_row(number, &row, false)?.is_empty() == negated => joined.push(row),
            Some(_) => {}
            None => joined.append(&mut self.level_rows(number, &row, PartOfRange::ALL)?.rows),
        }
        Ok(())
    }

    /// The rows behind the late levels, as many as are asked for.
    fn joined_late(&mut self, rows: Vec<Vec<Value>>) -> Result<Vec<Vec<Value>>, Left> {
        let (late, query) = (self.plan().late, &self.plan().query);
        let has_scalars = self.plan().scalars.are_late && !self.open.of_rows.is_empty();
        if late >= self.plan().levels.len() && !has_scalars {
            return Ok(rows);
        }
        let enough = query.limit.map_or(u64::MAX, |limit| limit.saturating_add(query.offset));
        let mut all = Vec::new();
        for row in rows {
            if all.len() as u64 >= enough {
                break;
            }
            let mut joined = vec![row];
            for number in late..self.plan().levels.len() {
                let mut next = Vec::with_capacity(1);
                for row in joined {
                    self.join(number, row, &mut next)?;
                }
                joined = next;
            }
            if has_scalars {
                joined.iter_mut().try_for_each(|row| self.add_scalars(row).map(drop))?;
            }
            all.append(&mut joined);
        }
        Ok(all)
    }

    /// The rows of a level behind a row of those before it.
    fn level_rows(&mut self, number: usize, before: &[Value], part: PartOfRange) -> Result<Portion, Left> {
        let ranges = self.ranges(number, before)?;
        self.rows_of(number, before, ranges, part)
    }

    /// The ranges of a level's index behind a row of those before it.
    fn ranges(&self, number: usize, before: &[Value]) -> Result<Vec<KeyRange>, Left> {
        let mut unevaluated = None;
        let access = &self.plan().levels[number].access;
        let ranges = access.ranges(|constant| match self.scope.value(&constant.expr, before) {
            Ok(value) => constant.key_value(&value),
            Err(left) => {
                unevaluated = Some(left);
                KeyValue::Unknown
            }
        });
        match ranges {
            Ok(ranges) => Ok(ranges),
            // Nothing compares with NULL.
            Err(KeyValue::Null) => Ok(Vec::new()),
            Err(_) => Err(unevaluated.unwrap_or(Left::General)),
        }
    }

    fn rows_of(
        &mut self,
        number: usize,
        before: &[Value],
        ranges: Vec<KeyRange>,
        part: PartOfRange,
    ) -> Result<Portion, Left> {
        let (level, scope) = (&self.plan().levels[number], self.scope);
        let reading = LevelReading { level, table: &self.open.tables[number], scope, before, part };
        let mut found = reading.read(ranges, self.reads, self.budget)?;
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

    /// The groups of the joined rows.
    fn groups(&mut self, grouping: &Grouping) -> Result<Vec<Vec<Value>>, Left> {
        let plan = self.plan();
        let mut groups = Groups::new(self.scope, grouping);
        if plan.is_one_range() && matches!(self.reads, RowReads::View { .. }) {
            let (level, ranges) = (&plan.levels[0], self.ranges(0, self.base)?);
            let (table, scope, part) = (&self.open.tables[0], self.scope, PartOfRange::ALL);
            let reading = LevelReading { level, table, scope, before: self.base, part };
            reading.read_into(Some(&mut groups), ranges, self.reads, self.budget)?;
        } else {
            self.rows()?.iter().try_for_each(|row| groups.add(row))?;
        }
        groups.finish()
    }

    fn finish(&mut self, rows: Vec<Vec<Value>>, sink: &mut dyn RowSink, figures: &mut RunFigures) -> Result<(), Left> {
        let (plan, query) = (self.plan(), &self.plan().query);
        let rows = if plan.is_in_order { rows } else { sorted(&self.scope, query, rows, figures)? };
        let rows = self.joined_late(rows)?;
        deliver(&self.scope, query, rows, sink, figures)
    }

    fn finish_groups(
        &self,
        groups: Vec<Vec<Value>>,
        sink: &mut dyn RowSink,
        figures: &mut RunFigures,
    ) -> Result<(), Left> {
        let query = &self.plan().query;
        let scope = RowScope { slots: &self.plan().group_slots, ..self.scope };
        let having = query.grouping.as_ref().map_or(&[][..], |grouping| &grouping.having);
        let mut kept = Vec::new();
        for mut group in groups {
            group.extend_from_slice(self.base);
            if scope.meets(having, &group)? {
                kept.push(group);
            }
        }
        deliver(&scope, query, sorted(&scope, query, kept, figures)?, sink, figures)
    }
}
