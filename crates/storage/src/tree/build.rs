//! A tree bottom-up: leaves in key order as rows come, inner pages at the end. Writes past the buffer pool.

use super::page::{
    block::{BlockValues, OverflowPointer, RowBlock},
    inner::{self, Child},
    layout::{Physical, TreeLayout},
    leaf::{self, Fences, Fit, RowExtents, write_leaf},
    overflow,
};
use crate::{
    Result, StorageError,
    file::{PageFile, ROOT_PAGE, SequentialWriter},
    page::{NO_PAGE, PageHeaderMut},
};
use arrow_array::ArrayRef;
use std::{collections::HashMap, ops::Range, sync::Arc};

/// Leaves and inner pages are filled to this share, so that the first inserts do not split them.
const FILL: (usize, usize) = (15, 16);

/// Takes rows in key order. The file is complete and synced when [`TreeBuilder::finish`] returns; on an error the
/// caller deletes it.
pub struct TreeBuilder {
    layout: Arc<TreeLayout>,
    writer: SequentialWriter,
    fit: Fit,
    /// Rows not yet in a leaf, from `start` on.
    block: RowBlock,
    start: usize,
    /// Long values of these rows; their pointers hold the number here instead of a page.
    long: HashMap<u32, Vec<u8>>,
    next_long: u32,
    page: Vec<u8>,
    /// Rows of the leaf before.
    guess: usize,
    /// The low fence of the next leaf.
    low_fence: Vec<u8>,
    leaves: Vec<Child>,
    rows: u64,
    /// The root, once it is known: page 1, for which room is left at the beginning.
    root: Option<Vec<u8>>,
}

/// The shape of the tree that was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeShape {
    pub rows: u64,
    pub leaf_pages: u64,
    /// Levels, the leaves included.
    pub height: u32,
}

impl TreeBuilder {
    /// `writer` is on a fresh file.
    pub fn new(layout: Arc<TreeLayout>, mut writer: SequentialWriter) -> TreeBuilder {
        let page_size = writer.file().page_size();
        writer.leave_room_for_root();
        let mut fit = fit(&layout, page_size);
        fit.bytes = fit.bytes * FILL.0 / FILL.1;
        TreeBuilder {
            fit,
            block: RowBlock::new(&layout),
            start: 0,
            long: HashMap::new(),
            next_long: 0,
            page: vec![0; page_size],
            guess: 64,
            low_fence: Vec::new(),
            leaves: Vec::new(),
            rows: 0,
            root: None,
            layout,
            writer,
        }
    }

    pub fn layout(&self) -> &Arc<TreeLayout> {
        &self.layout
    }

    /// Appends rows: one Arrow array per stored column of the layout, with the types that
    /// [`muster_types::SqlType`] documents (Int64 for the hidden row number), no NULLs in NOT NULL columns. Values
    /// of prefix columns are cut here. Keys are greater than all before; the caller has seen to duplicates.
    ///
    /// Errors: `WrongType`, `RowTooLarge`, I/O.
    pub fn append(&mut self, columns: &[ArrayRef], rows: Range<usize>) -> Result<()> {
        // In pieces, so that the block stays small.
        for start in rows.clone().step_by(PIECE_ROWS) {
            let piece = start..(start + PIECE_ROWS).min(rows.end);
            let before = self.block.rows();
            self.block.append_arrays(&self.layout, columns, piece)?;
            self.spill(before)?;
            self.write_full_leaves()?;
        }
        Ok(())
    }

    /// Rows appended so far.
    pub fn rows(&self) -> u64 {
        self.rows + (self.block.rows() - self.start) as u64
    }

    fn spill(&mut self, from: usize) -> Result<()> {
        let rows = from..self.block.rows();
        let (long, next) = (&mut self.long, &mut self.next_long);
        overflow::spill(&mut self.block, rows, &self.layout, self.page.len(), |value| {
            let len = u32::try_from(value.len());
            let len = len.map_err(|_| StorageError::RowTooLarge { bytes: value.len(), limit: u32::MAX as usize })?;
            long.insert(*next, value.to_vec());
            let pointer = OverflowPointer { page: *next, len };
            *next = next.wrapping_add(1);
            Ok(pointer)
        })
    }

    fn write_full_leaves(&mut self) -> Result<()> {
        loop {
            let (extents, high_fence) = self.next_leaf()?;
            if high_fence.is_none() {
                break;
            }
            self.write_leaf(&extents, high_fence)?;
        }
        // Moving what is left is cheap only if much has gone.
        if self.start >= PIECE_ROWS {
            self.block.drain(self.start);
            self.start = 0;
        }
        Ok(())
    }

    /// As many rows as fit the next leaf, and its high fence; none if these are all rows.
    fn next_leaf(&self) -> Result<(RowExtents, Option<Vec<u8>>)> {
        let mut fences = 2 * self.low_fence.len();
        loop {
            let extents = self.fit.take(&self.block, self.start, self.guess, fences);
            let rows = extents.rows();
            let high = match rows.end < self.block.rows() {
                true => Some(inner::separator(&self.key(rows.end - 1)?, &self.key(rows.end)?)),
                false => None,
            };
            let needed = self.low_fence.len() + high.as_ref().map_or(0, Vec::len);
            let bytes = extents.bytes(&self.block, &self.fit.widths) + needed;
            // A row can be removed without more room.
            let room = leaf::room(self.page.len()) - leaf::SLOT;
            if rows.len() <= 1 || bytes <= room {
                return Ok((extents, high));
            }
            fences = fences.max(needed) + bytes - room;
        }
    }

    /// The key of a row of the block. Errors: `RowTooLarge`.
    fn key(&self, row: usize) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.layout.key.append_row(&self.block.row(row), &mut key);
        let limit = inner::max_key(self.page.len());
        if key.len() > limit { Err(StorageError::RowTooLarge { bytes: key.len(), limit }) } else { Ok(key) }
    }

    fn write_leaf(&mut self, extents: &RowExtents, high_fence: Option<Vec<u8>>) -> Result<()> {
        let rows = extents.rows();
        // The only leaf is the root.
        let is_root = self.leaves.is_empty() && high_fence.is_none();
        let own = if is_root { ROOT_PAGE } else { self.writer.next_page_no() };
        let first_long = self.writer.next_page_no() + u32::from(!is_root);
        let values = self.place_long_values(rows.clone(), first_long)?;
        let overflow_pages: usize = values.iter().map(|v| overflow::pages(v.len(), self.page.len())).sum();
        let fences = Fences { low: &self.low_fence, high: high_fence.as_deref() };
        write_leaf(&self.block, extents, &self.fit, fences, &mut self.page);
        let right = if high_fence.is_none() { NO_PAGE } else { first_long + overflow_pages as u32 };
        PageHeaderMut(&mut self.page).set_next(right);
        match is_root {
            true => self.root = Some(self.page.clone()),
            false => drop(self.writer.append(&self.page)?),
        }
        for value in values {
            let mut rest = value.as_slice();
            while !rest.is_empty() {
                let more = rest.len() > overflow::piece_bytes(self.page.len());
                let next = if more { self.writer.next_page_no() + 1 } else { NO_PAGE };
                rest = overflow::write_piece(rest, next, &mut self.page);
                self.writer.append(&self.page)?;
            }
        }
        if !rows.is_empty() {
            // Keys that are too long are told here.
            let (first, last) = (self.key(rows.start)?, self.key(rows.end - 1)?);
            debug_assert!(first >= self.low_fence && first <= last, "rows come in key order");
        }
        let key = std::mem::replace(&mut self.low_fence, high_fence.unwrap_or_default());
        self.leaves.push(Child { key, page: own, rows: rows.len() as u64 });
        self.rows += rows.len() as u64;
        self.guess = rows.len();
        self.start = rows.end;
        Ok(())
    }

    /// Gives the long values of these rows their pages, from `page` on, in the order returned.
    fn place_long_values(&mut self, rows: Range<usize>, mut page: u32) -> Result<Vec<Vec<u8>>> {
        let mut values = Vec::new();
        for column in self.block.columns.iter_mut().filter(|c| !c.overflow.is_empty()) {
            for row in rows.clone().filter(|row| column.overflow[*row]) {
                let Some(pointer) = OverflowPointer::from_bytes(column.bytes(row)) else { continue };
                let Some(value) = self.long.remove(&pointer.page) else { continue };
                let placed = OverflowPointer { page, len: pointer.len }.to_bytes();
                if let BlockValues::Bytes { ends, heap } = &mut column.values {
                    let end = ends[row] as usize;
                    heap[end - placed.len()..end].copy_from_slice(&placed);
                }
                page += overflow::pages(value.len(), self.page.len()) as u32;
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Writes the last leaves and all inner pages, the file's header, and syncs.
    pub fn finish(mut self) -> Result<(Arc<PageFile>, TreeShape)> {
        loop {
            let (extents, high_fence) = self.next_leaf()?;
            let last = high_fence.is_none();
            self.write_leaf(&extents, high_fence)?;
            if last {
                break;
            }
        }
        let next_row_id = match self.layout.row_number() {
            Some(column) if self.rows > 0 => self.block.columns[column].int(self.start - 1) as u64 + 1,
            _ => 1,
        };
        let shape_leaves = self.leaves.len() as u64;
        let mut level = std::mem::take(&mut self.leaves);
        let mut height = 1;
        while level.len() > 1 {
            level = self.write_level(&level, height)?;
            height += 1;
        }
        let shape = TreeShape { rows: self.rows, leaf_pages: shape_leaves, height };
        let file = self.writer.finish(self.root.as_deref(), |h| {
            h.leaf_count = shape.leaf_pages;
            h.row_count = shape.rows;
            h.next_row_id = next_row_id;
        })?;
        Ok((file, shape))
    }

    /// Writes the inner pages above these; returns them as children of the next level. A level of one page is the root.
    fn write_level(&mut self, children: &[Child], level: u32) -> Result<Vec<Child>> {
        let limit = inner::room(self.page.len()) * FILL.0 / FILL.1;
        let mut parents = Vec::new();
        let mut rest = children;
        while !rest.is_empty() {
            let mut count = inner::count_within(rest, limit);
            if count + 1 == rest.len() && count > 2 {
                // No page with one child only.
                count -= 1;
            }
            let (own, others) = rest.split_at(count);
            let is_root = parents.is_empty() && others.is_empty();
            let page = if is_root { ROOT_PAGE } else { self.writer.next_page_no() };
            let right = if others.is_empty() { NO_PAGE } else { page + 1 };
            let high = others.first().map(|next| next.key.as_slice());
            inner::write_inner(level as u8, own, high, right, &mut self.page);
            match is_root {
                true => self.root = Some(self.page.clone()),
                false => drop(self.writer.append(&self.page)?),
            }
            parents.push(Child { key: own[0].key.clone(), page, rows: own.iter().map(|c| c.rows).sum() });
            rest = others;
        }
        Ok(parents)
    }
}

/// Rows taken over at a time.
const PIECE_ROWS: usize = 8192;

/// How rows of a tree fit a full leaf.
pub fn fit(layout: &TreeLayout, page_size: usize) -> Fit {
    let widths = layout.columns.iter().map(|c| match c.physical {
        Physical::Int { width, .. } => width,
        _ => 0,
    });
    let (bytes, max_rows) = (leaf::room(page_size), leaf::max_rows(page_size));
    Fit { bytes, max_rows, widths: widths.collect(), row_layout: layout.number }
}
