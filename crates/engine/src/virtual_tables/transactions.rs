//! All transactions at a moment: what storage knows of them, together with their sessions.

use crate::{
    Database,
    catalog::is_view,
    metadata_locks::{Owner, TableUse},
    processes::SessionShared,
};
use muster_algebra::TableId;
use muster_sql::Isolation;
use muster_storage::locks::{Resource, Wanted};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::SystemTime,
};

/// Transactions that have changed and locked nothing are numbered from here on, after their sessions.
const FIRST_READER: u64 = 1 << 48;
/// Memory of a lock, about, in bytes.
pub const LOCK_BYTES: u64 = 256;

/// A transaction that has begun and not ended.
pub struct Running {
    pub id: u64,
    pub began: SystemTime,
    /// `None`: a crash has cut it off, and it is being rolled back.
    pub session: Option<Arc<SessionShared>>,
    pub isolation: Isolation,
    pub is_read_only: bool,
    pub is_rolling_back: bool,
    /// The tables that it has locked.
    pub tables: BTreeMap<TableId, TableUse>,
    pub locked_keys: u64,
    pub changed_rows: u64,
    /// The beginning of its wait for a lock of a row, and what it waits for.
    pub waits: Option<(SystemTime, Resource, Wanted)>,
}

impl Running {
    /// The number of the session's connection; 0 without one.
    pub fn thread(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| session.id.into())
    }

    /// The tables that it may change rows of.
    pub fn changes_tables(&self) -> impl Iterator<Item = TableId> {
        self.tables.iter().filter(|(_, of)| **of == TableUse::Write).map(|(table, _)| *table)
    }

    /// The words of InnoDB for what it does.
    pub fn state(&self) -> &'static str {
        match &self.waits {
            _ if self.is_rolling_back => "ROLLING BACK",
            Some(_) => "LOCK WAIT",
            None => "RUNNING",
        }
    }
}

/// Transactions by their ids: those that have an id in storage, and those that have only read tables.
pub fn running(database: &Database) -> Vec<Running> {
    let sessions: HashMap<u64, _> = database.sessions().all().into_iter().map(|s| (u64::from(s.id), s)).collect();
    let mut all = Vec::new();
    for owner in database.store().locks().transactions() {
        let mut running = of_session(database, sessions.get(&owner.session).cloned());
        running.id = owner.trx_id;
        if owner.session == 0 {
            running.tables = database.metadata_locks().held_by(Owner::CutOff(owner.trx_id));
        }
        running.began = running.began.min(owner.began);
        running.is_rolling_back = owner.is_rolling_back;
        running.locked_keys = owner.locked_keys as u64;
        running.changed_rows = owner.changed_rows;
        running.waits = owner.waits;
        all.push(running);
    }
    let known: Vec<u64> = all.iter().map(Running::thread).collect();
    for session in sessions.into_values().filter(|session| !known.contains(&session.id.into())) {
        if session.open_transaction().is_some_and(|open| open.uses_tables) {
            let id = FIRST_READER + u64::from(session.id);
            all.push(Running { id, ..of_session(database, Some(session)) });
        }
    }
    all.sort_by_key(|running| running.id);
    all
}

/// The stored tables that a session has locked.
fn tables_of(database: &Database, owner: Owner) -> BTreeMap<TableId, TableUse> {
    let mut locked = database.metadata_locks().held_by(owner);
    locked.retain(|id, _| !is_view(*id));
    locked
}

/// The transaction of a session, as the session knows it.
fn of_session(database: &Database, session: Option<Arc<SessionShared>>) -> Running {
    let open = session.as_ref().and_then(|session| session.open_transaction());
    Running {
        id: 0,
        began: open.map_or_else(SystemTime::now, |open| open.began),
        isolation: open.map_or(Isolation::RepeatableRead, |open| open.isolation),
        is_read_only: open.is_some_and(|open| open.read_only),
        is_rolling_back: false,
        tables: session.as_ref().map(|s| tables_of(database, Owner::Session(s.id))).unwrap_or_default(),
        session,
        locked_keys: 0,
        changed_rows: 0,
        waits: None,
    }
}
