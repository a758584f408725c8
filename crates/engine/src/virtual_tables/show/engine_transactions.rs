//! SHOW ENGINE INNODB STATUS: the latest deadlock, and the transactions that have begun and not ended.

use crate::{
    Database,
    virtual_tables::{
        locks::LockedTrees,
        transactions::{LOCK_BYTES, Running, running},
    },
};
use muster_storage::locks::{Deadlock, DeadlockParty, LockKind, LockMode, Resource, Wanted};
use muster_types::{Value, temporal::EpochMicros, time_zone::TimeZone};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of the text of a statement that are shown.
const QUERY_BYTES: usize = 1024;

fn title(name: &str) -> [String; 3] {
    let line = "-".repeat(name.len());
    [line.clone(), name.into(), line]
}

fn seconds_since(at: SystemTime) -> u64 {
    at.elapsed().map_or(0, |since| since.as_secs())
}

/// The part LATEST DETECTED DEADLOCK; empty if there was none since the start.
pub fn latest_deadlock(database: &Database, zone: TimeZone) -> Vec<String> {
    let Some(deadlock) = database.store().locks().latest_deadlock() else { return Vec::new() };
    let micros = deadlock.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    let at = Value::DateTime(zone.local_datetime(EpochMicros(micros))).to_text(0).unwrap_or_default();
    let definitions = database.tables().definitions();
    let mut trees = LockedTrees::new(database, &definitions);
    let mut lines: Vec<String> = title("LATEST DETECTED DEADLOCK").into();
    lines.push(at);
    if deadlock.too_long {
        lines.push(
            "TOO DEEP OR LONG SEARCH IN THE LOCK TABLE WAITS-FOR GRAPH, WE WILL ROLL BACK FOLLOWING TRANSACTION".into(),
        );
    }
    for at in 0..deadlock.parties.len() {
        add_party(&mut lines, &deadlock, at, &mut trees);
    }
    if let Some(victim) = deadlock.parties.iter().position(|party| party.trx_id == deadlock.victim) {
        lines.push(format!("*** WE ROLL BACK TRANSACTION ({})", victim + 1));
    }
    lines
}

fn add_party(lines: &mut Vec<String>, deadlock: &Deadlock, at: usize, trees: &mut LockedTrees<'_>) {
    let (parties, number) = (&deadlock.parties, at + 1);
    let DeadlockParty { trx_id, began, session, changed_rows, statement, waits_for, holds } = &parties[at];
    let active = deadlock.at.duration_since(*began).map_or(0, |active| active.as_secs());
    lines.push(format!("*** ({number}) TRANSACTION:"));
    lines.push(format!("TRANSACTION {trx_id}, ACTIVE {active} sec"));
    lines.push(format!("LOCK WAIT undo log entries {changed_rows}"));
    lines.push(format!("MySQL thread id {session}"));
    lines.extend(statement.as_ref().map(|text| text.to_string()));
    // The one before it in the cycle waits for what it holds.
    let held = &parties[(at + parties.len() - 1) % parties.len()].waits_for;
    if let (Some((held, _)), false) = (held, holds.is_empty()) {
        lines.extend([String::new(), format!("*** ({number}) HOLDS THE LOCK(S):")]);
        lines.extend(holds.iter().map(|wanted| record_lock(*trx_id, held, *wanted, "", trees)));
    }
    lines.extend([String::new(), format!("*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:")]);
    lines.push(match waits_for {
        Some((resource, wanted)) => record_lock(*trx_id, resource, *wanted, " waiting", trees),
        None => "METADATA LOCK of a whole table waiting".into(),
    });
    lines.push(String::new());
}

/// A lock in a line, with the values of its key.
fn record_lock(trx_id: u64, resource: &Resource, wanted: Wanted, waiting: &str, trees: &mut LockedTrees<'_>) -> String {
    let of = match trees.of(resource.tree) {
        Some(tree) => {
            let def = &tree.table.def;
            format!("index {} of table `{}`.`{}`", tree.index, def.database, def.name)
        }
        None => "index of a table that is there no more".into(),
    };
    let mode = match wanted.mode {
        LockMode::Shared => "lock mode S",
        LockMode::Exclusive => "lock_mode X",
    };
    let kind = match (wanted.kind, &resource.key) {
        (LockKind::InsertIntention, Some(_)) => " locks gap before rec insert intention",
        (LockKind::InsertIntention, None) => " insert intention",
        (LockKind::Record, Some(_)) => " locks rec but not gap",
        (LockKind::Gap, Some(_)) => " locks gap before rec",
        (LockKind::NextKey, _) | (_, None) => "",
    };
    let data = trees.data(resource).map_or_else(String::new, |data| format!(": {data}"));
    format!("RECORD LOCKS space id {} {of} trx id {trx_id} {mode}{kind}{waiting}{data}", resource.tree)
}

/// The part TRANSACTIONS.
pub fn transactions(database: &Database) -> Vec<String> {
    let store = database.store();
    let (next, unpurged) = store.next_and_unpurged();
    let history = store.history_length();
    let state = if history == 0 { "running but idle" } else { "running" };
    let definitions = database.tables().definitions();
    let mut trees = LockedTrees::new(database, &definitions);
    let mut lines: Vec<String> = title("TRANSACTIONS").into();
    lines.extend([
        format!("Trx id counter {next}"),
        format!("Purge done for trx's n:o < {unpurged} undo n:o < 0 state: {state}"),
        format!("History list length {history}"),
        "LIST OF TRANSACTIONS FOR EACH SESSION:".into(),
    ]);
    for running in running(database) {
        add_transaction(&mut lines, &running, &mut trees);
    }
    lines
}

fn add_transaction(lines: &mut Vec<String>, running: &Running, trees: &mut LockedTrees<'_>) {
    let rolling_back = if running.is_rolling_back { " rollback" } else { "" };
    lines.push(format!("---TRANSACTION {}, ACTIVE {} sec{rolling_back}", running.id, seconds_since(running.began)));
    let statement = running.session.as_ref().and_then(|session| session.statement(QUERY_BYTES));
    let locked = running.changes_tables().count() as u64;
    if statement.is_some() {
        lines.push(format!("mysql tables in use {}, locked {locked}", running.tables.len()));
    }
    let structs = running.locked_keys + locked;
    let wait = if running.waits.is_some() { "LOCK WAIT " } else { "" };
    let entries = match running.changed_rows {
        0 => String::new(),
        rows => format!(", undo log entries {rows}"),
    };
    lines.push(format!(
        "{wait}{structs} lock struct(s), heap size {}, {} row lock(s){entries}",
        structs * LOCK_BYTES,
        running.locked_keys
    ));
    if let Some(session) = &running.session {
        let of = session.process_info();
        lines.push(format!("MySQL thread id {}, {} {} {}", of.id, of.host, of.user, of.state).trim_end().into());
    }
    lines.extend(statement);
    if let Some((since, resource, wanted)) = &running.waits {
        let waited = seconds_since(*since);
        lines.push(format!("------- TRX HAS BEEN WAITING {waited} SEC FOR THIS LOCK TO BE GRANTED:"));
        lines.push(record_lock(running.id, resource, *wanted, " waiting", trees));
        lines.push("------------------".into());
    }
}
