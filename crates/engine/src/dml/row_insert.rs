//! One row after the other into a table.

use super::{
    convert::Conversion,
    duplicate::{Duplicate, OnDuplicate},
    generated::Generated,
    target::Target,
    write::{Writer, Written},
};
use crate::statement::{Done, StatementContext};
use muster_types::{Result, Value};

/// What a statement that inserts has done.
#[derive(Debug, Default)]
pub struct Counts {
    /// Rows that were to be inserted.
    pub records: u64,
    /// Rows that were inserted.
    pub copied: u64,
    /// Rows that went, or changed, for one that was to be inserted.
    pub displaced: u64,
    /// Affected rows.
    pub affected: u64,
    /// The first number that was made for the AUTO_INCREMENT column of a row that was inserted.
    pub first_id: u64,
    /// The last value that the column was given.
    given_id: u64,
}

/// Inserts the rows of one statement.
pub struct RowInsert<'a> {
    pub context: &'a StatementContext,
    pub target: &'a Target,
    pub conversion: Conversion<'a>,
    pub generated: Generated<'a>,
    pub on_duplicate: OnDuplicate,
    pub counts: Counts,
    writer: Writer<'a>,
}

impl<'a> RowInsert<'a> {
    /// `rows`: as many as the statement has; 0: not known.
    pub fn new(conversion: Conversion<'a>, target: &'a Target, on_duplicate: OnDuplicate, rows: u64) -> RowInsert<'a> {
        let context = conversion.context;
        RowInsert {
            context,
            target,
            conversion,
            generated: Generated::new(context, target, rows),
            on_duplicate,
            counts: Counts::default(),
            writer: Writer::new(context, target),
        }
    }

    /// Inserts a row whose values are as its columns store them; that of the AUTO_INCREMENT column is as it was given.
    pub fn insert(&mut self, mut row: Vec<Value>) -> Result<()> {
        self.counts.records += 1;
        let number = self.number(&mut row)?;
        let outcome = match self.writer.insert(&row)? {
            Written::Yes => Duplicate::Inserted,
            Written::Duplicate(error) => self.on_duplicate.resolve(self.context, error)?,
        };
        match outcome {
            Duplicate::Inserted => {
                self.counts.copied += 1;
                self.counts.affected += 1;
                if self.counts.first_id == 0 {
                    self.counts.first_id = number.unwrap_or(0);
                }
            }
            Duplicate::Ignored => {}
        }
        Ok(())
    }

    /// Makes the number of a row that wants one.
    fn number(&mut self, row: &mut [Value]) -> Result<Option<u64>> {
        let Some(column) = self.generated.column else { return Ok(None) };
        if self.generated.is_wanted(&row[column]) {
            let (number, value) = self.generated.next(self.target.columns()[column].ty)?;
            row[column] = value;
            return Ok(Some(number));
        }
        self.generated.given(&row[column])?;
        self.counts.given_id = match &row[column] {
            Value::Int(n) => *n as u64,
            Value::UInt(n) => *n,
            _ => 0,
        };
        Ok(None)
    }

    /// What the client is told. `is_told`: with the line of counts, which one row of VALUES does not have.
    pub fn done(self, is_told: bool) -> Done {
        let Counts { records, copied, displaced, affected, first_id, given_id } = self.counts;
        let ignores = self.on_duplicate == OnDuplicate::Ignore;
        let duplicates = if ignores { records - copied } else { displaced };
        let warnings = self.context.diagnostics.all().len();
        let info = match is_told {
            true => format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}"),
            false => String::new(),
        };
        let last_insert_id = match first_id {
            0 if copied > 0 => given_id,
            first => first,
        };
        Done { affected_rows: affected, last_insert_id, info, ..Done::default() }
    }
}
