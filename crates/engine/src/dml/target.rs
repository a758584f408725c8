//! The table that a statement changes: its definition and files, and what a column gets that is given no value.

use super::convert::Conversion;
use crate::{
    accounts::Privilege, catalog::TableEntry, metadata_locks::TableUse, statement::StatementContext, system_schema,
    tables::TableSet,
};
use muster_algebra::{ColumnDef, DefaultValue};
use muster_sql::TableName;
use muster_storage::Table;
use muster_types::{Result, SqlError, SqlType, Value};
use std::sync::Arc;

/// A table whose rows are changed. Nobody changes its definition before the transaction ends.
pub struct Target {
    pub entry: Arc<TableEntry>,
    pub storage: Arc<Table>,
    /// The tables as they are: what belongs to the table beside its rows is found there.
    pub set: Arc<TableSet>,
}

impl Target {
    /// Finds a table and locks it. `privileges`: with MySQL's names of the commands that need them. Errors: 1044, 1046,
    /// 1142, 1146, and those of the lock.
    pub fn open(context: &StatementContext, name: &TableName, privileges: &[(Privilege, &str)]) -> Result<Target> {
        let (database, name) = context.qualify(name)?;
        if system_schema::is_name(&database) {
            return Err(context.rights.database_denied(&database));
        }
        for (privilege, command) in privileges {
            context.rights.check_table(&database, &name, *privilege, command)?;
        }
        let entry = context.lock_named(&database, &name, TableUse::Write)?;
        let set = context.database.tables().current();
        let storage = set.storage(entry.def.id, context.database.tables().store())?;
        Ok(Target { entry, storage, set })
    }

    pub fn columns(&self) -> &[ColumnDef] {
        &self.entry.def.columns
    }

    /// The position of a column of a list of columns, `[[database.]table.]column`. Error 1054.
    pub fn column(&self, name: &[String]) -> Result<usize> {
        let def = &self.entry.def;
        let (column, qualifier) = match name {
            [column] => (column, true),
            [table, column] => (column, *table == def.name),
            [database, table, column] => (column, *table == def.name && *database == def.database),
            _ => return Err(SqlError::internal("a column's name of more than three parts")),
        };
        let found = def.column(column).filter(|_| qualifier);
        found.ok_or_else(|| SqlError::unknown_column(name.join("."), "field list"))
    }

    /// The value that a column gets for DEFAULT, or when it is given none. The AUTO_INCREMENT column gets NULL, which stands
    /// for the next number. Error 1364.
    pub fn default_value(&self, column: usize, conversion: &Conversion<'_>) -> Result<Value> {
        let def = &self.columns()[column];
        match &def.default {
            Some(DefaultValue::Value(value)) => Ok(value.clone()),
            Some(DefaultValue::CurrentTimestamp) => Ok(now(conversion.context, def.ty)),
            None if def.nullable || def.auto_increment => Ok(Value::Null),
            None => conversion.no_default(def),
        }
    }
}

/// The statement's time as a column stores it: with its digits of fraction, in UTC for a TIMESTAMP.
pub fn now(context: &StatementContext, ty: SqlType) -> Value {
    Value::DateTime(context.clock.now_stored(ty))
}
