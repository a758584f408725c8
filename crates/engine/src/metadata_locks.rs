//! Locks of whole tables: who uses a table, and who changes or replaces it. MySQL's metadata locks (manual 10.11.4), and LOCK
//! TABLES with them.
//!
//! A transaction holds a lock of each table that it has used until it ends, so that no definition changes below it. A statement
//! outside of a transaction that only reads keeps the files that it began with, so it holds no lock; it waits, before it
//! begins, while somebody has the table for himself.

mod held;

use held::{Held, HeldLocks};
use muster_algebra::TableId;
use muster_storage::mutex::{Condvar, Mutex, MutexGuard};
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::atomic::{
        AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
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

struct Waiting {
    table: TableId,
    of: TableUse,
}

/// Who waits or may have to be waited for.
#[derive(Default)]
struct Claims {
    waiting: HashMap<Owner, Waiting>,
    /// The session that has said FLUSH TABLES WITH READ LOCK, or waits to.
    global: Option<Owner>,
}

/// The locks of all sessions.
///
/// Statements that read and write agree with each other. As long as no session has or wants more than that, which is counted
/// in `claims`, a session locks a table and begins a change by a note among its own ([`HeldLocks`]), and meets nobody. Who
/// wants more counts its claim before it looks at those notes, and the count is read with the notes locked: so either it finds the
/// note, or who writes the note finds the claim and goes the long way, which is that of one session at a time.
#[derive(Default)]
pub struct MetadataLocks {
    held: HeldLocks,
    claims: Mutex<Claims>,
    changed: Condvar,
    /// Locks that are held or waited for and that do not agree with both reading and writing, and the global read lock.
    /// Changed by who has `claims` locked.
    claimed: AtomicUsize,
    /// Locks that are held or waited for and that readers may have to wait for.
    against_readers: AtomicUsize,
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
        if self.lock_unclaimed(owner, table, of, until) {
            return Ok(false);
        }
        let mut claims = self.claims.lock();
        let waited = self.wait_for(&mut claims, owner, table, of, patience);
        if waited.is_ok() {
            self.held.of(owner).add(Held { owner, table, of, until });
        }
        self.end_wait(&mut claims, owner);
        waited
    }

    /// Locks a table, if nobody has to be waited for. Returns whether it is locked.
    pub fn try_lock(&self, owner: Owner, table: TableId, of: TableUse, until: Until) -> bool {
        if self.lock_unclaimed(owner, table, of, until) {
            return true;
        }
        let mut claims = self.claims.lock();
        self.begin_wait(&mut claims, owner, Waiting { table, of });
        let is_free = self.blockers(&claims, owner, table, of).is_empty();
        if is_free {
            self.held.of(owner).add(Held { owner, table, of, until });
        }
        self.end_wait(&mut claims, owner);
        is_free
    }

    /// Locks a table to read or to write, if nobody has or wants more than that of any table. Returns whether it is locked.
    fn lock_unclaimed(&self, owner: Owner, table: TableId, of: TableUse, until: Until) -> bool {
        if of.goes_first() {
            return false;
        }
        let mut held = self.held.of(owner);
        let is_unclaimed = self.claimed.load(SeqCst) == 0;
        if is_unclaimed {
            held.add(Held { owner, table, of, until });
        }
        is_unclaimed
    }

    /// Waits until a table may be read, and locks nothing. Returns true if it had to wait.
    pub fn wait_to_read(&self, owner: Owner, tables: &[TableId], patience: &Patience<'_>) -> Result<bool> {
        if self.is_free_for_readers() {
            return Ok(false);
        }
        let mut claims = self.claims.lock();
        let mut waited = false;
        for table in tables {
            let wait = self.wait_for(&mut claims, owner, *table, TableUse::Read, patience);
            self.end_wait(&mut claims, owner);
            waited |= wait?;
        }
        Ok(waited)
    }

    /// Returns true if no reader has to wait for anybody just now.
    pub fn is_free_for_readers(&self) -> bool {
        self.against_readers.load(Relaxed) == 0
    }

    /// Waits until nobody is in the way. The caller ends the wait ([`MetadataLocks::end_wait`]) when it has the lock or does
    /// without.
    fn wait_for(
        &self,
        claims: &mut MutexGuard<'_, Claims>,
        owner: Owner,
        table: TableId,
        of: TableUse,
        patience: &Patience<'_>,
    ) -> Result<bool> {
        self.begin_wait(claims, owner, Waiting { table, of });
        let mut waited = false;
        loop {
            let blockers = self.blockers(claims, owner, table, of);
            if blockers.is_empty() {
                return Ok(waited);
            }
            if self.is_circle(claims, owner, &blockers) {
                return Err(SqlError::deadlock());
            }
            waited = true;
            self.wait_step(claims, patience)?;
        }
    }

    /// Waits for a change of the locks, for a short time.
    fn wait_step(&self, claims: &mut MutexGuard<'_, Claims>, patience: &Patience<'_>) -> Result<()> {
        (patience.waits)();
        self.changed.wait_for(claims, KILL_CHECK);
        if (patience.is_killed)() {
            return Err(SqlError::interrupted());
        }
        match patience.until.is_some_and(|until| Instant::now() >= until) {
            true => Err(SqlError::lock_wait_timeout()),
            false => Ok(()),
        }
    }

    fn begin_wait(&self, claims: &mut Claims, owner: Owner, waiting: Waiting) {
        claims.waiting.insert(owner, waiting);
        self.count_claims(claims);
    }

    fn end_wait(&self, claims: &mut Claims, owner: Owner) {
        claims.waiting.remove(&owner);
        self.count_claims(claims);
    }

    fn count_claims(&self, claims: &Claims) {
        let waiting = claims.waiting.values().map(|waiting| waiting.of);
        let strong: Vec<TableUse> =
            self.held.strong().into_iter().chain(waiting.filter(|of| of.goes_first())).collect();
        self.claimed.store(strong.len() + usize::from(claims.global.is_some()), SeqCst);
        self.against_readers.store(strong.iter().filter(|of| **of == TableUse::Alone).count(), Relaxed);
    }

    /// Sessions that `owner` has to wait for.
    fn blockers(&self, claims: &Claims, owner: Owner, table: TableId, of: TableUse) -> Vec<Owner> {
        let held = self.held.of_table(table);
        let mut blockers: Vec<Owner> =
            held.iter().filter(|held| held.owner != owner && !held.of.agrees(of)).map(|held| held.owner).collect();
        // Who has the table already must not wait for one who waits for him.
        if !held.iter().any(|held| held.owner == owner) && !of.goes_first() {
            let before = claims.waiting.iter().filter(|(other, waiting)| {
                **other != owner && waiting.table == table && waiting.of.goes_first() && !waiting.of.agrees(of)
            });
            blockers.extend(before.map(|(other, _)| *other));
        }
        blockers
    }

    /// Returns true if one of `blockers` waits for `owner`, maybe by way of others.
    fn is_circle(&self, claims: &Claims, owner: Owner, blockers: &[Owner]) -> bool {
        let (mut seen, mut next) = (HashSet::new(), blockers.to_vec());
        while let Some(other) = next.pop() {
            if other == owner {
                return true;
            }
            if seen.insert(other)
                && let Some(waiting) = claims.waiting.get(&other)
            {
                next.extend(self.blockers(claims, other, waiting.table, waiting.of));
            }
        }
        false
    }

    /// The tables that a session has locked, by their numbers.
    pub fn held_by(&self, owner: Owner) -> BTreeMap<TableId, TableUse> {
        self.held.of(owner).tables(owner)
    }

    /// Ends the locks of a session that last until then.
    pub fn release(&self, owner: Owner, until: Until) {
        let is_changed = self.held.of(owner).remove(owner, until);
        self.wake_if(is_changed);
    }

    /// Ends the locks of a session's statement, and its change if it is one.
    pub fn end_statement(&self, owner: Owner) {
        let mut held = self.held.of(owner);
        let is_changed = held.remove(owner, Until::Statement) | held.end_change(owner);
        drop(held);
        self.wake_if(is_changed);
    }

    /// Ends all that a session holds: it is gone.
    pub fn release_all(&self, owner: Owner) {
        for until in [Until::Statement, Until::Transaction, Until::Unlocked] {
            self.release(owner, until);
        }
        self.unlock_globally(owner);
        self.end_change(owner);
    }

    /// Wakes those who wait, after a lock or a change has ended. Nobody waits unless there is a claim.
    fn wake_if(&self, is_changed: bool) {
        if is_changed && self.claimed.load(SeqCst) > 0 {
            self.count_claims(&self.claims.lock());
            self.changed.notify_all();
        }
    }

    /// FLUSH TABLES WITH READ LOCK: waits for changes that are under way, and keeps others from beginning.
    pub fn lock_globally(&self, owner: Owner, patience: &Patience<'_>) -> Result<()> {
        let mut claims = self.claims.lock();
        while claims.global.is_some_and(|other| other != owner) {
            self.wait_step(&mut claims, patience)?;
        }
        claims.global = Some(owner);
        self.count_claims(&claims);
        while self.held.is_changed_by_others(owner) {
            if let Err(e) = self.wait_step(&mut claims, patience) {
                drop(claims);
                self.unlock_globally(owner);
                return Err(e);
            }
        }
        Ok(())
    }

    pub fn unlock_globally(&self, owner: Owner) {
        // Only the session itself makes itself the one that has the global lock.
        if self.claimed.load(SeqCst) == 0 {
            return;
        }
        let mut claims = self.claims.lock();
        if claims.global == Some(owner) {
            claims.global = None;
            self.count_claims(&claims);
            drop(claims);
            self.changed.notify_all();
        }
    }

    /// Begins a statement or a commit that changes something; ended by [`MetadataLocks::end_change`]. Error 1223 under the
    /// session's own global read lock.
    pub fn begin_change(&self, owner: Owner, patience: &Patience<'_>) -> Result<()> {
        if self.begin_change_unclaimed(owner) {
            return Ok(());
        }
        let mut claims = self.claims.lock();
        loop {
            match claims.global {
                None => break,
                Some(own) if own == owner => {
                    let message = "Can't execute the query because you have a conflicting read lock";
                    return Err(SqlError::new(ErrorCode::CantUpdateWithReadLock, message));
                }
                Some(_) => self.wait_step(&mut claims, patience)?,
            }
        }
        self.held.of(owner).begin_change(owner);
        Ok(())
    }

    /// Begins a change as [`MetadataLocks::begin_change`] does, unless there is a global read lock. Returns whether it has begun.
    pub fn try_begin_change(&self, owner: Owner) -> bool {
        if self.begin_change_unclaimed(owner) {
            return true;
        }
        let claims = self.claims.lock();
        let is_free = claims.global.is_none();
        if is_free {
            self.held.of(owner).begin_change(owner);
        }
        is_free
    }

    fn begin_change_unclaimed(&self, owner: Owner) -> bool {
        let mut held = self.held.of(owner);
        let is_unclaimed = self.claimed.load(SeqCst) == 0;
        if is_unclaimed {
            held.begin_change(owner);
        }
        is_unclaimed
    }

    pub fn end_change(&self, owner: Owner) {
        let is_changed = self.held.of(owner).end_change(owner);
        self.wake_if(is_changed);
    }
}

#[cfg(test)]
mod tests;
