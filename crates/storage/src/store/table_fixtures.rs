//! The store of a table, for tests that have no more than the table.

use super::Store;
use crate::Table;
use std::sync::Arc;

impl Table {
    /// The store that has opened the table.
    pub(crate) fn store(&self) -> Arc<Store> {
        Arc::clone(self.kept_open()).downcast().expect("a store keeps the directory of a table open")
    }
}
