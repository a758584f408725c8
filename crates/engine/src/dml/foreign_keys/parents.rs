//! A row that is there needs a parent for each of its foreign keys whose columns are not NULL.

use super::{ForeignKeys, RelatedTable, differs, no_parent, values_of};
use crate::{
    dml::write::Written,
    tables::{KeySide, Reference},
};
use muster_storage::LockMode;
use muster_types::{Result, Value};

/// A row of a table as it is now.
pub struct NewRow<'r> {
    pub values: &'r [Value],
    /// The row before; `None` if it has come just now. Keys whose columns are as they were are not looked at.
    pub before: Option<&'r [Value]>,
    /// The last index whose keys are looked at: InnoDB looks at those of an index before it adds the entry.
    pub last_index: usize,
}

impl<'r> NewRow<'r> {
    /// A row that has been inserted. One that has met another in an index is looked at up to that index.
    pub fn inserted(values: &'r [Value], written: &Written) -> NewRow<'r> {
        let last_index = match written {
            Written::Duplicate { index, .. } => *index,
            _ => usize::MAX,
        };
        NewRow { values, before: None, last_index }
    }

    /// Returns true if the row has the values that its key refers to. InnoDB looks for them before it adds the entry of
    /// the key's index: those of the indexes before it are the row's own by then, the others are as they were.
    fn is_its_own_parent(&self, (child, parent): (&KeySide, &KeySide), values: &[Value]) -> bool {
        let known = if parent.index < child.index { Some(self.values) } else { self.before };
        known.and_then(|row| values_of(row, &parent.columns)).is_some_and(|own| own == values)
    }
}

impl ForeignKeys<'_> {
    /// Looks for the parents of a row of the statement's table. Error 1452.
    pub fn check_parents(&self, row: &NewRow<'_>) -> Result<()> {
        self.check_parents_of(&self.own, row, None)
    }

    /// The same for a row of any table. `except`: the key whose parent the row was changed with.
    pub(super) fn check_parents_of(
        &self,
        table: &RelatedTable,
        row: &NewRow<'_>,
        except: Option<&Reference>,
    ) -> Result<()> {
        for reference in table.family.parents.iter().filter(|reference| except != Some(&***reference)) {
            let Some(child) = reference.child.as_ref().filter(|child| child.index <= row.last_index) else { continue };
            if row.before.is_some_and(|before| !differs(before, row.values, &child.columns)) {
                continue;
            }
            let Some(values) = values_of(row.values, &child.columns) else { continue };
            let Some(parent) = &reference.parent else { return Err(no_parent(reference)) };
            let is_of_itself = reference.is_of_itself();
            if is_of_itself && row.is_its_own_parent((child, parent), &values) {
                continue;
            }
            let parent_table = self.related(parent.table)?;
            let mut scan = self.scan(&parent_table, parent, &values, LockMode::Shared)?;
            let counters = self.context.process.counters.storage();
            let mut next = || self.change(&parent_table, |transaction| scan.next(transaction, counters));
            let is_itself = |found: &Vec<Value>| is_of_itself && found.starts_with(row.values);
            let found = match next()? {
                Some(found) if is_itself(&found) => next()?,
                found => found,
            };
            if found.is_none() {
                return Err(no_parent(reference));
            }
        }
        Ok(())
    }
}
