//! One row after the other into a table.

use super::{
    assign::passes_view,
    convert::Conversion,
    duplicate::{Met, OnDuplicate, Resolved},
    evaluation::Evaluation,
    generated::Generated,
    rules::Rules,
    target::OpenTarget,
    write::{Writer, Written},
};
use crate::{
    cost_tables,
    statement::{Done, StatementContext},
};
use muster_algebra::ColId;
use muster_sql::bind;
use muster_storage::ReadView;
use muster_types::{ErrorCode, Result, Value};
use std::{
    cell::RefCell,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// So often a row is tried that meets others which then are gone.
const ATTEMPTS_MAX: u32 = 1000;

/// So many rows wait to be inserted together at most.
const WAITING_MAX: usize = 128;

/// Returns true for a value of which there should not be many in memory.
fn is_long(value: &Value) -> bool {
    const LONG_BYTES: usize = 8 << 10;
    match value {
        Value::Text(text) => text.len() > LONG_BYTES,
        Value::Bytes(bytes) | Value::Json(bytes) => bytes.len() > LONG_BYTES,
        _ => false,
    }
}

/// What a statement that inserts has done.
#[derive(Debug, Default)]
pub struct Counts {
    /// Rows that were to be inserted.
    pub records: u64,
    /// Rows that were inserted.
    copied: u64,
    /// Rows that went, or changed, for one that was to be inserted.
    displaced: u64,
    /// Affected rows.
    affected: u64,
    /// The first number that was made for the AUTO_INCREMENT column of a row that was inserted.
    first_id: u64,
    /// The number that the last row has: one that was given, or of a row that was changed in the place of another.
    last_id: u64,
}

/// The numbers of rows that LOAD DATA tells its client.
pub struct LoadCounts {
    pub affected: u64,
    /// Rows that were there and went for one of the file.
    pub deleted: u64,
    /// Rows of the file that were left out.
    pub skipped: u64,
    pub last_insert_id: u64,
}

/// Inserts the rows of one statement.
pub struct RowInsert<'a> {
    pub context: &'a StatementContext,
    pub target: &'a OpenTarget,
    pub bound: &'a bind::ChangeTarget,
    pub conversion: Conversion<'a>,
    pub evaluation: &'a Evaluation<'a>,
    pub generated: Generated<'a>,
    pub on_duplicate: OnDuplicate<'a>,
    pub counts: Counts,
    writer: Writer<'a>,
    /// Rows that wait to be inserted together, each with the number that was made for it.
    waiting: Vec<(Vec<Value>, Option<u64>)>,
    /// True if one of them may have a number that the statement gave.
    gives_numbers: bool,
    /// Columns of which the statement has warned that a NULL has become the implicit default: it does so once.
    warned_of_null: RefCell<Vec<usize>>,
    /// True for INSERT .. SELECT, whose refused row has used up its number nevertheless.
    is_of_query: bool,
}

impl<'a> RowInsert<'a> {
    /// `rows`: as many as the statement has, 0: not known; `seen`: what had been committed when it began.
    pub fn new(
        (target, bound): (&'a OpenTarget, &'a bind::ChangeTarget),
        conversion: Conversion<'a>,
        evaluation: &'a Evaluation<'a>,
        on_duplicate: OnDuplicate<'a>,
        (rows, seen): (u64, &Arc<ReadView>),
    ) -> RowInsert<'a> {
        let context = conversion.context;
        RowInsert {
            context,
            target,
            bound,
            conversion,
            evaluation,
            generated: Generated::new(context, target, rows),
            on_duplicate,
            counts: Counts::default(),
            writer: Writer::new(context, target, Some(seen)),
            waiting: Vec::new(),
            gives_numbers: false,
            warned_of_null: RefCell::default(),
            is_of_query: false,
        }
    }

    /// Says that the rows are those of a query.
    pub fn of_query(self) -> RowInsert<'a> {
        RowInsert { is_of_query: true, ..self }
    }

    /// A value as a column stores it; `row` counts from 1. Errors: 1048, and those of values that do not fit.
    pub fn stored(&self, column: usize, value: &Value, row: u64) -> Result<Value> {
        let def = &self.target.columns()[column];
        if !value.is_null() || def.nullable {
            return self.conversion.stored(def, value, row);
        }
        let mut warned = self.warned_of_null.borrow_mut();
        if warned.contains(&column) {
            return self.conversion.null_again(def);
        }
        let stored = self.conversion.stored(def, value, row)?;
        warned.push(column);
        Ok(stored)
    }

    /// What the table's definition says of a row.
    pub fn rules(&self) -> Rules<'_> {
        Rules {
            rules: &self.bound.rules,
            columns: &self.bound.columns,
            defs: self.target.columns(),
            evaluation: self.evaluation,
            conversion: &self.conversion,
        }
    }

    /// The defaults of the columns that are not given, as far as they are expressions.
    pub fn put_computed_defaults(&self, given: &[usize], row: &mut [Value], number: u64) -> Result<()> {
        for (column, _) in self.bound.rules.defaults.iter().filter(|(column, _)| !given.contains(column)) {
            if let Some(value) = self.rules().default(*column, row, number)? {
                row[*column] = value;
            }
        }
        Ok(())
    }

    /// The value of a column for the word DEFAULT: of the AUTO_INCREMENT column 0, which stands for the next number
    /// unless `sql_mode` has NO_AUTO_VALUE_ON_ZERO. Error 1364.
    pub fn default_value(&self, column: usize) -> Result<Value> {
        if self.generated.column == Some(column) && !self.generated.zero_is_next {
            return Ok(self.target.value_before(column, &self.conversion));
        }
        self.target.default_value(column, &self.conversion)
    }

    /// Inserts a row whose values are as its columns store them; that of the AUTO_INCREMENT column is as it was given.
    /// `value`: columns of the query that the row comes from.
    pub fn insert(&mut self, mut row: Vec<Value>, value: &dyn Fn(ColId) -> Option<Value>) -> Result<()> {
        self.counts.records += 1;
        cost_tables::note_origin(&self.target.entry.def, &mut row, None, &self.context.rights.account);
        self.rules().generate(&mut row, self.counts.records)?;
        // No CHECK looks at the number, which a row that is refused does not take.
        if !self.rules().passes(&row)? {
            return Ok(());
        }
        self.writer.admit_texts(&row)?;
        let place = self.generated.place();
        let number = self.number(&mut row)?;
        self.generated.passed();
        let check = self.bound.check.as_ref();
        if !passes_view(check, &self.bound.columns, &row, self.evaluation, &self.conversion)? {
            return Ok(());
        }
        if matches!(self.on_duplicate, OnDuplicate::Error) {
            let is_long = row.iter().any(is_long);
            self.waiting.push((row, number));
            return if is_long || self.waiting.len() >= WAITING_MAX { self.flush() } else { Ok(()) };
        }
        for _ in 0..ATTEMPTS_MAX {
            let (index, error) = match self.writer.insert(&row)? {
                Written::Duplicate { index, error } => (index, error),
                Written::Refused(error) => {
                    self.conversion.tolerate(error)?;
                    self.generated.restore(place, number);
                    return Ok(());
                }
                Written::Yes | Written::Gone | Written::Stale => return self.inserted(number, &row),
            };
            let replaces = matches!(self.on_duplicate, OnDuplicate::Replace);
            if replaces && number.is_some() && self.is_by_number(index) {
                // The largest number of all, which a row has: there is none left.
                return Err(error);
            }
            if replaces || self.is_of_query {
                self.generated.inserted(&row)?;
            }
            let met = Met { target: self.target, bound: self.bound, row: &row, number: self.counts.records, value };
            let before = self.context.transaction.moment(self.context.database.store());
            let resolve = &self.on_duplicate;
            match resolve.resolve(&met, index, error, &self.writer, self.evaluation, &self.conversion)? {
                Resolved::Gone => {
                    self.counts.displaced += 1;
                    self.counts.affected += 1;
                }
                Resolved::Same => return self.inserted(number, &row),
                Resolved::Stale => self.context.transaction.back_to(before)?,
                Resolved::Ignored => {
                    self.generated.restore(place, number);
                    return Ok(());
                }
                Resolved::Updated { changed, row, number: assigned } => {
                    self.generated.updated(place, number, assigned)?;
                    return self.updated(changed, &row);
                }
            }
        }
        Err(muster_types::SqlError::deadlock())
    }

    /// Inserts the rows that wait for that, in their order. To be called at the end of the statement, and before an
    /// error of a later row is told: theirs comes first.
    pub fn flush(&mut self) -> Result<()> {
        let (rows, numbers): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting).into_iter().unzip();
        let mut done = 0;
        while done < rows.len() {
            let inserted = match self.writer.insert_batch(&rows[done..]) {
                Ok(inserted) => inserted,
                Err(error) if self.is_of_query => {
                    self.generated.inserted(&rows[done])?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            };
            for (number, row) in numbers.iter().zip(&rows).skip(done).take(inserted) {
                self.inserted(*number, row)?;
            }
            done += inserted;
        }
        Ok(())
    }

    /// Ends the insertion of rows, which has come to a result. LAST_INSERT_ID() is the first number that was made even
    /// if the statement has failed in a later row.
    pub fn after<T>(&mut self, result: Result<T>) -> Result<T> {
        let result = self.flush().and(result);
        if let Err(e) = &result {
            if e.code == ErrorCode::LockNowait && self.context.in_place {
                self.generated.begin_anew()?;
                return result;
            }
            self.told_insert_id();
        }
        result
    }

    fn inserted(&mut self, number: Option<u64>, row: &[Value]) -> Result<()> {
        self.counts.copied += 1;
        self.counts.affected += 1;
        if self.counts.first_id == 0 {
            self.counts.first_id = number.unwrap_or(0);
        }
        self.generated.inserted(row)
    }

    /// Returns true if the AUTO_INCREMENT column is the first of an index.
    fn is_by_number(&self, index: usize) -> bool {
        let first = self.target.entry.def.indexes[index].parts.first();
        first.is_some_and(|part| Some(part.column) == self.generated.column)
    }

    /// Counts a row that was changed in the place of one that was to be inserted: two, or one that is as it was for
    /// clients that count the rows found.
    fn updated(&mut self, changed: bool, row: &[Value]) -> Result<()> {
        if changed {
            self.counts.displaced += 1;
            self.counts.affected += 2;
            if let Some(column) = self.generated.column.filter(|_| !self.is_of_query) {
                self.counts.last_id = number_of(&row[column]);
            }
            self.generated.inserted(row)?;
        } else if self.context.session.counts_found_rows {
            self.counts.affected += 1;
        }
        Ok(())
    }

    /// Makes the number of a row that wants one.
    fn number(&mut self, row: &mut [Value]) -> Result<Option<u64>> {
        let Some(column) = self.generated.column else { return Ok(None) };
        if self.generated.is_wanted(&row[column]) {
            if self.gives_numbers {
                // Those that wait have numbers that this one must be above.
                self.flush()?;
                self.gives_numbers = false;
            }
            let (number, value) = self.generated.next(self.target.columns()[column].ty)?;
            row[column] = value;
            return Ok(Some(number));
        }
        self.generated.given(&row[column]);
        self.gives_numbers = true;
        self.counts.last_id = number_of(&row[column]);
        Ok(None)
    }

    /// The numbers that the client is told after a load.
    pub fn loaded(&self) -> LoadCounts {
        let Counts { records, copied, displaced, affected, .. } = self.counts;
        LoadCounts { affected, deleted: displaced, skipped: records - copied, last_insert_id: self.told_insert_id() }
    }

    /// The number of the AUTO_INCREMENT column that the client is told. One that was made is what LAST_INSERT_ID() is
    /// from now on.
    fn told_insert_id(&self) -> u64 {
        let Counts { copied, displaced, first_id, last_id, .. } = self.counts;
        let said = self.context.process.said_insert_id();
        // LAST_INSERT_ID() stays what it was if the view does not show the column.
        if first_id > 0 && self.bound.hides_number {
            return said.unwrap_or(first_id);
        }
        if first_id > 0 {
            self.context.process.last_insert_id.store(first_id, Relaxed);
        }
        match (first_id, said) {
            (0, Some(said)) => said,
            (0, None) if copied + displaced > 0 => last_id,
            (first, _) => first,
        }
    }

    /// What the client is told. `is_told`: with the line of counts, which one row of VALUES does not have.
    pub fn done(self, is_told: bool) -> Done {
        let Counts { records, copied, displaced, affected, .. } = self.counts;
        let duplicates = match self.on_duplicate {
            OnDuplicate::Ignore => records - copied,
            _ => displaced,
        };
        let info = match is_told {
            true => {
                let warnings = self.context.diagnostics.counts().0;
                format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}")
            }
            false => String::new(),
        };
        let last_insert_id = self.told_insert_id();
        Done { affected_rows: affected, last_insert_id, info, ..Done::default() }
    }
}

/// The value of an AUTO_INCREMENT column as a number.
fn number_of(value: &Value) -> u64 {
    match value {
        Value::Int(n) => *n as u64,
        Value::UInt(n) => *n,
        _ => 0,
    }
}
