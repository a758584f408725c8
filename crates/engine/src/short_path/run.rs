//! Runs a plan of the short path. Nothing is reported here: what is not plain rows is left to the general path, which
//! knows how to tell warnings and errors.

use super::{
    key_access::KeyValue,
    ordered::HeldRows,
    plan::{Aggregate, Body, ShortPlan},
    sink::RowSink,
    totals::Total,
};
use muster_algebra::{ColId, Expr};
use muster_eval::Evaluator;
use muster_storage::{Pages, ReadView, RowOnPage, RowVisit, Table, VisitCounts, VisitEnd};
use muster_types::{Value, ValueRef};
use std::{ops::ControlFlow, sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// Most entries that a statement reads here.
const ENTRIES_MAX: usize = 1000;
/// Longest text that a function makes here, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// Most bytes that the values of a result have here. They are not taken from the memory of queries.
const RESULT_BYTES_MAX: usize = 256 << 10;
/// Bytes that a value is counted as besides those of its text.
const VALUE_BYTES: usize = 16;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The sink has all rows.
    Rows(RunFigures),
    /// A page is not in memory.
    MustWait,
    /// The statement is for the general path.
    General,
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunFigures {
    pub rows: u64,
    /// Rows that came out of a sort.
    pub sorted: u64,
    pub read: VisitCounts,
    /// Rows that the conditions left.
    pub passed: u64,
}

/// Why a run leaves off.
enum Left {
    General,
}

/// What ends a run that waits for pages: KILL, and the time that the statement may take.
pub struct Stop {
    pub cancel: CancellationToken,
    pub deadline: Option<Instant>,
}

impl Stop {
    fn is_due(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

/// The surroundings of a run: where its pages come from, and what stops it.
pub struct Surroundings<'a> {
    pub pages: Pages<'a>,
    /// What the run sees: a plan is kept for later statements and has no view of its own.
    pub view: Arc<ReadView>,
    /// `None`: the run waits for nothing, so it is over before anything could stop it.
    pub stop: Option<&'a Stop>,
}

struct ShortRun<'a> {
    plan: &'a ShortPlan,
    values: &'a [Value],
    sink: &'a mut dyn RowSink,
    stop: Option<&'a Stop>,
    view: Arc<ReadView>,
    /// Bytes of values that were held or handed on.
    bytes: usize,
    figures: RunFigures,
    /// Rows before the first that is wanted.
    skip: u64,
    left: u64,
    totals: Vec<Total>,
    held: HeldRows,
}

/// Runs a plan with the values of its parameters.
pub fn run(
    plan: &ShortPlan,
    table: &Table,
    values: &[Value],
    surroundings: Surroundings<'_>,
    sink: &mut dyn RowSink,
) -> RunEnd {
    let Surroundings { pages, view, stop } = surroundings;
    sink.begin(plan);
    let shape = &plan.shape;
    let totals = match &shape.body {
        Body::Aggregate { aggregates, .. } => aggregates.iter().map(Total::new).collect(),
        _ => Vec::new(),
    };
    let mut run = ShortRun {
        plan,
        values,
        sink,
        stop,
        view,
        bytes: 0,
        figures: RunFigures::default(),
        skip: shape.offset,
        left: shape.limit.unwrap_or(u64::MAX),
        totals,
        held: HeldRows::default(),
    };
    match run.read(table, pages) {
        Ok(VisitEnd::MustWait) => return RunEnd::MustWait,
        Ok(_) if run.figures.read.too_many => return RunEnd::General,
        Ok(_) => {}
        Err(Left::General) => return RunEnd::General,
    }
    match run.finish() {
        Ok(()) => RunEnd::Rows(run.figures),
        Err(Left::General) => RunEnd::General,
    }
}

impl ShortRun<'_> {
    fn read(&mut self, table: &Table, pages: Pages<'_>) -> Result<VisitEnd, Left> {
        if self.left == 0 {
            return Ok(VisitEnd::Done);
        }
        let access = &self.plan.access;
        let values = self.values;
        let range = access.range(|constant| match constant_value(&constant.expr, values) {
            Some(value) => constant.key_value(&value),
            None => KeyValue::Unknown,
        });
        let range = match range {
            Ok(range) => table.tree(access.index).layout().key.byte_range(&range).map_err(|_| Left::General)?,
            Err(KeyValue::Null) => None,
            Err(_) => return Err(Left::General),
        };
        let Some(range) = range else { return Ok(VisitEnd::Done) };
        let request = RowVisit {
            index: access.index,
            range: &range,
            whole_rows: access.whole_rows,
            view: Arc::clone(&self.view),
            pages,
            entries_max: ENTRIES_MAX,
        };
        let mut counts = VisitCounts::default();
        let mut failed = None;
        let single = access.single;
        let end = table.visit_rows(&request, &mut counts, &mut |row| match self.row(row) {
            Ok(ControlFlow::Continue(())) if single => ControlFlow::Break(()),
            Ok(flow) => flow,
            Err(left) => {
                failed = Some(left);
                ControlFlow::Break(())
            }
        });
        self.figures.read = counts;
        match (failed, end) {
            (Some(left), _) => Err(left),
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
        self.bytes += VALUE_BYTES;
        match value {
            ValueRef::Text(text) => self.bytes += text.len(),
            ValueRef::Bytes(bytes) => self.bytes += bytes.len(),
            _ => {}
        }
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
        self.figures.passed += 1;
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
        let mut warned = false;
        let value = Evaluator {
            value: &|id: ColId| self.value(row, id.0 as usize).ok().map(ValueRef::to_value),
            ty: &|id: ColId| table.columns.get(id.0 as usize).map(|c| c.ty),
            parameters: self.values,
            warn: &mut |_| warned = true,
            text_bytes_max: TEXT_BYTES_MAX,
            reserve: &mut |_| Ok(()),
            last_insert_id: None,
            states: None,
        }
        .eval(condition);
        match value {
            Some(Ok(value)) if !warned => Ok(muster_eval::compare::truth(&value) == Some(true)),
            _ => Err(Left::General),
        }
    }

    /// Hands on what could not be handed on row by row.
    fn finish(&mut self) -> Result<(), Left> {
        match &self.plan.shape.body {
            Body::Aggregate { aggregates, outputs } => {
                self.sink.begin_row();
                for output in outputs {
                    let (total, aggregate): (&Total, &Aggregate) = (&self.totals[*output], &aggregates[*output]);
                    let value = total.value(aggregate).ok_or(Left::General)?;
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

/// The value of an expression without columns; `None` if it cannot be had without a warning.
pub(super) fn constant_value(expr: &Expr, parameters: &[Value]) -> Option<Value> {
    match expr {
        Expr::Literal { value, .. } => return Some(value.clone()),
        // A value of the parameter's own type, which is what plans are made for.
        Expr::Parameter { index, .. } => return parameters.get(*index).cloned(),
        _ => {}
    }
    let mut warned = false;
    let value = Evaluator {
        value: &|_| None,
        ty: &|_| None,
        parameters,
        warn: &mut |_| warned = true,
        text_bytes_max: TEXT_BYTES_MAX,
        reserve: &mut |_| Ok(()),
        last_insert_id: None,
        states: None,
    }
    .eval(expr);
    value.and_then(Result::ok).filter(|_| !warned)
}
