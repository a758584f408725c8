//! Posting: a page that came by a split is reached through the right link of its left neighbour until the parent knows
//! it. The parent is told in a group of its own, by whoever made the split or came across the link.

use super::group::{Group, Room};
use crate::tree::{
    btree::Tree,
    page::{
        inner::{self, Child, Inner, InnerNode},
        leaf::BadPage,
        page_change::PageChange,
    },
    planted::PlantedFault,
    probe::Event,
};
use crate::{
    Counters, Result,
    buffer_pool::PageGuardMut,
    file::ROOT_PAGE,
    page::{NO_PAGE, PAGE_HEADER, PageHeader},
};

/// A row count in an inner page is written anew if it is wrong by more than this share.
const COUNT_ERROR: u64 = 8;

/// Notes that what may wait was not done: the tree is sound without it, and whoever comes by tries again.
pub(in crate::tree) fn note(outcome: Result<()>) {
    if let Err(e) = outcome {
        tracing::debug!("put off: {e}");
    }
}

impl Tree {
    /// Posts a page of a level that has come by a split. Errors: as [`Tree::post`].
    pub(in crate::tree) fn post_new(&self, new: &Child, level: u8, counters: &Counters) -> Result<()> {
        match self.planted.has(PlantedFault::PostUnseen) {
            false => self.post(&new.key, level, counters),
            true => self.post_unseen(new, level, counters),
        }
    }

    /// Posts without looking at the page, as [`PlantedFault::PostUnseen`] asks.
    fn post_unseen(&self, new: &Child, level: u8, counters: &Counters) -> Result<()> {
        let room = self.room_at_once()?;
        let Some((parent, _)) = self.descend_mut(&new.key, level + 1, counters)? else { return Ok(()) };
        let mut node = self.inner(&parent)?.to_node();
        node.children.insert(node.find(&new.key) + 1, new.clone());
        if node.bytes() <= inner::room(self.file.page_size()) {
            let mut group = Group::new(self, counters);
            let parent = group.add(parent);
            group.inner(parent, &node);
            group.commit(room);
        }
        Ok(())
    }

    /// Makes the parent know all pages that have come between the child that it has for `key` and the next one. `level`
    /// is that of the children. Splits the parent if need be. Errors: those of reading and allocating pages; the tree
    /// is sound all the same, and a later call does what is left.
    pub(in crate::tree) fn post(&self, key: &[u8], level: u8, counters: &Counters) -> Result<()> {
        let mut parent_unknown = false;
        let rows = loop {
            let room = self.room_at_once()?;
            // Without a parent the page is the root, which has no neighbours.
            let Some((parent, crossed)) = self.descend_mut(key, level + 1, counters)? else { return Ok(()) };
            parent_unknown |= crossed;
            let mut node = self.inner(&parent)?.to_node();
            let unposted = self.count_unposted(&mut node, key, level, counters)?;
            if unposted.is_empty() {
                self.probe.hit(Event::Posted);
                break node.rows();
            }
            let (first, all) = (node.find(key) + 1, unposted.len());
            node.children.splice(first..first, unposted);
            let mut end = first + all;
            while end > first && node.bytes() > inner::room(self.file.page_size()) {
                end -= 1;
                node.children.remove(end);
            }
            if end == first {
                self.split_inner(parent, node, room, counters)?;
                continue;
            }
            let mut group = Group::new(self, counters);
            let parent = group.add(parent);
            group.inner(parent, &node);
            group.commit(room);
            self.probe.hit(Event::Post);
            if end == first + all {
                break node.rows();
            }
        };
        if parent_unknown {
            self.post(key, level + 1, counters)?;
        }
        self.recount(key, level + 1, rows, counters)
    }

    /// The pages behind a node's child for `key` that the node does not know. Each is looked at on the way from the
    /// child, while the node is latched, so that none of them can go. Counts the child's rows anew if there are such
    /// pages.
    fn count_unposted(&self, node: &mut InnerNode, key: &[u8], level: u8, counters: &Counters) -> Result<Vec<Child>> {
        let child = node.find(key);
        let bound = node.key_behind(child).map(<[u8]>::to_vec);
        let mut page = self.fetch(node.children[child].page, counters)?;
        self.check_level(&page, level)?;
        let mut unposted = Vec::new();
        let own_rows = self.rows_of(&page)?;
        while let Some(high) = self.fences(&page)?.high.filter(|high| Some(*high) != bound.as_deref()) {
            let (key, right) = (high.to_vec(), PageHeader(&page).next());
            if right == NO_PAGE || bound.as_ref().is_some_and(|bound| *bound < key) {
                return Err(self.corrupt(page.page_no(), BadPage("not the high fence that its parent has")));
            }
            let next = self.fetch(right, counters)?;
            self.check_neighbour(&page, &next)?;
            unposted.push(Child { key, page: right, rows: self.rows_of(&next)? });
            page = next;
        }
        if !unposted.is_empty() {
            node.children[child].rows = own_rows;
        }
        Ok(unposted)
    }

    /// Rows on a page or, as far as its counts say, below it.
    pub(in crate::tree) fn rows_of(&self, page: &[u8]) -> Result<u64> {
        if PageHeader(page).level() == 0 {
            return Ok(self.leaf(page)?.rows() as u64);
        }
        let inner = self.inner(page)?;
        Ok((0..inner.children()).map(|i| inner.rows(i)).sum())
    }

    /// Moves the upper half of an inner page to a new one, and posts that. Half of what the root has moves to either of
    /// two new pages.
    fn split_inner(&self, page: PageGuardMut, mut node: InnerNode, room: Room, counters: &Counters) -> Result<()> {
        let mut group = Group::new(self, counters);
        let own = group.add(page);
        let level = node.level;
        if group.page_no(own) == ROOT_PAGE {
            let (left, right) = (group.allocate()?, group.allocate()?);
            let upper = node.split(group.page_no(right));
            let children = vec![node.as_child(group.page_no(left)), upper.as_child(group.page_no(right))];
            group.inner(left, &node);
            group.inner(right, &upper);
            group.inner(own, &InnerNode { level: level + 1, children, high: None, right: NO_PAGE });
            group.commit(room);
            self.probe.hit(Event::Grow);
            return Ok(());
        }
        let right = group.allocate()?;
        let upper = node.split(group.page_no(right));
        group.inner(own, &node);
        group.inner(right, &upper);
        let new = upper.as_child(group.page_no(right));
        group.commit(room);
        self.post_new(&new, level, counters)
    }

    /// Tells the pages above the page of `level` that has `key` how many rows there are below it, where what they say
    /// is far from that.
    pub(in crate::tree) fn recount(&self, key: &[u8], level: u8, rows: u64, counters: &Counters) -> Result<()> {
        let is_far = |inner: &Inner<'_>| inner.rows(inner.find(key)).abs_diff(rows) > rows / COUNT_ERROR;
        let above = self.descend(crate::tree::read::descent::DescentTarget::Key(key), level + 1, counters)?;
        if above.header().level() <= level || !is_far(&self.inner(&above)?) {
            return Ok(());
        }
        drop(above);
        let room = self.room_at_once()?;
        let Some((above, _)) = self.descend_mut(key, level + 1, counters)? else { return Ok(()) };
        let inner = self.inner(&above)?;
        let child = inner.find(key);
        let all = self.rows_of(&above)? - inner.rows(child) + rows;
        let mut group = Group::new(self, counters);
        let above = group.add(above);
        let offset = (PAGE_HEADER + 8 * child) as u16;
        group.change(above, PageChange::Bytes { offset, bytes: rows.to_le_bytes().to_vec().into() });
        group.commit(room);
        self.recount(key, level + 1, all, counters)
    }
}
