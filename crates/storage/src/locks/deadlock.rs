//! Cycles of transactions that wait for each other. Whoever begins to wait looks for them.

use super::{
    owner::{LockOwner, WaitState},
    request::{LockMode, Resource, Wanted},
    table::{Acquired, LockTable},
};
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::Arc,
    time::SystemTime,
};

/// Steps of a search from one transaction that waits to those that it waits for. A search that takes more counts as a deadlock of
/// who began it, as in InnoDB.
const STEPS_MAX: usize = 100_000;

/// A transaction that waits, and for what.
#[derive(Debug)]
pub(super) struct WaitingOwner {
    pub owner: Arc<LockOwner>,
    pub resource: Resource,
    pub wanted: Wanted,
    pub since: SystemTime,
}

impl WaitingOwner {
    pub fn new(owner: &Arc<LockOwner>, resource: &Resource, wanted: Wanted) -> WaitingOwner {
        WaitingOwner { owner: Arc::clone(owner), resource: resource.clone(), wanted, since: SystemTime::now() }
    }
}

/// All transactions that wait.
#[derive(Debug, Default)]
pub(super) struct WaitsFor {
    waiting: HashMap<u64, WaitingOwner>,
    latest: Option<Arc<Deadlock>>,
}

/// A deadlock and how it was ended.
#[derive(Debug, Clone)]
pub struct Deadlock {
    pub at: SystemTime,
    /// The transactions of the cycle: each waits for the next one, and the last one for the first.
    pub parties: Vec<DeadlockParty>,
    /// The transaction that was chosen to be rolled back.
    pub victim: u64,
    /// The search was given up after too many steps; then there is one party only.
    pub too_long: bool,
}

#[derive(Debug, Clone)]
pub struct DeadlockParty {
    pub trx_id: u64,
    pub began: SystemTime,
    /// The number of its session; 0: it has none.
    pub session: u64,
    pub changed_rows: u64,
    pub statement: Option<Arc<str>>,
    /// The lock that the transaction waited for.
    pub waits_for: (Resource, Wanted),
    /// What the transaction had locked of the key that the party before it waited for. Empty if it only waited for that too, but
    /// before the other.
    pub holds: Vec<Wanted>,
}

impl WaitsFor {
    pub fn begin(&mut self, waiting: WaitingOwner) {
        self.waiting.insert(waiting.owner.id(), waiting);
    }

    pub fn get(&self, trx_id: u64) -> Option<&WaitingOwner> {
        self.waiting.get(&trx_id)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &WaitingOwner> {
        self.waiting.values()
    }

    pub fn granted(&mut self, owner: &LockOwner, acquired: Acquired) {
        self.waiting.remove(&owner.id());
        owner.wake(WaitState::Granted(acquired));
    }
}

/// What a search has found.
enum Found {
    Nothing,
    /// The cycle, from where the search began.
    Cycle(Vec<u64>),
    TooLong,
}

impl LockTable {
    /// Ends the deadlocks that a transaction which waits is part of: of each cycle the transaction that has changed the fewest rows
    /// waits no longer, this one if it has changed no more than the others.
    pub(super) fn end_deadlocks(&self, waits: &mut WaitsFor, owner: &Arc<LockOwner>) {
        loop {
            let (cycle, too_long) = match self.find_cycle(waits, owner.id()) {
                Found::Nothing => return,
                Found::Cycle(cycle) => (cycle, false),
                Found::TooLong => (vec![owner.id()], true),
            };
            let weight = |trx_id: &u64| {
                waits.get(*trx_id).map_or((u64::MAX, 0), |waiting| (waiting.owner.weight(), waiting.owner.locks()))
            };
            // The first of several that are equal is the one that the search began with.
            let Some(victim) = cycle.iter().copied().min_by_key(weight) else { return };
            self.times.count_deadlock();
            waits.latest = Some(Arc::new(self.describe(waits, &cycle, victim, too_long)));
            let Some(waiting) = waits.get(victim) else { return };
            let (victim, resource) = (Arc::clone(&waiting.owner), waiting.resource.clone());
            self.withdraw(waits, &victim, &resource, WaitState::Deadlock);
        }
    }

    /// Takes the request of a transaction out of its queue and ends the wait. Returns false if the transaction does not wait.
    pub(super) fn withdraw(
        &self,
        waits: &mut WaitsFor,
        owner: &LockOwner,
        resource: &Resource,
        outcome: WaitState,
    ) -> bool {
        if waits.waiting.remove(&owner.id()).is_none() {
            return false;
        }
        let mut shard = self.shard(resource).lock();
        if let Some(queue) = shard.get_mut(resource) {
            queue.waiting.retain(|waiting| waiting.owner.id() != owner.id());
            self.settle(waits, &mut shard, resource);
        }
        owner.wake(outcome);
        true
    }

    /// Looks for a way from a transaction along those that each has to wait for, back to itself; breadth first, so the shortest one
    /// is found.
    fn find_cycle(&self, waits: &WaitsFor, from: u64) -> Found {
        let mut reached_by = HashMap::from([(from, from)]);
        let mut next = VecDeque::from([from]);
        // How many of the requests of a queue are known already as being waited for. In the queue of a row that many want to change
        // each request waits for all before it.
        let mut known: HashMap<&Resource, usize> = HashMap::new();
        let mut steps = 0;
        while let Some(trx_id) = next.pop_front() {
            let Some(waiting) = waits.get(trx_id) else { continue };
            let shard = self.shard(&waiting.resource).lock();
            let Some(queue) = shard.get(&waiting.resource) else { continue };
            let Some(at) = queue.position(trx_id) else { continue };
            let is_of_record = waiting.wanted.of_record().is_some();
            if is_of_record && known.get(&waiting.resource).is_some_and(|known| at < *known) {
                continue;
            }
            if waiting.wanted.of_record() == Some(LockMode::Exclusive) && queue.granted_to(trx_id).is_none() {
                known.insert(&waiting.resource, at);
            }
            for blocker in queue.blockers(trx_id, waiting.wanted, at) {
                steps += 1;
                if steps > STEPS_MAX {
                    return Found::TooLong;
                }
                if blocker.id() == from {
                    return Found::Cycle(way_to(&reached_by, from, trx_id));
                }
                if let Entry::Vacant(entry) = reached_by.entry(blocker.id()) {
                    entry.insert(trx_id);
                    next.push_back(blocker.id());
                }
            }
        }
        Found::Nothing
    }

    fn describe(&self, waits: &WaitsFor, cycle: &[u64], victim: u64, too_long: bool) -> Deadlock {
        let waiting = cycle.iter().filter_map(|trx_id| waits.get(*trx_id)).collect::<Vec<_>>();
        let parties = waiting.iter().enumerate().map(|(i, party)| {
            let before = waiting[(i + waiting.len() - 1) % waiting.len()];
            DeadlockParty {
                trx_id: party.owner.id(),
                began: party.owner.began(),
                session: party.owner.session(),
                changed_rows: party.owner.weight(),
                statement: party.owner.statement(),
                waits_for: (party.resource.clone(), party.wanted),
                holds: self.held(&party.owner, &before.resource),
            }
        });
        Deadlock { at: SystemTime::now(), parties: parties.collect(), victim, too_long }
    }

    /// The latest deadlock since the start.
    pub fn latest_deadlock(&self) -> Option<Arc<Deadlock>> {
        self.waits.lock().latest.clone()
    }
}

/// The transactions on the way of a search from its beginning to `to`.
fn way_to(reached_by: &HashMap<u64, u64>, from: u64, to: u64) -> Vec<u64> {
    let mut way = vec![to];
    let mut at = to;
    while at != from {
        let Some(before) = reached_by.get(&at) else { break };
        at = *before;
        way.push(at);
    }
    way.reverse();
    way
}
