//! Checks that a tree is what it should be: order, unique values, fences, right links, levels, slots and records, long
//! values, every page used once.

use super::descent::DescentTarget;
use crate::tree::{
    btree::Tree,
    page::{
        block::{OverflowPointer, RowBlock},
        leaf::BadPage,
        overflow,
    },
};
use crate::{
    Counters, Result, StorageError,
    file::{HEADER_PAGE, ROOT_PAGE},
    page::{NO_PAGE, PageHeader, PageType},
};
use std::collections::HashSet;

/// The counts that a check of a tree made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeReport {
    pub rows: u64,
    /// Rows among them that are marked as deleted.
    pub marked_rows: u64,
    pub leaf_pages: u64,
    pub inner_pages: u64,
    pub overflow_pages: u64,
    pub free_pages: u64,
    /// Pages that wait to be put on the free list.
    pub unlinked_pages: u64,
    /// Pages of long values that no row has: what a power cut leaves of a row that was to come, or had just gone.
    pub lost_pages: u64,
    /// Pages that are reached through the right link of a neighbour only.
    pub unposted_pages: u64,
    /// Leaves that are less than a quarter full.
    pub sparse_leaves: u64,
}

struct Check<'a> {
    tree: &'a Tree,
    counters: &'a Counters,
    report: TreeReport,
    seen: HashSet<u32>,
    /// By level, the right link of the last page in key order.
    right_links: Vec<u32>,
    last_key: Option<Vec<u8>>,
    /// The declared parts of the last entry of a unique tree that is not marked and has no NULL among them.
    last_unique: Option<Vec<u8>>,
    /// Gets the rows that are not marked, in key order: a block, and a row of it.
    visit_row: &'a mut dyn FnMut(&RowBlock, usize) -> Result<()>,
}

impl Tree {
    /// Walks the whole tree, which nobody must change meanwhile. Errors: `Corrupt` with the first page that is wrong.
    pub fn check(&self, counters: &Counters) -> Result<TreeReport> {
        self.check_with(counters, &mut |_, _| Ok(()))
    }

    /// The same; `visit_row` gets all rows that are not marked, in key order: a block, and a row of it. Its errors end
    /// the check.
    pub fn check_with(
        &self,
        counters: &Counters,
        visit_row: &mut dyn FnMut(&RowBlock, usize) -> Result<()>,
    ) -> Result<TreeReport> {
        let root_level = self.fetch(ROOT_PAGE, counters)?.header().level();
        let mut right_links = vec![NO_PAGE; usize::from(root_level) + 1];
        right_links[usize::from(root_level)] = ROOT_PAGE;
        let seen = HashSet::from([HEADER_PAGE]);
        let report = TreeReport::default();
        let mut check =
            Check { tree: self, counters, report, seen, right_links, last_key: None, last_unique: None, visit_row };
        check.page(ROOT_PAGE, root_level, &[], None)?;
        let all_end = check.right_links.iter().all(|right| *right == NO_PAGE);
        check.ensure(all_end, ROOT_PAGE, "the last page of a level has a right link")?;
        check.ensure(
            check.report.unposted_pages == 0 || root_level > 0,
            ROOT_PAGE,
            "the root has a right neighbour",
        )?;
        check.free_list()?;
        for page_no in self.file.unlinked().lock().iter() {
            check.visit(*page_no)?;
            check.report.unlinked_pages += 1;
        }
        check.unreached_pages()?;
        Ok(check.report)
    }

    /// Damage that has to do with a key: names the leaf that has it, or should.
    pub(crate) fn corrupt_at(&self, key: &[u8], what: &'static str, counters: &Counters) -> Result<StorageError> {
        let leaf = self.descend(DescentTarget::Key(key), 0, counters)?;
        Ok(self.corrupt(leaf.page_no(), BadPage(what)))
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

    /// Checks the pages to which a parent leads with one child: the child, and those to the right of it that the parent
    /// does not know. Their keys are `>= lower` and `< upper`.
    fn pages(&mut self, child: u32, level: u8, lower: &[u8], upper: Option<&[u8]>) -> Result<()> {
        let (mut page_no, mut lower) = (child, lower.to_vec());
        loop {
            let high = {
                let page = self.tree.fetch(page_no, self.counters)?;
                self.tree.check_level(&page, level)?;
                self.tree.fences(&page)?.high.map(<[u8]>::to_vec)
            };
            self.page(page_no, level, &lower, high.as_deref())?;
            if high.as_deref() == upper {
                return Ok(());
            }
            let inside = high.as_ref().is_some_and(|high| upper.is_none_or(|upper| high.as_slice() < upper));
            self.ensure(inside, page_no, "a high fence above the one that the parent has")?;
            self.report.unposted_pages += 1;
            page_no = self.right_links[usize::from(level)];
            lower = high.unwrap_or_default();
        }
    }

    /// Checks a page, which has these fences, and those below it.
    fn page(&mut self, page_no: u32, level: u8, low: &[u8], high: Option<&[u8]>) -> Result<()> {
        self.visit(page_no)?;
        let page = self.tree.fetch(page_no, self.counters)?;
        let fences = self.tree.fences(&page)?;
        self.ensure(fences.low == low && fences.high == high, page_no, "fences other than its parent has")?;
        self.ensure(high.is_none_or(|high| low < high), page_no, "fences out of order")?;
        let link = &mut self.right_links[usize::from(level)];
        let linked = *link == page_no || *link == NO_PAGE && low.is_empty();
        *link = PageHeader(&page).next();
        self.ensure(linked, page_no, "the page before leads elsewhere")?;
        if level == 0 {
            return self.leaf(&page, low, high);
        }
        let node = self.tree.inner(&page)?.to_node();
        drop(page);
        self.report.inner_pages += 1;
        for (i, child) in node.children.iter().enumerate() {
            let upper = node.key_behind(i);
            self.ensure(upper.is_none_or(|upper| child.key.as_slice() < upper), page_no, "keys out of order")?;
            self.pages(child.page, level - 1, &child.key, upper)?;
        }
        Ok(())
    }

    fn leaf(&mut self, page: &[u8], low: &[u8], high: Option<&[u8]>) -> Result<()> {
        let (tree, page_no) = (self.tree, PageHeader(page).page_no());
        let leaf = tree.leaf(page)?;
        leaf.check_changes().map_err(|e| tree.corrupt(page_no, e))?;
        self.report.leaf_pages += 1;
        self.report.rows += leaf.rows() as u64;
        let marked = leaf.slots().iter().filter(|slot| slot.is_ok_and(|slot| slot.marked)).count();
        self.report.marked_rows += marked as u64;
        let block = leaf.to_block(tree.layout()).map_err(|e| tree.corrupt(page_no, e))?;
        let extents = crate::tree::page::leaf::RowExtents::of(&block, 0..block.rows());
        let bytes = extents.bytes(&block, &tree.fit.widths);
        self.report.sparse_leaves += (bytes < crate::tree::change::merge::min_leaf_bytes(page.len())) as u64;
        for row in 0..block.rows() {
            let mut key = Vec::new();
            tree.layout().key.append_row(&block.row(row), &mut key);
            self.ensure(self.last_key.as_ref().is_none_or(|last| *last < key), page_no, "keys out of order")?;
            self.ensure(key.as_slice() >= low, page_no, "key below the low fence")?;
            self.ensure(high.is_none_or(|high| key.as_slice() < high), page_no, "key above the high fence")?;
            self.last_key = Some(key);
            let marked = marked > 0 && {
                let slot = leaf.slot_at(row).map_err(|e| tree.corrupt(page_no, e))?;
                slot.is_some_and(|slot| slot.marked)
            };
            if !marked {
                self.unique_values(&block, row, page_no)?;
                (self.visit_row)(&block, row)?;
            }
            for column in block.columns.iter().filter(|c| c.is_overflow(row)) {
                let pointer = OverflowPointer::from_bytes(column.bytes(row));
                self.long_value(pointer.ok_or_else(|| tree.corrupt(page_no, BadPage("bad overflow pointer")))?)?;
            }
        }
        if let Some(former) = leaf.former() {
            // They go when the leaf is written in the newest layout.
            tree.gone_pointers(&leaf, former)?.into_iter().try_for_each(|pointer| self.long_value(pointer))?;
        }
        Ok(())
    }

    /// Entries of a unique tree have different declared parts, unless one of these is NULL.
    fn unique_values(&mut self, block: &RowBlock, row: usize, page_no: u32) -> Result<()> {
        let layout = self.tree.layout();
        let declared = &layout.key.parts[..layout.declared_parts];
        let nulls = declared.iter().any(|part| part.nullable && block.columns[part.column].is_null(row));
        if !layout.unique || nulls || layout.declared_parts == layout.key.parts.len() || declared.is_empty() {
            return Ok(());
        }
        let mut key = Vec::new();
        layout.key.append_row_parts(&block.row(row), layout.declared_parts, &mut key);
        let differs = self.last_unique.as_ref() != Some(&key);
        self.last_unique = Some(key);
        self.ensure(differs, page_no, "two entries with the same values in a unique index")
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
        self.ensure(page_no == NO_PAGE, pointer.page, "a long value goes on behind its end")
    }

    /// Pages to which nothing leads are of long values: only those are allocated before their row, and freed after it.
    fn unreached_pages(&mut self) -> Result<()> {
        for page_no in (0..self.tree.file.page_count()).filter(|page_no| !self.seen.contains(page_no)) {
            let page_type = self.tree.fetch(page_no, self.counters)?.header().page_type();
            let is_lost = page_type == Some(PageType::Overflow);
            if !is_lost {
                return Err(self.tree.corrupt(page_no, BadPage("nothing leads to this page")));
            }
            self.report.lost_pages += 1;
        }
        Ok(())
    }

    fn free_list(&mut self) -> Result<()> {
        let header = self.tree.file.header();
        let mut page_no = header.free_head;
        while page_no != NO_PAGE {
            self.visit(page_no)?;
            self.report.free_pages += 1;
            let page = self.tree.fetch(page_no, self.counters)?;
            let is_free = page.header().page_type() == Some(PageType::Free);
            self.ensure(is_free, page_no, "the free list leads here, but it is not a free page")?;
            page_no = page.header().next();
        }
        let right = self.report.free_pages == u64::from(header.free_count);
        self.ensure(right, HEADER_PAGE, "wrong number of free pages")
    }
}
