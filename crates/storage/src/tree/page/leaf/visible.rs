//! The rows of a page that a read view sees. Where the newest version of a row is not the one, its leaf is copied first
//! ([`crate::tree::LeafPage`]); of all others only the mark matters.

use super::{
    BadPage, Leaf,
    rows::{RowSelection, RowsBuilder},
    slot::{Slot, SlotKind},
};
use crate::ReadView;
use std::ops::Range;

impl<'a> Leaf<'a> {
    /// The number of the row at a position, unless it is marked.
    pub fn unmarked_row(&self, position: usize) -> Result<Option<usize>, BadPage> {
        let place = self.row_at(position)?;
        let marked = match place.slot {
            None => false,
            Some(slot) => self.slots().get(slot)?.marked,
        };
        Ok((!marked).then_some(place.row))
    }

    /// The slots of the rows at these positions, each with its position.
    pub fn slots_at(&self, positions: &Range<usize>) -> impl Iterator<Item = Result<(usize, Slot), BadPage>> + use<'a> {
        let first = positions.start.checked_sub(1).map_or(0, |before| self.slots().upto(before));
        let (start, end) = (positions.start as i64, positions.end as i64);
        self.slots().from(first).filter_map(move |slot| {
            let slot = match slot {
                Ok(slot) => slot,
                Err(e) => return Some(Err(e)),
            };
            let position = i64::from(slot.place) + i64::from(slot.shift);
            let is_row = !slot.is_removed() && (start..end).contains(&position);
            is_row.then_some(Ok((position as usize, slot)))
        })
    }

    /// Returns true if a row at these positions has a newest version that the view does not see.
    pub fn unseen_at(&self, positions: &Range<usize>, view: &ReadView) -> Result<bool, BadPage> {
        for slot in self.slots_at(positions) {
            if !view.sees(slot?.1.version.trx_id) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The rows at these positions of a leaf that are not marked.
pub fn visible(leaf: &Leaf<'_>, positions: Range<usize>) -> Result<RowSelection, BadPage> {
    rows_at(leaf, positions, |slot| !slot.marked)
}

/// The rows at these positions of a leaf, marked ones too, but for those of which `wanted` says no to their slot.
pub(in crate::tree) fn rows_at(
    leaf: &Leaf<'_>,
    positions: Range<usize>,
    wanted: impl Fn(&Slot) -> bool,
) -> Result<RowSelection, BadPage> {
    if leaf.slots().is_empty() {
        return Ok(RowSelection::Range(positions));
    }
    let base_rows = leaf.base_rows();
    let mut rows = RowsBuilder::new(base_rows, positions.len());
    // The next row of the base, and its position.
    let (mut base, mut position) = (0, 0usize);
    let base_run = |rows: &mut RowsBuilder, run: Range<usize>, position: usize| {
        let clip = |end: usize| (end.max(position) - position).min(run.len());
        rows.base(run.start + clip(positions.start)..run.start + clip(positions.end));
    };
    for (number, slot) in leaf.slots().iter().enumerate() {
        let slot = slot?;
        let place = usize::from(slot.place);
        let inserted = slot.kind == SlotKind::Inserted;
        if place < base || place > base_rows || (place == base_rows && !inserted) {
            return Err(BadPage("slots out of order"));
        }
        base_run(&mut rows, base..place, position);
        position += place - base;
        base = place;
        if i64::from(slot.shift) != position as i64 - place as i64 {
            return Err(BadPage("shift of a slot is wrong"));
        }
        let here = positions.contains(&position) && wanted(&slot);
        match slot.kind {
            SlotKind::Version if here => rows.base(place..place + 1),
            SlotKind::Replaced | SlotKind::Patched if here => rows.replaced(place, base_rows + number),
            SlotKind::Inserted if here => rows.inserted(base_rows + number),
            _ => {}
        }
        base += usize::from(!inserted);
        position += usize::from(slot.kind != SlotKind::Removed);
    }
    base_run(&mut rows, base..base_rows, position);
    Ok(rows.finish())
}
