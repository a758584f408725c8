//! LOCK TABLES, UNLOCK TABLES and FLUSH TABLES.

use super::state::SessionState;
use crate::{
    accounts::Privilege,
    metadata_locks::TableUse,
    processes::WAITING_FOR_FLUSH,
    statement::{BindEnvironment, Done, StatementContext, StatementTables},
    system_schema,
    transaction::LockedTable,
};
use muster_algebra::TableId;
use muster_sql::{TableLock, TableName};
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

impl SessionState {
    /// LOCK TABLES. A view's tables are locked with it. Errors 1044, 1066, 1142, 1146, 1792, and those of the wait.
    pub fn lock_tables(&mut self, context: &Arc<StatementContext>, tables: &[TableLock]) -> Result<Done> {
        if self.characteristics().read_only && tables.iter().any(|lock| lock.write) {
            return Err(SqlError::read_only_transaction());
        }
        for (at, lock) in tables.iter().enumerate() {
            let name = |lock: &'_ TableLock| lock.alias.clone().unwrap_or_else(|| lock.table.name.clone());
            if tables[..at].iter().any(|before| name(before) == name(lock)) {
                return Err(SqlError::table_not_unique(&name(lock)));
            }
        }
        self.transaction.unlock_tables();
        let find = || -> Result<Vec<LockedTable>> {
            let found = tables.iter().map(|lock| lockable(context, &lock.table, lock.write));
            Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        };
        loop {
            let found = find()?;
            context.with_patience(|patience| self.transaction.lock_tables(&found, patience))?;
            // While they were waited for, another table or view may have got the name.
            if find().is_ok_and(|now| now == found) {
                break;
            }
            self.transaction.unlock_tables();
        }
        if !self.transaction.status().autocommit {
            // Locked tables are used tables, which begin a transaction.
            self.open_implicitly();
            self.transaction.note_use();
        }
        Ok(Done::default())
    }

    /// UNLOCK TABLES commits only if tables were locked.
    pub fn unlock_tables(&mut self, context: &StatementContext) -> Result<Done> {
        if self.transaction.has_locked_tables() {
            self.commit_open(context)?;
        }
        self.transaction.unlock_tables();
        Ok(Done::default())
    }

    /// FLUSH TABLES .. WITH READ LOCK: these tables, or without names everything. Errors 1192, 1347.
    pub fn flush_with_read_lock(&mut self, context: &Arc<StatementContext>, tables: &[TableName]) -> Result<()> {
        self.transaction.check_nothing_locked()?;
        if tables.is_empty() {
            let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
            return context.with_patience(|patience| locks.lock_globally(owner, patience));
        }
        for table in tables {
            let (database, name) = context.qualify(table)?;
            let definitions = self.database.tables().definitions();
            if definitions.schemas.get(&database).is_some_and(|schema| schema.views.contains_key(&name)) {
                return Err(SqlError::new(ErrorCode::WrongObject, format!("'{database}.{name}' is not BASE TABLE")));
            }
        }
        let locks: Vec<TableLock> =
            tables.iter().map(|table| TableLock { table: table.clone(), alias: None, write: false }).collect();
        self.lock_tables(context, &locks).map(drop)
    }

    /// FLUSH TABLES: waits for statements that use these tables, or without names any table, and for LOCK TABLES of
    /// them. Transactions are not waited for, and nothing is locked. Errors 1044, 1066; 1099 and 1100 under the
    /// session's own LOCK TABLES; 1205, 1213, 1317.
    pub fn flush_tables(&mut self, context: &Arc<StatementContext>, tables: &[TableName]) -> Result<()> {
        let definitions = self.database.tables().definitions();
        let mut flushed = Vec::new();
        let names: Vec<(String, String)> = tables.iter().map(|table| context.qualify(table)).collect::<Result<_>>()?;
        for (at, (database, name)) in names.iter().enumerate() {
            if names[..at].contains(&names[at]) {
                return Err(SqlError::table_not_unique(name));
            }
            if system_schema::is_name(database) {
                return Err(context.rights.database_denied(database));
            }
            // A name without a table, or of a view, has nothing that could be flushed.
            let entry = definitions.schemas.get(database).and_then(|schema| schema.tables.get(name));
            match entry {
                Some(entry) => {
                    self.transaction.check_locked(entry.def.id, name, true)?;
                    flushed.push(entry.def.id);
                }
                None => self.transaction.check_locked(TableId(0), name, true)?,
            }
        }
        let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
        if tables.is_empty() {
            for id in self.transaction.read_locked_tables().into_iter().flatten() {
                let name = definitions.name_of(id).map_or("", |(_, name)| name);
                self.transaction.check_locked(id, name, true)?;
            }
            flushed = locks.used_by_statements(owner);
        }
        if self.transaction.has_locked_tables() {
            // Nobody else has them.
            return Ok(());
        }
        context.with_patience_as(WAITING_FOR_FLUSH, |patience| {
            flushed.iter().try_for_each(|table| locks.wait_for(owner, *table, TableUse::Flush, patience).map(drop))
        })
    }
}

/// The stored tables and the views that a name of LOCK TABLES stands for: a table, or a view with what it reads.
fn lockable(context: &Arc<StatementContext>, name: &TableName, write: bool) -> Result<Vec<LockedTable>> {
    let (database, name) = context.qualify(name)?;
    if !context.tables.is_temporary(&database, &name) {
        context.rights.check_database(&database, Privilege::LockTables)?;
    }
    context.check_some_column(&database, &name, Privilege::Select, "SELECT")?;
    context.wait_while_filled(&database, &name)?;
    if context.tables.is_temporary(&database, &name) {
        // It is the session's alone.
        return Ok(Vec::new());
    }
    let definitions = context.database.tables().definitions();
    if definitions.schema(&database)?.views.contains_key(&name) {
        let text = format!("SELECT * FROM `{}`.`{}`", database.replace('`', "``"), name.replace('`', "``"));
        if let muster_sql::Statement::Query(query) = muster_sql::parse(&text)? {
            let (_, tables) = StatementTables::resolve(context, StatementTables::new, |tables| {
                muster_sql::bind_query(&query, &BindEnvironment::new(context).with(tables, (&[][..]).into()))
            })?;
            return Ok(tables.used().into_iter().map(|id| LockedTable { id, write }).collect());
        }
    }
    let id = definitions.table(&database, &name)?.def.id;
    Ok(vec![LockedTable { id, write }])
}
