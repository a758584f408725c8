//! Settings of a data directory that is opened.

use crate::{io::IoBackend, log::LogSettings};
use std::{fmt, sync::Arc, time::Duration};

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bytes of a page, a power of two from 4 KiB to 64 KiB; fixed when the directory is made.
    pub page_size: usize,
    pub buffer_pool_bytes: usize,
    pub io: IoBackend,
    /// True if files are synced before they count as written.
    pub sync: bool,
    pub log: LogSettings,
    /// `innodb_doublewrite`: pages are saved in the doublewrite file before they are written to their places.
    pub doublewrite: bool,
    /// How long nobody must have changed a leaf, at least, before its changes become part of its base; `None`: they
    /// never do.
    pub leaf_rest: Option<Duration>,
    /// Transactions that a crash has cut off are rolled back by a thread, and old versions of rows purged; else by who
    /// calls [`crate::Store::roll_back_losers`] and [`crate::Store::purge`].
    pub purges: bool,
    /// Opens a damaged directory to read what can be read: what is damaged is passed by, nothing on the disk changes,
    /// and all changes are refused.
    pub force_recovery: bool,
    /// Told how far recovery is.
    pub progress: RecoveryProgress,
    /// Rules that are broken, to see that some test finds it.
    #[cfg(test)]
    pub(crate) faults: super::Faults,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            page_size: 16 * 1024,
            buffer_pool_bytes: 1 << 30,
            io: IoBackend::Auto,
            sync: true,
            log: LogSettings::default(),
            doublewrite: true,
            leaf_rest: Some(Duration::from_secs(1)),
            purges: true,
            force_recovery: false,
            progress: RecoveryProgress::default(),
            #[cfg(test)]
            faults: super::Faults::default(),
        }
    }
}

/// Called with how many bytes of the log have been repeated, of how many.
#[derive(Clone, Default)]
pub struct RecoveryProgress(pub Option<Arc<dyn Fn(u64, u64) + Send + Sync>>);

impl fmt::Debug for RecoveryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryProgress")
    }
}
