//! Changing a tree: rows that come, go and are replaced. The leaf that a row is in is taken apart and written again
//! ([`super::split`]); all pages of a change are written together ([`super::mini_transaction`]).

use super::{
    block::{OverflowPointer, RowBlock},
    btree::{MAX_HEIGHT, Step, Tree},
    inner,
    leaf::BadPage,
    mini_transaction::MiniTransaction,
    overflow,
};
use crate::{
    Counters, Result, StorageError,
    key::{ByteRange, prefix_end},
    page::{NO_PAGE, PageType},
};
use muster_types::Value;

/// The leaf a key belongs to.
struct Found {
    path: Vec<Step>,
    page: u32,
    block: RowBlock,
    /// The first row not before the key.
    row: usize,
    /// True if this row has the key.
    exact: bool,
}

impl Tree {
    /// Adds a row: values of the stored columns. Errors: `Duplicate` (unique indexes: the declared parts; others: the
    /// whole key), `RowTooLarge`, `WrongType`, and those of reading and allocating pages. On an error the tree is as
    /// it was.
    pub fn insert(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<()> {
        let mut change = self.begin(counters);
        change.insert(values, trx_id)?;
        change.commit()
    }

    /// Puts a row in the place of the one with the same key. Returns whether there was one. On an error the tree is as
    /// it was.
    pub fn replace(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<bool> {
        let mut change = self.begin(counters);
        let found = change.replace(values, trx_id)?;
        change.commit().map(|()| found)
    }

    /// Removes the row with this key; returns its values. On an error the tree is as it was.
    pub fn delete(&self, key: &[u8], counters: &Counters) -> Result<Option<Vec<Value>>> {
        let mut change = self.begin(counters);
        let deleted = change.delete(key)?;
        change.commit().map(|()| deleted)
    }

    /// The key of a row given as values of the stored columns.
    pub fn key_of_values(&self, values: &[Value]) -> Result<Vec<u8>> {
        self.key_of(&self.one_row(values)?)
    }

    fn one_row(&self, values: &[Value]) -> Result<RowBlock> {
        if values.len() != self.layout.columns.len() {
            let value = format!("{} values for {} columns", values.len(), self.layout.columns.len());
            return Err(StorageError::WrongType { value });
        }
        let mut block = RowBlock::new(&self.layout);
        block.push_values(&self.layout, values)?;
        Ok(block)
    }

    fn key_of(&self, block: &RowBlock) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.layout.key.append_row(&block.row(0), &mut key);
        let limit = inner::max_key(self.file.page_size());
        if key.len() > limit { Err(StorageError::RowTooLarge { bytes: key.len(), limit }) } else { Ok(key) }
    }
}

/// Changes to a tree. After an error the transaction must be dropped, since a part of what was asked may be in it.
impl MiniTransaction<'_> {
    /// Inserts a row as [`Tree::insert`] does.
    pub fn insert(&mut self, values: &[Value], trx_id: u64) -> Result<()> {
        let mut new = self.tree.one_row(values)?;
        self.raise_trx_id(trx_id);
        let key = self.tree.key_of(&new)?;
        self.check_unique(&new, &key)?;
        self.spill(&mut new)?;
        let found = self.find(&key)?;
        let block = found.block.splice(&self.tree.layout, found.row..found.row, &new);
        self.header.row_count += 1;
        self.store_leaf(found.path, found.page, block, Some(found.row))
    }

    /// Replaces a row as [`Tree::replace`] does.
    pub fn replace(&mut self, values: &[Value], trx_id: u64) -> Result<bool> {
        let mut new = self.tree.one_row(values)?;
        self.raise_trx_id(trx_id);
        let key = self.tree.key_of(&new)?;
        let found = self.find(&key)?;
        if !found.exact {
            return Ok(false);
        }
        self.spill(&mut new)?;
        let block = found.block.splice(&self.tree.layout, found.row..found.row + 1, &new);
        self.unlink_long_values(&found.block, found.row)?;
        self.store_leaf(found.path, found.page, block, None)?;
        Ok(true)
    }

    /// Deletes a row as [`Tree::delete`] does.
    pub fn delete(&mut self, key: &[u8]) -> Result<Option<Vec<Value>>> {
        let found = self.find(key)?;
        if !found.exact {
            return Ok(None);
        }
        let values = self.tree.row_values(&found.block, found.row, self.counters)?;
        let nothing = RowBlock::new(&self.tree.layout);
        let block = found.block.splice(&self.tree.layout, found.row..found.row + 1, &nothing);
        self.header.row_count = self.header.row_count.saturating_sub(1);
        self.unlink_long_values(&found.block, found.row)?;
        self.store_leaf(found.path, found.page, block, None)?;
        Ok(Some(values))
    }

    /// Descends to the leaf that a key belongs to: the pages on the way, and the leaf's number.
    fn descend(&self, key: &[u8]) -> Result<(Vec<Step>, u32)> {
        let mut path = Vec::new();
        let mut page_no = self.header.root;
        if self.header.height as usize > MAX_HEIGHT {
            return Err(self.tree.corrupt(page_no, BadPage("impossible height")));
        }
        for level in (1..self.header.height as usize).rev() {
            let page = self.page(page_no)?;
            let inner = self.tree.inner_of(&page, page_no, level)?;
            let child = inner.find(key);
            path.push(Step { page: page_no, child });
            page_no = inner.child(child);
        }
        Ok((path, page_no))
    }

    fn find(&self, key: &[u8]) -> Result<Found> {
        let (path, page_no) = self.descend(key)?;
        let corrupt = |e| self.tree.corrupt(page_no, e);
        let (page, layout) = (self.page(page_no)?, &self.tree.layout);
        let leaf = self.tree.leaf_of(&page, page_no)?;
        let block = leaf.to_block(layout).map_err(corrupt)?;
        let row = leaf.lower_bound(layout, key).map_err(corrupt)?;
        let exact = row < leaf.rows() && leaf.key(layout, row).map_err(corrupt)? == key;
        Ok(Found { path, page: page_no, block, row, exact })
    }

    fn check_unique(&self, new: &RowBlock, key: &[u8]) -> Result<()> {
        let layout = &self.tree.layout;
        let mut declared = Vec::new();
        layout.key.append_row_parts(&new.row(0), layout.declared_parts, &mut declared);
        let has_null =
            layout.key.parts[..layout.declared_parts].iter().any(|p| p.nullable && new.columns[p.column].is_null(0));
        let by_declared = layout.unique && !has_null && layout.declared_parts > 0;
        let range = match by_declared {
            true => ByteRange { upper: prefix_end(&declared), lower: declared },
            false => ByteRange { lower: key.to_vec(), upper: prefix_end(key) },
        };
        if self.first_in(&range)?.is_none() {
            return Ok(());
        }
        let parts = if by_declared { layout.declared_parts } else { layout.key.parts.len() };
        let entry = layout.key.parts[..parts].iter().map(|p| {
            let ty = &layout.columns[p.column].ty;
            let value = new.columns[p.column].value(0, ty, None);
            value.to_text(fsp(ty)).unwrap_or_else(|| "NULL".into())
        });
        Err(StorageError::Duplicate { entry: entry.collect::<Vec<_>>().join("-"), index: layout.index })
    }

    /// The first key in a range.
    fn first_in(&self, range: &ByteRange) -> Result<Option<Vec<u8>>> {
        let (_, mut page_no) = self.descend(&range.lower)?;
        loop {
            let corrupt = |e| self.tree.corrupt(page_no, e);
            let page = self.page(page_no)?;
            let leaf = self.tree.leaf_of(&page, page_no)?;
            let row = leaf.lower_bound(&self.tree.layout, &range.lower).map_err(corrupt)?;
            if row < leaf.rows() {
                let key = leaf.key(&self.tree.layout, row).map_err(corrupt)?;
                return Ok(range.contains(&key).then_some(key));
            }
            // The lower bound lies behind this leaf's rows: the next one has rows, or there is none.
            match leaf.right() {
                NO_PAGE => return Ok(None),
                next => page_no = next,
            }
        }
    }

    /// Puts long values of a row on pages of their own.
    fn spill(&mut self, block: &mut RowBlock) -> Result<()> {
        let (tree, page_size) = (self.tree, self.tree.file.page_size());
        overflow::spill(block, 0..1, &tree.layout, page_size, |value| {
            let len = u32::try_from(value.len());
            let len = len.map_err(|_| StorageError::RowTooLarge { bytes: value.len(), limit: u32::MAX as usize })?;
            // From the end, so that each page knows the next.
            let mut next = NO_PAGE;
            for start in (0..value.len()).step_by(overflow::piece_bytes(page_size)).rev() {
                next = self.allocate_filled(PageType::Overflow, |page| {
                    overflow::write_piece(&value[start..], next, page);
                })?;
            }
            Ok(OverflowPointer { page: next, len })
        })
    }

    /// The pages of a row's long values go with the row.
    fn unlink_long_values(&mut self, block: &RowBlock, row: usize) -> Result<()> {
        for column in block.columns.iter().filter(|c| c.is_overflow(row)) {
            let Some(pointer) = OverflowPointer::from_bytes(column.bytes(row)) else { continue };
            let (mut page_no, mut rest) = (pointer.page, pointer.len as usize);
            while rest > 0 {
                let page = self.tree.fetch(page_no, self.counters)?;
                let piece = overflow::read_piece(&page, rest);
                let (piece, next) = piece.map_err(|e| self.tree.corrupt(page_no, e))?;
                rest -= piece.len();
                drop(page);
                self.unlink(page_no);
                page_no = next;
            }
        }
        Ok(())
    }
}

/// Digits of fractional seconds that values of the type show.
pub fn fsp(ty: &muster_types::SqlType) -> u8 {
    match ty {
        muster_types::SqlType::DateTime { fsp }
        | muster_types::SqlType::Timestamp { fsp }
        | muster_types::SqlType::Time { fsp } => *fsp,
        _ => 0,
    }
}
