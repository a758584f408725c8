//! The seam between pages and the device: a [`PageIo`] opens files and moves aligned blocks.
//!
//! | module | back end |
//! |---|---|
//! | `uring` | io_uring: a batch is one system call, the kernel works on all of it at once |
//! | `threads` | `preadv`/`pwritev`; a batch is shared by a few threads |
//! | `memory` | files in memory with injected faults, for tests |
//! | `trace` | records accesses of another back end |

mod aligned;
mod file;
pub mod memory;
pub mod threads;
pub mod trace;
pub mod uring;

pub use aligned::AlignedBuf;
pub use file::IoFile;

use crate::IoBackend;
use std::{
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::Arc,
};

/// Alignment of buffers, offsets and lengths: what direct I/O asks for on any disk in use.
pub const ALIGN: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Fails with `AlreadyExists` when the file is there.
    CreateNew,
    Existing,
}

/// One operation: consecutive bytes of a file, scattered over buffers.
pub struct ReadOp<'a> {
    pub file: &'a IoFile,
    pub offset: u64,
    /// At least one; each a multiple of [`ALIGN`] long and aligned so.
    pub buffers: Vec<&'a mut [u8]>,
    /// Filled in by [`PageIo::read`]. Fewer bytes than asked are an `UnexpectedEof`.
    pub result: io::Result<()>,
}

pub struct WriteOp<'a> {
    pub file: &'a IoFile,
    pub offset: u64,
    pub buffers: Vec<&'a [u8]>,
    /// Filled in by [`PageIo::write`].
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

/// Moves blocks. All calls block until done; batches run at the same time as far as the back end can.
pub trait PageIo: Send + Sync + fmt::Debug {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile>;
    /// Removes the name. Open files stay readable.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Does all operations; each has its result when this returns, none is left under way.
    fn read(&self, ops: &mut [ReadOp<'_>]);
    fn write(&self, ops: &mut [WriteOp<'_>]);
    /// Makes the file's data and length durable.
    fn sync(&self, file: &IoFile) -> io::Result<()>;
    /// Makes creations and removals in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Writes a small file, one that is no [`IoFile`]: made, or cut to nothing first. With `sync` its content is durable
    /// when this returns; its name is not. This and [`PageIo::rename`] are here so that tests can make them fail: all
    /// back ends keep small files in the file system.
    fn write_small(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        if sync { file.sync_all() } else { Ok(()) }
    }
    /// Gives a small file the name of another, which it replaces.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
    fn file_len(&self, file: &IoFile) -> io::Result<u64>;
    /// Makes the file at least so long, with room on the disk for all of it. New bytes are zero.
    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()>;
}

/// The back end for `backend`; for `Auto` the best that this kernel has.
pub fn open_backend(backend: IoBackend) -> io::Result<Arc<dyn PageIo>> {
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
