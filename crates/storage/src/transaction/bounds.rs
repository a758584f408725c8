//! Bounds for what keeps the log: transactions that cannot be purged or rolled back, and purge that does not keep up.
//!
//! | what keeps the log | bound, in multiples of its capacity | what happens at it |
//! |---|---|---|
//! | a view | `history`, since the transaction ended that it does not see | the view fails |
//! | a transaction that is open | `transactions`, since it began | it is rolled back |
//! | one that cannot be rolled back | `transactions`, and 1 since that first failed | the table in its way is given up |
//! | one that cannot be purged | `history` since it ended, and 1 since that first failed | what it has left behind stays |
//! | purge that is slow | a quarter of `history`, since the first transaction ended that waits | writers are delayed, the longer the more |
//!
//! **What stays** after purge was given up are rows and entries that are marked as deleted, and pages of long values:
//! they take room, and no reader sees them. **A table that is given up** has changes of a transaction that never
//! committed, and its undo records are no longer kept. So it must not be read: a file beside its own says so
//! ([`Companion::GivenUp`]), and it cannot be opened any more, but dropped. All other tables of the transaction are
//! rolled back.

use super::{Ended, TransactionSystem};
use crate::{
    FileId, LogSettings, Result, StorageError,
    file::Companion,
    log::{Log, Lsn},
    mutex::Mutex,
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// The share of the bound for views from which on writers are delayed.
const DELAYED_FROM: u64 = 4;
/// The delay of a transaction when purge is as far behind as views may be. It grows with the distance.
const DELAY: Duration = Duration::from_millis(10);
const DELAY_MAX: Duration = Duration::from_millis(100);
/// How often the log of the server tells of delays.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Bounds of what keeps the log, in multiples of its capacity.
#[derive(Debug)]
pub(super) struct Bounds {
    /// [`LogSettings::history`].
    history: u64,
    /// [`LogSettings::transactions`].
    transactions: u64,
    /// When the log of the server last told of delays.
    told: Mutex<Option<Instant>>,
}

impl Bounds {
    pub fn new(settings: &LogSettings) -> Bounds {
        Bounds { history: settings.history, transactions: settings.transactions, told: Mutex::default() }
    }

    /// Returns true if so many bytes of the log have been kept since a position, and one capacity since something first
    /// failed.
    fn are_exceeded(log: &Log, multiple: u64, since: Lsn, failed_at: Lsn) -> bool {
        let (current, capacity) = (log.current(), log.capacity());
        failed_at > 0
            && current.saturating_sub(since) >= capacity.saturating_mul(multiple)
            && current.saturating_sub(failed_at) >= capacity
    }

    /// Returns true if what a transaction has left behind is not to be purged any more.
    pub fn purge_is_given_up(&self, ended: &Ended, log: &Log) -> bool {
        Bounds::are_exceeded(log, self.history, ended.first.max(ended.ended_at), ended.failed_at)
    }

    /// Returns true if a table that keeps a transaction from being rolled back is to be given up.
    pub fn table_is_given_up(&self, loser: &Ended, log: &Log) -> bool {
        Bounds::are_exceeded(log, self.transactions, loser.first, loser.failed_at)
    }

    /// The delay of a transaction that is about to change something, for purge that is so many bytes of the log behind.
    fn delay(&self, behind: u64, capacity: u64) -> Option<Duration> {
        let bound = capacity.saturating_mul(self.history).max(1);
        let share = behind as f64 / bound as f64;
        (share > 1.0 / DELAYED_FROM as f64).then(|| DELAY.mul_f64(share.min(10.0)).min(DELAY_MAX))
    }
}

impl TransactionSystem {
    /// Delays a transaction that is about to change something if purge is far behind, so that the log does not grow
    /// without end. One for which views wait is not meant. The caller holds no latch and no lock of a row.
    pub(super) fn wait_for_purge(&self) {
        let (transactions, log) = (self.transactions(), self.log());
        let behind = transactions.lag.behind(log.current());
        let Some(delay) = transactions.bounds.delay(behind, log.capacity()) else { return };
        let mut told = transactions.bounds.told.lock();
        if told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            *told = Some(Instant::now());
            tracing::warn!(
                "writers are delayed by {delay:?} each: {behind} bytes of the log were written since the first of {} transactions \
                 ended whose old versions of rows are not purged yet",
                transactions.history_length()
            );
        }
        drop(told);
        thread::sleep(delay);
    }

    /// Returns true if a table was given up: this is its clustered tree's file.
    pub(crate) fn is_given_up(&self, file: FileId) -> Result<bool> {
        let path = Companion::GivenUp.path(self.files.directory(), file);
        let len = self.files.disk().len_of(&path).map_err(|e| StorageError::io(&path, e))?;
        Ok(len.is_some())
    }

    /// Error `Corrupt` if a table was given up.
    pub(crate) fn check_not_given_up(&self, file: FileId) -> Result<()> {
        if !self.is_given_up(file)? {
            return Ok(());
        }
        let path = crate::file::file_path(self.files.directory(), file);
        let reason = "a transaction that has changed the table could not be rolled back: drop it".to_string();
        Err(StorageError::Corrupt { path, page: 0, reason })
    }

    /// Gives a table up, durably, for which a transaction cannot be rolled back.
    pub(super) fn give_up_table(&self, file: FileId, id: u64, reason: &StorageError) -> Result<()> {
        let path = Companion::GivenUp.path(self.files.directory(), file);
        let fail = |e| StorageError::io(&path, e);
        let text = format!("transaction {id} could not be rolled back: {reason}\n");
        self.files.disk().write_small(&path, text.as_bytes(), self.files.is_synced()).map_err(fail)?;
        if self.files.is_synced() {
            self.files.disk().sync_directory(self.files.directory()).map_err(fail)?;
        }
        tracing::error!(
            "the table of file {} is given up, and cannot be opened any more: transaction {id} could not be rolled back in it: {reason}",
            file.0
        );
        if let Some(table) = self.transactions().open_table(file) {
            table.close_to_readers();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_with_the_distance() {
        let bounds = Bounds::new(&LogSettings { history: 16, ..LogSettings::default() });
        let delay = |behind: u64| bounds.delay(behind * 100, 100).map(|delay| delay.as_micros());
        assert_eq!([0, 4, 8, 16, 64, 160, 1600].map(delay), {
            let ms = |ms: u128| Some(1000 * ms);
            [None, None, ms(5), ms(10), ms(40), ms(100), ms(100)]
        });
    }
}
