//! INNODB_TRX: the transactions that have begun and not ended. INNODB_METRICS: counters of transactions and locks.

use super::{optional, text, uint};
use crate::{
    accounts::Privilege,
    statement::StatementContext,
    virtual_tables::{
        locks,
        transactions::{LOCK_BYTES, Running, running},
    },
};
use muster_sql::Isolation;
use muster_storage::locks::LockKind;
use muster_types::{Result, Value, temporal::EpochMicros};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of the text of a statement that are shown.
const QUERY_BYTES: usize = 1024;

fn local_time(context: &StatementContext, at: SystemTime) -> Value {
    let micros = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    let seconds = micros - micros % 1_000_000;
    Value::DateTime(context.clock.time_zone.local_datetime(EpochMicros(seconds)))
}

/// Error 1227 without the PROCESS privilege.
pub(super) fn innodb_trx(context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    Ok(running(&context.database).iter().map(|running| row(context, running)).collect())
}

fn row(context: &StatementContext, running: &Running) -> Vec<Value> {
    let statement = running.session.as_ref().and_then(|session| session.statement(QUERY_BYTES));
    let tables_locked = running.changes_tables().count() as u64;
    let lock_structs = running.locked_keys + tables_locked;
    let (waited_for, wait_started) = match &running.waits {
        Some((since, resource, wanted)) => {
            (text(locks::lock_id(running.id, resource, *wanted)), local_time(context, *since))
        }
        None => (Value::Null, Value::Null),
    };
    vec![
        uint(running.id),
        text(running.state()),
        local_time(context, running.began),
        waited_for,
        wait_started,
        uint(running.changed_rows + running.locked_keys),
        uint(running.thread()),
        optional(statement.clone(), text),
        optional(operation(running), text),
        uint(if statement.is_some() { running.tables.len() as u64 } else { 0 }),
        uint(tables_locked),
        uint(lock_structs),
        uint(lock_structs * LOCK_BYTES),
        uint(running.locked_keys),
        uint(running.changed_rows),
        uint(0),
        text(isolation(running.isolation)),
        Value::Int(1),
        Value::Int(1),
        Value::Null,
        Value::Int(0),
        uint(0),
        Value::Int(running.is_read_only.into()),
        Value::Int(0),
        if running.waits.is_some() { uint(1) } else { Value::Null },
    ]
}

/// The state of a transaction that waits or is rolled back, in InnoDB's words.
fn operation(running: &Running) -> Option<&'static str> {
    match &running.waits {
        _ if running.is_rolling_back => Some("rollback"),
        Some((_, _, wanted)) if wanted.kind == LockKind::InsertIntention => Some("inserting"),
        Some(_) => Some("starting index read"),
        None => None,
    }
}

fn isolation(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// Counters since the start of the server, and values of this moment. Error 1227 without the PROCESS privilege.
pub(super) fn innodb_metrics(context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let store = context.database.store();
    let waits = store.locks().wait_statistics();
    let uptime = context.database.uptime().as_secs();
    let count = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let metric = |(name, subsystem, n, kind, comment): (&str, &str, u64, &str, &str)| {
        let rate = match kind {
            "counter" if uptime > 0 => Value::Double(n as f64 / uptime as f64),
            _ => Value::Null,
        };
        let started = local_time(context, SystemTime::now() - context.database.uptime());
        let mut row = vec![text(name), text(subsystem)];
        for _ in 0..2 {
            row.extend([count(n), Value::Null, Value::Null, rate.clone()]);
        }
        row.extend([started, Value::Null, count(uptime), Value::Null]);
        row.extend([text("enabled"), text(kind), text(comment)]);
        row
    };
    let metrics = [
        ("lock_deadlocks", "lock", waits.deadlocks, "counter", "Number of deadlocks"),
        (
            "lock_row_lock_current_waits",
            "lock",
            waits.current,
            "value",
            "Number of row locks currently being waited for",
        ),
        ("lock_rec_lock_waits", "lock", waits.waits, "counter", "Number of times enqueued into record lock wait queue"),
        ("lock_timeouts", "lock", waits.timeouts, "counter", "Number of lock timeouts"),
        (
            "trx_rseg_history_len",
            "transaction",
            store.history_length() as u64,
            "value",
            "Length of the TRX_RSEG_HISTORY list",
        ),
    ];
    Ok(metrics.into_iter().map(metric).collect())
}
