//! A table as undo and purge see it. Tables stand above transactions, and know them; transactions know this only.

use super::{NeededVersions, SeenByAll, UndoRecord};
use crate::{FileId, Result, log::Lsn};
use std::sync::Arc;

/// Opens the table that has a clustered tree; `None` if it was dropped.
pub(crate) type ChangedTableSource = Arc<dyn Fn(FileId) -> Result<Option<Arc<dyn ChangedTable>>> + Send + Sync>;

/// A table with changes that may be undone or purged.
pub(crate) trait ChangedTable: Send + Sync {
    /// The file of the clustered tree, by which undo records name the table.
    fn clustered_file(&self) -> FileId;

    /// Undoes the change that the undo record at a position was written for. Errors: those of reading and changing
    /// pages.
    fn undo_change(&self, at: Lsn, undo: &UndoRecord, needed: &mut NeededVersions<'_>) -> Result<()>;

    /// Removes what nobody needs any more of the version before a change, whose transaction all views see. Done once
    /// more, it does nothing. Errors: those of reading and changing pages.
    fn purge_version(
        &self,
        undo: &UndoRecord,
        seen: &SeenByAll,
        at: Lsn,
        needed: &mut NeededVersions<'_>,
    ) -> Result<()>;

    /// Returns true if the version before a change has long values that go with it. A row that went has taken its own
    /// along.
    fn has_long_version(&self, undo: &UndoRecord) -> Result<bool>;

    /// Frees the pages of the long values of the version before a change, which nobody needs any more.
    fn free_long_version(&self, undo: &UndoRecord) -> Result<()>;

    /// Returns true if a change would not have to wait now until changes are allowed.
    fn may_be_changed_now(&self) -> bool;

    /// Lets all reads fail with `SnapshotTooOld` that begin from now on.
    fn close_to_readers(&self);

    /// Returns true if there are unique trees beside the clustered one.
    fn has_unique_entries(&self) -> bool;

    /// Returns true if a secondary tree is unique, given by its position among them.
    fn is_unique(&self, secondary: usize) -> bool;

    /// The keys of the entries, in the order of the secondary trees, of the version that an undo record leads to.
    /// Errors: those of reading long values.
    fn keys_of_entries(&self, undo: &UndoRecord) -> Result<Vec<Vec<u8>>>;
}
