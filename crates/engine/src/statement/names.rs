//! Databases, tables and views as one statement sees them.

use super::StatementContext;
use crate::{
    accounts::{Privilege, Rights},
    catalog::Snapshot,
    system_schema,
    tables::TableSet,
};
use muster_algebra::{Catalog, Definer, TableDef, TableId, ViewDef};
use muster_exec::VirtualRows;
use muster_storage::mutex::Mutex;
use muster_types::{Result, SqlError};
use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The tables that a statement resolves names with. They keep the state of all tables as long as the statement runs.
pub struct StatementTables {
    pub(super) set: Arc<TableSet>,
    /// Whose rights count, and who decides what `information_schema` shows.
    pub(super) context: Arc<StatementContext>,
    pub(super) pool_share: OnceLock<f64>,
    /// Rows of `information_schema`'s tables that were read.
    pub(super) virtual_rows: Mutex<HashMap<TableId, VirtualRows>>,
    /// Stored tables that were looked up.
    used: Mutex<Vec<TableId>>,
    /// False for a statement that changes rows, which checks its privileges once it knows which tables it reads.
    checks_select: bool,
    /// True for a statement that locks what it reads, and so reads what has been committed by then.
    locks_rows: AtomicBool,
}

impl StatementTables {
    pub fn new(context: &Arc<StatementContext>) -> Arc<StatementTables> {
        StatementTables::with_checks(context, true)
    }

    /// The tables of a statement that changes rows.
    pub fn to_change(context: &Arc<StatementContext>) -> Arc<StatementTables> {
        StatementTables::with_checks(context, false)
    }

    fn with_checks(context: &Arc<StatementContext>, checks_select: bool) -> Arc<StatementTables> {
        let set = context.database.tables().current();
        Arc::new(StatementTables {
            set,
            context: context.clone(),
            pool_share: OnceLock::new(),
            virtual_rows: Mutex::default(),
            used: Mutex::default(),
            checks_select,
            locks_rows: AtomicBool::new(false),
        })
    }

    /// Says that the statement locks what it reads.
    pub fn will_lock_rows(&self) {
        self.locks_rows.store(true, Relaxed);
    }

    /// Returns true if the statement reads what has been committed, however old its transaction's view.
    pub(super) fn reads_newest(&self) -> bool {
        !self.checks_select || self.locks_rows.load(Relaxed)
    }

    pub fn set(&self) -> &Arc<TableSet> {
        &self.set
    }

    pub fn definitions(&self) -> &Snapshot {
        &self.set.definitions
    }

    /// The stored tables that were looked up, those below views among them.
    pub fn used(&self) -> Vec<TableId> {
        self.used.lock().clone()
    }

    /// Error 1142 unless the account may read a table or a view: the statement's own, or the definer of the view that
    /// it reads.
    fn check_select(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<()> {
        let check = |rights: &Rights| rights.check_table(database, name, Privilege::Select, "SELECT");
        match definer {
            // Who may do nothing in a database does not learn what is in it.
            None if !self.checks_select && self.context.rights.sees_tables(database) => Ok(()),
            None => check(&self.context.rights),
            Some(definer) => check(&self.context.rights.of_definer(definer)?),
        }
    }
}

impl Catalog for StatementTables {
    fn check_database(&self, database: &str) -> Result<()> {
        if system_schema::is_name(database) {
            return Ok(());
        }
        self.definitions().schema(database).map(|_| ())
    }

    /// Looks a table up. An account that may not read tables of the database does not learn whether there is one.
    fn table(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        if let Some(schema) = system_schema::of_name(database) {
            let table = self.context.virtual_tables.table(schema, name);
            return table.map(Some).ok_or_else(|| unknown_virtual_table(schema, name));
        }
        self.check_select(database, name, definer)?;
        let found = self.definitions().schema(database)?.tables.get(name).map(|e| e.def.clone());
        if let Some(def) = &found {
            let mut used = self.used.lock();
            if !used.contains(&def.id) {
                self.context.transaction.check_locked(def.id, name, false)?;
                used.push(def.id);
            }
        }
        Ok(found)
    }

    fn view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        if system_schema::is_name(database) {
            return Ok(None);
        }
        self.check_select(database, name, definer)?;
        Ok(self.definitions().schema(database)?.views.get(name).map(|v| v.def.clone()))
    }
}

fn unknown_virtual_table(schema: &str, name: &str) -> SqlError {
    if schema != system_schema::NAME {
        return SqlError::no_such_table(schema, name);
    }
    let message = format!("Unknown table '{}' in information_schema", name.to_uppercase());
    SqlError::new(muster_types::ErrorCode::UnknownTable, message)
}
