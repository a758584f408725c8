//! Records the accesses of another back end, and replays them against a model of a device.
//!
//! So a run on any machine tells what it would have taken on a disk with a certain seek time.

use super::{IoFile, OpenMode, PageIo, ReadOp, WriteOp};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    Sync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub kind: AccessKind,
    /// Files are numbered in the order of their first access.
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    /// Accesses of one batch have the same number: the device may do them in any order.
    pub batch: u64,
}

/// A device: what a jump costs, and how fast it streams.
#[derive(Debug, Clone, Copy)]
pub struct DeviceModel {
    pub seek_ms: f64,
    pub mb_per_s: f64,
}

/// What a trace costs on a device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Replay {
    pub total_ms: f64,
    pub seeks: u64,
    pub bytes: u64,
}

/// Accesses kept at most; later ones are only counted.
const TRACE_MAX: usize = 16 << 20;

#[derive(Debug, Default)]
struct Trace {
    accesses: Vec<Access>,
    files: HashMap<PathBuf, u32>,
    dropped: u64,
}

#[derive(Debug)]
pub struct TraceIo {
    inner: Arc<dyn PageIo>,
    trace: Mutex<Trace>,
    batches: AtomicU64,
}

impl TraceIo {
    pub fn new(inner: Arc<dyn PageIo>) -> TraceIo {
        TraceIo { inner, trace: Mutex::default(), batches: AtomicU64::new(0) }
    }

    /// The accesses so far, and how many were not kept; the record starts anew.
    pub fn take(&self) -> (Vec<Access>, u64) {
        let mut trace = self.trace.lock();
        let dropped = std::mem::take(&mut trace.dropped);
        (std::mem::take(&mut trace.accesses), dropped)
    }

    fn record<'a>(&self, kind: AccessKind, ops: impl Iterator<Item = (&'a IoFile, u64, usize)>) {
        let batch = self.batches.fetch_add(1, Relaxed);
        let mut trace = self.trace.lock();
        for (file, offset, bytes) in ops {
            let next = trace.files.len() as u32;
            let file = match trace.files.get(file.path()) {
                Some(&file) => file,
                None => *trace.files.entry(file.path().to_path_buf()).or_insert(next),
            };
            if trace.accesses.len() < TRACE_MAX {
                trace.accesses.push(Access { kind, file, offset, bytes: bytes as u64, batch });
            } else {
                trace.dropped += 1;
            }
        }
    }
}

/// The time of a trace on a device with one head: a batch is done in the order of files and offsets, an access that
/// does not begin where the last one ended costs a seek.
pub fn replay(accesses: &[Access], device: DeviceModel) -> Replay {
    let mut result = Replay::default();
    let mut head = None;
    for batch in accesses.chunk_by(|a, b| a.batch == b.batch) {
        let mut sorted: Vec<&Access> = batch.iter().filter(|a| a.kind != AccessKind::Sync).collect();
        sorted.sort_by_key(|a| (a.file, a.offset));
        for access in sorted {
            if head != Some((access.file, access.offset)) {
                result.seeks += 1;
            }
            result.bytes += access.bytes;
            head = Some((access.file, access.offset + access.bytes));
        }
    }
    result.total_ms = result.seeks as f64 * device.seek_ms + result.bytes as f64 / (device.mb_per_s * 1000.0);
    result
}

impl PageIo for TraceIo {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.inner.open(path, mode)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn read(&self, ops: &mut [ReadOp<'_>]) {
        self.record(AccessKind::Read, ops.iter().map(|op| (op.file, op.offset, op.bytes())));
        self.inner.read(ops);
    }

    fn write(&self, ops: &mut [WriteOp<'_>]) {
        self.record(AccessKind::Write, ops.iter().map(|op| (op.file, op.offset, op.bytes())));
        self.inner.write(ops);
    }

    fn sync(&self, file: &IoFile) -> io::Result<()> {
        self.record(AccessKind::Sync, [(file, 0, 0)].into_iter());
        self.inner.sync(file)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_directory(path)
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        self.inner.file_len(file)
    }

    fn set_len(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        self.inner.set_len(file, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{AlignedBuf, memory::MemoryIo};

    #[test]
    fn seeks_and_bytes_make_the_time() {
        let trace = TraceIo::new(Arc::new(MemoryIo::new()));
        let file = trace.open(Path::new("/d/a"), OpenMode::CreateNew).unwrap();
        let mut page = AlignedBuf::zeroed(4096);
        trace.write(&mut [WriteOp::new(&file, 0, vec![&page]), WriteOp::new(&file, 4096, vec![&page])]);
        for offset in [4096, 0] {
            let mut ops = [ReadOp::new(&file, offset, vec![&mut page])];
            trace.read(&mut ops);
            assert!(ops[0].result.is_ok());
        }
        let (accesses, dropped) = trace.take();
        assert_eq!((accesses.len(), dropped), (4, 0));
        let cost = replay(&accesses, DeviceModel { seek_ms: 10.0, mb_per_s: 4.096 });
        // The writes follow each other; the reads go back to the second page, then to the first.
        assert_eq!(cost, Replay { total_ms: 30.0 + 4.0, seeks: 3, bytes: 16384 });
        assert!(trace.take().0.is_empty());
    }

    #[test]
    fn a_batch_is_sorted_by_the_device() {
        let access = |offset, batch| Access { kind: AccessKind::Read, file: 0, offset, bytes: 10, batch };
        let device = DeviceModel { seek_ms: 1.0, mb_per_s: f64::INFINITY };
        assert_eq!(replay(&[access(20, 0), access(10, 0), access(0, 0)], device).seeks, 1);
        assert_eq!(replay(&[access(20, 0), access(10, 1), access(0, 2)], device).seeks, 3);
    }
}
