//! The calls to storage of statements that change rows.

use super::target::Target;
use crate::{statement::StatementContext, tables::storage_error};
use muster_storage::{Fetch, ReadView, Scan, ScanRequest, Steering, StorageError, Transaction, value_at};
use muster_types::{KeyRange, Result, SqlError, Value, collation::TextTraits};
use std::sync::Arc;

/// What came of a change.
pub enum Written {
    Yes,
    /// The row was not there any more.
    Gone,
    /// A row with the same key is there, in this index: error 1062.
    Duplicate {
        index: usize,
        error: SqlError,
    },
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

    /// Makes a change as a transaction of its own.
    fn alone(&self, change: impl FnOnce(&mut Transaction) -> Result<bool, StorageError>) -> Result<bool, StorageError> {
        let mut trx = self.target.storage.store().begin();
        trx.set_waits(self.context.lock_waits());
        let changed = change(&mut trx)?;
        let flush = self.target.storage.store().flush_at_commit();
        trx.commit()?.wait(flush)?;
        Ok(changed)
    }

    fn written(&self, result: Result<bool, StorageError>) -> Result<Written> {
        let def = &self.target.entry.def;
        match result {
            Ok(true) => Ok(Written::Yes),
            Ok(false) => Ok(Written::Gone),
            Err(e @ StorageError::Duplicate { index, .. }) => {
                Ok(Written::Duplicate { index, error: storage_error(def, e) })
            }
            Err(e) => Err(storage_error(def, e)),
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
        self.written(self.alone(|trx| self.target.storage.insert(trx, row, counters).map(|()| true)))
    }

    /// The key and the values of the row that has the key of `row` in a unique index.
    pub fn existing(&self, index: usize, row: &[Value]) -> Result<Option<(Vec<Value>, Vec<Value>)>> {
        let (table, def) = (&self.target.storage, &self.target.entry.def);
        let values = def.indexes[index].parts.iter().map(|part| row[part.column].clone()).collect();
        let request = ScanRequest {
            view: ReadView::latest(),
            index,
            ranges: vec![KeyRange::prefix(values)],
            columns: (0..def.columns.len()).collect(),
            coded: Vec::new(),
            steering: Steering::default(),
            distinct_prefix: None,
            index_filter: None,
            filter: None,
            fetch: Fetch::EntryOrder,
            ordered: true,
            reverse: false,
            limit: Some(1),
            batch_rows: 1,
            counters: Arc::clone(self.context.process.counters.storage()),
        };
        let Some(batch) = Scan::new(Arc::clone(table), request)?.cursor().next_batch()? else { return Ok(None) };
        let row = batch.columns().iter().map(|array| value_at(array, 0)).collect::<Result<Vec<_>>>()?;
        let key = def.indexes[0].parts.iter().map(|part| row[part.column].clone()).collect();
        Ok(Some((key, row)))
    }

    /// Puts a row in the place of the one with this key, the values of the primary key or the hidden row number.
    pub fn update(&self, key: &[Value], new: &[Value]) -> Result<Written> {
        self.admit_texts(new)?;
        let counters = self.context.process.counters.storage();
        self.written(self.alone(|trx| self.target.storage.update(trx, key, new, counters)))
    }

    pub fn delete(&self, key: &[Value]) -> Result<Written> {
        let counters = self.context.process.counters.storage();
        self.written(self.alone(|trx| self.target.storage.delete(trx, key, counters)))
    }
}
