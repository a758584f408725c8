//! Checks that a tree is what it should be: order, separators, counts, neighbours, every page used once.

use super::{block::OverflowPointer, btree::Tree, inner::Inner, leaf::BadPage, overflow};
use crate::{Counters, Result, StorageError, page::NO_PAGE};
use std::collections::HashSet;

/// The counts that a check of a tree made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeReport {
    pub rows: u64,
    pub leaf_pages: u64,
    pub inner_pages: u64,
    pub overflow_pages: u64,
    pub free_pages: u64,
    /// Pages that wait to be put on the free list.
    pub unlinked_pages: u64,
    /// Leaves that are less than a quarter full.
    pub sparse_leaves: u64,
}

struct Check<'a> {
    tree: &'a Tree,
    counters: &'a Counters,
    report: TreeReport,
    seen: HashSet<u32>,
    /// The leaf before in key order, where it leads, and its last key.
    left: u32,
    right_of_left: u32,
    last_key: Option<Vec<u8>>,
}

impl Tree {
    /// Walks the whole tree. Errors: `Corrupt` with the first page that is wrong.
    pub fn check(&self, counters: &Counters) -> Result<TreeReport> {
        let _shape = self.shape.read();
        let header = self.file.header();
        let report = TreeReport::default();
        let seen = HashSet::from([0]);
        let mut check =
            Check { tree: self, counters, report, seen, left: NO_PAGE, right_of_left: header.root, last_key: None };
        check.page(header.root, header.height.saturating_sub(1), &[], None)?;
        check.ensure(check.right_of_left == NO_PAGE, check.left, "the last leaf has a next one")?;
        check.free_list()?;
        for page_no in self.unlinked.lock().iter() {
            check.visit(*page_no)?;
            check.report.unlinked_pages += 1;
        }
        let r = check.report;
        check.ensure(r.rows == header.row_count, 0, "wrong number of rows")?;
        check.ensure(r.leaf_pages == header.leaf_count, 0, "wrong number of leaves")?;
        check.ensure(check.seen.len() as u64 == u64::from(header.page_count), 0, "pages that nothing leads to")?;
        Ok(r)
    }
}

impl Check<'_> {
    fn ensure(&self, right: bool, page: u32, what: &'static str) -> Result<()> {
        if right { Ok(()) } else { Err(self.tree.corrupt(page, BadPage(what))) }
    }

    fn visit(&mut self, page: u32) -> Result<()> {
        let new = self.seen.insert(page);
        self.ensure(new, page, "two ways lead to this page")
    }

    /// Checks a page and those below; keys are `>= lower` and `< upper`. Returns its rows.
    fn page(&mut self, page_no: u32, level: u32, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        self.visit(page_no)?;
        if level == 0 {
            return self.leaf(page_no, lower, upper);
        }
        let page = self.tree.fetch(page_no, self.counters)?;
        let node = Inner::new(&page).map_err(|e| self.tree.corrupt(page_no, e))?.to_node();
        drop(page);
        self.ensure(u32::from(node.level) == level, page_no, "wrong level")?;
        self.report.inner_pages += 1;
        for (i, child) in node.children.iter().enumerate() {
            let low = if i == 0 { lower } else { &child.separator };
            let high = node.children.get(i + 1).map(|c| c.separator.as_slice()).or(upper);
            self.ensure(high.is_none_or(|high| low < high), page_no, "separators out of order")?;
            let rows = self.page(child.page, level - 1, low, high)?;
            self.ensure(rows == child.rows, page_no, "wrong number of rows below a child")?;
        }
        Ok(node.rows())
    }

    fn leaf(&mut self, page_no: u32, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        let tree = self.tree;
        let page = tree.fetch(page_no, self.counters)?;
        let leaf = tree.leaf(&page)?;
        let first = self.report.leaf_pages == 0;
        self.ensure(first || self.right_of_left == page_no, page_no, "the leaf before leads elsewhere")?;
        (self.left, self.right_of_left) = (page_no, leaf.right());
        leaf.check_changes().map_err(|e| tree.corrupt(page_no, e))?;
        let fences = leaf.fences().map_err(|e| tree.corrupt(page_no, e))?;
        self.ensure(fences.low == lower, page_no, "wrong low fence")?;
        self.ensure(fences.high == upper, page_no, "wrong high fence")?;
        self.report.leaf_pages += 1;
        self.report.rows += leaf.rows() as u64;
        let block = leaf.to_block(tree.layout()).map_err(|e| tree.corrupt(page_no, e))?;
        let extents = super::leaf::RowExtents::of(&block, 0..block.rows());
        let bytes = extents.bytes(&block, &tree.fit.widths) + fences.bytes();
        self.report.sparse_leaves += (bytes < super::split::min_leaf_bytes(page.len())) as u64;
        drop(page);
        for row in 0..block.rows() {
            let mut key = Vec::new();
            tree.layout().key.append_row(&block.row(row), &mut key);
            self.ensure(self.last_key.as_ref().is_none_or(|last| *last < key), page_no, "keys out of order")?;
            self.ensure(key.as_slice() >= lower, page_no, "key below the separator")?;
            self.ensure(upper.is_none_or(|upper| key.as_slice() < upper), page_no, "key above the separator")?;
            self.last_key = Some(key);
            for column in block.columns.iter().filter(|c| c.is_overflow(row)) {
                let pointer = OverflowPointer::from_bytes(column.bytes(row));
                self.long_value(pointer.ok_or_else(|| tree.corrupt(page_no, BadPage("bad overflow pointer")))?)?;
            }
        }
        Ok(block.rows() as u64)
    }

    fn long_value(&mut self, pointer: OverflowPointer) -> Result<()> {
        let (mut page_no, mut rest) = (pointer.page, pointer.len as usize);
        while rest > 0 {
            self.visit(page_no)?;
            let page = self.tree.fetch(page_no, self.counters)?;
            let (piece, next) = overflow::read_piece(&page, rest).map_err(|e| self.tree.corrupt(page_no, e))?;
            rest -= piece.len();
            self.report.overflow_pages += 1;
            page_no = next;
        }
        Ok(())
    }

    fn free_list(&mut self) -> Result<()> {
        let header = self.tree.file.header();
        let mut page_no = header.free_head;
        while page_no != NO_PAGE {
            self.visit(page_no)?;
            self.report.free_pages += 1;
            page_no = self.tree.fetch(page_no, self.counters)?.header().next();
        }
        let right = self.report.free_pages == u64::from(header.free_count);
        if right {
            Ok(())
        } else {
            Err::<(), StorageError>(self.tree.corrupt(0, BadPage("wrong number of free pages")))
        }
    }
}
