//! Leaves that become too full: they are encoded anew, or their rows move to more pages. Both are groups of their own,
//! which change no row.

use super::{
    group::{Group, Room},
    post::note,
};
use crate::tree::{
    btree::Tree,
    page::{
        block::RowBlock,
        inner::{self, Child, InnerNode},
        layout::TreeLayout,
        leaf::{
            Leaf, LeafPosition, RowExtents,
            changes::{SlotChange, apply, free_bytes},
            encode::encode,
            max_rows,
            slot::{Slot, SlotKind, Version},
            split::{Cut, split},
            write_leaf,
        },
    },
    probe::Event,
};
use crate::{
    Counters, Result, StorageError,
    buffer_pool::PageGuardMut,
    file::ROOT_PAGE,
    page::{NO_PAGE, PageHeader, PageHeaderMut},
};

/// A leaf that is encoded anew and then has less than this share of the page free is split instead, so that it is not
/// encoded again after a few rows.
const SPARE: usize = 8;
/// The same for the last leaf of a tree, of which rows that come in key order leave a full one behind.
const SPARE_AT_END: usize = 16;
/// A leaf whose rows would take more than so many pages if they were all as long as the one that comes, and not packed,
/// is split instead of being encoded: few such rows fit beside the base as they are, and each time all of the others
/// would have to be packed again.
const UNPACKED_MAX: usize = 16;
/// A row that comes to the last leaf before less than this share of its rows counts as one at its end: threads that
/// take numbers in turn do not bring them quite in their order.
const LATE: usize = 8;

/// Returns true for a place at the end of the tree, where rows come in key order.
fn is_at_end(leaf: &Leaf<'_>, found: LeafPosition) -> bool {
    leaf.right() == NO_PAGE && !found.exact && (leaf.rows() - found.position) * LATE <= leaf.rows()
}

impl Tree {
    /// Makes room on a leaf for a row with this key that takes so many bytes: encodes the leaf anew, or splits it. It
    /// may take several calls. Errors: those of allocating pages; the leaf is then as it was.
    pub(in crate::tree) fn make_room(
        &self,
        page: PageGuardMut,
        key: &[u8],
        needed: usize,
        counters: &Counters,
    ) -> Result<()> {
        let corrupt = |e| self.corrupt(page.page_no(), e);
        let room = self.room_at_once()?;
        let leaf = self.leaf(&page)?;
        let found = leaf.find(&self.layout, key).map_err(corrupt)?;
        if leaf.rows() == 1 && found.exact {
            let image = self.row_as_record(&leaf)?;
            self.put_image(page, image, room, counters);
            return Ok(());
        }
        let spare = needed.max(page.len() / if is_at_end(&leaf, found) { SPARE_AT_END } else { SPARE });
        let packs = leaf.rows() < max_rows(page.len()) && leaf.rows() * needed <= UNPACKED_MAX * page.len();
        if !leaf.slots().is_empty() && packs {
            let mut image = vec![0; page.len()];
            let fits = encode(&page, &self.layout, self.horizon(), &mut image).map_err(corrupt)?;
            if fits && free_bytes(&image).map_err(corrupt)? >= spare {
                self.put_image(page, image, room, counters);
                self.probe.hit(Event::Encode);
                return Ok(());
            }
        }
        self.split_leaf(page, &self.layout, found, key, room, counters)
    }

    /// Puts an image in the place of a page.
    pub(in crate::tree) fn put_image(&self, page: PageGuardMut, image: Vec<u8>, room: Room, counters: &Counters) {
        let mut group = Group::new(self, counters);
        let page = group.add(page);
        group.image(page, image);
        group.commit(room);
    }

    /// A leaf's only row as a record, beside which another version of the row finds room.
    pub(in crate::tree) fn row_as_record(&self, leaf: &Leaf<'_>) -> Result<Vec<u8>> {
        let header = PageHeader(leaf.page());
        let image = || {
            let (none, mut image) = (RowBlock::new(&self.layout), vec![0; leaf.page().len()]);
            let slot = leaf.slot_at(0)?;
            write_leaf(&none, &RowExtents::of(&none, 0..0), &self.fit, leaf.fences()?, &mut image);
            PageHeaderMut(&mut image).set_next(leaf.right());
            let (marked, version) = slot.map_or((false, Version::default()), |slot| (slot.marked, slot.version));
            let slot = Slot { record: 0, place: 0, shift: 0, kind: SlotKind::Inserted, marked, version };
            apply(&mut image, &SlotChange::Add { at: 0, slot, record: leaf.record_of(&self.layout, 0)? })?;
            Ok(image)
        };
        image().map_err(|e| self.corrupt(header.page_no(), e))
    }

    /// Moves the upper half of a leaf's rows to a new page, with room for a row with this key, and posts that. Half of
    /// what the root has moves to either of two new pages. `layout`: the row layout of the leaf.
    pub(in crate::tree) fn split_leaf(
        &self,
        page: PageGuardMut,
        layout: &TreeLayout,
        found: LeafPosition,
        key: &[u8],
        room: Room,
        counters: &Counters,
    ) -> Result<()> {
        let mut group = Group::new(self, counters);
        let old = group.add(page);
        let is_root = group.page_no(old) == ROOT_PAGE;
        let left = if is_root { group.allocate()? } else { old };
        let right = group.allocate()?;
        let halves = {
            let (page, right_no) = (group.page(old), group.page_no(right));
            let leaf = self.leaf(page)?;
            let at_row = Cut::For { position: found.position, key };
            let cuts = match is_at_end(&leaf, found) || leaf.rows() <= 1 {
                true => [at_row, Cut::Middle],
                false => [Cut::Middle, at_row],
            };
            let mut halves = None;
            for cut in cuts.into_iter().filter(|cut| !found.exact || *cut == Cut::Middle) {
                if halves.is_none() {
                    let cut = split(page, layout, self.horizon(), cut, right_no);
                    halves = cut.map_err(|e| self.corrupt(group.page_no(old), e))?;
                }
            }
            let limit = inner::max_key(page.len());
            halves.ok_or(StorageError::RowTooLarge { bytes: key.len(), limit })?
        };
        group.raise_trx_id(PageHeader(group.page(old)).max_trx_id());
        group.count(0, 1);
        if is_root {
            let child = |key, member, image: &[u8]| {
                Ok::<_, StorageError>(Child { key, page: group.page_no(member), rows: self.rows_of(image)? })
            };
            let separator = halves.separator.clone();
            let children = vec![child(Vec::new(), left, &halves.left)?, child(separator, right, &halves.right)?];
            group.inner(old, &InnerNode { level: 1, children, high: None, right: NO_PAGE });
        }
        let rows = self.rows_of(&halves.right)?;
        let new = Child { key: halves.separator, page: group.page_no(right), rows };
        group.image(left, halves.left);
        group.image(right, halves.right);
        drop(group.commit(room));
        self.probe.hit(if is_root { Event::Grow } else { Event::Split });
        if !is_root && !self.probe.skips_post(new.page) {
            note(self.post_new(&new, 0, counters));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Tree {
    /// Encodes leaves anew, where a test wants that after each change.
    pub(in crate::tree) fn encode_if_always(&self, pages: &[PageGuardMut]) {
        if self.probe.encode_always.load(std::sync::atomic::Ordering::Relaxed) {
            for page in pages {
                let mut image = vec![0; page.len()];
                encode(page, &self.layout, self.horizon(), &mut image).unwrap();
                std::hint::black_box(image);
            }
        }
    }
}
