//! Pages of a tree that become too full or too empty: split, merged and evened out, from the leaf up to the root.

use super::{
    block::RowBlock,
    btree::Step,
    inner::{self, Child, Inner, InnerNode},
    leaf::{self, Fences, RowExtents, write_leaf},
    mini_transaction::MiniTransaction,
};
use crate::{
    Result,
    page::{PAGE_HEADER, PageHeader, PageHeaderMut, PageType},
};

/// A page with less than this share of its room looks for rows of a neighbour.
const MIN_FILL: usize = 4;
/// More bytes for the fences, where leaves were cut with too few.
const FENCE_STEP: usize = 64;

/// The bounds of a leaf's keys, apart from its page.
#[derive(Debug, Clone, Default)]
struct Bounds {
    low: Vec<u8>,
    high: Option<Vec<u8>>,
}

impl Bounds {
    fn fences(&self) -> Fences<'_> {
        Fences { low: &self.low, high: self.high.as_deref() }
    }

    /// The bounds of parts that are cut at these separators, which ascend.
    fn cut(&self, separators: &[Vec<u8>]) -> Vec<Bounds> {
        let lows = std::iter::once(&self.low).chain(separators).cloned();
        let highs = separators.iter().cloned().map(Some).chain([self.high.clone()]);
        lows.zip(highs).map(|(low, high)| Bounds { low, high }).collect()
    }
}

// Pages.
impl MiniTransaction<'_> {
    /// Writes a leaf over a page that has its place in the chain.
    fn write_leaf(&mut self, page_no: u32, block: &RowBlock, extents: &RowExtents, bounds: &Bounds) -> Result<()> {
        let (index_id, widths, trx_id) = (self.tree.file.index_id(), &self.tree.fit.widths, self.trx_id);
        let page = self.page_mut(page_no)?;
        let header = PageHeader(page);
        let (right, max_trx_id) = (header.next(), header.max_trx_id());
        write_leaf(block, extents, widths, bounds.fences(), page);
        let mut header = PageHeaderMut(page);
        header.set_identity(page_no, index_id);
        header.set_next(right);
        header.set_max_trx_id(max_trx_id.max(trx_id));
        Ok(())
    }

    fn bounds(&self, page_no: u32) -> Result<Bounds> {
        let page = self.page(page_no)?;
        let fences = Fences::of(&page).map_err(|e| self.tree.corrupt(page_no, e))?;
        Ok(Bounds { low: fences.low.to_vec(), high: fences.high.map(<[u8]>::to_vec) })
    }

    fn set_next(&mut self, page_no: u32, next: u32) -> Result<()> {
        PageHeaderMut(self.page_mut(page_no)?).set_next(next);
        Ok(())
    }

    fn next_of(&self, page_no: u32) -> Result<u32> {
        Ok(PageHeader(&self.page(page_no)?).next())
    }

    fn write_inner(&mut self, page_no: u32, node: &InnerNode) -> Result<()> {
        let index_id = self.tree.file.index_id();
        let page = self.page_mut(page_no)?;
        node.write(page);
        PageHeaderMut(page).set_identity(page_no, index_id);
        Ok(())
    }

    fn new_inner(&mut self, node: &InnerNode) -> Result<u32> {
        let page_no = self.allocate(PageType::Inner)?;
        self.write_inner(page_no, node)?;
        Ok(page_no)
    }

    fn read_inner(&self, page_no: u32) -> Result<InnerNode> {
        Ok(Inner::new(&self.page(page_no)?).map_err(|e| self.tree.corrupt(page_no, e))?.to_node())
    }

    fn read_leaf(&self, page_no: u32) -> Result<RowBlock> {
        let page = self.page(page_no)?;
        let block = self.tree.leaf_of(&page, page_no)?.to_block(&self.tree.layout);
        block.map_err(|e| self.tree.corrupt(page_no, e))
    }
}

// Leaves.
impl MiniTransaction<'_> {
    /// Puts rows in the place of a leaf's, splitting or merging it if need be. `inserted`: the row that is new.
    pub(super) fn store_leaf(
        &mut self,
        mut path: Vec<Step>,
        page_no: u32,
        block: RowBlock,
        inserted: Option<usize>,
    ) -> Result<()> {
        let bounds = self.bounds(page_no)?;
        let extents = RowExtents::of(&block, 0..block.rows());
        let bytes = extents.bytes(&block, &self.tree.fit.widths) + bounds.fences().bytes();
        if bytes > self.tree.fit.bytes || block.rows() > self.tree.fit.max_rows {
            return self.split_leaf(path, page_no, block, &bounds, inserted);
        }
        self.write_leaf(page_no, &block, &extents, &bounds)?;
        let Some(parent) = path.last().copied() else { return Ok(()) };
        if (bytes >= self.tree.fit.bytes / MIN_FILL || inserted.is_some()) && block.rows() > 0 {
            return self.store_row_counts(&path, block.rows() as u64);
        }
        path.pop();
        let mut above = self.read_inner(parent.page)?;
        self.join_leaves(&mut above, parent.child)?;
        self.store_inner(path, parent.page, above)
    }

    /// Tells the pages on the path how many rows a leaf has now.
    fn store_row_counts(&mut self, path: &[Step], rows: u64) -> Result<()> {
        let mut rows = rows;
        for step in path.iter().rev() {
            let tree = self.tree;
            let page = self.page_mut(step.page)?;
            let at = PAGE_HEADER + 8 * step.child;
            page[at..at + 8].copy_from_slice(&rows.to_le_bytes());
            let inner = Inner::new(page).map_err(|e| tree.corrupt(step.page, e))?;
            rows = (0..inner.children()).map(|i| inner.rows(i)).sum();
        }
        Ok(())
    }

    fn split_leaf(
        &mut self,
        mut path: Vec<Step>,
        page_no: u32,
        block: RowBlock,
        bounds: &Bounds,
        inserted: Option<usize>,
    ) -> Result<()> {
        let (pieces, bounds) = self.cut(&block, bounds, inserted);
        let next = self.next_of(page_no)?;
        let mut children = Vec::with_capacity(pieces.len());
        // The new leaves come behind the old one.
        let mut page = page_no;
        for (i, (piece, bounds)) in pieces.iter().zip(&bounds).enumerate() {
            let right = if i + 1 < pieces.len() { self.allocate(PageType::Leaf)? } else { next };
            self.set_next(page, right)?;
            self.write_leaf(page, &block, piece, bounds)?;
            children.push(Child { separator: bounds.low.clone(), page, rows: piece.rows().len() as u64 });
            page = right;
        }
        self.header.leaf_count += pieces.len() as u64 - 1;
        match path.pop() {
            Some(parent) => {
                let mut above = self.read_inner(parent.page)?;
                above.children.splice(parent.child..parent.child + 1, children);
                self.store_inner(path, parent.page, above)
            }
            None => self.grow(InnerNode { level: 1, children }),
        }
    }

    /// The separator between a block's row and the one before it.
    fn separator_at(&self, block: &RowBlock, row: usize) -> Vec<u8> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        self.tree.layout.key.append_row(&block.row(row - 1), &mut left);
        self.tree.layout.key.append_row(&block.row(row), &mut right);
        inner::separator(&left, &right)
    }

    /// Cuts rows that do not fit a leaf into such that do. Rows that come in key order at the end of the tree leave
    /// full leaves behind them.
    fn cut(&self, block: &RowBlock, bounds: &Bounds, inserted: Option<usize>) -> (Vec<RowExtents>, Vec<Bounds>) {
        let (rows, fit) = (block.rows(), &self.tree.fit);
        let with_bounds = |pieces: Vec<RowExtents>| {
            let starts = pieces[1..].iter().map(|piece| self.separator_at(block, piece.rows().start));
            let bounds = bounds.cut(&starts.collect::<Vec<_>>());
            let fits = |(piece, bounds): (&RowExtents, &Bounds)| {
                piece.rows().len() <= 1 || piece.bytes(block, &fit.widths) + bounds.fences().bytes() <= fit.bytes
            };
            let all_fit = pieces.iter().zip(&bounds).all(fits);
            (pieces, bounds, all_fit)
        };
        if inserted == Some(rows - 1) && rows > 1 && bounds.high.is_none() {
            let at_end = vec![RowExtents::of(block, 0..rows - 1), RowExtents::of(block, rows - 1..rows)];
            if let (pieces, bounds, true) = with_bounds(at_end) {
                return (pieces, bounds);
            }
        }
        let mut fences = bounds.fences().bytes();
        loop {
            let bytes = RowExtents::of(block, 0..rows).bytes(block, &fit.widths);
            let mut half = fit.clone();
            half.bytes = (bytes / 2 + fences).min(fit.bytes);
            half.max_rows = fit.max_rows.min(rows.div_ceil(2)).max(1);
            let mut pieces = vec![half.take(block, 0, rows / 2, fences)];
            while pieces[pieces.len() - 1].rows().end < rows {
                let start = pieces[pieces.len() - 1].rows().end;
                pieces.push(fit.take(block, start, rows - start, fences));
            }
            if let (pieces, bounds, true) = with_bounds(pieces) {
                return (pieces, bounds);
            }
            fences += FENCE_STEP;
        }
    }

    /// Makes one leaf of two neighbours, or evens them out. One of the two is `child`.
    fn join_leaves(&mut self, above: &mut InnerNode, child: usize) -> Result<()> {
        let Some((l, r)) = neighbours(above, child) else {
            above.children[child].rows = self.read_leaf(above.children[child].page)?.rows() as u64;
            return Ok(());
        };
        let (left_no, right_no) = (above.children[l].page, above.children[r].page);
        let mut block = self.read_leaf(left_no)?;
        let right = self.read_leaf(right_no)?;
        block.append_block(&right, 0..right.rows());
        let all = RowExtents::of(&block, 0..block.rows());
        let both = Bounds { low: self.bounds(left_no)?.low, high: self.bounds(right_no)?.high };
        let bytes = all.bytes(&block, &self.tree.fit.widths) + both.fences().bytes();
        // Not so full that the next insert splits it again.
        if bytes <= self.tree.fit.bytes * 7 / 8 && block.rows() <= self.tree.fit.max_rows {
            let next = self.next_of(right_no)?;
            self.set_next(left_no, next)?;
            self.write_leaf(left_no, &block, &all, &both)?;
            self.unlink(right_no);
            self.header.leaf_count = self.header.leaf_count.saturating_sub(1);
            above.children[l].rows = block.rows() as u64;
            above.children.remove(r);
            return Ok(());
        }
        let (pieces, bounds) = self.cut(&block, &both, None);
        let ([first, second], [left, right]) = (pieces.as_slice(), bounds.as_slice()) else {
            // Rows of very different sizes: the two stay as they are.
            let right_rows = self.read_leaf(right_no)?.rows();
            above.children[l].rows = (block.rows() - right_rows) as u64;
            above.children[r].rows = right_rows as u64;
            return Ok(());
        };
        self.write_leaf(left_no, &block, first, left)?;
        self.write_leaf(right_no, &block, second, right)?;
        above.children[r].separator.clone_from(&right.low);
        above.children[l].rows = first.rows().len() as u64;
        above.children[r].rows = second.rows().len() as u64;
        Ok(())
    }
}

// Inner pages.
impl MiniTransaction<'_> {
    /// Puts a node in the place of an inner page, splitting or merging it if need be, and tells the pages above.
    fn store_inner(&mut self, mut path: Vec<Step>, page: u32, node: InnerNode) -> Result<()> {
        let room = inner::room(self.tree.file.page_size());
        let (mut page, mut node) = (page, node);
        while let Some(parent) = path.pop() {
            let mut above = self.read_inner(parent.page)?;
            let child = parent.child;
            if node.bytes() > room {
                let right = InnerNode { level: node.level, children: node.children.split_off(node.middle()) };
                self.write_inner(page, &node)?;
                let right_no = self.new_inner(&right)?;
                above.children[child].rows = node.rows();
                above.children.insert(child + 1, child_of(&right, right_no));
            } else if node.bytes() < room / MIN_FILL && above.children.len() > 1 {
                self.write_inner(page, &node)?;
                self.join_inner(&mut above, child)?;
            } else {
                self.write_inner(page, &node)?;
                above.children[child].rows = node.rows();
            }
            (page, node) = (parent.page, above);
        }
        if node.bytes() > room {
            let right = InnerNode { level: node.level, children: node.children.split_off(node.middle()) };
            self.write_inner(page, &node)?;
            let right_no = self.new_inner(&right)?;
            let children = vec![child_of(&node, page), child_of(&right, right_no)];
            return self.grow(InnerNode { level: node.level + 1, children });
        }
        self.write_inner(page, &node)?;
        self.shrink()
    }

    /// Makes one inner page of two neighbours, or evens them out. One of the two is `child`.
    fn join_inner(&mut self, above: &mut InnerNode, child: usize) -> Result<()> {
        let Some((l, r)) = neighbours(above, child) else { return Ok(()) };
        let (left_no, right_no) = (above.children[l].page, above.children[r].page);
        let mut left = self.read_inner(left_no)?;
        let mut right = self.read_inner(right_no)?;
        right.children[0].separator.clone_from(&above.children[r].separator);
        left.children.append(&mut right.children);
        if left.bytes() <= inner::room(self.tree.file.page_size()) * 7 / 8 {
            self.write_inner(left_no, &left)?;
            self.unlink(right_no);
            above.children[l].rows = left.rows();
            above.children.remove(r);
            return Ok(());
        }
        right.children = left.children.split_off(left.middle());
        self.write_inner(left_no, &left)?;
        self.write_inner(right_no, &right)?;
        above.children[l].rows = left.rows();
        above.children[r] = child_of(&right, right_no);
        Ok(())
    }

    /// A new root above the old one.
    fn grow(&mut self, root: InnerNode) -> Result<()> {
        self.header.root = self.new_inner(&root)?;
        self.header.height += 1;
        Ok(())
    }

    /// Takes roots with one child away.
    fn shrink(&mut self) -> Result<()> {
        while self.header.height > 1 {
            let root = self.header.root;
            let node = self.read_inner(root)?;
            let [only] = node.children.as_slice() else { break };
            self.header.root = only.page;
            self.header.height -= 1;
            self.unlink(root);
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

/// Bytes that a leaf must have at least, for those who check.
pub(super) fn min_leaf_bytes(page_size: usize) -> usize {
    leaf::room(page_size) / MIN_FILL
}
