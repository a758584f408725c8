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
//! A change that is dropped before it is committed leaves the rows of the tree as they were. Several trees change together
//! if the changes of all are made ready before the first is committed, and all are committed before the rest of the first
//! is done ([`crate::Table::update`]).

use super::{
    btree::Tree,
    group::{Group, Room, commit_all},
    new_row::NewRow,
    post::note,
    row_edit::Edit,
};
use crate::{Counters, Result, StorageError, file::ROOT_PAGE, stripes::Stripe};
use muster_types::Value;

/// A change of one tree that is being put together.
pub struct Change<'a> {
    pub(super) tree: &'a Tree,
    pub(super) counters: &'a Counters,
    pub(super) trx_id: u64,
    pub(super) group: Group<'a>,
    /// Room in the log for the group.
    room: Room,
    /// Pages of long values that were written for the change.
    pub(super) written: Vec<u32>,
    /// Pages of long values that nothing leads to once the change is made.
    pub(super) unlinked: Vec<u32>,
    /// Keys of leaves that were reached by a link: their parents may not know them.
    pub(super) crossed: Vec<Vec<u8>>,
    /// The key of a row that goes: its leaf may become too empty.
    pub(super) removed: Option<Vec<u8>>,
    /// Keeps others from adding an entry with the same declared parts to a unique tree.
    pub(super) unique: Option<Stripe<'a>>,
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
    /// Begins a change. The leaves that it changes are latched until it is committed or dropped. `room` was asked for before
    /// any page was latched.
    pub fn begin<'a>(&'a self, trx_id: u64, room: Room, counters: &'a Counters) -> Change<'a> {
        self.free_unlinked(counters);
        Change {
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

    /// Marks the row with this key as deleted. Returns whether there was one that was not marked. On an error the rows are
    /// as they were.
    pub fn mark(&self, key: &[u8], trx_id: u64, counters: &Counters) -> Result<bool> {
        let mut change = self.begin(trx_id, self.room()?, counters);
        let found = change.mark(key)?;
        change.commit().finish();
        Ok(found)
    }

    /// Removes the row with this key for good, marked or not; returns its values. On an error the rows are as they were.
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

/// Steps of a change. After an error the change must be dropped, since a part of the step may be in it.
impl<'a> Change<'a> {
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
            self.unlink_long_values(place)?;
            if self.edit(place, &key, Edit::Put(&record))? {
                return Ok(true);
            }
        }
    }

    /// Marks a row as [`Tree::mark`] does.
    pub fn mark(&mut self, key: &[u8]) -> Result<bool> {
        loop {
            let place = self.find(key)?;
            if !place.is_live() {
                return Ok(false);
            }
            if self.edit(place, key, Edit::Mark)? {
                self.group.count(-1, 0);
                return Ok(true);
            }
        }
    }

    /// Removes a row as [`Tree::delete`] does. Returns whether there was one.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        loop {
            if !self.find(key)?.found.exact {
                return Ok(false);
            }
            if self.take_out(key)? {
                return Ok(true);
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
        self.tree.row_values(&row, 0, self.counters).map(Some)
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

    /// Makes changes of several trees, as one group of the log: a power cut leaves all of them or none. Error:
    /// `GroupTooLarge`, and nothing is changed.
    pub fn commit_all(mut changes: Vec<Change<'a>>) -> Result<Vec<Rest<'a>>> {
        let log = changes.first().and_then(|change| change.tree.pool.log());
        let bytes = changes.iter().map(|change| change.group.log_bytes()).sum();
        if let Some(limit) = log.map(|log| log.group_max()).filter(|limit| bytes > *limit) {
            return Err(StorageError::GroupTooLarge { bytes, limit });
        }
        let mut room = Room::default();
        let groups = changes.iter_mut().map(|change| {
            room.merge(std::mem::take(&mut change.room));
            change.take_group()
        });
        let groups = groups.collect();
        let pages = commit_all(groups, room);
        #[cfg(test)]
        changes.iter().for_each(|change| change.tree.encode_if_always(&pages));
        drop(pages);
        Ok(changes.into_iter().map(Change::into_rest).collect())
    }

    fn into_rest(mut self) -> Rest<'a> {
        self.written.clear();
        self.tree.unlinked.lock().append(&mut self.unlinked);
        Rest {
            tree: self.tree,
            counters: self.counters,
            crossed: std::mem::take(&mut self.crossed),
            removed: self.removed.take(),
        }
    }

    /// Adds a row, for whose key there is none or a marked one. Returns false if room had to be made first: then nothing
    /// is latched any more, and the change begins anew. Error: `Duplicate`.
    fn put_in(&mut self, key: &[u8], new: &NewRow<'_>, record: &[u8]) -> Result<bool> {
        let place = self.find(key)?;
        if place.is_live() {
            return Err(self.duplicate(new));
        }
        if place.found.exact {
            self.unlink_long_values(place)?;
        }
        let done = self.edit(place, key, Edit::Put(record))?;
        if done {
            self.group.count(1, 0);
        }
        Ok(done)
    }

    /// Removes the row with the key, if there is one. Returns false as [`Change::put_in`] does.
    fn take_out(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.find(key)?;
        if !place.found.exact {
            return Ok(true);
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

/// Digits of fractional seconds that values of the type show.
pub fn fsp(ty: &muster_types::SqlType) -> u8 {
    match ty {
        muster_types::SqlType::DateTime { fsp }
        | muster_types::SqlType::Timestamp { fsp }
        | muster_types::SqlType::Time { fsp } => *fsp,
        _ => 0,
    }
}
