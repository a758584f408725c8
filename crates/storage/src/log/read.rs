//! One record by its position: what a roll pointer leads to. Recent ones are still in the ring, others in the files.

use super::{
    Lsn,
    append::Log,
    group::{GROUP_HEADER, GroupHeader, GroupView, RECORD_HEADER, Record, group_of_record},
    reader::Window,
    shared::Shared,
};
use crate::Result;
use std::sync::atomic::{Ordering, fence};

impl Log {
    /// Reads the record at a position that [`Log::append`] returned, or that a page holds. Errors: `DamagedLog` if there
    /// is none, I/O.
    pub fn read<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Result<R> {
        self.shared.read(lsn, use_record)
    }

    /// The same, if the record is still in memory.
    pub fn read_recent<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Option<R> {
        self.shared.read_from_ring(lsn, use_record)
    }
}

impl Shared {
    pub fn read<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Result<R> {
        let mut use_record = Some(use_record);
        let mut once = |record: Record<'_>| use_record.take().map(|use_record| use_record(record));
        match self.read_from_ring(lsn, &mut once).flatten() {
            Some(used) => Ok(used),
            None => {
                let used = self.read_from_file(lsn, once)?;
                used.ok_or_else(|| self.segments.damaged(lsn, "no record begins here"))
            }
        }
    }

    fn read_from_ring<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Option<R> {
        let (header, bytes) = self.group_in_ring(lsn)?;
        let group = GroupView::new(header, &bytes, self.identity).ok()?;
        group.record_at(lsn).map(use_record)
    }

    /// The bytes of the group of a record, if the ring still has them.
    fn group_in_ring(&self, lsn: Lsn) -> Option<(GroupHeader, Vec<u8>)> {
        let oldest = self.history.load(Ordering::SeqCst);
        if lsn < oldest || lsn >= self.reserved() || !lsn.is_multiple_of(8) {
            return None;
        }
        let mut record = [0; RECORD_HEADER];
        self.ring.copy(lsn, &mut record);
        let start = group_of_record(&record, lsn).filter(|&start| start >= oldest)?;
        let mut header = [0; GROUP_HEADER];
        self.ring.copy(start, &mut header);
        let header = GroupHeader::read(&header, start, self.geometry()).ok()?;
        if header.length > self.group_max() {
            return None;
        }
        let mut bytes = vec![0; header.checked_bytes()];
        self.ring.copy(start, &mut bytes);
        // Words are cleared only after the history has moved: if it has not passed the group, the bytes are its own.
        fence(Ordering::SeqCst);
        (self.history.load(Ordering::SeqCst) <= start).then_some((header, bytes))
    }

    fn read_from_file<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Result<R> {
        let damaged = |reason: &str| self.segments.damaged(lsn, reason);
        if self.geometry().rest(lsn) < RECORD_HEADER as u64 {
            return Err(damaged("no record begins here"));
        }
        let mut window = Window::small(&self.segments);
        let record = window.bytes(lsn, RECORD_HEADER)?.and_then(|bytes| bytes.first_chunk().copied());
        let record = record.ok_or_else(|| damaged("the segment is missing"))?;
        let start = group_of_record(&record, lsn)
            .filter(|&start| self.geometry().segment_of(start) == self.geometry().segment_of(lsn))
            .ok_or_else(|| damaged("no record begins here"))?;
        match window.group(start)?.map(|group| group.record_at(lsn)) {
            Ok(Some(record)) => Ok(use_record(record)),
            Ok(None) => Err(damaged("no record begins here")),
            Err(reason) => Err(damaged(reason)),
        }
    }
}
