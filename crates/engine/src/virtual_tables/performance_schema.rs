//! `performance_schema.data_locks`, `data_lock_waits` and `metadata_locks` (MySQL manual, "Performance Schema Lock
//! Tables").
//!
//! THREAD_ID is the number of the connection. There is an intention lock of each table that a transaction has locked
//! rows of, or may change.

use super::{
    locks::{LockedTrees, blocking, lock_id, mode},
    transactions::{Running, running},
};
use crate::{
    accounts::Privilege,
    metadata_locks::{LockReport as MetadataLock, Owner, TableUse, Until},
    statement::StatementContext,
    tables::TableSet,
};
use muster_algebra::TableId;
use muster_storage::locks::{LockMode, LockReport};
use muster_types::{Result, Value};
use std::collections::{BTreeMap, HashMap};

fn text(s: impl Into<String>) -> Value {
    Value::Text(s.into())
}

/// The number of a transaction's connection.
fn thread(threads: &HashMap<u64, u64>, trx_id: u64) -> Value {
    match threads.get(&trx_id) {
        None | Some(0) => Value::Null,
        Some(thread) => Value::UInt(*thread),
    }
}

fn threads(running: &[Running]) -> HashMap<u64, u64> {
    running.iter().map(|running| (running.id, running.thread())).collect()
}

/// Error 1227 without the PROCESS privilege.
pub(super) fn data_locks(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let locks = context.database.store().locks().locks();
    let all = running(&context.database);
    let threads = threads(&all);
    let mut trees = LockedTrees::new(&context.database, &tables.definitions);
    // The intention locks, by transaction and table.
    let mut intentions: BTreeMap<(u64, TableId), LockMode> = BTreeMap::new();
    for running in &all {
        intentions.extend(running.changes_tables().map(|table| ((running.id, table), LockMode::Exclusive)));
    }
    let mut rows = Vec::new();
    for lock in &locks {
        let tree = trees.of(lock.resource.tree);
        if let Some(tree) = &tree {
            let intention = intentions.entry((lock.trx_id, tree.table.def.id)).or_insert(lock.wanted.mode);
            *intention = lock.wanted.mode.max(*intention);
        }
        let (def, index) = (tree.as_ref().map(|tree| &tree.table.def), tree.as_ref().map(|tree| &tree.index));
        rows.push(vec![
            text("INNODB"),
            text(lock_id(lock.trx_id, &lock.resource, lock.wanted)),
            Value::UInt(lock.trx_id),
            thread(&threads, lock.trx_id),
            Value::Null,
            def.map_or(Value::Null, |def| text(&def.database)),
            def.map_or(Value::Null, |def| text(&def.name)),
            Value::Null,
            Value::Null,
            index.map_or(Value::Null, text),
            Value::UInt(lock.resource.tree.into()),
            text("RECORD"),
            text(mode(&lock.resource, lock.wanted)),
            text(if lock.waits { "WAITING" } else { "GRANTED" }),
            trees.data(&lock.resource).map_or(Value::Null, Value::Text),
        ]);
    }
    let of_tables = intentions.into_iter().filter_map(|((trx_id, table), mode)| {
        let def = &tables.definitions.tables().find(|entry| entry.def.id == table)?.def;
        Some(vec![
            text("INNODB"),
            text(format!("{trx_id}:{}", table.0)),
            Value::UInt(trx_id),
            thread(&threads, trx_id),
            Value::Null,
            text(&def.database),
            text(&def.name),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::UInt(table.0),
            text("TABLE"),
            text(if mode == LockMode::Exclusive { "IX" } else { "IS" }),
            text("GRANTED"),
            Value::Null,
        ])
    });
    Ok(of_tables.collect::<Vec<_>>().into_iter().chain(rows).collect())
}

/// Error 1227 without the PROCESS privilege.
pub(super) fn data_lock_waits(context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let table = context.database.store().locks();
    let (waits, locks) = (table.waits(), table.locks());
    let threads = threads(&running(&context.database));
    let rows = waits.iter().filter_map(|wait| {
        let LockReport { trx_id, resource, wanted, .. } = blocking(wait, &locks)?;
        let of = |trx_id: u64| [Value::UInt(trx_id), thread(&threads, trx_id), Value::Null];
        let mut row = vec![text("INNODB"), text(lock_id(wait.requesting_trx_id, &wait.resource, wait.wanted))];
        row.extend(of(wait.requesting_trx_id));
        row.extend([Value::UInt(wait.resource.tree.into()), text(lock_id(*trx_id, resource, *wanted))]);
        row.extend(of(*trx_id));
        row.push(Value::UInt(resource.tree.into()));
        Some(row)
    });
    Ok(rows.collect())
}

/// Locks of whole tables, the global read lock, and locks by name. Error 1227 without the PROCESS privilege.
pub(super) fn metadata_locks(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let rows = context.database.metadata_locks().report().into_iter().map(|MetadataLock { owner, table, until }| {
        let names = table.and_then(|(id, _)| tables.definitions.name_of(id));
        let (database, name) =
            names.map_or((Value::Null, Value::Null), |(database, name)| (text(database), text(name)));
        let lock_type = match table.map(|(_, of)| of) {
            None => "SHARED",
            Some(TableUse::Open | TableUse::Read) => "SHARED_READ",
            Some(TableUse::Write | TableUse::FailedUndo) => "SHARED_WRITE",
            Some(TableUse::ReadOnly) => "SHARED_READ_ONLY",
            Some(TableUse::Rebuild) => "SHARED_NO_WRITE",
            Some(TableUse::Alone) if until == Some(Until::Unlocked) => "SHARED_NO_READ_WRITE",
            Some(TableUse::Alone | TableUse::Drop | TableUse::Flush) => "EXCLUSIVE",
        };
        let duration = match until {
            Some(Until::Unlocked) => "EXPLICIT",
            Some(Until::Statement | Until::LastRow) => "STATEMENT",
            Some(Until::Transaction) | None => "TRANSACTION",
        };
        // One that was cut off has no connection; its transaction is told instead.
        let (source, thread) = match owner {
            Owner::Session(session) => (Value::Null, Value::UInt(session.into())),
            Owner::CutOff(trx_id) => (text(format!("rollback of transaction {trx_id}")), Value::Null),
        };
        vec![
            text(if table.is_some() { "TABLE" } else { "GLOBAL" }),
            database,
            name,
            Value::Null,
            Value::UInt(table.map_or(0, |(id, _)| id.0)),
            text(lock_type),
            text(duration),
            text(if until.is_some() { "GRANTED" } else { "PENDING" }),
            source,
            thread,
            Value::Null,
        ]
    });
    let user_locks = context.database.user_locks().report().into_iter().map(|lock| {
        vec![
            text("USER LEVEL LOCK"),
            Value::Null,
            text(lock.name),
            Value::Null,
            Value::UInt(0),
            text("EXCLUSIVE"),
            text("EXPLICIT"),
            text(if lock.is_granted { "GRANTED" } else { "PENDING" }),
            Value::Null,
            Value::UInt(lock.session.into()),
            Value::Null,
        ]
    });
    Ok(rows.chain(user_locks).collect())
}
