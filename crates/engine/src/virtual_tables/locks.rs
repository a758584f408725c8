//! Locks of rows in the words of InnoDB: their modes, their tables and indexes, and the values of locked keys.

use crate::{
    Database,
    catalog::{Snapshot, TableEntry},
};
use muster_storage::{
    Counters, FileId, Table,
    locks::{LockKind, LockMode, LockReport, Resource, WaitReport, Wanted},
};
use muster_types::Value;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// LOCK_DATA of the supremum.
const SUPREMUM: &str = "supremum pseudo-record";

/// The mode of a lock in a report.
pub fn mode(resource: &Resource, wanted: Wanted) -> String {
    let letter = match wanted.mode {
        LockMode::Shared => "S",
        LockMode::Exclusive => "X",
    };
    // Before the supremum there is a gap only.
    let kind = match (wanted.kind, &resource.key) {
        (LockKind::InsertIntention, Some(_)) => ",GAP,INSERT_INTENTION",
        (LockKind::InsertIntention, None) => ",INSERT_INTENTION",
        (LockKind::Record, Some(_)) => ",REC_NOT_GAP",
        (LockKind::Gap, Some(_)) => ",GAP",
        (LockKind::NextKey, _) | (_, None) => "",
    };
    format!("{letter}{kind}")
}

/// The name of a lock: another one for each key, transaction and kind of lock.
pub fn lock_id(trx_id: u64, resource: &Resource, wanted: Wanted) -> String {
    let mut hasher = DefaultHasher::new();
    resource.key.hash(&mut hasher);
    let kind = match wanted.kind {
        LockKind::Record => "record",
        LockKind::Gap => "gap",
        LockKind::NextKey => "next",
        LockKind::InsertIntention => "insert",
    };
    format!("{trx_id}:{}:{:016x}:{kind}", resource.tree, hasher.finish())
}

/// The lock, or the request before, that a request waits for.
pub fn blocking<'a>(wait: &WaitReport, locks: &'a [LockReport]) -> Option<&'a LockReport> {
    let same = |lock: &&LockReport| lock.trx_id == wait.blocking_trx_id && lock.resource == wait.resource;
    let blocks = |lock: &&LockReport| wait.wanted.waits_for(lock.wanted.of_record(), lock.wanted.of_gap());
    locks.iter().filter(same).find(blocks)
}

/// A tree that rows are locked in.
pub struct LockedTree {
    pub table: Arc<TableEntry>,
    pub index: String,
    number: usize,
    storage: Option<Arc<Table>>,
}

/// The trees that rows are locked in, looked up as they are asked for.
pub struct LockedTrees<'a> {
    database: &'a Database,
    files: HashMap<FileId, (Arc<TableEntry>, usize)>,
    known: HashMap<u32, Option<Arc<LockedTree>>>,
    counters: Counters,
}

impl<'a> LockedTrees<'a> {
    pub fn new(database: &'a Database, definitions: &Snapshot) -> LockedTrees<'a> {
        let files = definitions.tables().flat_map(|table| {
            let of_index = |(index, file): (usize, &FileId)| (*file, (Arc::clone(table), index));
            table.files.iter().enumerate().map(of_index).collect::<Vec<_>>()
        });
        LockedTrees { database, files: files.collect(), known: HashMap::new(), counters: Counters::default() }
    }

    /// The table and the index of a tree; `None` if they are there no more.
    pub fn of(&mut self, tree: u32) -> Option<Arc<LockedTree>> {
        let (database, files) = (self.database, &self.files);
        let look_up = || {
            let (table, number) = files.get(&FileId(tree))?;
            let set = database.tables().current();
            let storage = set.storage(table.def.id, database.store()).ok();
            let index = match table.def.has_primary_key() || *number > 0 {
                true => table.def.indexes.get(*number)?.name.clone(),
                false => "GEN_CLUST_INDEX".into(),
            };
            Some(Arc::new(LockedTree { table: Arc::clone(table), index, number: *number, storage }))
        };
        self.known.entry(tree).or_insert_with(look_up).clone()
    }

    /// The values of a locked key as InnoDB writes them; `None` if there is no such entry any more.
    pub fn data(&mut self, resource: &Resource) -> Option<String> {
        let Some(key) = &resource.key else { return Some(SUPREMUM.into()) };
        let tree = self.of(resource.tree)?;
        let values = tree.storage.as_ref()?.values_of_key(tree.number, key, &self.counters).ok()??;
        let shown = |value: &Value| match value {
            Value::Null => "NULL".into(),
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
                value.to_text(0).unwrap_or_default()
            }
            other => format!("'{}'", other.to_text(0).unwrap_or_default()),
        };
        Some(values.iter().map(shown).collect::<Vec<_>>().join(", "))
    }
}
