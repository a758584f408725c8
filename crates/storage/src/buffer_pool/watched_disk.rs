//! A simulated disk that shows a test all that is written.

use crate::{
    io::{Disk, FileLock, IoFile, OpenMode, ReadOp, WriteOp, simulated::SimulatedDisk},
    mutex::Mutex,
};
use std::{
    fmt, io,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Sees the bytes of a write before it happens.
type OnWrite = Arc<dyn Fn(&[u8]) + Send + Sync>;

#[derive(Default)]
pub(super) struct WatchedDisk {
    simulated: SimulatedDisk,
    on_write: Mutex<Option<OnWrite>>,
}

impl WatchedDisk {
    /// Calls this before each write from now on.
    pub fn on_write(&self, watch: impl Fn(&[u8]) + Send + Sync + 'static) {
        *self.on_write.lock() = Some(Arc::new(watch));
    }

    pub fn unwatch(&self) {
        *self.on_write.lock() = None;
    }
}

impl Deref for WatchedDisk {
    type Target = SimulatedDisk;
    fn deref(&self) -> &SimulatedDisk {
        &self.simulated
    }
}

impl fmt::Debug for WatchedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedDisk")
    }
}

impl Disk for WatchedDisk {
    fn write(&self, ops: &mut [WriteOp<'_>]) {
        let watch = self.on_write.lock().clone();
        if let Some(watch) = watch {
            ops.iter().for_each(|op| watch(&op.buffers.concat()));
        }
        self.simulated.write(ops);
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.simulated.open(path, mode)
    }
    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.simulated.open_buffered(path, mode)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.simulated.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.simulated.rename(from, to)
    }
    fn read(&self, ops: &mut [ReadOp<'_>]) {
        self.simulated.read(ops);
    }
    fn sync(&self, file: &IoFile) -> io::Result<()> {
        self.simulated.sync(file)
    }
    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        self.simulated.file_len(file)
    }
    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        self.simulated.allocate(file, bytes)
    }
    fn len_of(&self, path: &Path) -> io::Result<Option<u64>> {
        self.simulated.len_of(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.simulated.create_directory(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.simulated.list(directory)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.simulated.sync_directory(path)
    }
    fn lock(&self, path: &Path) -> io::Result<FileLock> {
        self.simulated.lock(path)
    }
    fn fail_stop(&self, reason: &str) {
        self.simulated.fail_stop(reason);
    }
}
