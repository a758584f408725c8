//! Entries of elements of arrays: trees in which one row has many entries.
//!
//! An array may have thousands of elements, whose entries lie in leaves far apart, too many to be latched together. So
//! they do not change with their row in one group of the log, but each in a group of its own, and the order of the
//! groups keeps the trees right wherever a crash cuts them off:
//!
//! ```text
//!   a change   the row with its undo record, then its entries: what is cut off is undone, since its transaction has
//!              not ended
//!   undo       entries, then the row: done once more it finds entries that are as they shall be, which is no error
//!   purge      entries, then the row: while the row is there, purge finds what its entries were
//! ```
//!
//! Readers see nothing of it. The row of a transaction that has not ended is seen by the transaction alone, which reads
//! when its change is made; for others an entry that is not yet marked leads to the version before, which has it, and
//! one that is not yet there belongs to a version that they do not see.

use super::{Table, versions::SecondaryEntry};
use crate::{
    Counters, Result,
    latch_order::Rank,
    log::Lsn,
    transaction::{NeededVersions, PlantedFault, Savepoint, SeenByAll, Transaction, UndoRecord, undo_bytes_of},
    tree::{CurrentRow, Tree, TreeChange, UndoKind},
};
use muster_types::Value;

/// A row before a change and after it, as columns of the table.
#[derive(Clone, Copy)]
pub(super) struct ChangedRow<'a> {
    pub before: Option<&'a [Value]>,
    pub after: Option<&'a [Value]>,
    /// The hidden row number.
    pub number: i64,
}

/// The change of an entry that undoes another one.
#[derive(Clone, Copy)]
enum Settlement {
    Put,
    Mark,
    Delete,
}

impl Table {
    /// The trees that have an entry for each element, with their positions.
    fn element_trees(&self) -> impl Iterator<Item = (usize, &Tree)> {
        self.trees.iter().map(|tree| &**tree).enumerate().filter(|(_, tree)| tree.layout().elements.is_some())
    }

    fn entries_of_row(&self, tree: &Tree, row: Option<&[Value]>, number: i64) -> Result<Vec<SecondaryEntry>> {
        let Some(row) = row else { return Ok(Vec::new()) };
        self.entries(tree, &self.trees[0].layout().stored_values(row, number))
    }

    /// Returns true if an entry of an element goes with the change.
    pub(super) fn loses_elements(&self, row: &ChangedRow<'_>) -> Result<bool> {
        for (_, tree) in self.element_trees() {
            let after = self.entries_of_row(tree, row.after, row.number)?;
            let before = self.entries_of_row(tree, row.before, row.number)?;
            if before.iter().any(|(_, key)| !has_key(&after, key)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Changes the entries of elements of a row that has changed itself. If one cannot be changed, all that follows
    /// `savepoint` is undone, the change of the row, too.
    pub(super) fn change_elements(
        &self,
        trx: &mut Transaction,
        savepoint: Savepoint,
        row: ChangedRow<'_>,
        counters: &Counters,
    ) -> Result<()> {
        if self.element_trees().next().is_none() {
            return Ok(());
        }
        self.try_change_elements(trx, row, counters).or_else(|e| trx.roll_back_to(savepoint).and(Err(e)))
    }

    fn try_change_elements(&self, trx: &mut Transaction, row: ChangedRow<'_>, counters: &Counters) -> Result<()> {
        let Some(known) = row.after.or(row.before) else { return Ok(()) };
        let clustered = &self.trees[0];
        let row_key = clustered.key_of_values(&clustered.layout().stored_values(known, row.number))?;
        for (_, tree) in self.element_trees() {
            let before = self.entries_of_row(tree, row.before, row.number)?;
            let after = self.entries_of_row(tree, row.after, row.number)?;
            for (_, key) in before.iter().filter(|(_, key)| !has_key(&after, key)) {
                self.change_element(trx, tree, [&row_key, key], counters, |change| change.mark(key).map(drop))?;
            }
            for (values, key) in after.iter().filter(|entry| !before.contains(entry)) {
                let replaces = has_key(&before, key);
                self.change_element(trx, tree, [&row_key, key], counters, |change| match replaces {
                    true => change.replace(values).map(drop),
                    false => change.insert(values),
                })?;
            }
        }
        Ok(())
    }

    /// Changes one entry of a row. `keys`: of the row and of the entry.
    fn change_element(
        &self,
        trx: &mut Transaction,
        tree: &Tree,
        keys: [&[u8]; 2],
        counters: &Counters,
        change: impl Fn(&mut TreeChange<'_>) -> Result<()>,
    ) -> Result<()> {
        trx.promise_undo(undo_bytes_of(keys[1].len(), keys[1].len()))?;
        self.waiting(trx, |trx| {
            let room = tree.room()?;
            let _changing = self.changing()?;
            let _row = self.guards().rows.lock(keys[0], Rank::Row);
            let locks = trx.own_locks();
            let mut ready = tree.begin(locks.trx_id(), room, counters).of_transaction(locks);
            change(&mut ready)?;
            self.commit_changes(vec![ready], None).map(drop)
        })
    }

    /// Undoes what a change has done to entries of elements, before its row is undone. `versions`: the row before the
    /// change, after it, and a deleted one before it whose entries go, too.
    pub(super) fn undo_elements(
        &self,
        at: Lsn,
        undo: &UndoRecord,
        now: &CurrentRow,
        versions: [Option<&[Value]>; 3],
        seen: &SeenByAll,
        needed: &mut NeededVersions<'_>,
    ) -> Result<()> {
        if self.system().transactions().has(PlantedFault::ForgetEntries) {
            return Ok(());
        }
        for (index, tree) in self.element_trees() {
            let of = |row: Option<&[Value]>| row.map_or_else(|| Ok(Vec::new()), |row| self.entries(tree, row));
            let [before, after, gone] = versions.map(of);
            let (before, after, gone) = (before?, after?, gone?);
            let is_alone = versions[2].is_some() || undo.kind == UndoKind::Insert;
            for (values, key) in after.iter().chain(&gone).filter(|(_, key)| !has_key(&before, key)) {
                let settlement = match is_alone {
                    false if needed.before(self, &undo.key, now.version, seen)?.have(index - 1, key, at) => {
                        Settlement::Mark
                    }
                    _ => Settlement::Delete,
                };
                self.settle_element(tree, undo.trx_id, values, key, settlement)?;
            }
            for (values, key) in before.iter().filter(|entry| !after.contains(entry)) {
                self.settle_element(tree, undo.trx_id, values, key, Settlement::Put)?;
            }
        }
        Ok(())
    }

    fn settle_element(
        &self,
        tree: &Tree,
        trx_id: u64,
        values: &[Value],
        key: &[u8],
        settlement: Settlement,
    ) -> Result<()> {
        let mut change = tree.begin(trx_id, tree.room_at_once()?, self.counters());
        match settlement {
            Settlement::Put => change.put_entry(values)?,
            Settlement::Mark => drop(change.mark(key)?),
            Settlement::Delete => drop(change.delete(key)?),
        }
        self.commit_changes(vec![change], None).map(drop)
    }

    /// Removes marked entries of elements that no version needs, before their row may go. `keys`: for each secondary
    /// tree.
    pub(super) fn remove_marked_elements(&self, trx_id: u64, keys: &[Vec<Vec<u8>>]) -> Result<()> {
        for (index, tree) in self.element_trees() {
            for key in &keys[index - 1] {
                let mut change = tree.begin(trx_id, tree.room_at_once()?, self.counters());
                if change.remove_marked(key)? {
                    self.commit_changes(vec![change], None)?;
                }
            }
        }
        Ok(())
    }
}

fn has_key(entries: &[SecondaryEntry], key: &[u8]) -> bool {
    entries.binary_search_by(|(_, other)| other.as_slice().cmp(key)).is_ok()
}
