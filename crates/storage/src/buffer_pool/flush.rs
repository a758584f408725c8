//! Writing all dirty pages of a file or of the pool, or those before a position of the log, by the thread that asks for
//! it; and dropping the pages of a deleted file.

use super::{BufferPool, frames::PageKey};
use crate::{Counters, Result, file::PageFile};

/// A dirty page, as it was found.
#[derive(Clone, Copy)]
struct FoundPages {
    key: PageKey,
    frame: u32,
    lsn: u64,
}

impl BufferPool {
    /// Writes all dirty pages of a file and syncs it. Waits for pages that are being changed, so that the caller must
    /// hold none. On an error the unwritten pages stay dirty and in memory.
    pub fn flush_file(&self, file: &PageFile, counters: &Counters) -> Result<()> {
        self.flush(|_, key| key.file() == file.id(), counters)
    }

    /// Writes all dirty pages of all files, as [`BufferPool::flush_file`].
    pub fn flush_all(&self, counters: &Counters) -> Result<()> {
        self.flush(|_, _| true, counters)
    }

    /// Writes all pages whose recovery LSN is below a position of the log, as [`BufferPool::flush_file`]. Returns where
    /// redo could begin then.
    pub fn flush_before(&self, lsn: u64, counters: &Counters) -> Result<u64> {
        self.flush(|recovery_lsn, _| recovery_lsn < lsn, counters)?;
        Ok(self.redo_start())
    }

    fn flush(&self, wanted: impl Fn(u64, PageKey) -> bool, counters: &Counters) -> Result<()> {
        let mut dirty: Vec<FoundPages> = self
            .dirty
            .oldest(usize::MAX)
            .into_iter()
            .map(|(lsn, frame)| FoundPages { key: self.frames.get(frame).key(), frame, lsn })
            .filter(|found| wanted(found.lsn, found.key))
            .collect();
        dirty.sort_unstable_by_key(|found| found.key.0);
        for batch in dirty.chunks(self.batch_pages()) {
            let frames: Vec<u32> = batch.iter().map(|found| found.frame).collect();
            if self.write_batch(&frames, counters)? < frames.len() {
                self.flush_rest(batch, counters)?;
            }
        }
        Ok(())
    }

    /// Writes what is left of a batch because it was latched by others: one by one, waiting, and holding nothing
    /// meanwhile.
    fn flush_rest(&self, batch: &[FoundPages], counters: &Counters) -> Result<()> {
        for &FoundPages { key, frame, lsn } in batch {
            let f = self.frames.get(frame);
            // A page that has a later recovery LSN now was written since it was found, and changed again.
            while f.key() == key && self.dirty.recovery_lsn(frame) == Some(lsn) {
                f.lock_shared();
                // SAFETY: locked above.
                unsafe { f.unlock_shared() };
                self.write_batch(&[frame], counters)?;
            }
        }
        Ok(())
    }

    /// The position where redo could begin: the least recovery LSN of all pages, or the end of the log if there is no
    /// dirty page.
    pub fn redo_start(&self) -> u64 {
        // In this order: a change that is not in the list yet has a position that is not below this one.
        let end = self.write_order.position();
        self.dirty.least().map_or(end, |least| least.min(end))
    }

    /// Forgets the pages of a file that is deleted, unwritten. Those that somebody still holds go later.
    pub fn discard_file(&self, file: &PageFile) {
        if let Some(doublewrite) = self.write_order.doublewrite() {
            doublewrite.forget(file.id());
        }
        for (frame, f) in self.frames.iter() {
            if f.key().file() != file.id() || !f.try_lock_exclusive() {
                continue;
            }
            if f.key() != PageKey::NONE && f.key().file() == file.id() {
                self.replacement.remove(&self.frames, frame);
                self.unmap(frame);
                self.give_back(frame);
            } else {
                // SAFETY: locked above.
                unsafe { f.unlock_exclusive() };
            }
        }
    }
}
