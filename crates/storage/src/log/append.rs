//! The open log, and how groups get into it: a place, a stamp, a copy into the ring.

use super::{
    Lsn,
    group::{self, Group, Stamp},
    options::FlushAtCommit,
    planted::PlantedFault,
    room::Room,
    shared::Shared,
    status::LogStatus,
    waiters::{Goal, Reached},
};
use crate::{Result, StorageError};
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
};

/// An open log. Dropping it writes and syncs what was appended, and ends the log thread.
#[derive(Debug)]
pub(crate) struct Log {
    pub(super) shared: Arc<Shared>,
    /// `None` in tests that do the log thread's work themselves.
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Log {
    /// Promises room for a group of up to so many bytes ([`group::group_bytes`]); to be asked before pages are latched.
    /// Waits, for [`super::LogOptions::throttle`] at most, while the log is at its capacity. Errors: `DiskFull` if the
    /// disk has no room for more of the log, `LogFull` if no checkpoint came, I/O.
    pub fn reserve(&self, bytes: u64) -> Result<Room> {
        self.shared.reserve(bytes, true)
    }

    /// As [`Log::reserve`], but does not wait for a checkpoint: for a change that holds pages already, and has waited
    /// before that. So the log may become older than its capacity by what such changes append.
    pub fn reserve_at_once(&self, bytes: u64) -> Result<Room> {
        self.shared.reserve(bytes, false)
    }

    /// Promises room for undoing changes, about so many bytes ([`Room::give_up`]). Errors: `DiskFull`, I/O.
    pub fn promise(&self, bytes: u64) -> Result<Room> {
        self.shared.promise(bytes)
    }

    /// An error that names a position of the log.
    pub fn damaged(&self, at: Lsn, reason: &str) -> StorageError {
        self.shared.segments.damaged(at, reason)
    }

    /// Appends a group; returns where it begins and ends. It has records, and its bytes are within what `room` was
    /// promised. Never waits for the disk to have room or for a checkpoint, so pages may be latched; the log buffer may
    /// be full for a moment.
    ///
    /// The pages that the group changes must count as dirty, with a recovery LSN not above [`Log::current`], before
    /// this is called: else a checkpoint could pass them by.
    pub fn append(&self, group: &mut Group, room: &mut Room) -> Range<Lsn> {
        self.shared.append(group, room)
    }

    /// The end of the last group appended by anybody.
    pub fn current(&self) -> Lsn {
        self.shared.reserved()
    }

    /// The log is durable up to here.
    #[cfg(test)]
    pub fn flushed(&self) -> Lsn {
        self.shared.flushed.load(Ordering::Acquire)
    }

    /// Waits on this thread until the log is durable up to a position. Errors: the log has failed.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.shared.wait_for(Goal::Durable(lsn))
    }

    /// A future that is ready when a transaction whose last group ends here may be told committed; `None` if it may at
    /// once.
    pub fn committed(&self, lsn: Lsn, flush: FlushAtCommit) -> Option<Reached> {
        let goal = match flush {
            FlushAtCommit::Nothing => return None,
            FlushAtCommit::Durable => Goal::Durable(lsn),
            FlushAtCommit::Written => Goal::Written(lsn),
        };
        Some(Reached { shared: Arc::clone(&self.shared), goal })
    }

    /// Waits on this thread until a transaction whose last group ends here may be told committed.
    pub fn wait_committed(&self, lsn: Lsn, flush: FlushAtCommit) -> Result<()> {
        self.committed(lsn, flush).map_or(Ok(()), |reached| self.shared.wait_for(reached.goal))
    }

    /// The most bytes that a group of this log can have.
    pub fn group_max(&self) -> u64 {
        self.shared.group_max()
    }

    /// Returns true if changes are refused.
    pub fn is_read_only(&self) -> bool {
        self.shared.options.read_only
    }

    pub fn status(&self) -> LogStatus {
        self.shared.status()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.waiters.lock().stop = true;
        self.shared.work.notify_one();
        // A thread that panicked has said so.
        let _ = thread.join();
    }
}

impl Shared {
    pub fn append(&self, group: &mut Group, room: &mut Room) -> Range<Lsn> {
        let bytes = group.bytes();
        assert!(!group.is_empty() && bytes <= self.group_max(), "a group of {bytes} bytes");
        // The promise is used up after the end of the log has moved, so that their sum never is too small.
        let spent = room.split(bytes);
        let (start, fill) = self.take_place(bytes);
        drop(spent);
        let end = start + bytes;
        self.counters.write_requests.fetch_add(1, Ordering::Relaxed);
        if end > self.limit.load(Ordering::Acquire) && !self.wait_for_ring(end) {
            return start..end;
        }
        let flushed = self.flushed.load(Ordering::Acquire);
        let early = self.options.planted.has(PlantedFault::SyncedTooEarly);
        let stamp = |lsn| Stamp { lsn, synced: if early { lsn } else { flushed }, epoch: self.epoch };
        if let Some(at) = fill {
            let rest = self.geometry().rest(at) as u32;
            self.ring.put(at, &group::fill(stamp(at), rest, self.identity));
        }
        self.ring.put(start, group.seal(stamp(start), self.identity));
        if end > self.write_early.load(Ordering::Relaxed) {
            self.wake_log_thread();
        }
        start..end
    }

    /// Gives the next place in the log away: where the group begins, and where a fill goes before it.
    fn take_place(&self, bytes: u64) -> (Lsn, Option<Lsn>) {
        let reserved = &self.reserved.0;
        let mut end = reserved.load(Ordering::SeqCst);
        loop {
            let (start, fill) = self.geometry().fit(end, bytes);
            match reserved.compare_exchange_weak(end, start + bytes, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return (start, fill),
                Err(now) => end = now,
            }
        }
    }

    /// Waits until the ring has room up to a position. False if it never will.
    #[cold]
    fn wait_for_ring(&self, end: Lsn) -> bool {
        self.counters.waits.fetch_add(1, Ordering::Relaxed);
        let mut lock = self.ring_lock.lock();
        while end > self.limit.load(Ordering::Acquire) {
            if self.failure.get().is_some() {
                return false;
            }
            self.wake_log_thread();
            self.ring_room.wait(&mut lock);
        }
        true
    }

    /// Asks the log thread to write what there is.
    #[cold]
    fn wake_log_thread(&self) {
        self.write_early.store(Lsn::MAX, Ordering::Relaxed);
        let mut waiters = self.waiters.lock();
        waiters.written = waiters.written.max(self.written.load(Ordering::Acquire) + 1);
        if waiters.idle {
            self.work.notify_one();
        }
    }
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
