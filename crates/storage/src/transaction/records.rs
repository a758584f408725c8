//! The records of the log that are of transactions, as bytes. Drawn in `docs/format.md`, "Records of transactions".

use super::chain::{ChainLink, ChainPlace};
use crate::{Result, StorageError};
use crate::{
    log::{Lsn, Record},
    page::{u16_at, u32_at, u64_at},
    tree::{Tree, UndoKind, page::leaf::slot::Version},
};
use std::borrow::Cow;

/// The kinds of records.
pub(crate) mod kind {
    pub const UNDO: u8 = 32;
    pub const UNDONE: u8 = 33;
    pub const COMMIT: u8 = 34;
    pub const ROLLED_BACK: u8 = 35;
    pub const PURGED: u8 = 36;
}

/// An undo record: a row before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UndoRecord {
    pub trx_id: u64,
    /// The undo record of the transaction before this one; 0 if there is none.
    pub previous: Lsn,
    pub kind: UndoKind,
    /// The version before, with its mark.
    pub version: Version,
    pub marked: bool,
    /// The row's key in the clustered tree; the first of several.
    pub key: Vec<u8>,
    pub row: UndoRow,
    /// The version before leaves nothing for purge: its entries are those of the version after, and it has no long
    /// values.
    pub leaves_nothing: bool,
    /// The place in the chain of the row's versions. An anchor has a whole record.
    pub place: ChainPlace,
    /// The number of the row layout of record or patch.
    pub layout: u32,
}

/// The row before a change, in an undo record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UndoRow {
    /// As a record of the clustered tree; empty if there was none. Of [`UndoKind::Inserts`], the further keys, each
    /// with its length before it.
    Record(Vec<u8>),
    /// As a patch of the record that the change has left. It has the values that entries are made of, whether they
    /// changed or not: purge reads it without the rows that came later.
    Patch {
        patch: Vec<u8>,
        /// Bytes of the row as a record.
        row_bytes: u32,
    },
}

impl UndoRow {
    fn bytes(&self) -> &[u8] {
        match self {
            UndoRow::Record(record) => record,
            UndoRow::Patch { patch, .. } => patch,
        }
    }
}

/// Bytes before key and row.
const FIXED: usize = 40;

const MARKED: u8 = 1;
const PATCH: u8 = 2;
const LEAVES_NOTHING: u8 = 4;
const HAS_PLACE: u8 = 8;
const HAS_LAYOUT: u8 = 16;

/// Bytes of the number of a row layout, at the end of an undo record.
const LAYOUT: usize = 4;

impl UndoRecord {
    /// The undo record of rows that have come, at least one of them.
    pub fn of_inserts(trx_id: u64, previous: Lsn, keys: &[Vec<u8>]) -> UndoRecord {
        let mut record = Vec::new();
        for key in &keys[1..] {
            record.extend_from_slice(&(key.len() as u16).to_le_bytes());
            record.extend_from_slice(key);
        }
        UndoRecord {
            trx_id,
            previous,
            kind: UndoKind::Inserts,
            version: Version::default(),
            marked: false,
            key: keys[0].clone(),
            row: UndoRow::Record(record),
            leaves_nothing: true,
            place: ChainPlace::First,
            layout: 0,
        }
    }

    /// The row before, as a record of the clustered tree. `after`: the record that the change has left. Errors:
    /// `Corrupt`; `SnapshotTooOld` for a change that was made before the newest row layout came, which no transaction
    /// undoes any more.
    pub fn record_before(&self, clustered: &Tree, after: &[u8]) -> Result<Vec<u8>> {
        match &self.row {
            _ if self.layout != clustered.layout().number => Err(StorageError::SnapshotTooOld),
            UndoRow::Record(record) => Ok(record.clone()),
            UndoRow::Patch { patch, .. } => clustered.patched(patch, after),
        }
    }

    /// What the undo record alone says of the row before, in its own row layout: the values that entries are made of,
    /// and its long values, of which each version has its own. Others may be NULL. Error: `Corrupt`.
    pub fn own_record(&self, clustered: &Tree) -> Result<Cow<'_, [u8]>> {
        match &self.row {
            UndoRow::Record(record) => Ok(Cow::Borrowed(record)),
            UndoRow::Patch { patch, .. } => clustered.record_of_patch(self.layout, patch).map(Cow::Owned),
        }
    }

    /// The same in the newest row layout: without the values of columns that were dropped since. Error: `Corrupt`.
    pub fn own_values(&self, clustered: &Tree) -> Result<Cow<'_, [u8]>> {
        let record = self.own_record(clustered)?;
        match self.layout == clustered.layout().number {
            true => Ok(record),
            false => clustered.newest_record(self.layout, record.into_owned()).map(Cow::Owned),
        }
    }

    /// Bytes of the row before, as a record.
    pub fn row_bytes(&self) -> usize {
        match &self.row {
            UndoRow::Record(record) => record.len(),
            UndoRow::Patch { row_bytes, .. } => *row_bytes as usize,
        }
    }

    /// The keys of all rows that the change was of.
    pub fn keys(&self) -> Vec<&[u8]> {
        let mut keys = vec![self.key.as_slice()];
        let mut rest = if self.kind == UndoKind::Inserts { self.row.bytes() } else { &[] };
        while let Some((length, behind)) = rest.split_first_chunk::<2>() {
            let Some((key, behind)) = behind.split_at_checked(u16::from_le_bytes(*length).into()) else { break };
            keys.push(key);
            rest = behind;
        }
        keys
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let row = self.row.bytes();
        let mut bytes = Vec::with_capacity(FIXED + self.key.len() + row.len());
        for field in [self.trx_id, self.previous, self.version.trx_id, self.version.roll_pointer] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        let (patch, row_bytes) = match &self.row {
            UndoRow::Record(_) => (0, 0),
            UndoRow::Patch { row_bytes, .. } => (PATCH, *row_bytes),
        };
        let marked = if self.marked { MARKED } else { 0 };
        let leaves_nothing = if self.leaves_nothing { LEAVES_NOTHING } else { 0 };
        let has_place = if self.place == ChainPlace::First { 0 } else { HAS_PLACE };
        let has_layout = if self.layout == 0 { 0 } else { HAS_LAYOUT };
        bytes.extend_from_slice(&[self.kind as u8, marked | patch | leaves_nothing | has_place | has_layout]);
        bytes.extend_from_slice(&(self.key.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&row_bytes.to_le_bytes());
        self.place.append_to(&mut bytes);
        bytes.extend_from_slice(&self.key);
        bytes.extend_from_slice(row);
        if self.layout > 0 {
            bytes.extend_from_slice(&self.layout.to_le_bytes());
        }
        bytes
    }

    /// `None` for what is no undo record.
    pub fn from_bytes(bytes: &[u8]) -> Option<UndoRecord> {
        let (fixed, rest) = bytes.split_at_checked(FIXED)?;
        let kind = match fixed[32] {
            1 => UndoKind::Insert,
            2 => UndoKind::Update,
            3 => UndoKind::Mark,
            4 => UndoKind::Inserts,
            _ => return None,
        };
        let (place, rest) = place_of(fixed, rest)?;
        let (key, row) = rest.split_at_checked(u16_at(fixed, 34).into())?;
        let (row, layout) = match fixed[33] & HAS_LAYOUT {
            0 => (row, 0),
            _ => row.split_last_chunk::<LAYOUT>().map(|(row, layout)| (row, u32::from_le_bytes(*layout)))?,
        };
        let row = match fixed[33] & PATCH {
            0 => UndoRow::Record(row.to_vec()),
            _ => UndoRow::Patch { patch: row.to_vec(), row_bytes: u32_at(fixed, 36) },
        };
        Some(UndoRecord {
            trx_id: u64_at(fixed, 0),
            previous: u64_at(fixed, 8),
            kind,
            version: Version { trx_id: u64_at(fixed, 16), roll_pointer: u64_at(fixed, 24) },
            marked: fixed[33] & MARKED != 0,
            key: key.to_vec(),
            row,
            leaves_nothing: fixed[33] & LEAVES_NOTHING != 0,
            place,
            layout,
        })
    }
}

/// The place in its chain of a record that begins with `fixed`, and the bytes behind it.
fn place_of<'a>(fixed: &[u8], rest: &'a [u8]) -> Option<(ChainPlace, &'a [u8])> {
    match fixed[33] & HAS_PLACE {
        0 => Some((ChainPlace::First, rest)),
        _ => ChainPlace::read(rest),
    }
}

/// An undo record as the next one of its chain sees it; `None` for what is no undo record.
pub(crate) fn link_of(record: &Record<'_>) -> Option<ChainLink> {
    let (fixed, rest) = record.payload.split_at_checked(FIXED).filter(|_| record.kind == kind::UNDO)?;
    let (place, _) = place_of(fixed, rest)?;
    Some(ChainLink { place, trx_id: u64_at(fixed, 16) })
}

/// An event in the life of a transaction, as the log tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has changed a row; its undo record is where the event is.
    Changed,
    /// A change was undone; the one to undo next is at this position.
    Undone {
        next: Lsn,
    },
    Committed {
        /// It has left nothing for purge.
        purged: bool,
    },
    RolledBack,
    Purged,
}

/// The transaction and the event that a record of the log tells of, if it is of that kind.
pub(crate) fn event_of(record: &Record<'_>) -> Option<(u64, Event)> {
    let (trx_id, rest) = record.payload.split_at_checked(8)?;
    let event = match record.kind {
        kind::UNDO => Event::Changed,
        kind::UNDONE => Event::Undone { next: u64_at(rest.get(..8)?, 0) },
        kind::COMMIT => Event::Committed { purged: rest.first() == Some(&1) },
        kind::ROLLED_BACK => Event::RolledBack,
        kind::PURGED => Event::Purged,
        _ => return None,
    };
    Some((u64_at(trx_id, 0), event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Skip;

    #[test]
    fn undo_records_come_back() {
        let record = UndoRecord {
            trx_id: 7,
            previous: 4096,
            kind: UndoKind::Update,
            version: Version { trx_id: 5, roll_pointer: 800 },
            marked: true,
            key: vec![1, 2, 3],
            row: UndoRow::Record(vec![9; 40]),
            leaves_nothing: false,
            place: ChainPlace::Anchor { number: 300, skips: vec![Skip { at: 640, trx_id: 4 }; 3] },
            layout: 0,
        };
        let bytes = record.to_bytes();
        let patched = UndoRecord {
            row: UndoRow::Patch { patch: vec![8; 12], row_bytes: 300 },
            leaves_nothing: true,
            place: ChainPlace::Between { behind: 3, anchor: 640 },
            ..record.clone()
        };
        assert_eq!(UndoRecord::from_bytes(&patched.to_bytes()), Some(patched.clone()));
        let later = UndoRecord { layout: 70_000, ..patched };
        assert_eq!(UndoRecord::from_bytes(&later.to_bytes()), Some(later));
        assert_eq!(UndoRecord::from_bytes(&bytes), Some(record));
        let keys = [vec![1], vec![], vec![2; 300]];
        let record = UndoRecord::of_inserts(7, 4096, &keys);
        let again = UndoRecord::from_bytes(&record.to_bytes()).unwrap();
        assert_eq!((again.keys(), &again), (keys.iter().map(Vec::as_slice).collect(), &record));
        assert!((0..FIXED + 3).all(|cut| UndoRecord::from_bytes(&bytes[..cut]).is_none()));
    }
}
