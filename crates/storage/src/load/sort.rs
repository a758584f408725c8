//! External sort of (key, payload) records within a memory budget.
//!
//! ```text
//!   push -> arena + array of (8-byte key prefix, offset) -> sort -> served from memory, when all fitted
//!                                                              \-> run file -> k-way merge (several passes if need be)
//! ```
//!
//! Keys compare as bytes; records with equal keys stay in the order in which they came. That is what IGNORE and REPLACE
//! need, and it spares comparisons: entries of a secondary index come in primary-key order, so only the declared parts
//! have to be in the key. Input that is already in order is never sorted.

use super::{
    LoadProgress,
    merge::Merge,
    run_file::{Record, RunWriter, SortedRun},
};
use crate::{Result, StorageError};
use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// Bytes of an entry of the array that is sorted.
const ENTRY_BYTES: usize = size_of::<MergeEntry>();
/// The payload's length in front of each record of the arena.
const RECORD_HEADER_BYTES: usize = 4;
/// Arena offsets have 32 bits.
const ARENA_BYTES_MAX: usize = u32::MAX as usize;
/// Records between two looks at the cancel flag.
const CANCEL_CHECK_RECORDS: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct SortOptions {
    /// Bytes of memory: for records while collecting, for block buffers while merging.
    pub memory_bytes: usize,
    /// The folder for sorted runs that do not fit into memory.
    pub temp_dir: PathBuf,
    pub progress: Arc<LoadProgress>,
}

impl SortOptions {
    /// Size of a block of a run file: small enough that a merge of at least 16 runs fits the budget.
    pub(super) fn block_bytes(&self) -> usize {
        (self.memory_bytes / 32).clamp(1 << 12, 1 << 18)
    }

    /// Most runs that one merge reads.
    pub(super) fn fan_in(&self) -> usize {
        (self.memory_bytes / self.block_bytes()).saturating_sub(2).clamp(2, 256)
    }

    pub(super) fn check_cancelled(&self) -> Result<()> {
        if self.progress.cancelled.load(Relaxed) { Err(StorageError::Interrupted) } else { Ok(()) }
    }
}

#[derive(Debug, Clone, Copy)]
struct MergeEntry {
    /// The first 8 bytes of the key, big endian, padded with zeros.
    prefix: u64,
    /// The offset of the record in the arena; it grows with the order of arrival.
    offset: u32,
    key_bytes: u32,
}

/// Records in memory, in order of arrival until sorted.
#[derive(Debug)]
struct Memory {
    arena: Vec<u8>,
    entries: Vec<MergeEntry>,
    sorted: bool,
}

/// The first 8 bytes as a number that compares like them.
pub(super) fn prefix_of(sort_key: &[u8]) -> u64 {
    match sort_key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..sort_key.len()].copy_from_slice(sort_key);
            u64::from_be_bytes(bytes)
        }
    }
}

impl Memory {
    fn record(&self, entry: &MergeEntry) -> Record<'_> {
        record_at(&self.arena, entry)
    }

    fn bytes(&self) -> usize {
        self.arena.len() + self.entries.len() * ENTRY_BYTES
    }

    fn push(&mut self, record: &Record) {
        let entry = MergeEntry {
            prefix: prefix_of(record.key),
            offset: self.arena.len() as u32,
            key_bytes: record.key.len() as u32,
        };
        self.arena.extend_from_slice(&(record.payload.len() as u32).to_le_bytes());
        self.arena.extend_from_slice(record.key);
        self.arena.extend_from_slice(record.payload);
        if self.sorted
            && let Some(last) = self.entries.last()
        {
            self.sorted =
                last.prefix < entry.prefix || last.prefix == entry.prefix && self.record(last).key <= record.key;
        }
        self.entries.push(entry);
    }

    fn sort(&mut self) {
        if self.sorted {
            return;
        }
        let arena = &self.arena;
        self.entries.sort_unstable_by(|a, b| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| {
                    if a.key_bytes <= 8 && b.key_bytes <= 8 {
                        // The same bytes up to padding: the shorter is the smaller.
                        a.key_bytes.cmp(&b.key_bytes)
                    } else {
                        record_at(arena, a).key.cmp(record_at(arena, b).key)
                    }
                })
                .then(a.offset.cmp(&b.offset))
        });
        self.sorted = true;
    }

    fn clear(&mut self) {
        self.arena.clear();
        self.entries.clear();
        self.sorted = true;
    }
}

fn record_at<'a>(arena: &'a [u8], entry: &MergeEntry) -> Record<'a> {
    let at = entry.offset as usize;
    let payload_bytes = u32::from_le_bytes([arena[at], arena[at + 1], arena[at + 2], arena[at + 3]]) as usize;
    let key = at + RECORD_HEADER_BYTES;
    let payload = key + entry.key_bytes as usize;
    Record { key: &arena[key..payload], payload: &arena[payload..payload + payload_bytes] }
}

/// Collects records, then gives them in order.
#[derive(Debug)]
pub(super) struct Sorter {
    options: SortOptions,
    memory: Memory,
    runs: Vec<SortedRun>,
    records: u64,
}

impl Sorter {
    pub fn new(options: SortOptions) -> Sorter {
        let memory = Memory { arena: Vec::new(), entries: Vec::new(), sorted: true };
        Sorter { options, memory, runs: Vec::new(), records: 0 }
    }

    /// Adds a record. Errors: a full disk, I/O, cancelled.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        let bytes = RECORD_HEADER_BYTES + key.len() + payload.len();
        if self.records.is_multiple_of(CANCEL_CHECK_RECORDS as u64) {
            self.options.check_cancelled()?;
        }
        let over_budget = self.memory.bytes() + bytes + ENTRY_BYTES > self.options.memory_bytes;
        if (over_budget || self.memory.arena.len() + bytes > ARENA_BYTES_MAX) && !self.memory.entries.is_empty() {
            self.spill()?;
        }
        if bytes > ARENA_BYTES_MAX {
            return Err(StorageError::RowTooLarge { bytes, limit: ARENA_BYTES_MAX });
        }
        if self.memory.arena.capacity() == 0 {
            // Only what is touched takes memory; growing by doubling would touch up to three times the budget.
            self.memory.arena.reserve_exact(self.options.memory_bytes.min(ARENA_BYTES_MAX));
            self.memory.entries.reserve_exact(self.options.memory_bytes / ENTRY_BYTES / 2);
        }
        self.memory.push(&Record { key, payload });
        self.records += 1;
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.memory.sort();
        let mut writer = RunWriter::create(&self.options.temp_dir, self.options.block_bytes())?;
        for chunk in self.memory.entries.chunks(CANCEL_CHECK_RECORDS) {
            self.options.check_cancelled()?;
            for entry in chunk {
                writer.push(&self.memory.record(entry))?;
            }
        }
        self.runs.push(writer.finish()?);
        self.memory.clear();
        Ok(())
    }

    /// Sorts the rest. Errors as for [`Sorter::push`].
    pub fn finish(mut self) -> Result<SortedRecords> {
        if self.runs.is_empty() {
            self.memory.sort();
            return Ok(SortedRecords {
                source: SortedSource::Memory { memory: self.memory, at: 0 },
                options: self.options,
            });
        }
        if !self.memory.entries.is_empty() {
            self.spill()?;
        }
        // The merge's block buffers take the place of the arena.
        drop(std::mem::replace(&mut self.memory, Memory { arena: Vec::new(), entries: Vec::new(), sorted: true }));
        let merge = Merge::of_runs(self.runs, &self.options)?;
        Ok(SortedRecords {
            source: SortedSource::Merge { merge, block: CopiedBlock::default() },
            options: self.options,
        })
    }
}

/// Records in order, a block at a time.
pub(super) struct SortedRecords {
    source: SortedSource,
    options: SortOptions,
}

enum SortedSource {
    Memory { memory: Memory, at: usize },
    Merge { merge: Merge, block: CopiedBlock },
}

/// Records copied out of a merge, which gives only one at a time.
#[derive(Default)]
struct CopiedBlock {
    bytes: Vec<u8>,
    /// Ends of key and payload.
    ends: Vec<(usize, usize)>,
}

impl SortedRecords {
    /// The next records, at most `count`, none at the end.
    pub fn next_block(&mut self, count: usize) -> Result<Vec<Record<'_>>> {
        self.options.check_cancelled()?;
        match &mut self.source {
            SortedSource::Memory { memory, at } => {
                let from = *at;
                *at = memory.entries.len().min(from + count);
                Ok(memory.entries[from..*at].iter().map(|entry| memory.record(entry)).collect())
            }
            SortedSource::Merge { merge, block } => {
                block.bytes.clear();
                block.ends.clear();
                while block.ends.len() < count {
                    let Some(record) = merge.next()? else { break };
                    block.bytes.extend_from_slice(record.key);
                    let key_end = block.bytes.len();
                    block.bytes.extend_from_slice(record.payload);
                    block.ends.push((key_end, block.bytes.len()));
                }
                let mut from = 0;
                let cut = |&(key_end, end): &(usize, usize)| {
                    let key = &block.bytes[from..key_end];
                    from = end;
                    Record { key, payload: &block.bytes[key_end..end] }
                };
                Ok(block.ends.iter().map(cut).collect())
            }
        }
    }
}

#[cfg(test)]
#[path = "sort_tests.rs"]
mod tests;
