//! The locks that sessions hold, and the changes that they make, each session's apart from those of others.

use super::{Owner, TableUse, Until};
use muster_algebra::TableId;
use muster_storage::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;

/// Sessions have consecutive numbers, so those of fewer sessions than this seldom meet.
const SHARDS: usize = 64;

/// A lock of a table.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub owner: Owner,
    pub table: TableId,
    pub of: TableUse,
    pub until: Until,
}

/// What some sessions hold.
#[derive(Default)]
pub(super) struct Shard {
    locks: Vec<Held>,
    /// Sessions with a statement or a commit under way that changes something.
    changing: Vec<Owner>,
}

/// A shard on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Line(Mutex<Shard>);

/// What all sessions hold.
pub(super) struct HeldLocks {
    shards: Box<[Line]>,
}

impl Default for HeldLocks {
    fn default() -> HeldLocks {
        HeldLocks { shards: (0..SHARDS).map(|_| Line::default()).collect() }
    }
}

impl HeldLocks {
    /// What a session holds, with what a few others hold. Who has it locked asks for no other lock.
    pub fn of(&self, owner: Owner) -> MutexGuard<'_, Shard> {
        self.shards[owner as usize % SHARDS].0.lock()
    }

    /// The locks of a table.
    pub fn of_table(&self, table: TableId) -> Vec<Held> {
        let mut found = Vec::new();
        for shard in &self.shards {
            found.extend(shard.0.lock().locks.iter().filter(|held| held.table == table));
        }
        found
    }

    /// What is held beyond reading and writing.
    pub fn strong(&self) -> Vec<TableUse> {
        let mut found = Vec::new();
        for shard in &self.shards {
            found.extend(shard.0.lock().locks.iter().map(|held| held.of).filter(|of| of.goes_first()));
        }
        found
    }

    /// Returns true if another session makes a change.
    pub fn is_changed_by_others(&self, owner: Owner) -> bool {
        self.shards.iter().any(|shard| shard.0.lock().changing.iter().any(|other| *other != owner))
    }
}

impl Shard {
    pub fn add(&mut self, new: Held) {
        let is_same = |held: &&mut Held| (held.owner, held.table, held.until) == (new.owner, new.table, new.until);
        match self.locks.iter_mut().find(is_same) {
            Some(held) => held.of = held.of.max(new.of),
            None => self.locks.push(new),
        }
    }

    /// Removes the locks of a session that last until then. Returns whether there were any.
    pub fn remove(&mut self, owner: Owner, until: Until) -> bool {
        let before = self.locks.len();
        self.locks.retain(|held| held.owner != owner || held.until != until);
        self.locks.len() < before
    }

    pub fn begin_change(&mut self, owner: Owner) {
        if !self.changing.contains(&owner) {
            self.changing.push(owner);
        }
    }

    /// Ends the change of a session. Returns whether there was one.
    pub fn end_change(&mut self, owner: Owner) -> bool {
        let at = self.changing.iter().position(|other| *other == owner);
        at.map(|at| self.changing.swap_remove(at)).is_some()
    }

    /// The tables that a session has locked, each with the strongest use.
    pub fn tables(&self, owner: Owner) -> BTreeMap<TableId, TableUse> {
        let mut tables = BTreeMap::new();
        for held in self.locks.iter().filter(|held| held.owner == owner) {
            let strongest = tables.entry(held.table).or_insert(held.of);
            *strongest = held.of.max(*strongest);
        }
        tables
    }
}
