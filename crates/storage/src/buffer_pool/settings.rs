//! Settings that can change while the pool is in use, and the pool's connections to the log and the doublewrite file.

use super::{BufferPool, Doublewrite, OnPoolFailure, PageLog};
use std::sync::{Arc, atomic::Ordering::Relaxed};

impl BufferPool {
    /// The share of the pool that pages just read pass through, 5 to 95 percent; 5 unless it is set.
    pub fn set_old_blocks_pct(&self, pct: u32) {
        self.replacement.set_old_pct(pct);
    }

    /// A page that is used again sooner than this after its first use stays old; 0 unless it is set.
    pub fn set_old_blocks_time_ms(&self, ms: u32) {
        self.replacement.set_old_time_ms(ms);
    }

    /// How long a request waits for a frame while all are in use, before it fails with `NoFreeFrame`.
    pub fn set_frame_wait_ms(&self, ms: u64) {
        self.frame_wait_ms.store(ms, Relaxed);
    }

    /// The log that has to be durable before pages that it changed are written. Positions in it must not be below those
    /// of the log before. While a log is repeated, its position is that of the group at hand.
    pub fn set_page_log(&self, log: Arc<dyn PageLog>) {
        self.write_order.set_log(log);
    }

    /// Pages go by way of this to their places from now on; `None`: directly.
    pub fn set_doublewrite(&self, doublewrite: Option<Arc<dyn Doublewrite>>) {
        self.write_order.set_doublewrite(doublewrite);
    }

    /// Sets the hook that is called instead of the end of the process when a sync fails, or a thread panics amid a
    /// change of a page. If it returns, nothing is written any more.
    pub fn set_on_failure(&self, hook: OnPoolFailure) {
        self.write_order.set_on_failure(hook);
    }

    /// More dirty pages than this are written by the cleaner; half of the pool unless it is set.
    pub fn set_dirty_max(&self, pages: usize) {
        self.cleaner.set_dirty_max(pages);
    }

    /// How long the cleaner rests after an error before it tries again.
    pub fn set_cleaner_retry_ms(&self, ms: u64) {
        self.cleaner.set_retry_ms(ms);
    }

    /// Asks the cleaner for all changes before a position of the log to be written to their places, and does not wait.
    /// [`BufferPool::redo_start`] tells how far it is.
    pub fn clean_before(&self, lsn: u64) {
        self.cleaner.wake_for(lsn, &self.me);
    }

    /// Ends the cleaner, and waits for what it writes just now. To be called before the lock of the directory is let
    /// go.
    pub fn stop_cleaner(&self) {
        self.cleaner.stop();
    }
}
