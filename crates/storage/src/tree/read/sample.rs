//! Leaves here and there in a tree, for statistics of its rows.

use super::run::LeafSlice;
use crate::tree::{
    btree::Tree,
    page::{block::RowBlock, leaf::visible::visible},
};
use crate::{Counters, ReadView, Result, file::ROOT_PAGE, key::ByteRange};

impl Tree {
    /// The range of keys of a leaf: of the one that has the row before which this share of all rows stands (0 to 1),
    /// about, as the counts in inner pages say.
    pub(crate) fn leaf_range_at(&self, share: f64, counters: &Counters) -> Result<ByteRange> {
        let (mut share, mut range) = (share, ByteRange { lower: Vec::new(), upper: None });
        let mut page = self.fetch(ROOT_PAGE, counters)?;
        loop {
            let level = page.header().level();
            if level == 0 {
                return Ok(range);
            }
            let inner = self.inner(&page)?;
            let rows = |child: usize| inner.rows(child) as f64;
            let mut before = share * (0..inner.children()).map(rows).sum::<f64>();
            let mut child = 0;
            while child + 1 < inner.children() && before >= rows(child) {
                before -= rows(child);
                child += 1;
            }
            share = (before / rows(child).max(1.0)).min(1.0);
            range = ByteRange { lower: inner.key(child).to_vec(), upper: inner.key_behind(child).map(<[u8]>::to_vec) };
            if level == 1 {
                return Ok(range);
            }
            let next = self.fetch(inner.child(child), counters)?;
            self.check_level(&next, level - 1)?;
            page = next;
        }
    }

    /// Reads the rows of a range leaf by leaf, in their newest versions, whether they are committed or not. Holds no
    /// latch while `read` runs.
    pub(crate) fn read_blocks(
        &self,
        range: ByteRange,
        counters: &Counters,
        mut read: impl FnMut(&RowBlock) -> Result<()>,
    ) -> Result<()> {
        let (mut run, rest) = self.plan(range, false, 1, counters)?;
        run.continue_with(rest);
        let view = ReadView::latest();
        loop {
            let leaves = self.next_leaves(&mut run, &view, 1, counters)?;
            if leaves.is_empty() {
                return Ok(());
            }
            for LeafSlice { page, rows } in leaves {
                let corrupt = |e| self.corrupt(page.page_no(), e);
                let leaf = self.leaf(&page)?;
                let rows = visible(&leaf, rows).map_err(corrupt)?;
                let block = leaf.to_block_of(self.layout(), &rows).map_err(corrupt)?;
                drop(page);
                read(&block)?;
            }
        }
    }
}
