//! Files that a load makes. They are removed again unless the load succeeds.

use crate::{Result, Store, file::PageFile};
use parking_lot::Mutex;
use std::sync::Arc;

pub(super) struct NewFiles {
    store: Arc<Store>,
    files: Mutex<Vec<Arc<PageFile>>>,
}

impl NewFiles {
    pub fn new(store: Arc<Store>) -> NewFiles {
        NewFiles { store, files: Mutex::default() }
    }

    pub fn create(&self, index_id: u32) -> Result<Arc<PageFile>> {
        let file = self.store.new_file(index_id)?;
        self.files.lock().push(Arc::clone(&file));
        Ok(file)
    }

    /// Removes a file that is needed no longer.
    pub fn remove(&self, file: &Arc<PageFile>) -> Result<()> {
        self.files.lock().retain(|f| f.id() != file.id());
        self.store.delete_file(file)
    }

    /// All files stay.
    pub fn keep(&self) {
        self.files.lock().clear();
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for file in self.files.get_mut() {
            // There is an error to tell already; what stays is removed when the directory is next opened.
            let _ = self.store.delete_file(file);
        }
    }
}
