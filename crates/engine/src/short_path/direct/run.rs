//! Runs a plan of the short path. Nothing is reported here: what is not plain rows is left to the general path, which
//! knows how to tell warnings and errors.

use super::{
    DirectPlan,
    ordered::HeldRows,
    shape::{Aggregate, Body},
};
use crate::short_path::{
    constant::{constant_value, value_of_row},
    key_access::KeyValue,
    plan::ShortPlan,
    run_end::{Left, RESULT_BYTES_MAX, RunEnd, RunFigures, Stop, counted_bytes, entries_max},
    sink::RowSink,
    totals::Total,
};
use muster_algebra::{ColId, Expr};
use muster_storage::{Pages, ReadView, RowOnPage, RowVisit, Table, VisitCounts, VisitEnd, key::ByteRange};
use muster_types::{KeyRange, Value, ValueRef};
use std::{ops::ControlFlow, sync::Arc};

/// The surroundings of a run: where its pages come from, and what stops it.
pub struct Surroundings<'a> {
    pub pages: Pages<'a>,
    /// What the run sees: a plan is kept for later statements and has no view of its own.
    pub view: Arc<ReadView>,
    /// `None`: the run waits for nothing, so it is over before anything could stop it.
    pub stop: Option<&'a Stop>,
}

struct ShortRun<'a> {
    whole: &'a ShortPlan,
    plan: &'a DirectPlan,
    values: &'a [Value],
    sink: &'a mut dyn RowSink,
    stop: Option<&'a Stop>,
    view: Arc<ReadView>,
    /// Bytes of values that were held or handed on.
    bytes: usize,
    figures: RunFigures,
    visited: VisitCounts,
    /// Rows of the visit that the conditions left.
    passed: u64,
    /// Rows before the first that is wanted.
    skip: u64,
    left: u64,
    totals: Vec<Total>,
    held: HeldRows,
}

/// Runs a plan with the values of its parameters.
pub fn run(
    whole: &ShortPlan,
    plan: &DirectPlan,
    values: &[Value],
    surroundings: Surroundings<'_>,
    sink: &mut dyn RowSink,
) -> RunEnd {
    let Some(table) = plan.table() else { return RunEnd::General };
    let Surroundings { pages, view, stop } = surroundings;
    sink.begin(whole);
    let shape = &plan.shape;
    let totals = match &shape.body {
        Body::Aggregate { aggregates, .. } => aggregates.iter().map(|a| Total::of(&a.function)).collect(),
        _ => Vec::new(),
    };
    let mut run = ShortRun {
        whole,
        plan,
        values,
        sink,
        stop,
        view,
        bytes: 0,
        figures: RunFigures::default(),
        visited: VisitCounts::default(),
        passed: 0,
        skip: shape.offset,
        left: shape.limit.unwrap_or(u64::MAX),
        totals,
        held: HeldRows::default(),
    };
    match run.read(&table, &pages) {
        Ok(VisitEnd::MustWait) => return RunEnd::MustWait,
        Ok(_) => {}
        Err(left) => return left.into(),
    }
    match run.finish() {
        Ok(()) => RunEnd::Rows(run.figures),
        Err(left) => left.into(),
    }
}

impl ShortRun<'_> {
    fn read(&mut self, table: &Table, pages: &Pages<'_>) -> Result<VisitEnd, Left> {
        if self.left == 0 {
            return Ok(VisitEnd::Done);
        }
        let access = &self.plan.access;
        let ranges = match self.whole.rules().list(self.values) {
            None => self.ranges(self.values),
            Some((index, members)) => {
                let mut values = self.values.to_vec();
                let of_member = |member: &Value| {
                    values[index].clone_from(member);
                    self.ranges(&values)
                };
                members.iter().map(of_member).collect::<Result<Vec<_>, _>>().map(|ranges| ranges.concat())
            }
        };
        let ranges = match ranges {
            Ok(ranges) => ranges,
            Err(KeyValue::Null) => return Ok(VisitEnd::Done),
            Err(_) => return Err(Left::General),
        };
        let codec = &table.tree(access.index).layout().key;
        let ranges = codec.sorted_ranges(ranges).map_err(|_| Left::General)?;
        for (range, _) in &ranges {
            let end = self.read_range(table, range, pages)?;
            if end != VisitEnd::Done {
                return Ok(end);
            }
        }
        Ok(VisitEnd::Done)
    }

    /// The ranges of keys for values of the parameters.
    fn ranges(&self, values: &[Value]) -> Result<Vec<KeyRange>, KeyValue> {
        self.plan.access.ranges(|constant| match constant_value(&constant.expr, values) {
            Some(value) => constant.key_value(&value),
            None => KeyValue::Unknown,
        })
    }

    fn read_range(&mut self, table: &Table, range: &ByteRange, pages: &Pages<'_>) -> Result<VisitEnd, Left> {
        let access = &self.plan.access;
        let request = RowVisit {
            index: access.index,
            range,
            whole_rows: access.whole_rows,
            view: Arc::clone(&self.view),
            pages,
            reverse: false,
            entries_max: entries_max(!access.whole_rows).saturating_sub(self.visited.entries as usize),
        };
        let mut counts = VisitCounts::default();
        let mut failed = None;
        let single = access.single;
        self.passed = 0;
        let end = table.visit_rows(&request, &mut counts, &mut |row| match self.row(row) {
            Ok(ControlFlow::Continue(())) if single => ControlFlow::Break(()),
            Ok(flow) => flow,
            Err(left) => {
                failed = Some(left);
                ControlFlow::Break(())
            }
        });
        self.visited.entries += counts.entries;
        self.figures.read.add(&counts, access.points, self.passed);
        match (failed, end) {
            (Some(left), _) => Err(left),
            (None, Ok(_)) if counts.too_many => Err(Left::TooMany),
            (None, Ok(end)) => Ok(end),
            (None, Err(_)) => Err(Left::General),
        }
    }

    /// The value of a column in a row.
    fn value<'r>(&self, row: &RowOnPage<'r>, column: usize) -> Result<ValueRef<'r>, Left> {
        let stored = self.plan.stored[column].ok_or(Left::General)?;
        row.value(stored).ok().flatten().ok_or(Left::General)
    }

    /// Counts a value of the result. `Left::General` when there are too many to be kept beside the memory of queries.
    fn count_bytes(&mut self, value: &ValueRef<'_>) -> Result<(), Left> {
        self.bytes += counted_bytes(value);
        if self.bytes > RESULT_BYTES_MAX { Err(Left::General) } else { Ok(()) }
    }

    fn row(&mut self, row: &RowOnPage<'_>) -> Result<ControlFlow<()>, Left> {
        if self.stop.is_some_and(Stop::is_due) {
            return Err(Left::General);
        }
        for condition in &self.plan.filter {
            if !self.passes(condition, row)? {
                return Ok(ControlFlow::Continue(()));
            }
        }
        self.passed += 1;
        match &self.plan.shape.body {
            Body::Aggregate { aggregates, .. } => {
                for (i, aggregate) in aggregates.iter().enumerate() {
                    let value = aggregate.column.map(|c| self.value(row, c)).transpose()?;
                    self.totals[i].add(value).ok_or(Left::General)?;
                }
                Ok(ControlFlow::Continue(()))
            }
            Body::Rows(columns) | Body::Distinct(columns) => match &self.plan.order {
                Some(codec) => {
                    row.append_key(codec, self.held.begin_row()).map_err(|_| Left::General)?;
                    self.held.end_key();
                    for column in columns {
                        let value = self.value(row, *column)?;
                        self.count_bytes(&value)?;
                        self.held.push(value);
                    }
                    Ok(ControlFlow::Continue(()))
                }
                None => self.deliver(row, columns),
            },
        }
    }

    /// Hands a row on as it lies on its page.
    fn deliver(&mut self, row: &RowOnPage<'_>, columns: &[usize]) -> Result<ControlFlow<()>, Left> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(ControlFlow::Continue(()));
        }
        self.sink.begin_row();
        for column in columns {
            let value = self.value(row, *column)?;
            self.count_bytes(&value)?;
            self.sink.value(value);
        }
        self.sink.end_row();
        self.figures.rows += 1;
        self.left -= 1;
        Ok(if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Returns true if the condition is TRUE for the row.
    fn passes(&self, condition: &Expr, row: &RowOnPage<'_>) -> Result<bool, Left> {
        let table = &self.plan.shape.table;
        let value = value_of_row(
            condition,
            &|id: ColId| self.value(row, id.0 as usize).ok().map(ValueRef::to_value),
            &|id: ColId| table.columns.get(id.0 as usize).map(|c| c.ty),
            self.values,
        );
        value.map(|value| muster_eval::compare::truth(&value) == Some(true)).ok_or(Left::General)
    }

    /// Hands on what could not be handed on row by row.
    fn finish(&mut self) -> Result<(), Left> {
        match &self.plan.shape.body {
            Body::Aggregate { aggregates, outputs } => {
                self.sink.begin_row();
                for output in outputs {
                    let (total, aggregate): (&Total, &Aggregate) = (&self.totals[*output], &aggregates[*output]);
                    let value = total.value(aggregate.ty).ok_or(Left::General)?;
                    self.sink.value(ValueRef::from(&value));
                }
                self.sink.end_row();
                self.figures.rows = 1;
            }
            body if self.plan.order.is_some() => {
                let distinct = matches!(body, Body::Distinct(_));
                let rows = self.held.in_order(distinct);
                if !self.plan.shape.order.is_empty() {
                    self.figures.sorted = rows.len() as u64;
                }
                let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                for row in rows.into_iter().skip(skip).take(left) {
                    self.sink.begin_row();
                    self.held.values(row).for_each(|value| self.sink.value(value));
                    self.sink.end_row();
                    self.figures.rows += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
