//! `preadv` and `pwritev`, a few threads for a batch. Works on every kernel.

use super::{Disk, FileLock, IoFile, OpenMode, ReadOp, WriteOp, lock::LockKind};
use crate::mutex::Mutex;
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    thread,
};

/// Operations of one batch that run at the same time.
const PARALLEL: usize = 8;

#[derive(Debug, Default)]
pub struct ThreadsIo {}

impl ThreadsIo {
    pub fn new() -> ThreadsIo {
        ThreadsIo {}
    }
}

impl Disk for ThreadsIo {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        IoFile::open_direct(path, mode)
    }

    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        IoFile::open_buffered(path, mode)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn read(&self, ops: &mut [ReadOp<'_>]) {
        share(ops, |op| op.result = op.file.os().and_then(|file| read_all(file, op.offset, &mut op.buffers)));
    }

    fn write(&self, ops: &mut [WriteOp<'_>]) {
        share(ops, |op| op.result = op.file.os().and_then(|file| write_all(file, op.offset, &op.buffers)));
    }

    fn sync(&self, file: &IoFile) -> io::Result<()> {
        file.os()?.sync_data()
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        Ok(file.os()?.metadata()?.len())
    }

    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        let length = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the descriptor is open; the call touches no memory.
        match unsafe { libc::posix_fallocate(file.os()?.as_raw_fd(), 0, length) } {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    fn len_of(&self, path: &Path) -> io::Result<Option<u64>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> =
            path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
        fs::create_dir_all(path)?;
        for made in missing {
            let above = made.parent().filter(|above| !above.as_os_str().is_empty());
            match self.sync_directory(above.unwrap_or(Path::new("."))) {
                // Who may write into a directory may not always read it, which syncing takes.
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
                synced => synced?,
            }
        }
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<FileLock> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        // SAFETY: the descriptor is open; the call touches no memory.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(FileLock { _held: LockKind::Os { _open: file } })
    }
}

/// Runs `work` on every operation: here when there is one, else on up to [`PARALLEL`] threads.
fn share<T: Send>(ops: &mut [T], work: impl Fn(&mut T) + Sync) {
    if ops.len() <= 1 {
        return ops.iter_mut().for_each(work);
    }
    let workers = ops.len().min(PARALLEL);
    let queue = Mutex::new(ops.iter_mut());
    let drain = || {
        loop {
            let next = queue.lock().next();
            match next {
                Some(op) => work(op),
                None => return,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            // A thread that cannot be had is not missed: the others do its share.
            if thread::Builder::new().spawn_scoped(scope, drain).is_err() {
                break;
            }
        }
        drain();
    });
}

/// Buffers that one system call takes.
pub(super) const IOV_MAX: usize = 1024;

/// The buffers without their first `done` bytes, as many as one call takes.
pub(super) fn read_iovecs(buffers: &mut [&mut [u8]], done: usize) -> Vec<libc::iovec> {
    let mut skip = done;
    let mut iovecs = Vec::with_capacity(buffers.len().min(IOV_MAX));
    for buffer in buffers {
        let skipped = skip.min(buffer.len());
        skip -= skipped;
        let rest = &mut buffer[skipped..];
        if !rest.is_empty() && iovecs.len() < IOV_MAX {
            iovecs.push(libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() });
        }
    }
    iovecs
}

/// Returns the vectors of buffers that are only read.
pub(super) fn write_iovecs(buffers: &[&[u8]], done: usize) -> Vec<libc::iovec> {
    let mut skip = done;
    let mut iovecs = Vec::with_capacity(buffers.len().min(IOV_MAX));
    for buffer in buffers {
        let skipped = skip.min(buffer.len());
        skip -= skipped;
        let rest = &buffer[skipped..];
        if !rest.is_empty() && iovecs.len() < IOV_MAX {
            iovecs.push(libc::iovec { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest.len() });
        }
    }
    iovecs
}

fn read_all(file: &File, offset: u64, buffers: &mut [&mut [u8]]) -> io::Result<()> {
    let total: usize = buffers.iter().map(|b| b.len()).sum();
    let mut done = 0;
    while done < total {
        let iovecs = read_iovecs(buffers, done);
        let at = file_offset(offset, done)?;
        // SAFETY: the vectors describe buffers that are borrowed mutably for the whole call; the descriptor is open.
        let n = unsafe { libc::preadv(file.as_raw_fd(), iovecs.as_ptr(), iovecs.len() as i32, at) };
        match n {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n if n > 0 => done += n as usize,
            _ => retry_interrupted()?,
        }
    }
    Ok(())
}

fn write_all(file: &File, offset: u64, buffers: &[&[u8]]) -> io::Result<()> {
    let total: usize = buffers.iter().map(|b| b.len()).sum();
    let mut done = 0;
    while done < total {
        let iovecs = write_iovecs(buffers, done);
        let at = file_offset(offset, done)?;
        // SAFETY: the vectors describe buffers that are borrowed for the whole call, which only reads them.
        let n = unsafe { libc::pwritev(file.as_raw_fd(), iovecs.as_ptr(), iovecs.len() as i32, at) };
        match n {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n if n > 0 => done += n as usize,
            _ => retry_interrupted()?,
        }
    }
    Ok(())
}

fn file_offset(offset: u64, done: usize) -> io::Result<libc::off_t> {
    libc::off_t::try_from(offset + done as u64).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// The error of the last system call, unless it was a signal.
fn retry_interrupted() -> io::Result<()> {
    let e = io::Error::last_os_error();
    if e.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(e) }
}
