//! Writing a batch of dirty pages: the one way in which pages get from the pool to the disk.
//!
//! ```text
//!   copy      each page latched shared for as long as it takes to copy it; the copy is sealed
//!   log       durable up to the largest LSN of the copies
//!   save      the copies, durably, in the doublewrite file, if there is one
//!   write     the copies to their places, adjacent pages in one write
//!   sync      the files
//!   finish    what was not changed since its copy is clean
//! ```
//!
//! Writers and readers go on meanwhile. A page on which anything failed stays dirty, since when it was.

use super::{BufferPool, frames::PageKey, planted::PlantedFault, write_order::PageCopy};
use crate::{
    Counters, FileId, Result, StorageError,
    counters::Counter,
    file::PageFile,
    io::{AlignedBuf, WriteOp},
    page::{self, PageHeader},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// The most pages of a batch.
pub const BATCH_PAGES: usize = 128;
/// The most bytes of a batch; it has a page at least.
const BATCH_BYTES: usize = 2 << 20;
/// Bytes of one write at most.
const WRITE_BYTES: usize = 1 << 20;

/// Memory for the copies of a batch, made when it is first needed. Who has it locked writes the only batch.
pub(super) type CopyBuffer = Option<AlignedBuf>;

/// A page whose copy is at the same position in the buffer as this in its batch.
struct Copied {
    key: PageKey,
    frame: u32,
    file: Arc<PageFile>,
}

impl BufferPool {
    /// The most pages that one batch of this pool has.
    pub(super) fn batch_pages(&self) -> usize {
        BATCH_PAGES.min(BATCH_BYTES / self.page_size).max(1)
    }

    /// Writes those of the frames that are dirty and not being changed, at most a batch. Returns how many pages it has
    /// made clean. Errors: `DiskFull`, I/O; the pages that were not written stay dirty.
    pub(super) fn write_batch(&self, frames: &[u32], counters: &Counters) -> Result<usize> {
        let mut buffer = self.copies.lock();
        let memory = buffer.get_or_insert_with(|| AlignedBuf::zeroed(self.batch_pages() * self.page_size));
        let (batch, mut clean) = self.copy_pages(frames, memory);
        if batch.is_empty() {
            return Ok(clean);
        }
        let mut durable = vec![false; batch.len()];
        let result = self.make_durable(&batch, memory, &mut durable);
        for (copied, &durable) in batch.iter().zip(&durable) {
            let state = &self.frames.get(copied.frame).state;
            if self.planted.has(PlantedFault::ForgetChangesSinceCopy) {
                self.dirty.forget(copied.frame, state);
            }
            let is_clean = self.dirty.finish(copied.frame, state, durable);
            clean += usize::from(is_clean);
        }
        let pages = durable.iter().filter(|durable| **durable).count() as u64;
        counters.add(Counter::pages_written, pages);
        self.flushed.fetch_add(pages, Relaxed);
        if result.is_err() {
            counters.add(Counter::page_write_failures, 1);
        }
        result.map(|()| clean)
    }

    /// Copies and seals pages, in the order of their places. Also returns how many are clean because their file is
    /// deleted.
    fn copy_pages(&self, frames: &[u32], memory: &mut [u8]) -> (Vec<Copied>, usize) {
        let frames = frames.iter().take(self.batch_pages());
        let mut frames: Vec<(u64, u32)> = frames.map(|&frame| (self.frames.get(frame).key().0, frame)).collect();
        frames.sort_unstable();
        let mut batch: Vec<Copied> = Vec::with_capacity(frames.len());
        let mut forgotten = 0;
        for (_, frame) in frames {
            let f = self.frames.get(frame);
            if f.state.is_clean() || !f.try_lock_shared() {
                continue;
            }
            let owner = f.owner.lock().clone();
            if let Some(file) = owner
                && self.dirty.begin(&f.state)
            {
                if file.is_deleted() {
                    forgotten += usize::from(self.dirty.finish(frame, &f.state, true));
                } else {
                    let copy = &mut memory[batch.len() * self.page_size..][..self.page_size];
                    // SAFETY: latched shared just now.
                    copy.copy_from_slice(unsafe { self.frames.bytes(frame) });
                    page::seal(copy);
                    batch.push(Copied { key: f.key(), frame, file });
                }
            }
            // SAFETY: latched shared above.
            unsafe { f.unlock_shared() };
        }
        (batch, forgotten)
    }

    /// Makes copies durable at their places, in the order that recovery needs. `durable` tells of which this is known.
    fn make_durable(&self, batch: &[Copied], memory: &[u8], durable: &mut [bool]) -> Result<()> {
        let copies: Vec<PageCopy<'_>> = batch
            .iter()
            .zip(memory.chunks_exact(self.page_size))
            .map(|(copied, bytes)| PageCopy {
                file: copied.file.io_file(),
                id: copied.file.id(),
                page_no: copied.key.page_no(),
                bytes,
            })
            .collect();
        self.write_order.check(copies[0].file)?;
        // Recovery does not look at temporary files.
        let is_kept = |copied: &Copied| copied.file.temporary_space().is_none();
        let kept = copies.iter().zip(batch).filter(|(_, copied)| is_kept(copied));
        let lsn = kept.map(|(copy, _)| PageHeader(copy.bytes).lsn()).max().unwrap_or(0);
        if !self.planted.has(PlantedFault::PageBeforeLog) {
            self.write_order.make_log_durable(lsn)?;
        }
        let doublewrite = self.write_order.doublewrite().filter(|_| batch.iter().any(is_kept));
        if let Some(doublewrite) = &doublewrite {
            doublewrite.save(&copies)?;
            self.doublewrite_pages.fetch_add(copies.len() as u64, Relaxed);
            self.doublewrite_batches.fetch_add(1, Relaxed);
        }
        let failed = self.write_in_place(&copies, durable);
        self.sync_files(batch, durable)?;
        if let Some(doublewrite) = doublewrite {
            doublewrite.written(&copies, durable);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Writes copies to their places. `written` tells which have been; returns the first error.
    fn write_in_place(&self, copies: &[PageCopy<'_>], written: &mut [bool]) -> Option<StorageError> {
        let run_pages = (WRITE_BYTES / self.page_size).max(1);
        let mut ops: Vec<WriteOp<'_>> = Vec::new();
        for (i, copy) in copies.iter().enumerate() {
            let is_next = |before: &PageCopy<'_>| (before.id, before.page_no + 1) == (copy.id, copy.page_no);
            match ops.last_mut() {
                Some(op) if op.buffers.len() < run_pages && is_next(&copies[i - 1]) => op.buffers.push(copy.bytes),
                _ => {
                    let offset = u64::from(copy.page_no) * self.page_size as u64;
                    ops.push(WriteOp::new(copy.file, offset, vec![copy.bytes]));
                }
            }
        }
        self.io.write(&mut ops);
        let mut failed = None;
        let mut at = 0;
        for op in ops {
            written[at..at + op.buffers.len()].fill(op.result.is_ok());
            at += op.buffers.len();
            if let Err(e) = op.result {
                failed.get_or_insert_with(|| StorageError::io(op.file.path(), e));
            }
        }
        failed
    }

    /// Makes durable what was written of a file in use. An error ends the process, whoever meets it: the kernel tells
    /// one caller of a write that failed, and that need not be the one whose write it was.
    pub(crate) fn sync_file(&self, file: &PageFile) -> Result<()> {
        file.sync().inspect_err(|e| self.write_order.sync_failed(e))
    }

    /// Syncs the files of the pages that were written. If that fails, none of the pages counts as durable.
    fn sync_files(&self, batch: &[Copied], durable: &mut [bool]) -> Result<()> {
        if self.planted.has(PlantedFault::CleanBeforeSync) {
            return Ok(());
        }
        let written = batch.iter().zip(&*durable).filter(|(_, written)| **written);
        let files: BTreeMap<FileId, &PageFile> = written.map(|(copied, _)| (copied.file.id(), &*copied.file)).collect();
        for file in files.into_values() {
            if let Err(e) = self.sync_file(file) {
                durable.fill(false);
                return Err(e);
            }
        }
        Ok(())
    }
}
