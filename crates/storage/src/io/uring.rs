//! io_uring: a whole batch goes to the kernel at once.
//!
//! Rings are not bound to threads: a batch borrows one, waits for all its operations, and puts it back. A single
//! operation is cheaper as a plain system call and goes that way.

use super::{
    Disk, FileLock, IoFile, OpenMode, ReadOp, WriteOp,
    threads::{self, IOV_MAX, ThreadsIo},
};
use crate::mutex::Mutex;
use io_uring::{IoUring, Probe, opcode, squeue, types};
use std::{
    fmt, io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Operations that a ring has under way at once.
const DEPTH: usize = 128;
/// Idle rings kept.
const RINGS_MAX: usize = 8;

pub struct UringIo {
    rings: Mutex<Vec<IoUring>>,
    /// The back end for operations that are no batch.
    plain: ThreadsIo,
}

impl fmt::Debug for UringIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UringIo")
    }
}

impl UringIo {
    /// Fails where the kernel has no io_uring, forbids it, or lacks an operation that is needed.
    pub fn new() -> io::Result<UringIo> {
        let ring = IoUring::new(DEPTH as u32)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        for code in [opcode::Readv::CODE, opcode::Writev::CODE] {
            if !probe.is_supported(code) {
                return Err(io::ErrorKind::Unsupported.into());
            }
        }
        Ok(UringIo { rings: Mutex::new(vec![ring]), plain: ThreadsIo::new() })
    }

    fn ring(&self) -> io::Result<IoUring> {
        let idle = self.rings.lock().pop();
        idle.map_or_else(|| IoUring::new(DEPTH as u32), Ok)
    }

    fn give_back(&self, ring: IoUring) {
        let mut rings = self.rings.lock();
        if rings.len() < RINGS_MAX {
            rings.push(ring);
        }
    }

    /// Bytes moved by each operation, or its error; `None` for those that never reached the kernel.
    ///
    /// # Safety
    /// The entries' memory stays valid, and is not used by others, until this returns. It returns only when the
    /// kernel is done with all of them.
    unsafe fn run(&self, entries: &[squeue::Entry]) -> Vec<Option<io::Result<usize>>> {
        let mut results: Vec<Option<io::Result<usize>>> = entries.iter().map(|_| None).collect();
        let Ok(mut ring) = self.ring() else { return results };
        let mut next = 0;
        let mut completed = 0;
        let mut broken = false;
        loop {
            while !broken && next < entries.len() && next - completed < DEPTH {
                let entry = entries[next].clone().user_data(next as u64);
                // SAFETY: the caller's promise; the loop ends only when every submitted entry has completed.
                if unsafe { ring.submission().push(&entry) }.is_err() {
                    break;
                }
                next += 1;
            }
            let waiting = ring.submission().len();
            if next - completed == if broken { waiting } else { 0 } {
                break;
            }
            let wait = if broken { Ok(0) } else { ring.submit_and_wait(1) };
            match wait.map_err(|e| e.raw_os_error()) {
                Ok(_) | Err(Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                // The kernel takes no more. What it has taken, it finishes; that must be waited for.
                Err(_) => broken = true,
            }
            if broken {
                thread::sleep(Duration::from_millis(1));
            }
            for completion in ring.completion() {
                let result = completion.result();
                if let Some(slot) = results.get_mut(completion.user_data() as usize) {
                    *slot = Some(match result {
                        n if n >= 0 => Ok(n as usize),
                        code => Err(io::Error::from_raw_os_error(-code)),
                    });
                    completed += 1;
                }
            }
        }
        if !broken {
            self.give_back(ring);
        }
        results
    }
}

/// The result of a request that the kernel completed. `None` if it did a part or put it off: plain calls do it again.
fn outcome(result: Option<io::Result<usize>>, bytes: usize) -> Option<io::Result<()>> {
    match result {
        Some(Ok(n)) if n == bytes => Some(Ok(())),
        Some(Err(e)) if !matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) => Some(Err(e)),
        _ => None,
    }
}

impl Disk for UringIo {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.plain.open(path, mode)
    }

    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.plain.open_buffered(path, mode)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.plain.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plain.rename(from, to)
    }

    fn read(&self, ops: &mut [ReadOp<'_>]) {
        let fits = ops.iter().all(|op| op.file.os().is_ok() && op.buffers.len() <= IOV_MAX);
        if ops.len() <= 1 || !fits {
            return self.plain.read(ops);
        }
        let iovecs: Vec<Vec<libc::iovec>> = ops.iter_mut().map(|op| threads::read_iovecs(&mut op.buffers, 0)).collect();
        let entries: Vec<squeue::Entry> = ops
            .iter()
            .zip(&iovecs)
            .filter_map(|(op, iovecs)| {
                let fd = types::Fd(op.file.os().ok()?.as_raw_fd());
                Some(opcode::Readv::new(fd, iovecs.as_ptr(), iovecs.len() as u32).offset(op.offset).build())
            })
            .collect();
        // SAFETY: the vectors and the buffers, borrowed mutably by `ops`, outlive the call.
        let results = unsafe { self.run(&entries) };
        for (op, result) in ops.iter_mut().zip(results) {
            match outcome(result, op.bytes()) {
                Some(result) => op.result = result,
                None => self.plain.read(std::slice::from_mut(op)),
            }
        }
    }

    fn write(&self, ops: &mut [WriteOp<'_>]) {
        let fits = ops.iter().all(|op| op.file.os().is_ok() && op.buffers.len() <= IOV_MAX);
        if ops.len() <= 1 || !fits {
            return self.plain.write(ops);
        }
        let iovecs: Vec<Vec<libc::iovec>> = ops.iter().map(|op| threads::write_iovecs(&op.buffers, 0)).collect();
        let entries: Vec<squeue::Entry> = ops
            .iter()
            .zip(&iovecs)
            .filter_map(|(op, iovecs)| {
                let fd = types::Fd(op.file.os().ok()?.as_raw_fd());
                Some(opcode::Writev::new(fd, iovecs.as_ptr(), iovecs.len() as u32).offset(op.offset).build())
            })
            .collect();
        // SAFETY: the vectors and the buffers, borrowed by `ops`, outlive the call; the kernel only reads them.
        let results = unsafe { self.run(&entries) };
        for (op, result) in ops.iter_mut().zip(results) {
            match outcome(result, op.bytes()) {
                Some(result) => op.result = result,
                None => self.plain.write(std::slice::from_mut(op)),
            }
        }
    }

    fn sync(&self, file: &IoFile) -> io::Result<()> {
        self.plain.sync(file)
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        self.plain.file_len(file)
    }

    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        self.plain.allocate(file, bytes)
    }

    fn len_of(&self, path: &Path) -> io::Result<Option<u64>> {
        self.plain.len_of(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.plain.create_directory(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.plain.list(directory)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.plain.sync_directory(path)
    }

    fn lock(&self, path: &Path) -> io::Result<FileLock> {
        self.plain.lock(path)
    }
}
