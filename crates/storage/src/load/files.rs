//! Files that a load makes. They are removed again unless the load succeeds.

use crate::{Result, Table, file::PageFile};
use parking_lot::Mutex;
use std::sync::Arc;

pub(super) struct NewFiles {
    /// The table that is loaded: the files are in its directory, which it keeps open.
    table: Arc<Table>,
    files: Mutex<Vec<Arc<PageFile>>>,
}

impl NewFiles {
    pub fn new(table: Arc<Table>) -> NewFiles {
        NewFiles { table, files: Mutex::default() }
    }

    pub fn create(&self, index_id: u32) -> Result<Arc<PageFile>> {
        // They are kept as those of the table are.
        let temporary = self.table.tree(0).file().temporary_space();
        let file = self.table.open_files().new_file(index_id, temporary)?;
        self.files.lock().push(Arc::clone(&file));
        Ok(file)
    }

    /// Removes a file that is needed no longer.
    pub fn remove(&self, file: &Arc<PageFile>) -> Result<()> {
        self.files.lock().retain(|f| f.id() != file.id());
        self.table.open_files().delete_file(file)
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
            let _ = self.table.open_files().delete_file(file);
        }
    }
}
