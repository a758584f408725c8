//! Segments to come: made of zeros, or of segments that nobody needs any more. Checkpoints, which tell that.

use super::{Lsn, append::Log, checkpoint::Checkpoint, planted::PlantedFault, segments::Segments, shared::Shared};
use crate::Result;
use std::{collections::VecDeque, sync::atomic::Ordering, time::Duration};

/// Which segments there are.
#[derive(Debug, Default)]
pub(super) struct Supply {
    /// The first segment that is needed.
    pub first: u64,
    /// The first segment that is not made.
    pub next: u64,
    /// Segments that nobody needs.
    pub free: VecDeque<u64>,
}

impl Supply {
    /// Numbers of the first and the last segment that has a file.
    pub fn numbers(&self) -> (u64, u64) {
        (self.free.front().copied().unwrap_or(self.first).min(self.first), self.next - 1)
    }
}

impl Shared {
    /// Makes segments until there is room for all that is promised. Errors: `DiskFull`, I/O.
    #[cold]
    pub fn make_segments(&self) -> Result<()> {
        let mut supply = self.supply.lock();
        while self.needed() > self.made.load(Ordering::SeqCst) {
            self.make_segment(&mut supply)?;
        }
        Ok(())
    }

    fn make_segment(&self, supply: &mut Supply) -> Result<()> {
        match supply.free.pop_front() {
            Some(old) => {
                self.segments.recycle(old, supply.next)?;
                self.counters.recycled.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                self.segments.make(supply.next)?;
                self.counters.made.fetch_add(1, Ordering::Relaxed);
            }
        }
        supply.next += 1;
        self.made.store(self.geometry().start_of(supply.next), Ordering::SeqCst);
        Ok(())
    }

    /// Tells where redo begins now, and uses segments before `oldest` again, up to the log's capacity; deletes the
    /// others.
    fn recycle(&self, redo: Lsn, oldest: Lsn) -> Result<()> {
        // Changes may go on from here. If they need a segment, they wait for those that come now and make none.
        let mut supply = self.supply.lock();
        self.redo.store(redo, Ordering::SeqCst);
        self.oldest.store(oldest, Ordering::SeqCst);
        let needed = self.geometry().segment_of(oldest);
        while supply.first < needed {
            let free = supply.first;
            supply.free.push_back(free);
            supply.first += 1;
        }
        // A log at its capacity begins and ends within a segment, and room is promised beyond its end.
        let kept = self.capacity.load(Ordering::Relaxed).div_ceil(self.geometry().segment_bytes()) + 2;
        while let Some(&old) = supply.free.front() {
            if supply.next - supply.first < kept {
                self.make_segment(&mut supply)?;
            } else {
                supply.free.pop_front();
                self.segments.remove(old)?;
            }
        }
        Ok(())
    }

    /// Writes a checkpoint and recycles what it makes free.
    pub fn take_checkpoint(&self, redo: Lsn, oldest: Lsn, next_transaction: u64) -> Result<()> {
        let mut file = self.checkpoint.lock();
        let last = file.last();
        debug_assert!(last.redo <= redo && last.oldest <= oldest && oldest <= redo);
        if self.options.planted.has(PlantedFault::RecycleEarly) {
            self.recycle(redo, oldest)?;
        }
        let synced = self.flushed.load(Ordering::Acquire);
        file.write(Checkpoint { redo, synced, oldest, epoch: self.epoch, next_transaction, ..last })?;
        self.recycle(redo, oldest)?;
        self.moved.notify_all();
        Ok(())
    }
}

impl Log {
    /// Writes a checkpoint: redo begins at `redo`, where a group begins or the log ends; nobody needs the log before
    /// `oldest`, which is not beyond it. Neither may be below that of the checkpoint before. Makes the log durable up
    /// to `redo` first. Segments that are free then are used again.
    pub fn checkpoint(&self, redo: Lsn, oldest: Lsn, next_transaction: u64) -> Result<()> {
        self.wait_durable(redo)?;
        self.shared.take_checkpoint(redo, oldest, next_transaction)
    }

    /// Ends a wait for pressure.
    pub fn wake_checkpointer(&self) {
        *self.shared.pressure.lock() = true;
        self.shared.pressed.notify_all();
    }

    /// `innodb_redo_log_capacity`.
    pub fn capacity(&self) -> u64 {
        self.shared.capacity.load(Ordering::Relaxed)
    }

    /// Sets `innodb_redo_log_capacity`. If the log has become too old for it, changes wait for checkpoints from now on;
    /// segments that are too many go with the checkpoints to come.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.capacity.store(bytes, Ordering::Relaxed);
        self.shared.moved.notify_all();
    }

    /// Waits until the log's age makes a checkpoint wanted, at most so long. Returns true if one is wanted.
    pub fn wait_for_pressure(&self, timeout: Duration) -> bool {
        self.shared.wait_for_pressure(timeout)
    }
}

/// Finds out which segments there are when the log is opened: those from the oldest one needed on, without a gap and
/// with valid headers. Removes those behind a gap, and remains of segments that were being made.
pub(super) fn take_stock(segments: &Segments, oldest: Lsn, end: Lsn) -> Result<Supply> {
    let geometry = segments.format.geometry;
    segments.remove_unfinished()?;
    let numbers = segments.list()?;
    let first = geometry.segment_of(oldest);
    let free = numbers.iter().copied().filter(|&number| number < first).collect();
    // Of segments to come only the headers are read.
    let mut window = super::reader::Window::small(segments);
    // The segment in which the log ends was read, unless the log ends where it begins.
    let mut next = geometry.segment_of(end);
    while numbers.contains(&next) && window.check_segment(next)?.is_ok() {
        next += 1;
    }
    for &number in numbers.iter().filter(|&&number| number >= next) {
        segments.remove(number)?;
    }
    Ok(Supply { first, next, free })
}
