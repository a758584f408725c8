//! One small file holding one value as JSON: [checksummed](muster_storage::checked_file), replaced whole, by itself or
//! through the log.
//!
//! After a crash either the old or the new content is there: by itself a file is replaced by rename ([`small_file`]);
//! what the log replaces ([`LoggedFile`]) is there when its record is durable, in one order with the changes of rows.

use muster_storage::{
    FileId, RoomUse, StorageError, Store,
    checked_file::{self, BODY_BYTES_MAX, HEADER_BYTES},
    io::Disk,
    small_file::{self, ReplaceError},
};
use muster_types::{ErrorCode, Result, SqlError};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

pub use muster_storage::checked_file::FileKind as Kind;

/// A file of more bytes is not read.
pub const FILE_BYTES_MAX: u64 = HEADER_BYTES as u64 + BODY_BYTES_MAX;

/// The error of a file that is not as it was written.
pub fn corrupt(path: &Path, reason: impl std::fmt::Display) -> SqlError {
    SqlError::new(ErrorCode::StorageCorrupt, format!("{}: {reason}", path.display()))
}

/// Why a change was not made, or why that is not certain.
#[derive(Debug)]
pub enum ChangeError {
    /// All is as it was.
    NotMade(SqlError),
    /// The change is made. After a power failure it may be undone, so nothing may go that the old state needs, and
    /// nothing that the new one needs.
    DurabilityUnknown(SqlError),
}

impl From<SqlError> for ChangeError {
    fn from(e: SqlError) -> ChangeError {
        ChangeError::NotMade(e)
    }
}

impl From<ReplaceError> for ChangeError {
    fn from(e: ReplaceError) -> ChangeError {
        match e {
            ReplaceError::NotReplaced(e) => ChangeError::NotMade(e.into()),
            // Never "disk full", after which callers try again: what they asked for is done.
            e @ ReplaceError::DurabilityUnknown(_) => {
                ChangeError::DurabilityUnknown(SqlError::new(ErrorCode::Unknown, e.to_string()))
            }
        }
    }
}

impl From<ChangeError> for SqlError {
    fn from(e: ChangeError) -> SqlError {
        match e {
            ChangeError::NotMade(e) | ChangeError::DurabilityUnknown(e) => e,
        }
    }
}

/// Reads and writes files of this form.
#[derive(Clone)]
pub struct CheckedFiles {
    disk: Arc<dyn Disk>,
    sync: bool,
}

impl CheckedFiles {
    /// `sync`: content is on the disk when it counts as written.
    pub fn new(disk: Arc<dyn Disk>, sync: bool) -> CheckedFiles {
        CheckedFiles { disk, sync }
    }

    /// Reads the value; `None` when there is no such file.
    pub fn read<T: DeserializeOwned>(&self, path: &Path, kind: Kind) -> Result<Option<T>> {
        match self.disk.read_small(path, FILE_BYTES_MAX) {
            Ok(bytes) => decode(&bytes, path, kind).map(Some),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == ErrorKind::FileTooLarge => {
                Err(corrupt(path, format!("more than {FILE_BYTES_MAX} bytes")))
            }
            Err(e) => Err(StorageError::io(path, e).into()),
        }
    }

    /// Replaces the file.
    pub fn write<T: Serialize>(&self, path: &Path, kind: Kind, value: &T) -> Result<(), ChangeError> {
        let bytes = encode(path, kind, value)?;
        small_file::replace(&*self.disk, path, &bytes, self.sync).map_err(ChangeError::from)
    }
}

/// A file of this form that is replaced through the log of a data directory.
pub struct LoggedFile {
    store: Arc<Store>,
    name: &'static str,
    kind: Kind,
    /// Bytes of the content as it was last read or written.
    bytes: AtomicU64,
}

impl LoggedFile {
    pub fn new(store: Arc<Store>, name: &'static str, kind: Kind) -> LoggedFile {
        LoggedFile { store, name, kind, bytes: AtomicU64::new(0) }
    }

    pub fn path(&self) -> PathBuf {
        self.store.directory().join(self.name)
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Reads the value; `None` when there is no such file.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let Some(bytes) = self.store.read_small_file(self.name, FILE_BYTES_MAX)? else { return Ok(None) };
        self.bytes.store(bytes.len() as u64, Relaxed);
        decode(&bytes, &self.path(), self.kind).map(Some)
    }

    /// Replaces the value, durably; with it the files of pages in `removed` are not needed any more. What removes
    /// files, or makes the value shorter, is done on a full disk too.
    pub fn write<T: Serialize>(&self, value: &T, removed: &[FileId]) -> Result<(), ChangeError> {
        let bytes = encode(&self.path(), self.kind, value)?;
        let len = bytes.len() as u64;
        let room = if removed.is_empty() && len >= self.bytes() { RoomUse::Takes } else { RoomUse::Frees };
        let replaced = self.store.replace_small_file(self.name, &bytes, removed, room).map_err(ChangeError::from);
        if !matches!(replaced, Err(ChangeError::NotMade(_))) {
            self.bytes.store(len, Relaxed);
        }
        replaced
    }
}

/// A file with this value.
pub fn encode<T: Serialize>(path: &Path, kind: Kind, value: &T) -> Result<Vec<u8>> {
    let body = serde_json::to_vec(value).map_err(SqlError::internal)?;
    check_size(path, body.len() as u64)?;
    Ok(checked_file::seal(kind, &body))
}

/// Refuses to write a body that would be taken for corrupt when it is read.
pub fn check_size(path: &Path, body_bytes: u64) -> Result<()> {
    match body_bytes > BODY_BYTES_MAX {
        true => Err(SqlError::internal(format!("{}: {body_bytes} bytes of content", path.display()))),
        false => Ok(()),
    }
}

/// The value in the bytes of a file.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], path: &Path, kind: Kind) -> Result<T> {
    let (_, body) = checked_file::open(bytes, kind).map_err(|reason| corrupt(path, reason))?;
    serde_json::from_slice(body).map_err(|e| corrupt(path, format!("unreadable content: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_storage::io::threads::ThreadsIo;
    use std::fs;

    fn files(sync: bool) -> CheckedFiles {
        CheckedFiles::new(Arc::new(ThreadsIo::new()), sync)
    }

    const KIND: Kind = Kind { magic: *b"MUSTTEST", version: 3 };

    #[test]
    fn every_flipped_bit_is_found() {
        let files = files(true);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        assert_eq!(files.read::<Vec<u32>>(&path, KIND).unwrap(), None);
        files.write(&path, KIND, &vec![1u32, 2, 3]).unwrap();
        assert_eq!(files.read::<Vec<u32>>(&path, KIND).unwrap(), Some(vec![1, 2, 3]));
        let good = fs::read(&path).unwrap();
        for i in 0..good.len() {
            // A lower version number is one this build reads; all else must be refused.
            for bit in (0..8).filter(|bit| !(8..12).contains(&i) || *bit > 1) {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                fs::write(&path, &bad).unwrap();
                let e = files.read::<Vec<u32>>(&path, KIND).expect_err("a flipped bit");
                assert_eq!(e.code, ErrorCode::StorageCorrupt, "byte {i} bit {bit}");
            }
        }
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            files.read::<Vec<u32>>(&path, KIND).expect_err("a truncated file");
        }
    }

    #[test]
    fn a_newer_format_says_so() {
        let files = files(false);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        files.write(&path, Kind { version: 4, ..KIND }, &1u32).unwrap();
        let e = files.read::<u32>(&path, KIND).unwrap_err();
        assert!(e.message.contains("newer version (format 4"), "{}", e.message);
    }
}
