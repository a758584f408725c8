//! What is locked, how, and which locks conflict.

use std::sync::Arc;

/// An entry of a tree by its key, or the supremum of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    /// The number of the tree's file.
    pub tree: u32,
    /// The memcomparable key of the entry; `None` for the supremum.
    pub key: Option<Arc<[u8]>>,
}

impl Resource {
    pub fn entry(tree: u32, key: &[u8]) -> Resource {
        Resource { tree, key: Some(key.into()) }
    }

    pub fn supremum(tree: u32) -> Resource {
        Resource { tree, key: None }
    }

    /// The entry with this key, or the supremum if there is none.
    pub fn new(tree: u32, key: Option<&[u8]>) -> Resource {
        Resource { tree, key: key.map(Into::into) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    Shared,
    Exclusive,
}

impl LockMode {
    /// Returns true if two transactions must not have locks of a record in these modes.
    pub fn conflicts(self, other: LockMode) -> bool {
        self == LockMode::Exclusive || other == LockMode::Exclusive
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// The entry alone.
    Record,
    /// The gap before the entry: nobody else adds an entry there. Locks of gaps never wait.
    Gap,
    /// The entry and the gap before it.
    NextKey,
    /// The wish to add an entry to the gap. It waits for locks that others have of the gap, and nobody waits for it.
    InsertIntention,
}

/// A lock that a transaction asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub kind: LockKind,
    pub mode: LockMode,
}

impl Wanted {
    pub fn new(kind: LockKind, mode: LockMode) -> Wanted {
        Wanted { kind, mode }
    }

    pub fn record(mode: LockMode) -> Wanted {
        Wanted::new(LockKind::Record, mode)
    }

    pub fn gap(mode: LockMode) -> Wanted {
        Wanted::new(LockKind::Gap, mode)
    }

    pub fn next_key(mode: LockMode) -> Wanted {
        Wanted::new(LockKind::NextKey, mode)
    }

    pub fn insert_intention() -> Wanted {
        Wanted::new(LockKind::InsertIntention, LockMode::Exclusive)
    }

    /// The mode in which the entry itself is to be locked.
    pub fn of_record(self) -> Option<LockMode> {
        matches!(self.kind, LockKind::Record | LockKind::NextKey).then_some(self.mode)
    }

    /// The mode in which the gap is to be locked.
    pub fn of_gap(self) -> Option<LockMode> {
        matches!(self.kind, LockKind::Gap | LockKind::NextKey).then_some(self.mode)
    }

    /// Returns true if this request has to wait for a lock of another transaction, or for a request that came before
    /// it, on the same key: `record` and `gap` are the modes of that.
    pub fn waits_for(self, record: Option<LockMode>, gap: Option<LockMode>) -> bool {
        match self.of_record() {
            Some(mode) => record.is_some_and(|other| mode.conflicts(other)),
            None => self.kind == LockKind::InsertIntention && gap.is_some(),
        }
    }
}
