//! Records the accesses of another back end, so that they can be replayed against a model of a device: a run on any
//! machine then tells what it would have taken on a disk with a certain seek time.

use super::{Disk, FileLock, IoFile, OpenMode, ReadOp, WriteOp};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    Sync,
}

/// One read, write or sync of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedAccess {
    pub kind: AccessKind,
    /// Files are numbered in the order of their first access.
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    /// Accesses of one batch have the same number: the device may do them in any order.
    pub batch: u64,
    /// Accesses under way when the batch began, its own among them.
    pub in_flight: u32,
}

/// The recorded accesses.
#[derive(Debug, Default)]
pub struct Record {
    pub accesses: Vec<TracedAccess>,
    /// Accesses beyond those that are kept.
    pub dropped: u64,
    /// Path and length of each file, by its number.
    pub files: Vec<(PathBuf, u64)>,
}

/// Accesses kept at most; later ones are only counted.
const TRACE_MAX: usize = 16 << 20;

#[derive(Debug, Default)]
struct Trace {
    record: Record,
    numbers: HashMap<PathBuf, u32>,
}

#[derive(Debug)]
pub struct TraceIo {
    inner: Arc<dyn Disk>,
    /// `None` while nothing is recorded.
    trace: Mutex<Option<Trace>>,
    batches: AtomicU64,
    in_flight: AtomicU32,
}

impl TraceIo {
    pub fn new(inner: Arc<dyn Disk>) -> TraceIo {
        TraceIo { inner, trace: Mutex::default(), batches: AtomicU64::new(0), in_flight: AtomicU32::new(0) }
    }

    /// Begins a new record.
    pub fn start(&self) {
        *self.trace.lock() = Some(Trace::default());
    }

    /// Ends the record; empty if none was begun.
    pub fn stop(&self) -> Record {
        self.trace.lock().take().unwrap_or_default().record
    }

    /// Does a batch, and records it if it is to be.
    fn batch<T>(
        &self,
        kind: AccessKind,
        ops: &mut [T],
        file: impl Fn(&T) -> (&IoFile, u64, usize),
        run: impl FnOnce(&mut [T]),
    ) {
        let count = ops.len() as u32;
        let in_flight = self.in_flight.fetch_add(count, Relaxed) + count;
        if let Some(trace) = &mut *self.trace.lock() {
            let batch = self.batches.fetch_add(1, Relaxed);
            for op in ops.iter() {
                let (file, offset, bytes) = file(op);
                let file = trace.number(file, &*self.inner);
                trace.push(TracedAccess { kind, file, offset, bytes: bytes as u64, batch, in_flight });
            }
        }
        run(ops);
        self.in_flight.fetch_sub(count, Relaxed);
    }
}

impl Trace {
    fn number(&mut self, file: &IoFile, io: &dyn Disk) -> u32 {
        if let Some(&number) = self.numbers.get(file.path()) {
            return number;
        }
        let number = self.record.files.len() as u32;
        self.record.files.push((file.path().to_path_buf(), io.file_len(file).unwrap_or(0)));
        self.numbers.insert(file.path().to_path_buf(), number);
        number
    }

    fn push(&mut self, access: TracedAccess) {
        if self.record.accesses.len() < TRACE_MAX {
            self.record.accesses.push(access);
        } else {
            self.record.dropped += 1;
        }
    }
}

impl Disk for TraceIo {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.inner.open(path, mode)
    }

    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.inner.open_buffered(path, mode)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn read(&self, ops: &mut [ReadOp<'_>]) {
        self.batch(AccessKind::Read, ops, |op| (op.file, op.offset, op.bytes()), |ops| self.inner.read(ops));
    }

    fn write(&self, ops: &mut [WriteOp<'_>]) {
        self.batch(AccessKind::Write, ops, |op| (op.file, op.offset, op.bytes()), |ops| self.inner.write(ops));
    }

    fn sync(&self, file: &IoFile) -> io::Result<()> {
        let mut done = Ok(());
        self.batch(AccessKind::Sync, &mut [file], |file| (file, 0, 0), |_| done = self.inner.sync(file));
        done
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        self.inner.file_len(file)
    }

    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        self.inner.allocate(file, bytes)
    }

    fn len_of(&self, path: &Path) -> io::Result<Option<u64>> {
        self.inner.len_of(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list(directory)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_directory(path)
    }

    fn lock(&self, path: &Path) -> io::Result<FileLock> {
        self.inner.lock(path)
    }
    fn fail_stop(&self, reason: &str) {
        self.inner.fail_stop(reason);
    }

    // Small files are no pages: they are not recorded.
    fn read_small(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        self.inner.read_small(path, max)
    }

    fn write_small(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
        self.inner.write_small(path, bytes, sync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{AlignedBuf, simulated::SimulatedDisk};

    #[test]
    fn batches_are_recorded_between_start_and_stop() {
        let trace = TraceIo::new(Arc::new(SimulatedDisk::new()));
        let file = trace.open(Path::new("/d/a"), OpenMode::CreateNew).unwrap();
        let mut page = AlignedBuf::zeroed(4096);
        trace.write(&mut [WriteOp::new(&file, 0, vec![&page]), WriteOp::new(&file, 4096, vec![&page])]);
        trace.start();
        trace.write(&mut [WriteOp::new(&file, 8192, vec![&page]), WriteOp::new(&file, 12288, vec![&page])]);
        let mut ops = [ReadOp::new(&file, 4096, vec![&mut page])];
        trace.read(&mut ops);
        assert!(ops[0].result.is_ok());
        trace.sync(&file).unwrap();
        let record = trace.stop();
        let seen: Vec<_> = record.accesses.iter().map(|a| (a.kind, a.offset, a.bytes, a.in_flight)).collect();
        assert_eq!(
            seen,
            [
                (AccessKind::Write, 8192, 4096, 2),
                (AccessKind::Write, 12288, 4096, 2),
                (AccessKind::Read, 4096, 4096, 1),
                (AccessKind::Sync, 0, 0, 1)
            ]
        );
        let batches: Vec<u64> = record.accesses.iter().map(|a| a.batch).collect();
        assert_eq!(batches, [0, 0, 1, 2]);
        // As long as it was when it was first met.
        assert_eq!(record.files, [(PathBuf::from("/d/a"), 8192)]);
        assert!(trace.stop().accesses.is_empty());
    }
}
