//! Small files that belong to a tree's file and go with it: `00000017.stats` and `00000017.counter` to `00000017.mus`.

use crate::persist::{self, ChangeError, Kind};
use muster_storage::{FileId, Store, file::Companion};
use muster_types::Result;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

#[derive(Clone)]
pub struct Companions {
    store: Arc<Store>,
    writer: persist::Writer,
}

impl Companions {
    pub fn new(store: Arc<Store>) -> Companions {
        let writer = persist::Writer::new(store.io().clone(), store.is_synced());
        Companions { store, writer }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn writer(&self) -> &persist::Writer {
        &self.writer
    }

    pub fn read<T: DeserializeOwned>(&self, file: FileId, companion: Companion, kind: Kind) -> Result<Option<T>> {
        persist::read(&companion.path(self.store.directory(), file), kind)
    }

    pub fn write<T: Serialize>(
        &self,
        file: FileId,
        companion: Companion,
        kind: Kind,
        value: &T,
    ) -> Result<(), ChangeError> {
        self.writer.write(&companion.path(self.store.directory(), file), kind, value)
    }
}
