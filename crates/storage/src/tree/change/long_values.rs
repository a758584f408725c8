//! Long values of rows that change: their pages are written before the row, and freed after it.

use super::{
    group::Group,
    modify::TreeChange,
    new_row::{Form, NewRow},
    row_edit::Place,
};
use crate::tree::{
    btree::Tree,
    page::{
        block::{OverflowPointer, RowBlock},
        leaf::max_row,
        overflow,
    },
};
use crate::{Counters, Result, StorageError, page::NO_PAGE};

impl Tree {
    /// Puts pages that nothing leads to on the free list. Those for which this fails are tried again with the next
    /// change: the change that left them behind is made all the same.
    pub(crate) fn free_unlinked(&self, counters: &Counters) {
        loop {
            // Not locked while the page is latched and read.
            let Some(page_no) = self.file.unlinked().lock().pop() else { return };
            if let Err(e) = self.free_page(page_no, counters) {
                tracing::warn!("page {page_no} is not free yet: {e}");
                self.file.unlinked().lock().push(page_no);
                return;
            }
        }
    }

    /// The pages of the long values in a record of a row, of some row layout, are free from now on, for nobody needs
    /// that version of the row any more.
    pub(crate) fn free_long_values(&self, layout: u32, record: &[u8], counters: &Counters) -> Result<()> {
        if !self.spills {
            return Ok(());
        }
        let block = self.block_of_record(layout, record)?;
        let mut pages = Vec::new();
        for pointer in block.columns.iter().filter(|c| c.is_overflow(0)) {
            let Some(pointer) = OverflowPointer::from_bytes(pointer.bytes(0)) else { continue };
            self.pages_of_value(pointer, &mut pages, counters)?;
        }
        self.file.unlinked().lock().append(&mut pages);
        self.free_unlinked(counters);
        Ok(())
    }

    /// Returns true if rows may be so long that some of their values go to pages of their own.
    pub(crate) fn spills(&self) -> bool {
        self.spills
    }

    /// Returns true if a record of a row, of some row layout, has long values.
    pub(crate) fn has_long_values(&self, layout: u32, record: &[u8]) -> Result<bool> {
        Ok(self.spills && self.block_of_record(layout, record)?.columns.iter().any(|c| c.is_overflow(0)))
    }

    /// Adds the pages of a long value.
    pub(in crate::tree) fn pages_of_value(
        &self,
        pointer: OverflowPointer,
        pages: &mut Vec<u32>,
        counters: &Counters,
    ) -> Result<()> {
        let (mut page_no, mut rest) = (pointer.page, pointer.len as usize);
        while rest > 0 {
            let page = self.fetch(page_no, counters)?;
            let (piece, next) = overflow::read_piece(&page, rest).map_err(|e| self.corrupt(page_no, e))?;
            rest -= piece.len();
            pages.push(page_no);
            page_no = next;
        }
        Ok(())
    }

    fn free_page(&self, page_no: u32, counters: &Counters) -> Result<()> {
        let room = self.room_at_once()?;
        let mut group = Group::new(self, counters);
        let page = group.latch(page_no)?;
        group.free(page)?;
        group.commit(room);
        Ok(())
    }
}

impl TreeChange<'_> {
    /// The record of a row, which it takes; its long values go to pages of their own.
    pub(in crate::tree) fn record_of(&mut self, new: &mut NewRow<'_>) -> Result<Vec<u8>> {
        let block = match &mut new.form {
            Form::Record(record) => return Ok(std::mem::take(record)),
            Form::Long(block) => block,
        };
        if self.tree.spills {
            self.spill(block)?;
        }
        let record = self.tree.layout.record.record_of(block, 0);
        let limit = max_row(self.tree.file.page_size(), block.columns.len());
        if record.len() > limit {
            return Err(StorageError::RowTooLarge { bytes: record.len(), limit });
        }
        Ok(record)
    }

    /// Puts long values of a row on pages of their own, each in a group of its own: nothing leads to them before the
    /// change is made.
    fn spill(&mut self, block: &mut RowBlock) -> Result<()> {
        let (tree, counters, written) = (self.tree, self.counters, &mut self.written);
        let page_size = tree.file.page_size();
        overflow::spill(block, 0..1, &tree.layout, page_size, |value| {
            let len = u32::try_from(value.len());
            let len = len.map_err(|_| StorageError::RowTooLarge { bytes: value.len(), limit: u32::MAX as usize })?;
            // From the end, so that each page knows the next.
            let mut next = NO_PAGE;
            for start in (0..value.len()).step_by(overflow::piece_bytes(page_size)).rev() {
                let mut image = vec![0; page_size];
                overflow::write_piece(&value[start..], next, &mut image);
                let room = tree.room()?;
                let mut group = Group::new(tree, counters);
                let page = group.allocate()?;
                next = group.page_no(page);
                group.image(page, image);
                group.commit(room);
                written.push(next);
            }
            Ok(OverflowPointer { page: next, len })
        })
    }

    /// The pages of a row's long values go with the row.
    pub(in crate::tree) fn unlink_long_values(&mut self, place: Place) -> Result<()> {
        let tree = self.tree;
        if !tree.spills {
            return Ok(());
        }
        let row = self.row_at(place)?;
        for column in row.columns.iter().filter(|c| c.is_overflow(0)) {
            let Some(pointer) = OverflowPointer::from_bytes(column.bytes(0)) else { continue };
            tree.pages_of_value(pointer, &mut self.unlinked, self.counters)?;
        }
        Ok(())
    }
}

impl Drop for TreeChange<'_> {
    fn drop(&mut self) {
        // The pages of long values of a change that was not made.
        self.tree.file.unlinked().lock().append(&mut self.written);
    }
}
