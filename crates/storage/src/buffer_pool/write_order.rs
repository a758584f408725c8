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
    /// Returns when the log is durable up to the end of a group, which is the LSN of a page that the group changed. Must not
    /// wait for a page. Errors: the log has failed.
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
    /// Keeps these pages, durably, in the place of those before. At most [`super::BATCH_PAGES`]. Errors: `DiskFull`, I/O.
    fn save(&self, pages: &[PageCopy<'_>]) -> Result<()>;
    /// Tells which of the pages that were saved last are durable at their places. The others may be torn there: they are
    /// kept until they are saved again.
    fn written(&self, pages: &[PageCopy<'_>], durable: &[bool]);
    /// Forgets the pages of a file that is deleted.
    fn forget(&self, file: FileId);
}

/// This hook is called when pages that were written cannot be made durable. It is not expected to return: nobody knows
/// what is on the disk then.
pub type OnSyncFailure = Arc<dyn Fn(&StorageError) + Send + Sync>;

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
    on_sync_failure: RwLock<OnSyncFailure>,
    /// The sync that failed, where the process has not ended.
    failure: OnceLock<String>,
}

impl WriteOrder {
    pub fn new() -> WriteOrder {
        let abort = |e: &StorageError| {
            tracing::error!("changed pages cannot be made durable, the server ends: {e}");
            std::process::abort();
        };
        WriteOrder {
            log: RwLock::new(Arc::new(NoLog::default())),
            doublewrite: RwLock::default(),
            on_sync_failure: RwLock::new(Arc::new(abort)),
            failure: OnceLock::new(),
        }
    }

    pub fn set_log(&self, log: Arc<dyn PageLog>) {
        *self.log.write() = log;
    }

    pub fn set_doublewrite(&self, doublewrite: Option<Arc<dyn Doublewrite>>) {
        *self.doublewrite.write() = doublewrite;
    }

    pub fn set_on_sync_failure(&self, hook: OnSyncFailure) {
        *self.on_sync_failure.write() = hook;
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
        let _ = self.failure.set(e.to_string());
        let hook = Arc::clone(&*self.on_sync_failure.read());
        hook(e);
    }

    /// Errors: a sync has failed.
    pub fn check(&self, file: &IoFile) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(e) => {
                let reason = format!("nothing is written after a sync that failed: {e}");
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
