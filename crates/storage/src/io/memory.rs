//! Files in memory, with injected faults and a durable image beside the live one: for tests.
//!
//! Small files ([`PageIo::write_small`]) are in the file system as with other back ends; faults meet them too.
//!
//! What was written is in the live image at once, and in the durable image after a sync. [`MemoryIo::crash`] makes
//! the file system that a power failure would leave.

use super::{IoFile, OpenMode, PageIo, ReadOp, WriteOp, file::FileKind};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    Sync,
    Allocate,
    /// Writing a small file fails and leaves half of its bytes.
    WriteSmall,
    Rename,
    /// Making a directory's names durable.
    SyncDirectory,
}

/// The kind of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Nothing is done, and the operation fails with this error number.
    Error(i32),
    /// A write or read ends after half of its bytes, and says so.
    Short,
    /// A write says that it succeeded, but only its first half arrived.
    Torn,
    /// A bit of what is read or written is turned.
    BitFlip,
    /// A sync says that it succeeded, but did nothing.
    Lost,
}

/// A fault that happens once, or from then on.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub on: Operation,
    /// How many operations of this kind go well before.
    pub after: u64,
    pub kind: FaultKind,
    pub forever: bool,
}

/// The bytes of a file, as readers see them and as a crash would leave them.
#[derive(Debug, Default)]
pub(super) struct MemoryFile {
    images: Mutex<Images>,
}

#[derive(Debug, Default, Clone)]
struct Images {
    live: Vec<u8>,
    durable: Vec<u8>,
}

#[derive(Debug, Default)]
struct Names {
    live: HashMap<PathBuf, Arc<MemoryFile>>,
    durable: HashMap<PathBuf, Arc<MemoryFile>>,
}

#[derive(Debug, Default)]
pub struct MemoryIo {
    names: Mutex<Names>,
    faults: Mutex<Vec<Fault>>,
    /// Bytes that all files together may have; more is `ENOSPC`.
    capacity: Mutex<Option<u64>>,
    /// Time that each batch of reads takes.
    read_delay: Mutex<std::time::Duration>,
}

/// Disks write this much at once or not at all.
const SECTOR: usize = 512;
/// The number of bytes that a crash keeps or loses as a whole.
const CRASH_BLOCK: usize = 4096;

impl MemoryIo {
    pub fn new() -> MemoryIo {
        MemoryIo::default()
    }

    pub fn inject(&self, fault: Fault) {
        self.faults.lock().push(fault);
    }

    pub fn clear_faults(&self) {
        self.faults.lock().clear();
    }

    pub fn set_capacity(&self, bytes: Option<u64>) {
        *self.capacity.lock() = bytes;
    }

    pub fn set_read_delay(&self, delay: std::time::Duration) {
        *self.read_delay.lock() = delay;
    }

    /// Changes the bytes of a file, live and durable, behind everybody's back.
    pub fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(file) = self.names.lock().live.get(path) {
            let mut images = file.images.lock();
            change(&mut images.live);
            images.durable = images.live.clone();
        }
    }

    /// The file system after a power failure now. Of what was not synced, each block is lost or not, by the seed; with
    /// `None` all is lost.
    pub fn crash(&self, seed: Option<u64>) -> MemoryIo {
        let mut random = seed;
        // SplitMix64, for even neighbouring seeds must differ.
        let mut keep = || {
            random.as_mut().is_some_and(|state| {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 63 == 1
            })
        };
        let left = MemoryIo::new();
        let mut names = left.names.lock();
        let mut paths: Vec<_> = self.names.lock().durable.iter().map(|(p, f)| (p.clone(), Arc::clone(f))).collect();
        paths.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, file) in paths {
            let Images { live, mut durable } = file.images.lock().clone();
            for (i, block) in live.chunks(CRASH_BLOCK).enumerate() {
                let at = i * CRASH_BLOCK;
                let same = durable.get(at..at + block.len()) == Some(block);
                if !same && keep() {
                    durable.resize(durable.len().max(at + block.len()), 0);
                    durable[at..at + block.len()].copy_from_slice(block);
                }
            }
            let images = Mutex::new(Images { live: durable.clone(), durable });
            let file = Arc::new(MemoryFile { images });
            names.live.insert(path.clone(), Arc::clone(&file));
            names.durable.insert(path, file);
        }
        drop(names);
        left
    }

    /// The fault of this operation, if it has one.
    fn fault(&self, on: Operation) -> Option<FaultKind> {
        let mut faults = self.faults.lock();
        let mut hit = None;
        faults.retain_mut(|fault| {
            if fault.on != on {
                return true;
            }
            if fault.after > 0 {
                fault.after -= 1;
                return true;
            }
            hit = Some(fault.kind);
            fault.forever
        });
        hit
    }

    fn read_one(&self, op: &mut ReadOp<'_>) -> io::Result<()> {
        let fault = self.fault(Operation::Read);
        if let Some(FaultKind::Error(code)) = fault {
            return Err(io::Error::from_raw_os_error(code));
        }
        let images = memory(op.file)?.images.lock();
        let mut left = if fault == Some(FaultKind::Short) { op.bytes() / 2 } else { op.bytes() };
        let mut at = usize::try_from(op.offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        for buffer in &mut op.buffers {
            let len = buffer.len().min(left);
            let bytes = images.live.get(at..at + len).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer[..len].copy_from_slice(bytes);
            (at, left) = (at + len, left - len);
        }
        match fault {
            Some(FaultKind::Short) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(FaultKind::BitFlip) => {
                if let Some(byte) = op.buffers.last_mut().and_then(|b| b.last_mut()) {
                    *byte ^= 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn write_one(&self, op: &WriteOp<'_>) -> io::Result<()> {
        let fault = self.fault(Operation::Write);
        if let Some(FaultKind::Error(code)) = fault {
            return Err(io::Error::from_raw_os_error(code));
        }
        let mut bytes = op.buffers.concat();
        match fault {
            Some(FaultKind::Short | FaultKind::Torn) => bytes.truncate((bytes.len() / 2) / SECTOR * SECTOR),
            Some(FaultKind::BitFlip) => bytes.iter_mut().rev().take(1).for_each(|b| *b ^= 1),
            _ => {}
        }
        let at = usize::try_from(op.offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let end = at + bytes.len();
        let target = memory(op.file)?;
        let grows = end.saturating_sub(target.images.lock().live.len()) as u64;
        self.check_room(grows)?;
        let mut images = target.images.lock();
        if images.live.len() < end {
            images.live.resize(end, 0);
        }
        images.live[at..end].copy_from_slice(&bytes);
        if fault == Some(FaultKind::Short) { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
    }

    /// Fails with `ENOSPC` if all files together may not have so many bytes more.
    fn check_room(&self, grows: u64) -> io::Result<()> {
        match *self.capacity.lock() {
            Some(capacity) if grows > 0 && self.used() + grows > capacity => {
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of all files.
    fn used(&self) -> u64 {
        self.names.lock().live.values().map(|file| file.images.lock().live.len() as u64).sum()
    }
}

fn memory(file: &IoFile) -> io::Result<&Arc<MemoryFile>> {
    match &file.kind {
        FileKind::Memory(file) => Ok(file),
        FileKind::Os { .. } => Err(io::ErrorKind::Unsupported.into()),
    }
}

impl PageIo for MemoryIo {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        let mut names = self.names.lock();
        let file = match (mode, names.live.get(path)) {
            (OpenMode::CreateNew, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::CreateNew, None) => {
                let file: Arc<MemoryFile> = Arc::default();
                names.live.insert(path.to_path_buf(), Arc::clone(&file));
                file
            }
            (OpenMode::Existing, file) => Arc::clone(file.ok_or(io::ErrorKind::NotFound)?),
        };
        Ok(IoFile { path: path.to_path_buf(), kind: FileKind::Memory(file) })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.names.lock().live.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn read(&self, ops: &mut [ReadOp<'_>]) {
        let delay = *self.read_delay.lock();
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        for op in ops {
            op.result = self.read_one(op);
        }
    }

    fn write(&self, ops: &mut [WriteOp<'_>]) {
        for op in ops {
            op.result = self.write_one(op);
        }
    }

    fn sync(&self, file: &IoFile) -> io::Result<()> {
        match self.fault(Operation::Sync) {
            Some(FaultKind::Error(code)) => return Err(io::Error::from_raw_os_error(code)),
            Some(FaultKind::Lost) => return Ok(()),
            _ => {}
        }
        let mut images = memory(file)?.images.lock();
        images.durable = images.live.clone();
        Ok(())
    }

    fn write_small(&self, path: &Path, bytes: &[u8], _sync: bool) -> io::Result<()> {
        match self.fault(Operation::WriteSmall) {
            Some(FaultKind::Error(code)) => {
                fs::write(path, &bytes[..bytes.len() / 2])?;
                Err(io::Error::from_raw_os_error(code))
            }
            _ => fs::write(path, bytes),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.fault(Operation::Rename) {
            Some(FaultKind::Error(code)) => Err(io::Error::from_raw_os_error(code)),
            _ => fs::rename(from, to),
        }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        match self.fault(Operation::SyncDirectory) {
            Some(FaultKind::Error(code)) => return Err(io::Error::from_raw_os_error(code)),
            Some(FaultKind::Lost) => return Ok(()),
            _ => {}
        }
        let mut names = self.names.lock();
        let inside = |p: &Path| p.parent() == Some(path);
        names.durable.retain(|p, _| !inside(p));
        let live: Vec<_> =
            names.live.iter().filter(|(p, _)| inside(p)).map(|(p, f)| (p.clone(), Arc::clone(f))).collect();
        names.durable.extend(live);
        Ok(())
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        Ok(memory(file)?.images.lock().live.len() as u64)
    }

    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        if let Some(FaultKind::Error(code)) = self.fault(Operation::Allocate) {
            return Err(io::Error::from_raw_os_error(code));
        }
        let len = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        let file = memory(file)?;
        let grows = len.saturating_sub(file.images.lock().live.len()) as u64;
        self.check_room(grows)?;
        let mut images = file.images.lock();
        let len = len.max(images.live.len());
        images.live.resize(len, 0);
        Ok(())
    }
}
