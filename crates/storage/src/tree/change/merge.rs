//! Pages that become too empty: two neighbours that one parent knows become one page.

use super::group::{Group, Member};
use crate::tree::{
    btree::Tree,
    page::{
        inner::{self, InnerNode},
        leaf::{self, BadPage, Leaf, SLOT, changes::free_bytes, split::join},
    },
    probe::Event,
    read::descent::DescentTarget,
};
use crate::{
    Counters, Result,
    file::ROOT_PAGE,
    page::{NO_PAGE, PAGE_HEADER, PageHeader},
};

/// A page with less than this share of its room is merged with a neighbour.
const MIN_FILL: usize = 4;
/// Two pages are joined if their rows leave this share of one page free: so the next insert does not split it again.
const JOINED_SPARE: usize = 8;
/// Rows that a leaf loses between two looks at its neighbours: whether leaves fit one page is known only once their
/// rows are encoded.
const ROWS_BETWEEN_LOOKS: usize = 8;
/// The record of a slot has at most so many times the bytes that its row has among the encoded ones, by experience.
const ENCODED_SHARE: usize = 8;

impl Tree {
    /// Merges the page of a level that has `key` with its right neighbour or its left one, if it is too empty, and the
    /// pages above it that become too empty by that. Errors: those of reading pages; the tree is sound all the same,
    /// and a later call does what is left.
    pub(in crate::tree) fn merge(&self, key: &[u8], level: u8, counters: &Counters) -> Result<()> {
        let (mut key, mut level) = (key.to_vec(), level);
        while let Some(separator) = self.merge_once(&key, level, counters)? {
            if level > 0 {
                // The last child of one parent and the first of the other have become neighbours.
                self.merge(&separator, level - 1, counters)?;
            }
            level += 1;
            key = separator;
        }
        self.shrink(counters)
    }

    /// Merges pages of one level. Returns the separator that is gone, if pages were merged.
    fn merge_once(&self, key: &[u8], level: u8, counters: &Counters) -> Result<Option<Vec<u8>>> {
        if !self.is_sparse(&self.descend(DescentTarget::Key(key), level, counters)?)? {
            return Ok(None);
        }
        let room = self.room()?;
        let Some((parent, _)) = self.descend_mut(key, level + 1, counters)? else { return Ok(None) };
        let node = self.inner(&parent)?.to_node();
        let mut group = Group::new(self, counters);
        let parent = group.add(parent);
        let child = node.find(key);
        for left in [Some(child), child.checked_sub(1)].into_iter().flatten() {
            if left + 1 < node.children.len() && self.join(&mut group, parent, &node, left)? {
                group.commit(room);
                self.probe.hit(Event::Merge);
                return Ok(Some(node.children[left + 1].key.clone()));
            }
        }
        Ok(None)
    }

    /// Returns true if a page has so little that it is worth looking at its neighbours.
    fn is_sparse(&self, page: &[u8]) -> Result<bool> {
        if PageHeader(page).level() == 0 {
            let leaf = self.leaf(page)?;
            if leaf.rows() >= ROWS_BETWEEN_LOOKS && !leaf.rows().is_multiple_of(ROWS_BETWEEN_LOOKS) {
                return Ok(false);
            }
            let live = self.live_bytes(&leaf)?;
            return Ok(live.base + live.records < min_leaf_bytes(page.len()));
        }
        let inner = self.inner(page)?;
        let few = PageHeader(page).content_bytes() < inner::room(page.len()) / MIN_FILL;
        Ok(few || inner.children() == 1)
    }

    fn live_bytes(&self, leaf: &Leaf<'_>) -> Result<LiveBytes> {
        live_bytes(leaf).map_err(|e| self.corrupt(PageHeader(leaf.page()).page_no(), e))
    }

    /// Puts the merge of two children of a node into the group, if they are neighbours and fit one page.
    fn join(&self, group: &mut Group<'_>, parent: Member, node: &InnerNode, left: usize) -> Result<bool> {
        let mut above = node.clone();
        let gone = above.children.remove(left + 1);
        let (l, r) = (group.latch(node.children[left].page)?, group.latch(gone.page)?);
        let posted = self.fences(group.page(l))?.high == Some(gone.key.as_slice());
        let joined = match (posted, node.level) {
            (false, _) => None,
            (true, 1) => self.joined_leaf(group.page(l), group.page(r))?,
            (true, _) => self.joined_inner(group.page(l), group.page(r))?,
        };
        let Some(image) = joined else {
            group.release_from(l);
            return Ok(false);
        };
        above.children[left].rows = self.rows_of(&image)?;
        group.raise_trx_id(PageHeader(group.page(r)).max_trx_id());
        group.inner(parent, &above);
        group.image(l, image);
        group.free(r)?;
        group.count(0, -i64::from(node.level == 1));
        Ok(true)
    }

    /// A leaf with the rows of two neighbours, if they fit one well.
    fn joined_leaf(&self, left: &[u8], right: &[u8]) -> Result<Option<Vec<u8>>> {
        // One that nobody has changed since the row layout came keeps its rows: long values of dropped columns go with
        // the first change.
        if self.leaf(left)?.former().is_some() || self.leaf(right)?.former().is_some() {
            return Ok(None);
        }
        let either_is_empty = self.leaf(left)?.rows() == 0 || self.leaf(right)?.rows() == 0;
        let free = if either_is_empty { 0 } else { left.len() / JOINED_SPARE };
        let least = |page: &[u8]| -> Result<usize> { Ok(self.live_bytes(&self.leaf(page)?)?.least()) };
        if !either_is_empty && least(left)? + least(right)? > leaf::room(left.len()) - free {
            return Ok(None);
        }
        let joined = join(left, right, &self.layout, self.horizon(), free);
        joined.map_err(|e| self.corrupt(PageHeader(left).page_no(), e))
    }

    /// An inner page with the children of two neighbours, if they fit one well.
    fn joined_inner(&self, left: &[u8], right: &[u8]) -> Result<Option<Vec<u8>>> {
        let (mut node, right) = (self.inner(left)?.to_node(), self.inner(right)?.to_node());
        node.children.extend(right.children);
        (node.high, node.right) = (right.high, right.right);
        if node.bytes() > inner::room(left.len()) - left.len() / JOINED_SPARE {
            return Ok(None);
        }
        let mut image = vec![0; left.len()];
        node.write(&mut image);
        Ok(Some(image))
    }

    /// Moves the content of the root's only child into the root, as long as there is one child only.
    fn shrink(&self, counters: &Counters) -> Result<()> {
        loop {
            let page = self.fetch(ROOT_PAGE, counters)?;
            if page.header().level() == 0 || self.inner(&page)?.children() > 1 {
                return Ok(());
            }
            drop(page);
            let room = self.room()?;
            let mut group = Group::new(self, counters);
            let root = group.latch(ROOT_PAGE)?;
            if PageHeader(group.page(root)).level() == 0 {
                return Ok(());
            }
            let inner = self.inner(group.page(root))?;
            let (children, child) = (inner.children(), inner.child(0));
            let child = group.latch(child)?;
            // A right neighbour of the child that is not posted yet is reached through its link only.
            if children > 1 || PageHeader(group.page(child)).next() != NO_PAGE {
                return Ok(());
            }
            let image = group.page(child).to_vec();
            group.image(root, image);
            group.free(child)?;
            group.commit(room);
            self.probe.hit(Event::Shrink);
        }
    }
}

/// Bytes of a leaf's rows, about.
struct LiveBytes {
    /// Those of the base; bytes that belong to rows that are gone do not count.
    base: usize,
    /// Those of the records of slots.
    records: usize,
}

impl LiveBytes {
    /// Bytes that the rows have at least once they are encoded.
    fn least(&self) -> usize {
        self.base + self.records / ENCODED_SHARE
    }
}

fn live_bytes(leaf: &Leaf<'_>) -> Result<LiveBytes, BadPage> {
    let fences = leaf.fences()?.bytes();
    let used = leaf.page().len().saturating_sub(PAGE_HEADER + fences + free_bytes(leaf.page())?);
    let (slots, rows) = (leaf.slots().len(), leaf.rows());
    let all = leaf.minipage_bytes();
    let base = all * rows.min(leaf.base_rows()) / leaf.base_rows().max(1);
    Ok(LiveBytes { base, records: used.saturating_sub(slots * SLOT + all) })
}

/// Bytes that a leaf has at least if it is not sparse.
pub(in crate::tree) fn min_leaf_bytes(page_size: usize) -> usize {
    leaf::room(page_size) / MIN_FILL
}
