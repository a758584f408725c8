//! Current reads: the newest version of an entry, marked or not, committed or not, in its leaf.
//!
//! Whoever looks at an entry to lock it, or the gap before it, does so while the leaf is latched, so that nobody adds
//! an entry to the gap meanwhile: a gap is known by both its ends.

use super::descent::DescentTarget;
use crate::tree::{
    btree::Tree,
    page::leaf::{BadPage, Leaf, slot::Slot},
};
use crate::{Counters, Result, buffer_pool::PageGuard, file::ROOT_PAGE};
use muster_types::Value;

/// An entry in its leaf, which is latched.
pub(crate) struct CurrentEntry<'a> {
    tree: &'a Tree,
    leaf: Leaf<'a>,
    row: usize,
    slot: Option<Slot>,
    pub key: Vec<u8>,
}

impl<'a> CurrentEntry<'a> {
    fn at(tree: &'a Tree, leaf: Leaf<'a>, position: usize) -> Result<CurrentEntry<'a>> {
        let corrupt = |e| tree.corrupt(leaf.page_no(), e);
        let place = leaf.row_at(position).map_err(corrupt)?;
        let slot = place.slot.map(|slot| leaf.slots().get(slot)).transpose().map_err(corrupt)?;
        let key = leaf.key(&tree.layout, position).map_err(corrupt)?;
        Ok(CurrentEntry { tree, leaf, row: place.row, slot, key })
    }

    /// The transaction that has changed the entry last; 0 if that is not of interest to anybody any more.
    pub fn trx_id(&self) -> u64 {
        self.slot.map_or(0, |slot| slot.version.trx_id)
    }

    pub fn is_marked(&self) -> bool {
        self.slot.is_some_and(|slot| slot.marked)
    }

    /// The key that the row of the entry has in the clustered tree.
    pub fn clustered_key(&self) -> Result<Vec<u8>> {
        let codec = &self.tree.layout.clustered_key;
        let mut key = Vec::new();
        let made = self.leaf.single_keys(&self.tree.layout, codec);
        made.and_then(|keys| keys.append(codec, self.row, &mut key))
            .map_err(|e| self.tree.corrupt(self.leaf.page_no(), e))?;
        Ok(key)
    }

    /// The values of the stored columns, long ones too.
    pub fn values(&self, counters: &Counters) -> Result<Vec<Value>> {
        let (layout, corrupt) = (&self.tree.layout, |e| self.tree.corrupt(self.leaf.page_no(), e));
        let mut values = Vec::with_capacity(layout.columns.len());
        for column in 0..layout.columns.len() {
            let Some(value) = self.leaf.value(layout, column, self.row).map_err(corrupt)? else {
                // Some of it lies on other pages.
                let block = self.leaf.to_block_of_row(layout, self.row).map_err(corrupt)?;
                return self.tree.row_values(&block, 0, None, counters);
            };
            values.push(value.to_value());
        }
        Ok(values)
    }
}

impl Tree {
    /// Calls `visit` with the first entry whose key is not less than `from`, or with nothing at the end of the tree.
    /// The leaves from the one that `from` belongs to up to that of the entry are latched meanwhile.
    pub(crate) fn visit_first<R>(
        &self,
        from: &[u8],
        counters: &Counters,
        visit: impl FnOnce(Option<&CurrentEntry<'_>>) -> Result<R>,
    ) -> Result<R> {
        let mut latched = vec![self.descend(DescentTarget::Key(from), 0, counters)?];
        loop {
            let page = latched.last().ok_or_else(|| self.corrupt(ROOT_PAGE, BadPage("no leaf")))?;
            let leaf = self.leaf(page)?;
            let corrupt = |e| self.corrupt(page.page_no(), e);
            let position = leaf.lower_bound(&self.layout, from).map_err(corrupt)?;
            if position < leaf.rows() {
                return visit(Some(&CurrentEntry::at(self, leaf, position)?));
            }
            if leaf.fences().map_err(corrupt)?.high.is_none() {
                return visit(None);
            }
            let right = self.right_neighbour(page, counters)?;
            latched.push(right);
        }
    }

    /// Calls `visit` with the last entry whose key is less than `below`, or with the last one of the tree; with nothing
    /// if there is none. Its leaf is latched meanwhile. Whoever has locked the gap above it before finds no other entry
    /// later.
    pub(crate) fn visit_last<R>(
        &self,
        below: Option<&[u8]>,
        counters: &Counters,
        visit: impl FnOnce(Option<&CurrentEntry<'_>>) -> Result<R>,
    ) -> Result<R> {
        let mut below = below.map(<[u8]>::to_vec);
        loop {
            let page = self.descend(DescentTarget::Below(below.as_deref()), 0, counters)?;
            let leaf = self.leaf(&page)?;
            let corrupt = |e| self.corrupt(page.page_no(), e);
            let position = match &below {
                Some(below) => leaf.lower_bound(&self.layout, below).map_err(corrupt)?,
                None => leaf.rows(),
            };
            if let Some(position) = position.checked_sub(1) {
                return visit(Some(&CurrentEntry::at(self, leaf, position)?));
            }
            let low = leaf.fences().map_err(corrupt)?.low;
            if low.is_empty() {
                return visit(None);
            }
            below = Some(low.to_vec());
        }
    }

    /// Latches the right neighbour of a latched leaf that has one.
    pub(in crate::tree) fn right_neighbour(&self, page: &[u8], counters: &Counters) -> Result<PageGuard> {
        let right = self.fetch(self.leaf(page)?.right(), counters)?;
        self.check_neighbour(page, &right)?;
        Ok(right)
    }
}
