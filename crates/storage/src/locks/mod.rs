//! Locks of keys: who may read or change which entry of a tree, and who may add entries between two others.
//!
//! ```text
//!   request.rs     what is locked, how, and which locks conflict
//!   queue.rs       the locks of one key: those that are granted, and who waits, in the order of arrival
//!   owner.rs       a transaction as the lock table knows it
//!   planted.rs     faults that tests plant
//!   table.rs       the lock table: locks are acquired and released
//!   gaps.rs        gaps that are split by a new entry, or joined where one goes
//!   wait.rs        a thread that waits: until the lock is granted, a deadlock, a timeout or KILL
//!   async_wait.rs  a task that waits, without a thread
//!   deadlock.rs    cycles of transactions that wait for each other
//!   other_waits.rs waits of sessions for something else than keys, in the same cycles
//!   transaction.rs the locks of one transaction, and how it waits for those of others
//!   report.rs      locks and waits as users see them
//! ```
//!
//! The rules are InnoDB's (MySQL manual, "InnoDB Locking"). A lock is of a key of a tree, or of the end of the tree,
//! which is called its supremum. A gap is the room between two neighbouring entries and has the name of the upper one.
//! Nothing here knows pages: whoever locks a gap or adds an entry to it holds the latches that keep the neighbours of
//! the gap as they are.
//!
//! A lock that nobody waits for is taken and released under the mutex of its shard alone. Whatever begins or ends a
//! wait has the mutex of all waits, then that of one shard at a time: so a search for a deadlock sees waits that stay
//! as they are. A search that comes to a session which waits for a whole table goes on there ([`OtherWaits`]), with
//! those waits stopped, too.

mod async_wait;
mod deadlock;
mod gaps;
mod other_waits;
mod owner;
mod planted;
mod queue;
mod report;
mod request;
mod table;
mod transaction;
mod wait;

pub use async_wait::LockWait;
pub use deadlock::{Deadlock, DeadlockParty};
pub use other_waits::{OtherWaits, Party, StoppedWaits};
pub use owner::LockOwner;
pub(crate) use planted::PlantedFault;
pub use report::{LockReport, OwnerReport, WaitReport};
pub use request::{LockKind, LockMode, Resource, Wanted};
pub use table::{Acquired, LockTable};
pub use transaction::TransactionLocks;
pub use wait::{Interruption, WaitStatistics, Waits};

/// Why a lock was not acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockError {
    /// Another transaction has a lock in the way, and the caller does not wait.
    WouldWait,
    Timeout,
    /// The statement has taken as long as it may.
    DeadlinePassed,
    /// The transaction was chosen to end a deadlock.
    Deadlock,
    /// The statement is to end.
    Interrupted,
    /// The lock table has reached its limit of memory.
    TableFull,
}
