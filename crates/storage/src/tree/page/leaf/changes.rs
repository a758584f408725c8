//! Changes of a leaf's slots, as they are made by a writer and repeated from the log: bytes of the page move, and
//! nothing is asked of the tree's layout.

use super::{
    BadPage, MINIPAGES_END, RECORDS_DEAD, RECORDS_START, SLOT, SLOT_COUNT,
    fences::Fences,
    planted::{self, PlantedFault},
    record::record_at,
    slot::{PENDING, Slot},
};
use crate::page::{PAGE_HEADER, PageHeader, PageHeaderMut, u16_at, u32_at, u64_at};
use std::borrow::Cow;

/// A change of one slot. What it says of the slot's record's offset does not matter: a place is found for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotChange<'a> {
    /// A slot that is new, before slot `at`; the record is empty if its kind has none.
    Add {
        at: usize,
        slot: Slot,
        record: Cow<'a, [u8]>,
    },
    /// A slot in the place of slot `at` and its record.
    Change {
        at: usize,
        slot: Slot,
        record: Cow<'a, [u8]>,
    },
    Drop {
        at: usize,
    },
}

impl SlotChange<'_> {
    pub fn at(&self) -> usize {
        match self {
            SlotChange::Add { at, .. } | SlotChange::Change { at, .. } | SlotChange::Drop { at } => *at,
        }
    }

    /// The slot as it will be; `None` if it goes.
    pub fn slot(&self) -> Option<&Slot> {
        match self {
            SlotChange::Add { slot, .. } | SlotChange::Change { slot, .. } => Some(slot),
            SlotChange::Drop { .. } => None,
        }
    }

    /// The same, apart from where the record was.
    pub fn into_owned(self) -> SlotChange<'static> {
        let own = |record: Cow<'_, [u8]>| Cow::Owned(record.into_owned());
        match self {
            SlotChange::Add { at, slot, record } => SlotChange::Add { at, slot, record: own(record) },
            SlotChange::Change { at, slot, record } => SlotChange::Change { at, slot, record: own(record) },
            SlotChange::Drop { at } => SlotChange::Drop { at },
        }
    }

    /// The same, of a row behind so many others that are put in at the same place.
    pub fn behind(mut self, rows: usize) -> Self {
        if let SlotChange::Add { at, slot, .. } = &mut self {
            *at += rows;
            slot.shift += rows as i16;
        }
        self
    }

    /// The same, of a slot that is marked or not.
    pub fn with_mark(mut self, marked: bool) -> Self {
        if let SlotChange::Add { slot, .. } | SlotChange::Change { slot, .. } = &mut self {
            slot.marked = marked;
        }
        self
    }

    fn record(&self) -> &[u8] {
        match self {
            SlotChange::Add { record, .. } | SlotChange::Change { record, .. } => record,
            SlotChange::Drop { .. } => &[],
        }
    }
}

/// The parts of a leaf page that changes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Areas {
    /// The offset of the first slot in the page.
    pub slots: usize,
    pub slot_count: usize,
    /// The offset of the first byte of records, and the offset behind the last one.
    pub records: usize,
    pub records_end: usize,
    /// Bytes of records that no slot leads to.
    pub dead: usize,
}

impl Areas {
    pub fn of(page: &[u8]) -> Result<Areas, BadPage> {
        let minipages_end = (u32_at(page, MINIPAGES_END) as usize).max(PAGE_HEADER);
        let slot_count = usize::from(u16_at(page, SLOT_COUNT));
        let fences = Fences::of(page)?;
        let areas = Areas {
            slots: minipages_end.next_multiple_of(8),
            slot_count,
            records: u32_at(page, RECORDS_START) as usize,
            records_end: page.len() - fences.bytes(),
            dead: usize::from(u16_at(page, RECORDS_DEAD)),
        };
        // Without slots, minipages may end right where the fences begin.
        let ordered = (slot_count == 0 && minipages_end <= areas.records || areas.slots_end() <= areas.records)
            && areas.records <= areas.records_end
            && areas.dead <= areas.records_end - areas.records;
        if ordered { Ok(areas) } else { Err(BadPage("slots and records overlap")) }
    }

    pub fn slots_end(&self) -> usize {
        self.slots + self.slot_count * SLOT
    }

    /// Bytes between slots and records.
    fn gap(&self) -> usize {
        self.records.saturating_sub(self.slots_end())
    }

    /// Bytes that new slots and records can take.
    pub fn free(&self) -> usize {
        self.gap() + self.dead
    }
}

/// Bytes that new slots and records can take in a leaf page.
pub fn free_bytes(page: &[u8]) -> Result<usize, BadPage> {
    Areas::of(page).map(|areas| areas.free())
}

/// The offset of a roll pointer in its slot.
const ROLL_POINTER: usize = 16;

/// Gives a slot its roll pointer. Errors: the page has no such slot.
pub fn set_roll_pointer(page: &mut [u8], slot: usize, roll_pointer: u64) -> Result<(), BadPage> {
    let areas = Areas::of(page)?;
    let slots = page[areas.slots..areas.slots_end()].as_chunks_mut::<SLOT>().0;
    let slot = slots.get_mut(slot).ok_or(BadPage("no such slot"))?;
    slot[ROLL_POINTER..].copy_from_slice(&roll_pointer.to_le_bytes());
    Ok(())
}

/// Gives the slots whose roll pointer is still to be known ([`PENDING`]) this one.
pub fn set_pending_roll_pointers(page: &mut [u8], roll_pointer: u64) -> Result<(), BadPage> {
    let areas = Areas::of(page)?;
    for slot in page[areas.slots..areas.slots_end()].as_chunks_mut::<SLOT>().0 {
        if u64_at(slot, ROLL_POINTER) == PENDING {
            slot[ROLL_POINTER..].copy_from_slice(&roll_pointer.to_le_bytes());
        }
    }
    Ok(())
}

/// Bytes that a change takes of those that are free. Errors: a page that has no such slot, or whose parts overlap.
pub fn bytes_needed(page: &[u8], change: &SlotChange<'_>) -> Result<usize, BadPage> {
    let areas = Areas::of(page)?;
    let slots = areas.slot_count + usize::from(matches!(change, SlotChange::Add { .. }));
    if change.at() >= slots {
        return Err(BadPage("no such slot"));
    }
    let freed = match change {
        SlotChange::Add { .. } => 0,
        _ => old_record(page, &areas, change.at())?.map_or(0, <[u8]>::len),
    };
    let needed = change.record().len() + if slots > areas.slot_count { SLOT } else { 0 };
    Ok(needed.saturating_sub(freed))
}

/// Returns whether a change fits the page. Errors: as [`bytes_needed`].
pub fn has_room(page: &[u8], change: &SlotChange<'_>) -> Result<bool, BadPage> {
    Ok(bytes_needed(page, change)? <= free_bytes(page)?)
}

/// Makes a change for which [`has_room`] was true.
pub fn apply(page: &mut [u8], change: &SlotChange<'_>) -> Result<(), BadPage> {
    if !has_room(page, change)? {
        return Err(BadPage("no room for a slot"));
    }
    let areas = Areas::of(page)?;
    let (at, place) = (change.at(), areas.slots + change.at() * SLOT);
    let mut shift = change.slot().map_or(0, |slot| slot.kind.shift());
    let mut kept = None;
    if !matches!(change, SlotChange::Add { .. }) {
        shift -= slot_at(page, place)?.kind.shift();
        kept = free_record(page, &areas, at, change.record().len())?;
    }
    let behind = match change {
        SlotChange::Drop { .. } => {
            page.copy_within(place + SLOT..areas.slots_end(), place);
            set_slot_count(page, areas.slot_count - 1);
            if areas.slot_count == 1 {
                set_records(page, areas.records_end);
                set_dead(page, 0);
            }
            place
        }
        SlotChange::Change { slot, record, .. } => {
            let offset = kept.map_or_else(|| put_record(page, record, 0), Ok)?;
            page[place..place + SLOT].copy_from_slice(&Slot { record: offset, ..*slot }.to_bytes());
            if kept.is_none() || !planted::has(PlantedFault::KeepRecord) {
                page[usize::from(offset)..][..record.len()].copy_from_slice(record);
            }
            place + SLOT
        }
        SlotChange::Add { slot, record, .. } => {
            let offset = put_record(page, record, SLOT)?;
            page.copy_within(place..areas.slots_end(), place + SLOT);
            page[place..place + SLOT].copy_from_slice(&Slot { record: offset, ..*slot }.to_bytes());
            set_slot_count(page, areas.slot_count + 1);
            place + SLOT
        }
    };
    let end = Areas::of(page)?.slots_end();
    if planted::has(PlantedFault::KeepShift) {
        shift = 0;
    }
    for slot in page[behind..end].as_chunks_mut::<SLOT>().0.iter_mut().filter(|_| shift != 0) {
        let shifted = (u16_at(slot, 4) as i16).wrapping_add(shift);
        slot[4..6].copy_from_slice(&shifted.to_le_bytes());
    }
    if let Some(slot) = change.slot() {
        raise_max_trx_id(page, slot.version.trx_id);
    }
    Ok(())
}

/// Raises the page's largest transaction id, which never falls.
pub fn raise_max_trx_id(page: &mut [u8], trx_id: u64) {
    if PageHeader(page).max_trx_id() < trx_id && !planted::has(PlantedFault::KeepTrxId) {
        PageHeaderMut(page).set_max_trx_id(trx_id);
    }
}

fn slot_at(page: &[u8], place: usize) -> Result<Slot, BadPage> {
    let bytes = page.get(place..).and_then(|rest| rest.first_chunk()).ok_or(BadPage("no such slot"))?;
    Slot::from_bytes(bytes)
}

fn set_slot_count(page: &mut [u8], count: usize) {
    page[SLOT_COUNT..SLOT_COUNT + 2].copy_from_slice(&(count as u16).to_le_bytes());
}

fn set_dead(page: &mut [u8], dead: usize) {
    page[RECORDS_DEAD..RECORDS_DEAD + 2].copy_from_slice(&(dead as u16).to_le_bytes());
}

fn set_records(page: &mut [u8], start: usize) {
    page[RECORDS_START..RECORDS_START + 4].copy_from_slice(&(start as u32).to_le_bytes());
}

/// The record of a slot, if it has one.
fn old_record<'a>(page: &'a [u8], areas: &Areas, at: usize) -> Result<Option<&'a [u8]>, BadPage> {
    let slot = slot_at(page, areas.slots + at * SLOT)?;
    if !slot.kind.has_record() {
        return Ok(None);
    }
    let record = record_at(page, usize::from(slot.record))?;
    let start = usize::from(slot.record);
    match start >= areas.records && start + record.len() <= areas.records_end {
        true => Ok(Some(record)),
        false => Err(BadPage("record outside of the page")),
    }
}

/// Gives up the record of a slot, unless the new one is as long: then returns its offset.
fn free_record(page: &mut [u8], areas: &Areas, at: usize, wanted: usize) -> Result<Option<u16>, BadPage> {
    let Some(record) = old_record(page, areas, at)? else { return Ok(None) };
    let (offset, length) = (u16_at(page, areas.slots + at * SLOT), record.len());
    if length == wanted {
        return Ok(Some(offset));
    }
    if usize::from(offset) == areas.records {
        set_records(page, areas.records + length);
    } else if !planted::has(PlantedFault::ForgetFreeBytes) {
        set_dead(page, areas.dead + length);
    }
    // The slot leads nowhere until it is written anew.
    page[areas.slots + at * SLOT + 6] = super::slot::SlotKind::Version as u8;
    Ok(None)
}

/// Puts a record among the others, which move if they must; `slots`: bytes that slots will need as well. Returns its
/// offset.
fn put_record(page: &mut [u8], record: &[u8], slots: usize) -> Result<u16, BadPage> {
    let mut areas = Areas::of(page)?;
    if areas.gap() < record.len() + slots {
        gather_records(page, &areas)?;
        areas = Areas::of(page)?;
        if areas.gap() < record.len() + slots {
            return Err(BadPage("fewer bytes are free than the page says"));
        }
    }
    if record.is_empty() {
        return Ok(0);
    }
    let start = areas.records.checked_sub(record.len()).ok_or(BadPage("no room for a record"))?;
    page[start..areas.records].copy_from_slice(record);
    set_records(page, start);
    Ok(start as u16)
}

/// Moves all records to the end of their area, so that no bytes are left between them.
fn gather_records(page: &mut [u8], areas: &Areas) -> Result<(), BadPage> {
    let mut order = Vec::with_capacity(areas.slot_count);
    for at in 0..areas.slot_count {
        if let Some(record) = old_record(page, areas, at)? {
            order.push((u16_at(page, areas.slots + at * SLOT), record.len(), at));
        }
    }
    order.sort_unstable_by(|a, b| b.cmp(a));
    let mut end = areas.records_end;
    for (offset, length, at) in order {
        let offset = usize::from(offset);
        if offset + length > end {
            return Err(BadPage("records overlap"));
        }
        page.copy_within(offset..offset + length, end - length);
        end -= length;
        page[areas.slots + at * SLOT..][..2].copy_from_slice(&(end as u16).to_le_bytes());
    }
    set_records(page, end);
    set_dead(page, 0);
    Ok(())
}
