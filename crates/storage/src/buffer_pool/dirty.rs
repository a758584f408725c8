//! Which pages are dirty, and since when: by recovery LSN, the position in the log before the first change that is not
//! at the page's place yet.
//!
//! ```text
//!   Clean --mark--> Dirty --begin--> Written --finish--> Clean
//!                     ^                 | mark
//!                     |                 v
//!                     +----finish--- Changed        since the copy that is being written
//! ```
//!
//! A page that is changed while its copy is written keeps its older recovery LSN until the copy is durable; then it has
//! that of the first change after the copy. If the copy does not become durable, it keeps the older one.
//!
//! | what | who | holding |
//! |---|---|---|
//! | `mark` | a writer | the page's latch exclusively |
//! | `begin` | whoever writes a batch | the page's latch shared; one batch at a time |
//! | `finish` | the same | nothing of the page; one batch at a time |
//! | `forget` | whoever takes a page out of the pool | the page's latch exclusively |

use crate::mutex::Mutex;
use std::{
    collections::{BTreeSet, HashMap},
    sync::atomic::{
        AtomicU8, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// Parts of the list, each with a lock of its own.
const SHARDS: usize = 16;

const CLEAN: u8 = 0;
const DIRTY: u8 = 1;
const WRITTEN: u8 = 2;
const CHANGED: u8 = 3;

/// The state of one page, in its frame.
#[derive(Debug, Default)]
pub(super) struct PageState(AtomicU8);

impl PageState {
    /// Returns true if the page at its place on the disk, durably, is that in memory. Stays so while the caller holds
    /// the latch.
    pub fn is_clean(&self) -> bool {
        self.0.load(Acquire) == CLEAN
    }

    fn get(&self) -> u8 {
        self.0.load(Acquire)
    }

    fn set(&self, state: u8) {
        self.0.store(state, Release);
    }
}

/// Positions of a dirty page.
struct Changes {
    /// The position of the first change that is not durable at the page's place.
    first: u64,
    /// The position of the first change since the copy that is being written.
    since_copy: u64,
}

#[derive(Default)]
struct Shard {
    by_lsn: BTreeSet<(u64, u32)>,
    changes: HashMap<u32, Changes>,
}

/// The dirty pages of a pool, by the numbers of their frames.
#[derive(Default)]
pub(super) struct DirtyPages {
    shards: [Mutex<Shard>; SHARDS],
    count: AtomicUsize,
}

impl DirtyPages {
    fn shard(&self, frame: u32) -> &Mutex<Shard> {
        &self.shards[frame as usize % SHARDS]
    }

    /// Number of dirty pages.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Notes that a page is about to change. `position` gives the end of the log; it is asked for under the lock of the
    /// list, so whoever reads the end of the log first and [`DirtyPages::least`] then misses no change before it.
    /// Returns true if the page was clean.
    #[inline]
    pub fn mark(&self, frame: u32, state: &PageState, position: impl FnOnce() -> u64) -> bool {
        match state.get() {
            DIRTY | CHANGED => false,
            _ => self.mark_first(frame, state, position),
        }
    }

    #[cold]
    fn mark_first(&self, frame: u32, state: &PageState, position: impl FnOnce() -> u64) -> bool {
        let mut shard = self.shard(frame).lock();
        let lsn = position();
        match state.get() {
            CLEAN => {
                shard.by_lsn.insert((lsn, frame));
                shard.changes.insert(frame, Changes { first: lsn, since_copy: 0 });
                state.set(DIRTY);
                self.count.fetch_add(1, Relaxed);
                true
            }
            WRITTEN => {
                if let Some(changes) = shard.changes.get_mut(&frame) {
                    changes.since_copy = lsn;
                }
                state.set(CHANGED);
                false
            }
            _ => false,
        }
    }

    /// A dirty page is about to be copied, to be written. Returns false if the page is not dirty.
    pub fn begin(&self, state: &PageState) -> bool {
        state.0.compare_exchange(DIRTY, WRITTEN, Acquire, Relaxed).is_ok()
    }

    /// The copy is durable at the page's place, or has not become so. Returns true if the page is clean now.
    pub fn finish(&self, frame: u32, state: &PageState, durable: bool) -> bool {
        let mut shard = self.shard(frame).lock();
        match state.get() {
            WRITTEN if durable => {
                self.remove(&mut shard, frame);
                state.set(CLEAN);
                return true;
            }
            CHANGED if durable => {
                if let Some(Changes { first, since_copy }) = shard.changes.remove(&frame) {
                    shard.by_lsn.remove(&(first, frame));
                    shard.by_lsn.insert((since_copy, frame));
                    shard.changes.insert(frame, Changes { first: since_copy, since_copy: 0 });
                }
                state.set(DIRTY);
            }
            WRITTEN | CHANGED => state.set(DIRTY),
            // The page left the pool meanwhile, and another one may have its frame.
            _ => {}
        }
        false
    }

    /// The page leaves the pool unwritten.
    pub fn forget(&self, frame: u32, state: &PageState) {
        if !state.is_clean() {
            let mut shard = self.shard(frame).lock();
            self.remove(&mut shard, frame);
            state.set(CLEAN);
        }
    }

    fn remove(&self, shard: &mut Shard, frame: u32) {
        if let Some(changes) = shard.changes.remove(&frame) {
            shard.by_lsn.remove(&(changes.first, frame));
            self.count.fetch_sub(1, Relaxed);
        }
    }

    /// The least recovery LSN; `None` if all pages are clean.
    pub fn least(&self) -> Option<u64> {
        self.shards.iter().filter_map(|shard| shard.lock().by_lsn.first().map(|(lsn, _)| *lsn)).min()
    }

    /// Recovery LSNs and frames of the pages that have been dirty longest, oldest first.
    pub fn oldest(&self, limit: usize) -> Vec<(u64, u32)> {
        let mut oldest: Vec<(u64, u32)> = Vec::new();
        for shard in &self.shards {
            oldest.extend(shard.lock().by_lsn.iter().take(limit));
        }
        oldest.sort_unstable();
        oldest.truncate(limit);
        oldest
    }

    /// The recovery LSN of a page; `None` if it is clean.
    pub fn recovery_lsn(&self, frame: u32) -> Option<u64> {
        self.shard(frame).lock().changes.get(&frame).map(|changes| changes.first)
    }
}

#[cfg(test)]
#[path = "dirty_tests.rs"]
mod tests;
