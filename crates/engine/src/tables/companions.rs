//! Small files that belong to a tree's file and go with it: `00000017.stats` and `00000017.counter` to `00000017.mus`.
//! Those of temporary tables are kept in memory.

use crate::persist::{self, ChangeError, CheckedFiles, Kind};
use muster_storage::{FileId, Store, file::Companion, mutex::Mutex};
use muster_types::{Result, SqlError};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::HashMap, path::PathBuf, sync::Arc};

#[derive(Clone)]
pub struct Companions {
    store: Arc<Store>,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Disk(CheckedFiles),
    /// Contents by the paths that the files would have.
    Memory(Arc<Mutex<HashMap<PathBuf, Vec<u8>>>>),
}

impl Companions {
    pub fn new(store: Arc<Store>) -> Companions {
        let files = CheckedFiles::new(store.disk().clone(), store.is_synced());
        Companions { store, place: Place::Disk(files) }
    }

    /// Companions of tables that do not outlive the process.
    pub fn in_memory(store: Arc<Store>) -> Companions {
        Companions { store, place: Place::Memory(Arc::default()) }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn read<T: DeserializeOwned>(&self, file: FileId, companion: Companion, kind: Kind) -> Result<Option<T>> {
        let path = companion.path(self.store.directory(), file);
        match &self.place {
            Place::Disk(files) => files.read(&path, kind),
            Place::Memory(contents) => {
                let contents = contents.lock();
                contents.get(&path).map(|bytes| persist::decode(bytes, &path, kind)).transpose()
            }
        }
    }

    pub fn write<T: Serialize>(
        &self,
        file: FileId,
        companion: Companion,
        kind: Kind,
        value: &T,
    ) -> Result<(), ChangeError> {
        let path = companion.path(self.store.directory(), file);
        self.store.check_writable().map_err(SqlError::from)?;
        match &self.place {
            Place::Disk(files) => files.write(&path, kind, value),
            Place::Memory(contents) => {
                let bytes = persist::encode(&path, kind, value)?;
                contents.lock().insert(path, bytes);
                Ok(())
            }
        }
    }

    /// Forgets what is kept in memory of a file that goes.
    pub fn forget(&self, file: FileId) {
        let Place::Memory(contents) = &self.place else { return };
        let mut contents = contents.lock();
        for companion in Companion::ALL {
            contents.remove(&companion.path(self.store.directory(), file));
        }
    }
}
