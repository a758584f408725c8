//! The first row of a leaf that is not before a key.

use super::{BadPage, Leaf, slot::Slots};

/// The position of the first row from `from` on that is not less than what is looked for; the number of rows if there
/// is none. `less` says of a row number whether the row is. Where there are slots the base is searched first, whose
/// rows are in the order of the keys too, those removed among them: most rows then need no look at the slots.
pub(super) fn lower_bound(
    leaf: &Leaf<'_>,
    from: usize,
    mut less: impl FnMut(usize) -> Result<bool, BadPage>,
) -> Result<usize, BadPage> {
    let (mut low, mut high) = (from, leaf.rows());
    let slots = leaf.slots();
    if !slots.is_empty() {
        // New keys are often the greatest: then there is nothing to search.
        if leaf.right() == 0 && low < high && less(leaf.row_at(high - 1)?.row)? {
            return Ok(high);
        }
        let base_rows = leaf.base_rows();
        let (mut base, mut end) = (0, base_rows);
        while base < end {
            let middle = base.midpoint(end);
            if less(middle)? { base = middle + 1 } else { end = middle }
        }
        let (first, last) = positions_before(&slots, base, base_rows)?;
        low = low.max(usize::try_from(first).unwrap_or(0).min(high));
        high = high.min(usize::try_from(last).unwrap_or(0)).max(low);
    }
    while low < high {
        let middle = low.midpoint(high);
        if less(leaf.row_at(middle)?.row)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

/// The positions between which a key belongs that is greater than those of all rows of the base before `base`, and not
/// greater than that of row `base`: the first position behind the rows before, and the position of the next row of the
/// base that is not removed. A row that came when row `base` was removed stands behind it, whatever its key.
fn positions_before(slots: &Slots<'_>, base: usize, base_rows: usize) -> Result<(i64, i64), BadPage> {
    let first = base as i64 + i64::from(slots.shift_before(slots.before_row(base))?);
    let mut next = base;
    loop {
        let behind = slots.before_row(next + 1);
        let last = match behind {
            0 => None,
            _ => Some(slots.get(behind - 1)?).filter(|slot| usize::from(slot.place) == next),
        };
        match last {
            Some(slot) if next < base_rows && slot.is_removed() => next += 1,
            // Its own slot, or none.
            Some(slot) if !slot.is_inserted() => return Ok((first, next as i64 + i64::from(slot.shift))),
            _ => return Ok((first, next as i64 + i64::from(slots.shift_before(behind)?))),
        }
    }
}
