//! Stored tables as open handles: the catalog names their files, this module opens, locks and deletes them.
//!
//! ```text
//!   Tables      the tables of a data directory, and how they change    mod.rs
//!   TableSet    one state: definitions with their handles              set.rs
//!   Handle      one table's files, opened at first use                 handle.rs
//!   storage_error   what storage reports, in MySQL's words             storage_error.rs
//! ```
//!
//! A change edits the catalog and makes the next set. Files that the catalog named before a change and no longer names
//! after it are deleted as soon as no statement reads them.

mod handle;
mod set;
mod storage_error;

pub use set::TableSet;
pub use storage_error::storage_error;

use crate::{
    catalog::{Catalog, Snapshot},
    persist,
};
use muster_storage::{FileId, Reserve, Store, TableSchema};
use muster_types::{ErrorCode, Result};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// Room that is kept beside that of the catalog: for the empty files of a truncated table.
const RESERVE_BYTES: u64 = 4 << 20;

pub struct Tables {
    store: Arc<Store>,
    catalog: Catalog,
    reserve: Reserve,
    current: RwLock<Arc<TableSet>>,
    /// Held while a change is made.
    change: Mutex<()>,
}

impl Tables {
    /// Reads the catalog of a data directory, or begins an empty one, and removes files that no table has. Error 1712
    /// when there are files of tables and no catalog that names them.
    pub fn open(store: Arc<Store>, sync: bool) -> Result<Tables> {
        let catalog = match Catalog::read(store.directory(), sync)? {
            Some(catalog) => catalog,
            None if store.has_table_files()? => {
                let path = Catalog::path(store.directory());
                return Err(persist::corrupt(&path, "missing, while files of tables are there: put it back"));
            }
            None => Catalog::create(store.directory(), sync)?,
        };
        let definitions = catalog.snapshot();
        let known: Vec<FileId> = definitions.tables().flat_map(|t| t.files.iter().copied()).collect();
        store.remove_unknown_files(&known)?;
        let reserve = Reserve::new(store.directory());
        let current = RwLock::new(Arc::new(TableSet::default().next(definitions)));
        let tables = Tables { store, catalog, reserve, current, change: Mutex::new(()) };
        tables.keep_reserve();
        Ok(tables)
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
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
        let changing = self.change.lock();
        let result = self.catalog.change(f)?;
        let before = self.current();
        let next = Arc::new(before.next(self.catalog.snapshot()));
        *self.current.write() = next.clone();
        drop(changing);
        if before.discard_files_not_in(&next, &self.store) {
            // The files can go with the last reference to them, which this may be.
            drop(before);
            self.keep_reserve();
        }
        Ok(result)
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

    /// Deletes files that were made for a change which then failed.
    pub fn discard_unpublished(&self, schema: TableSchema, files: Vec<FileId>) {
        if let Ok(table) = self.store.open_table(schema, files.clone(), Default::default()) {
            table.remove_files_when_unused(&files);
        }
    }
}
