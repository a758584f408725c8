//! The lock table: locks are acquired and released.

use super::{
    LockError,
    deadlock::WaitsFor,
    other_waits::OtherWaits,
    owner::LockOwner,
    planted::PlantedFault,
    queue::{Effect, Queue},
    request::{LockMode, Resource, Wanted},
    wait::WaitTimes,
};
use crate::{
    planted::Planted,
    primitives::{AtomicU64, Mutex, SeqCst},
};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, Weak},
};

/// So many threads that lock different keys seldom meet in one shard.
const SHARDS: usize = 64;
/// Memory of a lock beside its key, in bytes, about: its place in the queue of the key, and in the list of its owner.
const LOCK_BYTES: u64 = 256;

pub(super) type Shard = HashMap<Resource, Queue>;

/// All locks of a store.
#[derive(Debug)]
pub struct LockTable {
    shards: Vec<Mutex<Shard>>,
    /// Transactions that have not ended, by their ids.
    owners: Mutex<HashMap<u64, Arc<LockOwner>>>,
    pub(super) waits: Mutex<WaitsFor>,
    pub(super) times: WaitTimes,
    /// Memory of all locks, about, and how much there may be, in bytes.
    bytes: AtomicU64,
    bytes_max: u64,
    /// Locks that are of gaps.
    gaps: AtomicU64,
    /// Waits of sessions for something else than keys.
    other_waits: OnceLock<Weak<dyn OtherWaits>>,
    pub(super) planted: Planted<PlantedFault>,
}

/// How a lock was acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquired {
    /// The transaction had the lock already, or a stronger one. An insert intention, too, leaves nothing to release.
    Had,
    /// The transaction had another lock of the key, which has become stronger.
    More,
    New,
}

/// Locks of entries that their transactions have changed are kept while all locks take less than this share of the
/// memory for them.
const KEPT_SHARE: u64 = 4;

impl LockTable {
    /// An empty table that takes about so much memory at most.
    pub fn new(bytes_max: u64) -> LockTable {
        LockTable {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            owners: Mutex::default(),
            waits: Mutex::default(),
            times: WaitTimes::default(),
            bytes: AtomicU64::new(0),
            bytes_max,
            gaps: AtomicU64::new(0),
            other_waits: OnceLock::new(),
            planted: Planted::default(),
        }
    }

    /// Says where sessions wait for something else than keys: searches for deadlocks follow these waits, too. Said
    /// once.
    pub fn set_other_waits(&self, other: Weak<dyn OtherWaits>) {
        let _ = self.other_waits.set(other);
    }

    /// Those waits, if there are any just now.
    pub(super) fn other_waits(&self) -> Option<Arc<dyn OtherWaits>> {
        self.other_waits.get().and_then(Weak::upgrade).filter(|other| other.is_any())
    }

    /// Makes a transaction known that may take locks, or has changed rows. It is to be ended by
    /// [`LockTable::release_all`].
    pub fn begin(&self, trx_id: u64) -> Arc<LockOwner> {
        let owner = Arc::new(LockOwner::new(trx_id));
        self.owners.lock().insert(trx_id, Arc::clone(&owner));
        owner
    }

    /// A transaction that has begun and not ended.
    pub fn owner(&self, trx_id: u64) -> Option<Arc<LockOwner>> {
        self.owners.lock().get(&trx_id).cloned()
    }

    pub fn is_active(&self, trx_id: u64) -> bool {
        self.owners.lock().contains_key(&trx_id)
    }

    /// Returns true if nobody has locked anything.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns true if somebody has locked a gap of some tree. Who has latched the leaf that an entry comes to, and is
    /// told that nobody has, need not ask for the gap: whoever locks it latches that leaf.
    pub fn has_gaps(&self) -> bool {
        self.gaps.load(SeqCst) > 0
    }

    pub(super) fn owners(&self) -> Vec<Arc<LockOwner>> {
        self.owners.lock().values().cloned().collect()
    }

    /// Memory that all locks take, about, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(SeqCst)
    }

    pub(super) fn shards(&self) -> &[Mutex<Shard>] {
        &self.shards
    }

    pub(super) fn shard(&self, resource: &Resource) -> &Mutex<Shard> {
        let seed = resource.tree.wrapping_mul(0x9e37_79b1);
        let hash = crc32c::crc32c_append(seed, resource.key.as_deref().unwrap_or_default());
        &self.shards[hash as usize % SHARDS]
    }

    /// Acquires a lock if nobody has to be waited for. Latches may be held. Errors: `WouldWait`, `TableFull`.
    pub fn try_acquire(
        &self,
        owner: &Arc<LockOwner>,
        resource: &Resource,
        wanted: Wanted,
    ) -> Result<Acquired, LockError> {
        let mut shard = self.shard(resource).lock();
        let queue = match shard.get_mut(resource) {
            Some(queue) if queue.covers(owner.id(), wanted) => return Ok(Acquired::Had),
            Some(queue) if queue.is_blocked(owner.id(), wanted, queue.waiting.len()) => {
                return Err(LockError::WouldWait);
            }
            Some(queue) => queue,
            // Nothing is in the way of an insert intention, and nothing is to be noted of it.
            None if !is_noted(wanted) => return Ok(Acquired::Had),
            None => shard.entry(resource.clone()).or_default(),
        };
        let takes_memory = is_noted(wanted) && queue.granted_to(owner.id()).is_none();
        let acquired = match takes_memory && self.bytes() >= self.bytes_max {
            true => Err(LockError::TableFull),
            false => Ok(self.grant(queue, owner, resource, wanted).map_or(Acquired::Had, |effect| effect.acquired)),
        };
        if queue.is_empty() {
            shard.remove(resource);
        }
        acquired
    }

    /// Returns true if a lock could not be acquired without waiting.
    pub fn would_wait(&self, owner: &LockOwner, resource: &Resource, wanted: Wanted) -> bool {
        if self.is_empty() {
            return false;
        }
        let shard = self.shard(resource).lock();
        shard.get(resource).is_some_and(|queue| {
            !queue.covers(owner.id(), wanted) && queue.is_blocked(owner.id(), wanted, queue.waiting.len())
        })
    }

    /// Makes the lock visible that a transaction has of an entry because it has changed it, so that others can wait for
    /// it. Returns false if the transaction has ended: then it has no lock.
    pub fn make_explicit(&self, trx_id: u64, resource: &Resource) -> bool {
        let Some(owner) = self.owner(trx_id) else { return false };
        let mut shard = self.shard(resource).lock();
        let queue = shard.entry(resource.clone()).or_default();
        let granted = self.grant(queue, &owner, resource, Wanted::record(LockMode::Exclusive)).is_some();
        if queue.is_empty() {
            shard.remove(resource);
        }
        granted
    }

    /// Notes a lock as granted. `None`: the transaction has ended, and does not get it.
    pub(super) fn grant(
        &self,
        queue: &mut Queue,
        owner: &Arc<LockOwner>,
        resource: &Resource,
        wanted: Wanted,
    ) -> Option<Effect> {
        if is_noted(wanted) && queue.granted_to(owner.id()).is_none() && !owner.add(resource) {
            return None;
        }
        let effect = queue.grant(owner, wanted);
        self.count(effect, resource);
        Some(effect)
    }

    fn count(&self, effect: Effect, resource: &Resource) {
        if effect.acquired == Acquired::New {
            self.bytes.fetch_add(lock_bytes(resource), SeqCst);
        }
        if effect.is_new_gap {
            self.gaps.fetch_add(1, SeqCst);
        }
    }

    /// Grants what need not wait any more, and wakes who waited for it.
    pub(super) fn grant_waiting(&self, waits: &mut WaitsFor, queue: &mut Queue, resource: &Resource) {
        for (waiting, effect) in queue.grant_waiting() {
            if effect.acquired == Acquired::New {
                waiting.owner.add(resource);
            }
            self.count(effect, resource);
            waits.granted(&waiting.owner, effect.acquired);
        }
    }

    /// Releases a lock that [`Acquired::New`] told of. Others who wait for it get it.
    pub fn release(&self, owner: &LockOwner, resource: &Resource) {
        owner.remove(resource);
        self.remove(owner, resource);
    }

    /// Returns true if so many more locks leave memory for many more.
    pub fn has_room_for(&self, locks: u64) -> bool {
        self.bytes().saturating_add(locks.saturating_mul(LOCK_BYTES)) < self.bytes_max / KEPT_SHARE
    }

    /// Releases the lock of a record, if the transaction has one.
    pub(super) fn release_record(&self, owner: &LockOwner, resource: &Resource) {
        let has_record = {
            let shard = self.shard(resource).lock();
            shard.get(resource).and_then(|queue| queue.granted_to(owner.id())).is_some_and(|lock| lock.record.is_some())
        };
        if has_record {
            self.release(owner, resource);
        }
    }

    /// Gives up the lock of an entry that its transaction has changed since, unless others wait for it: the entry tells
    /// whose it is. As long as there is memory for many more locks, it is kept.
    pub fn make_implicit(&self, owner: &LockOwner, resource: &Resource) {
        if self.bytes() < self.bytes_max / KEPT_SHARE {
            return;
        }
        let mut shard = self.shard(resource).lock();
        let has_gap = |queue: &Queue| queue.granted_to(owner.id()).is_some_and(|lock| lock.gap.is_some());
        if shard.get(resource).is_some_and(|queue| queue.waiting.is_empty() && !has_gap(queue)) {
            owner.remove(resource);
            self.take_out(&mut shard, owner, resource);
        }
    }

    /// Ends a transaction and releases all its locks. Others who wait for them get them, in the order of their
    /// requests.
    pub fn release_all(&self, owner: &LockOwner) {
        self.owners.lock().remove(&owner.id());
        for resource in owner.end() {
            self.remove(owner, &resource);
        }
    }

    /// Takes a lock out of its queue.
    fn remove(&self, owner: &LockOwner, resource: &Resource) {
        {
            let mut shard = self.shard(resource).lock();
            match shard.get_mut(resource) {
                Some(queue) if queue.waiting.is_empty() => return self.take_out(&mut shard, owner, resource),
                Some(_) => {}
                None => return,
            }
        }
        let mut waits = self.waits.lock();
        let mut shard = self.shard(resource).lock();
        self.take_out(&mut shard, owner, resource);
        self.settle(&mut waits, &mut shard, resource);
    }

    fn take_out(&self, shard: &mut Shard, owner: &LockOwner, resource: &Resource) {
        let Some(queue) = shard.get_mut(resource) else { return };
        if let Some(at) = queue.granted.iter().position(|lock| lock.owner.id() == owner.id()) {
            // In order: the first lock is the oldest one.
            let lock = queue.granted.remove(at);
            self.bytes.fetch_sub(lock_bytes(resource), SeqCst);
            self.gaps.fetch_sub(u64::from(lock.gap.is_some()), SeqCst);
        }
        if queue.is_empty() {
            shard.remove(resource);
        }
    }

    /// To be called when something has left a queue: grants what can be granted, and forgets the queue if it is empty.
    pub(super) fn settle(&self, waits: &mut WaitsFor, shard: &mut Shard, resource: &Resource) {
        if let Some(queue) = shard.get_mut(resource) {
            self.grant_waiting(waits, queue, resource);
            if queue.is_empty() {
                shard.remove(resource);
            }
        }
    }
}

/// Returns true if there is a lock once this was granted.
fn is_noted(wanted: Wanted) -> bool {
    wanted.of_record().or(wanted.of_gap()).is_some()
}

fn lock_bytes(resource: &Resource) -> u64 {
    LOCK_BYTES + resource.key.as_ref().map_or(0, |key| key.len() as u64)
}
