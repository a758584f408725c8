//! Checks a table: each of its trees, and that every row has its entry in every index and every entry its row.
//!
//! Rows and entries are compared by sums of hashes while the trees are walked in the order of their keys. Only if a sum
//! differs, rows and entries are looked up one by one, to name one that is wrong.

use crate::{
    Counters, ReadView, Result, StorageError, Table,
    key::ByteRange,
    tree::{Tree, TreeLayout, TreeReport, page::block::RowBlock},
};
use muster_types::Value;
use std::hash::{DefaultHasher, Hasher};

/// Entries of an index, in no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entries {
    count: u64,
    /// The wrapping sum of the hashes of all entries.
    sum: u64,
}

impl Entries {
    fn add(&mut self, record: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write(record);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

impl Table {
    /// Checks all trees, and rows and entries against each other. No row changes meanwhile. `step` is called now and
    /// then; its error ends the check. Returns what was found in each tree. Errors: `Corrupt` with the first thing that
    /// is wrong.
    pub fn check(&self, counters: &Counters, step: &mut dyn FnMut() -> Result<()>) -> Result<Vec<TreeReport>> {
        let _unchanged = self.without_changes();
        let indexes = &self.trees()[1..];
        let mut wanted = vec![Entries::default(); indexes.len()];
        let mut reports = Vec::with_capacity(self.trees().len());
        let mut rows = 0_u64;
        reports.push(self.tree(0).check_with(counters, &mut |block, row| {
            rows += 1;
            if rows.is_multiple_of(ROWS_A_STEP) {
                step()?;
            }
            if indexes.is_empty() {
                return Ok(());
            }
            let stored = self.tree(0).row_values(block, row, None, counters)?;
            for (tree, wanted) in indexes.iter().zip(&mut wanted) {
                wanted.add(&self.entry_of(&stored, tree.layout())?.1);
            }
            Ok(())
        })?);
        for (tree, wanted) in indexes.iter().zip(wanted) {
            let mut found = Entries::default();
            reports.push(tree.check_with(counters, &mut |block, row| {
                found.add(&tree.layout().record.record_of(block, row));
                if found.count % ROWS_A_STEP == 0 { step() } else { Ok(()) }
            })?);
            if found != wanted {
                return Err(self.difference(tree, counters)?);
            }
        }
        Ok(reports)
    }

    /// The entry of a row in an index, as values and as bytes.
    fn entry_of(&self, stored: &[Value], layout: &TreeLayout) -> Result<(Vec<Value>, Vec<u8>)> {
        let (row, number) = self.split_stored(stored);
        let entry = layout.stored_values(row, number);
        let mut block = RowBlock::new(layout);
        block.push_values(layout, &entry)?;
        let record = layout.record.record_of(&block, 0);
        Ok((entry.into_owned(), record))
    }

    /// The first entry that no row has, or the first row that has no entry.
    fn difference(&self, tree: &Tree, counters: &Counters) -> Result<StorageError> {
        let (latest, clustered) = (ReadView::latest(), self.tree(0));
        let mut entries = tree.rows(ByteRange::default(), false, &latest, counters)?;
        while let Some(entry) = entries.next()? {
            let mut block = RowBlock::new(tree.layout());
            block.push_values(tree.layout(), &entry)?;
            let mut key = Vec::new();
            tree.layout().clustered_key.append_row(&block.row(0), &mut key);
            let row = clustered.get(&key, &latest, counters)?;
            let right = match &row {
                Some(stored) => self.entry_of(stored, tree.layout())?.0 == entry,
                None => false,
            };
            if !right {
                let what = if row.is_some() { "an entry that differs from its row" } else { "an entry without a row" };
                return tree.corrupt_at(&tree.key_of_values(&entry)?, what, counters);
            }
        }
        let mut rows = clustered.rows(ByteRange::default(), false, &latest, counters)?;
        while let Some(stored) = rows.next()? {
            let key = tree.key_of_values(&self.entry_of(&stored, tree.layout())?.0)?;
            if tree.get(&key, &latest, counters)?.is_none() {
                return tree.corrupt_at(&key, "a row has no entry here", counters);
            }
        }
        // Only entries that are there twice are left, and the order of keys excludes them.
        tree.corrupt_at(&[], "rows and entries differ", counters)
    }
}

/// Rows between two calls of a check's caller.
const ROWS_A_STEP: u64 = 1000;

#[cfg(test)]
#[path = "table_check_tests.rs"]
mod tests;
