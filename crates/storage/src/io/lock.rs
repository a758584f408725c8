//! A lock on a file of a disk, against other processes.

use super::simulated::SimulatedLock;
use std::fs::File;

/// Keeps others from locking the same file, until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    pub(super) _held: LockKind,
}

#[derive(Debug)]
pub(super) enum LockKind {
    Os { _open: File },
    Simulated { _held: SimulatedLock },
}
