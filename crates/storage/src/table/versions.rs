//! Changes of rows that are undone, and versions of rows that go for good.
//!
//! Entries of secondary trees have no undo records: what they were follows from the versions of their rows. So all that is undone
//! or removed here asks of an entry which version makes it. The lock of the row is held meanwhile: its versions stay as they
//! are, but for those that purge does not need.

use super::Table;
use crate::{
    Counters, Result, StorageError,
    latch_order::Rank,
    log::Lsn,
    transaction::{Fault, SeenByAll, UndoKind, UndoRecord, kind},
    tree::{Change, CurrentRow, FirstRecord, Tree},
};
use muster_types::Value;

/// The entry of a row in a secondary tree: its values and its key.
type Entry = (Vec<Value>, Vec<u8>);

impl Table {
    /// Undoes the change that the undo record at a position was written for. The row is as the change left it, since its
    /// transaction has not ended. Errors: those of reading and changing pages.
    pub(crate) fn undo(&self, at: Lsn, undo: &UndoRecord) -> Result<()> {
        if undo.kind == UndoKind::Inserts {
            return self.undo_inserts(at, undo);
        }
        let counters = self.store.counters();
        let rooms = self.trees.iter().map(|tree| tree.room_at_once()).collect::<Result<Vec<_>>>()?;
        let _changing = self.changing();
        let _row = self.rows.lock(&undo.key, Rank::Row);
        let clustered = &self.trees[0];
        let now = clustered.current(&undo.key, counters)?.filter(|now| now.version.roll_pointer == at);
        let now = now.ok_or_else(|| self.store.log().damaged(at, "no row has the change of the undo record"))?;
        let seen = self.store.transactions().seen_by_all();
        let record = undo.record_before(clustered, &now.record)?;
        let needed = match undo.kind {
            UndoKind::Insert => Vec::new(),
            _ => self.needed_versions(undo.version, undo.marked, &record, &seen, counters)?,
        };
        let before = (undo.kind != UndoKind::Insert && !undo.marked)
            .then(|| self.values_for_entries(&record, counters))
            .transpose()?;
        let after = (!now.marked).then(|| self.values_for_entries(&now.record, counters)).transpose()?;
        // The row was deleted before this change, and all views see that: it goes, and so do the entries of the deleted row. Purge may
        // have passed by its deletion already, and left the row since it was there again. If purge is still to come, it cannot tell
        // these entries any more, since the long values of the deleted row are free by then. Entries of a row that comes later are
        // safe from it: purge removes only what is marked and belongs to no version that a view may see.
        let is_purged = undo.kind == UndoKind::Update && undo.marked && seen.contains(undo.version.trx_id);
        let gone = is_purged.then(|| self.values_for_entries(&record, counters)).transpose()?;
        let mut changes = Vec::with_capacity(self.trees.len());
        for (tree, room) in self.trees.iter().zip(rooms) {
            let mut change = tree.begin(undo.trx_id, room, counters);
            match (tree.layout().index, &gone) {
                (0, _) => self.undo_row(&mut change, undo, &record, is_purged)?,
                _ if self.store.transactions().has(Fault::ForgetEntries) => {}
                (_, Some(gone)) => self.remove_entries(tree, &mut change, gone, after.as_deref())?,
                _ => self.undo_entry(tree, &mut change, before.as_deref(), after.as_deref(), &needed)?,
            }
            changes.push(change);
        }
        self.commit_changes(changes, Some(&self.undone(undo)))?;
        if is_purged { clustered.free_long_values(&record, counters) } else { Ok(()) }
    }

    /// The record that says that a change is undone.
    pub(super) fn undone(&self, undo: &UndoRecord) -> FirstRecord {
        let payload = [undo.trx_id.to_le_bytes(), undo.previous.to_le_bytes()].concat();
        FirstRecord { kind: kind::UNDONE, file: self.trees[0].file().id(), payload }
    }

    fn undo_row(&self, change: &mut Change<'_>, undo: &UndoRecord, record: &[u8], is_purged: bool) -> Result<()> {
        match undo.kind {
            _ if is_purged => change.delete(&undo.key),
            UndoKind::Insert | UndoKind::Inserts => change.delete(&undo.key),
            UndoKind::Update => change.restore(&undo.key, record, undo.version, undo.marked),
            UndoKind::Mark => change.unmark(&undo.key, undo.version),
        }
        .map(drop)
    }

    /// Removes the entries that a deleted row, `gone`, still has in a tree, and those of the row that had come in its place, `after`.
    /// All keys end with the clustered key, so no other row has them.
    fn remove_entries(
        &self,
        tree: &Tree,
        change: &mut Change<'_>,
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

    /// `before`, `after`: the row before the change, if there was one, and after it.
    fn undo_entry(
        &self,
        tree: &Tree,
        change: &mut Change<'_>,
        before: Option<&[Value]>,
        after: Option<&[Value]>,
        needed: &[Vec<Value>],
    ) -> Result<()> {
        let before = before.map(|row| self.entry(tree, row)).transpose()?;
        let after = after.map(|row| self.entry(tree, row)).transpose()?;
        match (before, after) {
            (Some(before), Some(after)) if before == after => Ok(()),
            (Some((values, key)), Some((_, after))) if key == after => change.put_entry(&values),
            (before, after) => {
                let mut steps = Vec::new();
                steps.extend(before.map(|(values, key)| (key, Some(values))));
                steps.extend(after.map(|(_, key)| (key, None)));
                // Leaves are latched in the order of keys.
                steps.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                if let [(lower, _), (upper, _)] = &steps[..] {
                    return self.undo_two(tree, change, (lower, upper), &steps, needed);
                }
                for (key, values) in &steps {
                    self.undo_step(tree, change, key, values.as_deref(), needed)?;
                }
                Ok(())
            }
        }
    }

    /// Undoes an entry that went and one that came, whose leaves may be two.
    fn undo_two(
        &self,
        tree: &Tree,
        change: &mut Change<'_>,
        (lower, upper): (&[u8], &[u8]),
        steps: &[(Vec<u8>, Option<Vec<Value>>)],
        needed: &[Vec<Value>],
    ) -> Result<()> {
        change.together(lower, upper, |change| {
            for (key, values) in steps {
                let done = match values {
                    Some(values) => change.try_put_entry(key, values)?,
                    None if self.is_needed(tree, key, needed)? => change.mark_at(key)?,
                    None => change.take_out(key)?,
                };
                if !done {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn undo_step(
        &self,
        tree: &Tree,
        change: &mut Change<'_>,
        key: &[u8],
        values: Option<&[Value]>,
        needed: &[Vec<Value>],
    ) -> Result<()> {
        match values {
            Some(values) => change.put_entry(values),
            None if self.is_needed(tree, key, needed)? => change.mark(key).map(drop),
            None => change.delete(key).map(drop),
        }
    }

    /// Removes what nobody needs any more of the version before a change, whose transaction all views see: its entries, and the
    /// row if the change marked it and nothing has changed it since. Done once more, it does nothing.
    pub(crate) fn purge(&self, undo: &UndoRecord, seen: &SeenByAll, at: Lsn) -> Result<()> {
        if undo.kind.is_insert() || undo.marked || undo.leaves_nothing {
            return Ok(());
        }
        let counters = self.store.counters();
        let rooms = self.room_in_log()?;
        let _changing = self.changing();
        let _row = self.rows.lock(&undo.key, Rank::Row);
        let clustered = &self.trees[0];
        let now = clustered.current(&undo.key, counters)?;
        let goes =
            undo.kind == UndoKind::Mark && now.as_ref().is_some_and(|now| now.marked && now.version.roll_pointer == at);
        let needed = match &now {
            Some(CurrentRow { version, marked, record }) => {
                self.needed_versions(*version, *marked, record, seen, counters)?
            }
            None => Vec::new(),
        };
        let before = match self.values_for_entries(&undo.own_values(clustered)?, counters) {
            // Its long values went with the row, which then has no entries any more.
            Err(StorageError::Corrupt { .. }) => return Ok(()),
            before => before?,
        };
        let mut changes = Vec::with_capacity(self.trees.len());
        let mut changed = false;
        for (tree, room) in self.trees.iter().zip(rooms) {
            let mut change = tree.begin(undo.trx_id, room, counters);
            changed |= match tree.layout().index {
                0 if goes => change.remove_marked(&undo.key)?,
                0 => false,
                _ => {
                    let key = self.entry(tree, &before)?.1;
                    !self.is_needed(tree, &key, &needed)? && change.remove_marked(&key)?
                }
            };
            changes.push(change);
        }
        if changed {
            self.commit_changes(changes, None)?;
            let removed = u64::from(goes);
            self.store.transactions().purged_rows.fetch_add(removed, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }

    /// The long values of a version of a row that nobody needs any more go. A check of the table would miss their pages on the way
    /// to the free list, so this is a change like others.
    pub(crate) fn free_long_values(&self, record: &[u8]) -> Result<()> {
        let _changing = self.changing();
        self.trees[0].free_long_values(record, self.store.counters())
    }

    /// The versions of a row, from this one on, that some view may see: rows that are not marked.
    fn needed_versions(
        &self,
        version: crate::tree::leaf::slot::Version,
        marked: bool,
        record: &[u8],
        seen: &SeenByAll,
        counters: &Counters,
    ) -> Result<Vec<Vec<Value>>> {
        let (mut version, mut marked, mut record) = (version, marked, record.to_vec());
        let mut versions = Vec::new();
        loop {
            if !marked {
                versions.push(self.values_for_entries(&record, counters)?);
            }
            if version.roll_pointer == 0 || seen.contains(version.trx_id) {
                return Ok(versions);
            }
            let (_, before) = self.store.undo_record(version.roll_pointer)?;
            if before.kind.is_insert() {
                return Ok(versions);
            }
            record = before.record_before(&self.trees[0], &record)?;
            (version, marked) = (before.version, before.marked);
        }
    }

    /// The values of a version that entries are made of; NULL for the others.
    fn values_for_entries(&self, record: &[u8], counters: &Counters) -> Result<Vec<Value>> {
        let clustered = &self.trees[0];
        clustered.some_values_of_record(record, |column| clustered.layout().in_entries[column], counters)
    }

    /// Returns true if one of these rows has an entry with this key.
    fn is_needed(&self, tree: &Tree, key: &[u8], rows: &[Vec<Value>]) -> Result<bool> {
        for row in rows {
            if self.entry(tree, row)?.1 == key {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entry of a row, given as the values that the clustered tree stores.
    fn entry(&self, tree: &Tree, stored: &[Value]) -> Result<Entry> {
        let (row, number) = self.split_stored(stored);
        let values = tree.layout().stored_values(row, number);
        let key = tree.key_of_values(&values)?;
        Ok((values.into_owned(), key))
    }
}
