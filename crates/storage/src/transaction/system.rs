//! The state that the transactions of a directory share: who is active, the log that they write, and how the tables
//! are found whose changes are undone and purged.

use super::{Background, ChangedTableSource, CutOffListener, Transactions, UndoReserve};
use crate::{
    log::{FlushAtCommit, Log},
    open_files::{KeptOpen, OpenFiles},
};
use parking_lot::RwLock;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
};

/// The transactions of a directory, and what transactions, undo and purge need.
pub(crate) struct TransactionSystem {
    log: Arc<Log>,
    transactions: Arc<Transactions>,
    /// Which tables are given up is told by files beside theirs.
    pub(super) files: Arc<OpenFiles>,
    undo_reserve: UndoReserve,
    flush_at_commit: AtomicU8,
    background: Background,
    /// Opens tables that have changes to undo or to purge.
    table_source: RwLock<Option<ChangedTableSource>>,
    /// Told of the rollbacks of transactions that were cut off.
    cut_off_listener: RwLock<Option<CutOffListener>>,
}

impl TransactionSystem {
    /// `undo_bytes`: the room in the log that is kept for undoing on a full disk.
    pub fn new(
        log: Arc<Log>,
        transactions: Arc<Transactions>,
        files: Arc<OpenFiles>,
        undo_bytes: u64,
        flush: FlushAtCommit,
    ) -> TransactionSystem {
        TransactionSystem {
            undo_reserve: UndoReserve::new(Arc::clone(&log), undo_bytes),
            log,
            transactions,
            files,
            flush_at_commit: AtomicU8::new(flush as u8),
            background: Background::default(),
            table_source: RwLock::new(None),
            cut_off_listener: RwLock::new(None),
        }
    }

    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    pub fn transactions(&self) -> &Arc<Transactions> {
        &self.transactions
    }

    pub(super) fn undo_reserve(&self) -> &UndoReserve {
        &self.undo_reserve
    }

    pub(super) fn cut_off_listener(&self) -> Option<CutOffListener> {
        self.cut_off_listener.read().clone()
    }

    /// Says who is told of the rollbacks of transactions that were cut off.
    pub fn set_cut_off_listener(&self, listener: CutOffListener) {
        *self.cut_off_listener.write() = Some(listener);
    }

    pub(super) fn table_source(&self) -> Option<ChangedTableSource> {
        self.table_source.read().clone()
    }

    /// Says how tables are opened that have changes to undo or to purge: until then what a crash has cut off is active.
    pub fn set_table_source(&self, source: ChangedTableSource) {
        *self.table_source.write() = Some(source);
    }

    /// `innodb_flush_log_at_trx_commit`: what commits wait for.
    pub fn flush_at_commit(&self) -> FlushAtCommit {
        FlushAtCommit::from_number(self.flush_at_commit.load(Relaxed)).unwrap_or_default()
    }

    pub fn set_flush_at_commit(&self, flush: FlushAtCommit) {
        self.flush_at_commit.store(flush as u8, Relaxed);
    }

    /// Starts the threads that purge and roll back. While one of them works, it keeps the directory open by `open`.
    pub fn start_background(self: &Arc<Self>, open: &KeptOpen) -> io::Result<()> {
        self.background.start(self, open)
    }

    /// Ends the threads that purge and roll back, and waits for that. What they have not done is done after the next
    /// start.
    pub fn stop_background(&self) {
        self.background.stop(&self.transactions);
    }
}
