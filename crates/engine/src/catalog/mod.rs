//! The catalog: databases, tables and views of a data directory.
//!
//! ```text
//!   Stored     what the file holds                         stored.rs
//!   Snapshot   one state in memory, immutable              snapshot.rs
//!   Catalog    the current snapshot, and how it changes    mod.rs
//! ```
//!
//! A change clones the snapshot (its parts are shared), edits the clone, writes the file and only then shows the clone.
//! One lock serialises changes; readers keep the snapshot that they began with. What drops things also works on a full
//! disk, in room that is kept for it.

pub mod snapshot;
mod stored;

pub use snapshot::{Schema, Snapshot, TableEntry, TableExtras, ViewEntry, schema_of};

use crate::persist;
use muster_algebra::TableId;
use muster_storage::{FileId, Reserve, Store};
use muster_types::{ErrorCode, Result};
use parking_lot::{Mutex, RwLock};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

const KIND: persist::Kind = persist::Kind { magic: *b"MUSTCATA", version: 1 };
const FILE_NAME: &str = "catalog.mus";
/// Room that is kept beside that of the catalog: for the empty files of a truncated table.
const RESERVE_BYTES: u64 = 4 << 20;

pub struct Catalog {
    store: Arc<Store>,
    path: PathBuf,
    reserve: Reserve,
    sync: bool,
    current: RwLock<Arc<Snapshot>>,
    /// Held while a change is made.
    change: Mutex<()>,
}

impl Catalog {
    /// Whether a data directory has a catalog. One that has none is new.
    pub fn exists(directory: &Path) -> bool {
        directory.join(FILE_NAME).exists()
    }

    /// Reads the catalog of a data directory, or begins an empty one, and removes files that no table has. Error 1712
    /// when there are files of tables and no catalog that names them.
    pub fn open(store: Arc<Store>, sync: bool) -> Result<Catalog> {
        let path = store.directory().join(FILE_NAME);
        let snapshot = match persist::read::<stored::Stored>(&path, KIND)? {
            Some(stored) => stored.into_snapshot(),
            None if store.has_table_files()? => {
                return Err(persist::corrupt(&path, "missing, while files of tables are there: put it back"));
            }
            None => {
                let empty = Snapshot::default();
                persist::write(&path, KIND, &stored::Stored::of(&empty), sync)?;
                empty
            }
        };
        let known: Vec<FileId> = snapshot.tables().flat_map(|t| t.files.iter().copied()).collect();
        store.remove_unknown_files(&known)?;
        let reserve = Reserve::new(store.directory());
        let current = RwLock::new(Arc::new(snapshot));
        let catalog = Catalog { store, path, reserve, sync, current, change: Mutex::new(()) };
        catalog.keep_reserve();
        Ok(catalog)
    }

    /// Runs what leaves more room on the disk than it takes: on a full one once more, in the room of the reserve.
    pub fn in_reserve<R>(&self, drop: impl Fn() -> Result<R>) -> Result<R> {
        match drop() {
            Err(e) if e.code == ErrorCode::DiskFull && self.reserve.give_up()? => drop(),
            result => result,
        }
    }

    /// Makes the reserve if it is gone or too small, and there is room.
    pub fn keep_reserve(&self) {
        let catalog_bytes = fs::metadata(&self.path).map_or(0, |m| m.len());
        if let Err(e) = self.reserve.keep(RESERVE_BYTES + catalog_bytes) {
            tracing::warn!("no room is kept for dropping tables: {e}");
        }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The state now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// Makes a change: `f` edits a copy, which becomes the state when it returns Ok and the file is written.
    pub fn change<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R> {
        let _one_at_a_time = self.change.lock();
        let mut next = Snapshot::clone(&self.snapshot());
        let result = f(&mut next)?;
        persist::write(&self.path, KIND, &stored::Stored::of(&next), self.sync)?;
        *self.current.write() = Arc::new(next);
        Ok(result)
    }

    /// Deletes a table's files once nobody reads them. Only after the catalog no longer names them.
    pub fn discard(&self, entry: &TableEntry, files: &[FileId]) {
        match entry.storage(&self.store) {
            Ok(table) => table.remove_files_when_unused(files),
            // A table that cannot be opened has no readers; its files go when the directory is opened next.
            Err(e) => tracing::warn!("files of table {:?} stay until the next start: {e}", entry.def.name),
        }
    }

    /// Deletes the files of tables that are dropped, and has room for the next ones again.
    pub fn discard_tables(&self, entries: Vec<Arc<TableEntry>>) {
        for entry in entries {
            self.discard(&entry, &entry.files);
        }
        self.keep_reserve();
    }

    /// Files that were made for a change which then failed.
    pub fn discard_unpublished(&self, schema: muster_storage::TableSchema, files: Vec<FileId>) {
        if let Ok(table) = self.store.open_table(schema, files.clone(), Default::default()) {
            table.remove_files_when_unused(&files);
        }
    }
}

/// Numbers of `information_schema`'s tables: counted from here, where no stored table gets to.
pub const FIRST_VIRTUAL_TABLE: TableId = TableId(1 << 62);
