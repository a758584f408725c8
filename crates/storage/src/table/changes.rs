//! Changes of rows: all trees of a table change together, in one group of the log that begins with the undo record.

use super::Table;
use crate::exclusion::Side;
use crate::{
    Counters, Result, StorageError,
    latch_order::Rank,
    log::Lsn,
    transaction::{Transaction, UndoRecord, kind, undo_bytes_of},
    tree::{Change, CurrentRow, FirstRecord, Rest, Room, Tree},
};
use muster_types::Value;

impl Table {
    /// Adds a row to all trees, or to none. Errors: `Duplicate`, `RowTooLarge`, `WrongType`, `RowOwned`, and those of reading
    /// and allocating pages and of the log.
    pub fn insert(&self, trx: &mut Transaction, row: &[Value], counters: &Counters) -> Result<()> {
        self.check_width(row)?;
        let number = match self.trees[0].layout().row_number() {
            Some(_) => self.trees[0].take_row_id(counters)? as i64,
            None => 0,
        };
        let trx_id = self.begin_change(trx, 0)?;
        let rooms = self.room_in_log()?;
        let _changing = self.step(Side::Writers);
        self.change_all(trx, trx_id, rooms, counters, |tree, change| {
            change.insert(&tree.layout().stored_values(row, number))
        })
    }

    /// Removes the row with this primary key from all trees, or from none. Returns whether there was one. Errors: as
    /// [`Table::insert`].
    pub fn delete(&self, trx: &mut Transaction, key: &[Value], counters: &Counters) -> Result<bool> {
        let Some(range) = self.key_range(key)? else { return Ok(false) };
        let trx_id = self.begin_change(trx, 0)?;
        let rooms = self.room_in_log()?;
        let _changing = self.step(Side::Writers);
        let _row = self.rows.lock(&range.lower, Rank::Row);
        let Some(current) = self.current_row(&range.lower, trx_id, counters)? else { return Ok(false) };
        let stored = self.trees[0].values_of_record(&current.record, counters)?;
        self.delete_stored(trx, trx_id, rooms, &stored, counters)?;
        Ok(true)
    }

    fn delete_stored(
        &self,
        trx: &mut Transaction,
        trx_id: u64,
        rooms: Vec<Room>,
        stored: &[Value],
        counters: &Counters,
    ) -> Result<()> {
        let (row, number) = self.split_stored(stored);
        self.change_all(trx, trx_id, rooms, counters, |tree, change| {
            let key = tree.key_of_values(&tree.layout().stored_values(row, number))?;
            change.mark(&key).map(drop)
        })
    }

    /// Puts `new` in the place of the row with this primary key, in all trees or in none. Returns whether there was
    /// such a row. Errors: as [`Table::insert`].
    pub fn update(&self, trx: &mut Transaction, key: &[Value], new: &[Value], counters: &Counters) -> Result<bool> {
        self.check_width(new)?;
        let Some(range) = self.key_range(key)? else { return Ok(false) };
        let trx_id = self.begin_change(trx, 0)?;
        let rooms = self.room_in_log()?;
        let changing = self.step(Side::Writers);
        let locked = self.rows.lock(&range.lower, Rank::Row);
        let Some(current) = self.current_row(&range.lower, trx_id, counters)? else { return Ok(false) };
        let stored = self.trees[0].values_of_record(&current.record, counters)?;
        let (old, number) = self.split_stored(&stored);
        let clustered = &self.trees[0];
        let new_key = clustered.key_of_values(&clustered.layout().stored_values(new, number))?;
        if new_key != clustered.key_of_values(&stored)? {
            // A row that goes and one that comes: what follows is undone if the second cannot be.
            let before = trx.savepoint();
            self.delete_stored(trx, trx_id, rooms, &stored, counters)?;
            drop((changing, locked));
            return match self.insert(trx, new, counters) {
                Ok(()) => Ok(true),
                Err(e) => trx.roll_back_to(before).and(Err(e)),
            };
        }
        self.change_all(trx, trx_id, rooms, counters, |tree, change| {
            let (old, new) = (tree.layout().stored_values(old, number), tree.layout().stored_values(new, number));
            if old == new {
                return Ok(());
            }
            let (old_key, new_key) = (tree.key_of_values(&old)?, tree.key_of_values(&new)?);
            if old_key == new_key { change.replace(&new).map(drop) } else { change.mark_and_insert(&old_key, &new) }
        })?;
        Ok(true)
    }

    /// Readies a transaction for a change that may wait for room in the log. Returns its id.
    fn begin_change(&self, trx: &mut Transaction, record: usize) -> Result<u64> {
        let trx_id = trx.ready()?;
        trx.promise_undo(undo_bytes_of(0, record))?;
        Ok(trx_id)
    }

    /// The newest version of a row, if there is one that is not marked. Error `RowOwned` if it is one of another transaction
    /// that has not ended.
    fn current_row(&self, key: &[u8], trx_id: u64, counters: &Counters) -> Result<Option<CurrentRow>> {
        counters.add(crate::counters::Counter::key_lookups, 1);
        let Some(current) = self.trees[0].current(key, counters)? else { return Ok(None) };
        let owner = current.version.trx_id;
        if owner != trx_id && self.store.transactions().is_active(owner) {
            return Err(StorageError::RowOwned { trx_id: owner });
        }
        Ok(Some(current).filter(|row| !row.marked))
    }

    /// Room in the log for a change of each tree. Asked for before readers are kept out and before anything is latched: it may
    /// have to wait until pages are written.
    pub(super) fn room_in_log(&self) -> Result<Vec<Room>> {
        self.trees.iter().map(|tree| tree.room()).collect()
    }

    /// Changes all trees or none. All that can fail comes before the first tree changes, and all that may wait before that
    /// or after the last one: a writer waits for pages of a tree while it holds latches in those before it, never the other
    /// way round.
    fn change_all<'a>(
        &'a self,
        trx: &mut Transaction,
        trx_id: u64,
        rooms: Vec<Room>,
        counters: &'a Counters,
        mut change: impl FnMut(&Tree, &mut Change<'a>) -> Result<()>,
    ) -> Result<()> {
        let transactions = self.store.transactions();
        let changes = self.trees.iter().zip(rooms).map(|(tree, room)| {
            let mut ready = tree.begin(trx_id, room, counters).of_transaction(transactions);
            change(tree, &mut ready)?;
            Ok(ready)
        });
        let mut changes = changes.collect::<Result<Vec<_>>>()?;
        let Some(before) = changes[0].take_before() else { return Ok(()) };
        let undo = UndoRecord {
            trx_id,
            previous: trx.last(),
            kind: before.kind,
            version: before.version,
            marked: before.marked,
            key: before.key,
            record: before.record,
        };
        let first = FirstRecord { kind: kind::UNDO, file: self.trees[0].file().id(), payload: undo.to_bytes() };
        let undo = self.commit_changes(changes, Some(&first))?;
        trx.note_change(undo);
        Ok(())
    }

    /// Commits changes of all trees as one group of the log. Returns the position of its first record.
    pub(super) fn commit_changes(&self, changes: Vec<Change<'_>>, first: Option<&FirstRecord>) -> Result<Lsn> {
        let (rests, lsn) = Change::commit_all(changes, first)?;
        rests.into_iter().for_each(Rest::finish);
        Ok(lsn)
    }

    /// Error: `WrongType` for a row with another number of values than the table has columns.
    fn check_width(&self, row: &[Value]) -> Result<()> {
        if row.len() != self.schema.columns.len() {
            let value = format!("{} values for {} columns", row.len(), self.schema.columns.len());
            return Err(StorageError::WrongType { value });
        }
        Ok(())
    }
}
