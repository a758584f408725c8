//! Settings of the log.

use super::{planted::Planted, segments::LogFiles};
use crate::StorageError;
use std::{fmt, sync::Arc, time::Duration};

/// `innodb_flush_log_at_trx_commit`: what a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushAtCommit {
    /// 0: nothing. The log is written and synced once in a second.
    Nothing = 0,
    /// 1: the log is written and synced.
    #[default]
    Durable = 1,
    /// 2: the log is written, and synced once in a second.
    Written = 2,
}

impl FlushAtCommit {
    /// The setting with MySQL's number.
    pub fn from_number(number: u8) -> Option<FlushAtCommit> {
        [FlushAtCommit::Nothing, FlushAtCommit::Durable, FlushAtCommit::Written].get(usize::from(number)).copied()
    }
}

/// This hook is called when the log cannot be made durable. It is not expected to return: a promise cannot be
/// kept.
#[derive(Clone)]
pub(crate) struct OnFailure(pub Arc<dyn Fn(&StorageError) + Send + Sync>);

impl Default for OnFailure {
    fn default() -> OnFailure {
        OnFailure(Arc::new(|e| {
            tracing::error!("the redo log cannot be made durable, the server ends: {e}");
            std::process::abort();
        }))
    }
}

impl fmt::Debug for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFailure")
    }
}

#[derive(Debug, Clone)]
pub(crate) struct LogOptions {
    pub files: LogFiles,
    /// Bytes of the log buffer, a power of two from 64 KiB on.
    pub buffer_bytes: u64,
    /// `innodb_redo_log_capacity`: the most bytes from the start of redo to the end of the log.
    pub capacity: u64,
    /// True if nothing is appended: changes are refused.
    pub read_only: bool,
    /// The longest time that a change waits for a checkpoint when the log is at its capacity.
    pub throttle: Duration,
    /// How often the log is synced if nobody waits for it.
    pub flush_interval: Duration,
    pub planted: Planted,
}

impl LogOptions {
    /// MySQL's defaults.
    pub fn new(files: LogFiles) -> LogOptions {
        LogOptions {
            files,
            buffer_bytes: 16 << 20,
            capacity: 100 << 20,
            read_only: false,
            throttle: Duration::from_secs(10),
            flush_interval: Duration::from_secs(1),
            planted: Planted::default(),
        }
    }
}
