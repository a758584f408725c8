//! The table that a statement changes: its definition and files, and what a column gets that is given no value.

use super::{convert::Conversion, generated::NumbersTaken};
use crate::{
    catalog::TableEntry,
    statement::{StatementContext, StatementTables},
    tables::TableSet,
};
use muster_algebra::{ColumnDef, DefaultValue, TableDef};
use muster_sql::bind::ChangeTarget;
use muster_storage::Table;
use muster_types::{Result, SqlType, Value, store::implicit_default};
use std::sync::Arc;

/// A table whose rows are changed. Nobody changes its definition before the transaction ends.
pub struct OpenTarget {
    pub entry: Arc<TableEntry>,
    pub storage: Arc<Table>,
    /// The tables as they are: what belongs to the table beside its rows is found there.
    pub set: Arc<TableSet>,
    /// The numbers of AUTO_INCREMENT that the statement has used up.
    pub numbers: NumbersTaken,
}

impl OpenTarget {
    /// Opens a table that is locked.
    pub fn open(context: &StatementContext, set: &Arc<TableSet>, def: &TableDef) -> Result<OpenTarget> {
        let entry = set.definitions.entry_of(def)?.clone();
        let storage = set.storage(def.id, context.tables.store())?;
        Ok(OpenTarget { entry, storage, set: set.clone(), numbers: NumbersTaken::default() })
    }

    /// Opens the tables of the targets of a statement, which are locked.
    pub fn open_all(
        context: &StatementContext,
        tables: &StatementTables,
        targets: &[ChangeTarget],
    ) -> Result<Vec<OpenTarget>> {
        targets.iter().map(|target| OpenTarget::open(context, tables.set(), &target.table)).collect()
    }

    pub fn columns(&self) -> &[ColumnDef] {
        &self.entry.def.columns
    }

    /// Returns true if two rows differ in what is stored: texts byte for byte.
    pub fn differ(&self, old: &[Value], new: &[Value]) -> bool {
        old != new
    }

    /// The value that a column gets for DEFAULT, or when it is given none. The AUTO_INCREMENT column gets NULL, which
    /// stands for the next number. Error 1364.
    pub fn default_value(&self, column: usize, conversion: &Conversion<'_>) -> Result<Value> {
        let def = &self.columns()[column];
        match &def.default {
            Some(DefaultValue::Value(value)) => conversion.kept_default(def, value),
            Some(DefaultValue::CurrentTimestamp) => Ok(now(conversion.context, def.ty)),
            // It is computed for each row, as is a generated column.
            Some(DefaultValue::Expr(_)) => Ok(self.value_before(column, conversion)),
            Some(DefaultValue::Dropped) => conversion.no_default(def),
            None if def.generated.is_some() => Ok(Value::Null),
            None if def.nullable || def.auto_increment => Ok(Value::Null),
            None => conversion.no_default(def),
        }
    }

    /// Returns true for a column that a value must be given for.
    pub fn lacks_default(&self, column: usize) -> bool {
        let def = &self.columns()[column];
        let has_none = match &def.default {
            None => !def.nullable,
            Some(DefaultValue::Dropped) => true,
            Some(_) => false,
        };
        has_none && !def.auto_increment && def.generated.is_none()
    }

    /// What a column has that a row's own values mention before it has got its value: the default, without one that of
    /// its type. MySQL's rows begin so, too.
    pub fn value_before(&self, column: usize, conversion: &Conversion<'_>) -> Value {
        let def = &self.columns()[column];
        match &def.default {
            Some(DefaultValue::Value(value)) => value.clone(),
            Some(DefaultValue::CurrentTimestamp) => now(conversion.context, def.ty),
            _ if def.nullable => Value::Null,
            _ => implicit_default(def.ty).unwrap_or(Value::Null),
        }
    }
}

/// The statement's time as a column stores it: with its digits of fraction, in UTC for a TIMESTAMP.
pub fn now(context: &StatementContext, ty: SqlType) -> Value {
    Value::DateTime(context.clock.now_stored(ty))
}
