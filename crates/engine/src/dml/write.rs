//! The calls to storage of statements that change rows.

use super::target::Target;
use crate::{statement::StatementContext, tables::storage_error};
use muster_storage::StorageError;
use muster_types::{Result, SqlError, Value};

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

    pub fn insert(&self, row: &[Value]) -> Result<Written> {
        let counters = self.context.process.counters.storage();
        self.written(self.target.storage.insert(row, 0, counters))
    }
}
