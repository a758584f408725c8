//! Foreign keys, row by row, as InnoDB enforces them (MySQL manual 13.1.20.5).
//!
//! ```text
//!   a row comes, or its columns get other values: there must be a parent          parents.rs
//!   all rows of a table that gets a key: each has a parent                       all_rows.rs
//!   a row goes, or its key gets other values: no child, or children change        children.rs
//! ```
//!
//! The children of a row are looked for before it changes, since the row itself may be one of them, and its parents
//! when it is there, since it may be its own. Both are current reads, which lock what they find (a parent shared, a
//! child that changes exclusively) until the transaction ends. A transaction that removes a parent holds its lock
//! exclusively, and one that adds a child asks for it, so neither passes the other unseen.
//!
//! Children that change are changes of the same statement: they are undone with it.

mod all_rows;
mod children;
mod parents;

pub use all_rows::missing_parent;
pub use parents::NewRow;

use super::{target::OpenTarget, write::Written};
use crate::{
    ddl::show_create::{NameQuotes, foreign_key},
    statement::StatementContext,
    tables::{Family, KeySide, Reference, TableSet, storage_error},
};
use muster_algebra::{TableDef, TableId};
use muster_storage::{LockMode, LockingScan, LockingScanRequest, Savepoint, StorageError, Table, Transaction};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::{cell::RefCell, collections::HashMap, sync::Arc};

/// A table that foreign keys lead to.
#[derive(Clone)]
struct RelatedTable {
    def: Arc<TableDef>,
    storage: Arc<Table>,
    family: Arc<Family>,
}

/// The foreign keys of a table whose rows a statement changes.
pub struct ForeignKeys<'a> {
    context: &'a StatementContext,
    set: Arc<TableSet>,
    own: RelatedTable,
    related: RefCell<HashMap<TableId, RelatedTable>>,
}

impl<'a> ForeignKeys<'a> {
    /// `None` for a table without foreign keys, and if the session does not check them.
    pub fn of(context: &'a StatementContext, target: &OpenTarget) -> Option<ForeignKeys<'a>> {
        if !context.checks_foreign_keys() {
            return None;
        }
        let (def, storage) = (Arc::clone(&target.entry.def), Arc::clone(&target.storage));
        let family = Arc::clone(target.set.family(def.id)?);
        let own = RelatedTable { def, storage, family };
        Some(ForeignKeys { context, set: Arc::clone(&target.set), own, related: RefCell::default() })
    }

    /// Returns true if rows of the table may refer to rows of it.
    pub fn is_of_itself(&self) -> bool {
        self.own.family.parents.iter().any(|reference| reference.is_of_itself())
    }

    /// Returns true if rows of other tables, or of the table itself, may refer to its rows.
    pub fn has_children(&self) -> bool {
        !self.own.family.children.is_empty()
    }

    /// Takes back what was changed since a moment, if a check has refused it then; `None`: it has not.
    pub fn refused(&self, before: Savepoint, checked: Result<()>) -> Result<Option<Written>> {
        match checked {
            Ok(()) => Ok(None),
            Err(e) if matches!(e.code, ErrorCode::NoReferencedRow | ErrorCode::RowIsReferenced) => {
                self.context.transaction.back_to(before)?;
                Ok(Some(Written::Refused(e)))
            }
            Err(e) => Err(e),
        }
    }

    fn related(&self, id: TableId) -> Result<RelatedTable> {
        if id == self.own.def.id {
            return Ok(self.own.clone());
        }
        if let Some(known) = self.related.borrow().get(&id) {
            return Ok(known.clone());
        }
        let entry = self.set.definitions.tables().find(|entry| entry.def.id == id);
        let def = entry.map(|entry| Arc::clone(&entry.def)).ok_or_else(|| SqlError::internal("no related table"))?;
        let storage = self.set.storage(id, self.context.tables.store())?;
        let family = self.set.family(id).cloned().unwrap_or_default();
        let table = RelatedTable { def, storage, family };
        self.related.borrow_mut().insert(id, table.clone());
        Ok(table)
    }

    /// A locking read of the rows with these values.
    fn scan(&self, table: &RelatedTable, side: &KeySide, values: &[Value], mode: LockMode) -> Result<LockingScan> {
        let request = LockingScanRequest::of_values(side.index, values, mode);
        let request = LockingScanRequest { gaps: self.context.locks_gaps(), ..request };
        LockingScan::new(&table.storage, request).map_err(|e| storage_error(&table.def, e))
    }

    /// Makes sure that readers know of texts like those of a row before they can see it.
    fn admit_texts(&self, table: &RelatedTable, row: &[Value]) -> Result<()> {
        super::write::admit_texts(self.context, &self.set, (table.def.id, &table.storage), row)
    }

    /// Does something with a table's rows within the session's transaction.
    fn change<R>(
        &self,
        table: &RelatedTable,
        change: impl FnOnce(&mut Transaction) -> Result<R, StorageError>,
    ) -> Result<R> {
        let changed = self.context.transaction.change(self.context.database.store(), change);
        changed.map_err(|e| storage_error(&table.def, e))
    }
}

/// The values of a row's columns; `None` if one is NULL, which refers to nothing.
fn values_of(row: &[Value], columns: &[usize]) -> Option<Vec<Value>> {
    let value = |column: &usize| row.get(*column).filter(|value| !value.is_null()).cloned();
    columns.iter().map(value).collect()
}

/// Returns true if a row has other values than before in one of the columns.
fn differs(old: &[Value], new: &[Value], columns: &[usize]) -> bool {
    columns.iter().any(|column| old.get(*column) != new.get(*column))
}

/// The constraint in messages.
fn shown(reference: &Reference) -> String {
    let text = foreign_key(&reference.key, &reference.database, NameQuotes::Backticks);
    format!("(`{}`.`{}`, {text})", reference.database, reference.table)
}

/// Error 1452.
pub fn no_parent(reference: &Reference) -> SqlError {
    let message = format!("Cannot add or update a child row: a foreign key constraint fails {}", shown(reference));
    SqlError::new(ErrorCode::NoReferencedRow, message)
}

/// Error 1451.
fn has_child(reference: &Reference) -> SqlError {
    let message = format!("Cannot delete or update a parent row: a foreign key constraint fails {}", shown(reference));
    SqlError::new(ErrorCode::RowIsReferenced, message)
}
