//! Takes groups out of the ring in their order and writes them in whole blocks.

use super::{
    Lsn,
    geometry::SEGMENT_HEADER,
    group::{GROUP_HEADER, GroupHeader},
    planted::PlantedFault,
    shared::Shared,
};
use crate::{
    Result,
    io::{ALIGN, AlignedBuf},
};
use std::{fmt, sync::atomic::Ordering};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;

/// The flusher moves bytes from the ring to the files. One thread at a time has it: the log thread, or one that waits
/// for a commit and finds the log thread at rest.
pub(super) struct Flusher {
    /// Bytes that are to be written, from the start of a block on: the last block was written before if it was not
    /// full.
    buffer: AlignedBuf,
    /// The position of the buffer's first byte.
    start: Lsn,
    filled: usize,
    /// Bytes at the start of the buffer that are on the disk already.
    on_disk: usize,
    /// The end of the last group that was taken out of the ring.
    taken: Lsn,
    /// Segments that were written to since they were synced.
    unsynced: Vec<u64>,
}

impl fmt::Debug for Flusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flusher").field("start", &self.start).field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl Flusher {
    /// Goes on at a position; `block` has what the log has before it in the block.
    pub fn new(at: Lsn, block: &[u8]) -> Flusher {
        let mut buffer = AlignedBuf::zeroed(BUFFER);
        let filled = (at % ALIGN as u64) as usize;
        buffer[..filled].copy_from_slice(&block[..filled]);
        Flusher { buffer, start: at - filled as u64, filled, on_disk: filled, taken: at, unsynced: Vec::new() }
    }

    /// Takes out all groups that are complete and writes them. Returns true if there were any.
    pub fn write(&mut self, shared: &Shared) -> Result<bool> {
        let before = self.taken;
        let geometry = shared.geometry();
        loop {
            let at = geometry.place(self.taken);
            // Beyond the limit the ring has words of older groups.
            if at >= shared.limit.load(Ordering::Relaxed) || !shared.ring.is_complete(at) {
                break;
            }
            if geometry.offset(at) == SEGMENT_HEADER {
                self.begin_segment(shared, at)?;
            }
            let mut header = [0; GROUP_HEADER];
            shared.ring.copy(at, &mut header);
            let header = GroupHeader::read(&header, at, geometry).expect("the ring has what was appended");
            self.take(shared, at, header.checked_bytes())?;
            self.taken = header.end();
        }
        if self.taken == before {
            return Ok(false);
        }
        self.write_out(shared)?;
        self.publish(shared);
        Ok(true)
    }

    /// Makes durable what was written.
    pub fn sync(&mut self, shared: &Shared) -> Result<()> {
        for number in std::mem::take(&mut self.unsynced) {
            if !shared.options.planted.has(PlantedFault::SkipSync) {
                let file = shared.segments.existing(number)?;
                shared.segments.files.sync_file(&file)?;
            }
            shared.counters.syncs.fetch_add(1, Ordering::Relaxed);
        }
        shared.flushed.store(self.taken, Ordering::Release);
        Ok(())
    }

    /// The end of the last group that was taken out of the ring.
    pub fn taken(&self) -> Lsn {
        self.taken
    }

    /// Leaves the segment before; the next one begins with its header.
    fn begin_segment(&mut self, shared: &Shared, at: Lsn) -> Result<()> {
        self.write_out(shared)?;
        let format = shared.segments.format;
        let number = format.geometry.segment_of(at);
        let header = format.header(number);
        self.buffer[..header.len()].copy_from_slice(&header);
        (self.start, self.filled, self.on_disk) = (format.geometry.start_of(number), header.len(), 0);
        Ok(())
    }

    /// Copies bytes out of the ring, and writes whenever the buffer is full.
    fn take(&mut self, shared: &Shared, mut at: Lsn, mut bytes: usize) -> Result<()> {
        while bytes > 0 {
            if self.filled == BUFFER {
                self.write_out(shared)?;
            }
            let now = bytes.min(BUFFER - self.filled);
            shared.ring.copy(at, &mut self.buffer[self.filled..self.filled + now]);
            self.filled += now;
            at += now as u64;
            bytes -= now;
        }
        Ok(())
    }

    /// Writes the buffer up to the end of its last block, with zeros behind the log's end. That block stays, for what
    /// comes next is in it.
    fn write_out(&mut self, shared: &Shared) -> Result<()> {
        if self.filled == self.on_disk {
            return Ok(());
        }
        let bytes = self.filled.next_multiple_of(ALIGN);
        self.buffer[self.filled..bytes].fill(0);
        let number = shared.geometry().segment_of(self.start);
        let file = shared.segments.existing(number)?;
        shared.segments.files.write(&file, shared.geometry().offset(self.start), &self.buffer[..bytes])?;
        shared.counters.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        shared.counters.writes.fetch_add(1, Ordering::Relaxed);
        if self.unsynced.last() != Some(&number) {
            self.unsynced.push(number);
        }
        let whole = self.filled / ALIGN * ALIGN;
        self.buffer.copy_within(whole..self.filled, 0);
        self.start += whole as u64;
        self.filled -= whole;
        self.on_disk = self.filled;
        Ok(())
    }

    /// Tells how far the log is written, and gives room in the ring back.
    fn publish(&mut self, shared: &Shared) {
        shared.written.store(self.taken, Ordering::Release);
        let before = shared.limit.load(Ordering::Relaxed);
        let limit = self.taken + shared.window();
        if limit > before {
            shared.history.fetch_max((limit).saturating_sub(shared.ring.bytes()), Ordering::SeqCst);
            std::sync::atomic::fence(Ordering::SeqCst);
            shared.ring.clear(before, limit - before);
            shared.limit.store(limit, Ordering::Release);
        }
        shared.write_early.store(self.taken + shared.window() / 2, Ordering::Relaxed);
        drop(shared.ring_lock.lock());
        shared.ring_room.notify_all();
    }
}
