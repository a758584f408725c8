//! Entries of secondary trees in doubt: the view does not see their last change, which may have made or marked them.
//! What they were follows from the row, whose versions are known.

use super::Seen;
use crate::{
    ReadView, Result, StorageError,
    key::KeyCodec,
    tree::{
        btree::{Tree, TreeOverflow},
        page::{
            block::{OverflowPointer, RowBlock, cut_value},
            layout::ColumnSource,
            leaf::{BadPage, Leaf, decode::OverflowReader},
        },
        read::by_key::Pages,
    },
};
use muster_types::Value;

/// An entry as a view sees it.
pub(super) enum SeenEntry {
    /// The values of its stored columns.
    Entry(Vec<Value>),
    Nothing,
    MustWait,
}

impl Tree {
    /// The entry with this key that a view sees in this secondary tree, if it sees one; `row_key`: the key of its row.
    pub(super) fn seen_entry(
        &self,
        key: &[u8],
        row_key: &[u8],
        view: &ReadView,
        pages: &Pages<'_>,
    ) -> Result<SeenEntry> {
        let clustered = self.history.get().and_then(|history| history.clustered.as_ref());
        let Some(clustered) = clustered else { return Err(StorageError::SnapshotTooOld) };
        let record = match clustered.seen_row(row_key, view, pages)? {
            Seen::Row(record) => record,
            Seen::Nothing => return Ok(SeenEntry::Nothing),
            Seen::MustWait => return Ok(SeenEntry::MustWait),
        };
        let mut row = RowBlock::new(&clustered.layout);
        clustered.layout.record.append_to(&record, &mut row).map_err(|e| clustered.corrupt(0, e))?;
        let Some(entry) = self.entry_of_row(clustered, &row, Some(view), pages)? else {
            return Ok(SeenEntry::MustWait);
        };
        // A version with another key has its entry elsewhere.
        Ok(if self.key_of_values(&entry)? == key { SeenEntry::Entry(entry) } else { SeenEntry::Nothing })
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

    /// The key that `codec` makes of a row of a leaf.
    pub(super) fn key_by(&self, leaf: &Leaf<'_>, codec: &KeyCodec, row: usize) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        let made = leaf.single_keys(&self.layout, codec).and_then(|keys| keys.append(codec, row, &mut key));
        made.map(|()| key).map_err(|e| self.corrupt(leaf.page_no(), e))
    }
}
