//! The bytes of one simulated file: as readers see them, as they were last made durable, and what was written between.

use super::loss::Loss;
use std::collections::BTreeMap;

/// Disks write so many bytes at once or not at all.
pub(super) const SECTOR: usize = 512;
/// Versions of a sector that are remembered; the oldest go first.
const VERSIONS_MAX: usize = 16;

/// The content of a sector after a write that is not known to be durable.
#[derive(Debug)]
struct Version {
    /// The number of the operation that wrote it.
    operation: u64,
    /// True if a sync that should have made it durable failed: later syncs do not try it again.
    abandoned: bool,
    bytes: Box<[u8; SECTOR]>,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Versions of sectors that came after the durable one, oldest first, by the sector's number.
    unsynced: BTreeMap<u64, Vec<Version>>,
    /// Lengths of the file that came after the durable one, each with the number of its operation.
    lengths: Vec<(u64, usize)>,
}

impl Content {
    /// A file that is durable as it is.
    pub fn durable(bytes: Vec<u8>) -> Content {
        Content { live: bytes.clone(), durable: bytes, ..Content::default() }
    }

    pub fn live(&self) -> &[u8] {
        &self.live
    }

    /// Writes bytes; the file grows if they reach beyond its end.
    pub fn write(&mut self, at: usize, bytes: &[u8], operation: u64) {
        if bytes.is_empty() {
            return;
        }
        let end = at + bytes.len();
        if self.live.len() < end {
            self.set_len(end, operation);
        }
        self.live[at..end].copy_from_slice(bytes);
        self.remember(at, end, operation);
    }

    /// Makes the file longer, with zeros, or cuts it.
    pub fn set_len(&mut self, len: usize, operation: u64) {
        let before = self.live.len();
        if len == before {
            return;
        }
        self.live.resize(len, 0);
        self.lengths.push((operation, len));
        if len < before {
            self.remember(len, before, operation);
        }
    }

    /// Notes what the sectors between two places hold now.
    fn remember(&mut self, from: usize, to: usize, operation: u64) {
        for sector in from / SECTOR..to.div_ceil(SECTOR) {
            let mut bytes = Box::new([0; SECTOR]);
            let start = (sector * SECTOR).min(self.live.len());
            let held = &self.live[start..self.live.len().min((sector + 1) * SECTOR)];
            bytes[..held.len()].copy_from_slice(held);
            let versions = self.unsynced.entry(sector as u64).or_default();
            if versions.len() == VERSIONS_MAX {
                versions.remove(0);
            }
            versions.push(Version { operation, abandoned: false, bytes });
        }
    }

    /// Makes the bytes and the length durable, but for what an earlier sync gave up.
    pub fn sync(&mut self) {
        let durable = &mut self.durable;
        self.unsynced.retain(|sector, versions| match versions.last() {
            Some(last) if !last.abandoned => {
                put_sector(durable, *sector, &last.bytes);
                false
            }
            last => last.is_some(),
        });
        self.durable.resize(self.live.len(), 0);
        self.lengths.clear();
    }

    /// A sync that failed: what it should have written is in memory only.
    pub fn fail_sync(&mut self) {
        self.unsynced.values_mut().flatten().for_each(|version| version.abandoned = true);
    }

    /// Changes the bytes, durably, behind everybody's back.
    pub fn tamper(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::mem::take(&mut self.live);
        change(&mut bytes);
        *self = Content::durable(bytes);
    }

    /// The bytes that a power cut leaves. `file` tells files apart in the draw.
    pub fn after(&self, loss: &Loss, file: u64) -> Vec<u8> {
        let mut left = self.durable.clone();
        for (sector, versions) in &self.unsynced {
            let candidates = versions.iter().map(|version| (version.operation, version.abandoned));
            if let Some(kept) = loss.choose(&[file, *sector], candidates) {
                put_sector(&mut left, *sector, &versions[kept].bytes);
            }
        }
        let lengths = self.lengths.iter().map(|(operation, _)| (*operation, false));
        let length = loss.choose(&[file, u64::MAX], lengths).map_or(self.durable.len(), |kept| self.lengths[kept].1);
        left.resize(length, 0);
        left
    }
}

/// Writes a sector of a file, which grows if it has to.
fn put_sector(file: &mut Vec<u8>, sector: u64, bytes: &[u8; SECTOR]) {
    let start = sector as usize * SECTOR;
    if file.len() < start + SECTOR {
        file.resize(start + SECTOR, 0);
    }
    file[start..start + SECTOR].copy_from_slice(bytes);
}
