//! Which rows of a leaf are decoded, in the form that decodes them fastest.

use crate::tree::page::leaf::rows::RowSelection;
use arrow_buffer::BooleanBuffer;
use std::{borrow::Cow, ops::Range};

/// Neighbouring rows of which more than one in so many are left out are decoded one by one.
const DROPPED_ONE_IN: usize = 4;
/// So are those that are left out in so many places that the runs between them are shorter than this, on average.
const RUN_ROWS_MIN: usize = 8;

/// Rows of one leaf.
pub(super) enum Wanted<'a> {
    Rows(Cow<'a, RowSelection>),
    /// Neighbouring rows with few gaps between them. The runs ascend, and there is at least one.
    Runs(Vec<Range<usize>>),
}

impl<'a> Wanted<'a> {
    pub fn all(rows: &'a RowSelection) -> Wanted<'a> {
        Wanted::Rows(Cow::Borrowed(rows))
    }

    /// Those of `rows` whose bit is set; `None` if there are none.
    pub fn of(rows: &'a RowSelection, passed: &BooleanBuffer) -> Option<Wanted<'a>> {
        let count = passed.count_set_bits();
        if count == 0 {
            return None;
        }
        if count == passed.len() {
            return Some(Wanted::all(rows));
        }
        if let RowSelection::Range(range) = rows
            && (passed.len() - count) * DROPPED_ONE_IN <= passed.len()
        {
            let runs = passed.set_slices().map(|(start, end)| range.start + start..range.start + end);
            let runs: Vec<Range<usize>> = runs.collect();
            if runs.len() * RUN_ROWS_MIN <= count {
                return Some(Wanted::Runs(runs));
            }
        }
        Some(Wanted::Rows(Cow::Owned(rows.pick(passed.set_indices()))))
    }

    pub fn len(&self) -> usize {
        match self {
            Wanted::Rows(rows) => rows.len(),
            Wanted::Runs(runs) => runs.iter().map(Range::len).sum(),
        }
    }
}

/// The set bits of `first`, without those whose bit in `second` is not set: that has one bit for each of them.
pub(super) fn narrowed(first: &BooleanBuffer, second: &BooleanBuffer) -> BooleanBuffer {
    let mut bytes = vec![0u8; first.len().div_ceil(8)];
    for (bit, kept) in first.set_indices().zip(second.iter()) {
        bytes[bit / 8] |= u8::from(kept) << (bit % 8);
    }
    BooleanBuffer::new(bytes.into(), 0, first.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wanted_rows_are_those_that_passed(
            bits in proptest::collection::vec(proptest::bool::weighted(0.9), 1..200),
            sparse in any::<bool>(),
            start in 0usize..50,
        ) {
            let passed: BooleanBuffer = bits.iter().enumerate().map(|(i, bit)| *bit && (!sparse || i % 3 == 0)).collect();
            let rows = RowSelection::Range(start..start + bits.len());
            let want: Vec<usize> = passed.set_indices().map(|i| start + i).collect();
            let found: Vec<usize> = match Wanted::of(&rows, &passed) {
                None => Vec::new(),
                Some(wanted) => {
                    prop_assert_eq!(wanted.len(), want.len());
                    match wanted {
                        Wanted::Rows(rows) => rows.iter().collect(),
                        Wanted::Runs(runs) => runs.into_iter().flatten().collect(),
                    }
                }
            };
            prop_assert_eq!(found, want);
        }

        #[test]
        fn both_conditions_hold(bits in proptest::collection::vec(any::<(bool, bool)>(), 0..100)) {
            let first: BooleanBuffer = bits.iter().map(|bit| bit.0).collect();
            let second: BooleanBuffer = bits.iter().filter(|bit| bit.0).map(|bit| bit.1).collect();
            let want: BooleanBuffer = bits.iter().map(|bit| bit.0 && bit.1).collect();
            prop_assert_eq!(narrowed(&first, &second), want);
        }
    }
}
