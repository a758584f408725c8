//! Changing a tree: rows that come, go and are replaced.
//!
//! ```text
//!   Tree::begin -> Change     insert, replace, mark, delete, relocate: the leaf is latched, has room, and it is known
//!                             which of its slots changes; all that can fail is done
//!     commit -> Rest          the slot changes (super::group): nothing here can fail or wait
//!     finish                  what may wait comes now: separators are posted, pages freed, and pages that became too
//!                             empty merged
//! ```
//!
//! A change that is dropped before it is committed leaves the rows of the tree as they were. Several trees change
//! together if the changes of all are made ready before the first is committed, and all are committed before the rest
//! of the first is done ([`crate::Table::update`]).

use super::{
    group::{FirstRecord, Group, Made, Room, commit_all},
    new_row::NewRow,
    post::note,
    row_edit::{Edit, Place},
};
use crate::tree::{btree::Tree, page::leaf::slot::Version};
use crate::{
    Counters, Result, StorageError, buffer_pool::PageGuard, file::ROOT_PAGE, locks::TransactionLocks, log::Lsn,
    stripes::Stripe,
};
use muster_types::Value;

/// A change of one tree that is being put together.
pub struct TreeChange<'a> {
    pub(in crate::tree) tree: &'a Tree,
    pub(in crate::tree) counters: &'a Counters,
    pub(in crate::tree) trx_id: u64,
    pub(in crate::tree) group: Group<'a>,
    /// Room in the log for the group.
    room: Room,
    /// Pages of long values that were written for the change.
    pub(in crate::tree) written: Vec<u32>,
    /// Pages of long values that nothing leads to once the change is made.
    pub(in crate::tree) unlinked: Vec<u32>,
    /// Keys of leaves that were reached by a link: their parents may not know them.
    pub(in crate::tree) crossed: Vec<Vec<u8>>,
    /// The key of a row that goes: its leaf may become too empty.
    pub(in crate::tree) removed: Option<Vec<u8>>,
    /// Keeps others from adding an entry with the same declared parts to a unique tree.
    pub(in crate::tree) unique: Option<Stripe<'a>>,
    /// The locks of the transaction, if the change is that of one: what others have locked is not touched.
    pub(in crate::tree) locks: Option<&'a TransactionLocks>,
    /// Leaves that are latched because a gap ends there.
    pub(in crate::tree) neighbours: Vec<PageGuard>,
    /// The row before the change, in a clustered tree that a transaction changes.
    before: Option<BeforeChange>,
}

/// The change that an undo record undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum UndoKind {
    /// There was no row with the key.
    Insert = 1,
    /// There was another version, maybe a marked one.
    Update = 2,
    /// There was the same version, not marked.
    Mark = 3,
    /// There was no row with any of some keys.
    Inserts = 4,
}

impl UndoKind {
    /// Returns true if there was no row before the change.
    pub fn is_insert(self) -> bool {
        matches!(self, UndoKind::Insert | UndoKind::Inserts)
    }
}

/// A row before a change.
#[derive(Debug)]
pub(crate) struct BeforeChange {
    pub kind: UndoKind,
    pub version: Version,
    pub marked: bool,
    pub key: Vec<u8>,
    /// Empty if there was none.
    pub record: Vec<u8>,
    /// The same as a patch of the record that the change leaves, if that is shorter.
    pub patch: Option<Vec<u8>>,
}

/// The work that is left when a change is made. The tree is sound without it, and whoever comes by later does it.
#[must_use]
pub struct Rest<'a> {
    tree: &'a Tree,
    counters: &'a Counters,
    crossed: Vec<Vec<u8>>,
    removed: Option<Vec<u8>>,
}

impl Tree {
    /// Begins a change. The leaves that it changes are latched until it is committed or dropped. `room` was asked for
    /// before any page was latched.
    pub fn begin<'a>(&'a self, trx_id: u64, room: Room, counters: &'a Counters) -> TreeChange<'a> {
        self.free_unlinked(counters);
        TreeChange {
            tree: self,
            counters,
            trx_id,
            group: Group::new(self, counters),
            room,
            written: Vec::new(),
            unlinked: Vec::new(),
            crossed: Vec::new(),
            removed: None,
            unique: None,
            locks: None,
            neighbours: Vec::new(),
            before: None,
        }
    }

    /// Adds a row: values of the stored columns. Errors: `Duplicate` (unique indexes: the declared parts; others: the
    /// whole key), `RowTooLarge`, `WrongType`, and those of reading and allocating pages. On an error the rows are as
    /// they were.
    pub fn insert(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<()> {
        let mut change = self.begin(trx_id, self.room()?, counters);
        change.insert(values)?;
        change.commit().finish();
        Ok(())
    }

    /// Puts a row in the place of the one with the same key. Returns whether there was one. On an error the rows are as
    /// they were.
    pub fn replace(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<bool> {
        let mut change = self.begin(trx_id, self.room()?, counters);
        let found = change.replace(values)?;
        change.commit().finish();
        Ok(found)
    }

    /// Marks the row with this key as deleted. Returns whether there was one that was not marked. On an error the rows
    /// are as they were.
    pub fn mark(&self, key: &[u8], trx_id: u64, counters: &Counters) -> Result<bool> {
        let mut change = self.begin(trx_id, self.room()?, counters);
        let found = change.mark(key)?;
        change.commit().finish();
        Ok(found)
    }

    /// Removes the row with this key for good, marked or not; returns its values. On an error the rows are as they
    /// were.
    pub fn delete(&self, key: &[u8], trx_id: u64, counters: &Counters) -> Result<Option<Vec<Value>>> {
        let mut change = self.begin(trx_id, self.room()?, counters);
        let values = change.values(key)?;
        change.delete(key)?;
        change.commit().finish();
        Ok(values)
    }

    /// The next hidden row number, which is then taken. Errors: those of changing the file header.
    pub fn take_row_id(&self, counters: &Counters) -> Result<u64> {
        self.file.take_row_id(|bound| {
            let room = self.room()?;
            let mut group = Group::new(self, counters);
            group.reserve_row_ids(bound)?;
            group.commit(room);
            Ok(())
        })
    }
}

/// Changes of transactions.
impl<'a> TreeChange<'a> {
    /// Makes it the change of a transaction: rows and entries keep the versions that views need, and those that other
    /// transactions have changed and not committed, or have locked, are left alone (`WouldWait`).
    pub(crate) fn of_transaction(mut self, locks: &'a TransactionLocks) -> TreeChange<'a> {
        self.locks = Some(locks);
        self
    }

    /// Returns true if the versions before are found by roll pointers.
    pub(in crate::tree) fn keeps_versions(&self) -> bool {
        self.locks.is_some() && self.tree.layout.index == 0
    }

    /// Returns true if nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// The row before the change.
    pub(crate) fn take_before(&mut self) -> Option<BeforeChange> {
        self.before.take()
    }

    /// Looks at the row that will change: it is left alone if it is another's, its version is noted if views may need
    /// it, and its long values go with it if not. `after`: the record that comes in its place; `None` if it stays.
    fn record_undo_image(&mut self, place: Place, key: &[u8], kind: UndoKind, after: Option<&[u8]>) -> Result<()> {
        self.check_owner(place, key)?;
        if !self.keeps_versions() {
            return if place.found.exact { self.unlink_long_values(place) } else { Ok(()) };
        }
        let record = match place.found.exact {
            true => self.record_at(place)?,
            false => Vec::new(),
        };
        let kind = if place.found.exact { kind } else { UndoKind::Insert };
        let layout = &self.tree.layout;
        let patch = match place.found.exact {
            true => layout.record.patch(after.unwrap_or(&record), &record, |column| layout.in_entries[column]),
            false => Ok(None),
        };
        let patch = patch.map_err(|e| self.tree.corrupt(self.group.page_no(place.leaf), e))?;
        let (version, marked) = (place.version, place.marked);
        self.before = Some(BeforeChange { kind, version, marked, key: key.to_vec(), record, patch });
        Ok(())
    }

    /// As [`TreeChange::record_undo_image`], for a row that stays where it is and gets a mark.
    fn record_undo_image_marked(&mut self, place: Place, key: &[u8]) -> Result<()> {
        match self.keeps_versions() {
            true => self.record_undo_image(place, key, UndoKind::Mark, None),
            false => self.check_owner(place, key),
        }
    }

    /// Puts a row back to a version that it had before. Returns whether there was one with the key.
    pub(crate) fn restore(&mut self, key: &[u8], record: &[u8], version: Version, marked: bool) -> Result<bool> {
        loop {
            let place = self.find(key)?;
            if !place.found.exact {
                return Ok(false);
            }
            self.unlink_long_values(place)?;
            if self.edit(place, key, Edit::Restore { record, version, marked })? {
                self.group.count(i64::from(place.marked) - i64::from(marked), 0);
                return Ok(true);
            }
        }
    }

    /// Takes the mark of a row away, which then has this version. Returns whether there was a marked one.
    pub(crate) fn unmark(&mut self, key: &[u8], version: Version) -> Result<bool> {
        loop {
            let place = self.find(key)?;
            if !place.found.exact || !place.marked {
                return Ok(false);
            }
            if self.edit(place, key, Edit::Unmark(version))? {
                self.group.count(1, 0);
                return Ok(true);
            }
        }
    }

    /// Puts an entry into a secondary tree, whether there is one with its key or not.
    pub(crate) fn put_entry(&mut self, values: &[Value]) -> Result<()> {
        let key = self.tree.key_of_values(values)?;
        while !self.try_put_entry(&key, values)? {}
        Ok(())
    }

    /// The same, of which the key is known. Returns false as [`TreeChange::put_in`] does.
    pub(crate) fn try_put_entry(&mut self, key: &[u8], values: &[Value]) -> Result<bool> {
        let mut new = self.tree.one_row(values)?;
        let record = self.record_of(&mut new)?;
        let place = self.find(key)?;
        let done = self.edit(place, key, Edit::Put(&record))?;
        if done {
            self.group.count(i64::from(!place.is_live()), 0);
        }
        Ok(done)
    }

    /// Marks the row with `old_key` and inserts another one, with another key. Errors: as [`Tree::insert`].
    pub(crate) fn mark_and_insert(&mut self, old_key: &[u8], values: &[Value]) -> Result<()> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        self.check_unique(&new, Some(old_key))?;
        let record = self.record_of(&mut new)?;
        let (lower, upper) = if old_key < key.as_slice() { (old_key, &*key) } else { (&*key, old_key) };
        loop {
            self.latch_both(lower, upper)?;
            if self.mark_at(old_key)? && self.put_in(&key, &new, &record)? {
                return Ok(());
            }
        }
    }

    /// Makes two steps that change the leaves of two keys, of which the first is the lower one. The steps return false
    /// if room had to be made first, and are then made again.
    pub(crate) fn together(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        steps: impl Fn(&mut TreeChange<'a>) -> Result<bool>,
    ) -> Result<()> {
        loop {
            self.latch_both(lower, upper)?;
            if steps(self)? {
                return Ok(());
            }
        }
    }

    /// Removes the row with this key for good if it is marked. Returns whether it was.
    pub(crate) fn remove_marked(&mut self, key: &[u8]) -> Result<bool> {
        loop {
            let place = self.find(key)?;
            if !place.marked || self.take_out_at(place, key)? {
                return Ok(place.marked);
            }
        }
    }

    /// Marks the row with the key, if there is one that is not marked. Returns false as [`TreeChange::put_in`] does.
    pub(crate) fn mark_at(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.find(key)?;
        if place.is_live() { self.mark_place(place, key) } else { Ok(true) }
    }

    /// Marks the row at a place, which is not marked.
    fn mark_place(&mut self, place: Place, key: &[u8]) -> Result<bool> {
        self.record_undo_image_marked(place, key)?;
        let done = self.edit(place, key, Edit::Mark)?;
        if done {
            self.group.count(-1, 0);
        }
        Ok(done)
    }
}

/// Steps of a change. After an error the change must be dropped, since a part of the step may be in it.
impl<'a> TreeChange<'a> {
    /// Inserts a row as [`Tree::insert`] does.
    pub fn insert(&mut self, values: &[Value]) -> Result<()> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        self.check_unique(&new, None)?;
        let record = self.record_of(&mut new)?;
        while !self.put_in(&key, &new, &record)? {}
        Ok(())
    }

    /// Replaces a row as [`Tree::replace`] does.
    pub fn replace(&mut self, values: &[Value]) -> Result<bool> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        let place = self.find(&key)?;
        if !place.is_live() {
            return Ok(false);
        }
        let mut found = Some(place);
        if new.is_long() {
            // Long values are written while no leaf is latched.
            self.release();
            found = None;
        }
        let record = self.record_of(&mut new)?;
        loop {
            let place = match found.take() {
                Some(place) => place,
                None => self.find(&key)?,
            };
            if !place.is_live() {
                self.unlinked.append(&mut self.written);
                return Ok(false);
            }
            self.record_undo_image(place, &key, UndoKind::Update, Some(&record))?;
            if self.edit(place, &key, Edit::Put(&record))? {
                return Ok(true);
            }
        }
    }

    /// Marks a row as [`Tree::mark`] does.
    pub fn mark(&mut self, key: &[u8]) -> Result<bool> {
        loop {
            let place = self.find(key)?;
            if !place.is_live() || self.mark_place(place, key)? {
                return Ok(place.is_live());
            }
        }
    }

    /// Removes a row as [`Tree::delete`] does. Returns whether there was one.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        loop {
            let place = self.find(key)?;
            if !place.found.exact || self.take_out_at(place, key)? {
                return Ok(place.found.exact);
            }
        }
    }

    /// The values of the row with this key.
    fn values(&mut self, key: &[u8]) -> Result<Option<Vec<Value>>> {
        let place = self.find(key)?;
        if !place.found.exact {
            return Ok(None);
        }
        let row = self.row_at(place)?;
        self.tree.row_values(&row, 0, None, self.counters).map(Some)
    }

    /// Removes the row with `old_key` and inserts another one, with another key. Errors: as [`Tree::insert`].
    pub fn relocate(&mut self, old_key: &[u8], values: &[Value]) -> Result<()> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        self.check_unique(&new, Some(old_key))?;
        let record = self.record_of(&mut new)?;
        let (lower, upper) = if old_key < key.as_slice() { (old_key, &*key) } else { (&*key, old_key) };
        loop {
            self.latch_both(lower, upper)?;
            if self.take_out(old_key)? && self.put_in(&key, &new, &record)? {
                return Ok(());
            }
        }
    }

    /// Makes the change.
    pub fn commit(mut self) -> Rest<'a> {
        let (room, group) = (std::mem::take(&mut self.room), self.take_group());
        let pages = group.commit(room);
        #[cfg(test)]
        self.tree.encode_if_always(&pages);
        drop(pages);
        self.into_rest()
    }

    /// Makes changes of several trees, as one group of the log: a power cut leaves all of them or none. Returns the
    /// position of `first`, which the group begins with, too. Error: `GroupTooLarge`, and nothing is changed.
    pub(crate) fn commit_all(
        mut changes: Vec<TreeChange<'a>>,
        first: Option<&FirstRecord>,
    ) -> Result<(Vec<Rest<'a>>, Lsn)> {
        let log = changes.first().and_then(|change| change.tree.log.as_ref());
        let bytes: u64 = changes.iter().map(|change| change.group.log_bytes()).sum();
        let bytes = bytes + first.map_or(0, FirstRecord::log_bytes);
        if let Some(limit) = log.map(|log| log.group_max()).filter(|limit| bytes > *limit) {
            return Err(StorageError::GroupTooLarge { bytes, limit });
        }
        let mut room = Room::default();
        let groups = changes.iter_mut().map(|change| {
            room.merge(std::mem::take(&mut change.room));
            change.take_group()
        });
        let groups = groups.collect();
        let Made { pages, first } = commit_all(groups, first, room);
        #[cfg(test)]
        changes.iter().for_each(|change| change.tree.encode_if_always(&pages));
        drop(pages);
        Ok((changes.into_iter().map(TreeChange::into_rest).collect(), first))
    }

    fn into_rest(mut self) -> Rest<'a> {
        self.written.clear();
        self.tree.file.unlinked().lock().append(&mut self.unlinked);
        Rest {
            tree: self.tree,
            counters: self.counters,
            crossed: std::mem::take(&mut self.crossed),
            removed: self.removed.take(),
        }
    }

    /// Adds a row, for whose key there is none or a marked one. Returns false if room had to be made first: then
    /// nothing is latched any more, and the change begins anew. Error: `Duplicate`.
    fn put_in(&mut self, key: &[u8], new: &NewRow<'_>, record: &[u8]) -> Result<bool> {
        let place = self.find(key)?;
        if !self.may_add(place, key)? {
            return Ok(false);
        }
        if place.is_live() {
            return Err(self.duplicate(new));
        }
        self.record_undo_image(place, key, UndoKind::Update, Some(record))?;
        let done = self.edit(place, key, Edit::Put(record))?;
        if done {
            self.group.count(1, 0);
        }
        Ok(done)
    }

    /// Removes the row with the key, if there is one. Returns false as [`TreeChange::put_in`] does.
    pub(crate) fn take_out(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.find(key)?;
        if place.found.exact { self.take_out_at(place, key) } else { Ok(true) }
    }

    /// Removes the row at a place.
    fn take_out_at(&mut self, place: Place, key: &[u8]) -> Result<bool> {
        if !self.join_gaps(place, key)? {
            return Ok(false);
        }
        self.unlink_long_values(place)?;
        let done = self.edit(place, key, Edit::Remove)?;
        if done {
            self.group.count(-i64::from(!place.marked), 0);
            self.removed = Some(key.to_vec());
        }
        Ok(done)
    }
}

impl Rest<'_> {
    /// Does it. Do not hold latches when calling.
    pub fn finish(self) {
        let Rest { tree, counters, crossed, removed } = self;
        tree.free_unlinked(counters);
        let crossed = crossed.into_iter().filter(|_| !tree.probe.skips_post(ROOT_PAGE));
        let posts = crossed.map(|key| tree.post(&key, 0, counters));
        let merged = removed.map(|key| tree.merge(&key, 0, counters));
        posts.chain(merged).for_each(note);
    }
}
