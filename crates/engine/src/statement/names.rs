//! Databases, tables and views as one statement sees them.

use super::StatementContext;
use crate::{
    accounts::{Privilege, Rights},
    catalog::{Schema, Snapshot},
    cost_tables, system_schema,
    tables::TableSet,
};
use muster_algebra::{Catalog, ColumnAccess, Definer, TableDef, TableId, ViewDef};
use muster_exec::VirtualRows;
use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, Result, SqlError};
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
    /// Stored tables and views that were looked up.
    used: Mutex<Vec<TableId>>,
    /// Tables that foreign keys connect with those that are changed.
    family: Mutex<Vec<TableId>>,
    /// Temporary tables that the statement refers to, with the alias of the reference.
    opened: Mutex<HashMap<TableId, String>>,
    /// True if the table that the statement fills was looked up as its target.
    has_found_filled: AtomicBool,
    /// True if a table that was looked up was not finished, or not stored, so that there is another one to look up now,
    /// or none.
    has_waited: AtomicBool,
    /// False for a statement that changes rows, which checks its privileges once it knows which tables it reads.
    checks_select: bool,
    /// The rights of the definers of views that were looked up.
    definers: Mutex<Vec<(Definer, Arc<Rights>)>>,
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
        let set = context.tables.current();
        Arc::new(StatementTables {
            set,
            context: context.clone(),
            pool_share: OnceLock::new(),
            virtual_rows: Mutex::default(),
            used: Mutex::default(),
            family: Mutex::default(),
            opened: Mutex::default(),
            has_found_filled: AtomicBool::new(false),
            has_waited: AtomicBool::new(false),
            checks_select,
            definers: Mutex::default(),
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

    /// The stored tables and the views that were looked up, those below views among them.
    pub fn used(&self) -> Vec<TableId> {
        self.used.lock().clone()
    }

    /// The tables that foreign keys connect with those that are changed, as far as they are locked.
    pub(super) fn family(&self) -> Vec<TableId> {
        self.family.lock().clone()
    }

    /// Notes such tables.
    pub(super) fn note_family(&self, tables: impl Iterator<Item = TableId>) {
        self.family.lock().extend(tables);
    }

    /// Notes that these tables and views were looked up, by whoever resolved the names of the same statement before.
    pub(super) fn use_again(&self, used: &[TableId]) {
        self.used.lock().extend_from_slice(used);
    }

    /// Returns true for a table of the schema `mysql` that is a stored one by now.
    fn is_stored(&self, schema: &str, name: &str) -> bool {
        cost_tables::is_name(schema, name) && self.definitions().table(schema, name).is_ok()
    }

    /// Has a table of the schema `mysql` that can be changed stored, for a statement that changes tables. The statement
    /// then looks its tables up anew, and checks its rights on them.
    fn store_to_change(&self, name: &str) -> Result<()> {
        if !self.checks_select && cost_tables::is_name(system_schema::MYSQL, name) {
            self.context.database.store_cost_tables()?;
            self.has_waited.store(true, Relaxed);
        }
        Ok(())
    }

    /// Notes that a table or a view was looked up. Error 1100 under LOCK TABLES.
    fn note_use(&self, id: TableId, name: &str) -> Result<()> {
        let mut used = self.used.lock();
        if !used.contains(&id) {
            self.context.transaction.check_locked(id, name, false)?;
            used.push(id);
        }
        Ok(())
    }

    /// The table of this name that is not finished: the statement's own. For that of another statement this waits until
    /// it is finished or has gone. Errors 1205, 1213, 1317.
    fn unfinished(&self, schema: &Schema, name: &str) -> Result<Option<Arc<TableDef>>> {
        let Some(entry) = schema.unfinished.get(name) else { return Ok(None) };
        if self.context.filled_table.get() == Some(&entry.def.id) {
            return Ok(Some(entry.def.clone()));
        }
        self.context.wait_until_filled(entry.def.id)?;
        self.has_waited.store(true, Relaxed);
        Ok(None)
    }

    /// Forgets which temporary tables the statement refers to: it is bound once more.
    pub fn begin_binding(&self) {
        self.opened.lock().clear();
        self.has_found_filled.store(false, Relaxed);
    }

    /// The table that the statement fills, if that has this name and was not looked up yet. Its target is looked up
    /// first; the same name in its query is another table's.
    fn filled(&self, schema: &Schema, name: &str) -> Option<Arc<TableDef>> {
        let filled = self.context.filled_table.get()?;
        let entry = schema.unfinished.get(name).filter(|entry| entry.def.id == *filled)?;
        (!self.has_found_filled.swap(true, Relaxed)).then(|| entry.def.clone())
    }

    /// Resolves names with `bind`, and does so anew, whatever became of it, when a table that was not finished was
    /// waited for, or one was stored. `tables`: [`StatementTables::new`] or [`StatementTables::to_change`].
    pub fn resolve<B>(
        context: &Arc<StatementContext>,
        tables: impl Fn(&Arc<StatementContext>) -> Arc<StatementTables>,
        bind: impl Fn(&Arc<StatementTables>) -> Result<B>,
    ) -> Result<(B, Arc<StatementTables>)> {
        loop {
            let tables = tables(context);
            let bound = bind(&tables);
            if !tables.has_waited.load(Relaxed) {
                return Ok((bound?, tables));
            }
        }
    }

    /// Error 1142 unless the account may read a table or a view: the statement's own, or the definer of the view that
    /// it reads. Error 1345 for an EXPLAIN without rights on what a view reads.
    fn check_select(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<()> {
        if definer.is_none() && self.context.tables.is_temporary(database, name) {
            return Ok(());
        }
        self.check_select_of_stored(database, name, definer)
    }

    /// As [`StatementTables::check_select`], for a table that a view reads, whatever temporary table has its name.
    fn check_select_of_stored(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<()> {
        let check = |rights: &Rights| rights.check_some_column(database, name, Privilege::Select, "SELECT");
        let allowed = match definer {
            // An account without rights on a table does not learn what is in it.
            None if !self.checks_select && self.context.rights.sees_table(database, name) => Ok(()),
            None => check(&self.context.rights),
            // What a statement that changes rows reads and writes through a view is checked by columns.
            Some(definer) if !self.checks_select => {
                let rights = self.of_definer(definer)?;
                if rights.sees_table(database, name) { Ok(()) } else { check(&rights) }
            }
            Some(definer) => self.of_definer(definer).and_then(|rights| check(&rights)),
        };
        allowed?;
        match definer {
            Some(_) if self.context.explains.load(Relaxed) => check(&self.context.rights).map_err(|_| no_explain()),
            _ => Ok(()),
        }
    }

    /// Error 1345 for an EXPLAIN that would show what a view is made of.
    fn check_shows_view(&self, database: &str, name: &str) -> Result<()> {
        let is_hidden = || !self.context.rights.on_table(database, name).has(Privilege::ShowView);
        match self.context.explains.load(Relaxed) && is_hidden() {
            true => Err(no_explain()),
            false => Ok(()),
        }
    }

    /// The rights of a view's definer. Error 1449.
    fn of_definer(&self, definer: &Definer) -> Result<Arc<Rights>> {
        let mut known = self.definers.lock();
        if let Some((_, rights)) = known.iter().find(|(known, _)| known == definer) {
            return Ok(Arc::clone(rights));
        }
        let rights = Arc::new(self.context.rights.of_definer(definer)?);
        known.push((definer.clone(), Arc::clone(&rights)));
        Ok(rights)
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
        if let Some(schema) = system_schema::of_name(database).filter(|schema| !self.is_stored(schema, name)) {
            if schema == system_schema::MYSQL {
                self.check_select(schema, name, definer)?;
                self.store_to_change(name)?;
            }
            let table = self.context.virtual_tables.table(schema, name);
            return table.map(Some).ok_or_else(|| unknown_virtual_table(schema, name));
        }
        let filled = self.definitions().schemas.get(database).and_then(|schema| self.filled(schema, name));
        if filled.is_none() {
            self.check_select(database, name, definer)?;
        }
        let schema = self.definitions().schema(database)?;
        let found = match (filled, schema.tables.get(name)) {
            (Some(filled), _) => Some(filled),
            (None, Some(entry)) => Some(entry.def.clone()),
            (None, None) => self.unfinished(schema, name)?,
        };
        if let Some(def) = &found {
            self.note_use(def.id, name)?;
        }
        Ok(found)
    }

    fn table_of_view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        let stored = &self.set.stored().definitions;
        if system_schema::is_name(database) || Arc::ptr_eq(stored, &self.set.definitions) {
            return self.table(database, name, definer);
        }
        self.check_select_of_stored(database, name, definer)?;
        let schema = stored.schema(database)?;
        let found = match schema.tables.get(name) {
            Some(entry) => Some(entry.def.clone()),
            None => self.unfinished(schema, name)?,
        };
        if let Some(def) = &found {
            self.note_use(def.id, name)?;
        }
        Ok(found)
    }

    fn note_reference(&self, table: TableId, alias: &str) -> Result<()> {
        if !table.is_temporary() {
            return Ok(());
        }
        let mut opened = self.opened.lock();
        match opened.get(&table) {
            Some(alias) => Err(SqlError::cannot_reopen(alias)),
            None => {
                opened.insert(table, alias.to_owned());
                Ok(())
            }
        }
    }

    fn view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        if system_schema::is_name(database) {
            return Ok(None);
        }
        self.check_select(database, name, definer)?;
        let Some(entry) = self.definitions().schema(database)?.views.get(name) else { return Ok(None) };
        self.check_shows_view(database, name)?;
        self.note_use(entry.id, name)?;
        Ok(Some(entry.def.clone()))
    }

    fn column_access(
        &self,
        database: &str,
        name: &str,
        definer: Option<&Definer>,
    ) -> Result<Option<Arc<ColumnAccess>>> {
        let database = system_schema::of_name(database).unwrap_or(database);
        let access = match definer {
            None => self.context.rights.column_access(database, name, !self.checks_select),
            Some(definer) => self.of_definer(definer)?.column_access(database, name, !self.checks_select),
        };
        Ok(access.map(Arc::new))
    }

    fn check_locking(&self, database: &str, table: &str, exclusive: bool) -> Result<()> {
        check_locking(&self.context, database, table, exclusive)
    }
}

/// Errors 1142 and 3550: nobody locks rows of `information_schema`, and only an account that may change or lock a table
/// locks its rows for itself.
pub fn check_locking(context: &StatementContext, database: &str, table: &str, exclusive: bool) -> Result<()> {
    let rights = &context.rights;
    let denied = |table: &str| Err(rights.table_denied(table, "SELECT with locking clause"));
    if system_schema::of_name(database) == Some(system_schema::NAME) {
        if exclusive {
            return denied(&table.to_uppercase());
        }
        let message = "Information schema queries do not support the 'LOCK IN SHARE MODE' clause.";
        return Err(SqlError::new(ErrorCode::NoLockingOfInformationSchema, message));
    }
    let definitions = context.tables.definitions();
    // Another name is that of a common table expression.
    let is_table = definitions.schemas.get(database).is_some_and(|schema| schema.has(table));
    if !exclusive || !is_table || context.tables.is_own(database, table) {
        return Ok(());
    }
    let set = rights.on_table(database, table);
    let may_lock = [Privilege::Update, Privilege::Delete, Privilege::LockTables].into_iter().any(|p| set.has(p));
    match may_lock || rights.on_columns(database, table).has(Privilege::Update) {
        true => Ok(()),
        false => denied(table),
    }
}

fn no_explain() -> SqlError {
    let message = "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
    SqlError::new(ErrorCode::ViewNoExplain, message)
}

fn unknown_virtual_table(schema: &str, name: &str) -> SqlError {
    if schema != system_schema::NAME {
        return SqlError::no_such_table(schema, name);
    }
    let message = format!("Unknown table '{}' in information_schema", name.to_uppercase());
    SqlError::new(ErrorCode::UnknownTable, message)
}
