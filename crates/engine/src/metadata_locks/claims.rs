//! Who waits, and for whom: the order of those who wait for a table, and the part of the sessions in deadlocks.

use super::{MetadataLocks, Owner, TableUse, Until};
use muster_algebra::TableId;
use muster_storage::{
    locks::{OtherWaits, Party, StoppedWaits},
    mutex::MutexGuard,
};
use std::{collections::HashMap, sync::Arc};
use tokio::sync::Notify;

/// What a session asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Table {
        table: TableId,
        of: TableUse,
    },
    /// To begin a change, which nobody may under a global read lock.
    Change(ChangePhase),
    /// The global read lock: nobody makes a change.
    Global,
}

/// What the global read lock keeps from beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangePhase {
    /// A statement that changes something. It waits for those who wait for the global read lock, too.
    Statement,
    /// The commit of what was changed. Statements that the global read lock waits for may wait for it, so it waits only
    /// for those who have that lock.
    Commit,
}

impl Wish {
    /// Returns true if others may have to wait because of this, or for who has it: all but reading and writing.
    pub fn is_strong(self) -> bool {
        match self {
            Wish::Table { of, .. } => of.goes_first(),
            Wish::Change(_) => false,
            Wish::Global => true,
        }
    }
}

/// A session that asks for something, and may wait for it.
#[derive(Debug)]
pub(super) struct Waiting {
    pub wish: Wish,
    /// Those who came later have greater ones.
    place: u64,
    /// Told when something has ended that it may have waited for.
    pub woken: Arc<Notify>,
    /// True once it was chosen to end a deadlock.
    pub is_victim: bool,
}

/// A session that has said FLUSH TABLES WITH READ LOCK.
#[derive(Debug, Clone, Copy)]
pub(super) struct GlobalLock {
    pub owner: Owner,
    /// False while it waits for changes that are under way.
    pub is_granted: bool,
}

/// Who waits or may have to be waited for.
#[derive(Default)]
pub(super) struct Claims {
    pub waiting: HashMap<Owner, Waiting>,
    pub global: Vec<GlobalLock>,
    places: u64,
}

impl Claims {
    /// Adds who asks for something, behind all who do by now.
    pub fn ask(&mut self, owner: Owner, wish: Wish) -> Arc<Notify> {
        self.places += 1;
        let woken: Arc<Notify> = Arc::default();
        let waiting = Waiting { wish, place: self.places, woken: Arc::clone(&woken), is_victim: false };
        self.waiting.insert(owner, waiting);
        woken
    }

    /// Wakes all who wait, to look whether they still have to.
    pub fn wake(&self) {
        self.waiting.values().for_each(|waiting| waiting.woken.notify_one());
    }
}

impl MetadataLocks {
    /// Those that `owner` has to wait for; nobody if it does not ask for anything.
    pub(super) fn blockers(&self, claims: &Claims, owner: Owner) -> Vec<Owner> {
        let Some(waiting) = claims.waiting.get(&owner) else { return Vec::new() };
        let is_other = |other: &Owner| *other != owner;
        match waiting.wish {
            Wish::Table { table, of } => self.blockers_of_table(claims, owner, (table, of), waiting.place),
            Wish::Change(change) => {
                let locks = claims.global.iter().filter(|lock| lock.is_granted || change == ChangePhase::Statement);
                locks.map(|lock| lock.owner).filter(is_other).collect()
            }
            Wish::Global => self.held.changing().into_iter().filter(is_other).collect(),
        }
    }

    /// Those who have the table, and those who wait for it and came before, as far as they do not agree. So nobody is
    /// overtaken for ever. Who has the table already must not wait for one who waits for him.
    fn blockers_of_table(
        &self,
        claims: &Claims,
        owner: Owner,
        (table, of): (TableId, TableUse),
        place: u64,
    ) -> Vec<Owner> {
        let held = self.held.of_table(table);
        let others = held.iter().filter(|held| held.owner != owner);
        if of == TableUse::Flush {
            // It waits for nobody who waits: who has waited uses the table as it is then.
            return others.filter(|held| !held.is_of_transaction()).map(|held| held.owner).collect();
        }
        let mut blockers: Vec<Owner> = others.filter(|held| !held.of.agrees(of)).map(|held| held.owner).collect();
        if !held.iter().any(|held| held.owner == owner) {
            let before = claims.waiting.iter().filter(|(other, waiting)| {
                let Wish::Table { table: other_table, of: other_use } = waiting.wish else { return false };
                **other != owner && other_table == table && waiting.place < place && !other_use.agrees(of)
            });
            blockers.extend(before.map(|(other, _)| *other));
        }
        blockers
    }
}

/// A lock of a table or the global read lock, held or waited for.
#[derive(Debug, Clone, Copy)]
pub struct LockReport {
    pub owner: Owner,
    /// `None`: the global read lock.
    pub table: Option<(TableId, TableUse)>,
    /// `None` while it is waited for.
    pub until: Option<Until>,
}

impl MetadataLocks {
    /// All that is held and waited for.
    pub fn report(&self) -> Vec<LockReport> {
        let claims = self.claims.lock();
        let locks = self.held.all().into_iter().filter(|held| held.of != TableUse::Open);
        let held = locks.map(|held| LockReport {
            owner: held.owner,
            table: Some((held.table, held.of)),
            until: Some(held.until),
        });
        let global = claims.global.iter().map(|lock| LockReport {
            owner: lock.owner,
            table: None,
            until: lock.is_granted.then_some(Until::Unlocked),
        });
        let waiting = claims.waiting.iter().filter_map(|(owner, waiting)| match waiting.wish {
            // They are no locks.
            Wish::Table { of: TableUse::Open | TableUse::Flush, .. } => None,
            Wish::Table { table, of } => Some(LockReport { owner: *owner, table: Some((table, of)), until: None }),
            Wish::Change(_) | Wish::Global => None,
        });
        held.chain(global).chain(waiting).collect()
    }
}

/// The waits for tables as they stay while this is held.
struct Stopped<'a> {
    locks: &'a MetadataLocks,
    claims: MutexGuard<'a, Claims>,
}

fn session_of(session: u64) -> Owner {
    Owner::Session(u32::try_from(session).unwrap_or(u32::MAX))
}

impl StoppedWaits for Stopped<'_> {
    fn blockers(&self, session: u64) -> Vec<Party> {
        let owner = session_of(session);
        if self.claims.waiting.get(&owner).is_some_and(|waiting| waiting.is_victim) {
            return Vec::new();
        }
        let party = |owner| match owner {
            Owner::Session(session) => Party::Session(session.into()),
            Owner::CutOff(trx_id) => Party::Transaction(trx_id),
        };
        self.locks.blockers(&self.claims, owner).into_iter().map(party).collect()
    }

    fn is_spared(&self, session: u64) -> bool {
        self.claims.waiting.get(&session_of(session)).is_some_and(|waiting| waiting.wish.is_strong())
    }

    fn end(&mut self, session: u64) {
        if let Some(waiting) = self.claims.waiting.get_mut(&session_of(session)) {
            waiting.is_victim = true;
            waiting.woken.notify_one();
        }
    }
}

impl OtherWaits for MetadataLocks {
    fn is_any(&self) -> bool {
        self.asking.load(std::sync::atomic::Ordering::SeqCst) > 0
    }

    fn stop(&self) -> Box<dyn StoppedWaits + '_> {
        Box::new(Stopped { locks: self, claims: self.claims.lock() })
    }
}
