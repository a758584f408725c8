//! What terminals count while they run.

use super::{Kind, histogram::Histogram};
use crate::target::{Conflict, TargetError};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// A new order whose commit the database has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledged {
    pub warehouse: u32,
    pub district: u32,
    pub order: u32,
}

/// Repetitions, by what made them necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ConflictCounts {
    pub deadlocks: u64,
    pub lock_wait_timeouts: u64,
    pub stale_snapshots: u64,
}

impl ConflictCounts {
    pub fn count(&mut self, conflict: Conflict) {
        match conflict {
            Conflict::Deadlock => self.deadlocks += 1,
            Conflict::LockWaitTimeout => self.lock_wait_timeouts += 1,
            Conflict::StaleSnapshot => self.stale_snapshots += 1,
        }
    }

    pub fn total(&self) -> u64 {
        self.deadlocks + self.lock_wait_timeouts + self.stale_snapshots
    }

    fn add(&mut self, other: &ConflictCounts) {
        self.deadlocks += other.deadlocks;
        self.lock_wait_timeouts += other.lock_wait_timeouts;
        self.stale_snapshots += other.stale_snapshots;
    }
}

/// Transactions of one kind.
#[derive(Debug, Clone, Default)]
pub struct KindTally {
    pub committed: u64,
    /// For an unused item number, as the standard wants it.
    pub rolled_back: u64,
    /// Given up after an error that a repetition would not mend, or after too many repetitions.
    pub failed: u64,
    pub retries: ConflictCounts,
    /// From the first statement to the end, repetitions included, of those that were committed or rolled back.
    pub latency: Histogram,
    /// Transactions that ended in each second of the measured time.
    pub per_second: Vec<u64>,
}

/// All that one terminal, or all of them, have counted in the measured time.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By the positions of [`Kind::ALL`].
    kinds: [KindTally; 5],
    /// Messages of errors, and how often each came.
    pub errors: BTreeMap<String, u64>,
    /// Every order that was acknowledged, in the warm-up too; empty unless a run asks for them.
    pub acknowledged: Vec<Acknowledged>,
}

impl Tally {
    pub fn kind(&self, kind: Kind) -> &KindTally {
        &self.kinds[kind as usize]
    }

    pub fn kind_mut(&mut self, kind: Kind) -> &mut KindTally {
        &mut self.kinds[kind as usize]
    }

    pub fn failed(&mut self, kind: Kind, error: &TargetError) {
        self.kind_mut(kind).failed += 1;
        *self.errors.entry(format!("{}: {error}", kind.title())).or_default() += 1;
    }

    /// A transaction has ended so long after the measured time began.
    pub fn ended(&mut self, kind: Kind, after: Duration, latency: Duration) {
        let of_kind = self.kind_mut(kind);
        of_kind.latency.record(latency);
        let second = after.as_secs() as usize;
        if of_kind.per_second.len() <= second {
            of_kind.per_second.resize(second + 1, 0);
        }
        of_kind.per_second[second] += 1;
    }

    pub fn add(&mut self, other: Tally) {
        for (all, more) in self.kinds.iter_mut().zip(&other.kinds) {
            all.committed += more.committed;
            all.rolled_back += more.rolled_back;
            all.failed += more.failed;
            all.retries.add(&more.retries);
            all.latency.add(&more.latency);
            if all.per_second.len() < more.per_second.len() {
                all.per_second.resize(more.per_second.len(), 0);
            }
            for (count, more) in all.per_second.iter_mut().zip(&more.per_second) {
                *count += more;
            }
        }
        for (message, count) in other.errors {
            *self.errors.entry(message).or_default() += count;
        }
        self.acknowledged.extend(other.acknowledged);
    }

    /// Transactions of all kinds that were committed or rolled back as the standard wants it.
    pub fn transactions(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.committed + kind.rolled_back).sum()
    }

    pub fn retries(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.retries.total()).sum()
    }

    pub fn failures(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.failed).sum()
    }
}
