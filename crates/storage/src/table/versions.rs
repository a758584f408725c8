//! Changes of rows that are undone, and versions of rows that go for good.
//!
//! Entries of secondary trees have no undo records: what they were follows from the versions of their rows. So all that
//! is undone or removed here asks of an entry which version makes it. The lock of the row is held meanwhile: its
//! versions stay as they are, but for those that purge does not need.

use super::Table;
use crate::{
    Counters, Result, StorageError,
    latch_order::Rank,
    log::Lsn,
    transaction::{NeededVersions, PlantedFault, SeenByAll, UndoRecord, kind},
    tree::UndoKind,
    tree::{CurrentRow, FirstRecord, Tree, TreeChange},
};
use muster_types::Value;

/// The entry of a row in a secondary tree: its values and its key.
type SecondaryEntry = (Vec<Value>, Vec<u8>);

/// The entry of a row in a secondary tree before a change that is undone, and after it.
struct UndoneEntry {
    before: Option<SecondaryEntry>,
    after: Option<SecondaryEntry>,
    /// The entry after the change is no entry of the row any more.
    goes: bool,
    /// An older version of the row that is needed has the entry after the change, too.
    is_needed: bool,
}

impl UndoneEntry {
    fn undo(&self, change: &mut TreeChange<'_>) -> Result<()> {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before == after => Ok(()),
            (Some((values, key)), Some((_, after))) if key == after => change.put_entry(values),
            (Some((values, key)), Some((_, after))) => {
                // Leaves are latched in the order of keys.
                let (lower, upper) = if key < after { (key, after) } else { (after, key) };
                change.together(lower, upper, |change| {
                    let goes = |change: &mut TreeChange<'_>| self.take_out(change, after);
                    match key < after {
                        true => Ok(change.try_put_entry(key, values)? && goes(change)?),
                        false => Ok(goes(change)? && change.try_put_entry(key, values)?),
                    }
                })
            }
            (Some((values, _)), None) => change.put_entry(values),
            (None, Some((_, after))) if self.is_needed => change.mark(after).map(drop),
            (None, Some((_, after))) => change.delete(after).map(drop),
            (None, None) => Ok(()),
        }
    }

    /// Removes the entry that the change has made, or marks it. Returns false if room had to be made first.
    fn take_out(&self, change: &mut TreeChange<'_>, key: &[u8]) -> Result<bool> {
        if self.is_needed { change.mark_at(key) } else { change.take_out(key) }
    }
}

impl Table {
    /// Undoes the change that the undo record at a position was written for. The row is as the change left it, since
    /// its transaction has not ended. Errors: those of reading and changing pages.
    pub(super) fn undo(&self, at: Lsn, undo: &UndoRecord, needed: &mut NeededVersions<'_>) -> Result<()> {
        if undo.kind == UndoKind::Inserts {
            return self.undo_inserts(at, undo);
        }
        let counters = self.counters();
        let rooms = self.trees.iter().map(|tree| tree.room_at_once()).collect::<Result<Vec<_>>>()?;
        let _changing = self.changing()?;
        let _row = self.guards().rows.lock(&undo.key, Rank::Row);
        let clustered = &self.trees[0];
        let now = clustered.current(&undo.key, counters)?.filter(|now| now.version.roll_pointer == at);
        let now = now.ok_or_else(|| self.system().log().damaged(at, "no row has the change of the undo record"))?;
        let seen = self.system().transactions().seen_by_all();
        let record = undo.record_before(clustered, &now.record)?;
        let before = (undo.kind != UndoKind::Insert && !undo.marked)
            .then(|| self.values_for_entries(&record, counters))
            .transpose()?;
        let after = (!now.marked).then(|| self.values_for_entries(&now.record, counters)).transpose()?;
        // The row was deleted before this change, and all views see that: it goes, and so do the entries of the deleted
        // row. Purge may have passed by its deletion already, and left the row since it was there again. If purge is
        // still to come, it cannot tell these entries any more, since the long values of the deleted row are free by
        // then. Entries of a row that comes later are safe from it: purge removes only what is marked and belongs to no
        // version that a view may see.
        let is_purged = undo.kind == UndoKind::Update && undo.marked && seen.contains(undo.version.trx_id);
        let gone = is_purged.then(|| self.values_for_entries(&record, counters)).transpose()?;
        let entries = self.trees[1..].iter().map(|tree| self.undone_entry(tree, before.as_deref(), after.as_deref()));
        let mut entries = entries.collect::<Result<Vec<_>>>()?;
        if gone.is_none() && undo.kind != UndoKind::Insert && entries.iter().any(|entry| entry.goes) {
            let older = needed.before(self, &undo.key, now.version, &seen)?;
            for (index, entry) in entries.iter_mut().enumerate() {
                entry.is_needed = entry.after.as_ref().is_some_and(|(_, key)| older.have(index, key, at));
            }
        }
        let mut changes = Vec::with_capacity(self.trees.len());
        for (index, (tree, room)) in self.trees.iter().zip(rooms).enumerate() {
            let mut change = tree.begin(undo.trx_id, room, counters);
            match (index.checked_sub(1).map(|at| &entries[at]), &gone) {
                (None, _) => self.undo_row(&mut change, undo, &record, is_purged)?,
                _ if self.system().transactions().has(PlantedFault::ForgetEntries) => {}
                (Some(_), Some(gone)) => self.remove_entries(tree, &mut change, gone, after.as_deref())?,
                (Some(entry), None) => entry.undo(&mut change)?,
            }
            changes.push(change);
        }
        self.commit_changes(changes, Some(&self.undone(undo)))?;
        // The change is undone, whatever comes now: who is told an error undoes it once more, and does not find it.
        if is_purged && let Err(e) = clustered.free_long_values(undo.layout, &record, counters) {
            tracing::warn!("long values of a row that is gone keep their pages: {e}");
        }
        Ok(())
    }

    /// The record that says that a change is undone.
    pub(super) fn undone(&self, undo: &UndoRecord) -> FirstRecord {
        let payload = [undo.trx_id.to_le_bytes(), undo.previous.to_le_bytes()].concat();
        FirstRecord { kind: kind::UNDONE, file: self.trees[0].file().id(), payload }
    }

    fn undo_row(&self, change: &mut TreeChange<'_>, undo: &UndoRecord, record: &[u8], is_purged: bool) -> Result<()> {
        match undo.kind {
            _ if is_purged => change.delete(&undo.key),
            UndoKind::Insert | UndoKind::Inserts => change.delete(&undo.key),
            UndoKind::Update => change.restore(&undo.key, record, undo.version, undo.marked),
            UndoKind::Mark => change.unmark(&undo.key, undo.version),
        }
        .map(drop)
    }

    /// Removes the entries that a deleted row, `gone`, still has in a tree, and those of the row that had come in its
    /// place, `after`. All keys end with the clustered key, so no other row has them.
    fn remove_entries(
        &self,
        tree: &Tree,
        change: &mut TreeChange<'_>,
        gone: &[Value],
        after: Option<&[Value]>,
    ) -> Result<()> {
        let gone = self.entry(tree, gone)?.1;
        let after = after.map(|row| self.entry(tree, row)).transpose()?.map(|(_, key)| key);
        match after {
            Some(after) if after != gone => {
                // Leaves are latched in the order of keys.
                let (lower, upper) = if gone < after { (&gone, &after) } else { (&after, &gone) };
                change.together(lower, upper, |change| Ok(change.take_out(lower)? && change.take_out(upper)?))
            }
            _ => change.delete(&gone).map(drop),
        }
    }

    /// The entry of a row in a tree before a change and after it. `before`, `after`: the row, if there was one.
    fn undone_entry(&self, tree: &Tree, before: Option<&[Value]>, after: Option<&[Value]>) -> Result<UndoneEntry> {
        let before = before.map(|row| self.entry(tree, row)).transpose()?;
        let after = after.map(|row| self.entry(tree, row)).transpose()?;
        let goes = after.as_ref().is_some_and(|after| before.as_ref().is_none_or(|before| before.1 != after.1));
        Ok(UndoneEntry { before, after, goes, is_needed: false })
    }

    /// Removes what nobody needs any more of the version before a change, whose transaction all views see: its entries,
    /// and the row if the change marked it and nothing has changed it since. Done once more, it does nothing.
    pub(super) fn purge(
        &self,
        undo: &UndoRecord,
        seen: &SeenByAll,
        at: Lsn,
        needed: &mut NeededVersions<'_>,
    ) -> Result<()> {
        if undo.kind.is_insert() || undo.marked || undo.leaves_nothing {
            return Ok(());
        }
        let counters = self.counters();
        let rooms = self.room_in_log()?;
        let _changing = self.changing()?;
        let _row = self.guards().rows.lock(&undo.key, Rank::Row);
        let clustered = &self.trees[0];
        let now = clustered.current(&undo.key, counters)?;
        let goes =
            undo.kind == UndoKind::Mark && now.as_ref().is_some_and(|now| now.marked && now.version.roll_pointer == at);
        let before = match self.values_for_entries(&undo.own_values(clustered)?, counters) {
            // Its long values went with the row, which then has no entries any more.
            Err(StorageError::Corrupt { .. }) => return Ok(()),
            before => before?,
        };
        let removed = self.unneeded_entries(&undo.key, &before, now.as_ref(), seen, needed)?;
        let mut changes = Vec::with_capacity(self.trees.len());
        let mut changed = false;
        for (index, (tree, room)) in self.trees.iter().zip(rooms).enumerate() {
            let mut change = tree.begin(undo.trx_id, room, counters);
            changed |= match index.checked_sub(1).map(|at| &removed[at]) {
                None if goes => change.remove_marked(&undo.key)?,
                None | Some(None) => false,
                Some(Some(key)) => change.remove_marked(key)?,
            };
            changes.push(change);
        }
        if changed {
            self.commit_changes(changes, None)?;
            let removed = u64::from(goes);
            self.system().transactions().purged_rows.fetch_add(removed, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }

    /// The keys of the entries of a version of a row, for each secondary tree; `None` where a version has the same
    /// entry that some view may see. `now`: the newest version.
    fn unneeded_entries(
        &self,
        key: &[u8],
        version: &[Value],
        now: Option<&CurrentRow>,
        seen: &SeenByAll,
        needed: &mut NeededVersions<'_>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let keys_of = |values: &[Value]| {
            let keys = self.trees[1..].iter().map(|tree| self.entry(tree, values).map(|(_, key)| Some(key)));
            keys.collect::<Result<Vec<_>>>()
        };
        let mut keys = keys_of(version)?;
        let Some(now) = now else { return Ok(keys) };
        if !now.marked {
            let newest = keys_of(&self.values_for_entries(&now.record, self.counters())?)?;
            keys.iter_mut().zip(newest).filter(|(key, newest)| *key == newest).for_each(|(key, _)| *key = None);
        }
        let has_older = now.version.roll_pointer != 0 && !seen.contains(now.version.trx_id);
        if has_older && keys.iter().any(Option::is_some) {
            let older = needed.before(self, key, now.version, seen)?;
            for (index, key) in keys.iter_mut().enumerate() {
                *key = key.take().filter(|key| !older.have(index, key, now.version.roll_pointer));
            }
        }
        Ok(keys)
    }

    /// The long values of a version of a row that nobody needs any more go. A check of the table would miss their pages
    /// on the way to the free list, so this is a change like others; but a former opening of the table may make it,
    /// too: nobody frees them later.
    pub(super) fn free_long_values(&self, layout: u32, record: &[u8]) -> Result<()> {
        let _changing = self.guards().changing_no_row();
        self.trees[0].free_long_values(layout, record, self.counters())
    }

    /// The values of a version that entries are made of; NULL for the others.
    pub(super) fn values_for_entries(&self, record: &[u8], counters: &Counters) -> Result<Vec<Value>> {
        let clustered = &self.trees[0];
        clustered.some_values_of_record(record, |column| clustered.layout().in_entries[column], counters)
    }

    /// The entry of a row, given as the values that the clustered tree stores.
    pub(super) fn entry(&self, tree: &Tree, stored: &[Value]) -> Result<SecondaryEntry> {
        let (row, number) = self.split_stored(stored);
        let values = tree.layout().stored_values(row, number);
        let key = tree.key_of_values(&values)?;
        Ok((values.into_owned(), key))
    }
}
