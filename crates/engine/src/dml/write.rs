//! The calls to storage of statements that change rows.

use super::{generated::keep_above, target::OpenTarget};
use crate::{statement::StatementContext, tables::storage_error};
use muster_exec::counters::OperatorCounter;
use muster_storage::{
    Counters, LockMode, LockedRow, LockingScan, LockingScanRequest, ReadView, Scan, ScanRequest, StorageError,
    Transaction, mutex::Mutex, value_at,
};
use muster_types::{KeyRange, Result, SqlError, Value, collation::TextTraits};
use std::sync::Arc;

/// What came of a change.
pub enum Written {
    Yes,
    /// The row was not there any more.
    Gone,
    /// Another transaction has changed the row since it was read, and has committed.
    Stale,
    /// A row with the same key is there, in this index: error 1062.
    Duplicate {
        index: usize,
        error: SqlError,
    },
}

/// Changes the rows of a table.
pub struct Writer<'a> {
    context: &'a StatementContext,
    target: &'a OpenTarget,
    /// The view that saw the rows that are changed; `None` if they had been locked before they were read.
    seen: Mutex<Option<Arc<ReadView>>>,
    /// The position of the AUTO_INCREMENT column.
    auto_increment: Option<usize>,
}

impl<'a> Writer<'a> {
    /// Changes wait for locks of others as long as the statement's settings say. `seen`: what had been committed when
    /// the rows were read that are changed, unless they were locked before.
    pub fn new(context: &'a StatementContext, target: &'a OpenTarget, seen: Option<&Arc<ReadView>>) -> Writer<'a> {
        let waits = context.lock_waits();
        context.transaction.change(context.database.store(), |transaction| context.ready_to_lock(transaction, waits));
        let auto_increment = target.entry.auto_increment_column();
        Writer { context, target, seen: Mutex::new(seen.cloned()), auto_increment }
    }

    fn counters(&self) -> &'a Arc<Counters> {
        self.context.process.counters.storage()
    }

    /// Changes something within the session's transaction, and counts the attempt.
    fn change<R>(&self, counter: OperatorCounter, change: impl FnOnce(&mut Transaction) -> R) -> R {
        self.context.process.counters.add(counter, 1);
        self.context.transaction.change(self.context.database.store(), change)
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

    /// Makes sure that readers know of texts like those of a row before they can see it. Error 3572 if that takes time
    /// and the statement has none.
    pub fn admit_texts(&self, row: &[Value]) -> Result<()> {
        let table = &self.target.storage;
        for (column, value) in row.iter().enumerate() {
            let (Value::Text(text), Some(known)) = (value, table.text_traits(column)) else { continue };
            let traits = TextTraits::of(text.as_bytes());
            if !known.covers(traits) {
                if self.context.in_place {
                    return Err(StorageError::WouldWait.into());
                }
                self.target.set.widen(self.target.entry.def.id, table, column, traits)?;
            }
        }
        Ok(())
    }

    /// Inserts a row whose texts were admitted.
    pub fn insert(&self, row: &[Value]) -> Result<Written> {
        let table = &self.target.storage;
        let inserted =
            self.change(OperatorCounter::row_writes, |transaction| table.insert(transaction, row, self.counters()));
        self.written(inserted.map(|()| true))
    }

    /// Inserts some rows whose texts were admitted: the first, and maybe some that follow. Returns how many. Error
    /// 1062, too: there is a row with the key of the first.
    pub fn insert_batch(&self, rows: &[Vec<Value>]) -> Result<usize> {
        let (table, counters) = (&self.target.storage, self.counters());
        let insert = |transaction: &mut Transaction| table.insert_batch(transaction, rows, counters);
        match self.context.transaction.change(self.context.database.store(), insert) {
            Ok(inserted) => {
                self.context.process.counters.add(OperatorCounter::row_writes, inserted as u64);
                Ok(inserted)
            }
            Err(e) => {
                self.context.process.counters.add(OperatorCounter::row_writes, 1);
                Err(storage_error(&self.target.entry.def, e))
            }
        }
    }

    /// The key and the values of the row that has the key of `row` in a unique index, as it is now.
    pub fn existing(&self, index: usize, row: &[Value]) -> Result<Option<(Vec<Value>, Vec<Value>)>> {
        let (table, def) = (&self.target.storage, &self.target.entry.def);
        *self.seen.lock() = Some(self.context.read_newest());
        let values = def.indexes[index].parts.iter().map(|part| row[part.column].clone()).collect();
        let columns = (0..def.columns.len()).chain((!def.has_primary_key()).then_some(def.columns.len())).collect();
        let all = ScanRequest::all(self.context.read_view(), index, columns, Arc::clone(self.counters()));
        let ranges = vec![KeyRange::prefix(values)];
        let request = ScanRequest { ranges, ordered: true, limit: Some(1), batch_rows: 1, ..all };
        let Some(batch) = Scan::new(Arc::clone(table), request)?.cursor().next_batch()? else { return Ok(None) };
        let mut row = batch.columns().iter().map(|array| value_at(array, 0)).collect::<Result<Vec<_>>>()?;
        let key = match def.has_primary_key() {
            true => def.indexes[0].parts.iter().map(|part| row[part.column].clone()).collect(),
            false => row.split_off(def.columns.len()),
        };
        Ok(Some((key, row)))
    }

    /// Puts a row in the place of the one with this key, the values of the primary key or the hidden row number.
    /// `locked`: that row, if it is locked and was not changed since.
    pub fn update(&self, key: &[Value], locked: Option<&LockedRow>, new: &[Value]) -> Result<Written> {
        self.admit_texts(new)?;
        let (table, counters) = (&self.target.storage, self.counters());
        let changed = self.change(OperatorCounter::row_updates, |transaction| match locked {
            Some(row) => table.update_locked(transaction, row, new, counters).map(|()| true),
            None => table.update(transaction, key, new, counters),
        });
        let written = self.unless_stale(key, changed)?;
        if let (Written::Yes, Some(column)) = (&written, self.auto_increment) {
            keep_above(self.target, &new[column])?;
        }
        Ok(written)
    }

    /// Gives columns of the row with this key the values that they have in `new`, and leaves the others as they are.
    pub fn update_columns(&self, key: &[Value], new: &[Value], columns: &[usize]) -> Result<Written> {
        self.admit_texts(new)?;
        let (table, counters) = (&self.target.storage, self.counters());
        let values: Vec<(usize, Value)> = columns.iter().map(|column| (*column, new[*column].clone())).collect();
        let changed = self.change(OperatorCounter::row_updates, |transaction| {
            table.update_columns(transaction, key, &values, counters)
        });
        let written = self.unless_stale(key, changed)?;
        if let (Written::Yes, Some(column)) = (&written, self.auto_increment.filter(|at| columns.contains(at))) {
            keep_above(self.target, &new[column])?;
        }
        Ok(written)
    }

    /// Locks a row that the statement has met and leaves as it is, if rows were not locked before they were read and
    /// the transaction goes on after the statement.
    pub fn lock_unchanged(&self, key: &[Value]) -> Result<Written> {
        if self.context.locks_gaps() || !self.context.transaction.is_open() || self.seen.lock().is_none() {
            return Ok(Written::Yes);
        }
        let request = LockingScanRequest {
            index: 0,
            ranges: vec![KeyRange::prefix(key.to_vec())],
            reverse: false,
            mode: LockMode::Exclusive,
            gaps: false,
            skip_locked: false,
        };
        let mut rows = LockingScan::new(&self.target.storage, request)?;
        let store = self.context.database.store();
        let row = self.context.transaction.change(store, |transaction| rows.next(transaction, self.counters()));
        self.unless_stale(key, row.map(|row| row.is_some()))
    }

    pub fn delete(&self, key: &[Value]) -> Result<Written> {
        let table = &self.target.storage;
        let changed =
            self.change(OperatorCounter::row_deletes, |transaction| table.delete(transaction, key, self.counters()));
        self.unless_stale(key, changed)
    }

    /// Deletes a row that is locked and was not changed since.
    pub fn delete_locked(&self, row: &LockedRow) -> Result<()> {
        let (table, counters) = (&self.target.storage, self.counters());
        let deleted =
            self.change(OperatorCounter::row_deletes, |transaction| table.delete_locked(transaction, row, counters));
        deleted.map_err(|e| storage_error(&self.target.entry.def, e))
    }

    /// The row is this transaction's now. If it is not the one that was read, because another transaction has committed
    /// since, the change was made of the wrong values.
    fn unless_stale(&self, key: &[Value], changed: Result<bool, StorageError>) -> Result<Written> {
        let table = &self.target.storage;
        let Some(seen) = self.seen.lock().clone() else { return self.written(changed) };
        let newest = self.context.database.newest_view();
        let is_stale = matches!(changed, Ok(_) | Err(StorageError::Duplicate { .. }))
            && !Arc::ptr_eq(&seen, &newest)
            && table.get(key, &seen, self.counters())? != table.get(key, &newest, self.counters())?;
        if is_stale { Ok(Written::Stale) } else { self.written(changed) }
    }
}
