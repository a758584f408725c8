//! One small file holding one value: checksummed, replaced whole, by itself or through the log.
//!
//! ```text
//!   0  magic            8 bytes, names the kind of file
//!   8  format version   u32, little-endian
//!  12  CRC32C           u32, over everything behind it
//!  16  length           u64, of the body
//!  24  body             JSON
//! ```
//!
//! After a crash either the old or the new content is there: by itself a file is replaced by rename ([`small_file`]); what the
//! log replaces ([`LoggedFile`]) is there when its record is durable, in one order with the changes of rows.

use muster_storage::{
    FileId, RoomUse, StorageError, Store,
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

const HEADER: usize = 24;
/// A body larger than this is taken for corrupt before memory is asked for.
const MAX_BODY: u64 = 1 << 30;

/// A kind of file.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub magic: [u8; 8],
    pub version: u32,
}

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
        match self.disk.read_small(path, HEADER as u64 + MAX_BODY) {
            Ok(bytes) => decode(&bytes, path, kind).map(Some),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == ErrorKind::FileTooLarge => Err(corrupt(path, format!("more than {MAX_BODY} bytes"))),
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
        let Some(bytes) = self.store.read_small_file(self.name, HEADER as u64 + MAX_BODY)? else { return Ok(None) };
        self.bytes.store(bytes.len() as u64, Relaxed);
        decode(&bytes, &self.path(), self.kind).map(Some)
    }

    /// Replaces the value, durably; with it the files of pages in `removed` are not needed any more. What removes files, or
    /// makes the value shorter, is done on a full disk too.
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
fn encode<T: Serialize>(path: &Path, kind: Kind, value: &T) -> Result<Vec<u8>> {
    let body = serde_json::to_vec(value).map_err(SqlError::internal)?;
    if body.len() as u64 > MAX_BODY {
        return Err(SqlError::internal(format!("{}: {} bytes of content", path.display(), body.len())));
    }
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&kind.magic);
    bytes.extend_from_slice(&kind.version.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&body);
    let checksum = crc32c::crc32c(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// The value in the bytes of a file.
fn decode<T: DeserializeOwned>(bytes: &[u8], path: &Path, kind: Kind) -> Result<T> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if bytes.len() < HEADER {
        return Err(corrupt(path, format!("truncated at {} bytes", bytes.len())));
    }
    if bytes[..8] != kind.magic {
        return Err(corrupt(path, "not a file of Muster of this kind"));
    }
    if word(8) > kind.version {
        let (found, supported) = (word(8), kind.version);
        return Err(corrupt(
            path,
            format!("written by a newer version (format {found}, this build reads up to {supported})"),
        ));
    }
    let length = u64::from(word(16)) | u64::from(word(20)) << 32;
    if length > MAX_BODY || length != (bytes.len() - HEADER) as u64 {
        let found = bytes.len() - HEADER;
        return Err(corrupt(path, format!("{found} bytes of content where {length} were written")));
    }
    if crc32c::crc32c(&bytes[16..]) != word(12) {
        return Err(corrupt(path, "wrong checksum"));
    }
    serde_json::from_slice(&bytes[HEADER..]).map_err(|e| corrupt(path, format!("unreadable content: {e}")))
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
