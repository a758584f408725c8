//! Rows one by one, as values: for lookups and small work. Scans decode to Arrow instead ([`crate::scan`]).

use super::run::{LeafRun, LeafSlice};
use crate::tree::{btree::Tree, page::leaf::visible::visible};
use crate::{
    Counters, ReadView, Result,
    key::{ByteRange, prefix_end},
};
use muster_types::Value;
use std::{collections::VecDeque, sync::Arc};

/// A position between rows of a range. Holds no latch between calls.
pub struct RowCursor<'a> {
    tree: &'a Tree,
    run: LeafRun,
    view: Arc<ReadView>,
    counters: &'a Counters,
    /// Rows of the current leaf that are still to come.
    rows: VecDeque<Vec<Value>>,
}

impl Tree {
    /// A cursor before the first row of a range, or behind the last if `reverse`.
    pub fn rows<'a>(
        &'a self,
        range: ByteRange,
        reverse: bool,
        view: &Arc<ReadView>,
        counters: &'a Counters,
    ) -> Result<RowCursor<'a>> {
        let (mut run, rest) = self.plan(range, reverse, 1, counters)?;
        run.continue_with(rest);
        Ok(RowCursor { tree: self, run, view: Arc::clone(view), counters, rows: VecDeque::new() })
    }

    /// The row with this key.
    pub fn get(&self, key: &[u8], view: &Arc<ReadView>, counters: &Counters) -> Result<Option<Vec<Value>>> {
        let range = ByteRange { lower: key.to_vec(), upper: prefix_end(key) };
        self.rows(range, false, view, counters)?.next()
    }
}

impl RowCursor<'_> {
    /// The next row's stored columns; before the last one returned if the cursor goes backward.
    #[allow(clippy::should_implement_trait, reason = "fallible")]
    pub fn next(&mut self) -> Result<Option<Vec<Value>>> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return Ok(Some(row));
            }
            let leaves = self.tree.next_leaves(&mut self.run, &self.view, 1, self.counters)?;
            if leaves.is_empty() {
                return Ok(None);
            }
            for LeafSlice { page, rows } in leaves {
                let corrupt = |e| self.tree.corrupt(page.page_no(), e);
                let leaf = self.tree.leaf(&page)?;
                let rows = visible(&leaf, rows).map_err(corrupt)?;
                let block =
                    leaf.to_block_of(self.tree.layout(), &if self.run.is_reverse() { rows.reversed() } else { rows });
                let block = block.map_err(corrupt)?;
                // Long values too are read while the leaf is latched: a writer frees their pages after it. Those of a
                // copy are kept for the view.
                for row in 0..block.rows() {
                    self.rows.push_back(self.tree.row_values(&block, row, Some(&self.view), self.counters)?);
                }
            }
        }
    }
}
