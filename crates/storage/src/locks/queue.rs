//! The locks of one key: those that are granted, and who waits, in the order of arrival.

use super::{
    owner::LockOwner,
    request::{LockMode, Wanted},
    table::Acquired,
};
use std::{collections::VecDeque, sync::Arc};

/// What a transaction has locked of a key.
#[derive(Debug)]
pub(super) struct Granted {
    pub owner: Arc<LockOwner>,
    pub record: Option<LockMode>,
    pub gap: Option<LockMode>,
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub owner: Arc<LockOwner>,
    pub wanted: Wanted,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub granted: Vec<Granted>,
    pub waiting: VecDeque<Waiting>,
}

/// The effect of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effect {
    pub acquired: Acquired,
    /// The transaction had not locked the gap before.
    pub is_new_gap: bool,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.granted.is_empty() && self.waiting.is_empty()
    }

    pub fn granted_to(&self, owner: u64) -> Option<&Granted> {
        self.granted.iter().find(|lock| lock.owner.id() == owner)
    }

    pub fn position(&self, owner: u64) -> Option<usize> {
        self.waiting.iter().position(|waiting| waiting.owner.id() == owner)
    }

    /// Returns true if the transaction has what it asks for.
    pub fn covers(&self, owner: u64, wanted: Wanted) -> bool {
        let covered = |held: Option<LockMode>, wanted: Option<LockMode>| held >= wanted;
        match self.granted_to(owner) {
            Some(held) if wanted.of_record().is_some() || wanted.of_gap().is_some() => {
                covered(held.record, wanted.of_record()) && covered(held.gap, wanted.of_gap())
            }
            _ => false,
        }
    }

    /// The transactions that a request has to wait for, if it stands behind the first `ahead` requests that wait. One
    /// that has a lock of the key already goes before all who wait: it could not come to an end otherwise.
    pub fn blockers(&self, owner: u64, wanted: Wanted, ahead: usize) -> impl Iterator<Item = &Arc<LockOwner>> {
        let granted = self.granted.iter().filter(move |lock| wanted.waits_for(lock.record, lock.gap));
        let ahead = if self.granted_to(owner).is_some() { 0 } else { ahead };
        let waiting = self.waiting.iter().take(ahead);
        let waiting = waiting.filter(move |w| wanted.waits_for(w.wanted.of_record(), w.wanted.of_gap()));
        let owners = granted.map(|lock| &lock.owner).chain(waiting.map(|waiting| &waiting.owner));
        owners.filter(move |other| other.id() != owner)
    }

    pub fn is_blocked(&self, owner: u64, wanted: Wanted, ahead: usize) -> bool {
        self.blockers(owner, wanted, ahead).next().is_some()
    }

    /// Gives a transaction what it asks for. An insert intention leaves nothing behind.
    pub fn grant(&mut self, owner: &Arc<LockOwner>, wanted: Wanted) -> Effect {
        let (record, gap) = (wanted.of_record(), wanted.of_gap());
        if record.is_none() && gap.is_none() {
            return Effect { acquired: Acquired::Had, is_new_gap: false };
        }
        let Some(held) = self.granted.iter_mut().find(|lock| lock.owner.id() == owner.id()) else {
            self.granted.push(Granted { owner: Arc::clone(owner), record, gap });
            return Effect { acquired: Acquired::New, is_new_gap: gap.is_some() };
        };
        let before = (held.record, held.gap);
        (held.record, held.gap) = (held.record.max(record), held.gap.max(gap));
        let acquired = if before == (held.record, held.gap) { Acquired::Had } else { Acquired::More };
        Effect { acquired, is_new_gap: before.1.is_none() && gap.is_some() }
    }

    /// Adds a request that waits. One of a transaction that has a lock of the key goes before all of those that have
    /// none.
    pub fn enqueue(&mut self, owner: &Arc<LockOwner>, wanted: Wanted) {
        let converts = |queue: &Queue, owner: u64| queue.granted_to(owner).is_some();
        let at = match converts(self, owner.id()) {
            false => self.waiting.len(),
            true => self.waiting.iter().take_while(|waiting| converts(self, waiting.owner.id())).count(),
        };
        self.waiting.insert(at, Waiting { owner: Arc::clone(owner), wanted });
    }

    /// Takes out the requests that need not wait any more, in their order, and grants them. Returns them with what each
    /// has changed.
    pub fn grant_waiting(&mut self) -> Vec<(Waiting, Effect)> {
        let mut woken = Vec::new();
        let mut at = 0;
        while let Some(Waiting { owner, wanted }) = self.waiting.get(at) {
            if self.is_blocked(owner.id(), *wanted, at) {
                at += 1;
            } else if let Some(waiting) = self.waiting.remove(at) {
                let effect = self.grant(&waiting.owner, waiting.wanted);
                woken.push((waiting, effect));
            }
        }
        woken
    }
}
