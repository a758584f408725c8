//! Slots: what was changed in a leaf since its base was written, one row each, in key order. Drawn in `docs/format.md`,
//! "Slot".
//!
//! Rows of a leaf have *positions*, 0 and up in key order, and *row numbers*, by which their values are found: a row of
//! the base has its number there, the record of slot `s` the number of rows of the base and `s`.

use super::{BadPage, SLOT};
use crate::page::u16_at;

/// The kind of a slot's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SlotKind {
    /// A row of the base, of which the transaction or the mark matters.
    Version = 0,
    /// A row of the base has other values, which are in the record; its key compares equal.
    Replaced = 1,
    /// A row that the base does not have; it is in the record.
    Inserted = 2,
    /// A row of the base is gone.
    Removed = 3,
    /// A row of the base has other values in some columns, which are in a patch; its key compares equal.
    Patched = 4,
}

impl SlotKind {
    fn from_byte(byte: u8) -> Option<SlotKind> {
        Some(match byte {
            0 => SlotKind::Version,
            1 => SlotKind::Replaced,
            2 => SlotKind::Inserted,
            3 => SlotKind::Removed,
            4 => SlotKind::Patched,
            _ => return None,
        })
    }

    /// Returns true if slots of this kind have a record, or a patch.
    pub fn has_record(self) -> bool {
        matches!(self, SlotKind::Replaced | SlotKind::Inserted | SlotKind::Patched)
    }

    /// By how much the leaf has more rows than without the slot.
    pub fn shift(self) -> i16 {
        match self {
            SlotKind::Version | SlotKind::Replaced | SlotKind::Patched => 0,
            SlotKind::Inserted => 1,
            SlotKind::Removed => -1,
        }
    }
}

/// The transaction that made a version of a row, and where the version before it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version {
    pub trx_id: u64,
    /// 0 if nobody can want the version before.
    pub roll_pointer: u64,
}

/// A roll pointer to the first record of the group of the log that the slot's change belongs to, whose position is not
/// known yet.
pub const PENDING: u64 = 1 << 63;

/// One slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The offset of the record or patch in the page; 0 if the kind has none.
    pub record: u16,
    /// A row of the base; for an inserted row the first one behind it, or the number of rows.
    pub place: u16,
    /// Rows that the slots before this one insert, less those that they remove.
    pub shift: i16,
    pub kind: SlotKind,
    pub marked: bool,
    pub version: Version,
}

const MARKED: u8 = 1;

impl Slot {
    pub fn to_bytes(self) -> [u8; SLOT] {
        let mut bytes = [0; SLOT];
        bytes[..2].copy_from_slice(&self.record.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.place.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.shift.to_le_bytes());
        bytes[6] = self.kind as u8;
        bytes[7] = if self.marked { MARKED } else { 0 };
        bytes[8..16].copy_from_slice(&self.version.trx_id.to_le_bytes());
        bytes[16..].copy_from_slice(&self.version.roll_pointer.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; SLOT]) -> Result<Slot, BadPage> {
        let u64_at = |at| crate::page::u64_at(bytes, at);
        Ok(Slot {
            record: u16_at(bytes, 0),
            place: u16_at(bytes, 2),
            shift: u16_at(bytes, 4) as i16,
            kind: SlotKind::from_byte(bytes[6]).ok_or(BadPage("unknown kind of slot"))?,
            marked: bytes[7] & MARKED != 0,
            version: Version { trx_id: u64_at(8), roll_pointer: u64_at(16) },
        })
    }

    pub fn is_inserted(&self) -> bool {
        self.kind == SlotKind::Inserted
    }

    pub fn is_removed(&self) -> bool {
        self.kind == SlotKind::Removed
    }

    /// The shift behind the slot.
    pub fn behind(&self) -> i16 {
        self.shift.wrapping_add(self.kind.shift())
    }
}

/// The slots of a leaf.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    slots: &'a [[u8; SLOT]],
}

/// A row of a leaf: its number, and its slot if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPlace {
    pub row: usize,
    pub slot: Option<usize>,
}

impl<'a> Slots<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Slots<'a> {
        Slots { slots: bytes.as_chunks().0 }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn get(&self, slot: usize) -> Result<Slot, BadPage> {
        Slot::from_bytes(self.slots.get(slot).ok_or(BadPage("no such slot"))?)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Result<Slot, BadPage>> + 'a {
        self.slots.iter().map(Slot::from_bytes)
    }

    /// The slots from one on.
    pub fn from(&self, first: usize) -> impl Iterator<Item = Result<Slot, BadPage>> + use<'a> {
        self.slots.iter().skip(first).map(Slot::from_bytes)
    }

    /// The offset of a slot's record or patch.
    pub(super) fn record(&self, slot: usize) -> usize {
        self.slots.get(slot).map_or(0, |slot| usize::from(u16_at(slot, 0)))
    }

    /// The row of the base that a slot has a patch for; `None` for a slot of another kind.
    #[inline]
    pub(super) fn patched(&self, slot: usize) -> Option<usize> {
        let slot = self.slots.get(slot)?;
        (slot[6] == SlotKind::Patched as u8).then(|| usize::from(u16_at(slot, 2)))
    }

    /// The numbers of the slots that have records or patches. Slots of unknown kinds count as having none.
    pub(super) fn with_records(&self) -> impl Iterator<Item = usize> + 'a {
        let has_record = |slot: &[u8; SLOT]| SlotKind::from_byte(slot[6]).is_some_and(SlotKind::has_record);
        self.slots.iter().enumerate().filter(move |(_, slot)| has_record(slot)).map(|(number, _)| number)
    }

    /// Rows that all slots insert, less those that they remove.
    pub fn shift(&self) -> i16 {
        self.slots.last().and_then(|last| Slot::from_bytes(last).ok()).map_or(0, |last| last.behind())
    }

    /// Rows that the slots before this one, or all of them, insert, less those that they remove.
    pub fn shift_before(&self, slot: usize) -> Result<i16, BadPage> {
        if slot < self.len() { self.get(slot).map(|slot| slot.shift) } else { Ok(self.shift()) }
    }

    /// How many slots have a place before a row of the base.
    pub fn before_row(&self, row: usize) -> usize {
        self.slots.partition_point(|slot| usize::from(u16_at(slot, 2)) < row)
    }

    /// How many slots stand at a position or before it.
    pub fn upto(&self, position: usize) -> usize {
        self.slots.partition_point(|slot| {
            let (place, shift) = (i64::from(u16_at(slot, 2)), i64::from(u16_at(slot, 4) as i16));
            place + shift <= position as i64
        })
    }

    /// The row at a position, in a leaf whose base has so many rows.
    pub fn row_at(&self, position: usize, base_rows: usize) -> Result<RowPlace, BadPage> {
        let upto = self.upto(position);
        let mut shift = 0;
        if upto > 0 {
            let (number, slot) = (upto - 1, self.get(upto - 1)?);
            if slot.kind != SlotKind::Removed && i64::from(slot.place) + i64::from(slot.shift) == position as i64 {
                let row = if slot.kind.has_record() { base_rows + number } else { usize::from(slot.place) };
                let is_row = if slot.is_inserted() { true } else { usize::from(slot.place) < base_rows };
                return match is_row {
                    true => Ok(RowPlace { row, slot: Some(number) }),
                    false => Err(BadPage("slot of no row")),
                };
            }
            shift = i64::from(slot.behind());
        }
        match usize::try_from(position as i64 - shift) {
            Ok(row) if row < base_rows => Ok(RowPlace { row, slot: None }),
            _ => Err(BadPage("no such row")),
        }
    }
}
