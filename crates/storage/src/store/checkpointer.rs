//! Checkpoints: a thread that has pages written which have been dirty longest, and tells where redo begins.

use crate::{
    Result,
    buffer_pool::BufferPool,
    essential_thread,
    io::Disk,
    log::{Log, LogSettings, SmallFiles},
    mutex::Mutex,
    transaction::Transactions,
};
use parking_lot::RwLock;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long to wait for pages to be written before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Has a transaction rolled back; called with its id and the number of its session by a thread that must not wait for
/// that, and again until it has ended.
pub type EndsTransaction = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// The thread, until it is stopped.
pub(super) struct Checkpointer {
    work: Arc<Work>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a checkpoint looks at.
pub(super) type Parts = (Arc<Log>, Arc<BufferPool>, Arc<SmallFiles>, Arc<Transactions>);

struct Work {
    log: Arc<Log>,
    pool: Arc<BufferPool>,
    small_files: Arc<SmallFiles>,
    transactions: Arc<Transactions>,
    /// [`LogSettings::history`].
    history: u64,
    /// [`LogSettings::transactions`].
    longest_transaction: u64,
    ends_transaction: RwLock<Option<EndsTransaction>>,
    stop: AtomicBool,
    /// Held while a checkpoint is written.
    writing: Mutex<()>,
}

impl Checkpointer {
    /// Starts the thread. It takes a checkpoint once in an interval, if there is one to take, and whenever the log
    /// nears its capacity.
    pub fn start(
        (log, pool, small_files, transactions): Parts,
        disk: &Arc<dyn Disk>,
        settings: &LogSettings,
    ) -> std::io::Result<Checkpointer> {
        let (interval, history, longest_transaction) =
            (settings.checkpoint_interval, settings.history, settings.transactions);
        let work = Arc::new(Work {
            log,
            pool,
            small_files,
            transactions,
            history,
            longest_transaction,
            ends_transaction: RwLock::default(),
            stop: AtomicBool::new(false),
            writing: Mutex::new(()),
        });
        let of_thread = Arc::clone(&work);
        let thread = essential_thread::spawn("checkpoint", disk, move || of_thread.run(interval))?;
        Ok(Checkpointer { work, thread: Mutex::new(Some(thread)) })
    }

    pub fn set_transaction_limit(&self, ends: EndsTransaction) {
        *self.work.ends_transaction.write() = Some(ends);
    }

    /// Takes a checkpoint where redo could begin now.
    pub fn checkpoint(&self) -> Result<()> {
        self.work.checkpoint()
    }

    /// Ends the thread and waits for that.
    pub fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        self.work.stop.store(true, Relaxed);
        self.work.log.wake_checkpointer();
        // A thread that panicked has said so.
        let _ = thread.join();
    }
}

impl Work {
    fn run(&self, interval: Duration) {
        let mut last_end = self.log.current();
        loop {
            let is_pressed = self.log.wait_for_pressure(interval);
            if self.stop.load(Relaxed) {
                return;
            }
            let end = self.log.current();
            let outcome = match is_pressed {
                true => self.relieve(),
                false => {
                    // Nobody has changed anything for a while: now writing disturbs nobody.
                    if end == last_end {
                        self.pool.clean_before(end);
                    }
                    self.checkpoint()
                }
            };
            last_end = end;
            if let Err(e) = outcome {
                tracing::error!("no checkpoint was taken: {e}");
                if !self.stop.load(Relaxed) {
                    self.log.wait_for_pressure(interval);
                }
            }
        }
    }

    /// Has pages written until the log is half as old as it may be.
    fn relieve(&self) -> Result<()> {
        let goal = self.log.current().saturating_sub(self.log.capacity() / 2);
        while self.log.status().checkpoint < goal && !self.stop.load(Relaxed) {
            self.pool.clean_before(goal);
            self.checkpoint()?;
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        let _writing = self.writing.lock();
        self.limit_history();
        let pages = self.pool.redo_start();
        let written = match self.small_files.redo_start() {
            Some(from) if from < pages => self.small_files.write_back(&self.log),
            _ => Ok(()),
        };
        let redo = self.small_files.redo_start().unwrap_or(pages).min(pages);
        let redo = self.small_files.outside_of_changes(redo);
        // Transactions that begin from now on need nothing before the start of redo.
        let next = self.transactions.next();
        let oldest = self.transactions.oldest_needed().map_or(redo, |oldest| oldest.min(redo));
        let ended = self.log.current();
        if redo > self.log.status().checkpoint || oldest > self.log.status().oldest {
            // A transaction whose records nobody needs any more has been undone or purged by records that are in the
            // log before here. A crash that lost those would leave its changes, which may be in their pages, and nobody
            // would know of it.
            self.log.wait_durable(ended)?;
            self.log.checkpoint(redo, oldest, next)?;
        }
        written
    }

    /// Lets the oldest views go if the log is kept for them longer than it may, and has the transaction ended that
    /// keeps too much.
    fn limit_history(&self) {
        let (capacity, end) = (self.log.capacity(), self.log.current());
        let too_old = end.saturating_sub(capacity.saturating_mul(self.longest_transaction));
        if let (Some(id), Some(ends)) = (self.transactions.oldest_before(too_old), &*self.ends_transaction.read()) {
            ends(id, self.transactions.locks().owner(id).map_or(0, |owner| owner.session()));
        }
        let longest = capacity.saturating_mul(self.history);
        let expired = self.transactions.expire_views(end.saturating_sub(longest));
        if expired > 0 {
            tracing::warn!("{expired} views are too old: the log would have more than {longest} bytes");
        }
    }
}
