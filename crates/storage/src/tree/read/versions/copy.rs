//! Copies of leaves: pages in memory, without slots, of rows as a view sees them.

use super::{
    LeafPage, Seen,
    entry::{EntriesInDoubt, SeenEntry},
};
use crate::{
    ReadView, Result,
    page::PageHeaderMut,
    tree::{
        btree::Tree,
        page::{
            block::RowBlock,
            leaf::{BadPage, Fences, Fit, Leaf, slot::Slot, visible::rows_at, write_leaf},
        },
        planted::PlantedFault,
        probe::Event,
        read::by_key::Pages,
    },
};
use std::ops::Range;

/// A row of a leaf for a view.
enum Copied {
    /// As it is in the leaf.
    Same,
    Other(RowBlock),
    Nothing,
    MustWait,
}

impl Tree {
    /// The rows at some positions of a leaf, given as bytes, as a view sees them: in one page or, if they do not fit,
    /// in several, in the order of the key. `None` if something would have to be waited for and `pages` does not allow
    /// it. If it does, nothing may be latched.
    pub(in crate::tree) fn copied(
        &self,
        page: &[u8],
        positions: Range<usize>,
        view: &ReadView,
        pages: &Pages<'_>,
    ) -> Result<Option<Vec<LeafPage>>> {
        let copied = self.copy_of(page, positions, view, pages);
        // Rows, undo records and long values were read one after the other. If the view has expired meanwhile, some of
        // them may have been gone, or others in their places: what looks damaged then is not.
        self.check_view(view)?;
        copied
    }

    fn copy_of(
        &self,
        page: &[u8],
        positions: Range<usize>,
        view: &ReadView,
        pages: &Pages<'_>,
    ) -> Result<Option<Vec<LeafPage>>> {
        let leaf = self.leaf(page)?;
        let corrupt = |e: BadPage| self.corrupt(leaf.page_no(), e);
        let numbers = rows_at(&leaf, positions.clone(), |_| true).map_err(corrupt)?;
        let newest = leaf.to_block_of(&self.layout, &numbers).map_err(corrupt)?;
        let mut rows = RowBlock::new(&self.layout);
        let mut entries = match self.layout.index {
            0 => None,
            _ => Some(EntriesInDoubt::of(self, &leaf)?),
        };
        // Rows of `newest` before this one are copied or left out.
        let mut next = 0;
        for slot in leaf.slots_at(&positions) {
            let (position, slot) = slot.map_err(corrupt)?;
            let here = position - positions.start;
            let copied = match view.sees(slot.version.trx_id) {
                true if slot.marked => Copied::Nothing,
                true => Copied::Same,
                false => match &mut entries {
                    Some(entries) => self.entry_in_doubt(entries, (numbers.get(here), &slot), view, pages)?,
                    None => self.row_in_doubt(&leaf, &slot, (&newest, here), view, pages)?,
                },
            };
            if matches!(copied, Copied::Same) {
                continue;
            }
            rows.append_block(&newest, next..here);
            next = here + 1;
            match copied {
                Copied::Other(row) => rows.append_block(&row, 0..1),
                Copied::MustWait => return Ok(None),
                Copied::Nothing | Copied::Same => {}
            }
        }
        rows.append_block(&newest, next..newest.rows());
        Ok(Some(self.pages_of(&rows, leaf.page_no())))
    }

    /// A row of a leaf of a clustered tree whose newest version, a row of `newest`, the view does not see, as the view
    /// sees it.
    fn row_in_doubt(
        &self,
        leaf: &Leaf<'_>,
        slot: &Slot,
        (newest, here): (&RowBlock, usize),
        view: &ReadView,
        pages: &Pages<'_>,
    ) -> Result<Copied> {
        let record = self.layout.record.record_of(newest, here);
        Ok(match self.seen_before(slot.version, record, view, pages)? {
            Seen::Row(record) => {
                let mut block = RowBlock::new(&self.layout);
                self.layout.record.append_to(&record, &mut block).map_err(|e| self.corrupt(leaf.page_no(), e))?;
                Copied::Other(block)
            }
            Seen::Nothing => Copied::Nothing,
            Seen::MustWait => Copied::MustWait,
        })
    }

    /// An entry of a leaf of a secondary tree of which the view does not see the last change, as the view sees it.
    fn entry_in_doubt(
        &self,
        entries: &mut EntriesInDoubt<'_>,
        (row, slot): (usize, &Slot),
        view: &ReadView,
        pages: &Pages<'_>,
    ) -> Result<Copied> {
        if self.planted.has(PlantedFault::TrustEntries) {
            return Ok(if slot.marked { Copied::Nothing } else { Copied::Same });
        }
        Ok(match entries.seen(row, view, pages)? {
            SeenEntry::Entry(values) => {
                self.probe.hit(Event::DoubtedSeen);
                let mut block = RowBlock::new(&self.layout);
                block.push_values(&self.layout, values)?;
                Copied::Other(block)
            }
            SeenEntry::Nothing => {
                self.probe.hit(Event::DoubtedNot);
                Copied::Nothing
            }
            SeenEntry::MustWait => Copied::MustWait,
        })
    }

    /// Rows as pages.
    fn pages_of(&self, rows: &RowBlock, page_no: u32) -> Vec<LeafPage> {
        let (mut pages, mut start) = (Vec::with_capacity(1), 0);
        let fit = Fit { max_rows: self.fit.max_rows.min(self.probe.copy_rows_max()), ..self.fit.clone() };
        while start < rows.rows() {
            let extents = fit.take(rows, start, rows.rows() - start, 0);
            let mut page = vec![0; self.file.page_size()];
            write_leaf(rows, &extents, &fit, Fences::NONE, &mut page);
            PageHeaderMut(&mut page).set_identity(page_no, self.layout.index_id);
            start = extents.rows().end;
            pages.push(LeafPage::Copy(page.into()));
        }
        self.probe.hit(if pages.len() > 1 { Event::CopiedToSeveral } else { Event::Copied });
        pages
    }
}
