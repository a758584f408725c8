//! A disk in memory, for tests: it fails as it is told, fills up, and can lose its power.
//!
//! ```text
//!   SimulatedDisk   the calls of a Disk, and the power switch          mod.rs
//!     State         what it holds; operations are counted here         state.rs
//!     Content       a file's bytes: live, durable, and every version   content.rs
//!                   of a sector that was written between
//!     Names         the files' names, in the same way                  names.rs
//!     Loss          what a power cut takes of what was not synced      loss.rs
//!     DiskFault         errors that a test injects                         fault.rs
//! ```
//!
//! Readers see what was written at once. [`SimulatedDisk::after_power_cut`] gives the disk that a restarted process
//! would find: all that was synced, and of the rest whatever a seed draws. A sector may hold any version that was
//! written since it was last synced, or the synced one; so writes are dropped, torn and reordered. Bytes that were
//! allocated are zeros where their writes are lost. A name that was made, removed or changed is durable with the sync
//! of its directory alone. The same calls and the same seed give the same disk.
//!
//! Directories are durable when they are made, and a file may be opened in one that nobody made.

mod content;
mod fault;
mod loss;
mod names;
mod state;

pub use fault::{DiskFault, FaultKind, Operation};

use super::{Disk, FileLock, IoFile, OpenMode, ReadOp, WriteOp, file::FileKind, lock::LockKind, write_whole};
use content::{Content, SECTOR};
use loss::Loss;
use names::{Directory, NameChange, Names};
use parking_lot::{Mutex, MutexGuard};
use state::{DiskState, power_is_off};
use std::{
    collections::HashSet,
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A file, with a name or without.
#[derive(Debug, Default)]
pub(super) struct SimulatedFile {
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
pub struct SimulatedDisk {
    state: Mutex<DiskState>,
    locks: Locks,
    /// Time that each batch of reads takes.
    read_delay: Mutex<Duration>,
}

type Locks = Arc<Mutex<HashSet<PathBuf>>>;

/// A lock of a [`SimulatedDisk`]; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct SimulatedLock {
    path: PathBuf,
    locks: Locks,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.locks.lock().remove(&self.path);
    }
}

impl SimulatedDisk {
    pub fn new() -> SimulatedDisk {
        SimulatedDisk::default()
    }

    pub fn inject(&self, fault: DiskFault) {
        self.inject_for("", fault);
    }

    /// Injects a fault that only files meet whose name ends so. Operations on other files do not count for it.
    pub fn inject_for(&self, names_end: &str, fault: DiskFault) {
        self.state.lock().faults.add(names_end, fault);
    }

    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity = bytes;
    }

    /// Bytes of all files.
    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    pub fn set_read_delay(&self, delay: Duration) {
        *self.read_delay.lock() = delay;
    }

    /// Changes the bytes of a file, live and durable, behind everybody's back.
    pub fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(file) = self.state.lock().names.live().get(path) {
            file.content.lock().tamper(change);
        }
    }

    /// Operations so far that change something or make it durable: each is a moment in which the power may go.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Lets so many operations more go well. In the next one the power goes: what it writes may be on the disk or not,
    /// and it fails like all calls after it.
    pub fn cut_power_after(&self, operations: u64) {
        let mut state = self.state.lock();
        state.power_cut = Some(state.operations + operations + 1);
    }

    /// Returns true if the power is gone.
    pub fn is_off(&self) -> bool {
        self.state.lock().is_off
    }

    /// The disk that a restarted process would find if the power went now, or when it went. It is as large, has no
    /// faults and is durable as it is.
    pub fn after_power_cut(&self, seed: u64) -> SimulatedDisk {
        let operations = self.operations();
        // Names and content go their own ways: file systems write them apart.
        self.after(&Loss::draw(seed, 0, operations), &Loss::draw(seed, 1, operations))
    }

    /// The disk that a power cut leaves at worst: nothing but what was synced.
    pub fn only_synced(&self) -> SimulatedDisk {
        self.after(&Loss::ALL, &Loss::ALL)
    }

    /// The disk that a process finds that was killed and is started again while the machine goes on: all that was
    /// written, synced or not.
    pub fn all_written(&self) -> SimulatedDisk {
        self.after(&Loss::NONE, &Loss::NONE)
    }

    fn after(&self, of_names: &Loss, of_content: &Loss) -> SimulatedDisk {
        let state = self.state.lock();
        let left: Directory = state
            .names
            .after(of_names)
            .into_iter()
            .map(|(path, file)| {
                let bytes = file.content.lock().after(of_content, number_of(&path));
                (path, Arc::new(SimulatedFile { content: Mutex::new(Content::durable(bytes)) }))
            })
            .collect();
        let state = DiskState { names: Names::durable(left), capacity: state.capacity, ..DiskState::default() };
        SimulatedDisk { state: Mutex::new(state), ..SimulatedDisk::default() }
    }

    /// Begins a call: it fails if the power is gone or a fault is an error. Returns the fault otherwise.
    fn begin(&self, on: Operation, path: &Path) -> io::Result<(MutexGuard<'_, DiskState>, Option<FaultKind>)> {
        let mut state = self.powered()?;
        match state.faults.meet(on, path) {
            Some(FaultKind::Error(code)) => Err(io::Error::from_raw_os_error(code)),
            Some(FaultKind::PowerCut) => {
                state.power_cut = Some(state.operations + 1);
                Ok((state, None))
            }
            fault => Ok((state, fault)),
        }
    }

    fn powered(&self) -> io::Result<MutexGuard<'_, DiskState>> {
        let state = self.state.lock();
        if state.is_off { Err(power_is_off()) } else { Ok(state) }
    }

    fn read_one(&self, op: &mut ReadOp<'_>) -> io::Result<()> {
        let (state, fault) = self.begin(Operation::Read, op.file.path())?;
        drop(state);
        let content = simulated(op.file)?.content.lock();
        let mut left = if fault == Some(FaultKind::Short) { op.bytes() / 2 } else { op.bytes() };
        let mut at = usize::try_from(op.offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        for buffer in &mut op.buffers {
            let len = buffer.len().min(left);
            let bytes = content.live().get(at..at + len).ok_or(io::ErrorKind::UnexpectedEof)?;
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
        let (mut state, fault) = self.begin(Operation::Write, op.file.path())?;
        let mut bytes = op.buffers.concat();
        match fault {
            Some(FaultKind::Short | FaultKind::Torn) => bytes.truncate((bytes.len() / 2) / SECTOR * SECTOR),
            Some(FaultKind::BitFlip) => bytes.iter_mut().rev().take(1).for_each(|b| *b ^= 1),
            _ => {}
        }
        let at = usize::try_from(op.offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let file = simulated(op.file)?;
        state.check_room(file, at + bytes.len())?;
        state.operation(|_, number| file.content.lock().write(at, &bytes, number))?;
        if fault == Some(FaultKind::Short) { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
    }

    fn open_file(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        let mut state = self.powered()?;
        let file = match (mode, state.names.live().get(path).cloned()) {
            (OpenMode::CreateNew, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::Existing, None) => return Err(io::ErrorKind::NotFound.into()),
            (OpenMode::Existing, Some(file)) => file,
            (OpenMode::Replace, Some(file)) => {
                state.operation(|_, number| file.content.lock().set_len(0, number))?;
                file
            }
            (OpenMode::CreateNew | OpenMode::Replace, None) => state.make(path)?,
        };
        Ok(IoFile { path: path.to_path_buf(), kind: FileKind::Simulated(file) })
    }
}

/// A number for a file by its name, the same in every directory.
fn number_of(path: &Path) -> u64 {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    name.iter().fold(0, |number, byte| loss::mix(number, &[u64::from(*byte)]))
}

fn simulated(file: &IoFile) -> io::Result<&Arc<SimulatedFile>> {
    match &file.kind {
        FileKind::Simulated(file) => Ok(file),
        FileKind::Os { .. } | FileKind::Overlay(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.open_file(path, mode)
    }

    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.open_file(path, mode)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (mut state, _) = self.begin(Operation::Remove, path)?;
        if !state.names.live().contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.operation(|names, number| names.change(NameChange::Removed(path.to_path_buf()), number))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut state, _) = self.begin(Operation::Rename, to)?;
        if from.parent() != to.parent() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let file = state.names.live().get(from).cloned().ok_or(io::ErrorKind::NotFound)?;
        let renamed = NameChange::Renamed(from.to_path_buf(), to.to_path_buf(), file);
        state.operation(|names, number| names.change(renamed, number))
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
        let content = &simulated(file)?.content;
        let begun = self.begin(Operation::Sync, file.path());
        if begun.is_err() && !self.is_off() {
            content.lock().fail_sync();
        }
        let (mut state, fault) = begun?;
        match fault {
            Some(FaultKind::Lost) => Ok(()),
            _ => state.durable_operation(|_| content.lock().sync()),
        }
    }

    fn write_small(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
        match self.begin(Operation::WriteSmall, path).map(drop) {
            Ok(()) => write_whole(self, path, bytes, sync),
            Err(e) => write_whole(self, path, &bytes[..bytes.len() / 2], false).and(Err(e)),
        }
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        Ok(simulated(file)?.content.lock().live().len() as u64)
    }

    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        let (mut state, _) = self.begin(Operation::Allocate, file.path())?;
        let len = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        let file = simulated(file)?;
        state.check_room(file, len)?;
        state.operation(|_, number| {
            let mut content = file.content.lock();
            let len = len.max(content.live().len());
            content.set_len(len, number);
        })
    }

    fn len_of(&self, path: &Path) -> io::Result<Option<u64>> {
        let state = self.powered()?;
        Ok(state.names.live().get(path).map(|file| file.content.lock().live().len() as u64))
    }

    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        self.powered()?.operation(|_, _| ())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.powered()?;
        Ok(state.names.live().keys().filter(|path| path.parent() == Some(directory)).cloned().collect())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let (mut state, fault) = self.begin(Operation::SyncDirectory, path)?;
        match fault {
            Some(FaultKind::Lost) => Ok(()),
            _ => state.durable_operation(|names| names.sync(path)),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<FileLock> {
        let mut state = self.powered()?;
        if !state.names.live().contains_key(path) {
            state.make(path)?;
        }
        if !self.locks.lock().insert(path.to_path_buf()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let held = SimulatedLock { path: path.to_path_buf(), locks: Arc::clone(&self.locks) };
        Ok(FileLock { _held: LockKind::Simulated { _held: held } })
    }

    fn fail_stop(&self, _reason: &str) {
        self.state.lock().is_off = true;
    }
}

#[cfg(test)]
mod tests;
