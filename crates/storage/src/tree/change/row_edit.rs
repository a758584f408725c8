//! Edits of one row: the leaf that it belongs to, latched, and the change of a slot that the edit is.

use super::{
    group::{Group, Member},
    modify::TreeChange,
};
use crate::tree::{
    page::{
        block::RowBlock,
        leaf::{
            BadPage, LeafPosition, SLOT,
            changes::{bytes_needed, free_bytes},
            max_rows,
            slot::{PENDING, Version},
        },
        page_change::PageChange,
    },
    probe::Event,
    read::descent::DescentTarget,
};
use crate::{Result, buffer_pool::PageGuardMut, file::ROOT_PAGE};
use std::borrow::Cow;

/// The place of a key in a latched leaf, as the change has left the leaf so far.
#[derive(Clone, Copy)]
pub(in crate::tree) struct Place {
    pub leaf: Member,
    pub found: LeafPosition,
    /// True if there is a row with the key that is marked as deleted.
    pub marked: bool,
    /// The version of the row with the key, if there is one.
    pub version: Version,
}

impl Place {
    /// Returns true if there is a row with the key that is not marked.
    pub fn is_live(&self) -> bool {
        self.found.exact && !self.marked
    }
}

/// The fate of a row in a change.
#[derive(Clone, Copy)]
pub(in crate::tree) enum Edit<'r> {
    /// This record is put in its place, or between other rows.
    Put(&'r [u8]),
    /// It becomes the version that it was before a change.
    Restore {
        record: &'r [u8],
        version: Version,
        marked: bool,
    },
    Mark,
    /// Its mark goes, and it has this version again.
    Unmark(Version),
    Remove,
}

impl<'a> TreeChange<'a> {
    /// Latches the leaves of two keys, of which the first is the lower one. Latches no other leaf of the tree.
    pub(in crate::tree) fn latch_both(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        let tree = self.tree;
        loop {
            let left = self.latch_leaf(lower)?;
            if !DescentTarget::Key(upper).is_right_of(tree.fences(self.group.page(left))?) {
                return Ok(());
            }
            let right = tree.descend_from(self.group.page(left), upper, self.counters)?;
            if let Some((page, crossed)) = right {
                self.add_leaf(page, upper, crossed);
                return Ok(());
            }
            // Somebody changes an inner page on the way: the wait for it comes without the leaf.
            self.release();
            tree.descend(DescentTarget::Key(upper), 1, self.counters)?;
        }
    }

    /// Latches the leaf that a key belongs to, unless it is latched already; no other one may be.
    fn latch_leaf(&mut self, key: &[u8]) -> Result<Member> {
        let (tree, target) = (self.tree, DescentTarget::Key(key));
        for leaf in self.group.members() {
            let fences = tree.fences(self.group.page(leaf))?;
            if !target.is_left_of(fences) && !target.is_right_of(fences) {
                return Ok(leaf);
            }
        }
        let Some((page, crossed)) = tree.descend_mut(key, 0, self.counters)? else {
            return Err(tree.corrupt(ROOT_PAGE, BadPage("no leaf")));
        };
        Ok(self.add_leaf(page, key, crossed))
    }

    /// Takes over the leaf of a key. `crossed`: it was reached by a right link.
    fn add_leaf(&mut self, page: PageGuardMut, key: &[u8], crossed: bool) -> Member {
        if crossed {
            self.tree.probe.hit(Event::Cross);
            self.crossed.push(key.to_vec());
        }
        self.group.add(page)
    }

    /// Finds a key in its leaf, which is latched unless it is already.
    pub(in crate::tree) fn find(&mut self, key: &[u8]) -> Result<Place> {
        let (tree, leaf) = (self.tree, self.latch_leaf(key)?);
        let page = self.group.view(leaf);
        let rows = tree.leaf(&page)?;
        let place = rows.find(&tree.layout, key).and_then(|found| {
            let slot = if found.exact { rows.slot_at(found.position)? } else { None };
            let (marked, version) = slot.map_or((false, Version::default()), |slot| (slot.marked, slot.version));
            Ok(Place { leaf, found, marked, version })
        });
        place.map_err(|e| tree.corrupt(self.group.page_no(leaf), e))
    }

    pub(in crate::tree) fn take_group(&mut self) -> Group<'a> {
        let group = Group::new(self.tree, self.counters);
        std::mem::replace(&mut self.group, group)
    }

    /// Lets go of what is latched, and forgets what was to become of it.
    pub(in crate::tree) fn release(&mut self) {
        drop(self.take_group());
        self.neighbours.clear();
        self.unlinked.clear();
        self.removed = None;
    }

    /// Edits the row at a place. Returns false if room had to be made first.
    pub(in crate::tree) fn edit(&mut self, place: Place, key: &[u8], edit: Edit<'_>) -> Result<bool> {
        let (tree, page_no) = (self.tree, self.group.page_no(place.leaf));
        let corrupt = |e| tree.corrupt(page_no, e);
        let (free, needed) = {
            let page = self.group.view(place.leaf);
            let roll_pointer = if self.keeps_versions() { PENDING } else { 0 };
            let new = Version { trx_id: self.trx_id, roll_pointer };
            let leaf = tree.leaf(&page)?;
            if leaf.former().is_some() {
                drop(page);
                let page = self.take_group().into_page(place.leaf);
                self.release();
                tree.renew(page, key, self.counters)?;
                return Ok(false);
            }
            let (change, is_put) = match edit {
                Edit::Put(record) => (leaf.put(place.found, record, new), true),
                Edit::Restore { record, version, marked } => {
                    (leaf.put(place.found, record, version).map(|change| change.with_mark(marked)), true)
                }
                Edit::Mark => (leaf.mark(place.found.position, new), false),
                Edit::Unmark(version) => (leaf.unmark(place.found.position, version), false),
                Edit::Remove => (leaf.remove(place.found.position), false),
            };
            let change = change.map_err(corrupt)?;
            // A row that is put in leaves room for the slot of a row that goes.
            let reserve = if is_put && leaf.base_rows() > 0 { SLOT } else { 0 };
            let needed = bytes_needed(&page, &change).map_err(corrupt)? + reserve;
            let free = free_bytes(&page).map_err(corrupt)?;
            let too_many = is_put && !place.found.exact && leaf.rows() >= max_rows(page.len());
            if needed <= free && !too_many {
                let change = PageChange::Slot(change.into_owned());
                self.group.raise_trx_id(self.trx_id);
                self.group.change(place.leaf, change);
                return Ok(true);
            }
            (free, needed)
        };
        let before = free_bytes(self.group.page(place.leaf)).map_err(corrupt)?;
        let page = self.take_group().into_page(place.leaf);
        self.release();
        tree.make_room(page, key, before.saturating_sub(free) + needed, self.counters)?;
        Ok(false)
    }

    /// The row at a place, as a record.
    pub(in crate::tree) fn record_at(&self, place: Place) -> Result<Vec<u8>> {
        let (tree, page) = (self.tree, self.group.view(place.leaf));
        let record = tree.leaf(&page)?.record_of(&tree.layout, place.found.position).map(Cow::into_owned);
        record.map_err(|e| tree.corrupt(self.group.page_no(place.leaf), e))
    }

    /// The row at a place.
    pub(in crate::tree) fn row_at(&self, place: Place) -> Result<RowBlock> {
        let (tree, page) = (self.tree, self.group.view(place.leaf));
        let leaf = tree.leaf(&page)?;
        let row = leaf.row_at(place.found.position);
        let row = row.and_then(|at| leaf.to_block_of_row(&tree.layout, at.row));
        row.map_err(|e| tree.corrupt(self.group.page_no(place.leaf), e))
    }
}
