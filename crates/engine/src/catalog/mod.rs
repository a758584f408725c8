//! The catalog: what databases, tables and views a data directory has by definition.
//!
//! ```text
//!   Stored     what the file holds                         stored.rs
//!   Snapshot   one state in memory, immutable              snapshot.rs
//!   Catalog    the current snapshot, and how it changes    mod.rs
//!   column_key PRI, UNI, MUL                               column_key.rs
//! ```
//!
//! A change clones the snapshot (its parts are shared), edits the clone, writes the file and only then shows the clone.
//! One lock serialises changes; readers keep the snapshot that they began with.

mod column_key;
mod snapshot;
mod stored;

pub use column_key::column_key;
pub use snapshot::{Schema, Snapshot, TableEntry, TableExtras, ViewEntry, now_utc_micros, schema_of};
pub use stored::FormerContent;

use crate::persist::{self, ChangeError};
use muster_types::Result;
use parking_lot::{Mutex, RwLock};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Format 1 also had the tables' statistics and AUTO_INCREMENT values, which are kept beside the tables' files now.
const KIND: persist::Kind = persist::Kind { magic: *b"MUSTCATA", version: 2 };
const FILE_NAME: &str = "catalog.mus";

/// Tables with what a catalog of format 1 said of their rows.
pub type Former = Vec<(Arc<TableEntry>, FormerContent)>;

pub struct Catalog {
    path: PathBuf,
    files: persist::CheckedFiles,
    current: RwLock<Arc<Snapshot>>,
    /// Held while a change is made.
    change: Mutex<()>,
}

impl Catalog {
    /// The file of a data directory's catalog.
    pub fn path(directory: &Path) -> PathBuf {
        directory.join(FILE_NAME)
    }

    /// Returns true if a data directory has a catalog. One that has none is new.
    pub fn exists(directory: &Path, files: &persist::CheckedFiles) -> Result<bool> {
        Ok(files.len_of(&Catalog::path(directory))?.is_some())
    }

    /// Reads the catalog of a data directory; `None` when it has none. Returns also what a catalog of format 1 said of
    /// tables' rows: it is lost with the next change.
    pub fn read(directory: &Path, files: &persist::CheckedFiles) -> Result<Option<(Catalog, Former)>> {
        let Some(stored) = files.read::<stored::Stored>(&Catalog::path(directory), KIND)? else { return Ok(None) };
        let (snapshot, former) = stored.into_snapshot();
        Ok(Some((Catalog::new(directory, files, snapshot), former)))
    }

    /// Writes an empty catalog into a data directory.
    pub fn create(directory: &Path, files: &persist::CheckedFiles) -> Result<Catalog> {
        let empty = Catalog::new(directory, files, Snapshot::default());
        files.write(&empty.path, KIND, &stored::Stored::of(&empty.snapshot()))?;
        Ok(empty)
    }

    fn new(directory: &Path, files: &persist::CheckedFiles, snapshot: Snapshot) -> Catalog {
        let current = RwLock::new(Arc::new(snapshot));
        Catalog { path: Catalog::path(directory), files: files.clone(), current, change: Mutex::new(()) }
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.files.len_of(&self.path).ok().flatten().unwrap_or(0)
    }

    /// The state now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// Makes a change: `f` edits a copy, which becomes the state when it returns Ok and the file is written. It also
    /// becomes the state when the file is written but not known to be durable.
    pub fn change<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R, ChangeError> {
        let _one_at_a_time = self.change.lock();
        let mut next = Snapshot::clone(&self.snapshot());
        let result = f(&mut next)?;
        let written = self.files.write(&self.path, KIND, &stored::Stored::of(&next));
        if !matches!(written, Err(ChangeError::NotMade(_))) {
            *self.current.write() = Arc::new(next);
        }
        written.map(|()| result)
    }
}
