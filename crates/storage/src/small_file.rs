//! Small files that are replaced as a whole: the identity of a directory, catalogs, counters.
//!
//! The new content is written to a file beside the old one, synced, renamed over it, and the directory is synced. So at
//! any time either the old content or the new one is there, and after a power failure too.

use crate::{StorageError, io::PageIo};
use std::{fs, path::Path};

/// Why a file was not replaced, or why that is not certain.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The old content is there.
    #[error(transparent)]
    NotReplaced(StorageError),
    /// The new content is there, but the directory could not be synced: after a power failure it may be the old one. So
    /// nothing may go that either of the two needs.
    #[error("the change is made, but it is not known to be durable: {0}")]
    DurabilityUnknown(StorageError),
}

/// Replaces the content of a file. With `sync` it is durable when this returns.
pub fn replace(io: &dyn PageIo, path: &Path, bytes: &[u8], sync: bool) -> Result<(), ReplaceError> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = Path::new(&new);
    let written = io.write_small(new, bytes, sync).and_then(|()| io.rename(new, path));
    written.map_err(|e| {
        // The remains of a failed write are worth nothing, and may be what fills the disk.
        let _ = fs::remove_file(new);
        ReplaceError::NotReplaced(StorageError::io(path, e))
    })?;
    match path.parent() {
        Some(directory) if sync => {
            io.sync_directory(directory).map_err(|e| ReplaceError::DurabilityUnknown(StorageError::io(directory, e)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::{Fault, FaultKind, MemoryIo, Operation};

    #[test]
    fn what_is_there_after_each_fault() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let io = MemoryIo::new();
        replace(&io, &path, b"old", true).unwrap();
        for (on, replaced) in
            [(Operation::WriteSmall, false), (Operation::Rename, false), (Operation::SyncDirectory, true)]
        {
            io.inject(Fault { on, after: 0, kind: FaultKind::Error(libc::EIO), forever: false });
            let e = replace(&io, &path, b"new", true).unwrap_err();
            assert_eq!(matches!(e, ReplaceError::DurabilityUnknown(_)), replaced, "{e}");
            assert_eq!(fs::read(&path).unwrap(), if replaced { b"new" } else { b"old" });
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else stays");
        }
        io.inject(Fault { on: Operation::SyncDirectory, after: 0, kind: FaultKind::Error(libc::EIO), forever: true });
        replace(&io, &path, b"newer", false).unwrap();
    }
}
