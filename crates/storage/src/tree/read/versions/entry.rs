//! Entries of secondary trees in doubt: the view does not see their last change, which may have made or marked them.
//! What they were follows from the row, whose versions are known.

use super::Seen;
use crate::{
    ReadView, Result, StorageError,
    tree::{
        btree::{Tree, TreeOverflow},
        page::{
            block::{OverflowPointer, RowBlock, cut_value},
            layout::ColumnSource,
            leaf::{BadPage, Leaf, decode::OverflowReader, single::SingleKeys},
        },
        read::by_key::Pages,
    },
};
use muster_types::Value;

/// An entry as a view sees it.
pub(super) enum SeenEntry<'a> {
    /// The values of its stored columns.
    Entry(&'a [Value]),
    Nothing,
    MustWait,
}

/// The entry that a view sees of a row.
enum EntryOfRow {
    Entry { key: Vec<u8>, values: Vec<Value> },
    Nothing,
    MustWait,
}

/// Entries of a leaf of a secondary tree in doubt. Those of one row are often neighbours, as where a counter is indexed
/// that has been counted up many times: the row is looked up once for all of them.
pub(super) struct EntriesInDoubt<'a> {
    tree: &'a Tree,
    page_no: u32,
    keys: SingleKeys<'a>,
    row_keys: SingleKeys<'a>,
    key: Vec<u8>,
    /// The row that was looked up last.
    row_key: Vec<u8>,
    of_row: Option<EntryOfRow>,
}

impl<'a> EntriesInDoubt<'a> {
    pub fn of(tree: &'a Tree, leaf: &Leaf<'a>) -> Result<EntriesInDoubt<'a>> {
        let keys = |codec| leaf.single_keys(&tree.layout, codec).map_err(|e| tree.corrupt(leaf.page_no(), e));
        let (keys, row_keys) = (keys(&tree.layout.key)?, keys(&tree.layout.clustered_key)?);
        let (key, row_key, page_no) = (Vec::new(), Vec::new(), leaf.page_no());
        Ok(EntriesInDoubt { tree, page_no, keys, row_keys, key, row_key, of_row: None })
    }

    /// The entry with the key of a row of the leaf that a view sees, if it sees one.
    pub fn seen(&mut self, row: usize, view: &ReadView, pages: &Pages<'_>) -> Result<SeenEntry<'_>> {
        let corrupt = |e: BadPage| self.tree.corrupt(self.page_no, e);
        self.key.clear();
        self.row_keys.append(&self.tree.layout.clustered_key, row, &mut self.key).map_err(corrupt)?;
        if self.of_row.is_none() || self.key != self.row_key {
            std::mem::swap(&mut self.key, &mut self.row_key);
            self.of_row = Some(self.tree.entry_seen_of(&self.row_key, view, pages)?);
        }
        Ok(match &self.of_row {
            Some(EntryOfRow::Entry { key, values }) => {
                self.key.clear();
                self.keys.append(&self.tree.layout.key, row, &mut self.key).map_err(corrupt)?;
                // A version with another key has its entry elsewhere.
                if *key == self.key { SeenEntry::Entry(values) } else { SeenEntry::Nothing }
            }
            Some(EntryOfRow::MustWait) => SeenEntry::MustWait,
            Some(EntryOfRow::Nothing) | None => SeenEntry::Nothing,
        })
    }
}

impl Tree {
    /// The entry in this secondary tree of the version that a view sees of a row.
    fn entry_seen_of(&self, row_key: &[u8], view: &ReadView, pages: &Pages<'_>) -> Result<EntryOfRow> {
        let clustered = self.history.get().and_then(|history| history.clustered.as_ref());
        let Some(clustered) = clustered else { return Err(StorageError::SnapshotTooOld) };
        let record = match clustered.seen_row(row_key, view, pages)? {
            Seen::Row(record) => record,
            Seen::Nothing => return Ok(EntryOfRow::Nothing),
            Seen::MustWait => return Ok(EntryOfRow::MustWait),
        };
        let mut row = RowBlock::new(&clustered.layout);
        clustered.layout.record.append_to(&record, &mut row).map_err(|e| clustered.corrupt(0, e))?;
        let Some(values) = self.entry_of_row(clustered, &row, Some(view), pages)? else {
            return Ok(EntryOfRow::MustWait);
        };
        Ok(EntryOfRow::Entry { key: self.key_of_values(&values)?, values })
    }

    /// Returns true if the entry in this secondary tree of a row of a leaf has this key; `None` if a long value would
    /// have to be waited for.
    pub(crate) fn is_entry_of(
        &self,
        key: &[u8],
        clustered: &Tree,
        leaf: &Leaf<'_>,
        row: usize,
        pages: &Pages<'_>,
    ) -> Result<Option<bool>> {
        let block = leaf.to_block_of_row(&clustered.layout, row);
        let block = block.map_err(|e| clustered.corrupt(leaf.page_no(), e))?;
        let Some(entry) = self.entry_of_row(clustered, &block, None, pages)? else { return Ok(None) };
        Ok(Some(self.key_of_values(&entry)? == key))
    }

    /// The entry of the first row of a block of the clustered tree; `None` if a long value would have to be waited for.
    fn entry_of_row(
        &self,
        clustered: &Tree,
        row: &RowBlock,
        view: Option<&ReadView>,
        pages: &Pages<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let mut entry = Vec::with_capacity(self.layout.columns.len());
        for stored in &self.layout.columns {
            let (column, prefix) = match stored.source {
                ColumnSource::Table { column, prefix } => (Some(column), prefix),
                ColumnSource::RowNumber => (clustered.layout.row_number(), None),
            };
            let column = column.ok_or_else(|| self.corrupt(0, BadPage("a column that no row has")))?;
            let values = &row.columns[column];
            let long = match (values.is_overflow(0), pages) {
                (false, _) => None,
                (true, Pages::Resident { .. }) => return Ok(None),
                (true, Pages::All(counters)) => {
                    let pointer = OverflowPointer::from_bytes(values.bytes(0));
                    let pointer =
                        pointer.ok_or_else(|| clustered.corrupt(0, BadPage("overflow pointer of wrong length")))?;
                    Some(TreeOverflow { tree: clustered, view, counters }.read(pointer)?)
                }
            };
            let value = values.value(0, &clustered.layout.columns[column].ty, long);
            entry.push(cut_value(&value, prefix));
        }
        Ok(Some(entry))
    }
}
