//! The file of the catalog, which records of the log change.

use super::{
    FormerContent,
    definitions::{CatalogChange, snapshot_of},
    snapshot::{Snapshot, TableEntry},
    stored::Stored,
};
use crate::persist::{self, ChangeError, FILE_BYTES_MAX, Kind, check_size, corrupt};
use muster_storage::{
    RoomUse, Store,
    checked_file::{self, HEADER_BYTES},
    definitions::Definitions,
    small_file::ReplaceError,
};
use muster_types::Result;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Format 6: rows of a table can have several layouts, which builds without them cannot read. In format 5 tables can
/// have foreign keys; builds without them must not change rows of such tables. So it was with format 4 and CHECK
/// constraints, generated columns and parts of indexes that are expressions.
const KIND: Kind = Kind { magic: *b"MUSTCATA", version: 6 };
/// Since format 3 the file holds definitions by key.
const BY_KEY: Kind = Kind { version: 3, ..KIND };
/// Format 2 was one value with all definitions. Format 1 also had the tables' statistics and AUTO_INCREMENT values,
/// which are kept beside the tables' files now.
const FORMER: Kind = Kind { version: 2, ..KIND };
const FILE_NAME: &str = "catalog.mus";

pub(super) struct CatalogFile {
    store: Arc<Store>,
    /// True if the file has this build's format: only then definitions in it can be changed.
    is_of_this_build: bool,
    /// Bytes of the whole file, about: a definition that another version wrote may have another length.
    bytes: u64,
}

/// What the file of a catalog holds.
pub(super) struct CatalogContent {
    pub snapshot: Snapshot,
    /// What a catalog of format 1 said of tables' rows.
    pub former: Vec<(Arc<TableEntry>, FormerContent)>,
}

impl CatalogFile {
    pub fn path(directory: &Path) -> PathBuf {
        directory.join(FILE_NAME)
    }

    /// Returns true if a data directory has the file.
    pub fn exists(store: &Store) -> Result<bool> {
        Ok(store.read_small_file(FILE_NAME, FILE_BYTES_MAX)?.is_some())
    }

    /// Reads the file; `None` when there is none.
    pub fn read(store: &Arc<Store>) -> Result<Option<(CatalogFile, CatalogContent)>> {
        let Some(bytes) = store.read_small_file(FILE_NAME, FILE_BYTES_MAX)? else { return Ok(None) };
        let path = CatalogFile::path(store.directory());
        let (version, _) = checked_file::open(&bytes, KIND).map_err(|reason| corrupt(&path, reason))?;
        let file = CatalogFile { store: Arc::clone(store), is_of_this_build: true, bytes: bytes.len() as u64 };
        if version < BY_KEY.version {
            let (snapshot, former) = persist::decode::<Stored>(&bytes, &path, FORMER)?.into_snapshot();
            return Ok(Some((CatalogFile { is_of_this_build: false, ..file }, CatalogContent { snapshot, former })));
        }
        let definitions =
            Definitions::from_bytes(&bytes, Kind { version, ..KIND }).map_err(|reason| corrupt(&path, reason))?;
        let snapshot = snapshot_of(&definitions.values).map_err(|reason| corrupt(&path, reason))?;
        let file = CatalogFile { is_of_this_build: version == KIND.version, ..file };
        Ok(Some((file, CatalogContent { snapshot, former: Vec::new() })))
    }

    /// Writes the file of an empty catalog.
    pub fn create(store: &Arc<Store>) -> Result<CatalogFile, ChangeError> {
        let mut file = CatalogFile { store: Arc::clone(store), is_of_this_build: false, bytes: 0 };
        file.replace(&Snapshot::default(), &Snapshot::default())?;
        Ok(file)
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the content that of another state, durably. Files of pages that the state does not name any more are
    /// removed with it. What removes files, or makes the content shorter, is done on a full disk too.
    pub fn write(&mut self, before: &Snapshot, after: &Snapshot) -> Result<(), ChangeError> {
        if !self.is_of_this_build {
            return self.replace(before, after);
        }
        let change = CatalogChange::between(before, after)?;
        if change.values.is_empty() {
            return Ok(());
        }
        let bytes = self.bytes.saturating_sub(change.bytes_before) + change.bytes_after;
        check_size(&CatalogFile::path(self.store.directory()), bytes)?;
        let room = match change.removed.is_empty() && change.bytes_after >= change.bytes_before {
            true => RoomUse::Takes,
            false => RoomUse::Frees,
        };
        let written = self.store.change_definitions(FILE_NAME, change.values, &change.removed, room);
        if !matches!(written, Err(ReplaceError::NotReplaced(_))) {
            self.bytes = bytes;
        }
        if written.is_ok() {
            self.store.keep_room(bytes);
        }
        written.map_err(ChangeError::from)
    }

    /// Replaces the whole file.
    fn replace(&mut self, before: &Snapshot, after: &Snapshot) -> Result<(), ChangeError> {
        let mut definitions = Definitions { kind: KIND, values: BTreeMap::new() };
        definitions.change(CatalogChange::between(&Snapshot::default(), after)?.values.values);
        let removed = CatalogChange::between(before, after)?.removed;
        let bytes = definitions.to_bytes();
        let len = bytes.len() as u64;
        check_size(&CatalogFile::path(self.store.directory()), len - HEADER_BYTES as u64)?;
        let room = if removed.is_empty() && len >= self.bytes { RoomUse::Takes } else { RoomUse::Frees };
        let replaced = self.store.replace_small_file(FILE_NAME, &bytes, &removed, room);
        if !matches!(replaced, Err(ReplaceError::NotReplaced(_))) {
            (self.bytes, self.is_of_this_build) = (len, true);
        }
        replaced.map_err(ChangeError::from)
    }
}
