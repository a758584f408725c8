//! Locks and waits as users see them: `performance_schema.data_locks`, `data_lock_waits`,
//! `information_schema.INNODB_TRX`.

use super::{
    owner::LockOwner,
    queue::Granted,
    request::{LockKind, Resource, Wanted},
    table::LockTable,
};
use std::{sync::Arc, time::SystemTime};

/// A lock, or a request that waits for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockReport {
    pub trx_id: u64,
    pub resource: Resource,
    pub wanted: Wanted,
    pub waits: bool,
}

/// A transaction that waits for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitReport {
    pub requesting_trx_id: u64,
    pub blocking_trx_id: u64,
    pub resource: Resource,
    pub wanted: Wanted,
}

/// A transaction that may take locks.
#[derive(Debug, Clone)]
pub struct OwnerReport {
    pub trx_id: u64,
    pub began: SystemTime,
    /// The number of its session; 0: it has none.
    pub session: u64,
    pub is_rolling_back: bool,
    /// Keys that it has locked.
    pub locked_keys: usize,
    pub changed_rows: u64,
    pub statement: Option<Arc<str>>,
    /// The beginning of its wait, and what it waits for.
    pub waits: Option<(SystemTime, Resource, Wanted)>,
}

/// What is locked of a key, as one lock or two.
fn parts(lock: &Granted) -> Vec<Wanted> {
    match (lock.record, lock.gap) {
        (Some(record), Some(gap)) if record == gap => vec![Wanted::new(LockKind::NextKey, record)],
        (record, gap) => record.map(Wanted::record).into_iter().chain(gap.map(Wanted::gap)).collect(),
    }
}

impl LockTable {
    /// All locks and all requests that wait, by key and in the order of arrival.
    pub fn locks(&self) -> Vec<LockReport> {
        let mut reports = Vec::new();
        for shard in self.shards() {
            for (resource, queue) in shard.lock().iter() {
                let report = |owner: &LockOwner, wanted, waits| {
                    let (trx_id, resource) = (owner.id(), resource.clone());
                    LockReport { trx_id, resource, wanted, waits }
                };
                for lock in &queue.granted {
                    reports.extend(parts(lock).into_iter().map(|wanted| report(&lock.owner, wanted, false)));
                }
                reports.extend(queue.waiting.iter().map(|waiting| report(&waiting.owner, waiting.wanted, true)));
            }
        }
        reports.sort_by(|a, b| a.resource.cmp(&b.resource));
        reports
    }

    /// Who waits for whom.
    pub fn waits(&self) -> Vec<WaitReport> {
        let waits = self.waits.lock();
        let mut reports = Vec::new();
        for waiting in waits.iter() {
            let (trx_id, wanted) = (waiting.owner.id(), waiting.wanted);
            let shard = self.shard(&waiting.resource).lock();
            let Some(queue) = shard.get(&waiting.resource) else { continue };
            let Some(at) = queue.position(trx_id) else { continue };
            reports.extend(queue.blockers(trx_id, wanted, at).map(|blocker| WaitReport {
                requesting_trx_id: trx_id,
                blocking_trx_id: blocker.id(),
                resource: waiting.resource.clone(),
                wanted,
            }));
        }
        reports.sort_by_key(|report| (report.requesting_trx_id, report.blocking_trx_id));
        reports
    }

    /// All transactions that have begun and not ended, by id.
    pub fn transactions(&self) -> Vec<OwnerReport> {
        let mut owners = self.owners();
        owners.sort_by_key(|owner| owner.id());
        let waits = self.waits.lock();
        let report = |owner: &Arc<LockOwner>| OwnerReport {
            trx_id: owner.id(),
            began: owner.began(),
            session: owner.session(),
            is_rolling_back: owner.is_rolling_back(),
            locked_keys: owner.locks(),
            changed_rows: owner.weight(),
            statement: owner.statement(),
            waits: waits.get(owner.id()).map(|w| (w.since, w.resource.clone(), w.wanted)),
        };
        owners.iter().map(report).collect()
    }

    /// What a transaction has locked of a key.
    pub(super) fn held(&self, owner: &LockOwner, resource: &Resource) -> Vec<Wanted> {
        let shard = self.shard(resource).lock();
        shard.get(resource).and_then(|queue| queue.granted_to(owner.id())).map(parts).unwrap_or_default()
    }
}
