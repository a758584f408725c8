//! The locks that sessions hold, and the changes that they make, each session's apart from those of others.

use super::{TableUse, Until};
use muster_algebra::TableId;
use muster_storage::mutex::{Mutex, MutexGuard};
use std::collections::BTreeMap;

/// Sessions have consecutive numbers, so those of fewer sessions than this seldom meet.
const SHARDS: usize = 64;

/// Who holds a lock of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// A session, by its number.
    Session(u32),
    /// A transaction that was cut off, by a crash or because its rollback has failed. It has what it has changed until
    /// it is rolled back in the background, and waits for nothing.
    CutOff(u64),
}

/// A lock of a table.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub owner: Owner,
    pub table: TableId,
    pub of: TableUse,
    pub until: Until,
}

impl Held {
    /// Returns true if it is a transaction's, which may be at rest.
    pub fn is_of_transaction(&self) -> bool {
        self.until == Until::Transaction
    }
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
        let number = match owner {
            Owner::Session(session) => u64::from(session),
            Owner::CutOff(trx_id) => trx_id,
        };
        self.shards[number as usize % SHARDS].0.lock()
    }

    /// The locks of a table.
    pub fn of_table(&self, table: TableId) -> Vec<Held> {
        let mut found = Vec::new();
        for shard in &self.shards {
            found.extend(shard.0.lock().locks.iter().filter(|held| held.table == table));
        }
        found
    }

    /// All locks.
    pub fn all(&self) -> Vec<Held> {
        let mut found = Vec::new();
        for shard in &self.shards {
            found.extend(shard.0.lock().locks.iter());
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

    /// The sessions that make a change.
    pub fn changing(&self) -> Vec<Owner> {
        let mut found = Vec::new();
        for shard in &self.shards {
            found.extend(shard.0.lock().changing.iter());
        }
        found
    }
}

impl Shard {
    pub fn add(&mut self, new: Held) {
        let is_same = |held: &&mut Held| (held.owner, held.table, held.until) == (new.owner, new.table, new.until);
        match self.locks.iter_mut().find(is_same) {
            Some(held) => held.of = held.of.joined(new.of),
            None => self.locks.push(new),
        }
    }

    /// Puts a lock in the place of the one that its owner has of the table until then. Returns whether there was one.
    pub fn replace(&mut self, new: Held) -> bool {
        let is_same = |held: &&mut Held| (held.owner, held.table, held.until) == (new.owner, new.table, new.until);
        self.locks.iter_mut().find(is_same).map(|held| held.of = new.of).is_some()
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

    /// The tables that a session has locked, each with all that it is locked for.
    pub fn tables(&self, owner: Owner) -> BTreeMap<TableId, TableUse> {
        let mut tables = BTreeMap::new();
        let locked = self.locks.iter().filter(|held| held.owner == owner && held.of != TableUse::Open);
        for held in locked {
            let all = tables.entry(held.table).or_insert(held.of);
            *all = held.of.joined(*all);
        }
        tables
    }
}
