//! Changing a tree: insert, replace and delete rows; split, merge and free pages. The leaf that a row is in is taken
//! apart and written again.

use super::{
    block::{OverflowPointer, RowBlock},
    btree::{Step, Tree},
    inner::{self, Child, Inner, InnerNode},
    leaf::{self, RowExtents, write_leaf},
    overflow,
};
use crate::{
    Counters, Result, StorageError,
    buffer_pool::PageGuardMut,
    key::{ByteRange, prefix_end},
    page::{NO_PAGE, PAGE_HEADER, PageType},
};
use muster_types::Value;
use std::sync::atomic::Ordering;

/// A page with less than this share of its room looks for rows of a neighbour.
const MIN_FILL: usize = 4;

/// The leaf a key belongs to.
struct Found {
    path: Vec<Step>,
    page: u32,
    block: RowBlock,
    /// The first row not before the key.
    row: usize,
    /// Whether this row has the key.
    exact: bool,
}

impl Tree {
    /// Adds a row: values of the stored columns. Errors: `Duplicate` (unique indexes: the declared parts; others: the
    /// whole key), `RowTooLarge`, `WrongType`.
    pub fn insert(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<()> {
        let _shape = self.shape.write();
        let mut new = self.one_row(values, trx_id)?;
        let key = self.key_of(&new)?;
        self.check_unique(&new, &key, counters)?;
        self.spill(&mut new, counters)?;
        let found = self.find(&key, counters)?;
        let block = found.block.splice(&self.layout, found.row..found.row, &new);
        self.file.update_header(|h| h.row_count += 1);
        self.store_leaf(found.path, found.page, block, Some(found.row), counters)
    }

    /// Puts a row in the place of the one with the same key. Returns whether there was one.
    pub fn replace(&self, values: &[Value], trx_id: u64, counters: &Counters) -> Result<bool> {
        let _shape = self.shape.write();
        let mut new = self.one_row(values, trx_id)?;
        let key = self.key_of(&new)?;
        let found = self.find(&key, counters)?;
        if !found.exact {
            return Ok(false);
        }
        self.spill(&mut new, counters)?;
        let block = found.block.splice(&self.layout, found.row..found.row + 1, &new);
        self.store_leaf(found.path, found.page, block, None, counters)?;
        // Whoever read the old leaf has let it go by now.
        self.free_long_values(&found.block, found.row, counters)?;
        Ok(true)
    }

    /// Removes the row with this key; returns its values.
    pub fn delete(&self, key: &[u8], counters: &Counters) -> Result<Option<Vec<Value>>> {
        let _shape = self.shape.write();
        let found = self.find(key, counters)?;
        if !found.exact {
            return Ok(None);
        }
        let values = self.row_values(&found.block, found.row, counters)?;
        let nothing = RowBlock::new(&self.layout);
        let block = found.block.splice(&self.layout, found.row..found.row + 1, &nothing);
        self.file.update_header(|h| h.row_count = h.row_count.saturating_sub(1));
        self.store_leaf(found.path, found.page, block, None, counters)?;
        self.free_long_values(&found.block, found.row, counters)?;
        Ok(Some(values))
    }

    /// The key of a row given as values of the stored columns.
    pub fn key_of_values(&self, values: &[Value]) -> Result<Vec<u8>> {
        self.key_of(&self.one_row(values, 0)?)
    }

    fn one_row(&self, values: &[Value], trx_id: u64) -> Result<RowBlock> {
        if values.len() != self.layout.columns.len() {
            let value = format!("{} values for {} columns", values.len(), self.layout.columns.len());
            return Err(StorageError::WrongType { value });
        }
        let mut block = RowBlock::new(&self.layout);
        block.push_values(&self.layout, values, trx_id)?;
        Ok(block)
    }

    fn key_of(&self, block: &RowBlock) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.layout.key.append_row(&block.row(0), &mut key);
        let limit = inner::max_key(self.file.page_size());
        if key.len() > limit { Err(StorageError::RowTooLarge { bytes: key.len(), limit }) } else { Ok(key) }
    }

    fn find(&self, key: &[u8], counters: &Counters) -> Result<Found> {
        let mut path = Vec::new();
        let page = self.descend(counters, |inner| inner.find(key), |step, _| path.push(step))?;
        let page_no = page.page_no();
        let corrupt = |e| self.corrupt(page_no, e);
        let leaf = self.leaf(&page)?;
        let block = leaf.to_block(&self.layout).map_err(corrupt)?;
        let row = leaf.lower_bound(&self.layout, key).map_err(corrupt)?;
        let exact = row < leaf.rows() && leaf.key(&self.layout, row).map_err(corrupt)? == key;
        Ok(Found { path, page: page_no, block, row, exact })
    }

    fn check_unique(&self, new: &RowBlock, key: &[u8], counters: &Counters) -> Result<()> {
        let layout = &self.layout;
        let mut declared = Vec::new();
        layout.key.append_row_parts(&new.row(0), layout.declared_parts, &mut declared);
        let has_null =
            layout.key.parts[..layout.declared_parts].iter().any(|p| p.nullable && new.columns[p.column].is_null(0));
        let by_declared = layout.unique && !has_null && layout.declared_parts > 0;
        let range = match by_declared {
            true => ByteRange { upper: prefix_end(&declared), lower: declared },
            false => ByteRange { lower: key.to_vec(), upper: prefix_end(key) },
        };
        if self.first_in(&range, counters)?.is_none() {
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
    fn first_in(&self, range: &ByteRange, counters: &Counters) -> Result<Option<Vec<u8>>> {
        let mut page = self.descend(counters, |inner| inner.find(&range.lower), |_, _| {})?;
        loop {
            let corrupt = |e| self.corrupt(page.page_no(), e);
            let leaf = self.leaf(&page)?;
            let row = leaf.lower_bound(&self.layout, &range.lower).map_err(corrupt)?;
            if row < leaf.rows() {
                let key = leaf.key(&self.layout, row).map_err(corrupt)?;
                return Ok(range.contains(&key).then_some(key));
            }
            // The lower bound lies behind this leaf's rows: the next one has rows, or there is none.
            match leaf.next() {
                NO_PAGE => return Ok(None),
                next => page = self.fetch(next, counters)?,
            }
        }
    }

    // Long values

    fn spill(&self, block: &mut RowBlock, counters: &Counters) -> Result<()> {
        overflow::spill(block, 0..1, &self.layout, self.file.page_size(), |value| {
            let len = u32::try_from(value.len());
            let len = len.map_err(|_| StorageError::RowTooLarge { bytes: value.len(), limit: u32::MAX as usize })?;
            // From the end, so that each page knows the next.
            let mut next = NO_PAGE;
            let piece = overflow::piece_bytes(self.file.page_size());
            for start in (0..value.len()).step_by(piece).rev() {
                let mut page = self.pool.new_page(&self.file, PageType::Overflow, counters)?;
                let page_no = page.page_no();
                overflow::write_piece(&value[start..], next, &mut page);
                page.header_mut().set_identity(page_no, self.file.index_id());
                next = page_no;
            }
            Ok(OverflowPointer { page: next, len })
        })
    }

    fn free_long_values(&self, block: &RowBlock, row: usize, counters: &Counters) -> Result<()> {
        for column in block.columns.iter().filter(|c| c.is_overflow(row)) {
            let Some(pointer) = OverflowPointer::from_bytes(column.bytes(row)) else { continue };
            let (mut page_no, mut rest) = (pointer.page, pointer.len as usize);
            while rest > 0 {
                let page = self.pool.fetch_mut(&self.file, page_no, counters)?;
                let (piece, next) = overflow::read_piece(&page, rest).map_err(|e| self.corrupt(page_no, e))?;
                rest -= piece.len();
                self.pool.free_page(&self.file, page);
                page_no = next;
            }
        }
        Ok(())
    }

    // Pages

    /// Writes a leaf over a page that has its place in the chain.
    fn write_leaf(&self, page: &mut PageGuardMut, block: &RowBlock, extents: &RowExtents) {
        let (page_no, prev, next) = (page.page_no(), page.header().prev(), page.header().next());
        write_leaf(block, extents, &self.fit.widths, page);
        let mut header = page.header_mut();
        header.set_identity(page_no, self.file.index_id());
        header.set_prev(prev);
        header.set_next(next);
    }

    fn write_inner(&self, page_no: u32, node: &InnerNode, counters: &Counters) -> Result<()> {
        let mut page = self.pool.fetch_mut(&self.file, page_no, counters)?;
        node.write(&mut page);
        page.header_mut().set_identity(page_no, self.file.index_id());
        Ok(())
    }

    fn new_inner(&self, node: &InnerNode, counters: &Counters) -> Result<u32> {
        let mut page = self.pool.new_page(&self.file, PageType::Inner, counters)?;
        let page_no = page.page_no();
        node.write(&mut page);
        page.header_mut().set_identity(page_no, self.file.index_id());
        Ok(page_no)
    }

    fn read_inner(&self, page_no: u32, counters: &Counters) -> Result<InnerNode> {
        let page = self.fetch(page_no, counters)?;
        Ok(Inner::new(&page).map_err(|e| self.corrupt(page_no, e))?.to_node())
    }

    fn read_leaf(&self, page_no: u32, counters: &Counters) -> Result<RowBlock> {
        let page = self.fetch(page_no, counters)?;
        self.leaf(&page)?.to_block(&self.layout).map_err(|e| self.corrupt(page_no, e))
    }

    fn free(&self, page_no: u32, counters: &Counters) -> Result<()> {
        let page = self.pool.fetch_mut(&self.file, page_no, counters)?;
        self.pool.free_page(&self.file, page);
        Ok(())
    }

    // Leaves

    /// Puts rows in the place of a leaf's, splitting or merging it if need be. `inserted`: the row that is new.
    fn store_leaf(
        &self,
        mut path: Vec<Step>,
        page_no: u32,
        block: RowBlock,
        inserted: Option<usize>,
        counters: &Counters,
    ) -> Result<()> {
        self.version.fetch_add(1, Ordering::AcqRel);
        let extents = RowExtents::of(&block, 0..block.rows());
        let bytes = extents.bytes(&block, &self.fit.widths);
        if bytes > self.fit.bytes || block.rows() > self.fit.max_rows {
            return self.split_leaf(path, page_no, block, bytes, inserted, counters);
        }
        let mut page = self.pool.fetch_mut(&self.file, page_no, counters)?;
        self.write_leaf(&mut page, &block, &extents);
        drop(page);
        let Some(parent) = path.last().copied() else { return Ok(()) };
        if (bytes >= self.fit.bytes / MIN_FILL || inserted.is_some()) && block.rows() > 0 {
            return self.store_row_counts(&path, block.rows() as u64, counters);
        }
        path.pop();
        let mut above = self.read_inner(parent.page, counters)?;
        self.join_leaves(&mut above, parent.child, counters)?;
        self.store_inner(path, parent.page, above, counters)
    }

    /// Tells the pages on the path how many rows a leaf has now.
    fn store_row_counts(&self, path: &[Step], rows: u64, counters: &Counters) -> Result<()> {
        let mut rows = rows;
        for step in path.iter().rev() {
            let mut page = self.pool.fetch_mut(&self.file, step.page, counters)?;
            let at = PAGE_HEADER + 8 * step.child;
            page[at..at + 8].copy_from_slice(&rows.to_le_bytes());
            let inner = Inner::new(&page).map_err(|e| self.corrupt(step.page, e))?;
            rows = (0..inner.children()).map(|i| inner.rows(i)).sum();
        }
        Ok(())
    }

    fn split_leaf(
        &self,
        mut path: Vec<Step>,
        page_no: u32,
        block: RowBlock,
        bytes: usize,
        inserted: Option<usize>,
        counters: &Counters,
    ) -> Result<()> {
        let pieces = self.cut(&block, bytes, inserted, counters, page_no)?;
        let mut page = self.pool.fetch_mut(&self.file, page_no, counters)?;
        let next = page.header().next();
        let mut children = vec![Child { separator: Vec::new(), page: page_no, rows: pieces[0].rows().len() as u64 }];
        // The new leaves come behind the old one.
        for i in 1..pieces.len() {
            let mut new = self.pool.new_page(&self.file, PageType::Leaf, counters)?;
            let new_no = new.page_no();
            page.header_mut().set_next(new_no);
            self.write_leaf(&mut page, &block, &pieces[i - 1]);
            new.header_mut().set_prev(page.page_no());
            new.header_mut().set_next(next);
            children.push(Child {
                separator: self.separator_at(&block, pieces[i].rows().start),
                page: new_no,
                rows: pieces[i].rows().len() as u64,
            });
            page = new;
        }
        self.write_leaf(&mut page, &block, &pieces[pieces.len() - 1]);
        let last = page.page_no();
        drop(page);
        if next != NO_PAGE {
            self.pool.fetch_mut(&self.file, next, counters)?.header_mut().set_prev(last);
        }
        self.file.update_header(|h| h.leaf_count += pieces.len() as u64 - 1);
        match path.pop() {
            Some(parent) => {
                let mut above = self.read_inner(parent.page, counters)?;
                children[0].separator = std::mem::take(&mut above.children[parent.child].separator);
                above.children.splice(parent.child..parent.child + 1, children);
                self.store_inner(path, parent.page, above, counters)
            }
            None => self.grow(InnerNode { level: 1, children }, counters),
        }
    }

    /// The separator between a block's row and the one before it.
    fn separator_at(&self, block: &RowBlock, row: usize) -> Vec<u8> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        self.layout.key.append_row(&block.row(row - 1), &mut left);
        self.layout.key.append_row(&block.row(row), &mut right);
        inner::separator(&left, &right)
    }

    /// Cuts rows that do not fit a leaf into such that do. Rows that come in key order at the end of the tree leave
    /// full leaves behind them.
    fn cut(
        &self,
        block: &RowBlock,
        bytes: usize,
        inserted: Option<usize>,
        counters: &Counters,
        page_no: u32,
    ) -> Result<Vec<RowExtents>> {
        let rows = block.rows();
        if inserted == Some(rows - 1) && rows > 1 {
            let at_end = self.fetch(page_no, counters)?.header().next() == NO_PAGE;
            let full = RowExtents::of(block, 0..rows - 1);
            if at_end && full.bytes(block, &self.fit.widths) <= self.fit.bytes {
                return Ok(vec![full, RowExtents::of(block, rows - 1..rows)]);
            }
        }
        let mut half = self.fit.clone();
        half.bytes = (bytes / 2).min(self.fit.bytes);
        half.max_rows = self.fit.max_rows.min(rows.div_ceil(2)).max(1);
        let mut pieces = vec![half.take(block, 0, rows / 2)];
        while pieces[pieces.len() - 1].rows().end < rows {
            let start = pieces[pieces.len() - 1].rows().end;
            pieces.push(self.fit.take(block, start, rows - start));
        }
        Ok(pieces)
    }

    /// Makes one leaf of two neighbours, or evens them out. One of the two is `child`.
    fn join_leaves(&self, above: &mut InnerNode, child: usize, counters: &Counters) -> Result<()> {
        let Some((l, r)) = neighbours(above, child) else {
            above.children[child].rows = self.read_leaf(above.children[child].page, counters)?.rows() as u64;
            return Ok(());
        };
        let (left_no, right_no) = (above.children[l].page, above.children[r].page);
        let mut block = self.read_leaf(left_no, counters)?;
        let right = self.read_leaf(right_no, counters)?;
        block.append_block(&right, 0..right.rows());
        let all = RowExtents::of(&block, 0..block.rows());
        let bytes = all.bytes(&block, &self.fit.widths);
        // Not so full that the next insert splits it again.
        if bytes <= self.fit.bytes * 7 / 8 && block.rows() <= self.fit.max_rows {
            let mut page = self.pool.fetch_mut(&self.file, left_no, counters)?;
            let next = self.fetch(right_no, counters)?.header().next();
            page.header_mut().set_next(next);
            self.write_leaf(&mut page, &block, &all);
            drop(page);
            if next != NO_PAGE {
                self.pool.fetch_mut(&self.file, next, counters)?.header_mut().set_prev(left_no);
            }
            self.free(right_no, counters)?;
            self.file.update_header(|h| h.leaf_count = h.leaf_count.saturating_sub(1));
            above.children[l].rows = block.rows() as u64;
            above.children.remove(r);
            return Ok(());
        }
        let pieces = self.cut(&block, bytes, None, counters, left_no)?;
        let [first, second] = pieces.as_slice() else {
            // Rows of very different sizes: the two stay as they are.
            above.children[l].rows = (block.rows() - right.rows()) as u64;
            above.children[r].rows = right.rows() as u64;
            return Ok(());
        };
        for (page_no, extents) in [(left_no, first), (right_no, second)] {
            let mut page = self.pool.fetch_mut(&self.file, page_no, counters)?;
            self.write_leaf(&mut page, &block, extents);
        }
        above.children[l].rows = first.rows().len() as u64;
        above.children[r].rows = second.rows().len() as u64;
        above.children[r].separator = self.separator_at(&block, second.rows().start);
        Ok(())
    }

    // Inner pages

    /// Puts a node in the place of an inner page, splitting or merging it if need be, and tells the pages above.
    fn store_inner(&self, mut path: Vec<Step>, page: u32, node: InnerNode, counters: &Counters) -> Result<()> {
        let room = inner::room(self.file.page_size());
        let (mut page, mut node) = (page, node);
        while let Some(parent) = path.pop() {
            let mut above = self.read_inner(parent.page, counters)?;
            let child = parent.child;
            if node.bytes() > room {
                let right = InnerNode { level: node.level, children: node.children.split_off(node.middle()) };
                self.write_inner(page, &node, counters)?;
                let right_no = self.new_inner(&right, counters)?;
                above.children[child].rows = node.rows();
                above.children.insert(child + 1, child_of(&right, right_no));
            } else if node.bytes() < room / MIN_FILL && above.children.len() > 1 {
                self.write_inner(page, &node, counters)?;
                self.join_inner(&mut above, child, counters)?;
            } else {
                self.write_inner(page, &node, counters)?;
                above.children[child].rows = node.rows();
            }
            (page, node) = (parent.page, above);
        }
        if node.bytes() > room {
            let right = InnerNode { level: node.level, children: node.children.split_off(node.middle()) };
            self.write_inner(page, &node, counters)?;
            let right_no = self.new_inner(&right, counters)?;
            let children = vec![child_of(&node, page), child_of(&right, right_no)];
            return self.grow(InnerNode { level: node.level + 1, children }, counters);
        }
        self.write_inner(page, &node, counters)?;
        self.shrink(counters)
    }

    /// Makes one inner page of two neighbours, or evens them out. One of the two is `child`.
    fn join_inner(&self, above: &mut InnerNode, child: usize, counters: &Counters) -> Result<()> {
        let Some((l, r)) = neighbours(above, child) else { return Ok(()) };
        let (left_no, right_no) = (above.children[l].page, above.children[r].page);
        let mut left = self.read_inner(left_no, counters)?;
        let mut right = self.read_inner(right_no, counters)?;
        right.children[0].separator.clone_from(&above.children[r].separator);
        left.children.append(&mut right.children);
        if left.bytes() <= inner::room(self.file.page_size()) * 7 / 8 {
            self.write_inner(left_no, &left, counters)?;
            self.free(right_no, counters)?;
            above.children[l].rows = left.rows();
            above.children.remove(r);
            return Ok(());
        }
        right.children = left.children.split_off(left.middle());
        self.write_inner(left_no, &left, counters)?;
        self.write_inner(right_no, &right, counters)?;
        above.children[l].rows = left.rows();
        above.children[r] = child_of(&right, right_no);
        Ok(())
    }

    /// A new root above the old one.
    fn grow(&self, root: InnerNode, counters: &Counters) -> Result<()> {
        let page = self.new_inner(&root, counters)?;
        self.file.update_header(|h| {
            h.root = page;
            h.height += 1;
        });
        Ok(())
    }

    /// Takes roots with one child away.
    fn shrink(&self, counters: &Counters) -> Result<()> {
        while self.file.header().height > 1 {
            let root = self.file.header().root;
            let node = self.read_inner(root, counters)?;
            let [only] = node.children.as_slice() else { break };
            self.file.update_header(|h| {
                h.root = only.page;
                h.height -= 1;
            });
            self.free(root, counters)?;
        }
        Ok(())
    }
}

/// A child and the one next to it, left one first.
fn neighbours(node: &InnerNode, child: usize) -> Option<(usize, usize)> {
    if child + 1 < node.children.len() {
        Some((child, child + 1))
    } else {
        child.checked_sub(1).map(|left| (left, child))
    }
}

/// A node as its parent sees it.
fn child_of(node: &InnerNode, page: u32) -> Child {
    Child { separator: node.children[0].separator.clone(), page, rows: node.rows() }
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

/// Bytes that a leaf must have at least, for those who check.
pub(super) fn min_leaf_bytes(page_size: usize) -> usize {
    leaf::room(page_size) / MIN_FILL
}
