//! Stored tables as open handles: the catalog names their files, this module opens, locks and deletes them.
//!
//! ```text
//!   Tables      the tables of a data directory, and how they change    mod.rs
//!   TableSet    one state: definitions with their handles              set.rs
//!   Handle      one table's files, opened at first use                 handle.rs
//!   Content     statistics, in a file beside the clustered tree's      content.rs
//!   AutoIncrement   the next value, in a file beside it too            auto_increment.rs
//!   Companions  such files                                             companions.rs
//!   storage_error   what storage reports, in MySQL's words             storage_error.rs
//! ```
//!
//! A change edits the catalog and makes the next set. Files that the catalog named before a change and no longer names
//! after it are deleted as soon as no statement reads them, unless it is not known whether the change is durable: then
//! those of both states stay until the next start, which sees what became of it.

mod auto_increment;
mod companions;
mod content;
mod handle;
mod set;
mod storage_error;

pub use auto_increment::{AutoIncrement, least_auto_increment};
pub use content::Content;
pub use set::TableSet;
pub use storage_error::storage_error;

use crate::{
    catalog::{Catalog, Former, Snapshot},
    persist::{self, ChangeError},
};
use companions::Companions;
use muster_storage::{FileId, Reserve, Store};
use muster_types::{ErrorCode, Result, SqlError};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Room that is kept beside that of the catalog: for the empty files of a truncated table.
const RESERVE_BYTES: u64 = 4 << 20;
/// How often a statement that waits for a lock looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(20);

pub struct Tables {
    companions: Companions,
    catalog: Catalog,
    reserve: Reserve,
    current: RwLock<Arc<TableSet>>,
    /// Held while a change is made.
    change: Mutex<()>,
}

impl Tables {
    /// Reads the catalog of a data directory, or begins an empty one, and removes files that no table has. Error 1712
    /// when there are files of tables and no catalog that names them.
    pub fn open(store: Arc<Store>) -> Result<Tables> {
        let companions = Companions::new(store);
        let store = companions.store();
        let (catalog, former) = match Catalog::read(store.directory(), companions.writer())? {
            Some(read) => read,
            None if store.has_table_files()? => {
                let path = Catalog::path(store.directory());
                return Err(persist::corrupt(&path, "missing, while files of tables are there: put it back"));
            }
            None => (Catalog::create(store.directory(), companions.writer())?, Former::new()),
        };
        take_over(&companions, &catalog, former)?;
        let definitions = catalog.snapshot();
        let known: Vec<FileId> = definitions.tables().flat_map(|t| t.files.iter().copied()).collect();
        store.remove_unknown_files(&known)?;
        let reserve = Reserve::new(store.directory());
        let current = RwLock::new(Arc::new(TableSet::default().next(definitions, &companions)));
        let tables = Tables { companions, catalog, reserve, current, change: Mutex::new(()) };
        tables.keep_reserve();
        Ok(tables)
    }

    pub fn store(&self) -> &Arc<Store> {
        self.companions.store()
    }

    /// The state now.
    pub fn current(&self) -> Arc<TableSet> {
        self.current.read().clone()
    }

    /// The definitions as they are now.
    pub fn definitions(&self) -> Arc<Snapshot> {
        self.current.read().definitions.clone()
    }

    /// Makes a change: `f` edits a copy of the definitions, which become the state when it returns Ok and the catalog
    /// is written. Files that are no longer named are deleted once nobody reads them.
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
        let next = Arc::new(before.next(self.catalog.snapshot(), &self.companions));
        *self.current.write() = next.clone();
        drop(changing);
        if changed.is_ok() && before.discard_files_not_in(&next, self.store()) {
            // The files can go with the last reference to them, which this may be.
            drop(before);
            self.keep_reserve();
        }
        changed
    }

    /// Makes a change that brings new files, `made`, into a table. What is known of the table's rows is written before the
    /// catalog names the files; `None`: there are no rows. If the change is not made, the new files are deleted.
    pub fn publish<R>(
        &self,
        rows: Option<&Rows<'_>>,
        made: &[FileId],
        f: impl FnOnce(&mut Snapshot) -> Result<R>,
    ) -> Result<R> {
        let written = rows.map_or(Ok(()), |rows| rows.write(&self.companions));
        let changed = match written {
            // Files that nobody names yet are in the directory, which the catalog's own rename syncs again.
            Ok(()) | Err(ChangeError::DurabilityUnknown(_)) => self.try_change(f),
            Err(ChangeError::NotMade(e)) => Err(ChangeError::NotMade(e)),
        };
        if matches!(changed, Err(ChangeError::NotMade(_))) {
            self.discard_unpublished(made);
        }
        changed.map_err(SqlError::from)
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
    fn keep_reserve(&self) {
        if let Err(e) = self.reserve.keep(RESERVE_BYTES + self.catalog.file_bytes()) {
            tracing::warn!("no room is kept for dropping tables: {e}");
        }
    }

    /// Deletes files that were made for a change which then was not made.
    pub fn discard_unpublished(&self, files: &[FileId]) {
        let store = self.store();
        for id in files {
            if let Err(e) = store.open_file(*id).and_then(|file| store.delete_file(&file)) {
                tracing::warn!("file {} stays until the next start: {e}", id.0);
            }
        }
    }
}

/// Waits until nobody else builds new files of a table from its old ones, or until the statement is killed (error 1317).
pub fn lock_writer<'a>(writer: &'a Mutex<()>, cancel: &CancellationToken) -> Result<MutexGuard<'a, ()>> {
    loop {
        if let Some(locked) = writer.try_lock_for(KILL_CHECK) {
            return Ok(locked);
        }
        if cancel.is_cancelled() {
            return Err(SqlError::interrupted());
        }
    }
}

/// The rows in files of a table that the catalog does not name yet.
pub struct Rows<'a> {
    /// All files of the table, the clustered tree's first.
    pub files: &'a [FileId],
    pub content: &'a Content,
    /// The first value of the AUTO_INCREMENT column for rows in a new clustered tree; `None` if the tree is not new.
    pub auto_increment: Option<u64>,
}

impl Rows<'_> {
    fn write(&self, companions: &Companions) -> Result<(), ChangeError> {
        if let Some(next) = self.auto_increment {
            AutoIncrement::write(companions, self.files[0], next)?;
        }
        self.content.write(companions, self.files)
    }
}

/// Puts what a catalog of format 1 said of tables' rows where it is kept now, and writes the catalog without it.
fn take_over(companions: &Companions, catalog: &Catalog, former: Former) -> Result<()> {
    if former.is_empty() {
        return Ok(());
    }
    for (entry, former) in former {
        let content = Content { statistics: former.statistics, loaded: former.updated };
        let auto_increment = Some(former.auto_increment);
        Rows { files: &entry.files, content: &content, auto_increment }.write(companions)?;
    }
    Ok(catalog.change(|_| Ok(()))?)
}
