//! The state that the log thread and all users of the log share.

use super::{
    Lsn,
    checkpoint::CheckpointFile,
    flusher::Flusher,
    geometry::{Geometry, SEGMENT_HEADER},
    group::{GROUP_MAX, Identity, UNIT},
    options::LogOptions,
    ring::Ring,
    segments::Segments,
    status::LogCounters,
    supply::Supply,
    waiters::Waiters,
};
use crate::{
    StorageError,
    mutex::{Condvar, Mutex},
};
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// A number that many threads change, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Hot(pub AtomicU64);

#[derive(Debug)]
pub(super) struct Shared {
    pub options: LogOptions,
    pub segments: Segments,
    pub identity: Identity,
    /// The epoch of all groups that this process writes.
    pub epoch: u32,
    pub ring: Ring,
    /// The end of the last group that has a place in the log.
    pub reserved: Hot,
    /// Bytes that are promised to groups to come, with what they may waste.
    pub promised: Hot,
    /// The ring may be filled up to here.
    pub limit: AtomicU64,
    /// The ring still has the groups from here on.
    pub history: AtomicU64,
    /// The log is written up to here.
    pub written: AtomicU64,
    /// The log is durable up to here.
    pub flushed: AtomicU64,
    /// An append beyond this wakes the log thread, so that the ring does not become full.
    pub write_early: AtomicU64,
    /// The end of the last segment that is made.
    pub made: AtomicU64,
    /// The start of redo if recovery ran now.
    pub redo: AtomicU64,
    /// The log is kept from here on.
    pub oldest: AtomicU64,
    /// `innodb_redo_log_capacity` as it is set now.
    pub capacity: AtomicU64,
    pub supply: Mutex<Supply>,
    /// Notified when a checkpoint has moved.
    pub moved: Condvar,
    /// True if somebody waits for a checkpoint, or soon will.
    pub pressure: Mutex<bool>,
    pub pressed: Condvar,
    pub checkpoint: Mutex<CheckpointFile>,
    pub flusher: Mutex<Flusher>,
    pub waiters: Mutex<Waiters>,
    /// Wakes the log thread.
    pub work: Condvar,
    pub ring_lock: Mutex<()>,
    /// Notified when the ring has room again.
    pub ring_room: Condvar,
    pub failure: OnceLock<String>,
    pub counters: LogCounters,
}

impl Shared {
    pub fn geometry(&self) -> Geometry {
        self.segments.format.geometry
    }

    /// The most bytes of a group: it and what it may waste at the end of a segment fit the part of the ring that is not
    /// kept for readers.
    pub fn group_max(&self) -> u64 {
        let segment = self.geometry().segment_bytes() - SEGMENT_HEADER;
        let ring = self.window() / 2 - SEGMENT_HEADER;
        segment.min(ring).min(GROUP_MAX as u64) / UNIT as u64 * UNIT as u64
    }

    /// Bytes of the ring for groups that are not written yet. The others keep what was written lately for readers.
    pub fn window(&self) -> u64 {
        self.ring.bytes() / 2
    }

    /// The error of a log that has failed.
    pub fn failure(&self) -> Option<StorageError> {
        let reason = self.failure.get()?;
        Some(StorageError::io(&self.options.files.directory, std::io::Error::other(reason.clone())))
    }

    /// Ends the process, or in a test the log: nothing that is not durable yet will be.
    pub fn fail(&self, e: &StorageError) {
        let _ = self.failure.set(e.to_string());
        (self.options.files.on_failure.0)(e);
        self.wake_waiters();
        drop(self.ring_lock.lock());
        self.ring_room.notify_all();
    }

    pub fn reserved(&self) -> Lsn {
        self.reserved.0.load(Ordering::SeqCst)
    }
}
