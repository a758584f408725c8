//! Transactions, views, purge and rollback for who has the store. The transaction system below does all of it.

use super::Store;
use crate::{
    FileId, FlushAtCommit, LockTable, ReadView, Result, Table,
    transaction::{ChangedTable, CutOff, CutOffListener, Transaction, Transactions},
};
use std::sync::Arc;

/// Opens the table that has a clustered tree; `None` if it was dropped.
pub type TableSource = Arc<dyn Fn(FileId) -> Result<Option<Arc<Table>>> + Send + Sync>;

impl Store {
    /// A transaction that has changed nothing yet. Who begins one holds no latch.
    pub fn begin(self: &Arc<Self>) -> Transaction {
        self.system.begin(Arc::clone(self) as _)
    }

    /// The newest view: what has committed by now. Versions that it sees are kept as long as anybody holds it.
    pub fn read_view(&self) -> Arc<ReadView> {
        self.system.read_view()
    }

    /// The locks of all transactions: for reports of them, and of deadlocks.
    pub fn locks(&self) -> &Arc<LockTable> {
        self.transactions().locks()
    }

    pub(crate) fn transactions(&self) -> &Arc<Transactions> {
        self.system.transactions()
    }

    /// Says how tables are opened that have changes to undo or to purge: until then what a crash has cut off is active.
    pub fn set_table_source(&self, source: TableSource) {
        let changed_table = move |file| Ok(source(file)?.map(|table| table as Arc<dyn ChangedTable>));
        self.system.set_table_source(Arc::new(changed_table));
    }

    /// A moment between views: those that are taken from now on see it, and those before do not.
    pub fn moment_of_views(&self) -> u64 {
        self.transactions().pass()
    }

    /// The id of the next transaction, and the least of those that have ended and are not purged (the same if there is
    /// none).
    pub fn next_and_unpurged(&self) -> (u64, u64) {
        (self.transactions().next(), self.transactions().least_unpurged())
    }

    /// Transactions that have committed and are not purged (`History list length`).
    pub fn history_length(&self) -> usize {
        self.transactions().history_length()
    }

    /// Returns true if versions of rows before the newest ones may be needed: some transaction is active or not purged.
    pub fn keeps_versions(&self) -> bool {
        self.transactions().oldest_needed().is_some()
    }

    /// Purges all that may be, on this thread, and waits for what others are purging. Errors: the first one of reading
    /// the log, opening tables and changing pages.
    pub fn purge(&self) -> Result<()> {
        self.system.purge()
    }

    /// Rolls back what a crash has cut off. A transaction for which that fails is left for the next time, and the
    /// others are rolled back. Errors: the first one, of `Interrupted` if a table is not known yet or the store closes;
    /// those of opening tables, reading the log and changing pages.
    pub fn roll_back_losers(&self) -> Result<()> {
        self.system.roll_back_losers()
    }

    /// Transactions that a crash has cut off and that are not rolled back yet.
    pub fn losers(&self) -> usize {
        self.transactions().losers()
    }

    /// The same ones, with the tables that they have changed: until they are rolled back, what is in these tables is
    /// neither what was committed nor what will be.
    pub fn cut_off(&self) -> Vec<CutOff> {
        self.transactions().cut_off()
    }

    /// Returns true if a transaction was cut off, by a crash or because its rollback has failed, and is not rolled back
    /// yet.
    pub fn is_cut_off(&self, trx_id: u64) -> bool {
        self.transactions().is_cut_off(trx_id)
    }

    /// Says who is told of the rollbacks of transactions that were cut off.
    pub fn set_cut_off_listener(&self, listener: CutOffListener) {
        self.system.set_cut_off_listener(listener);
    }

    /// Ends the threads that purge and roll back, and waits for that. What they have not done is done after the next
    /// start.
    pub fn stop_background(&self) {
        self.system.stop_background();
    }

    /// `innodb_flush_log_at_trx_commit`: what [`Store::commit`] waits for.
    pub fn flush_at_commit(&self) -> FlushAtCommit {
        self.system.flush_at_commit()
    }

    pub fn set_flush_at_commit(&self, flush: FlushAtCommit) {
        self.system.set_flush_at_commit(flush);
    }
}
