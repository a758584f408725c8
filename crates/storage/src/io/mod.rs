//! The seam between Muster and what keeps its data: everything that is done to a disk goes through a [`Disk`].
//!
//! | module | what it is |
//! |---|---|
//! | `uring` | io_uring: a batch is one system call, the kernel works on all of it at once |
//! | `threads` | `preadv`/`pwritev`; a batch is shared by a few threads |
//! | `simulated` | a disk in memory that fails as told and can lose its power, for tests |
//! | `overlay` | leaves another disk as it is, and keeps in memory what is written, for damaged directories |
//! | `trace` | records accesses of another back end |
//! | `file`, `lock`, `aligned` | an open file, a lock on one, memory for direct I/O |
//!
//! Temporary files are not behind the seam: sorted runs of loads and what queries spill are unlinked as soon as they
//! are open, no restarted process reads them, and a power cut can take nothing with them.

mod aligned;
mod file;
mod lock;
pub mod overlay;
pub mod simulated;
pub mod threads;
pub mod trace;
pub mod uring;

pub use aligned::AlignedBuf;
pub use file::IoFile;
pub use lock::FileLock;

use std::{
    fmt, io,
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

/// Alignment of buffers, offsets and lengths: what direct I/O asks for on any disk in use.
pub const ALIGN: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Fails with `AlreadyExists` when the file is there.
    CreateNew,
    Existing,
    /// Makes the file, or cuts it to nothing.
    Replace,
}

/// One operation: consecutive bytes of a file, scattered over buffers.
pub struct ReadOp<'a> {
    pub file: &'a IoFile,
    pub offset: u64,
    /// At least one; of a file opened by [`Disk::open`] each a multiple of [`ALIGN`] long and aligned so.
    pub buffers: Vec<&'a mut [u8]>,
    /// Filled in by [`Disk::read`]. Fewer bytes than asked are an `UnexpectedEof`.
    pub result: io::Result<()>,
}

pub struct WriteOp<'a> {
    pub file: &'a IoFile,
    pub offset: u64,
    pub buffers: Vec<&'a [u8]>,
    /// Filled in by [`Disk::write`].
    pub result: io::Result<()>,
}

impl<'a> ReadOp<'a> {
    pub fn new(file: &'a IoFile, offset: u64, buffers: Vec<&'a mut [u8]>) -> ReadOp<'a> {
        ReadOp { file, offset, buffers, result: Ok(()) }
    }

    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(|b| b.len()).sum()
    }
}

impl<'a> WriteOp<'a> {
    pub fn new(file: &'a IoFile, offset: u64, buffers: Vec<&'a [u8]>) -> WriteOp<'a> {
        WriteOp { file, offset, buffers, result: Ok(()) }
    }

    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(|b| b.len()).sum()
    }
}

/// Files and their names. All calls block until done; batches of reads and writes run at the same time as far as the
/// back end can.
///
/// A write is durable after [`Disk::sync`], a name that was made, removed or changed after
/// [`Disk::sync_directory`]. Until then a power cut may leave any of the old and the new states, sector by sector and
/// name by name, in any order; a sector is 512 bytes.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Opens a file for blocks: offsets, lengths and buffers are multiples of [`ALIGN`], and the operating system's
    /// cache is passed by where the file system allows it.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile>;
    /// Opens a file for bytes: any offset, length and buffer. They go through the operating system's cache.
    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile>;
    /// Removes the name. Open files stay readable.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name in its directory. A file that had that name loses it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Does all operations; each has its result when this returns, none is left under way.
    fn read(&self, ops: &mut [ReadOp<'_>]);
    fn write(&self, ops: &mut [WriteOp<'_>]);
    /// Makes the file's data and length durable (`fdatasync`). After an error it is not known what is durable, and a
    /// later success says nothing of what was written before the error.
    fn sync(&self, file: &IoFile) -> io::Result<()>;
    fn file_len(&self, file: &IoFile) -> io::Result<u64>;
    /// Makes the file at least so long, with room on the disk for all of it. New bytes are zero.
    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()>;
    /// Length of a file by its name; `None` if there is none.
    fn len_of(&self, path: &Path) -> io::Result<Option<u64>>;
    /// Makes a directory, and those above it that are missing, durably. It may be there already.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Paths of what is in a directory, in any order.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;
    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes a file if it is not there, and locks it against others. `WouldBlock` if somebody has locked it.
    fn lock(&self, path: &Path) -> io::Result<FileLock>;

    /// Ends the process: a sync has failed, so nobody knows what is durable, and what was promised cannot be kept. A
    /// simulated disk has a simulated machine around it, whose power it cuts instead, and returns.
    fn fail_stop(&self, reason: &str) {
        tracing::error!("{reason}; the server ends");
        std::process::abort();
    }

    /// Reads a whole file. `FileTooLarge` if it has more than `max` bytes.
    fn read_small(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        let file = self.open_buffered(path, OpenMode::Existing)?;
        let len = self.file_len(&file)?;
        if len > max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?];
        let mut ops = [ReadOp::new(&file, 0, vec![&mut bytes])];
        self.read(&mut ops);
        let [op] = ops;
        op.result.map(|()| bytes)
    }

    /// Writes a whole file: made, or cut to nothing first. With `sync` its content is durable when this returns; its
    /// name is not.
    fn write_small(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
        write_whole(self, path, bytes, sync)
    }
}

/// Writes a file as [`Disk::write_small`] does.
fn write_whole<D: Disk + ?Sized>(disk: &D, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let file = disk.open_buffered(path, OpenMode::Replace)?;
    let mut ops = [WriteOp::new(&file, 0, vec![bytes])];
    disk.write(&mut ops);
    let [op] = ops;
    op.result?;
    if sync { disk.sync(&file) } else { Ok(()) }
}

/// The back end for `backend`; for `Auto` the best that this kernel has.
pub fn open_backend(backend: IoBackend) -> io::Result<Arc<dyn Disk>> {
    match backend {
        IoBackend::Threads => Ok(Arc::new(threads::ThreadsIo::new())),
        IoBackend::Uring => Ok(Arc::new(uring::UringIo::new()?)),
        IoBackend::Auto => match uring::UringIo::new() {
            Ok(uring) => Ok(Arc::new(uring)),
            Err(e) => {
                tracing::info!("no io_uring ({e}), reading with threads");
                Ok(Arc::new(threads::ThreadsIo::new()))
            }
        },
    }
}

#[cfg(test)]
mod backend_tests;
