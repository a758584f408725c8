//! The data directory's own small files: `LOCK` and the identity file `MUSTER`.

use crate::{
    Result, StorageError,
    io::{Disk, FileLock},
    log,
    page::{FORMAT_VERSION, MAX_PAGE_SIZE, MIN_PAGE_SIZE, check_version},
    small_file::{self, ReplaceError},
};
use std::{
    io,
    path::{Path, PathBuf},
};

const LOCK: &str = "LOCK";
const IDENTITY: &str = "MUSTER";
const IDENTITY_NEW: &str = "MUSTER.new";
const FIRST_LINE: &str = "muster data directory";
/// The identity file has a few short lines; a longer one is not ours.
const IDENTITY_MAX_BYTES: u64 = 4096;

/// The contents of the file `MUSTER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub page_size: usize,
    /// File numbers below this may have been given out.
    pub next_file: u32,
    /// A random number, which the directory's log knows too.
    pub id: u64,
}

/// Makes the directory if it is not there, and locks it until the lock returned is dropped. Errors: `Foreign` for a
/// directory with other people's files, `Locked`, I/O.
pub(crate) fn lock(disk: &dyn Disk, directory: &Path) -> Result<FileLock> {
    let fail = |e| StorageError::io(directory, e);
    disk.create_directory(directory).map_err(fail)?;
    if disk.len_of(&directory.join(IDENTITY)).map_err(fail)?.is_none() {
        // A crash in the middle of making the directory leaves these files.
        let left = [LOCK, IDENTITY_NEW, log::CHECKPOINT].map(|name| directory.join(name));
        let is_left = |path: &PathBuf| left.contains(path) || log::is_log_file(path);
        if !disk.list(directory).map_err(fail)?.iter().all(is_left) {
            return Err(StorageError::Foreign { path: directory.to_path_buf() });
        }
    }
    let path = directory.join(LOCK);
    disk.lock(&path).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => StorageError::Locked { path: directory.to_path_buf() },
        _ => StorageError::io(path, e),
    })
}

/// Reads `MUSTER`; `None` in a new directory. Errors: `Foreign`, `NewerFormat`, `OlderFormat`, `Corrupt`, I/O.
pub(crate) fn read_identity(disk: &dyn Disk, directory: &Path) -> Result<Option<Identity>> {
    let path = directory.join(IDENTITY);
    let fail = |e| StorageError::io(&path, e);
    let bytes = match disk.read_small(&path, IDENTITY_MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.kind() == io::ErrorKind::FileTooLarge => return Err(StorageError::Foreign { path }),
        Err(e) => return Err(fail(e)),
    };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(StorageError::Foreign { path });
    }
    let (mut format, mut page_size, mut next_file, mut id) = (None, None, None, None);
    for line in lines {
        let field = match line.split_once(' ') {
            Some(("format", n)) => (&mut format, n),
            Some(("page_size", n)) => (&mut page_size, n),
            Some(("next_file", n)) => (&mut next_file, n),
            Some(("identity", n)) => {
                id = u64::from_str_radix(n, 16).ok();
                continue;
            }
            // A newer version may say more; its number comes first.
            _ => continue,
        };
        *field.0 = field.1.parse::<u32>().ok();
    }
    if let Some(found) = format {
        check_version(&path, found)?;
    }
    match (format, page_size, next_file, id) {
        (Some(_), Some(page_size), Some(next_file), Some(id)) if valid_page_size(page_size as usize) => {
            Ok(Some(Identity { page_size: page_size as usize, next_file, id }))
        }
        _ => {
            let reason = "format, page_size, next_file or identity is missing".into();
            Err(StorageError::Corrupt { path, page: 0, reason })
        }
    }
}

/// Replaces `MUSTER`. After an error either content may be there: both are of numbers that are not in use.
pub(crate) fn write_identity(disk: &dyn Disk, directory: &Path, identity: Identity, sync: bool) -> Result<()> {
    let Identity { page_size, next_file, id } = identity;
    let text = format!(
        "{FIRST_LINE}\nformat {FORMAT_VERSION}\npage_size {page_size}\nnext_file {next_file}\nidentity {id:016x}\n"
    );
    small_file::replace(disk, &directory.join(IDENTITY), text.as_bytes(), sync).map_err(|e| match e {
        ReplaceError::NotReplaced(e) | ReplaceError::DurabilityUnknown(e) => e,
    })
}

/// Returns true for the path of a file that a directory has once: the identity, or one with the extension of our own
/// files.
pub(crate) fn is_of_directory(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == IDENTITY) || path.extension().is_some_and(|e| e == "mus")
}

pub(crate) fn valid_page_size(bytes: usize) -> bool {
    bytes.is_power_of_two() && (MIN_PAGE_SIZE..=MAX_PAGE_SIZE).contains(&bytes)
}
