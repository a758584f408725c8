//! The order of writes: the log and a copy of a page are durable before the page is written to its place.

use crate::{FileId, Result, StorageError, io::IoFile};
use parking_lot::RwLock;
use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The redo log, as far as the buffer pool needs it.
pub trait PageLog: Send + Sync {
    /// The end of the log: no group that is appended later begins before it.
    fn position(&self) -> u64;
    /// Returns when the log is durable up to the end of a group, which is the LSN of a page that the group changed.
    /// Must not wait for a page. Errors: the log has failed.
    fn make_durable(&self, lsn: u64) -> Result<()>;
}

/// A sealed page on its way to the disk.
#[derive(Debug, Clone, Copy)]
pub struct PageCopy<'a> {
    pub file: &'a IoFile,
    pub id: FileId,
    pub page_no: u32,
    pub bytes: &'a [u8],
}

/// A place where pages are durable before they are written to their own places, so that a page that a power cut tore is
/// whole there.
pub trait Doublewrite: Send + Sync {
    /// Keeps these pages, durably, in the place of those before. At most [`super::BATCH_PAGES`]. Errors: `DiskFull`,
    /// I/O.
    fn save(&self, pages: &[PageCopy<'_>]) -> Result<()>;
    /// Tells which of the pages that were saved last are durable at their places. The others may be torn there: they
    /// are kept until they are saved again.
    fn written(&self, pages: &[PageCopy<'_>], durable: &[bool]);
    /// Forgets the pages of a file that is deleted.
    fn forget(&self, file: FileId);
}

/// This hook is called with the reason when the pages in memory, or those on the disk, cannot be relied on any more: a
/// sync has failed, or a thread has panicked amid a change. It is not expected to return.
pub type OnPoolFailure = Arc<dyn Fn(&str) + Send + Sync>;

/// The log of a pool that has none: positions are the numbers of first changes.
#[derive(Default)]
struct NoLog {
    changes: AtomicU64,
}

impl PageLog for NoLog {
    fn position(&self) -> u64 {
        self.changes.fetch_add(1, Relaxed) + 1
    }

    fn make_durable(&self, _lsn: u64) -> Result<()> {
        Ok(())
    }
}

pub(super) struct WriteOrder {
    log: RwLock<Arc<dyn PageLog>>,
    doublewrite: RwLock<Option<Arc<dyn Doublewrite>>>,
    on_failure: RwLock<OnPoolFailure>,
    /// The failure after which nothing is written any more, where the process has not ended.
    failure: OnceLock<String>,
}

impl WriteOrder {
    pub fn new() -> WriteOrder {
        let abort = |reason: &str| {
            tracing::error!("{reason}; the server ends");
            std::process::abort();
        };
        WriteOrder {
            log: RwLock::new(Arc::new(NoLog::default())),
            doublewrite: RwLock::default(),
            on_failure: RwLock::new(Arc::new(abort)),
            failure: OnceLock::new(),
        }
    }

    pub fn set_log(&self, log: Arc<dyn PageLog>) {
        *self.log.write() = log;
    }

    pub fn set_doublewrite(&self, doublewrite: Option<Arc<dyn Doublewrite>>) {
        *self.doublewrite.write() = doublewrite;
    }

    pub fn set_on_failure(&self, hook: OnPoolFailure) {
        *self.on_failure.write() = hook;
    }

    pub fn position(&self) -> u64 {
        self.log.read().position()
    }

    pub fn make_log_durable(&self, lsn: u64) -> Result<()> {
        let log = Arc::clone(&*self.log.read());
        log.make_durable(lsn)
    }

    pub fn doublewrite(&self) -> Option<Arc<dyn Doublewrite>> {
        self.doublewrite.read().clone()
    }

    /// Ends the process, or in a test the writing: no page counts as durable after this.
    pub fn sync_failed(&self, e: &StorageError) {
        self.fail(format!("a sync that failed: {e}"), &format!("changed pages cannot be made durable: {e}"));
    }

    /// The same when a thread has panicked after it had changed a page and before the log had the change. Others would
    /// take the page for whole, and a checkpoint would write what no recovery can repeat.
    pub fn change_was_cut_off(&self, page: &str) {
        self.fail(format!("a panic amid a change of {page}"), &format!("a thread panicked amid a change of {page}"));
    }

    fn fail(&self, failure: String, reason: &str) {
        let _ = self.failure.set(failure);
        let hook = Arc::clone(&*self.on_failure.read());
        hook(reason);
    }

    /// Errors: a sync has failed, or a change was cut off.
    pub fn check(&self, file: &IoFile) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(e) => {
                let reason = format!("nothing is written after {e}");
                Err(StorageError::io(file.path(), std::io::Error::other(reason)))
            }
        }
    }
}

impl fmt::Debug for WriteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOrder").field("failure", &self.failure).finish_non_exhaustive()
    }
}
