//! Small files that belong to a tree's file and go with it: `00000017.stats` and `00000017.counter` to `00000017.mus`.

use crate::persist::{ChangeError, CheckedFiles, Kind};
use muster_storage::{FileId, Store, file::Companion};
use muster_types::{Result, SqlError};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

#[derive(Clone)]
pub struct Companions {
    store: Arc<Store>,
    files: CheckedFiles,
}

impl Companions {
    pub fn new(store: Arc<Store>) -> Companions {
        let files = CheckedFiles::new(store.disk().clone(), store.is_synced());
        Companions { store, files }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn read<T: DeserializeOwned>(&self, file: FileId, companion: Companion, kind: Kind) -> Result<Option<T>> {
        self.files.read(&companion.path(self.store.directory(), file), kind)
    }

    pub fn write<T: Serialize>(
        &self,
        file: FileId,
        companion: Companion,
        kind: Kind,
        value: &T,
    ) -> Result<(), ChangeError> {
        self.store.check_writable().map_err(SqlError::from)?;
        self.files.write(&companion.path(self.store.directory(), file), kind, value)
    }
}
