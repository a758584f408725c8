//! Changing a tree: rows that come, go and are replaced.
//!
//! ```text
//!   Tree::begin -> Change     insert, replace, delete, relocate: the leaf is latched, has room, and it is known what
//!                             becomes of it; all that can fail is done
//!     commit                  the leaf changes (super::group): nothing here can fail. What may wait comes after it:
//!                             separators are posted, pages freed, and pages that became too empty merged
//! ```
//!
//! A change that is dropped before it is committed leaves the rows of the tree as they were. Several trees change together
//! if the changes of all are made ready before the first is committed ([`crate::Table::update`]).

use super::{
    block::{OverflowPointer, RowBlock},
    btree::Tree,
    descent::Target,
    group::{Group, Member},
    inner,
    leaf::{BadPage, RowExtents},
    overflow,
    probe::Event,
};
use crate::{
    Counters, Result, StorageError,
    file::ROOT_PAGE,
    key::{ByteRange, prefix_end},
    page::{NO_PAGE, PageHeader},
};
use muster_types::Value;
use parking_lot::RwLockWriteGuard;
use std::ops::Range;

/// A change of one tree that is being put together.
pub struct Change<'a> {
    pub(super) tree: &'a Tree,
    pub(super) counters: &'a Counters,
    trx_id: u64,
    group: Group<'a>,
    /// Pages of long values that were written for the change.
    written: Vec<u32>,
    /// Pages of long values that nothing leads to once the change is made.
    unlinked: Vec<u32>,
    /// Keys of leaves that were reached by a link: their parents may not know them.
    crossed: Vec<Vec<u8>>,
    /// The key of a row that goes: its leaf may become too empty.
    removed: Option<Vec<u8>>,
    /// Keeps readers from descending and other writers away.
    _shape: RwLockWriteGuard<'a, ()>,
}

/// The place of a key in a latched leaf, as the change has left the leaf so far.
#[derive(Clone, Copy)]
struct Place {
    leaf: Member,
    /// The first row not before the key.
    row: usize,
    /// True if this row has the key.
    exact: bool,
}

impl Tree {
    /// Begins a change. Readers that descend and other writers wait until it is committed or dropped.
    pub fn begin<'a>(&'a self, trx_id: u64, counters: &'a Counters) -> Change<'a> {
        let shape = self.shape.write();
        self.free_unlinked(counters);
        Change {
            tree: self,
            counters,
            trx_id,
            group: Group::new(self, counters),
            written: Vec::new(),
            unlinked: Vec::new(),
            crossed: Vec::new(),
            removed: None,
            _shape: shape,
        }
    }

    /// Adds a row: values of the stored columns. Errors: `Duplicate` (unique indexes: the declared parts; others: the
    /// whole key), `RowTooLarge`, `WrongType`, and those of reading and allocating pages. On an error the rows are as
    /// they were.
    pub fn insert(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<()> {
        let mut change = self.begin(trx_id, counters);
        change.insert(values)?;
        change.commit();
        Ok(())
    }

    /// Puts a row in the place of the one with the same key. Returns whether there was one. On an error the rows are as
    /// they were.
    pub fn replace(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<bool> {
        let mut change = self.begin(trx_id, counters);
        let found = change.replace(values)?;
        change.commit();
        Ok(found)
    }

    /// Removes the row with this key; returns its values. On an error the rows are as they were.
    pub fn delete(&self, key: &[u8], trx_id: u64, counters: &Counters) -> Result<Option<Vec<Value>>> {
        let mut change = self.begin(trx_id, counters);
        let deleted = change.delete(key)?;
        change.commit();
        Ok(deleted)
    }

    /// The next hidden row number, which is then taken. Errors: those of changing the file header.
    pub fn take_row_id(&self, counters: &Counters) -> Result<u64> {
        self.file.take_row_id(|bound| {
            let mut group = Group::new(self, counters);
            group.reserve_row_ids(bound)?;
            group.commit();
            Ok(())
        })
    }

    /// The key of a row given as values of the stored columns.
    pub fn key_of_values(&self, values: &[Value]) -> Result<Vec<u8>> {
        self.key_of(&self.one_row(values)?)
    }

    fn one_row(&self, values: &[Value]) -> Result<RowBlock> {
        if values.len() != self.layout.columns.len() {
            let value = format!("{} values for {} columns", values.len(), self.layout.columns.len());
            return Err(StorageError::WrongType { value });
        }
        let mut block = RowBlock::new(&self.layout);
        block.push_values(&self.layout, values)?;
        Ok(block)
    }

    fn key_of(&self, block: &RowBlock) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.layout.key.append_row(&block.row(0), &mut key);
        let limit = inner::max_key(self.file.page_size());
        if key.len() > limit { Err(StorageError::RowTooLarge { bytes: key.len(), limit }) } else { Ok(key) }
    }

    /// Puts pages that nothing leads to on the free list. Those for which this fails are tried again with the next
    /// change: the change that left them behind is made all the same.
    fn free_unlinked(&self, counters: &Counters) {
        let mut unlinked = self.unlinked.lock();
        while let Some(&page_no) = unlinked.last() {
            if let Err(e) = self.free_page(page_no, counters) {
                tracing::warn!("page {page_no} is not free yet: {e}");
                return;
            }
            unlinked.pop();
        }
    }

    fn free_page(&self, page_no: u32, counters: &Counters) -> Result<()> {
        let mut group = Group::new(self, counters);
        let page = group.latch(page_no)?;
        group.free(page)?;
        group.commit();
        Ok(())
    }
}

/// What a tree changes. After an error the change must be dropped, since a part of what was asked may be in it.
impl Change<'_> {
    /// Inserts a row as [`Tree::insert`] does.
    pub fn insert(&mut self, values: &[Value]) -> Result<()> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        self.check_unique(&new, &key, None)?;
        self.spill(&mut new)?;
        while !self.put_in(&key, &new)? {}
        Ok(())
    }

    /// Replaces a row as [`Tree::replace`] does.
    pub fn replace(&mut self, values: &[Value]) -> Result<bool> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        if !self.find(&key)?.exact {
            return Ok(false);
        }
        // Long values are written while no leaf is latched.
        self.release();
        self.spill(&mut new)?;
        loop {
            let place = self.find(&key)?;
            self.unlink_long_values(place)?;
            if self.edit(place, &key, place.row..place.row + 1, Some(&new))? {
                return Ok(true);
            }
        }
    }

    /// Deletes a row as [`Tree::delete`] does.
    pub fn delete(&mut self, key: &[u8]) -> Result<Option<Vec<Value>>> {
        let place = self.find(key)?;
        if !place.exact {
            return Ok(None);
        }
        let block = self.block_of(place.leaf)?;
        let values = self.tree.row_values(&block, place.row, self.counters)?;
        while !self.take_out(key)? {}
        Ok(Some(values))
    }

    /// Removes the row with `old_key` and inserts another one, with another key. Errors: as [`Tree::insert`].
    pub fn relocate(&mut self, old_key: &[u8], values: &[Value]) -> Result<()> {
        let mut new = self.tree.one_row(values)?;
        let key = self.tree.key_of(&new)?;
        self.check_unique(&new, &key, Some(old_key))?;
        self.spill(&mut new)?;
        // The leaf to the right first: the way to a leaf leads over leaves to its left only.
        while !match old_key < key.as_slice() {
            true => self.put_in(&key, &new)? && self.take_out(old_key)?,
            false => self.take_out(old_key)? && self.put_in(&key, &new)?,
        } {}
        Ok(())
    }

    /// Makes the change.
    pub fn commit(mut self) {
        drop(self.take_group().commit());
        self.written.clear();
        let (tree, counters) = (self.tree, self.counters);
        tree.unlinked.lock().append(&mut self.unlinked);
        tree.free_unlinked(counters);
        let crossed = std::mem::take(&mut self.crossed).into_iter().filter(|_| !tree.probe.skips_post(ROOT_PAGE));
        let posts = crossed.map(|key| tree.post(&key, 0, counters));
        let merged = self.removed.take().map(|key| tree.merge(&key, 0, counters));
        for late in posts.chain(merged) {
            note(late);
        }
    }

    /// Adds a row, for which there is none with the same key. Returns false if room had to be made first: then nothing
    /// is latched any more, and the change begins anew.
    fn put_in(&mut self, key: &[u8], new: &RowBlock) -> Result<bool> {
        let place = self.find(key)?;
        debug_assert!(!place.exact, "whether the key is new has been checked");
        let done = self.edit(place, key, place.row..place.row, Some(new))?;
        if done {
            self.group.count(1, 0);
        }
        Ok(done)
    }

    /// Removes the row with the key, if there is one. Returns false as [`Change::put_in`] does.
    fn take_out(&mut self, key: &[u8]) -> Result<bool> {
        let place = self.find(key)?;
        if !place.exact {
            return Ok(true);
        }
        self.unlink_long_values(place)?;
        let done = self.edit(place, key, place.row..place.row + 1, None)?;
        if done {
            self.group.count(-1, 0);
            self.removed = Some(key.to_vec());
        }
        Ok(done)
    }

    fn take_group(&mut self) -> Group<'_> {
        let group = Group::new(self.tree, self.counters);
        std::mem::replace(&mut self.group, group)
    }

    /// Lets go of what is latched, and forgets what was to become of it.
    fn release(&mut self) {
        drop(self.take_group());
        self.unlinked.clear();
        self.removed = None;
    }

    /// Puts rows in the place of some of a leaf's. Returns false if room had to be made first.
    fn edit(&mut self, place: Place, key: &[u8], rows: Range<usize>, with: Option<&RowBlock>) -> Result<bool> {
        let (tree, counters) = (self.tree, self.counters);
        let nothing = RowBlock::new(&tree.layout);
        let block = self.block_of(place.leaf)?.splice(&tree.layout, rows, with.unwrap_or(&nothing));
        let page = self.group.view(place.leaf);
        let fences = tree.fences(&page)?;
        let extents = RowExtents::of(&block, 0..block.rows());
        if let Some(image) = tree.leaf_image(&block, &extents, fences, PageHeader(&page).next()) {
            drop(page);
            self.group.raise_trx_id(self.trx_id);
            self.group.image(place.leaf, image);
            return Ok(true);
        }
        drop(page);
        let page = self.take_group().into_page(place.leaf);
        self.release();
        tree.split_leaf(page, key, counters)?;
        Ok(false)
    }

    fn block_of(&self, leaf: Member) -> Result<RowBlock> {
        let page = self.group.view(leaf);
        let block = self.tree.leaf(&page)?.to_block(&self.tree.layout);
        block.map_err(|e| self.tree.corrupt(self.group.page_no(leaf), e))
    }

    /// Latches the leaf that a key belongs to, unless it is latched already.
    fn find(&mut self, key: &[u8]) -> Result<Place> {
        let tree = self.tree;
        let mut latched = None;
        for leaf in self.group.members() {
            let target = Target::Key(key);
            let fences = tree.fences(self.group.page(leaf))?;
            if !target.is_left_of(fences) && !target.is_right_of(fences) {
                latched = Some(leaf);
            }
        }
        let leaf = match latched {
            Some(leaf) => leaf,
            None => {
                let Some((page, crossed)) = tree.descend_mut(key, 0, self.counters)? else {
                    return Err(tree.corrupt(ROOT_PAGE, BadPage("no leaf")));
                };
                if crossed {
                    tree.probe.hit(Event::Cross);
                    self.crossed.push(key.to_vec());
                }
                self.group.add(page)
            }
        };
        let (page_no, page) = (self.group.page_no(leaf), self.group.view(leaf));
        let corrupt = |e| tree.corrupt(page_no, e);
        let rows = tree.leaf(&page)?;
        let row = rows.lower_bound(&tree.layout, key).map_err(corrupt)?;
        let exact = row < rows.rows() && rows.key(&tree.layout, row).map_err(corrupt)? == key;
        Ok(Place { leaf, row, exact })
    }

    /// Error: `Duplicate` if there is an entry with the same declared parts (in a unique tree) or with the same key, other
    /// than the one with the key `except`.
    fn check_unique(&self, new: &RowBlock, key: &[u8], except: Option<&[u8]>) -> Result<()> {
        let layout = &self.tree.layout;
        let mut declared = Vec::new();
        layout.key.append_row_parts(&new.row(0), layout.declared_parts, &mut declared);
        let has_null =
            layout.key.parts[..layout.declared_parts].iter().any(|p| p.nullable && new.columns[p.column].is_null(0));
        let by_declared = layout.unique && !has_null && layout.declared_parts > 0;
        let range = match by_declared {
            true => ByteRange { upper: prefix_end(&declared), lower: declared },
            false => ByteRange { lower: key.to_vec(), upper: prefix_end(key) },
        };
        if !self.has_other_than(&range, except)? {
            return Ok(());
        }
        let parts = if by_declared { layout.declared_parts } else { layout.key.parts.len() };
        let entry = layout.key.parts[..parts].iter().map(|p| {
            let ty = &layout.columns[p.column].ty;
            let value = new.columns[p.column].value(0, ty, None);
            value.to_text(fsp(ty)).unwrap_or_else(|| "NULL".into())
        });
        Err(StorageError::Duplicate { entry: entry.collect::<Vec<_>>().join("-"), index: layout.index })
    }

    /// Returns true if there is a key in a range other than `except`.
    fn has_other_than(&self, range: &ByteRange, except: Option<&[u8]>) -> Result<bool> {
        let tree = self.tree;
        let mut page = tree.descend(Target::Key(&range.lower), 0, self.counters)?;
        loop {
            let corrupt = |e| tree.corrupt(page.page_no(), e);
            let leaf = tree.leaf(&page)?;
            for row in leaf.lower_bound(&tree.layout, &range.lower).map_err(corrupt)?..leaf.rows() {
                let key = leaf.key(&tree.layout, row).map_err(corrupt)?;
                if !range.contains(&key) {
                    return Ok(false);
                }
                if except != Some(&key) {
                    return Ok(true);
                }
            }
            let high = leaf.fences().map_err(corrupt)?.high;
            if high.is_none_or(|high| !range.contains(high)) {
                return Ok(false);
            }
            let next = tree.fetch(leaf.right(), self.counters)?;
            tree.check_neighbour(&page, &next)?;
            page = next;
        }
    }

    /// Puts long values of a row on pages of their own, each in a group of its own: nothing leads to them before the
    /// change is made.
    fn spill(&mut self, block: &mut RowBlock) -> Result<()> {
        let (tree, counters, written) = (self.tree, self.counters, &mut self.written);
        let page_size = tree.file.page_size();
        overflow::spill(block, 0..1, &tree.layout, page_size, |value| {
            let len = u32::try_from(value.len());
            let len = len.map_err(|_| StorageError::RowTooLarge { bytes: value.len(), limit: u32::MAX as usize })?;
            // From the end, so that each page knows the next.
            let mut next = NO_PAGE;
            for start in (0..value.len()).step_by(overflow::piece_bytes(page_size)).rev() {
                let mut image = vec![0; page_size];
                overflow::write_piece(&value[start..], next, &mut image);
                let mut group = Group::new(tree, counters);
                let page = group.allocate()?;
                next = group.page_no(page);
                group.image(page, image);
                group.commit();
                written.push(next);
            }
            Ok(OverflowPointer { page: next, len })
        })
    }

    /// The pages of a row's long values go with the row.
    fn unlink_long_values(&mut self, place: Place) -> Result<()> {
        let (tree, block) = (self.tree, self.block_of(place.leaf)?);
        for column in block.columns.iter().filter(|c| c.is_overflow(place.row)) {
            let Some(pointer) = OverflowPointer::from_bytes(column.bytes(place.row)) else { continue };
            let (mut page_no, mut rest) = (pointer.page, pointer.len as usize);
            while rest > 0 {
                let page = tree.fetch(page_no, self.counters)?;
                let (piece, next) = overflow::read_piece(&page, rest).map_err(|e| tree.corrupt(page_no, e))?;
                rest -= piece.len();
                self.unlinked.push(page_no);
                page_no = next;
            }
        }
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // The pages of long values of a change that was not made.
        self.tree.unlinked.lock().append(&mut self.written);
    }
}

/// Notes that what may wait was not done: the tree is sound without it, and whoever comes by tries again.
pub(super) fn note(outcome: Result<()>) {
    if let Err(e) = outcome {
        tracing::debug!("put off: {e}");
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
