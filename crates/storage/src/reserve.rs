//! Room that is kept on the disk for what frees more of it: dropping a table rewrites the catalog before any file can
//! go.
//!
//! It is a file of zeros, `RESERVE`. On a full disk it is deleted, the drop is tried again in the room that this
//! leaves, and the file is made anew once there is room. Nothing reads it, so a crash at any time loses nothing.

use crate::{
    Result, StorageError,
    io::{Disk, OpenMode},
};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

const NAME: &str = "RESERVE";

/// The reserve of a data directory.
#[derive(Debug)]
pub struct Reserve {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Reserve {
    pub fn new(disk: Arc<dyn Disk>, directory: &Path) -> Reserve {
        Reserve { disk, path: directory.join(NAME) }
    }

    /// Makes it, or makes it grow to so many bytes. Errors: disk full (what there was stays), I/O.
    pub fn keep(&self, bytes: u64) -> Result<()> {
        let kept = self.disk.len_of(&self.path).unwrap_or(None);
        if kept.is_some_and(|kept| kept >= bytes) {
            return Ok(());
        }
        let mode = if kept.is_some() { OpenMode::Existing } else { OpenMode::CreateNew };
        let allocated = self.disk.open(&self.path, mode).and_then(|file| self.disk.allocate(&file, bytes));
        allocated.map_err(|e| {
            if kept.is_none() {
                // A part of it is worth nothing.
                let _ = self.disk.remove(&self.path);
            }
            StorageError::io(&self.path, e)
        })
    }

    /// Deletes it; whether there was one.
    pub fn give_up(&self) -> Result<bool> {
        match self.disk.remove(&self.path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(StorageError::io(&self.path, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{simulated::SimulatedDisk, threads::ThreadsIo};
    use std::{fs, os::unix::fs::MetadataExt};

    #[test]
    fn it_takes_room_until_it_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::new(Arc::new(ThreadsIo::new()), directory.path());
        assert!(!reserve.give_up().unwrap());
        for bytes in [100_000, 300_000, 200_000] {
            reserve.keep(bytes).unwrap();
            let file = fs::metadata(directory.path().join(NAME)).unwrap();
            assert!(file.len() >= bytes && file.blocks() * 512 >= bytes, "{file:?}");
        }
        assert!(reserve.give_up().unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let full = Reserve::new(Arc::new(ThreadsIo::new()), Path::new("/dev/full/nowhere"));
        assert!(full.keep(1).is_err());
    }

    #[test]
    fn a_full_disk_has_none_or_the_one_that_was_there() {
        let disk = Arc::new(SimulatedDisk::new());
        let reserve = Reserve::new(Arc::clone(&disk) as _, Path::new("/d"));
        disk.set_capacity(Some(1000));
        assert!(matches!(reserve.keep(2000), Err(StorageError::DiskFull { .. })));
        assert!(disk.list(Path::new("/d")).unwrap().is_empty());
        reserve.keep(800).unwrap();
        assert!(matches!(reserve.keep(2000), Err(StorageError::DiskFull { .. })));
        assert_eq!(disk.len_of(Path::new("/d/RESERVE")).unwrap(), Some(800));
    }
}
