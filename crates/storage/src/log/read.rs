//! One record by its position: what a roll pointer leads to. Recent ones are still in the ring, others in the files.

use super::{
    Lsn,
    append::Log,
    group::{GROUP_HEADER, GroupHeader, GroupView, RECORD_HEADER, Record, group_of_record},
    reader::Window,
    shared::Shared,
};
use crate::{Result, StorageError};
use std::sync::atomic::{Ordering, fence};

impl Log {
    /// Reads the record at a position that [`Log::append`] returned, or that a page holds. Errors: `DamagedLog` if
    /// there is none, I/O.
    pub fn read<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Result<R> {
        self.shared.read(lsn, use_record)
    }

    /// Reads records that are near each other, one after the other.
    pub fn nearby(&self) -> NearbyRecords<'_> {
        NearbyRecords { shared: &self.shared, window: Window::around(&self.shared.segments) }
    }

    /// The same, if the record is still in memory.
    pub fn read_recent<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Option<R> {
        self.shared.read_from_ring(lsn, use_record)
    }
}

/// Records that are near each other, of which many are read from the files at once.
pub(crate) struct NearbyRecords<'a> {
    shared: &'a Shared,
    window: Window<'a>,
}

impl NearbyRecords<'_> {
    /// Reads a record as [`Log::read`] does.
    pub fn read<R>(&mut self, lsn: Lsn, mut use_record: impl FnMut(Record<'_>) -> R) -> Result<R> {
        match self.shared.read_from_ring(lsn, &mut use_record) {
            Some(used) => Ok(used),
            None => self.read_from_files(lsn, use_record),
        }
    }

    fn read_from_files<R>(&mut self, lsn: Lsn, mut use_record: impl FnMut(Record<'_>) -> R) -> Result<R> {
        match self.shared.read_from_file(&mut self.window, lsn, &mut use_record) {
            // The window may have been read from the file before the record was written.
            Err(StorageError::DamagedLog { .. }) if self.window.clear() => {
                self.shared.read_from_file(&mut self.window, lsn, use_record)
            }
            read => read,
        }
    }
}

impl Shared {
    pub fn read<R>(&self, lsn: Lsn, use_record: impl FnOnce(Record<'_>) -> R) -> Result<R> {
        let mut use_record = Some(use_record);
        let mut once = |record: Record<'_>| use_record.take().map(|use_record| use_record(record));
        match self.read_from_ring(lsn, &mut once).flatten() {
            Some(used) => Ok(used),
            None => {
                let used = self.read_from_file(&mut Window::small(&self.segments), lsn, once)?;
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

    fn read_from_file<R>(
        &self,
        window: &mut Window<'_>,
        lsn: Lsn,
        use_record: impl FnOnce(Record<'_>) -> R,
    ) -> Result<R> {
        let damaged = |reason: &str| self.segments.damaged(lsn, reason);
        if self.geometry().rest(lsn) < RECORD_HEADER as u64 {
            return Err(damaged("no record begins here"));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        io::simulated::SimulatedDisk,
        log::fixtures::{Fixture, group_of},
    };
    use std::sync::Arc;

    /// Appends groups of one record. Returns the positions of the records.
    fn append(log: &Log, bytes: std::ops::Range<u8>) -> Vec<(Lsn, u8)> {
        let places = bytes.map(|byte| {
            let mut group = group_of(&[byte; 2000]);
            let mut room = log.reserve(group.bytes()).unwrap();
            let place = log.append(&mut group, &mut room);
            log.wait_durable(place.end).unwrap();
            (place.start + GROUP_HEADER as u64, byte)
        });
        places.collect()
    }

    #[test]
    fn records_near_each_other_are_read_in_any_order() {
        let fixture = Fixture::new(Arc::new(SimulatedDisk::new()));
        fixture.create().unwrap();
        let log = fixture.log();
        let records = append(&log, 0..100);
        assert!(log.shared.history.load(Ordering::SeqCst) > records[20].0, "the ring has gone on");
        let mut nearby = log.nearby();
        for (lsn, byte) in records.iter().chain(records.iter().rev()) {
            assert_eq!(nearby.read(*lsn, |record| record.payload.to_vec()).unwrap(), [*byte; 2000], "at {lsn}");
        }
        for lsn in [records[0].0 + 8, records[99].0 + 8, log.current()] {
            let e = nearby.read(lsn, |_| ()).unwrap_err();
            assert!(matches!(e, StorageError::DamagedLog { .. }), "{lsn}: {e}");
        }
    }

    #[test]
    fn what_is_written_after_the_window_was_filled_is_found() {
        let fixture = Fixture::new(Arc::new(SimulatedDisk::new()));
        fixture.create().unwrap();
        let log = fixture.log();
        let mut nearby = log.nearby();
        let payload = |record: Record<'_>| record.payload.to_vec();
        let (first, _) = append(&log, 1..2)[0];
        assert_eq!(nearby.read_from_files(first, payload).unwrap(), [1; 2000]);
        let (second, _) = append(&log, 2..3)[0];
        assert!(log.shared.read_from_file(&mut nearby.window, second, payload).is_err(), "the window holds the past");
        assert_eq!(nearby.read_from_files(second, payload).unwrap(), [2; 2000]);
    }
}
