//! Writing dirty pages, and dropping the pages of a deleted file.

use super::{BufferPool, frames::PageKey};
use crate::{Counters, Result, counters::Counter, file::PageFile, io::WriteOp, page};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Pages written as one batch.
const BATCH: usize = 64;
/// Bytes of one write at most.
const WRITE_BYTES: usize = 1 << 20;

impl BufferPool {
    /// Writes all dirty pages of a file. Does not sync. Waits for pages that are being changed, so that the caller must
    /// hold none. On an error the unwritten pages stay dirty and in memory.
    pub fn flush_file(&self, file: &PageFile, counters: &Counters) -> Result<()> {
        self.flush(|key| key.file() == file.id(), counters)
    }

    /// Writes all dirty pages of all files.
    pub fn flush_all(&self, counters: &Counters) -> Result<()> {
        self.flush(|_| true, counters)
    }

    fn flush(&self, wanted: impl Fn(PageKey) -> bool, counters: &Counters) -> Result<()> {
        let mut dirty: Vec<(u64, u32)> = self
            .frames
            .iter()
            .filter(|(_, f)| f.dirty.load(Relaxed) && wanted(f.key()))
            .map(|(frame, f)| (f.key().0, frame))
            .collect();
        dirty.sort_unstable();
        for batch in dirty.chunks(BATCH) {
            let frames: Vec<u32> = batch.iter().map(|&(_, frame)| frame).collect();
            if self.write_frames(&frames, counters)? == frames.len() {
                continue;
            }
            // Some were latched by others: one by one, waiting, and holding nothing meanwhile.
            for &(key, frame) in batch {
                let f = self.frames.get(frame);
                while f.key().0 == key && f.dirty.load(Relaxed) {
                    f.lock_exclusive();
                    // SAFETY: locked above.
                    unsafe { f.unlock_exclusive() };
                    self.write_frames(&[frame], counters)?;
                }
            }
        }
        Ok(())
    }

    /// Writes those of the frames that are dirty and not in use. Returns how many of them are clean now.
    pub(super) fn write_frames(&self, frames: &[u32], counters: &Counters) -> Result<usize> {
        let mut latched: Vec<(PageKey, u32, Arc<PageFile>)> = Vec::with_capacity(frames.len());
        let mut clean = 0;
        for &frame in frames {
            let f = self.frames.get(frame);
            if !f.try_lock_exclusive() {
                continue;
            }
            let owner = f.owner.lock().clone();
            match owner {
                Some(file) if f.dirty.load(Relaxed) && !file.is_deleted() => {
                    // SAFETY: latched exclusively just now.
                    page::seal(unsafe { self.frames.bytes_mut(frame) });
                    // SAFETY: as above.
                    unsafe { f.downgrade() };
                    latched.push((f.key(), frame, file));
                }
                // Pages of a deleted file need no writing.
                _ => {
                    f.dirty.store(false, Relaxed);
                    clean += 1;
                    // SAFETY: as above.
                    unsafe { f.unlock_exclusive() };
                }
            }
        }
        latched.sort_unstable_by_key(|(key, ..)| key.0);
        let run = (WRITE_BYTES / self.page_size).max(1);
        let mut ops: Vec<WriteOp<'_>> = Vec::new();
        let mut starts = Vec::new();
        for (i, (key, frame, file)) in latched.iter().enumerate() {
            // SAFETY: latched shared until the end of this function.
            let bytes = unsafe { self.frames.bytes(*frame) };
            match ops.last_mut() {
                Some(op) if op.buffers.len() < run && latched[i - 1].0.0 + 1 == key.0 => op.buffers.push(bytes),
                _ => {
                    starts.push(i);
                    ops.push(WriteOp::new(file.io_file(), file.offset(key.page_no()), vec![bytes]));
                }
            }
        }
        self.io.write(&mut ops);
        let results: Vec<_> = ops.into_iter().map(|op| (op.buffers.len(), op.result)).collect();
        let mut failed = None;
        for (start, (pages, result)) in starts.into_iter().zip(results) {
            for (_, frame, file) in &latched[start..start + pages] {
                match &result {
                    Ok(()) => {
                        // Nobody can have changed it: that takes the exclusive latch.
                        self.frames.get(*frame).dirty.store(false, Relaxed);
                        clean += 1;
                    }
                    Err(e) if failed.is_none() => failed = Some(file.error(copy_error(e))),
                    Err(_) => {}
                }
                // SAFETY: latched shared above.
                unsafe { self.frames.get(*frame).unlock_shared() };
            }
            if result.is_ok() {
                counters.add(Counter::pages_written, pages as u64);
            }
        }
        failed.map_or(Ok(clean), Err)
    }

    /// Forgets the pages of a file that is deleted, unwritten. Those that somebody still holds go later.
    pub fn discard_file(&self, file: &PageFile) {
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

fn copy_error(e: &std::io::Error) -> std::io::Error {
    match e.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => std::io::Error::new(e.kind(), e.to_string()),
    }
}
