//! Frames for pages that come: free ones, and those of clean pages that are not in use. Nothing is written here.

use super::{BufferPool, frames::PageKey, lists::List};
use crate::{Counters, Result, StorageError, counters::Counter};
use std::{
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

/// As many dirty pages that should have been replaced before a clean one wake the cleaner.
const DIRTY_PASSED: usize = 4;
/// How long a request for a frame waits for clean pages that are in use, once the disk is known to be full.
const FULL_DISK_WAIT: Duration = Duration::from_millis(10);

impl BufferPool {
    /// An empty frame, latched exclusively, in no list. Waits a while when all are in use, and for the cleaner when
    /// none is clean; hardly, if the cleaner can write nothing because the disk is full. Errors: `NoFreeFrame`, and
    /// those of the cleaner.
    pub(super) fn take_frame(&self, counters: &Counters) -> Result<u32> {
        if let Some(frame) = self.take_frame_now() {
            return Ok(frame);
        }
        counters.add(Counter::frame_waits, 1);
        let mut deadline = Instant::now() + Duration::from_millis(self.frame_wait_ms.load(Relaxed));
        let mut failure = None;
        let mut is_first = true;
        loop {
            if !is_disk_full(failure.as_deref()) {
                failure = if self.dirty.count() > 0 { self.cleaner.round(&self.me, is_first) } else { None };
                is_first = false;
                if is_disk_full(failure.as_deref()) {
                    deadline = deadline.min(Instant::now() + FULL_DISK_WAIT);
                }
            }
            if let Some(frame) = self.take_frame_now() {
                return Ok(frame);
            }
            if Instant::now() >= deadline {
                return Err(failure.map_or(StorageError::NoFreeFrame { frames: self.frames.len() }, |e| e.repeated()));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn take_frame_now(&self) -> Option<u32> {
        let free = self.free.lock().pop();
        let Some(frame) = free else { return self.evict() };
        let f = self.frames.get(frame);
        f.lock_exclusive();
        // Threads that waited for the page that was here need the latch once more, to see that it is gone. No others
        // come.
        while f.is_waited_for() {
            // SAFETY: locked above.
            unsafe { f.unlock_exclusive() };
            thread::yield_now();
            f.lock_exclusive();
        }
        Some(frame)
    }

    /// Empties the clean frame that is the first to go and not in use; `None` if there is none. Wakes the cleaner if
    /// dirty ones should have gone before it.
    fn evict(&self) -> Option<u32> {
        let mut candidates = Vec::new();
        let mut dirty = 0;
        for limit in [8, 64, 1024, usize::MAX] {
            self.replacement.candidates(&self.frames, limit, &mut candidates);
            for &frame in &candidates {
                if !self.frames.get(frame).state.is_clean() {
                    dirty += 1;
                } else if self.try_evict(frame) {
                    if dirty >= DIRTY_PASSED {
                        self.cleaner.wake_for_frames(&self.me);
                    }
                    return Some(frame);
                }
            }
        }
        if dirty > 0 {
            self.cleaner.wake_for_frames(&self.me);
        }
        None
    }

    /// Empties a frame unless it is in use, waited for or dirty; then it is latched exclusively.
    fn try_evict(&self, frame: u32) -> bool {
        let f = self.frames.get(frame);
        if !f.try_lock_exclusive() {
            return false;
        }
        let is_in_list = f.key() != PageKey::NONE && f.list.load(Relaxed) != List::None as u32;
        if !is_in_list || !f.state.is_clean() || f.is_waited_for() {
            // SAFETY: locked above.
            unsafe { f.unlock_exclusive() };
            return false;
        }
        self.replacement.evict(&self.frames, frame);
        self.unmap(frame);
        if f.is_waited_for() {
            // Somebody has found the page in the table before it left.
            self.give_back(frame);
            return false;
        }
        true
    }
}

fn is_disk_full(failure: Option<&StorageError>) -> bool {
    matches!(failure, Some(StorageError::DiskFull { .. }))
}
