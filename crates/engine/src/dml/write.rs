//! The calls to storage of statements that change rows.

use super::{
    foreign_keys::{ForeignKeys, NewRow},
    generated::keep_above,
    target::OpenTarget,
};
use crate::{
    statement::StatementContext,
    tables::{TableSet, storage_error},
};
use muster_algebra::TableId;
use muster_exec::counters::OperatorCounter;
use muster_storage::{
    Counters, LockMode, LockedRow, LockingScan, LockingScanRequest, ReadView, Scan, ScanRequest, StorageError, Table,
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
    /// A foreign key refuses it: error 1451 or 1452. What was changed for its sake is taken back.
    Refused(SqlError),
}

/// Changes the rows of a table.
pub struct Writer<'a> {
    context: &'a StatementContext,
    target: &'a OpenTarget,
    /// The view that saw the rows that are changed; `None` if they had been locked before they were read.
    seen: Mutex<Option<Arc<ReadView>>>,
    /// The position of the AUTO_INCREMENT column.
    auto_increment: Option<usize>,
    foreign_keys: Option<ForeignKeys<'a>>,
}

impl<'a> Writer<'a> {
    /// Changes wait for locks of others as long as the statement's settings say. `seen`: what had been committed when
    /// the rows were read that are changed, unless they were locked before.
    pub fn new(context: &'a StatementContext, target: &'a OpenTarget, seen: Option<&Arc<ReadView>>) -> Writer<'a> {
        let waits = context.lock_waits();
        context.transaction.change(context.database.store(), |transaction| context.ready_to_lock(transaction, waits));
        let auto_increment = target.entry.auto_increment_column();
        let foreign_keys = ForeignKeys::of(context, target);
        Writer { context, target, seen: Mutex::new(seen.cloned()), auto_increment, foreign_keys }
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
        let OpenTarget { entry, storage, set, .. } = self.target;
        admit_texts(self.context, set, (entry.def.id, storage), row)
    }

    /// Inserts a row whose texts were admitted.
    pub fn insert(&self, row: &[Value]) -> Result<Written> {
        let before = self.foreign_keys.as_ref().map(|_| self.context.transaction.moment(self.context.database.store()));
        let table = &self.target.storage;
        let inserted =
            self.change(OperatorCounter::row_writes, |transaction| table.insert(transaction, row, self.counters()));
        let written = self.written(inserted.map(|()| true))?;
        let (Some(keys), Some(before)) = (&self.foreign_keys, before) else { return Ok(written) };
        let checked = keys.check_parents(&NewRow::inserted(row, &written));
        Ok(keys.refused(before, checked)?.unwrap_or(written))
    }

    /// Inserts some rows whose texts were admitted: the first, and maybe some that follow. Returns how many. Errors
    /// 1062 and 1452, too: there is a row with the key of the first, or a row has no parent.
    pub fn insert_batch(&self, rows: &[Vec<Value>]) -> Result<usize> {
        let is_of_itself = self.foreign_keys.as_ref().is_some_and(|keys| keys.is_of_itself());
        // A row must not find one that comes behind it.
        let rows = if is_of_itself { &rows[..1] } else { rows };
        let (table, counters) = (&self.target.storage, self.counters());
        let insert = |transaction: &mut Transaction| table.insert_batch(transaction, rows, counters);
        let inserted = self.context.transaction.change(self.context.database.store(), insert);
        self.context.process.counters.add(OperatorCounter::row_writes, *inserted.as_ref().unwrap_or(&1) as u64);
        let (written, rows) = match inserted {
            Ok(inserted) => (Written::Yes, &rows[..inserted]),
            Err(e) => (self.written(Err(e))?, &rows[..1]),
        };
        if let Some(keys) = &self.foreign_keys {
            rows.iter().try_for_each(|row| keys.check_parents(&NewRow::inserted(row, &written)))?;
        }
        match written {
            Written::Duplicate { error, .. } => Err(error),
            _ => Ok(rows.len()),
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
        if let Some(keys) = &self.foreign_keys {
            return self.update_related(keys, key, |_| new.to_vec());
        }
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
        if let Some(keys) = &self.foreign_keys {
            return self.update_related(keys, key, |mut row| {
                columns.iter().for_each(|column| row[*column].clone_from(&new[*column]));
                row
            });
        }
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

    /// Changes the row with this key in a table that takes part in foreign keys. `make`: the new values from those
    /// before.
    fn update_related(
        &self,
        keys: &ForeignKeys<'_>,
        key: &[Value],
        make: impl FnOnce(Vec<Value>) -> Vec<Value>,
    ) -> Result<Written> {
        let row = match self.lock(key)? {
            LockedOrNot::Locked(row) => row,
            LockedOrNot::Not(written) => return Ok(written),
        };
        let (table, counters) = (&self.target.storage, self.counters());
        let old = row.values()[..self.target.columns().len()].to_vec();
        let new = make(old.clone());
        let before = self.context.transaction.moment(self.context.database.store());
        if let Some(refused) = keys.refused(before, keys.leave(&row, Some(&new)))? {
            return Ok(refused);
        }
        let changed = self.change(OperatorCounter::row_updates, |transaction| {
            table.update_locked(transaction, &row, &new, counters).map(|()| true)
        });
        let written = self.written(changed)?;
        let now = NewRow { before: Some(&old), ..NewRow::inserted(&new, &written) };
        if let Some(refused) = keys.refused(before, keys.check_parents(&now))? {
            return Ok(refused);
        }
        match (&written, self.auto_increment) {
            (Written::Duplicate { .. }, _) => self.context.transaction.back_to(before)?,
            (_, Some(column)) if old[column] != new[column] => keep_above(self.target, &new[column])?,
            _ => {}
        }
        Ok(written)
    }

    /// A locking read of the row with this key.
    fn exclusively(&self, key: &[Value]) -> Result<LockingScan> {
        let request = LockingScanRequest::of_values(0, key, LockMode::Exclusive);
        Ok(LockingScan::new(&self.target.storage, request)?)
    }

    /// Locks the row with this key exclusively, for a change that looks at other tables before it is made.
    fn lock(&self, key: &[Value]) -> Result<LockedOrNot> {
        let mut rows = self.exclusively(key)?;
        let store = self.context.database.store();
        let row =
            self.context.transaction.change(store, |transaction| rows.next_to_change(transaction, self.counters()));
        let row = row.map_err(|e| storage_error(&self.target.entry.def, e))?;
        Ok(match row {
            _ if self.is_stale(key)? => LockedOrNot::Not(Written::Stale),
            Some(row) => LockedOrNot::Locked(row),
            None => LockedOrNot::Not(Written::Gone),
        })
    }

    /// Locks a row that the statement has met and leaves as it is, if rows were not locked before they were read and
    /// the transaction goes on after the statement.
    pub fn lock_unchanged(&self, key: &[Value]) -> Result<Written> {
        if self.context.locks_gaps() || !self.context.transaction.is_open() || self.seen.lock().is_none() {
            return Ok(Written::Yes);
        }
        let mut rows = self.exclusively(key)?;
        let store = self.context.database.store();
        let row = self.context.transaction.change(store, |transaction| rows.next(transaction, self.counters()));
        self.unless_stale(key, row.map(|row| row.is_some()))
    }

    pub fn delete(&self, key: &[Value]) -> Result<Written> {
        let table = &self.target.storage;
        if let Some(keys) = self.foreign_keys.as_ref().filter(|keys| keys.has_children()) {
            let row = match self.lock(key)? {
                LockedOrNot::Locked(row) => row,
                LockedOrNot::Not(written) => return Ok(written),
            };
            let before = self.context.transaction.moment(self.context.database.store());
            return match keys.refused(before, keys.leave(&row, None))? {
                Some(refused) => Ok(refused),
                None => self.delete_locked(&row).map(|()| Written::Yes),
            };
        }
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
        let is_stale = matches!(changed, Ok(_) | Err(StorageError::Duplicate { .. })) && self.is_stale(key)?;
        if is_stale { Ok(Written::Stale) } else { self.written(changed) }
    }

    /// Returns true if another transaction has changed a row since it was read, and has committed.
    fn is_stale(&self, key: &[Value]) -> Result<bool> {
        let table = &self.target.storage;
        let Some(seen) = self.seen.lock().clone() else { return Ok(false) };
        let newest = self.context.database.newest_view();
        Ok(!Arc::ptr_eq(&seen, &newest)
            && table.get(key, &seen, self.counters())? != table.get(key, &newest, self.counters())?)
    }
}

/// A row that was asked for: locked, or the outcome of the change that is then not made.
enum LockedOrNot {
    Locked(LockedRow),
    Not(Written),
}

/// Makes sure that readers know of texts like those of a row before they can see it. Error 3572 if that takes time and
/// the statement has none.
pub fn admit_texts(
    context: &StatementContext,
    set: &TableSet,
    (id, table): (TableId, &Arc<Table>),
    row: &[Value],
) -> Result<()> {
    for (column, value) in row.iter().enumerate() {
        let (Value::Text(text), Some(known)) = (value, table.text_traits(column)) else { continue };
        let traits = TextTraits::of(text.as_bytes());
        if !known.covers(traits) {
            if context.in_place {
                return Err(StorageError::WouldWait.into());
            }
            set.widen(id, table, column, traits)?;
        }
    }
    Ok(())
}
