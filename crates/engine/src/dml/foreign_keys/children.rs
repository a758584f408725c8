//! A row that goes, or whose key gets other values: the rows that refer to it.

use super::{ForeignKeys, RelatedTable, differs, has_child, parents::NewRow, values_of};
use crate::tables::{KeySide, Reference, entry_text, storage_error};
use muster_algebra::{ReferentialAction, TableId};
use muster_storage::{LockMode, LockedRow, StorageError};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};

/// Changes that lead from one to the next (InnoDB: `FK_MAX_CASCADE_DEL`).
const DEPTH_MAX: usize = 15;

/// A row that is changed, and why: the changes that lead to its own.
struct Changed<'c> {
    table: &'c RelatedTable,
    row: &'c LockedRow,
    /// The row from now on; `None`: it goes.
    new: Option<&'c [Value]>,
    because_of: Option<&'c Changed<'c>>,
}

impl Changed<'_> {
    fn chain(&self) -> impl Iterator<Item = &Changed<'_>> {
        std::iter::successors(Some(self), |changed| changed.because_of)
    }

    /// Returns true if one of the changes gives rows of a table other values. Another one that it leads to might then
    /// never end.
    fn updates(&self, table: TableId) -> bool {
        self.chain().any(|changed| changed.new.is_some() && changed.table.def.id == table)
    }

    /// Returns true if one of the changes removes this row.
    fn removes(&self, table: TableId, row: &LockedRow) -> bool {
        let is_it =
            |changed: &Changed<'_>| changed.table.def.id == table && changed.row.clustered_key() == row.clustered_key();
        self.chain().any(|changed| changed.new.is_none() && is_it(changed))
    }
}

impl ForeignKeys<'_> {
    /// Sees to the rows that refer to a row of the statement's table, before that goes or becomes `new`. The
    /// transaction has locked the row exclusively. Errors 1451, 3008, and those of changes of the children.
    pub fn leave(&self, row: &LockedRow, new: Option<&[Value]>) -> Result<()> {
        self.leave_row(&Changed { table: &self.own, row, new, because_of: None })
    }

    fn leave_row(&self, parent: &Changed<'_>) -> Result<()> {
        for reference in &parent.table.family.children {
            let (Some(of_parent), Some(of_child)) = (&reference.parent, &reference.child) else { continue };
            let old = parent.row.values();
            if parent.new.is_some_and(|new| !differs(old, new, &of_parent.columns)) {
                continue;
            }
            let Some(values) = values_of(old, &of_parent.columns) else { continue };
            let child = self.related(of_child.table)?;
            let action = if parent.new.is_some() { reference.key.on_update } else { reference.key.on_delete };
            match action.changes_rows() {
                true => self.change_children(parent, reference, (&child, of_child), (&values, action))?,
                false => self.refuse_children(reference, (&child, of_child), &values)?,
            }
        }
        Ok(())
    }

    /// Error 1451 if there is a child.
    fn refuse_children(
        &self,
        reference: &Reference,
        (child, side): (&RelatedTable, &KeySide),
        values: &[Value],
    ) -> Result<()> {
        let mut scan = self.scan(child, side, values, LockMode::Shared)?;
        let counters = self.context.process.counters.storage();
        match self.change(child, |transaction| scan.next(transaction, counters))? {
            Some(_) => Err(has_child(reference)),
            None => Ok(()),
        }
    }

    fn change_children(
        &self,
        parent: &Changed<'_>,
        reference: &Reference,
        (child, side): (&RelatedTable, &KeySide),
        (values, action): (&[Value], ReferentialAction),
    ) -> Result<()> {
        let (id, counters) = (child.def.id, self.context.process.counters.storage());
        let mut scan = self.scan(child, side, values, LockMode::Exclusive)?;
        // An entry that a change of a child puts into the range is equal by its collation, and lies behind the place
        // that the scan has come to, or in that place.
        while let Some(row) = self.change(child, |transaction| scan.next_to_change(transaction, counters))? {
            self.context.check_interrupt()?;
            let new = match (parent.new, action) {
                (None, ReferentialAction::Cascade) => None,
                (Some(new), ReferentialAction::Cascade) => Some(self.with_key(reference, (child, side), &row, new)?),
                _ => Some(self.without_key(reference, (child, side), &row)?),
            };
            if new.is_some() && parent.updates(id) {
                return Err(has_child(reference));
            }
            if parent.removes(id, &row) {
                continue;
            }
            if parent.chain().count() >= DEPTH_MAX {
                let message = format!("Foreign key cascade delete/update exceeds max depth of {DEPTH_MAX}.");
                return Err(SqlError::new(ErrorCode::ForeignKeyDepthExceeded, message));
            }
            let changed = Changed { table: child, row: &row, new: new.as_deref(), because_of: Some(parent) };
            self.leave_row(&changed)?;
            self.change_child(reference, &changed)?;
        }
        Ok(())
    }

    /// A child with the other values of its parent's key. Error 1451 if they do not fit.
    fn with_key(
        &self,
        reference: &Reference,
        (child, side): (&RelatedTable, &KeySide),
        row: &LockedRow,
        parent: &[Value],
    ) -> Result<Vec<Value>> {
        let of_parent = reference.parent.as_ref().map_or(&[][..], |parent| parent.columns.as_slice());
        let mut new = row.values()[..child.def.columns.len()].to_vec();
        for (column, of_parent) in side.columns.iter().zip(of_parent) {
            let (def, value) = (&child.def.columns[*column], &parent[*of_parent]);
            if value.is_null() && !def.nullable || is_too_long(value, def.ty) {
                return Err(has_child(reference));
            }
            new[*column].clone_from(value);
        }
        Ok(new)
    }

    /// A child that refers to nothing. Error 1451 for a column that cannot be NULL.
    fn without_key(
        &self,
        reference: &Reference,
        (child, side): (&RelatedTable, &KeySide),
        row: &LockedRow,
    ) -> Result<Vec<Value>> {
        let mut new = row.values()[..child.def.columns.len()].to_vec();
        for column in &side.columns {
            if !child.def.columns[*column].nullable {
                return Err(has_child(reference));
            }
            new[*column] = Value::Null;
        }
        Ok(new)
    }

    fn change_child(&self, reference: &Reference, changed: &Changed<'_>) -> Result<()> {
        let Changed { table, row, new, .. } = changed;
        let counters = self.context.process.counters.storage();
        let Some(new) = new else {
            return self.change(table, |transaction| table.storage.delete_locked(transaction, row, counters));
        };
        self.admit_texts(table, new)?;
        let updated = self.context.transaction.change(self.context.database.store(), |transaction| {
            table.storage.update_locked(transaction, row, new, counters)
        });
        updated.map_err(|e| self.not_updated(table, e))?;
        let before = Some(&row.values()[..table.def.columns.len()]);
        let now = NewRow { values: new, before, last_index: usize::MAX };
        self.check_parents_of(table, &now, Some(reference))
    }

    /// Error 1761 for a child that another one has the key of, which it would get.
    fn not_updated(&self, child: &RelatedTable, error: StorageError) -> SqlError {
        let StorageError::Duplicate { entry, index } = error else {
            return storage_error(&child.def, error);
        };
        let entry = entry_text(&child.def, index, entry);
        let (parent, table) = (&self.own.def.name, &child.def.name);
        let key = child.def.indexes.get(index).map_or("?", |index| &index.name);
        let message = format!(
            "Foreign key constraint for table '{parent}', record '{entry}' would lead to a duplicate entry in table \
             '{table}', key '{key}'"
        );
        SqlError::new(ErrorCode::ForeignKeyDuplicate, message)
    }
}

/// Returns true if a column of this type does not hold a text or byte string.
fn is_too_long(value: &Value, ty: SqlType) -> bool {
    match (value, ty) {
        (Value::Text(text), SqlType::Text { length, .. }) => text.chars().count() > length as usize,
        (Value::Bytes(bytes), SqlType::Bytes { length, .. }) => bytes.len() > length as usize,
        _ => false,
    }
}
