//! A data directory: its lock, its files, its buffer pool.

use crate::{Counters, FileId, Result, Table, TableSchema, TableStatistics};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// How pages reach the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoBackend {
    /// io_uring where the kernel has it, else threads.
    #[default]
    Auto,
    Uring,
    Threads,
}

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bytes of a page, a power of two from 4 KiB to 64 KiB; fixed when the directory is made.
    pub page_size: usize,
    pub buffer_pool_bytes: usize,
    pub io: IoBackend,
    /// Whether files are synced before they count as written.
    pub sync: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { page_size: 16 * 1024, buffer_pool_bytes: 1 << 30, io: IoBackend::Auto, sync: true }
    }
}

/// An open data directory.
pub struct Store {
    directory: PathBuf,
    counters: Arc<Counters>,
}

impl Store {
    /// Opens or creates a directory. Errors: `Locked`, `Foreign`, `NewerFormat`, I/O.
    pub fn open(_directory: &Path, _options: StoreOptions) -> Result<Arc<Store>> {
        todo!()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Global counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Makes an empty table: one new file per index, synced. The caller keeps the numbers.
    pub fn create_table(self: &Arc<Self>, _schema: &TableSchema) -> Result<Vec<FileId>> {
        todo!()
    }

    /// Opens a table on its files, one per index.
    pub fn open_table(
        self: &Arc<Self>,
        _schema: TableSchema,
        _files: Vec<FileId>,
        _statistics: TableStatistics,
    ) -> Result<Arc<Table>> {
        todo!()
    }

    /// Removes all table files but these (what a crash left behind). Called once after opening.
    pub fn remove_unknown_files(&self, _known: &[FileId]) -> Result<()> {
        todo!()
    }
}
