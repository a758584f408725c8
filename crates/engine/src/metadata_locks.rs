//! Locks of whole tables: who uses a table, and who changes or replaces it. MySQL's metadata locks (manual 10.11.4),
//! and LOCK TABLES with them.
//!
//! ```text
//!   MetadataLocks   locks are taken and released                                     metadata_locks.rs
//!   HeldLocks       what each session holds                                          held.rs
//!   Claims          who waits for whom, in which order; their part in deadlocks      claims.rs
//!   pause           a thread that waits, until it is woken, killed or out of time    pause.rs
//! ```
//!
//! A transaction holds a lock of each table and view that it has used until it ends, so that no definition changes
//! below it. A statement outside of a transaction that only reads keeps the files that it began with, so it holds no
//! lock; it waits, before it begins, while somebody has the table for himself. It only notes that it uses the table,
//! for FLUSH TABLES, which waits for statements and not for transactions.
//!
//! Views have numbers as tables have, though not on the disk. A table that CREATE TABLE .. SELECT fills has its number
//! from the beginning, and the statement has it for itself: who looks for its name finds the number, and waits.
//!
//! Whoever waits is in one graph with those who wait for locks of rows: who begins to wait looks for a circle
//! ([`muster_storage::LockTable`]), and of those in it a statement that reads or writes gives way, never one that waits
//! to have a table for itself, unless there is no other.

mod claims;
mod held;
mod pause;

pub use claims::{ChangePhase, LockReport};
pub use held::Owner;

use claims::{Claims, GlobalLock, Waiting, Wish};
use held::{Held, HeldLocks};
use muster_algebra::TableId;
use muster_storage::{LockTable, locks::OtherWaits, mutex::Mutex};
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// What a table is locked for, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableUse {
    /// A statement that uses it has not ended. That is only in the way of FLUSH TABLES.
    Open,
    Read,
    /// To change rows.
    Write,
    /// To undo changes of rows, which fails for now: as long as the table is there, they are still to be undone.
    FailedUndo,
    /// To read it while nobody changes rows: LOCK TABLES .. READ.
    ReadOnly,
    /// To build other files of it, while nobody changes rows and others still read.
    Rebuild,
    /// To have it for oneself: TRUNCATE and its like, LOCK TABLES .. WRITE.
    Alone,
    /// To have it for oneself and drop it. With it goes what could not be undone.
    Drop,
    /// FLUSH TABLES: nobody has it for longer than a transaction of others that is at rest. It is only asked for, never
    /// held: statements that come later wait for it.
    Flush,
}

impl TableUse {
    fn agrees(self, other: TableUse) -> bool {
        use TableUse::*;
        match (self, other) {
            (Drop, FailedUndo) | (FailedUndo, Drop) => true,
            (Flush, Flush) => true,
            (Flush, _) | (_, Flush) => false,
            (Open, _) | (_, Open) => true,
            (Alone | Drop, _) | (_, Alone | Drop) => false,
            (Read, _) | (_, Read) => true,
            (Write | FailedUndo, Write | FailedUndo) => true,
            (a, b) => a == b && a != Rebuild,
        }
    }

    /// What both are for: who writes a table and keeps others from writing it, too, does what a rebuild does.
    fn joined(self, other: TableUse) -> TableUse {
        use TableUse::*;
        match (self, other) {
            (Write, ReadOnly) | (ReadOnly, Write) => Rebuild,
            (a, b) => a.max(b),
        }
    }

    /// Returns true if rows of the table may be changed.
    fn changes_rows(self) -> bool {
        !matches!(self, TableUse::Open | TableUse::Read | TableUse::ReadOnly)
    }

    /// Returns true if others who want to read or write may have to wait.
    fn goes_first(self) -> bool {
        self >= TableUse::ReadOnly
    }

    /// Returns true if readers have to wait.
    fn is_alone(self) -> bool {
        self >= TableUse::Alone
    }
}

/// When a lock ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Until {
    /// With the statement.
    Statement,
    /// With the last row of the statement, which comes after the end of its transaction.
    LastRow,
    /// With the transaction.
    Transaction,
    /// At UNLOCK TABLES.
    Unlocked,
}

/// What ends a wait besides the lock.
pub struct Patience<'a> {
    pub until: Option<Instant>,
    /// When the statement has taken as long as it may.
    pub deadline: Option<Instant>,
    /// Cancelled by KILL, and when the client is gone.
    pub killed: &'a CancellationToken,
    /// Called when a wait begins.
    pub waits: &'a dyn Fn(),
}

/// The locks of all sessions.
///
/// Statements that read and write agree with each other. As long as no session has or wants more than that, which is
/// counted in `claimed`, a session locks a table and begins a change by a note among its own ([`HeldLocks`]), and meets
/// nobody. Who wants more counts its claim before it looks at those notes, and the count is read with the notes locked:
/// so either it finds the note, or who writes the note finds the claim and goes the long way, which is that of one
/// session at a time.
#[derive(Default)]
pub struct MetadataLocks {
    held: HeldLocks,
    claims: Mutex<Claims>,
    /// Locks that are held or asked for and that do not agree with both reading and writing, and global read locks.
    /// Changed by who has `claims` locked.
    claimed: AtomicUsize,
    /// Locks that are held or asked for and that readers may have to wait for.
    against_readers: AtomicUsize,
    /// Sessions that ask for something, and may wait for it.
    asking: AtomicUsize,
    /// The locks of rows, whose waits are in one graph with these.
    rows: OnceLock<Arc<LockTable>>,
}

impl MetadataLocks {
    /// Puts the waits of these locks into one graph with those for locks of rows.
    pub fn join(self: &Arc<Self>, rows: &Arc<LockTable>) {
        let own: Arc<dyn OtherWaits> = Arc::clone(self) as Arc<dyn OtherWaits>;
        rows.set_other_waits(Arc::downgrade(&own));
        let _ = self.rows.set(Arc::clone(rows));
    }

    /// Locks a table. Returns true if that took a wait, so that the table may be another one now. A session's own locks
    /// are in nobody's way. Errors: 1205 when the patience is over, 1213 if those who are waited for wait for this one,
    /// 1317.
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
        self.ask(owner, Wish::Table { table, of }, patience, |_| {
            self.held.of(owner).add(Held { owner, table, of, until });
        })
    }

    /// Locks a table, if nobody has to be waited for. Returns whether it is locked.
    pub fn try_lock(&self, owner: Owner, table: TableId, of: TableUse, until: Until) -> bool {
        if self.lock_unclaimed(owner, table, of, until) {
            return true;
        }
        let mut claims = self.claims.lock();
        claims.ask(owner, Wish::Table { table, of });
        self.count_claims(&claims);
        let is_free = self.blockers(&claims, owner).is_empty();
        if is_free {
            self.held.of(owner).add(Held { owner, table, of, until });
        }
        self.end_asking(&mut claims, owner);
        is_free
    }

    /// Locks a table to read or to write, if nobody has or wants more than that of any table. Returns whether it is
    /// locked.
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

    /// Notes that a statement uses a table, until it has given its last row. Returns false if FLUSH TABLES, or who
    /// wants the table for himself, is to be waited for first.
    pub fn try_open(&self, owner: Owner, table: TableId) -> bool {
        let mut held = self.held.of(owner);
        let is_free = self.against_readers.load(SeqCst) == 0;
        if is_free {
            held.add(Held { owner, table, of: TableUse::Open, until: Until::LastRow });
        }
        is_free
    }

    /// The same after a wait. Errors: as [`MetadataLocks::lock`].
    pub fn open(&self, owner: Owner, table: TableId, patience: &Patience<'_>) -> Result<()> {
        let (of, until) = (TableUse::Open, Until::LastRow);
        self.ask(owner, Wish::Table { table, of }, patience, |_| {
            self.held.of(owner).add(Held { owner, table, of, until })
        })
        .map(drop)
    }

    /// Weakens a lock of a table that a session has until then.
    pub fn weaken(&self, owner: Owner, table: TableId, of: TableUse, until: Until) {
        let is_changed = self.held.of(owner).replace(Held { owner, table, of, until });
        self.wake_if(is_changed);
    }

    /// Waits until a table may be used so, and locks nothing. Returns true if it had to wait.
    pub fn wait_for(&self, owner: Owner, table: TableId, of: TableUse, patience: &Patience<'_>) -> Result<bool> {
        self.ask(owner, Wish::Table { table, of }, patience, |_| {})
    }

    /// Waits until a table may be read, and locks nothing. Returns true if it had to wait.
    pub fn wait_to_read(&self, owner: Owner, tables: &[TableId], patience: &Patience<'_>) -> Result<bool> {
        if self.is_free_for_readers() {
            return Ok(false);
        }
        let mut waited = false;
        for table in tables {
            waited |= self.wait_for(owner, *table, TableUse::Read, patience)?;
        }
        Ok(waited)
    }

    /// Returns true if no reader has to wait for anybody just now.
    pub fn is_free_for_readers(&self) -> bool {
        self.against_readers.load(Relaxed) == 0
    }

    /// Asks for something, and waits until nobody is in the way: then `take` takes it. Returns true if it had to wait.
    fn ask(&self, owner: Owner, wish: Wish, patience: &Patience<'_>, take: impl FnOnce(&mut Claims)) -> Result<bool> {
        let mut claims = self.claims.lock();
        let woken = claims.ask(owner, wish);
        self.count_claims(&claims);
        let mut waited = false;
        let outcome = loop {
            if claims.waiting.get(&owner).is_some_and(|waiting| waiting.is_victim) {
                break Err(SqlError::deadlock());
            }
            if self.blockers(&claims, owner).is_empty() {
                break Ok(waited);
            }
            drop(claims);
            if !waited {
                waited = true;
                (patience.waits)();
                self.end_deadlocks(owner);
            }
            let over = pause::until_woken(&woken, patience);
            claims = self.claims.lock();
            if let Err(e) = over {
                break Err(e);
            }
        };
        if outcome.is_ok() {
            take(&mut claims);
        }
        self.end_asking(&mut claims, owner);
        if waited {
            // Others may have waited behind it.
            claims.wake();
        }
        outcome
    }

    /// Ends the circles of those who wait for each other that a session which waits is part of.
    fn end_deadlocks(&self, owner: Owner) {
        let Owner::Session(session) = owner else { return };
        self.rows.get_or_init(|| Arc::new(LockTable::new(u64::MAX))).end_deadlocks_of_session(session.into(), self);
    }

    /// Ends what a session asks for, with or without having got it.
    fn end_asking(&self, claims: &mut Claims, owner: Owner) {
        claims.waiting.remove(&owner);
        self.count_claims(claims);
    }

    fn count_claims(&self, claims: &Claims) {
        let asked = claims.waiting.values().filter(|waiting| waiting.wish.is_strong());
        let asked = asked.filter_map(|Waiting { wish, .. }| match wish {
            Wish::Table { of, .. } => Some(*of),
            Wish::Change(_) | Wish::Global => None,
        });
        let strong: Vec<TableUse> = self.held.strong().into_iter().chain(asked).collect();
        self.claimed.store(strong.len() + claims.global.len(), SeqCst);
        self.against_readers.store(strong.iter().filter(|of| of.is_alone()).count(), SeqCst);
        self.asking.store(claims.waiting.len(), SeqCst);
    }

    /// The tables that a session has locked, by their numbers.
    pub fn held_by(&self, owner: Owner) -> BTreeMap<TableId, TableUse> {
        self.held.of(owner).tables(owner)
    }

    /// The tables that other sessions have for a statement or by LOCK TABLES.
    pub fn used_by_statements(&self, owner: Owner) -> Vec<TableId> {
        let held = self.held.all().into_iter().filter(|held| held.owner != owner && !held.is_of_transaction());
        let tables: BTreeSet<TableId> = held.map(|held| held.table).collect();
        tables.into_iter().collect()
    }

    /// Gives a table to a transaction that was cut off and has changed it, until [`MetadataLocks::release`] is called
    /// for that.
    pub fn cut_off(&self, trx_id: u64, table: TableId) {
        let (owner, of, until) = (Owner::CutOff(trx_id), TableUse::Write, Until::Transaction);
        self.held.of(owner).add(Held { owner, table, of, until });
    }

    /// Gives the tables that a session may have changed to its transaction, whose rollback has failed.
    pub fn hand_over(&self, owner: Owner, trx_id: u64) {
        let changed = self.held_by(owner).into_iter().filter(|(_, of)| of.changes_rows());
        changed.for_each(|(table, _)| self.cut_off(trx_id, table));
    }

    /// A transaction that was cut off could not be rolled back, which is tried again. Its tables may be dropped from
    /// now on.
    pub fn cannot_undo(&self, trx_id: u64) {
        let (owner, of, until) = (Owner::CutOff(trx_id), TableUse::FailedUndo, Until::Transaction);
        for table in self.held_by(owner).into_keys() {
            self.weaken(owner, table, of, until);
        }
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
        for until in [Until::Statement, Until::LastRow, Until::Transaction, Until::Unlocked] {
            self.release(owner, until);
        }
        self.unlock_globally(owner);
        self.end_change(owner);
    }

    /// Wakes those who wait, after a lock or a change has ended. Nobody waits unless there is a claim.
    fn wake_if(&self, is_changed: bool) {
        if is_changed && self.claimed.load(SeqCst) > 0 {
            let claims = self.claims.lock();
            self.count_claims(&claims);
            claims.wake();
        }
    }

    /// FLUSH TABLES WITH READ LOCK: waits for changes that are under way, and keeps others from beginning. Several
    /// sessions may have it.
    pub fn lock_globally(&self, owner: Owner, patience: &Patience<'_>) -> Result<()> {
        {
            let mut claims = self.claims.lock();
            if claims.global.iter().any(|lock| lock.owner == owner) {
                return Ok(());
            }
            claims.global.push(GlobalLock { owner, is_granted: false });
        }
        let locked = self.ask(owner, Wish::Global, patience, |claims| {
            claims.global.iter_mut().filter(|lock| lock.owner == owner).for_each(|lock| lock.is_granted = true);
        });
        if locked.is_err() {
            self.unlock_globally(owner);
        }
        locked.map(drop)
    }

    pub fn unlock_globally(&self, owner: Owner) {
        // Only the session itself makes itself one that has the global lock.
        if self.claimed.load(SeqCst) == 0 {
            return;
        }
        let mut claims = self.claims.lock();
        let before = claims.global.len();
        claims.global.retain(|lock| lock.owner != owner);
        if claims.global.len() < before {
            self.count_claims(&claims);
            claims.wake();
        }
    }

    /// Begins a statement or a commit that changes something; ended by [`MetadataLocks::end_change`]. Error 1223 under
    /// the session's own global read lock.
    pub fn begin_change(&self, owner: Owner, change: ChangePhase, patience: &Patience<'_>) -> Result<()> {
        if self.begin_change_unclaimed(owner) {
            return Ok(());
        }
        if self.claims.lock().global.iter().any(|lock| lock.owner == owner) {
            let message = "Can't execute the query because you have a conflicting read lock";
            return Err(SqlError::new(ErrorCode::CantUpdateWithReadLock, message));
        }
        self.ask(owner, Wish::Change(change), patience, |_| self.held.of(owner).begin_change(owner)).map(drop)
    }

    /// Begins a change as [`MetadataLocks::begin_change`] does, unless there is a global read lock. Returns whether it
    /// has begun.
    pub fn try_begin_change(&self, owner: Owner) -> bool {
        if self.begin_change_unclaimed(owner) {
            return true;
        }
        let claims = self.claims.lock();
        let is_free = claims.global.is_empty();
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
