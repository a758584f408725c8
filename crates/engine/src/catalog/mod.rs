//! The catalog: what databases, tables and views a data directory has by definition.
//!
//! ```text
//!   Stored     what the file holds                         stored.rs
//!   Snapshot   one state in memory, immutable              snapshot.rs
//!   Catalog    the current snapshot, and how it changes    mod.rs
//!   column_key PRI, UNI, MUL                               column_key.rs
//! ```
//!
//! A change clones the snapshot (its parts are shared), edits the clone, writes it to the log and only then shows the clone.
//! One lock serialises changes; readers keep the snapshot that they began with.

mod column_key;
mod snapshot;
mod stored;

pub use column_key::column_key;
pub use snapshot::{Schema, Snapshot, TableEntry, TableExtras, ViewEntry, now_utc_micros, schema_of};
pub use stored::FormerContent;

use crate::persist::{self, ChangeError, LoggedFile};
use muster_storage::{FileId, Store, mutex::Mutex};
use muster_types::Result;
use parking_lot::RwLock;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Format 1 also had the tables' statistics and AUTO_INCREMENT values, which are kept beside the tables' files now.
const KIND: persist::Kind = persist::Kind { magic: *b"MUSTCATA", version: 2 };
const FILE_NAME: &str = "catalog.mus";

/// Tables with what a catalog of format 1 said of their rows.
pub type Former = Vec<(Arc<TableEntry>, FormerContent)>;

pub struct Catalog {
    file: LoggedFile,
    current: RwLock<Arc<Snapshot>>,
    /// Held while a change is made.
    change: Mutex<()>,
}

impl Catalog {
    /// The file of a data directory's catalog.
    pub fn path(directory: &Path) -> PathBuf {
        directory.join(FILE_NAME)
    }

    fn file(store: &Arc<Store>) -> LoggedFile {
        LoggedFile::new(Arc::clone(store), FILE_NAME, KIND)
    }

    /// Returns true if a data directory has a catalog. One that has none is new.
    pub fn exists(store: &Arc<Store>) -> Result<bool> {
        Ok(Catalog::file(store).read::<serde::de::IgnoredAny>()?.is_some())
    }

    /// Reads the catalog of a data directory; `None` when it has none. Returns also what a catalog of format 1 said of
    /// tables' rows: it is lost with the next change.
    pub fn read(store: &Arc<Store>) -> Result<Option<(Catalog, Former)>> {
        let file = Catalog::file(store);
        let Some(stored) = file.read::<stored::Stored>()? else { return Ok(None) };
        let (snapshot, former) = stored.into_snapshot();
        Ok(Some((Catalog::new(file, snapshot), former)))
    }

    /// Writes an empty catalog into a data directory.
    pub fn create(store: &Arc<Store>) -> Result<Catalog> {
        let empty = Catalog::new(Catalog::file(store), Snapshot::default());
        empty.file.write(&stored::Stored::of(&empty.snapshot()), &[])?;
        Ok(empty)
    }

    fn new(file: LoggedFile, snapshot: Snapshot) -> Catalog {
        Catalog { file, current: RwLock::new(Arc::new(snapshot)), change: Mutex::new(()) }
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The state now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// Makes a change: `f` edits a copy, which becomes the state when it returns Ok and the log has it durably. It also
    /// becomes the state when the log has failed, and nobody knows. Files of pages that the copy does not name any more are
    /// removed with it.
    pub fn change<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R, ChangeError> {
        let _one_at_a_time = self.change.lock();
        let before = self.snapshot();
        let mut next = Snapshot::clone(&before);
        let result = f(&mut next)?;
        let written = self.file.write(&stored::Stored::of(&next), &files_not_in(&before, &next));
        if !matches!(written, Err(ChangeError::NotMade(_))) {
            *self.current.write() = Arc::new(next);
        }
        written.map(|()| result)
    }
}

/// Files of tables that `next` does not have any more.
fn files_not_in(before: &Snapshot, next: &Snapshot) -> Vec<FileId> {
    let kept: HashSet<FileId> = next.tables().flat_map(|table| table.files.iter().copied()).collect();
    before.tables().flat_map(|table| table.files.iter().copied()).filter(|file| !kept.contains(file)).collect()
}
