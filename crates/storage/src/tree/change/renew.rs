//! Leaves of former row layouts: who changes a row writes its leaf in the newest layout first, as a group of its own.
//! So a leaf never has two layouts, and what is written is always of the newest one.
//!
//! ```text
//!   fits            the leaf is encoded anew, in the newest layout
//!   does not fit    it is split in its own layout; the half that the row belongs to is looked at again
//!   has one row     the row becomes a record, for which there is always room (`page::former_layout::rows_fit`)
//! ```
//!
//! No row changes. The long values of dropped columns go: nobody can read them any more, since views that are older
//! than the newest layout are refused, and older versions of the rows have their own.

use super::group::Room;
use crate::tree::{
    btree::Tree,
    page::{
        block::{ColumnBlock, OverflowPointer},
        former_layout::FormerLayout,
        leaf::{Leaf, encode::encode},
    },
    probe::Event,
};
use crate::{Counters, Result, buffer_pool::PageGuardMut, page::PageHeader};

/// A leaf in the newest layout, and the pages of the long values that it does not have any more.
pub(in crate::tree) struct Renewed {
    pub image: Vec<u8>,
    pub gone: Vec<u32>,
}

impl Tree {
    /// Writes the leaf of a key, which is of a former layout, in the newest one. It may take several calls. Errors:
    /// those of reading long values and of allocating pages; the leaf is then as it was.
    pub(in crate::tree) fn renew(&self, page: PageGuardMut, key: &[u8], counters: &Counters) -> Result<()> {
        let page_no = page.page_no();
        let corrupt = |e| self.corrupt(page_no, e);
        let room = self.room_at_once()?;
        let former = self.layout.former(PageHeader(&page).row_layout()).map_err(corrupt)?;
        let leaf = self.leaf(&page)?;
        if let Some(renewed) = self.renewed(&page, self.horizon(), counters)? {
            self.put_renewed(page, renewed, room, counters);
            return Ok(());
        }
        if leaf.rows() == 1 {
            let (image, gone) = (self.row_as_record(&leaf)?, self.gone_values(&leaf, former, counters)?);
            self.put_renewed(page, Renewed { image, gone }, room, counters);
            return Ok(());
        }
        let found = leaf.find(&self.layout, key).map_err(corrupt)?;
        self.split_leaf(page, &former.layout, found, key, room, counters)
    }

    /// A leaf, encoded anew in the newest layout; `None` if its rows do not fit as a base.
    pub(in crate::tree) fn renewed(&self, page: &[u8], horizon: u64, counters: &Counters) -> Result<Option<Renewed>> {
        let leaf = self.leaf(page)?;
        let mut image = vec![0; page.len()];
        let fits = encode(page, &self.layout, horizon, &mut image);
        if !fits.map_err(|e| self.corrupt(leaf.page_no(), e))? {
            return Ok(None);
        }
        let gone = leaf.former().map(|former| self.gone_values(&leaf, former, counters)).transpose()?;
        Ok(Some(Renewed { image, gone: gone.unwrap_or_default() }))
    }

    /// Puts a leaf in the place of the one that is there.
    pub(in crate::tree) fn put_renewed(
        &self,
        page: PageGuardMut,
        Renewed { image, mut gone }: Renewed,
        room: Room,
        counters: &Counters,
    ) {
        self.put_image(page, image, room, counters);
        self.probe.hit(Event::Encode);
        self.file.unlinked().lock().append(&mut gone);
    }

    /// The pages of the long values of columns that a leaf of a former layout has and the newest layout does not.
    fn gone_values(&self, leaf: &Leaf<'_>, former: &FormerLayout, counters: &Counters) -> Result<Vec<u32>> {
        let mut pages = Vec::new();
        for pointer in self.gone_pointers(leaf, former)? {
            self.pages_of_value(pointer, &mut pages, counters)?;
        }
        Ok(pages)
    }

    /// Pointers to those values.
    pub(in crate::tree) fn gone_pointers(
        &self,
        leaf: &Leaf<'_>,
        former: &FormerLayout,
    ) -> Result<Vec<OverflowPointer>> {
        if former.gone.is_empty() || !self.spills {
            return Ok(Vec::new());
        }
        let own = Leaf::of(leaf.page(), &former.layout);
        let block = own.and_then(|own| own.to_block(&former.layout));
        let block = block.map_err(|e| self.corrupt(leaf.page_no(), e))?;
        let of_column = |column: &ColumnBlock| {
            let long = (0..column.len()).filter(|row| column.is_overflow(*row));
            long.filter_map(|row| OverflowPointer::from_bytes(column.bytes(row))).collect::<Vec<_>>()
        };
        Ok(former.gone.iter().flat_map(|at| of_column(&block.columns[*at])).collect())
    }
}
