//! Conditions on the rows of a stored sample: what no histogram knows, such as correlated columns, LIKE, functions and
//! one column against another.
//!
//! A condition is answered once for each sample and remembered there. What that costs is bounded for each statement:
//! beyond [`EVALUATIONS_MAX`] values a condition is estimated without the sample.

use crate::fingerprint;
use crate::intervals::{Cut, Interval, column_values::ColumnValues, column_values::Values};
use crate::scope;
use muster_algebra::{ColId, Collation, CompareOp, Expr, SqlType, TableDef, Value};
use muster_eval::{Evaluator, PLANNED_TEXT_BYTES_MAX, compare};
use muster_types::distribution::{Bits, RowSample, SampleColumn};
use muster_types::order;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Values that conditions of one statement are evaluated for, at most.
const EVALUATIONS_MAX: usize = 8192;
/// A longer list of values is not looked for in a sample.
const LIST_MAX: usize = 64;
/// With fewer rows of a sample no share of them is taken.
const ROWS_MIN: usize = 20;
/// Standard deviations of a count within which an estimate does not contradict it.
const DEVIATIONS: f64 = 2.0;

/// One use of a table that has a sample.
#[derive(Debug, Clone)]
pub(super) struct SampledTable {
    sample: Arc<RowSample>,
    /// The positions and types of the columns that the query has.
    columns: HashMap<ColId, (usize, SqlType)>,
}

/// The samples of a statement's tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Samples {
    tables: Vec<Rc<SampledTable>>,
    evaluations: Rc<Cell<usize>>,
}

/// How many rows of a sample pass some conditions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observed {
    pub matched: usize,
    pub rows: usize,
    /// True if the sample is all rows of the table.
    pub is_whole: bool,
}

impl Observed {
    /// An estimate of the share of rows that pass, corrected if the sample contradicts it.
    pub fn corrected(self, estimate: f64) -> f64 {
        let (matched, rows) = (self.matched as f64, self.rows as f64);
        let expected = estimate * rows;
        let is_consistent = (expected - matched).abs() <= DEVIATIONS * matched.max(1.0).sqrt();
        match (self.is_whole, is_consistent) {
            (false, true) => estimate,
            // Rows that pass were not met: there are fewer than one for each row of the sample.
            _ => matched.max(0.5) / rows,
        }
    }
}

impl Samples {
    /// Learns a use of a table; returns its number.
    pub fn add(&mut self, sample: Arc<RowSample>, table: &TableDef, columns: &[(ColId, usize)]) -> Option<usize> {
        if sample.rows() < ROWS_MIN && !sample.is_whole() || sample.rows() == 0 {
            return None;
        }
        let columns = columns.iter().filter_map(|(id, at)| Some((*id, (*at, table.columns.get(*at)?.ty)))).collect();
        self.tables.push(Rc::new(SampledTable { sample, columns }));
        Some(self.tables.len() - 1)
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub fn sample(&self, table: usize) -> Option<&RowSample> {
        self.tables.get(table).map(|table| &*table.sample)
    }

    /// How many rows of a table's sample pass all of these conditions; `None` if one of them cannot be asked.
    pub fn observe(&self, table: usize, conditions: &[&Expr]) -> Option<Observed> {
        let table = self.tables.get(table)?;
        let mut passing: Option<Vec<u64>> = None;
        for condition in conditions {
            let bits = self.rows_where(table, condition)?;
            match &mut passing {
                Some(passing) => passing.iter_mut().zip(bits.iter()).for_each(|(all, word)| *all &= word),
                None => passing = Some(bits.to_vec()),
            }
        }
        let matched = passing?.iter().map(|word| word.count_ones() as usize).sum();
        Some(Observed { matched, rows: table.sample.rows(), is_whole: table.sample.is_whole() })
    }

    /// The rows for which a condition holds.
    fn rows_where(&self, table: &SampledTable, condition: &Expr) -> Option<Bits> {
        let ids = scope::expr_columns(condition);
        let columns: Vec<(ColId, usize)> =
            ids.iter().map(|id| Some((*id, table.columns.get(id)?.0))).collect::<Option<_>>()?;
        let position = |id: ColId| table.columns.get(&id).map_or(u32::MAX, |(at, _)| *at as u32);
        table.sample.remembered(fingerprint::of_renamed(condition, &position), || {
            if columns.iter().any(|(_, at)| table.sample.column(*at).is_none_or(SampleColumn::has_unknown)) {
                return None;
            }
            match columns.as_slice() {
                [] => None,
                [(id, at)] => self.of_one_column(table, condition, *id, *at),
                _ => self.of_rows(table, condition, &columns),
            }
        })
    }

    /// Each value of the column is asked once; of a range, its ends are looked for.
    fn of_one_column(&self, table: &SampledTable, condition: &Expr, id: ColId, at: usize) -> Option<Bits> {
        let column = table.sample.column(at)?;
        let ty = table.columns.get(&id)?.1;
        if let Some(ColumnValues { values: Values::Intervals { intervals, exact: true }, .. }) =
            ColumnValues::of(condition, &|c| (c == id).then_some(ty))
        {
            let has_null = |interval: &Interval| matches!(interval.low, Cut::Start | Cut::Before(Value::Null));
            let ranges: Vec<(u16, u16)> = intervals.iter().map(|i| codes_of(i, &column.values, ty)).collect();
            let passes = |code: u16| ranges.iter().any(|(low, high)| (*low..*high).contains(&code));
            return Some(column.rows_where(intervals.iter().any(has_null), passes));
        }
        self.spend(column.values.len() + 1)?;
        let holds = |value: &Value| self.holds(table, condition, &|c| (c == id).then(|| value.clone()));
        let of_null = holds(&Value::Null)?;
        let of_values: Vec<bool> = column.values.iter().map(holds).collect::<Option<_>>()?;
        Some(column.rows_where(of_null, |code| of_values[usize::from(code)]))
    }

    /// Each row is asked.
    fn of_rows(&self, table: &SampledTable, condition: &Expr, columns: &[(ColId, usize)]) -> Option<Bits> {
        let (sample, rows) = (&table.sample, table.sample.rows());
        let value = |id: ColId, row: usize| {
            let (_, at) = columns.iter().find(|(c, _)| *c == id)?;
            sample.column(*at)?.value(row)
        };
        let answers: Vec<bool> = match condition {
            Expr::Compare { op, left, right } if is_column(left) && is_column(right) => {
                let (Expr::Column(a), Expr::Column(b)) = (&**left, &**right) else { return None };
                self.spend(rows / 8)?;
                let collation = table.columns.get(a)?.1.collation().unwrap_or(Collation::DEFAULT);
                let compared = |row| Some(holds_between(*op, value(*a, row)?, value(*b, row)?, collation));
                (0..rows).map(compared).collect::<Option<_>>()?
            }
            _ => {
                self.spend(rows)?;
                let holds = |row| self.holds(table, condition, &|id| value(id, row).cloned());
                (0..rows).map(holds).collect::<Option<_>>()?
            }
        };
        let word = |rows: &[bool]| rows.iter().rev().fold(0, |word, holds| word << 1 | u64::from(*holds));
        Some(answers.chunks(64).map(word).collect())
    }

    fn holds(&self, table: &SampledTable, condition: &Expr, value: &dyn Fn(ColId) -> Option<Value>) -> Option<bool> {
        let outcome = Evaluator {
            value,
            ty: &|id| table.columns.get(&id).map(|(_, ty)| *ty),
            parameters: &[],
            warn: &mut |_| {},
            text_bytes_max: PLANNED_TEXT_BYTES_MAX,
            reserve: &mut |_| Ok(()),
            last_insert_id: None,
            states: None,
        }
        .eval(condition)?;
        // A row whose value is an error passes nothing.
        Some(outcome.is_ok_and(|value| compare::truth(&value) == Some(true)))
    }

    /// Counts evaluations; `None` if the statement has made enough of them.
    fn spend(&self, evaluations: usize) -> Option<()> {
        let spent = self.evaluations.get() + evaluations;
        (spent <= EVALUATIONS_MAX).then(|| self.evaluations.set(spent))
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}

/// Returns true if all conditions have one answer for one row, which does not take long to find.
pub(super) fn are_answerable(conditions: &[&Expr]) -> bool {
    conditions.len() <= LIST_MAX && conditions.iter().all(|condition| is_answerable(condition))
}

/// Returns true if the condition has one answer for one row, which does not take long to find.
fn is_answerable(condition: &Expr) -> bool {
    let is_long =
        matches!(condition, Expr::InList { list: args, .. } | Expr::Logic { args, .. } if args.len() > LIST_MAX);
    let mut answerable = !is_long && condition.is_movable() && !condition.has_subquery();
    if !answerable {
        return false;
    }
    condition.visit(&mut |e| match e {
        Expr::Parameter { .. } => answerable = false,
        Expr::InList { list, .. } => answerable &= list.len() <= LIST_MAX,
        Expr::Logic { args, .. } => answerable &= args.len() <= LIST_MAX,
        _ => {}
    });
    answerable
}

/// The positions of the values that an interval has among ascending ones.
fn codes_of(interval: &Interval, values: &[Value], ty: SqlType) -> (u16, u16) {
    let before = |bound: &Value, inclusive: bool| {
        let is_before = |value: &Value| match order::compare(value, bound, ty) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => inclusive,
            _ => false,
        };
        values.partition_point(is_before) as u16
    };
    let at = |cut: &Cut| match cut {
        Cut::Start | Cut::Before(Value::Null) | Cut::After(Value::Null) => 0,
        Cut::Before(value) => before(value, false),
        Cut::After(value) => before(value, true),
        Cut::End => values.len() as u16,
    };
    (at(&interval.low), at(&interval.high))
}

fn holds_between(op: CompareOp, a: &Value, b: &Value, collation: Collation) -> bool {
    compare::truth(&compare::compare(op, a, b, collation)) == Some(true)
}
