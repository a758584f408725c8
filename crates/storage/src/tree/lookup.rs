//! Many keys at once: their leaves are found first, read together, then looked into.

use super::{btree::Tree, leaf::visible::Rows};
use crate::{
    Counters, ReadView, Result,
    buffer_pool::{AccessHint, PageGuard},
    key::Keys,
    tree::leaf::visible::visible,
};

/// Rows of one latched leaf, in the order they were asked for.
pub struct LeafRows {
    pub page: PageGuard,
    pub rows: Rows,
}

impl Tree {
    /// The rows with these keys, in the order of `keys[from..]`, until `max_leaves` leaves are latched. Keys that are
    /// not there, or that the view does not see, are left out. Returns the rows and how many keys were looked up. Do not
    /// hold latches of this tree when calling.
    pub fn lookup(
        &self,
        keys: &Keys,
        from: usize,
        max_leaves: usize,
        view: &ReadView,
        counters: &Counters,
    ) -> Result<(Vec<LeafRows>, usize)> {
        let _shape = self.shape.read();
        let mut pages: Vec<u32> = Vec::new();
        let mut leaves = 0;
        for i in from..keys.len() {
            let page = self.leaf_of(keys.get(i), counters)?;
            if pages.last() != Some(&page) {
                if leaves == max_leaves.max(1) {
                    break;
                }
                leaves += 1;
            }
            pages.push(page);
        }
        let mut distinct = pages.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() > 1 {
            self.pool.prefetch(&self.file, &distinct, counters);
        }
        let mut found: Vec<LeafRows> = Vec::with_capacity(leaves);
        let mut start = 0;
        while start < pages.len() {
            let run = pages[start..].iter().take_while(|p| **p == pages[start]).count();
            let page = self.fetch(pages[start], AccessHint::Point, counters)?;
            let rows = self.rows_of_keys(&page, keys, from + start..from + start + run, view)?;
            if !rows.is_empty() {
                found.push(LeafRows { page, rows });
            }
            start += run;
        }
        Ok((found, pages.len()))
    }

    fn rows_of_keys(
        &self,
        page: &PageGuard,
        keys: &Keys,
        wanted: std::ops::Range<usize>,
        view: &ReadView,
    ) -> Result<Rows> {
        let corrupt = |e| self.corrupt(page.page_no(), e);
        let leaf = self.leaf(page)?;
        let key_rows = leaf.key_rows(&self.layout, &self.layout.key).map_err(corrupt)?;
        let seen_all = view.sees_all_of(leaf.max_trx_id());
        let mut scratch = Vec::new();
        let mut rows = Vec::with_capacity(wanted.len());
        for i in wanted {
            let row = key_rows.lower_bound(&self.layout.key, keys.get(i), 0, &mut scratch);
            if row >= leaf.rows() {
                continue;
            }
            scratch.clear();
            self.layout.key.append_row(&key_rows.row(row), &mut scratch);
            if scratch != keys.get(i) {
                continue;
            }
            if seen_all || !visible(&leaf, row..row + 1, view).map_err(corrupt)?.is_empty() {
                rows.push(row as u16);
            }
        }
        Ok(Rows::List(rows))
    }

    /// The leaf that a key belongs to. Reads inner pages only.
    fn leaf_of(&self, key: &[u8], counters: &Counters) -> Result<u32> {
        let header = self.file.header();
        let mut page_no = header.root;
        for level in (1..header.height as usize).rev() {
            let page = self.fetch(page_no, AccessHint::Point, counters)?;
            let inner = self.inner(&page, level)?;
            page_no = inner.child(inner.find(key));
        }
        Ok(page_no)
    }
}
