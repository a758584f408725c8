//! Locks of whole tables: who uses a table, and who changes or replaces it. MySQL's metadata locks (manual 10.11.4), and LOCK
//! TABLES with them.
//!
//! A transaction holds a lock of each table that it has used until it ends, so that no definition changes below it. A statement
//! outside of a transaction that only reads keeps the files that it began with, so it holds no lock; it waits, before it
//! begins, while somebody has the table for himself.

use muster_algebra::TableId;
use muster_types::{ErrorCode, Result, SqlError};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Time between the checks of a waiting statement whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(20);

/// What a table is locked for, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableUse {
    Read,
    /// To change rows.
    Write,
    /// To read it while nobody changes rows: LOCK TABLES .. READ.
    ReadOnly,
    /// To build other files of it, while nobody changes rows and others still read.
    Rebuild,
    /// To have it for oneself: DROP and its like, LOCK TABLES .. WRITE.
    Alone,
}

impl TableUse {
    fn agrees(self, other: TableUse) -> bool {
        use TableUse::*;
        match (self, other) {
            (Alone, _) | (_, Alone) => false,
            (Read, _) | (_, Read) => true,
            (a, b) => a == b && a != Rebuild,
        }
    }

    /// Returns true if those who come later wait for one who waits for this: else he might never get it.
    fn goes_first(self) -> bool {
        self >= TableUse::ReadOnly
    }
}

/// When a lock ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Until {
    /// With the statement.
    Statement,
    /// With the transaction.
    Transaction,
    /// At UNLOCK TABLES.
    Unlocked,
}

/// What ends a wait besides the lock.
pub struct Patience<'a> {
    pub until: Option<Instant>,
    pub is_killed: &'a dyn Fn() -> bool,
    /// Called when a wait begins.
    pub waits: &'a dyn Fn(),
}

/// The number of a session.
type Owner = u32;

struct Held {
    owner: Owner,
    of: TableUse,
    until: Until,
}

struct Waiting {
    table: TableId,
    of: TableUse,
}

#[derive(Default)]
struct State {
    tables: HashMap<TableId, Vec<Held>>,
    waiting: HashMap<Owner, Waiting>,
    /// The session that has said FLUSH TABLES WITH READ LOCK, or waits to.
    global: Option<Owner>,
    /// Sessions with a statement or a commit under way that changes something.
    changing: HashSet<Owner>,
}

/// The locks of all sessions.
#[derive(Default)]
pub struct MetadataLocks {
    state: Mutex<State>,
    changed: Condvar,
    /// Locks that are held or waited for and that readers may have to wait for.
    against_readers: AtomicUsize,
}

impl State {
    /// Sessions that `owner` has to wait for.
    fn blockers(&self, owner: Owner, table: TableId, of: TableUse) -> Vec<Owner> {
        let held = self.tables.get(&table).map_or(&[][..], Vec::as_slice);
        let mut blockers: Vec<Owner> =
            held.iter().filter(|held| held.owner != owner && !held.of.agrees(of)).map(|held| held.owner).collect();
        // Who has the table already must not wait for one who waits for him.
        if !held.iter().any(|held| held.owner == owner) && !of.goes_first() {
            let before = self.waiting.iter().filter(|(other, waiting)| {
                **other != owner && waiting.table == table && waiting.of.goes_first() && !waiting.of.agrees(of)
            });
            blockers.extend(before.map(|(other, _)| *other));
        }
        blockers
    }

    /// Returns true if one of `blockers` waits for `owner`, maybe by way of others.
    fn is_circle(&self, owner: Owner, blockers: &[Owner]) -> bool {
        let (mut seen, mut next) = (HashSet::new(), blockers.to_vec());
        while let Some(other) = next.pop() {
            if other == owner {
                return true;
            }
            if seen.insert(other)
                && let Some(waiting) = self.waiting.get(&other)
            {
                next.extend(self.blockers(other, waiting.table, waiting.of));
            }
        }
        false
    }

    fn add(&mut self, owner: Owner, table: TableId, of: TableUse, until: Until) {
        let held = self.tables.entry(table).or_default();
        match held.iter_mut().find(|held| held.owner == owner && held.until == until) {
            Some(held) => held.of = held.of.max(of),
            None => held.push(Held { owner, of, until }),
        }
    }

    /// Removes the locks of a session that last until then.
    fn remove(&mut self, owner: Owner, until: Until) {
        self.tables.retain(|_, held| {
            held.retain(|held| held.owner != owner || held.until != until);
            !held.is_empty()
        });
    }
}

impl MetadataLocks {
    /// Locks a table. Returns true if that took a wait, so that the table may be another one now. A session's own locks are
    /// in nobody's way. Errors: 1205 when the patience is over, 1213 if those who are waited for wait for this one, 1317.
    pub fn lock(
        &self,
        owner: Owner,
        table: TableId,
        of: TableUse,
        until: Until,
        patience: &Patience<'_>,
    ) -> Result<bool> {
        let mut state = self.state.lock();
        let waited = self.wait_for(&mut state, owner, table, of, patience)?;
        state.add(owner, table, of, until);
        self.note(&state);
        Ok(waited)
    }

    /// Locks a table, if nobody has to be waited for. Returns whether it is locked.
    pub fn try_lock(&self, owner: Owner, table: TableId, of: TableUse, until: Until) -> bool {
        let mut state = self.state.lock();
        if !state.blockers(owner, table, of).is_empty() {
            return false;
        }
        state.add(owner, table, of, until);
        self.note(&state);
        true
    }

    /// Waits until a table may be read, and locks nothing. Returns true if it had to wait.
    pub fn wait_to_read(&self, owner: Owner, tables: &[TableId], patience: &Patience<'_>) -> Result<bool> {
        if self.is_free_for_readers() {
            return Ok(false);
        }
        let mut state = self.state.lock();
        let mut waited = false;
        for table in tables {
            waited |= self.wait_for(&mut state, owner, *table, TableUse::Read, patience)?;
        }
        Ok(waited)
    }

    /// Returns true if no reader has to wait for anybody just now.
    pub fn is_free_for_readers(&self) -> bool {
        self.against_readers.load(Relaxed) == 0
    }

    fn wait_for(
        &self,
        state: &mut MutexGuard<'_, State>,
        owner: Owner,
        table: TableId,
        of: TableUse,
        patience: &Patience<'_>,
    ) -> Result<bool> {
        let mut waited = false;
        loop {
            let blockers = state.blockers(owner, table, of);
            if blockers.is_empty() {
                return Ok(waited);
            }
            if state.is_circle(owner, &blockers) {
                return Err(SqlError::deadlock());
            }
            waited = true;
            state.waiting.insert(owner, Waiting { table, of });
            self.note(state);
            let step = self.wait_step(state, patience);
            state.waiting.remove(&owner);
            self.note(state);
            step?;
        }
    }

    /// Waits for a change of the locks, for a short time.
    fn wait_step(&self, state: &mut MutexGuard<'_, State>, patience: &Patience<'_>) -> Result<()> {
        (patience.waits)();
        self.changed.wait_for(state, KILL_CHECK);
        if (patience.is_killed)() {
            return Err(SqlError::interrupted());
        }
        match patience.until.is_some_and(|until| Instant::now() >= until) {
            true => Err(SqlError::lock_wait_timeout()),
            false => Ok(()),
        }
    }

    fn note(&self, state: &State) {
        let strong = |of: TableUse| of == TableUse::Alone;
        let held = state.tables.values().flatten().filter(|held| strong(held.of)).count();
        let waiting = state.waiting.values().filter(|waiting| strong(waiting.of)).count();
        self.against_readers.store(held + waiting, Relaxed);
    }

    /// The tables that a session has locked, by their numbers.
    pub fn held_by(&self, owner: Owner) -> BTreeMap<TableId, TableUse> {
        let mut tables = BTreeMap::new();
        for (table, held) in &self.state.lock().tables {
            let strongest = held.iter().filter(|held| held.owner == owner).map(|held| held.of).max();
            tables.extend(strongest.map(|of| (*table, of)));
        }
        tables
    }

    /// Ends the locks of a session that last until then.
    pub fn release(&self, owner: Owner, until: Until) {
        let mut state = self.state.lock();
        state.remove(owner, until);
        self.note(&state);
        self.changed.notify_all();
    }

    /// Ends the locks of a session's statement, and its change if it is one.
    pub fn end_statement(&self, owner: Owner) {
        let mut state = self.state.lock();
        state.remove(owner, Until::Statement);
        state.changing.remove(&owner);
        self.note(&state);
        self.changed.notify_all();
    }

    /// Ends all that a session holds: it is gone.
    pub fn release_all(&self, owner: Owner) {
        for until in [Until::Statement, Until::Transaction, Until::Unlocked] {
            self.release(owner, until);
        }
        self.unlock_globally(owner);
        self.end_change(owner);
    }

    /// FLUSH TABLES WITH READ LOCK: waits for changes that are under way, and keeps others from beginning.
    pub fn lock_globally(&self, owner: Owner, patience: &Patience<'_>) -> Result<()> {
        let mut state = self.state.lock();
        while state.global.is_some_and(|other| other != owner) {
            self.wait_step(&mut state, patience)?;
        }
        state.global = Some(owner);
        while state.changing.iter().any(|other| *other != owner) {
            if let Err(e) = self.wait_step(&mut state, patience) {
                state.global = None;
                return Err(e);
            }
        }
        Ok(())
    }

    pub fn unlock_globally(&self, owner: Owner) {
        let mut state = self.state.lock();
        if state.global == Some(owner) {
            state.global = None;
            self.changed.notify_all();
        }
    }

    /// Begins a statement or a commit that changes something; ended by [`MetadataLocks::end_change`]. Error 1223 under the
    /// session's own global read lock.
    pub fn begin_change(&self, owner: Owner, patience: &Patience<'_>) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            match state.global {
                None => break,
                Some(own) if own == owner => {
                    let message = "Can't execute the query because you have a conflicting read lock";
                    return Err(SqlError::new(ErrorCode::CantUpdateWithReadLock, message));
                }
                Some(_) => self.wait_step(&mut state, patience)?,
            }
        }
        state.changing.insert(owner);
        Ok(())
    }

    /// Begins a change as [`MetadataLocks::begin_change`] does, unless there is a global read lock. Returns whether it has begun.
    pub fn try_begin_change(&self, owner: Owner) -> bool {
        let mut state = self.state.lock();
        if state.global.is_some() {
            return false;
        }
        state.changing.insert(owner);
        true
    }

    pub fn end_change(&self, owner: Owner) {
        let mut state = self.state.lock();
        if state.changing.remove(&owner) && state.global.is_some() {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, thread};

    const TABLE: TableId = TableId(1);

    fn at_once() -> Patience<'static> {
        Patience { until: Some(Instant::now()), is_killed: &|| false, waits: &|| {} }
    }

    fn long() -> Patience<'static> {
        Patience { until: Some(Instant::now() + Duration::from_secs(60)), is_killed: &|| false, waits: &|| {} }
    }

    fn lock(locks: &MetadataLocks, owner: Owner, of: TableUse, patience: &Patience<'_>) -> Result<bool> {
        locks.lock(owner, TABLE, of, Until::Transaction, patience)
    }

    #[test]
    fn who_agrees_with_whom() {
        let locks = MetadataLocks::default();
        for owner in [1, 2] {
            assert!(!lock(&locks, owner, TableUse::Write, &at_once()).unwrap());
        }
        assert_eq!(lock(&locks, 3, TableUse::ReadOnly, &at_once()).unwrap_err().code.number(), 1205);
        assert_eq!(lock(&locks, 1, TableUse::Alone, &at_once()).unwrap_err().code.number(), 1205);
        assert!(locks.is_free_for_readers());
        locks.release(2, Until::Transaction);
        lock(&locks, 1, TableUse::Alone, &at_once()).unwrap();
        assert!(!locks.is_free_for_readers());
        assert!(locks.wait_to_read(2, &[TABLE], &at_once()).is_err());
        locks.release_all(1);
        assert!(!locks.wait_to_read(2, &[TABLE], &at_once()).unwrap());
    }

    #[test]
    fn a_killed_statement_stops_waiting() {
        let locks = MetadataLocks::default();
        lock(&locks, 1, TableUse::Alone, &at_once()).unwrap();
        let killed = Patience { until: None, is_killed: &|| true, waits: &|| {} };
        assert_eq!(lock(&locks, 2, TableUse::Read, &killed).unwrap_err().code.number(), 1317);
        assert_eq!(locks.state.lock().waiting.len(), 0);
    }

    #[test]
    fn a_circle_is_found() {
        let locks = Arc::new(MetadataLocks::default());
        lock(&locks, 1, TableUse::Write, &at_once()).unwrap();
        lock(&locks, 2, TableUse::Write, &at_once()).unwrap();
        let other = {
            let locks = locks.clone();
            thread::spawn(move || lock(&locks, 1, TableUse::Alone, &long()))
        };
        while locks.state.lock().waiting.is_empty() {
            thread::yield_now();
        }
        assert_eq!(lock(&locks, 2, TableUse::Alone, &long()).unwrap_err().code.number(), 1213);
        locks.release(2, Until::Transaction);
        assert!(other.join().unwrap().unwrap());
    }

    #[test]
    fn changes_and_the_global_lock_exclude_each_other() {
        let locks = MetadataLocks::default();
        locks.begin_change(1, &at_once()).unwrap();
        assert_eq!(locks.lock_globally(2, &at_once()).unwrap_err().code.number(), 1205);
        locks.end_change(1);
        locks.lock_globally(2, &at_once()).unwrap();
        assert_eq!(locks.begin_change(1, &at_once()).unwrap_err().code.number(), 1205);
        assert_eq!(locks.begin_change(2, &at_once()).unwrap_err().code.number(), 1223);
        locks.unlock_globally(2);
        locks.begin_change(1, &at_once()).unwrap();
    }
}
