//! The rows of a page that a read view sees. Every read of leaves goes through [`Visibility`].

use super::{
    BadPage, Leaf,
    rows::{Rows, RowsBuilder},
    slot::{Slot, SlotKind},
};
use crate::ReadView;
use std::ops::Range;

/// Which rows of a leaf a view sees.
#[derive(Debug, Clone, Copy)]
pub struct Visibility<'a> {
    leaf: Leaf<'a>,
    view: &'a ReadView,
}

impl<'a> Visibility<'a> {
    pub fn of(leaf: &Leaf<'a>, view: &'a ReadView) -> Visibility<'a> {
        Visibility { leaf: *leaf, view }
    }

    /// The number of the row at a position, if the view sees it. Rows without a slot were made by transactions that
    /// every view sees.
    pub fn row(&self, position: usize) -> Result<Option<usize>, BadPage> {
        let place = self.leaf.row_at(position)?;
        let seen = match place.slot {
            None => true,
            Some(slot) => self.sees(&self.leaf.slots().get(slot)?),
        };
        Ok(seen.then_some(place.row))
    }

    fn sees(&self, slot: &Slot) -> bool {
        !slot.marked && self.view.sees(slot.version.trx_id)
    }
}

/// The rows at these positions of a leaf that a view sees.
pub fn visible(leaf: &Leaf<'_>, positions: Range<usize>, view: &ReadView) -> Result<Rows, BadPage> {
    let visibility = Visibility::of(leaf, view);
    rows_at(leaf, positions, |slot| visibility.sees(slot))
}

/// The rows at these positions of a leaf, marked ones too, but for those of which `wanted` says no to their slot.
pub(super) fn rows_at(
    leaf: &Leaf<'_>,
    positions: Range<usize>,
    wanted: impl Fn(&Slot) -> bool,
) -> Result<Rows, BadPage> {
    if leaf.slots().is_empty() {
        return Ok(Rows::Range(positions));
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
            SlotKind::Replaced if here => rows.replaced(place, base_rows + number),
            SlotKind::Inserted if here => rows.inserted(base_rows + number),
            _ => {}
        }
        base += usize::from(!inserted);
        position += usize::from(slot.kind != SlotKind::Removed);
    }
    base_run(&mut rows, base..base_rows, position);
    Ok(rows.finish())
}
