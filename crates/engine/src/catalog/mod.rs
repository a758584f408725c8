//! The catalog: what databases, tables and views a data directory has by definition.
//!
//! ```text
//!   CatalogFile       the file, changed by records of the log              file.rs
//!   CatalogChange     definitions by key, and what differs between two states    definitions.rs
//!   Snapshot          one state in memory, immutable                       snapshot.rs
//!   Stored            what the file held in former formats                 stored.rs
//!   Catalog           the current snapshot, and how it changes             mod.rs
//!   column_key        PRI, UNI, MUL                                        column_key.rs
//! ```
//!
//! A change clones the snapshot (its parts are shared), edits the clone, writes what differs to the log and only then
//! shows the clone. One lock serialises changes; readers keep the snapshot that they began with.

mod column_key;
mod definitions;
mod file;
mod snapshot;
mod stored;

pub use column_key::column_key;
pub use snapshot::{
    Schema, Snapshot, TableEntry, TableExtras, ViewEntry, is_temporary, is_view, now_utc_micros, schema_of,
    temporary_id,
};
pub use stored::FormerContent;

use crate::persist::ChangeError;
use file::{CatalogContent, CatalogFile};
use muster_storage::{Store, mutex::Mutex};
use muster_types::Result;
use parking_lot::RwLock;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Tables with what a catalog of format 1 said of their rows.
pub type Former = Vec<(Arc<TableEntry>, FormerContent)>;

pub struct Catalog {
    current: RwLock<Arc<Snapshot>>,
    /// The file. Locked while a change is made.
    file: Mutex<CatalogFile>,
}

impl Catalog {
    /// The file of a data directory's catalog.
    pub fn path(directory: &Path) -> PathBuf {
        CatalogFile::path(directory)
    }

    /// Returns true if a data directory has a catalog. One that has none is new.
    pub fn exists(store: &Store) -> Result<bool> {
        CatalogFile::exists(store)
    }

    /// Reads the catalog of a data directory; `None` when it has none. Returns also what a catalog of format 1 said of
    /// tables' rows: it is lost with the next change.
    pub fn read(store: &Arc<Store>) -> Result<Option<(Catalog, Former)>> {
        let Some((file, CatalogContent { snapshot, former })) = CatalogFile::read(store)? else { return Ok(None) };
        Ok(Some((Catalog::new(file, snapshot), former)))
    }

    /// Writes an empty catalog into a data directory.
    pub fn create(store: &Arc<Store>) -> Result<Catalog> {
        Ok(Catalog::new(CatalogFile::create(store)?, Snapshot::default()))
    }

    fn new(file: CatalogFile, snapshot: Snapshot) -> Catalog {
        Catalog { file: Mutex::new(file), current: RwLock::new(Arc::new(snapshot)) }
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file.lock().bytes()
    }

    /// The state now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// Makes a change: `f` edits a copy, which becomes the state when it returns Ok and the log has it durably. It also
    /// becomes the state when the log has failed, and nobody knows. Files of pages that the copy does not name any more
    /// are removed with it.
    pub fn change<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R, ChangeError> {
        let mut file = self.file.lock();
        let before = self.snapshot();
        let mut next = Snapshot::clone(&before);
        let result = f(&mut next)?;
        let written = file.write(&before, &next);
        if !matches!(written, Err(ChangeError::NotMade(_))) {
            *self.current.write() = Arc::new(next);
        }
        written.map(|()| result)
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
