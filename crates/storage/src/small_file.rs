//! Small files that are replaced as a whole: the identity of a directory, catalogs, counters.
//!
//! The new content is written to a file beside the old one, synced, renamed over it, and the directory is synced. So at
//! any time either the old content or the new one is there, and after a power failure too.

use crate::{StorageError, io::Disk};
use std::path::{Path, PathBuf};

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

/// Extension of a file that is to be renamed to what it replaces.
const NEW: &str = "new";

/// The file that is renamed to `path`.
fn beside(path: &Path) -> PathBuf {
    path.with_added_extension(NEW)
}

/// The file that new content was to replace, by the path of the new content; `None` for other paths.
pub(crate) fn replaced_by(path: &Path) -> Option<PathBuf> {
    path.extension().is_some_and(|extension| extension == NEW).then(|| path.with_extension(""))
}

/// Replaces the content of a file. With `sync` it is durable when this returns.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8], sync: bool) -> Result<(), ReplaceError> {
    let new = &beside(path);
    let written = disk.write_small(new, bytes, sync).and_then(|()| disk.rename(new, path));
    written.map_err(|e| {
        // The remains of a failed write are worth nothing, and may be what fills the disk.
        let _ = disk.remove(new);
        ReplaceError::NotReplaced(StorageError::io(path, e))
    })?;
    match path.parent() {
        Some(directory) if sync => {
            disk.sync_directory(directory).map_err(|e| ReplaceError::DurabilityUnknown(StorageError::io(directory, e)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk};

    #[test]
    fn what_is_there_after_each_fault() {
        let (directory, path) = (Path::new("/d"), Path::new("/d/x"));
        let disk = SimulatedDisk::new();
        replace(&disk, path, b"old", true).unwrap();
        for (on, replaced) in
            [(Operation::WriteSmall, false), (Operation::Rename, false), (Operation::SyncDirectory, true)]
        {
            disk.inject(DiskFault { on, after: 0, kind: FaultKind::Error(libc::EIO), forever: false });
            let e = replace(&disk, path, b"new", true).unwrap_err();
            assert_eq!(matches!(e, ReplaceError::DurabilityUnknown(_)), replaced, "{e}");
            assert_eq!(disk.read_small(path, 3).unwrap(), if replaced { b"new" } else { b"old" });
            assert_eq!(disk.list(directory).unwrap(), [path], "nothing else stays");
        }
        disk.inject(DiskFault {
            on: Operation::SyncDirectory,
            after: 0,
            kind: FaultKind::Error(libc::EIO),
            forever: true,
        });
        replace(&disk, path, b"newer", false).unwrap();
    }

    /// The power goes in each operation of a replacement, and all ways to lose what was not synced are tried.
    #[test]
    fn a_power_cut_leaves_the_old_content_or_the_new() {
        let path = Path::new("/d/x");
        let (old, new) = (vec![1; 3000], vec![2; 5000]);
        let mut found = [0, 0];
        for operations in 0.. {
            let disk = SimulatedDisk::new();
            replace(&disk, path, &old, true).unwrap();
            disk.cut_power_after(operations);
            let replaced = replace(&disk, path, &new, true);
            for seed in 0..50 {
                let content = disk.after_power_cut(seed).read_small(path, 5000).unwrap();
                assert!(content == new || content == old && replaced.is_err(), "operation {operations}, seed {seed}");
                found[usize::from(content == new)] += 1;
            }
            if replaced.is_ok() {
                break;
            }
        }
        assert!(found.into_iter().all(|n| n > 50), "{found:?}");
        // A file that is not asked to be durable may be there by half.
        let disk = SimulatedDisk::new();
        replace(&disk, path, &old, true).unwrap();
        replace(&disk, path, &new, false).unwrap();
        let torn = |seed| {
            let content = disk.after_power_cut(seed).read_small(path, 5000).unwrap();
            content != old && content != new
        };
        assert!((0..50).any(torn));
    }
}
