//! Room that is kept on the disk for what frees more of it: dropping a table rewrites the catalog before any file can go.
//!
//! It is a file of zeros, `RESERVE`. On a full disk it is deleted, the drop is tried again in the room that this leaves,
//! and the file is made anew once there is room. Nothing reads it, so a crash at any time loses nothing.

use crate::{Result, StorageError};
use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

const NAME: &str = "RESERVE";

/// The reserve of a data directory.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
}

impl Reserve {
    pub fn new(directory: &Path) -> Reserve {
        Reserve { path: directory.join(NAME) }
    }

    /// Makes it, or makes it grow to so many bytes. Errors: disk full (what there was stays), I/O.
    pub fn keep(&self, bytes: u64) -> Result<()> {
        let kept = fs::metadata(&self.path).map(|m| m.len()).ok();
        if kept.is_some_and(|kept| kept >= bytes) {
            return Ok(());
        }
        let allocate = || {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.path)?;
            // SAFETY: the descriptor is open; the call touches no memory.
            match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
                0 => Ok(()),
                number => Err(io::Error::from_raw_os_error(number)),
            }
        };
        allocate().map_err(|e| {
            if kept.is_none() {
                // A part of it is worth nothing.
                let _ = fs::remove_file(&self.path);
            }
            StorageError::io(&self.path, e)
        })
    }

    /// Deletes it; whether there was one.
    pub fn give_up(&self) -> Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(StorageError::io(&self.path, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_takes_room_until_it_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::new(directory.path());
        assert!(!reserve.give_up().unwrap());
        for bytes in [100_000, 300_000, 200_000] {
            reserve.keep(bytes).unwrap();
            let file = fs::metadata(directory.path().join(NAME)).unwrap();
            assert!(file.len() >= bytes && file.blocks() * 512 >= bytes, "{file:?}");
        }
        assert!(reserve.give_up().unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let full = Reserve::new(Path::new("/dev/full/nowhere"));
        assert!(full.keep(1).is_err());
    }
}
