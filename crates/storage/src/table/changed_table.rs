//! The table as undo and purge see it.

use super::Table;
use crate::{
    FileId, Result,
    log::Lsn,
    transaction::{ChangedTable, NeededVersions, SeenByAll, UndoRecord},
    tree::UndoKind,
};

impl ChangedTable for Table {
    fn clustered_file(&self) -> FileId {
        self.files[0]
    }

    fn undo_change(&self, at: Lsn, undo: &UndoRecord, needed: &mut NeededVersions<'_>) -> Result<()> {
        self.undo(at, undo, needed)
    }

    fn purge_version(
        &self,
        undo: &UndoRecord,
        seen: &SeenByAll,
        at: Lsn,
        needed: &mut NeededVersions<'_>,
    ) -> Result<()> {
        self.purge(undo, seen, at, needed)
    }

    fn has_long_version(&self, undo: &UndoRecord) -> Result<bool> {
        let clustered = self.tree(0);
        Ok(undo.kind == UndoKind::Update
            && !undo.leaves_nothing
            && clustered.spills()
            && clustered.has_long_values(undo.layout, &undo.own_record(clustered)?)?)
    }

    fn free_long_version(&self, undo: &UndoRecord) -> Result<()> {
        self.free_long_values(undo.layout, &undo.own_record(self.tree(0))?)
    }

    fn may_be_changed_now(&self) -> bool {
        self.guards().may_change_now()
    }

    /// Those whose view is older do not see the transaction that could not be rolled back, and its rows stay locked.
    fn close_to_readers(&self) {
        (0..self.trees.len()).for_each(|index| self.set_since(index, u64::MAX));
    }

    fn has_unique_entries(&self) -> bool {
        self.schema.indexes[1..].iter().any(|index| index.unique)
    }

    fn is_unique(&self, secondary: usize) -> bool {
        self.schema.indexes[secondary + 1].unique
    }

    fn keys_of_entries(&self, undo: &UndoRecord) -> Result<Vec<Vec<u8>>> {
        let values = self.values_for_entries(&undo.own_values(&self.trees[0])?, self.counters())?;
        self.trees[1..].iter().map(|tree| self.entry(tree, &values).map(|(_, key)| key)).collect()
    }
}
