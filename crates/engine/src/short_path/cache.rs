//! Plans by statement. A plan is good for one state of the tables, of the accounts and of the session's settings.

use super::plan::ShortPlan;
use crate::{accounts::AccountList, tables::TableSet};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

const SHARDS: usize = 16;
/// Settings that are told apart; then all begin anew.
const SETTINGS_MAX: usize = 4096;

/// What is known of a statement.
#[derive(Clone)]
pub enum Known {
    Plan(Arc<ShortPlan>),
    /// It does not take the short path.
    General,
}

/// The states that a plan was made for. Held weakly, so that a cache keeps no files of tables that are gone; the address of
/// a state is not used again while it is held so.
pub struct Epoch {
    tables: Weak<TableSet>,
    accounts: Weak<AccountList>,
}

impl Epoch {
    pub fn of(tables: &Arc<TableSet>, accounts: &Arc<AccountList>) -> Epoch {
        Epoch { tables: Arc::downgrade(tables), accounts: Arc::downgrade(accounts) }
    }

    fn is(&self, tables: &Arc<TableSet>, accounts: &Arc<AccountList>) -> bool {
        self.tables.as_ptr() == Arc::as_ptr(tables) && self.accounts.as_ptr() == Arc::as_ptr(accounts)
    }
}

struct Entry {
    known: Known,
    epoch: Epoch,
    /// Used since the clock came by.
    used: AtomicBool,
}

#[derive(Default)]
struct Shard {
    entries: HashMap<Arc<[u8]>, Entry>,
    /// All keys, in the order in which they are looked at when there is no room.
    clock: VecDeque<Arc<[u8]>>,
}

/// The plans of all sessions.
pub struct PlanCache {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    /// Most statements.
    capacity: AtomicUsize,
    /// Numbers of settings.
    settings: Mutex<HashMap<String, u32>>,
    last_settings: AtomicU32,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

/// Counts since the server started.
pub struct CacheFigures {
    pub entries: u64,
    pub hits: u64,
    pub misses: u64,
    pub evictions: u64,
}

impl Default for PlanCache {
    fn default() -> Self {
        PlanCache {
            hasher: RandomState::new(),
            shards: Default::default(),
            capacity: AtomicUsize::new(0),
            settings: Mutex::default(),
            last_settings: AtomicU32::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }
}

impl PlanCache {
    /// Bounds the number of statements (`plan_cache_size`); 0: none is kept.
    pub fn set_capacity(&self, statements: usize) {
        self.capacity.store(statements, Relaxed);
        for shard in &self.shards {
            let mut shard = shard.lock();
            self.make_room(&mut shard, 0);
        }
    }

    /// The number of settings that decide what a statement means. Those of one number are the same.
    pub fn settings(&self, settings: String) -> u32 {
        let mut known = self.settings.lock();
        if known.len() >= SETTINGS_MAX {
            known.clear();
        }
        *known.entry(settings).or_insert_with(|| self.last_settings.fetch_add(1, Relaxed))
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// What is known of a statement in these states; counts hits and misses.
    pub fn get(&self, key: &[u8], tables: &Arc<TableSet>, accounts: &Arc<AccountList>) -> Option<Known> {
        let shard = self.shard(key).lock();
        let found = shard.entries.get(key).filter(|entry| entry.epoch.is(tables, accounts));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found.map(|entry| {
            entry.used.store(true, Relaxed);
            entry.known.clone()
        })
    }

    /// Keeps what is known of a statement, in the place of what was.
    pub fn put(&self, key: &[u8], known: Known, epoch: Epoch) {
        let mut shard = self.shard(key).lock();
        let entry = Entry { known, epoch, used: AtomicBool::new(false) };
        if let Some(old) = shard.entries.get_mut(key) {
            *old = entry;
            return;
        }
        if self.make_room(&mut shard, 1) {
            let key: Arc<[u8]> = key.into();
            shard.clock.push_back(key.clone());
            shard.entries.insert(key, entry);
        }
    }

    /// Evicts statements that were not used of late until there is room for so many more. Returns whether there is.
    fn make_room(&self, shard: &mut Shard, more: usize) -> bool {
        let capacity = self.capacity.load(Relaxed).div_ceil(SHARDS);
        while shard.entries.len() + more > capacity {
            let Some(key) = shard.clock.pop_front() else { return false };
            let spared = shard.entries.get(&key).is_some_and(|entry| entry.used.swap(false, Relaxed));
            if spared && more > 0 {
                shard.clock.push_back(key);
            } else {
                shard.entries.remove(&key);
                self.evictions.fetch_add(1, Relaxed);
            }
        }
        true
    }

    pub fn figures(&self) -> CacheFigures {
        CacheFigures {
            entries: self.shards.iter().map(|shard| shard.lock().entries.len() as u64).sum(),
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            evictions: self.evictions.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_statements_stays_within_the_bound() {
        let cache = PlanCache::default();
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        let put = |n: u32| cache.put(&n.to_le_bytes(), Known::General, Epoch::of(&tables, &accounts));
        put(0);
        assert_eq!(cache.figures().entries, 0);
        cache.set_capacity(64);
        (0..10_000).for_each(put);
        let figures = cache.figures();
        assert!(figures.entries <= 64 && figures.entries + figures.evictions == 10_000, "{}", figures.entries);
        cache.set_capacity(0);
        assert_eq!(cache.figures().entries, 0);
    }

    #[test]
    fn a_statement_that_is_used_stays() {
        let cache = PlanCache::default();
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        cache.set_capacity(64);
        for n in 0..1000u32 {
            cache.put(&n.to_le_bytes(), Known::General, Epoch::of(&tables, &accounts));
            assert!(cache.get(&0u32.to_le_bytes(), &tables, &accounts).is_some(), "{n}");
        }
    }

    #[test]
    fn another_state_of_tables_or_accounts_is_a_miss() {
        let cache = PlanCache::default();
        cache.set_capacity(64);
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        cache.put(b"x", Known::General, Epoch::of(&tables, &accounts));
        assert!(cache.get(b"x", &tables, &accounts).is_some());
        assert!(cache.get(b"x", &Arc::default(), &accounts).is_none());
        assert!(cache.get(b"x", &tables, &Arc::default()).is_none());
        // A state that is gone leaves its address to nobody.
        drop(tables);
        for _ in 0..100 {
            assert!(cache.get(b"x", &Arc::default(), &accounts).is_none());
        }
        assert_eq!(cache.figures().hits, 1);
    }
}
