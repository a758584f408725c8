//! Faults that a test injects, and which call meets them.

use std::{ffi::OsStr, path::Path};

/// The kind of a call, by which faults are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    Sync,
    Allocate,
    /// Writing a small file fails and leaves half of its bytes.
    WriteSmall,
    Rename,
    Remove,
    /// Making a directory's names durable.
    SyncDirectory,
}

/// The kind of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Nothing is done, and the operation fails with this error number. What a failed sync of a file should have made
    /// durable may be lost from then on, whatever later syncs say: a kernel reports a failed write once, and forgets
    /// it.
    Error(i32),
    /// A write or read ends after half of its bytes, and says so.
    Short,
    /// A write says that it succeeded, but only its first half arrived.
    Torn,
    /// A bit of what is read or written is turned.
    BitFlip,
    /// A sync says that it succeeded, but did nothing.
    Lost,
    /// The power goes in the operation, as with [`super::SimulatedDisk::cut_power_after`].
    PowerCut,
}

/// A fault that happens once, or from then on.
#[derive(Debug, Clone, Copy)]
pub struct DiskFault {
    pub on: Operation,
    /// How many operations of this kind go well before.
    pub after: u64,
    pub kind: FaultKind,
    pub forever: bool,
}

/// The faults that are still to come.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Each with the ending of the names of the files that it is for; the empty one is for all files.
    waiting: Vec<(String, DiskFault)>,
}

impl Faults {
    pub fn add(&mut self, names_end: &str, fault: DiskFault) {
        self.waiting.push((names_end.to_string(), fault));
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// The fault of an operation on a file, if it has one.
    pub fn meet(&mut self, on: Operation, path: &Path) -> Option<FaultKind> {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let mut met = None;
        self.waiting.retain_mut(|(names_end, fault)| {
            if fault.on != on || !name.ends_with(names_end.as_str()) {
                return true;
            }
            if fault.after > 0 {
                fault.after -= 1;
                return true;
            }
            met = Some(fault.kind);
            fault.forever
        });
        met
    }
}
