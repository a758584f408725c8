//! Rows that are inserted together: a run of new neighbours is one change, with one undo record and one group of the
//! log.

use super::Table;
use crate::{
    Counters, Result,
    counters::Counter,
    latch_order::Rank,
    log::Lsn,
    transaction::{Transaction, UndoRecord, kind, undo_bytes_of},
    tree::FirstRecord,
};
use muster_types::Value;

/// Rows of one change at most.
const TOGETHER_MAX: usize = 128;

impl Table {
    /// Inserts the first of some rows, and with it those after it that come to the same place of a table with no index
    /// but its primary key. Returns how many were inserted: one at least, unless there are no rows. Errors: as
    /// [`Table::insert`], of the first row, and then none was inserted.
    pub fn insert_batch(&self, trx: &mut Transaction, rows: &[Vec<Value>], counters: &Counters) -> Result<usize> {
        let rows = &rows[..rows.len().min(TOGETHER_MAX)];
        let has_one_tree = self.trees.len() == 1 && self.trees[0].layout().row_number().is_none();
        if has_one_tree && rows.len() > 1 {
            let together = self.insert_together(trx, rows, counters)?;
            if together > 0 {
                counters.add(Counter::rows_inserted, together as u64);
                self.note_changed_rows(together as u64);
                return Ok(together);
            }
        }
        let Some(first) = rows.first() else { return Ok(0) };
        self.insert(trx, first, counters).map(|()| 1)
    }

    /// Inserts the first rows that can be inserted together. Returns how many.
    fn insert_together(&self, trx: &mut Transaction, rows: &[Vec<Value>], counters: &Counters) -> Result<usize> {
        rows.iter().try_for_each(|row| self.check_width(row))?;
        self.check_room()?;
        trx.ready()?;
        let promised = undo_bytes_of(0, 0) * rows.len() as u64;
        trx.promise_undo(promised)?;
        let inserted = self.waiting(trx, |trx| self.try_insert_together(trx, rows, counters));
        let needed = inserted.as_ref().map_or(0, |rows| undo_bytes_of(0, 0) * *rows as u64);
        trx.promise_less(promised - needed);
        inserted
    }

    fn try_insert_together(&self, trx: &mut Transaction, rows: &[Vec<Value>], counters: &Counters) -> Result<usize> {
        let tree = &self.trees[0];
        let room = tree.room()?;
        let _changing = self.changing()?;
        let locks = trx.own_locks();
        let trx_id = locks.trx_id();
        let mut change = tree.begin(trx_id, room, counters).of_transaction(locks);
        let stored = rows.iter().map(|row| tree.layout().stored_values(row, 0));
        let keys = change.insert_together(stored, 2 * self.open_files().page_size())?;
        if keys.is_empty() {
            return Ok(0);
        }
        let undo = UndoRecord::of_inserts(trx_id, trx.last(), &keys);
        let first = FirstRecord { kind: kind::UNDO, file: tree.file().id(), payload: undo.to_bytes() };
        let undo = self.commit_changes(vec![change], Some(&first))?;
        trx.note_changes(undo, keys.len() as u64);
        Ok(keys.len())
    }

    /// Undoes the insertion of rows that came together, the last one first. A crash may come between two of them: rows
    /// that are gone already are passed by. Errors: those of reading and changing pages.
    pub(super) fn undo_inserts(&self, at: Lsn, undo: &UndoRecord) -> Result<()> {
        let (clustered, counters) = (&self.trees[0], self.counters());
        for key in undo.keys().into_iter().rev() {
            let room = clustered.room_at_once()?;
            let _changing = self.changing()?;
            let _row = self.guards().rows.lock(key, Rank::Row);
            if clustered.current(key, counters)?.is_some_and(|now| now.version.roll_pointer == at) {
                let mut change = clustered.begin(undo.trx_id, room, counters);
                change.delete(key)?;
                self.commit_changes(vec![change], None)?;
            }
        }
        let change = clustered.begin(undo.trx_id, clustered.room_at_once()?, counters);
        self.commit_changes(vec![change], Some(&self.undone(undo))).map(drop)
    }
}
