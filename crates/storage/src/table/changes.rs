//! Changes of rows: all trees of a table change together, in one group of the log that begins with the undo record.

use super::Table;
use super::locking_scan::lock_row;
use crate::{
    Counters, LockMode, LockedRow, LockingScan, LockingScanRequest, Result, StorageError,
    counters::Counter,
    essential_thread::EndsProcess,
    latch_order::Rank,
    log::Lsn,
    transaction::{ChainPlace, Transaction, UndoRecord, UndoRow, kind, link_of, undo_bytes_of},
    tree::UndoKind,
    tree::{FirstRecord, Rest, Room, Tree, TreeChange, page::leaf::slot::Version},
};
use muster_types::Value;
use std::sync::{Arc, atomic::Ordering};

impl Table {
    /// Adds a row to all trees, or to none. Errors: `Duplicate`, `RowTooLarge`, `WrongType`, those of waiting for locks
    /// of others (`WouldWait`, `LockTimeout`, `Deadlock`, `Interrupted`, `LockTableFull`), and those of reading and
    /// allocating pages and of the log.
    pub fn insert(&self, trx: &mut Transaction, row: &[Value], counters: &Counters) -> Result<()> {
        self.insert_row(trx, row, counters)?;
        counters.add(Counter::rows_inserted, 1);
        self.note_changed_rows(1);
        Ok(())
    }

    fn insert_row(&self, trx: &mut Transaction, row: &[Value], counters: &Counters) -> Result<()> {
        self.check_width(row)?;
        self.check_room()?;
        let number = match self.trees[0].layout().row_number() {
            Some(_) => self.trees[0].take_row_id(counters)? as i64,
            None => 0,
        };
        self.begin_change(trx, None)?;
        self.waiting(trx, |trx| {
            self.change_all(trx, None, counters, |change, tree| {
                change.insert(&tree.layout().stored_values(row, number))
            })
        })
    }

    /// Error `DiskFull` if the table is a temporary one and the room of temporary tables is used up.
    pub(super) fn check_room(&self) -> Result<()> {
        self.trees[0].file().check_room()
    }

    /// Removes the row with this primary key from all trees, or from none. Returns whether there was one. Errors: as
    /// [`Table::insert`].
    pub fn delete(&self, trx: &mut Transaction, key: &[Value], counters: &Counters) -> Result<bool> {
        let Some(range) = self.key_range(key)? else { return Ok(false) };
        let Some(row) = self.lock_newest(trx, range.lower, counters)? else { return Ok(false) };
        self.delete_locked(trx, &row, counters)?;
        Ok(true)
    }

    /// Removes a row that the transaction has locked and not changed since. Errors: as [`Table::insert`].
    pub fn delete_locked(&self, trx: &mut Transaction, row: &LockedRow, counters: &Counters) -> Result<()> {
        self.begin_change(trx, Some(row))?;
        self.delete_stored(trx, row, counters)?;
        make_implicit(trx, row);
        counters.add(Counter::rows_deleted, 1);
        self.note_changed_rows(1);
        Ok(())
    }

    fn delete_stored(&self, trx: &mut Transaction, locked: &LockedRow, counters: &Counters) -> Result<()> {
        let (row, number) = self.split_stored(&locked.stored);
        self.waiting(trx, |trx| {
            self.change_all(trx, Some(&locked.key), counters, |change, tree| {
                if tree.layout().index == 0 {
                    return change.mark(&locked.key).map(drop);
                }
                let key = tree.key_of_values(&tree.layout().stored_values(row, number))?;
                change.mark(&key).map(drop)
            })
        })
    }

    /// Puts `new` in the place of the row with this primary key, in all trees or in none. Returns whether there was
    /// such a row. Errors: as [`Table::insert`].
    pub fn update(&self, trx: &mut Transaction, key: &[Value], new: &[Value], counters: &Counters) -> Result<bool> {
        self.check_width(new)?;
        let Some(range) = self.key_range(key)? else { return Ok(false) };
        let Some(row) = self.lock_newest(trx, range.lower, counters)? else { return Ok(false) };
        self.update_locked(trx, &row, new, counters)?;
        Ok(true)
    }

    /// Gives columns of the row with this primary key other values, and leaves the others as they are by now. Returns
    /// whether there was such a row. Errors: as [`Table::insert`].
    pub fn update_columns(
        &self,
        trx: &mut Transaction,
        key: &[Value],
        values: &[(usize, Value)],
        counters: &Counters,
    ) -> Result<bool> {
        let Some(range) = self.key_range(key)? else { return Ok(false) };
        let Some(row) = self.lock_newest(trx, range.lower, counters)? else { return Ok(false) };
        let mut new = self.split_stored(&row.stored).0.to_vec();
        for (column, value) in values {
            new[*column].clone_from(value);
        }
        self.update_locked(trx, &row, &new, counters)?;
        Ok(true)
    }

    /// Puts `new` in the place of a row that the transaction has locked and not changed since. Errors: as
    /// [`Table::insert`].
    pub fn update_locked(
        &self,
        trx: &mut Transaction,
        row: &LockedRow,
        new: &[Value],
        counters: &Counters,
    ) -> Result<()> {
        self.check_width(new)?;
        self.check_room()?;
        self.begin_change(trx, Some(row))?;
        self.update_row(trx, row, new, counters)?;
        counters.add(Counter::rows_updated, 1);
        self.note_changed_rows(1);
        Ok(())
    }

    fn update_row(&self, trx: &mut Transaction, locked: &LockedRow, new: &[Value], counters: &Counters) -> Result<()> {
        let (old, number) = self.split_stored(&locked.stored);
        let clustered = &self.trees[0];
        if clustered.key_of_values(&clustered.layout().stored_values(new, number))? != locked.key {
            // A row that goes and one that comes: what follows is undone if the second cannot be.
            let before = trx.savepoint();
            self.delete_stored(trx, locked, counters)?;
            return self.insert_row(trx, new, counters).or_else(|e| trx.roll_back_to(before).and(Err(e)));
        }
        let last = trx.last();
        self.waiting(trx, |trx| {
            self.change_all(trx, Some(&locked.key), counters, |change, tree| {
                let layout = tree.layout();
                let (old, new) = (layout.stored_values(old, number), layout.stored_values(new, number));
                if old == new {
                    return Ok(());
                }
                if layout.index == 0 {
                    return change.replace(&new).map(drop);
                }
                let (old_key, new_key) = (tree.key_of_values(&old)?, tree.key_of_values(&new)?);
                if old_key == new_key { change.replace(&new).map(drop) } else { change.mark_and_insert(&old_key, &new) }
            })
        })?;
        if trx.last() != last {
            make_implicit(trx, locked);
        }
        Ok(())
    }

    /// Locks the row that has these values of a unique index (of the primary key; the hidden row number) and no gap,
    /// and reads its newest version as [`crate::LockingScan`] delivers it. Errors: those of waiting for locks, and of
    /// reading pages.
    pub fn lock_row(
        self: &Arc<Self>,
        trx: &mut Transaction,
        index: usize,
        key: &[Value],
        mode: LockMode,
        counters: &Counters,
    ) -> Result<Option<Vec<Value>>> {
        LockingScan::new(self, LockingScanRequest::of_values(index, key, mode))?.next(trx, counters)
    }

    /// Locks the row with this key of the clustered tree exclusively, and reads its newest version.
    fn lock_newest(&self, trx: &mut Transaction, key: Vec<u8>, counters: &Counters) -> Result<Option<LockedRow>> {
        counters.add(Counter::key_lookups, 1);
        let mut waited_for = None;
        loop {
            match lock_row(self, &key, LockMode::Exclusive, trx.locks()?, counters) {
                Err(StorageError::WouldWait) => waited_for = trx.own_locks().wait()?.or(waited_for),
                locked => {
                    let row = locked?.and_then(|entry| Some((entry.row?, entry.lock.or(waited_for))));
                    return Ok(row.map(|(stored, lock)| LockedRow { key, stored, lock }));
                }
            }
        }
    }

    /// Bytes of the record of a row, about; long values have pages of their own.
    fn record_bytes(&self, stored: &[Value]) -> usize {
        let bytes = stored.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
            _ => size_of::<u128>(),
        });
        bytes.sum::<usize>().min(self.open_files().page_size() / 2)
    }

    /// Does something anew after each wait for a lock of another transaction, which it has met while it held latches.
    /// Nothing is held during the wait, and what was read before it may have changed.
    pub(super) fn waiting<T>(
        &self,
        trx: &mut Transaction,
        mut attempt: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        loop {
            match attempt(trx) {
                Err(StorageError::WouldWait) => drop(trx.locks()?.wait()?),
                done => return done,
            }
        }
    }

    /// Readies a transaction for a change, with room in the log for undoing it. `old`: the row that is changed.
    fn begin_change(&self, trx: &mut Transaction, old: Option<&LockedRow>) -> Result<()> {
        trx.ready()?;
        let old = old.map_or(0, |old| undo_bytes_of(old.key.len(), self.record_bytes(&old.stored)));
        trx.promise_undo(undo_bytes_of(0, 0) + old)
    }

    /// Room in the log for a change of each tree. Asked for before readers are kept out and before anything is latched:
    /// it may have to wait until pages are written.
    pub(super) fn room_in_log(&self) -> Result<Vec<Room>> {
        self.trees.iter().map(|tree| tree.room()).collect()
    }

    /// Changes all trees or none. All that can fail comes before the first tree changes, and all that may wait before
    /// that or after the last one: a writer waits for pages of a tree while it holds latches in those before it, never
    /// the other way round. `row`: the key of a row that is there, from which purge is kept away meanwhile.
    fn change_all(
        &self,
        trx: &mut Transaction,
        row: Option<&[u8]>,
        counters: &Counters,
        mut change: impl FnMut(&mut TreeChange<'_>, &Tree) -> Result<()>,
    ) -> Result<()> {
        let rooms = self.room_in_log()?;
        let _changing = self.changing()?;
        let _row = row.map(|key| self.guards().rows.lock(key, Rank::Row));
        let locks = trx.own_locks();
        let trx_id = locks.trx_id();
        let changes = self.trees.iter().zip(rooms).map(|(tree, room)| {
            let mut ready = tree.begin(trx_id, room, counters).of_transaction(locks);
            change(&mut ready, tree)?;
            Ok(ready)
        });
        let mut changes = changes.collect::<Result<Vec<_>>>()?;
        let Some(before) = changes[0].take_before() else { return Ok(()) };
        let (clustered, layout) = (&self.trees[0], self.trees[0].layout().number);
        let leaves_garbage = match before.kind {
            UndoKind::Insert | UndoKind::Inserts => false,
            UndoKind::Mark => true,
            // The entries of the version before, and its long values.
            UndoKind::Update => {
                changes[1..].iter().any(|change| !change.is_empty())
                    || clustered.has_long_values(layout, &before.record)?
            }
        };
        let place = self.place_behind(before.version);
        let undo = UndoRecord {
            trx_id,
            previous: trx.last(),
            kind: before.kind,
            version: before.version,
            marked: before.marked,
            key: before.key,
            row: match before.patch {
                Some(patch) if !place.is_anchor() => UndoRow::Patch { patch, row_bytes: before.record.len() as u32 },
                _ => UndoRow::Record(before.record),
            },
            leaves_nothing: !leaves_garbage,
            place,
            layout,
        };
        let first = FirstRecord { kind: kind::UNDO, file: self.trees[0].file().id(), payload: undo.to_bytes() };
        let undo = self.commit_changes(changes, Some(&first))?;
        trx.note_change(undo, leaves_garbage);
        Ok(())
    }

    /// The place in the chain of a row's versions of the undo record that leads to this version, the newest one so far.
    fn place_behind(&self, version: Version) -> ChainPlace {
        // Nobody looks for versions behind one that all views see.
        if version.roll_pointer == 0 || version.trx_id < self.system().transactions().horizon().load(Ordering::Acquire)
        {
            return ChainPlace::First;
        }
        ChainPlace::behind(version.roll_pointer, |at| {
            self.system().log().read_recent(at, |record| link_of(&record)).flatten()
        })
    }

    /// Commits changes of all trees as one group of the log. Returns the position of its first record.
    pub(super) fn commit_changes(&self, changes: Vec<TreeChange<'_>>, first: Option<&FirstRecord>) -> Result<Lsn> {
        let (rests, lsn) = TreeChange::commit_all(changes, first)?;
        // The transaction does not know of the undo record yet: if this panics, it cannot be rolled back.
        let _ends_process =
            first.map(|_| EndsProcess::if_panics(self.open_files().disk().as_ref(), "a change of rows"));
        rests.into_iter().for_each(Rest::finish);
        Ok(lsn)
    }

    /// Error: `WrongType` for a row with another number of values than the table has columns.
    pub(super) fn check_width(&self, row: &[Value]) -> Result<()> {
        if row.len() != self.schema.columns.len() {
            let value = format!("{} values for {} columns", row.len(), self.schema.columns.len());
            return Err(StorageError::WrongType { value });
        }
        Ok(())
    }
}

/// Gives up the lock of a row that the transaction has changed: from now on the row tells whose it is. So a transaction
/// may change more rows than there is memory for locks.
fn make_implicit(trx: &Transaction, row: &LockedRow) {
    if let Some(lock) = &row.lock {
        let locks = trx.own_locks();
        locks.table().make_implicit(locks.owner(), lock);
    }
}
