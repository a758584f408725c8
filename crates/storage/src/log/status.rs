//! The status of the log: MySQL's counters, and positions.

use super::{Lsn, shared::Shared};
use std::sync::atomic::{AtomicU64, Ordering};

/// Events of the log.
#[derive(Debug, Default)]
pub(super) struct LogCounters {
    pub bytes_written: AtomicU64,
    pub writes: AtomicU64,
    pub syncs: AtomicU64,
    pub waits: AtomicU64,
    pub write_requests: AtomicU64,
    pub made: AtomicU64,
    pub recycled: AtomicU64,
}

/// The state of the log at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStatus {
    /// `Innodb_os_log_written`: bytes written to the files.
    pub os_log_written: u64,
    /// `Innodb_log_writes`: write operations on the files.
    pub log_writes: u64,
    /// `Innodb_os_log_fsyncs`.
    pub os_log_fsyncs: u64,
    /// `Innodb_log_waits`: appends that waited because the log buffer was full.
    pub log_waits: u64,
    /// `Innodb_log_write_requests`: groups appended.
    pub log_write_requests: u64,
    /// Segments that were made of zeros.
    pub segments_made: u64,
    /// Segments that were used again.
    pub segments_recycled: u64,
    /// The end of the last group.
    pub current: Lsn,
    /// The log is written up to here.
    pub written: Lsn,
    /// The log is durable up to here.
    pub flushed: Lsn,
    /// Redo would begin here.
    pub checkpoint: Lsn,
    /// The log is kept from here on, for redo and for transactions.
    pub oldest: Lsn,
    /// `innodb_redo_log_capacity`.
    pub capacity: u64,
    /// Numbers of the first and the last segment that has a file.
    pub segments: (u64, u64),
    /// Bytes of all segments' files.
    pub physical_size: u64,
}

impl LogStatus {
    /// Bytes from the start of redo to the end of the log.
    pub fn checkpoint_age(&self) -> u64 {
        self.current - self.checkpoint
    }
}

impl Shared {
    pub fn status(&self) -> LogStatus {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        // The checkpoint is read first: it never is beyond the end.
        let checkpoint = self.redo.load(Ordering::SeqCst);
        let oldest = self.oldest.load(Ordering::SeqCst);
        let segments = self.supply.lock().numbers();
        LogStatus {
            os_log_written: read(&counters.bytes_written),
            log_writes: read(&counters.writes),
            os_log_fsyncs: read(&counters.syncs),
            log_waits: read(&counters.waits),
            log_write_requests: read(&counters.write_requests),
            segments_made: read(&counters.made),
            segments_recycled: read(&counters.recycled),
            written: read(&self.written),
            flushed: read(&self.flushed),
            checkpoint,
            oldest,
            capacity: read(&self.capacity),
            segments,
            physical_size: (segments.1 - segments.0 + 1) * self.geometry().segment_bytes(),
            current: self.reserved(),
        }
    }
}
