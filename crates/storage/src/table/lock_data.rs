//! The values of keys that are locked, for reports.

use super::Table;
use crate::{Counters, Result};
use muster_types::Value;

impl Table {
    /// The number of the index whose tree has a file of this number.
    pub fn index_of_tree(&self, tree: u32) -> Option<usize> {
        self.trees.iter().position(|known| known.file().id().0 == tree)
    }

    /// The values of the parts of an entry's key, in an index: the declared parts, then those of the primary key that
    /// make it unique. Returns `None` if there is no such entry. Errors: those of reading pages.
    pub fn values_of_key(&self, index: usize, key: &[u8], counters: &Counters) -> Result<Option<Vec<Value>>> {
        let Some(tree) = self.trees.get(index) else { return Ok(None) };
        let Some(row) = tree.current(key, counters)? else { return Ok(None) };
        let is_part = |column: usize| tree.layout().is_key_column(column);
        let values = tree.some_values_of_record(&row.record, is_part, counters)?;
        Ok(Some(tree.layout().key.parts.iter().map(|part| values[part.column].clone()).collect()))
    }
}
