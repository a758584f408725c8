//! Changes of one row of a leaf, as changes of its slots: where a key is, and what slot says that a row came, was
//! replaced, marked or removed. [`super::changes`] makes them in the page.

use super::{
    BadPage, Leaf,
    changes::SlotChange,
    patch,
    planted::{self, PlantedFault},
    record::record_at,
    slot::{Slot, SlotKind, Version},
};
use crate::tree::page::layout::TreeLayout;
use std::borrow::Cow;

/// The place of a key in a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafPosition {
    /// The position of the first row whose key is not less.
    pub position: usize,
    /// True if that row has the key.
    pub exact: bool,
}

impl<'a> Leaf<'a> {
    /// Looks for a whole key of the tree. Marked rows are found too.
    pub fn find(&self, layout: &TreeLayout, key: &[u8]) -> Result<LeafPosition, BadPage> {
        let keys = self.single_keys(layout, &layout.key)?;
        let mut scratch = Vec::with_capacity(key.len());
        let position = keys.lower_bound(layout, key, 0, &mut scratch)?;
        if position == self.rows() {
            return Ok(LeafPosition { position, exact: false });
        }
        scratch.clear();
        keys.append(&layout.key, self.row_at(position)?.row, &mut scratch)?;
        Ok(LeafPosition { position, exact: scratch == key })
    }

    /// The slot of the row at a position, if it has one: its transaction, and whether it is marked.
    pub fn slot_at(&self, position: usize) -> Result<Option<Slot>, BadPage> {
        self.row_at(position)?.slot.map(|slot| self.slots().get(slot)).transpose()
    }

    /// The record of the row at a position, wherever the row lies.
    pub fn record_of(&self, layout: &TreeLayout, position: usize) -> Result<Cow<'a, [u8]>, BadPage> {
        let row = self.row_at(position)?.row;
        let in_record = row.checked_sub(self.base_rows()).filter(|slot| self.slots().patched(*slot).is_none());
        match in_record.filter(|_| self.former().is_none()) {
            Some(slot) => record_at(self.page(), self.slots().record(slot)).map(Cow::Borrowed),
            None => {
                let block = self.to_block_of_row(layout, row)?;
                Ok(Cow::Owned(layout.record.record_of(&block, 0)))
            }
        }
    }

    /// Puts a row where its key was looked for: in the place of the row that has the key, marked or not, or between
    /// others.
    ///
    /// The leaf is of the newest row layout, as for all changes.
    pub fn put<'r>(&self, found: LeafPosition, record: &'r [u8], version: Version) -> Result<SlotChange<'r>, BadPage> {
        debug_assert!(self.former().is_none(), "a leaf of a former layout is written anew before it is changed");
        if !found.exact {
            let record = Cow::Borrowed(record);
            let (at, place, shift) = self.slot_before(found.position)?;
            let slot = Slot { record: 0, place, shift, kind: SlotKind::Inserted, marked: false, version };
            return Ok(SlotChange::Add { at, slot, record });
        }
        let place = self.row_at(found.position)?;
        let old = place.slot.map(|slot| self.slots().get(slot)).transpose()?;
        let (kind, record) = match old {
            Some(Slot { kind: SlotKind::Inserted, .. }) => (SlotKind::Inserted, Cow::Borrowed(record)),
            _ => {
                let row = old.map_or(place.row, |slot| slot.place.into());
                match patch::of(self, self.record_layout(), row, record)? {
                    None => (SlotKind::Replaced, Cow::Borrowed(record)),
                    Some(patch) if patch.is_empty() => (SlotKind::Version, Cow::Borrowed(&[][..])),
                    Some(patch) => (SlotKind::Patched, Cow::Owned(patch)),
                }
            }
        };
        self.change_row(found.position, kind, |slot| Slot { kind, marked: false, version, ..slot }, record)
    }

    /// Marks the row at a position as deleted.
    pub fn mark(&self, position: usize, version: Version) -> Result<SlotChange<'a>, BadPage> {
        self.set_mark(position, version, true)
    }

    /// Takes the mark of the row at a position away: the row gets back the version that it had before.
    pub fn unmark(&self, position: usize, version: Version) -> Result<SlotChange<'a>, BadPage> {
        self.set_mark(position, version, false)
    }

    fn set_mark(&self, position: usize, version: Version, marked: bool) -> Result<SlotChange<'a>, BadPage> {
        let place = self.row_at(position)?;
        let marked = marked && !planted::has(PlantedFault::MarkedStays);
        let kind = place.slot.map(|slot| self.slots().get(slot)).transpose()?.map(|slot| slot.kind);
        if let (Some(at), Some(SlotKind::Version), false, 0) = (place.slot, kind, marked, version.trx_id) {
            return Ok(SlotChange::Drop { at });
        }
        let record = match place.row.checked_sub(self.base_rows()) {
            Some(slot) => Cow::Owned(record_at(self.page(), self.slots().record(slot))?.to_vec()),
            None => Cow::Borrowed(&[][..]),
        };
        self.change_row(position, SlotKind::Version, |slot| Slot { marked, version, ..slot }, record)
    }

    /// Removes the row at a position for good, whether it is marked or not.
    pub fn remove(&self, position: usize) -> Result<SlotChange<'static>, BadPage> {
        let place = self.row_at(position)?;
        match place.slot.map(|at| self.slots().get(at).map(|slot| (at, slot))).transpose()? {
            Some((at, Slot { kind: SlotKind::Inserted, .. })) => Ok(SlotChange::Drop { at }),
            _ => {
                let removed =
                    if planted::has(PlantedFault::RemovedStays) { SlotKind::Version } else { SlotKind::Removed };
                let gone = |slot: Slot| Slot { kind: removed, marked: false, ..slot };
                self.change_row(position, removed, gone, Cow::Borrowed(&[]))
            }
        }
    }

    /// A change of the slot of the row at a position, or a slot of this kind for a row that has none.
    fn change_row<'r>(
        &self,
        position: usize,
        new: SlotKind,
        change: impl Fn(Slot) -> Slot,
        record: Cow<'r, [u8]>,
    ) -> Result<SlotChange<'r>, BadPage> {
        if let Some(at) = self.row_at(position)?.slot {
            let slot = Slot { record: 0, ..change(self.slots().get(at)?) };
            return Ok(SlotChange::Change { at, slot, record });
        }
        let (at, place, shift) = self.slot_before(position)?;
        let slot = Slot { record: 0, place, shift, kind: new, marked: false, version: Version::default() };
        Ok(SlotChange::Add { at, slot: change(slot), record })
    }

    /// The number, place and shift of a slot before the row at a position, or behind all rows.
    fn slot_before(&self, position: usize) -> Result<(usize, u16, i16), BadPage> {
        let slots = self.slots();
        if position == self.rows() {
            return Ok((slots.len(), self.base_rows() as u16, slots.shift()));
        }
        let place = self.row_at(position)?;
        match place.slot {
            Some(at) => slots.get(at).map(|slot| (at, slot.place, slot.shift)),
            None => Ok((slots.upto(position), place.row as u16, (position as i64 - place.row as i64) as i16)),
        }
    }
}
