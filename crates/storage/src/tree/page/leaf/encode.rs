//! Encoding a leaf anew: its rows become its base. Drawn in `docs/format.md`, "Encoding a leaf anew".

use super::{
    BadPage, Fences, Leaf, RowExtents, SLOT,
    changes::{SlotChange, apply},
    max_rows,
    record::record_at,
    room,
    rows::RowSelection,
    slot::{Slot, SlotKind},
    write::write_leaf,
};
use crate::{
    page::{PAGE_HEADER, PageHeader, PageHeaderMut},
    tree::{
        build::fit,
        page::{block::RowBlock, layout::TreeLayout},
    },
};
use std::{borrow::Cow, ops::Range};

/// The version of the encoder, which redo asks for: the same page, layout and horizon give the same bytes.
pub const ENCODER_VERSION: u16 = 1;

/// Encodes a leaf anew over the whole of `out`. `horizon`: the oldest transaction whose changes some view may not see,
/// or that may be rolled back. Returns false if the rows do not fit as a base; `out` is then of no use.
pub fn encode(page: &[u8], layout: &TreeLayout, horizon: u64, out: &mut [u8]) -> Result<bool, BadPage> {
    let leaf = Leaf::of(page, layout)?;
    let rows = NewRows::of(&leaf, layout, 0..leaf.rows(), Records::Encoded, horizon)?;
    rows.write(layout, PageHeader(page), leaf.fences()?, out)
}

/// The treatment of rows that lie in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Records {
    /// They become rows of the base.
    Encoded,
    /// They stay records. What fitted a page then fits one in parts.
    Kept,
}

/// Rows for a leaf: a base, and slots.
pub(super) struct NewRows {
    pub block: RowBlock,
    slots: Vec<(Slot, Vec<u8>)>,
}

impl NewRows {
    /// The rows at some positions of a leaf.
    pub fn of(
        leaf: &Leaf<'_>,
        layout: &TreeLayout,
        positions: Range<usize>,
        records: Records,
        horizon: u64,
    ) -> Result<NewRows, BadPage> {
        // Those of a former layout are none in the newest one.
        let records = if leaf.former().is_some() { Records::Encoded } else { records };
        let numbers = leaf.all_rows()?;
        let (mut base, mut slots): (Vec<u16>, Vec<(Slot, Vec<u8>)>) = (Vec::with_capacity(positions.len()), Vec::new());
        let (mut shift, mut position) = (0, positions.start);
        for (number, old) in leaf.slots().iter().enumerate() {
            let old = old?;
            let at = usize::try_from(i64::from(old.place) + i64::from(old.shift)).unwrap_or(usize::MAX);
            if old.is_removed() || at < position || at >= positions.end {
                continue;
            }
            base.extend((position..at).map(|position| numbers.get(position) as u16));
            position = at + 1;
            let kept = old.kind.has_record() && records == Records::Kept;
            let patched = leaf.slots().patched(number).filter(|_| kept);
            if kept || old.marked || old.version.trx_id >= horizon {
                let kind = match (kept, patched) {
                    (false, _) => SlotKind::Version,
                    (true, None) => SlotKind::Inserted,
                    (true, Some(_)) => SlotKind::Patched,
                };
                let record =
                    if kept { record_at(leaf.page(), leaf.slots().record(number))?.to_vec() } else { Vec::new() };
                let place = base.len() as u16;
                slots.push((Slot { record: 0, place, shift, kind, ..old }, record));
                shift += kind.shift();
            }
            match patched {
                Some(row) => base.push(row as u16),
                None if !kept => base.push(numbers.get(at) as u16),
                None => {}
            }
        }
        base.extend((position..positions.end).map(|position| numbers.get(position) as u16));
        let block = leaf.to_block_of(layout, &RowSelection::of(base, leaf.base_rows()))?;
        Ok(NewRows { block, slots })
    }

    /// Adds rows whose keys are greater.
    pub fn append(&mut self, behind: NewRows) {
        let (place, shift) = (self.block.rows() as u16, self.slots.last().map_or(0, |(slot, _)| slot.behind()));
        self.slots.extend(behind.slots.into_iter().map(|(slot, record)| {
            let slot = Slot { place: slot.place + place, shift: slot.shift + shift, ..slot };
            (slot, record)
        }));
        self.block.append_block(&behind.block, 0..behind.block.rows());
    }

    /// Writes the rows as a leaf over the whole of `page`, with what the header of another says of number, right link,
    /// LSN and transactions. Returns false if they do not fit.
    pub fn write(
        &self,
        layout: &TreeLayout,
        header: PageHeader<'_>,
        fences: Fences<'_>,
        page: &mut [u8],
    ) -> Result<bool, BadPage> {
        let extents = RowExtents::exact(&self.block, 0..self.block.rows());
        let fit = fit(layout, page.len());
        let bytes = extents.bytes(&self.block, &fit.widths);
        let slots: usize = self.slots.iter().map(|(_, record)| SLOT + record.len()).sum();
        let minipages_end = (PAGE_HEADER + bytes).next_multiple_of(if slots > 0 { 8 } else { 1 });
        let fits = bytes <= room(page.len()) && minipages_end + slots + fences.bytes() <= page.len();
        if !fits || self.block.rows() > max_rows(page.len()) {
            return Ok(false);
        }
        write_leaf(&self.block, &extents, &fit, fences, page);
        let mut new = PageHeaderMut(page);
        new.set_identity(header.page_no(), header.index_id());
        new.set_next(header.next());
        new.set_lsn(header.lsn());
        new.set_max_trx_id(header.max_trx_id());
        for (at, (slot, record)) in self.slots.iter().enumerate() {
            apply(page, &SlotChange::Add { at, slot: *slot, record: Cow::Borrowed(record) })?;
        }
        Ok(true)
    }
}
