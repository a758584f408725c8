//! Settings of the redo log that users make.

use super::FlushAtCommit;
use std::time::Duration;

/// Settings of the redo log, and of how long it is kept.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// `innodb_redo_log_capacity`: the most bytes from the start of redo to the end of the log.
    pub capacity: u64,
    /// The size that the log may reach for the sake of old views since a transaction has ended that they do not see, in
    /// multiples of `capacity`: beyond it the oldest views fail.
    pub history: u64,
    /// The size that the log may reach for the sake of a transaction that has not ended, in multiples of `capacity`:
    /// beyond it the function given to [`crate::Store::set_transaction_limit`] has to end the transaction.
    pub transactions: u64,
    /// `innodb_log_buffer_size`: bytes of the log buffer. A power of two is taken that is not below it.
    pub buffer_bytes: u64,
    /// `innodb_flush_log_at_trx_commit`.
    pub flush_at_commit: FlushAtCommit,
    /// How often a checkpoint is taken while there is no need for one.
    pub checkpoint_interval: Duration,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            capacity: 100 << 20,
            history: 16,
            transactions: 64,
            buffer_bytes: 16 << 20,
            flush_at_commit: FlushAtCommit::default(),
            checkpoint_interval: Duration::from_secs(1),
        }
    }
}
