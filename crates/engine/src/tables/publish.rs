//! How the tables change: new definitions are written to the log, and with them the files of a change become a table's,
//! or are deleted.

use super::{AutoIncrement, Content, Tables, companions::Companions};
use crate::{
    catalog::{Snapshot, TableEntry},
    persist::ChangeError,
};
use muster_storage::FileId;
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// Room that is kept on the disk for the empty files of a truncated table. The log keeps its own for the catalog.
const RESERVE_BYTES: u64 = 4 << 20;

impl Tables {
    /// Makes a change: `f` edits a copy of the definitions, which become the state when it returns Ok and the log has
    /// them. Files that are no longer named are deleted once nobody reads them.
    pub fn change<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R> {
        self.try_change(f).map_err(SqlError::from)
    }

    fn try_change<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R, ChangeError> {
        let changing = self.change.lock();
        let changed = self.catalog.change(f);
        if matches!(changed, Err(ChangeError::NotMade(_))) {
            return changed;
        }
        let before = self.current();
        // A view that is taken from now on sees all that the tables' transactions have done until now.
        let since = self.store().moment_of_views();
        let next = Arc::new(before.next(self.catalog.snapshot(), &self.companions, since));
        *self.current.write() = next.clone();
        drop(changing);
        self.sessions.forget_layers();
        if changed.is_ok() && before.discard_files_not_in(&next, self.store()) {
            // The files can go with the last reference to them, which this may be.
            drop(before);
            self.keep_reserve();
        }
        changed
    }

    /// Makes a change that brings new files, `made`, into a table. What is known of the table's rows is written before
    /// the catalog names the files; `None`: there are no rows. If the change is not made, the new files are deleted.
    pub fn publish<R>(
        &self,
        rows: Option<&UnpublishedRows<'_>>,
        made: NewFiles<'_>,
        f: impl FnOnce(&mut Snapshot) -> Result<R>,
    ) -> Result<R> {
        let written = rows.map_or(Ok(()), |rows| rows.write(&self.companions));
        let changed = match written {
            Ok(()) => self.try_change(f),
            Err(ChangeError::NotMade(e)) => Err(ChangeError::NotMade(e)),
            // Nobody names the files yet, and nothing behind this would make them durable.
            Err(ChangeError::DurabilityUnknown(_)) => {
                let message = "the change is not made: the names of its files could not be made durable";
                Err(ChangeError::NotMade(SqlError::new(ErrorCode::Unknown, message)))
            }
        };
        if !matches!(changed, Err(ChangeError::NotMade(_))) {
            made.keep();
        }
        changed.map_err(SqlError::from)
    }

    /// Writes what is known of a table's rows, whose columns are about to change while the rows stay. What cannot be
    /// written is found out anew later.
    pub fn keep_content(&self, entry: &TableEntry) -> Result<()> {
        let current = self.current();
        let (content, table) = (current.content(entry.def.id)?, current.storage(entry.def.id, self.store())?);
        let content = Content { changed_rows: table.changed_rows(), ..Content::clone(&content) };
        let (files, column_ids) = (&entry.files, &entry.layouts.ids);
        let rows = UnpublishedRows { files, column_ids, content: &content, auto_increment: None };
        if let Err(e) = rows.write(&self.companions) {
            tracing::debug!("statistics are not kept: {}", SqlError::from(e));
        }
        Ok(())
    }

    /// Begins another state of the same tables: plans that were made for the one before are made anew.
    pub(super) fn begin_next(&self) {
        let _changing = self.change.lock();
        let before = self.current();
        // No file is new, so it does not matter to whom one would be.
        let next = before.next(Arc::clone(&before.definitions), &self.companions, 0);
        *self.current.write() = Arc::new(next);
        self.sessions.forget_layers();
    }

    /// Runs a change that leaves more room on the disk than it takes: on a full one once more, in the room of the
    /// reserve.
    pub fn in_reserve<R>(&self, change: impl Fn() -> Result<R>) -> Result<R> {
        match change() {
            Err(e) if e.code == ErrorCode::DiskFull && self.reserve.give_up()? => {
                let changed = change();
                self.keep_reserve();
                changed
            }
            result => result,
        }
    }

    /// Makes the reserve if it is gone or too small, and there is room.
    pub(super) fn keep_reserve(&self) {
        self.store().keep_room(self.catalog.file_bytes());
        if let Err(e) = self.reserve.keep(RESERVE_BYTES) {
            tracing::warn!("no room is kept for dropping tables: {e}");
        }
    }

    /// Files that were made for a table, until a change names them.
    pub fn new_files(&self, files: Vec<FileId>) -> NewFiles<'_> {
        NewFiles { tables: self, files }
    }
}

/// Files of pages that no table has yet. They are deleted, with what belongs to them, unless [`Tables::publish`] gives
/// them to one: whatever keeps a statement from doing so, none of them stays.
#[must_use]
pub struct NewFiles<'a> {
    tables: &'a Tables,
    files: Vec<FileId>,
}

impl NewFiles<'_> {
    /// Takes care of one more file.
    pub fn with(mut self, file: FileId) -> Self {
        self.files.push(file);
        self
    }

    pub(super) fn keep(mut self) {
        self.files.clear();
    }
}

impl Drop for NewFiles<'_> {
    fn drop(&mut self) {
        for id in &self.files {
            if let Err(e) = self.tables.store().delete_file_of(*id) {
                tracing::warn!("file {} stays until the next start: {e}", id.0);
            }
        }
    }
}

/// The rows in files of a table that the catalog does not name yet.
pub struct UnpublishedRows<'a> {
    /// All files of the table, the clustered tree's first.
    pub files: &'a [FileId],
    /// Ids of the columns that the content is of; empty: their positions.
    pub column_ids: &'a [u32],
    pub content: &'a Content,
    /// The first value of the AUTO_INCREMENT column for rows in a new clustered tree; `None` if the tree is not new.
    pub auto_increment: Option<u64>,
}

impl UnpublishedRows<'_> {
    pub(super) fn write(&self, companions: &Companions) -> Result<(), ChangeError> {
        if let Some(next) = self.auto_increment {
            AutoIncrement::write(companions, self.files[0], next)?;
        }
        self.content.write_all(companions, self.files, self.column_ids)
    }
}
