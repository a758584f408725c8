//! Values of the AUTO_INCREMENT column that a statement makes. They are taken in intervals, as MySQL takes them (manual
//! 17.6.1.6): at first as many as the statement has rows, then twice as many each time.

use super::target::OpenTarget;
use crate::{
    statement::StatementContext,
    tables::{Advance, Steps},
};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value, cast::int_range};
use std::{cell::Cell, ops::RangeInclusive};

/// Most values of an interval.
const INTERVAL_MAX: u64 = 65_535;

pub struct Generated<'a> {
    target: &'a OpenTarget,
    /// The position of the column; `None`: the table has none.
    pub column: Option<usize>,
    steps: Steps,
    /// True unless `sql_mode` has NO_AUTO_VALUE_ON_ZERO.
    pub zero_is_next: bool,
    /// Rows that the statement is known to have; 0: not known.
    rows: u64,
    /// Intervals taken so far.
    intervals: u32,
    /// Rows to come that the last interval was for; the next one is for as many (InnoDB: `trx_t::n_autoinc_rows`).
    expected: u64,
    /// The next value, and the end of the interval.
    next: u64,
    end: u64,
    /// The interval that was taken last.
    interval: RangeInclusive<u64>,
    /// The value of `insert_id`, for the first row.
    set: Option<u64>,
}

impl<'a> Generated<'a> {
    pub fn new(context: &StatementContext, target: &'a OpenTarget, rows: u64) -> Generated<'a> {
        let settings = context.session.variables.settings();
        let (increment, offset) = settings.auto_increment;
        Generated {
            target,
            column: target.entry.auto_increment_column(),
            steps: Steps { increment, offset },
            zero_is_next: !settings.zero_is_a_value,
            rows,
            intervals: 0,
            expected: 0,
            next: 0,
            end: 0,
            interval: RangeInclusive::new(1, 0),
            set: settings.insert_id,
        }
    }

    /// Returns true if this value of the column stands for the next number.
    pub fn is_wanted(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Int(0) | Value::UInt(0) => self.zero_is_next,
            Value::Float(x) => *x == 0.0 && self.zero_is_next,
            Value::Double(x) => *x == 0.0 && self.zero_is_next,
            _ => false,
        }
    }

    /// The next number, and as the column's value: the largest that the column holds when there is no other for the
    /// first row, and error 1467 for a later one.
    pub fn next(&mut self, ty: SqlType) -> Result<(u64, Value)> {
        let is_first = self.next == 0;
        let number = match self.set.take() {
            Some(number) => {
                keep_above(self.target, &Value::UInt(number))?;
                self.rows = self.rows.saturating_sub(1);
                number
            }
            None => self.next_of_interval()?,
        };
        let (value, number) = match ty.stored_type() {
            SqlType::Int { width, unsigned } => {
                let largest = int_range(width, unsigned).1;
                if number as i128 > largest && !is_first {
                    return Err(no_number());
                }
                let number = (number as i128).min(largest) as u64;
                (if unsigned { Value::UInt(number) } else { Value::Int(number as i64) }, number)
            }
            SqlType::Float => (Value::Float(number as f32), number),
            _ => (Value::Double(number as f64), number),
        };
        Ok((number, value))
    }

    fn next_of_interval(&mut self) -> Result<u64> {
        if self.next == 0 || self.next > self.end {
            if self.expected == 0 {
                self.expected = match (self.intervals, self.rows) {
                    (0, 1..) => self.rows,
                    (before, _) => (1u64 << before.min(16)).min(INTERVAL_MAX),
                };
            }
            let count = self.expected;
            self.intervals += 1;
            let counter = self.target.set.auto_increment(self.target.entry.def.id)?;
            let (first, advance) = counter.take(count, self.steps)?;
            self.target.numbers.note(Some(advance));
            self.next = first;
            self.end = self.next.saturating_add((count - 1).saturating_mul(self.steps.increment.max(1)));
            self.interval = self.next..=self.end;
        }
        let number = self.next;
        // The largest number of all says that there is no other (MySQL: `handler::update_auto_increment`).
        if number == u64::MAX {
            return Err(no_number());
        }
        self.next = number.saturating_add(self.steps.increment.max(1));
        Ok(number)
    }

    /// Notes that a row has its number, given or made.
    pub fn passed(&mut self) {
        self.expected = self.expected.saturating_sub(1);
    }

    /// The number that the next row will have, as far as one is reserved.
    pub fn place(&self) -> u64 {
        self.next
    }

    /// Gives the number of a row that was not inserted to the next row of the statement. `place`: that before the row;
    /// `number`: what was made for it (MySQL: `handler::restore_auto_increment`).
    pub fn restore(&mut self, place: u64, number: Option<u64>) {
        self.next = if place > 0 { place } else { number.unwrap_or(0) };
    }

    /// Moves the next number of the table back to where it was, unless other statements have moved it: this one will
    /// begin anew, and none of its rows has come.
    pub fn begin_anew(&self) -> Result<()> {
        match self.target.numbers.taken() {
            Some(all) => self.target.set.auto_increment(self.target.entry.def.id).map(|counter| counter.give_back(all)),
            None => Ok(()),
        }
    }

    /// Deals with a row that met one with its key, which was changed instead. `place`, `number`: as for
    /// [`Self::restore`]; `assigned`: the number that the other row has been given.
    ///
    /// Error 1869 for a number that is reserved for another row of the statement.
    pub fn updated(&mut self, place: u64, number: Option<u64>, assigned: Option<u64>) -> Result<()> {
        if let (Some(made), Some(assigned)) = (number, assigned) {
            if made == assigned {
                return Ok(());
            }
            if self.interval.contains(&assigned) {
                let message = "Auto-increment value in UPDATE conflicts with internally generated values";
                return Err(SqlError::new(ErrorCode::AutoIncrementConflict, message));
            }
        }
        self.restore(place, number);
        Ok(())
    }

    /// Notes a value that the statement gives, so that none that it makes later is below it.
    pub fn given(&mut self, value: &Value) {
        let number = number_of(value);
        if number > 0 && self.next > 0 && number >= self.next {
            self.next = self.steps.at_least(number.saturating_add(1));
        }
    }

    /// Lets the table give only numbers above that of a row which is in it now.
    pub fn inserted(&self, row: &[Value]) -> Result<()> {
        match self.column {
            Some(column) => keep_above(self.target, &row[column]),
            None => Ok(()),
        }
    }
}

/// Error 1467: there is no number for the row.
fn no_number() -> SqlError {
    let message = "Failed to read auto-increment value from storage engine";
    SqlError::new(ErrorCode::AutoincReadFailed, message)
}

/// Lets the table give only numbers above a value that a row has.
pub fn keep_above(target: &OpenTarget, value: &Value) -> Result<()> {
    let number = number_of(value);
    if number > 0 {
        let counter = target.set.auto_increment(target.entry.def.id)?;
        target.numbers.note(counter.raise(number.saturating_add(1))?);
    }
    Ok(())
}

/// How a statement has moved the next number of its table.
#[derive(Debug, Default)]
pub struct NumbersTaken(Cell<Moved>);

#[derive(Debug, Clone, Copy, Default)]
enum Moved {
    /// Not at all.
    #[default]
    No,
    /// By so much, and no other statement has moved it since.
    Alone(Advance),
    BesideOthers,
}

impl NumbersTaken {
    fn note(&self, advance: Option<Advance>) {
        let Some(advance) = advance else { return };
        self.0.set(match self.0.get() {
            Moved::No => Moved::Alone(advance),
            Moved::Alone(all) if all.behind == advance.before => {
                Moved::Alone(Advance { before: all.before, ..advance })
            }
            Moved::Alone(_) | Moved::BesideOthers => Moved::BesideOthers,
        });
    }

    /// All of it, if nobody else has moved the number in between.
    fn taken(&self) -> Option<Advance> {
        match self.0.take() {
            Moved::Alone(all) => Some(all),
            Moved::No | Moved::BesideOthers => None,
        }
    }
}

/// A value of an AUTO_INCREMENT column as a number; 0 for what is none above 0.
pub fn number_of(value: &Value) -> u64 {
    match value {
        Value::Int(n) => u64::try_from(*n).unwrap_or(0),
        Value::UInt(n) => *n,
        Value::Float(x) => *x as u64,
        Value::Double(x) => *x as u64,
        _ => 0,
    }
}
