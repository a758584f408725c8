//! Cycles of transactions that wait for each other. Whoever begins to wait looks for them. They may lead through
//! sessions that wait for something else than keys ([`OtherWaits`]).

use super::{
    other_waits::{OtherWaits, Party, StoppedWaits},
    owner::{LockOwner, WaitState},
    request::{LockMode, Resource, Wanted},
    table::{Acquired, LockTable},
};
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::Arc,
    time::SystemTime,
};

/// Steps of a search from one transaction that waits to those that it waits for. A search that takes more counts as a
/// deadlock of who began it, as in InnoDB.
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
    /// The lock that the transaction waited for; `None` if its session waited for something else than a key.
    pub waits_for: Option<(Resource, Wanted)>,
    /// What the transaction had locked of the key that the party before it waited for. Empty if it only waited for that
    /// too, but before the other.
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

/// The outcome of a search.
enum Searched {
    NoCycle,
    /// The cycle, from where the search began.
    Cycle(Vec<Party>),
    TooLong,
}

/// All waits, stopped.
struct AllWaits<'a> {
    keys: &'a mut WaitsFor,
    other: Option<Box<dyn StoppedWaits + 'a>>,
    /// Transactions that wait for keys, by their sessions, where there are other waits.
    of_sessions: HashMap<u64, u64>,
}

impl<'a> AllWaits<'a> {
    fn new(keys: &'a mut WaitsFor, other: Option<Box<dyn StoppedWaits + 'a>>) -> AllWaits<'a> {
        let of_sessions = match other {
            Some(_) => keys.iter().map(|waiting| (waiting.owner.session(), waiting.owner.id())).collect(),
            None => HashMap::new(),
        };
        AllWaits { keys, other, of_sessions }
    }

    /// The name of a party by which a search knows it: a transaction that waits for a key is known by its id, and one
    /// that does not by its session, which may wait for something else.
    fn known(&self, party: Party) -> Party {
        match party {
            Party::Session(session) => {
                self.of_sessions.get(&session).map_or(party, |trx_id| Party::Transaction(*trx_id))
            }
            Party::Transaction(_) => party,
        }
    }

    fn known_owner(&self, owner: &LockOwner) -> Party {
        match (owner.session(), &self.other) {
            (session @ 1.., Some(_)) if self.keys.get(owner.id()).is_none() => Party::Session(session),
            _ => Party::Transaction(owner.id()),
        }
    }
}

impl LockTable {
    /// Ends the deadlocks that a transaction which waits is part of: of each cycle the transaction that has changed the
    /// fewest rows waits no longer, this one if it has changed no more than the others.
    pub(super) fn end_deadlocks(&self, waits: &mut WaitsFor, owner: &Arc<LockOwner>) {
        let other = self.other_waits();
        let stopped = other.as_ref().map(|other| other.stop());
        self.end_cycles(&mut AllWaits::new(waits, stopped), Party::Transaction(owner.id()));
    }

    /// Ends the deadlocks that a session is part of which waits for something else than a key, as `other` tells. The
    /// caller has stopped no waits.
    pub fn end_deadlocks_of_session(&self, session: u64, other: &dyn OtherWaits) {
        let mut waits = self.waits.lock();
        self.end_cycles(&mut AllWaits::new(&mut waits, Some(other.stop())), Party::Session(session));
    }

    fn end_cycles(&self, waits: &mut AllWaits<'_>, from: Party) {
        loop {
            let (cycle, too_long) = match self.find_cycle(waits, from) {
                Searched::NoCycle => return,
                Searched::Cycle(cycle) => (cycle, false),
                Searched::TooLong => (vec![from], true),
            };
            // The first of several that are equal is the one that the search began with.
            let Some(victim) = cycle.iter().copied().min_by_key(|party| self.weight(waits, *party)) else { return };
            self.times.count_deadlock();
            waits.keys.latest = Some(Arc::new(self.describe(waits, &cycle, victim, too_long)));
            match (victim, &mut waits.other) {
                (Party::Transaction(trx_id), _) => {
                    let Some(waiting) = waits.keys.get(trx_id) else { return };
                    let (owner, resource) = (Arc::clone(&waiting.owner), waiting.resource.clone());
                    self.withdraw(waits.keys, &owner, &resource, WaitState::Deadlock);
                    waits.of_sessions.retain(|_, waiting| *waiting != trx_id);
                }
                (Party::Session(session), Some(other)) => other.end(session),
                (Party::Session(_), None) => return,
            }
        }
    }

    /// Of those in a cycle the one with the least weight gives way.
    fn weight(&self, waits: &AllWaits<'_>, party: Party) -> (bool, u64, usize) {
        let is_spared = match (party, &waits.other) {
            (Party::Session(session), Some(other)) => other.is_spared(session),
            _ => false,
        };
        let (changed_rows, locks) = self.owner_of(waits, party).map_or((0, 0), |owner| (owner.weight(), owner.locks()));
        (is_spared, changed_rows, locks)
    }

    /// The transaction of a party, if it has one.
    fn owner_of(&self, waits: &AllWaits<'_>, party: Party) -> Option<Arc<LockOwner>> {
        match party {
            Party::Transaction(trx_id) => waits.keys.get(trx_id).map(|waiting| Arc::clone(&waiting.owner)),
            Party::Session(session) => self.owners().into_iter().find(|owner| owner.session() == session),
        }
    }

    /// Takes the request of a transaction out of its queue and ends the wait. Returns false if the transaction does not
    /// wait.
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

    /// Looks for a way from a party along those that each has to wait for, back to itself; breadth first, so the
    /// shortest one is found.
    fn find_cycle(&self, waits: &AllWaits<'_>, from: Party) -> Searched {
        let mut reached_by = HashMap::from([(from, from)]);
        let mut next = VecDeque::from([from]);
        // How many of the requests of a queue are known already as being waited for. In the queue of a row that many
        // want to change each request waits for all before it.
        let mut known: HashMap<Resource, usize> = HashMap::new();
        let mut steps = 0;
        while let Some(party) = next.pop_front() {
            let blockers = match (party, &waits.other) {
                (Party::Transaction(trx_id), _) => self.blockers_of_key(waits, trx_id, &mut known),
                (Party::Session(session), Some(other)) => {
                    other.blockers(session).into_iter().map(|blocker| waits.known(blocker)).collect()
                }
                (Party::Session(_), None) => Vec::new(),
            };
            for blocker in blockers {
                steps += 1;
                if steps > STEPS_MAX {
                    return Searched::TooLong;
                }
                if blocker == from {
                    return Searched::Cycle(way_to(&reached_by, from, party));
                }
                if let Entry::Vacant(entry) = reached_by.entry(blocker) {
                    entry.insert(party);
                    next.push_back(blocker);
                }
            }
        }
        Searched::NoCycle
    }

    /// Those that a transaction waits for because of a key, but for those that are known to be waited for in its queue.
    fn blockers_of_key(&self, waits: &AllWaits<'_>, trx_id: u64, known: &mut HashMap<Resource, usize>) -> Vec<Party> {
        let Some(waiting) = waits.keys.get(trx_id) else { return Vec::new() };
        let shard = self.shard(&waiting.resource).lock();
        let Some(queue) = shard.get(&waiting.resource) else { return Vec::new() };
        let Some(at) = queue.position(trx_id) else { return Vec::new() };
        let is_of_record = waiting.wanted.of_record().is_some();
        if is_of_record && known.get(&waiting.resource).is_some_and(|known| at < *known) {
            return Vec::new();
        }
        if waiting.wanted.of_record() == Some(LockMode::Exclusive) && queue.granted_to(trx_id).is_none() {
            known.insert(waiting.resource.clone(), at);
        }
        queue.blockers(trx_id, waiting.wanted, at).take(STEPS_MAX + 1).map(|owner| waits.known_owner(owner)).collect()
    }

    fn describe(&self, waits: &AllWaits<'_>, cycle: &[Party], victim: Party, too_long: bool) -> Deadlock {
        let at = SystemTime::now();
        let waits_for = |party: Party| match party {
            Party::Transaction(trx_id) => waits.keys.get(trx_id).map(|key| (key.resource.clone(), key.wanted)),
            Party::Session(_) => None,
        };
        let parties = cycle.iter().enumerate().map(|(i, party)| {
            let owner = self.owner_of(waits, *party);
            let before = waits_for(cycle[(i + cycle.len() - 1) % cycle.len()]);
            let session = match party {
                Party::Session(session) => *session,
                Party::Transaction(_) => owner.as_ref().map_or(0, |owner| owner.session()),
            };
            let holds = owner.as_ref().zip(before.as_ref()).map(|(owner, (resource, _))| self.held(owner, resource));
            DeadlockParty {
                trx_id: owner.as_ref().map_or(0, |owner| owner.id()),
                began: owner.as_ref().map_or(at, |owner| owner.began()),
                session,
                changed_rows: owner.as_ref().map_or(0, |owner| owner.weight()),
                statement: owner.as_ref().and_then(|owner| owner.statement()),
                waits_for: waits_for(*party),
                holds: holds.unwrap_or_default(),
            }
        });
        let victim = self.owner_of(waits, victim).map_or(0, |owner| owner.id());
        Deadlock { at, parties: parties.collect(), victim, too_long }
    }

    /// The latest deadlock since the start.
    pub fn latest_deadlock(&self) -> Option<Arc<Deadlock>> {
        self.waits.lock().latest.clone()
    }
}

/// The parties on the way of a search from its beginning to `to`.
fn way_to(reached_by: &HashMap<Party, Party>, from: Party, to: Party) -> Vec<Party> {
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
