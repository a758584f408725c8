//! Plans by statement. A plan is good for one state of the tables, of the accounts and of the session's settings.

use super::{kept_query::KeptQuery, plan::ShortPlan, write::ShortWrite};
use crate::{accounts::AccountList, tables::TableSet};
use muster_storage::mutex::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

const SHARDS: usize = 16;
/// Memory for each statement that the cache may hold, in bytes, on average; and the least memory of a shard.
const ENTRY_BYTES: usize = 8 << 10;
const SHARD_BYTES_MIN: usize = 256 << 10;
/// A statement whose values made the optimizer choose another way is planned again after so many executions, then after
/// twice as many, and so on up to the greatest number.
const PATIENCE_MIN: u32 = 16;
const PATIENCE_MAX: u32 = 16 << 10;
/// Settings that are told apart; then all begin anew.
const SETTINGS_MAX: usize = 4096;

/// What is known of a statement.
#[derive(Clone)]
pub enum Known {
    Plan(Arc<ShortPlan>),
    Write(Arc<ShortWrite>),
    /// It does not take the short path; for a query, what the general path keeps of it.
    General(Option<Arc<KeptQuery>>),
    /// It did not take the short path with the values that it had; with others it may.
    GeneralForNow(Option<Arc<KeptQuery>>),
}

/// The states that a plan was made for. Held weakly, so that a cache keeps no files of tables that are gone; the
/// address of a state is not used again while it is held so.
#[derive(Clone)]
pub struct Epoch {
    tables: Weak<TableSet>,
    accounts: Weak<AccountList>,
}

impl Epoch {
    pub fn of(tables: &Arc<TableSet>, accounts: &Arc<AccountList>) -> Epoch {
        Epoch { tables: Arc::downgrade(tables), accounts: Arc::downgrade(accounts) }
    }

    pub fn is(&self, tables: &Arc<TableSet>, accounts: &Arc<AccountList>) -> bool {
        self.tables.as_ptr() == Arc::as_ptr(tables) && self.accounts.as_ptr() == Arc::as_ptr(accounts)
    }
}

impl PartialEq for Epoch {
    fn eq(&self, other: &Epoch) -> bool {
        self.tables.ptr_eq(&other.tables) && self.accounts.ptr_eq(&other.accounts)
    }
}

struct CachedPlan {
    known: Known,
    epoch: Epoch,
    /// Used since the clock came by.
    used: AtomicBool,
    /// Memory for key and plan, in bytes.
    bytes: usize,
    /// Executions until a statement that is [`Known::GeneralForNow`] is planned again, those that are left, and as set.
    /// Of a plan: what it will be when the plan is left.
    patience_left: AtomicU32,
    patience: u32,
}

impl CachedPlan {
    fn new(key: &[u8], known: Known, epoch: Epoch) -> CachedPlan {
        let plan = match &known {
            Known::Plan(plan) => plan.footprint(),
            Known::Write(write) => write.footprint(),
            Known::General(kept) | Known::GeneralForNow(kept) => kept.as_ref().map_or(0, |kept| kept.footprint()),
        };
        let bytes = size_of::<CachedPlan>() + key.len() + plan;
        let patience_left = AtomicU32::new(PATIENCE_MIN);
        CachedPlan { known, epoch, used: AtomicBool::new(false), bytes, patience_left, patience: PATIENCE_MIN }
    }

    /// Takes over what is to be remembered of the entry before this one, in the same epoch.
    fn follow(&mut self, old: &CachedPlan) {
        if self.epoch != old.epoch {
            return;
        }
        self.patience = match (&self.known, &old.known) {
            (_, Known::GeneralForNow(_)) => (old.patience * 2).min(PATIENCE_MAX),
            // The plan was left.
            (Known::GeneralForNow(_), Known::Plan(_)) => old.patience,
            _ => return,
        };
        self.patience_left = AtomicU32::new(self.patience);
    }

    /// Counts an execution. Returns true if the statement is to be planned again. The shard is locked.
    fn is_to_be_tried(&self) -> bool {
        if !matches!(self.known, Known::GeneralForNow(_)) {
            return false;
        }
        let left = self.patience_left.load(Relaxed).saturating_sub(1);
        self.patience_left.store(left, Relaxed);
        left == 0
    }
}

#[derive(Default)]
struct Shard {
    entries: HashMap<Arc<[u8]>, CachedPlan>,
    /// All keys, in the order in which they are looked at when there is no room.
    clock: VecDeque<Arc<[u8]>>,
    /// Memory of all entries.
    bytes: usize,
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
    template_hits: AtomicU64,
}

/// Counts since the server started.
pub struct CacheFigures {
    pub entries: u64,
    pub hits: u64,
    pub misses: u64,
    pub evictions: u64,
    /// Executions on the general path with a plan that was made for other values.
    pub template_hits: u64,
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
            template_hits: AtomicU64::new(0),
        }
    }
}

impl PlanCache {
    /// A cache of so many statements (`plan_cache_size`).
    pub fn of_capacity(statements: u64) -> PlanCache {
        let cache = PlanCache::default();
        cache.set_capacity(usize::try_from(statements).unwrap_or(usize::MAX));
        cache
    }

    /// Bounds the number of statements (`plan_cache_size`); 0: none is kept.
    pub fn set_capacity(&self, statements: usize) {
        self.capacity.store(statements, Relaxed);
        for shard in &self.shards {
            let mut shard = shard.lock();
            self.make_room(&mut shard, 0, 0);
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
        let found = shard.entries.get(key).filter(|entry| entry.epoch.is(tables, accounts) && !entry.is_to_be_tried());
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
        let shard = &mut *shard;
        let mut entry = CachedPlan::new(key, known, epoch);
        let most = self.bounds().1;
        if entry.bytes > most {
            entry = CachedPlan::new(key, Known::General(None), entry.epoch);
        }
        if entry.bytes > most {
            return;
        }
        if let Some(old) = shard.entries.get_mut(key) {
            entry.follow(old);
            shard.bytes = shard.bytes - old.bytes + entry.bytes;
            *old = entry;
            self.make_room(shard, 0, 0);
        } else if self.make_room(shard, 1, entry.bytes) {
            let key: Arc<[u8]> = key.into();
            shard.clock.push_back(key.clone());
            shard.bytes += entry.bytes;
            shard.entries.insert(key, entry);
        }
    }

    /// Notes that a statement with a plan is for the general path, until it is planned again.
    pub fn leave_to_general(&self, key: &[u8], epoch: Epoch) {
        self.put(key, Known::GeneralForNow(None), epoch);
    }

    /// Most statements of a shard, and most memory, in bytes.
    fn bounds(&self) -> (usize, usize) {
        let statements = self.capacity.load(Relaxed).div_ceil(SHARDS);
        (statements, statements.saturating_mul(ENTRY_BYTES).max(SHARD_BYTES_MIN))
    }

    /// Evicts statements that were not used of late until there is room for so many more statements and bytes. Returns
    /// whether there is.
    fn make_room(&self, shard: &mut Shard, more: usize, bytes: usize) -> bool {
        let (statements_max, bytes_max) = self.bounds();
        while shard.entries.len() + more > statements_max || shard.bytes + bytes > bytes_max {
            let Some(key) = shard.clock.pop_front() else { return false };
            let spared = shard.entries.get(&key).is_some_and(|entry| entry.used.swap(false, Relaxed));
            if spared && more > 0 {
                shard.clock.push_back(key);
            } else {
                let evicted = shard.entries.remove(&key);
                shard.bytes -= evicted.map_or(0, |entry| entry.bytes);
                self.evictions.fetch_add(1, Relaxed);
            }
        }
        true
    }

    /// Counts an execution on the general path with a plan that was made for other values.
    pub fn note_template_hit(&self) {
        self.template_hits.fetch_add(1, Relaxed);
    }

    pub fn figures(&self) -> CacheFigures {
        CacheFigures {
            entries: self.shards.iter().map(|shard| shard.lock().entries.len() as u64).sum(),
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            evictions: self.evictions.load(Relaxed),
            template_hits: self.template_hits.load(Relaxed),
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
        let put = |n: u32| cache.put(&n.to_le_bytes(), Known::General(None), Epoch::of(&tables, &accounts));
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
    fn long_statements_are_fewer() {
        let cache = PlanCache::default();
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        cache.set_capacity(1 << 10);
        let long = vec![7; 64 << 10];
        for n in 0..1000u32 {
            let key = [&n.to_le_bytes()[..], &long].concat();
            cache.put(&key, Known::General(None), Epoch::of(&tables, &accounts));
            // What stands in the place of another counts once.
            cache.put(&key, Known::General(None), Epoch::of(&tables, &accounts));
        }
        let bytes: usize = cache.shards.iter().map(|shard| shard.lock().bytes).sum();
        let counted = cache.shards.iter().flat_map(|s| s.lock().entries.values().map(|e| e.bytes).collect::<Vec<_>>());
        assert_eq!(counted.sum::<usize>(), bytes);
        assert!(bytes <= 8 << 20 && bytes > 4 << 20, "{bytes}");
        let figures = cache.figures();
        assert_eq!(figures.entries + figures.evictions, 1000);
        let longer = vec![7; 600 << 10];
        cache.put(&longer, Known::General(None), Epoch::of(&tables, &accounts));
        assert!(cache.get(&longer, &tables, &accounts).is_none());
    }

    #[test]
    fn a_statement_that_is_general_for_now_is_tried_again() {
        let cache = PlanCache::default();
        cache.set_capacity(64);
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        let mut tried = Vec::new();
        for n in 0..200 {
            if cache.get(b"x", &tables, &accounts).is_none() {
                tried.push(n);
                cache.put(b"x", Known::GeneralForNow(None), Epoch::of(&tables, &accounts));
            }
        }
        assert_eq!(tried, [0, 16, 48, 112]);
        cache.put(b"x", Known::General(None), Epoch::of(&tables, &accounts));
        assert!((0..200).all(|_| cache.get(b"x", &tables, &accounts).is_some()));
    }

    #[test]
    fn a_statement_that_is_used_stays() {
        let cache = PlanCache::default();
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        cache.set_capacity(64);
        for n in 0..1000u32 {
            cache.put(&n.to_le_bytes(), Known::General(None), Epoch::of(&tables, &accounts));
            assert!(cache.get(&0u32.to_le_bytes(), &tables, &accounts).is_some(), "{n}");
        }
    }

    #[test]
    fn another_state_of_tables_or_accounts_is_a_miss() {
        let cache = PlanCache::default();
        cache.set_capacity(64);
        let (tables, accounts) = (Arc::new(TableSet::default()), Arc::new(AccountList::default()));
        cache.put(b"x", Known::General(None), Epoch::of(&tables, &accounts));
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
