//! Emptying the pool, so that what runs next finds nothing in memory.

use super::{BufferPool, frames::PageKey, lists::List};
use crate::{Counters, Result};
use std::{sync::atomic::Ordering::Relaxed, thread, time::Duration};

impl BufferPool {
    /// Writes what is dirty and drops all pages that nobody uses. Returns how many stayed. Waits for reads ahead.
    pub fn clear(&self, counters: &Counters) -> Result<usize> {
        while self.reading.load(Relaxed) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        self.flush_all(counters)?;
        for (frame, f) in self.frames.iter() {
            if !f.try_lock_exclusive() {
                continue;
            }
            let listed = f.list.load(Relaxed) != List::None as u32;
            if listed && f.key() != PageKey::NONE && f.state.is_clean() {
                self.replacement.remove(&self.frames, frame);
                self.unmap(frame);
                self.give_back(frame);
            } else {
                // SAFETY: locked above.
                unsafe { f.unlock_exclusive() };
            }
        }
        Ok(self.frames.len() - self.free.lock().len())
    }
}
