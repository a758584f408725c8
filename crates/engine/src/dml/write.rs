//! The calls to storage of statements that change rows.

use super::target::Target;
use crate::{statement::StatementContext, tables::storage_error};
use muster_storage::StorageError;
use muster_types::{Result, SqlError, Value, collation::TextTraits};

/// What came of a change.
pub enum Written {
    Yes,
    /// A row with the same key is there: error 1062.
    Duplicate(SqlError),
}

/// Changes the rows of a table.
pub struct Writer<'a> {
    context: &'a StatementContext,
    target: &'a Target,
}

impl<'a> Writer<'a> {
    pub fn new(context: &'a StatementContext, target: &'a Target) -> Writer<'a> {
        Writer { context, target }
    }

    fn written(&self, result: Result<(), StorageError>) -> Result<Written> {
        match result {
            Ok(()) => Ok(Written::Yes),
            Err(e @ StorageError::Duplicate { .. }) => Ok(Written::Duplicate(storage_error(&self.target.entry.def, e))),
            Err(e) => Err(storage_error(&self.target.entry.def, e)),
        }
    }

    /// Makes sure that readers know of texts like those of a row before they can see it.
    fn admit_texts(&self, row: &[Value]) -> Result<()> {
        let table = &self.target.storage;
        for (column, value) in row.iter().enumerate() {
            let (Value::Text(text), Some(known)) = (value, table.text_traits(column)) else { continue };
            let traits = TextTraits::of(text.as_bytes());
            if !known.covers(traits) {
                self.target.set.widen(self.target.entry.def.id, table, column, traits)?;
            }
        }
        Ok(())
    }

    pub fn insert(&self, row: &[Value]) -> Result<Written> {
        self.admit_texts(row)?;
        let counters = self.context.process.counters.storage();
        self.written(self.target.storage.insert(row, 0, counters))
    }
}
