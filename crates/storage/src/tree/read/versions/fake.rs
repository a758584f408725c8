//! Undo records in memory, and the way to give a slot its roll pointer, for tests of views without transactions.

use super::{Before, BeforeRow, UndoSource};
use crate::{
    Counters, ReadView, Result, StorageError,
    tree::{
        btree::Tree,
        page::leaf::{changes::apply, slot::Version},
        planted::PlantedFault,
    },
};
use parking_lot::Mutex;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// A roll pointer is the number of a record, from 1.
#[derive(Default)]
pub(crate) struct FakeUndo {
    records: Mutex<Vec<Option<Before>>>,
    /// A view that expires when a record is read that is forgotten, and whose place in the log others have taken by
    /// then.
    pub expires: Mutex<Option<Arc<ReadView>>>,
}

impl FakeUndo {
    /// Adds a record. Returns its roll pointer.
    pub fn push(&self, before: Before) -> u64 {
        let mut records = self.records.lock();
        records.push(Some(before));
        records.len() as u64
    }

    /// Removes a record.
    pub fn forget(&self, roll_pointer: u64) {
        self.records.lock()[roll_pointer as usize - 1] = None;
    }
}

impl UndoSource for FakeUndo {
    /// Every seventh record is one that must be waited for.
    fn before(&self, roll_pointer: u64, may_wait: bool) -> Result<Option<Before>> {
        if !may_wait && roll_pointer.is_multiple_of(7) {
            return Ok(None);
        }
        let record = self.records.lock()[roll_pointer as usize - 1].clone();
        if let (None, Some(view)) = (&record, &*self.expires.lock()) {
            view.expire();
            let (path, reason) = ("redo".into(), "the segment is missing".to_string());
            return Err(StorageError::DamagedLog { path, offset: 0, reason });
        }
        record.map(Some).ok_or(StorageError::SnapshotTooOld)
    }
}

impl Tree {
    /// Has views take entries as they are.
    pub(crate) fn trust_entries(&self) {
        self.planted.plant(PlantedFault::TrustEntries);
    }

    /// Has copies of leaves take several pages.
    pub(crate) fn make_small_copies(&self) {
        self.probe.small_copies.store(true, Relaxed);
    }

    /// The newest version of the row with a key, as the one before a change that comes.
    pub(crate) fn newest(&self, key: &[u8]) -> Before {
        let page = self.descend_mut(key, 0, &Counters::default()).unwrap().unwrap().0;
        let leaf = self.leaf(&page).unwrap();
        let found = leaf.find(&self.layout, key).unwrap();
        if !found.exact {
            return Before {
                version: Version::default(),
                marked: false,
                row: BeforeRow::None,
                skips: Vec::new(),
                layout: 0,
            };
        }
        let record = leaf.record_of(&self.layout, found.position).unwrap().into_owned();
        let slot = leaf.slot_at(found.position).unwrap();
        Before {
            version: slot.map_or(Version::default(), |slot| slot.version),
            marked: slot.is_some_and(|slot| slot.marked),
            row: BeforeRow::Record(record),
            skips: Vec::new(),
            layout: 0,
        }
    }

    /// Gives the row with a key, which has a slot, a roll pointer.
    pub(crate) fn set_roll_pointer(&self, key: &[u8], roll_pointer: u64) {
        let (mut page, _) = self.descend_mut(key, 0, &Counters::default()).unwrap().unwrap();
        let change = {
            let leaf = self.leaf(&page).unwrap();
            let position = leaf.find(&self.layout, key).unwrap().position;
            let slot = leaf.slot_at(position).unwrap().unwrap();
            let version = Version { roll_pointer, ..slot.version };
            let change = if slot.marked { leaf.mark(position, version) } else { leaf.unmark(position, version) };
            change.unwrap().into_owned()
        };
        apply(&mut page, &change).unwrap();
    }
}
