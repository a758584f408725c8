//! The files of the log: one for each segment, made before it is used, and used again when it is not needed any more.

use super::{Lsn, options::OnFailure, segment_header::SegmentFormat};
use crate::{
    Result, StorageError,
    io::{ALIGN, AlignedBuf, Disk, IoFile, OpenMode, ReadOp, WriteOp},
};
use parking_lot::RwLock;
use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Zeros that are written at once when a segment is made.
const ZEROS: usize = 1 << 20;
const PREFIX: &str = "redo-";
const SUFFIX: &str = ".log";
/// A segment that is being made has this behind its name.
const NEW: &str = ".new";

/// How the log's files are reached.
#[derive(Debug, Clone)]
pub(crate) struct LogFiles {
    pub disk: Arc<dyn Disk>,
    pub directory: PathBuf,
    /// True if what is written is synced before it counts as durable.
    pub sync: bool,
    /// True if writes go through the operating system's cache: cheaper where commits do not wait for the disk.
    pub buffered: bool,
    pub on_failure: OnFailure,
}

impl LogFiles {
    /// Makes what was written durable. An error ends the process ([`OnFailure`]): nobody can know what is durable then.
    pub fn sync_file(&self, file: &IoFile) -> Result<()> {
        self.sync_new_file(file).inspect_err(|e| (self.on_failure.0)(e))
    }

    /// Makes a file durable that is not used yet, so that its loss would be none.
    pub fn sync_new_file(&self, file: &IoFile) -> Result<()> {
        if self.sync { self.disk.sync(file).map_err(|e| StorageError::io(file.path(), e)) } else { Ok(()) }
    }

    pub fn sync_directory(&self) -> Result<()> {
        if !self.sync {
            return Ok(());
        }
        self.disk.sync_directory(&self.directory).map_err(|e| StorageError::io(&self.directory, e))
    }

    pub fn open(&self, path: &Path, mode: OpenMode) -> Result<IoFile> {
        let opened = if self.buffered { self.disk.open_buffered(path, mode) } else { self.disk.open(path, mode) };
        opened.map_err(|e| StorageError::io(path, e))
    }

    /// Reads whole blocks of a file.
    pub fn read(&self, file: &IoFile, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut ops = [ReadOp::new(file, offset, vec![into])];
        self.disk.read(&mut ops);
        let [op] = ops;
        op.result.map_err(|e| StorageError::io(file.path(), e))
    }

    /// Writes whole blocks of a file.
    pub fn write(&self, file: &IoFile, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut ops = [WriteOp::new(file, offset, vec![bytes])];
        self.disk.write(&mut ops);
        let [op] = ops;
        op.result.map_err(|e| StorageError::io(file.path(), e))
    }

    /// Removes a file that may not be there.
    pub fn remove_if_there(&self, path: &Path) -> Result<()> {
        match self.disk.remove(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(StorageError::io(path, e)),
            _ => Ok(()),
        }
    }
}

/// The segments of one log.
#[derive(Debug)]
pub(crate) struct Segments {
    pub files: LogFiles,
    pub format: SegmentFormat,
    /// Files that were used since the log was opened, by the number of the segment.
    open: RwLock<BTreeMap<u64, Arc<IoFile>>>,
}

impl Segments {
    pub fn new(files: LogFiles, format: SegmentFormat) -> Segments {
        Segments { files, format, open: RwLock::default() }
    }

    pub fn path(&self, number: u64) -> PathBuf {
        self.files.directory.join(format!("{PREFIX}{number:010}{SUFFIX}"))
    }

    /// Numbers of the segments that have a file, in ascending order.
    pub fn list(&self) -> Result<Vec<u64>> {
        let directory = &self.files.directory;
        let names = self.files.disk.list(directory).map_err(|e| StorageError::io(directory, e))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|path| segment_number(path)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Removes segments that were being made when the power went.
    pub fn remove_unfinished(&self) -> Result<()> {
        let directory = &self.files.directory;
        let names = self.files.disk.list(directory).map_err(|e| StorageError::io(directory, e))?;
        let is_unfinished = |path: &&PathBuf| {
            let made = path.to_str().and_then(|path| path.strip_suffix(NEW));
            made.is_some_and(|path| segment_number(Path::new(path)).is_some())
        };
        names.iter().filter(is_unfinished).try_for_each(|path| self.files.remove_if_there(path))
    }

    /// The file of a segment; `None` if there is none that has all of the segment's bytes.
    pub fn file(&self, number: u64) -> Result<Option<Arc<IoFile>>> {
        if let Some(file) = self.open.read().get(&number) {
            return Ok(Some(Arc::clone(file)));
        }
        let path = self.path(number);
        let len = self.files.disk.len_of(&path).map_err(|e| StorageError::io(&path, e))?;
        if len.is_none_or(|len| len < self.format.geometry.segment_bytes()) {
            return Ok(None);
        }
        let file = Arc::new(self.files.open(&path, OpenMode::Existing)?);
        Ok(Some(Arc::clone(self.open.write().entry(number).or_insert(file))))
    }

    /// The file of a segment that was made before.
    pub fn existing(&self, number: u64) -> Result<Arc<IoFile>> {
        self.file(number)?.ok_or_else(|| self.damaged(self.format.geometry.start_of(number), "the segment is missing"))
    }

    /// Makes a segment: zeros and a header, durable with its name. Errors: `DiskFull`, I/O; nothing is left then.
    pub fn make(&self, number: u64) -> Result<()> {
        let path = self.path(number);
        let mut new = path.clone().into_os_string();
        new.push(NEW);
        let new = PathBuf::from(new);
        self.files.remove_if_there(&new)?;
        let made = self.write_zeros(&new, number).and_then(|()| self.rename(&new, &path));
        if made.is_err() {
            // The first error is the one to tell.
            let _ = self.files.remove_if_there(&new);
        }
        made
    }

    fn write_zeros(&self, path: &Path, number: u64) -> Result<()> {
        let file = self.files.open(path, OpenMode::CreateNew)?;
        let bytes = self.format.geometry.segment_bytes();
        let mut zeros = AlignedBuf::zeroed(ZEROS.min(bytes as usize));
        let header = self.format.header(number);
        zeros[..header.len()].copy_from_slice(&header);
        let mut offset = 0;
        while offset < bytes {
            self.files.write(&file, offset, &zeros)?;
            offset += zeros.len() as u64;
            zeros[..header.len()].fill(0);
        }
        self.files.sync_new_file(&file)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.files.disk.rename(from, to).map_err(|e| StorageError::io(from, e))?;
        self.files.sync_directory()
    }

    /// Gives the file of a segment that nobody needs to a segment to come. Its old content stays: groups in it say that
    /// they belong to other positions.
    pub fn recycle(&self, old: u64, new: u64) -> Result<()> {
        let file = self.existing(old)?;
        let mut block = AlignedBuf::zeroed(ALIGN);
        let header = self.format.header(new);
        block[..header.len()].copy_from_slice(&header);
        self.files.write(&file, 0, &block)?;
        self.files.sync_file(&file)?;
        self.open.write().remove(&old);
        self.rename(&self.path(old), &self.path(new))
    }

    /// Deletes a segment that nobody needs.
    pub fn remove(&self, number: u64) -> Result<()> {
        self.open.write().remove(&number);
        self.files.remove_if_there(&self.path(number))
    }

    /// An error that names the file and the place in it.
    pub fn damaged(&self, at: Lsn, reason: impl Into<String>) -> StorageError {
        let geometry = self.format.geometry;
        let path = self.path(geometry.segment_of(at));
        StorageError::DamagedLog { path, offset: geometry.offset(at), reason: reason.into() }
    }
}

/// Returns true for the path of a file that belongs to a log.
pub(crate) fn is_log_file(path: &Path) -> bool {
    segment_number(path).is_some() || segment_number(&path.with_extension("")).is_some()
}

/// The number in the name of a segment's file; `None` for other names.
fn segment_number(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    (digits.len() >= 10 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}
