//! Room that is promised to groups before they are appended.
//!
//! A change asks for room before it latches pages. What was promised is on the disk, in segments that are made, so
//! appending never fails. A transaction keeps the room that undoing it takes until it ends.

use super::{Lsn, geometry::SEGMENT_HEADER, shared::Shared};
use crate::{Result, StorageError};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// Room for groups. What is not used is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    shared: Arc<Shared>,
    /// Bytes of the log, with what groups may waste at the end of a segment.
    bytes: u64,
}

/// The most bytes that a group takes: itself, and the end of a segment that it did not fit, which is shorter than it,
/// with the header of the next segment.
pub(super) fn charge(bytes: u64) -> u64 {
    2 * bytes + SEGMENT_HEADER
}

impl Room {
    /// Bytes of the log that groups may take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes over the room of another.
    pub fn merge(&mut self, mut other: Room) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Takes away what a group of so many bytes may need.
    pub fn split(&mut self, bytes: u64) -> Room {
        self.bytes =
            self.bytes.checked_sub(charge(bytes)).expect("a group appends within the room that it was promised");
        Room { shared: Arc::clone(&self.shared), bytes: charge(bytes) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.promised.0.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

impl Room {
    /// Gives so many bytes back, or as many as there are.
    pub fn give_up(&mut self, bytes: u64) -> Room {
        let bytes = with_waste(bytes).min(self.bytes);
        self.bytes -= bytes;
        Room { shared: Arc::clone(&self.shared), bytes }
    }
}

/// What many small groups of so many bytes take altogether, with what they waste at the ends of segments.
fn with_waste(bytes: u64) -> u64 {
    bytes + bytes / 4
}

impl Shared {
    /// Promises room for small groups that will take so many bytes altogether, and are to be asked for one by one once
    /// this is given up.
    pub fn promise(self: &Arc<Self>, bytes: u64) -> Result<Room> {
        if self.options.read_only {
            return Err(StorageError::ForcedRecovery);
        }
        let bytes = with_waste(bytes);
        self.promised.0.fetch_add(bytes, Ordering::SeqCst);
        let room = Room { shared: Arc::clone(self), bytes };
        if self.needed() > self.made.load(Ordering::SeqCst) {
            self.make_segments()?;
        }
        Ok(room)
    }

    /// `wait`: wait for a checkpoint while the log is at its capacity.
    pub fn reserve(self: &Arc<Self>, bytes: u64, wait: bool) -> Result<Room> {
        if self.options.read_only {
            return Err(StorageError::ForcedRecovery);
        }
        if bytes > self.group_max() {
            return Err(StorageError::GroupTooLarge { bytes, limit: self.group_max() });
        }
        let charged = charge(bytes);
        self.promised.0.fetch_add(charged, Ordering::SeqCst);
        // Gives back what it has if this fails.
        let room = Room { shared: Arc::clone(self), bytes: charged };
        if wait && self.age() > self.soft_capacity() {
            self.throttle(bytes)?;
        }
        if self.needed() > self.made.load(Ordering::SeqCst) {
            self.make_segments()?;
        }
        Ok(room)
    }

    /// Segments must be made up to here for what is promised. The sum is read so that it is never too small: a group
    /// moves the end of the log before it uses up its promise.
    pub fn needed(&self) -> Lsn {
        let promised = self.promised.0.load(Ordering::SeqCst);
        self.reserved() + promised
    }

    fn age(&self) -> u64 {
        self.reserved().saturating_sub(self.redo.load(Ordering::SeqCst))
    }

    /// From this age on a checkpoint is wanted.
    fn soft_capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed) / 4 * 3
    }

    /// Asks for a checkpoint, and waits for it while the log is at its capacity.
    #[cold]
    fn throttle(&self, bytes: u64) -> Result<()> {
        {
            let mut pressure = self.pressure.lock();
            *pressure = true;
            self.pressed.notify_all();
        }
        let deadline = Instant::now() + self.options.throttle;
        let mut supply = self.supply.lock();
        while self.age() + bytes > self.capacity.load(Ordering::Relaxed) {
            if let Some(e) = self.failure() {
                return Err(e);
            }
            if self.moved.wait_until(&mut supply, deadline).timed_out() {
                return Err(StorageError::LogFull { capacity: self.capacity.load(Ordering::Relaxed) });
            }
        }
        Ok(())
    }

    /// Waits until a checkpoint is wanted, at most so long. Returns true if one is.
    pub fn wait_for_pressure(&self, timeout: Duration) -> bool {
        let mut pressure = self.pressure.lock();
        if !*pressure {
            self.pressed.wait_for(&mut pressure, timeout);
        }
        std::mem::take(&mut *pressure)
    }
}
