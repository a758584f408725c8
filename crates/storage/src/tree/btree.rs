//! An open tree: pages of one file, found from its root.
//!
//! Readers hold `shape` shared only while they descend and latch leaves; they then read the latched leaves without it.
//! Writers ([`super::mini_transaction`]) hold it exclusively, and wait for the latches of readers. So a reader never asks
//! for `shape` while it holds a latch. A reader that comes back looks at `version`: if a writer was there, it descends again by key.

use super::{
    block::{OverflowPointer, RowBlock},
    builder::fit,
    inner::Inner,
    layout::TreeLayout,
    leaf::{
        BadPage, Fit, Leaf,
        decode::{DecodeError, OverflowReader},
    },
    overflow,
};
use crate::{
    Counters, Result, StorageError,
    buffer_pool::{BufferPool, PageGuard},
    file::PageFile,
};
use muster_types::Value;
use parking_lot::{Mutex, RwLock};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// More levels than any tree has; a damaged page cannot send a descent around in circles.
pub(super) const MAX_HEIGHT: usize = 32;

pub struct Tree {
    pub(super) pool: Arc<BufferPool>,
    pub(super) file: Arc<PageFile>,
    pub(super) layout: Arc<TreeLayout>,
    pub(super) fit: Fit,
    pub(super) shape: RwLock<()>,
    pub(super) version: AtomicU64,
    /// Numbers of pages that nothing leads to and that are not on the free list yet.
    pub(super) unlinked: Mutex<Vec<u32>>,
}

/// A step of a descent: an inner page and the child that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub page: u32,
    pub child: usize,
}

impl Tree {
    /// A tree that is there: built by a [`super::TreeBuilder`] or empty from [`crate::Store::create_table`].
    pub fn open(pool: Arc<BufferPool>, file: Arc<PageFile>, layout: Arc<TreeLayout>) -> Result<Tree> {
        if file.header().root == 0 {
            let reason = "the file has no tree".to_string();
            return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: 0, reason });
        }
        let fit = fit(&layout, file.page_size());
        Ok(Tree {
            pool,
            file,
            layout,
            fit,
            shape: RwLock::new(()),
            version: AtomicU64::new(0),
            unlinked: Mutex::default(),
        })
    }

    pub fn layout(&self) -> &Arc<TreeLayout> {
        &self.layout
    }

    pub fn file(&self) -> &Arc<PageFile> {
        &self.file
    }

    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Rows of a clustered tree, entries of a secondary one.
    pub fn row_count(&self) -> u64 {
        self.file.header().row_count
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn corrupt(&self, page: u32, e: BadPage) -> StorageError {
        StorageError::Corrupt { path: self.file.path().to_path_buf(), page, reason: e.0.to_string() }
    }

    pub(super) fn fetch(&self, page: u32, counters: &Counters) -> Result<PageGuard> {
        self.pool.fetch(&self.file, page, counters)
    }

    /// The leaf in a latched page.
    pub fn leaf<'a>(&'a self, page: &'a PageGuard) -> Result<Leaf<'a>> {
        self.leaf_of(page, page.page_no())
    }

    /// The leaf in the bytes of a page.
    pub(super) fn leaf_of<'a>(&'a self, page: &'a [u8], page_no: u32) -> Result<Leaf<'a>> {
        Leaf::of(page, &self.layout).map_err(|e| self.corrupt(page_no, e))
    }

    /// Names the page in an error of decoding it.
    pub fn decode_error(&self, page: u32, e: DecodeError) -> StorageError {
        match e {
            DecodeError::Page(e) => self.corrupt(page, e),
            DecodeError::Storage(e) => e,
        }
    }

    /// Descends from the root; `choose` picks a child of each inner page. Each page is latched before its parent is
    /// let go. Calls `visit` for each step. Returns the leaf.
    pub(super) fn descend(
        &self,
        counters: &Counters,
        choose: impl Fn(&Inner<'_>) -> usize,
        mut visit: impl FnMut(Step, &Inner<'_>),
    ) -> Result<PageGuard> {
        let header = self.file.header();
        let mut page = self.fetch(header.root, counters)?;
        for level in (0..header.height as usize).rev().take(MAX_HEIGHT) {
            if level == 0 {
                return Ok(page);
            }
            let page_no = page.page_no();
            let inner = self.inner(&page, level)?;
            let child = choose(&inner);
            visit(Step { page: page_no, child }, &inner);
            page = self.fetch(inner.child(child), counters)?;
        }
        Err(self.corrupt(header.root, BadPage("impossible height")))
    }

    /// The inner page of this level in a latched page.
    pub(super) fn inner<'a>(&self, page: &'a PageGuard, level: usize) -> Result<Inner<'a>> {
        self.inner_of(page, page.page_no(), level)
    }

    /// The inner page of this level in the bytes of a page.
    pub(super) fn inner_of<'a>(&self, page: &'a [u8], page_no: u32, level: usize) -> Result<Inner<'a>> {
        let inner = Inner::new(page).map_err(|e| self.corrupt(page_no, e))?;
        if inner.level() as usize != level {
            return Err(self.corrupt(page_no, BadPage("inner page of another level")));
        }
        Ok(inner)
    }

    /// Rows whose key is less than `key`.
    fn rank(&self, key: &[u8], counters: &Counters) -> Result<u64> {
        let mut before = 0;
        let page = self.descend(
            counters,
            |inner| inner.find(key),
            |step, inner| before += (0..step.child).map(|i| inner.rows(i)).sum::<u64>(),
        )?;
        let row = self.leaf(&page)?.lower_bound(&self.layout, key).map_err(|e| self.corrupt(page.page_no(), e))?;
        Ok(before + row as u64)
    }

    /// Rows in a range of keys, from the counts in inner pages: exact unless a writer is at work. Two descents.
    pub fn count_range(&self, range: &crate::key::ByteRange, counters: &Counters) -> Result<u64> {
        let _shape = self.shape.read();
        let before = if range.lower.is_empty() { 0 } else { self.rank(&range.lower, counters)? };
        let upto = match &range.upper {
            Some(upper) => self.rank(upper, counters)?,
            None => self.row_count(),
        };
        Ok(upto.saturating_sub(before))
    }

    /// The values of rows of a block, long ones read from their pages.
    pub(super) fn row_values(&self, block: &RowBlock, row: usize, counters: &Counters) -> Result<Vec<Value>> {
        let reader = TreeOverflow { tree: self, counters };
        self.layout
            .columns
            .iter()
            .zip(&block.columns)
            .map(|(spec, column)| {
                let long = match column.is_overflow(row) {
                    true => OverflowPointer::from_bytes(column.bytes(row)).map(|p| reader.read(p)).transpose()?,
                    false => None,
                };
                Ok(column.value(row, &spec.ty, long))
            })
            .collect()
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("file", &self.file.path()).field("header", &self.file.header()).finish()
    }
}

/// Reads a tree's long values.
pub struct TreeOverflow<'a> {
    pub tree: &'a Tree,
    pub counters: &'a Counters,
}

impl OverflowReader for TreeOverflow<'_> {
    fn read(&self, pointer: OverflowPointer) -> Result<Vec<u8>> {
        let len = pointer.len as usize;
        // A damaged length must not ask for memory: the file bounds it.
        let limit = self.tree.file.page_count() as usize * self.tree.file.page_size();
        if len > limit {
            return Err(self.tree.corrupt(pointer.page, BadPage("value longer than the file")));
        }
        let mut value = Vec::with_capacity(len);
        let mut page_no = pointer.page;
        while value.len() < len {
            let page = self.tree.fetch(page_no, self.counters)?;
            let piece = overflow::read_piece(&page, len - value.len());
            let (piece, next) = piece.map_err(|e| self.tree.corrupt(page_no, e))?;
            value.extend_from_slice(piece);
            page_no = next;
        }
        Ok(value)
    }
}
