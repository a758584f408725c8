//! The rows of a page that a read view sees. Every read of leaves goes through [`Visibility`].

use super::{BadPage, Leaf};
use crate::ReadView;
use std::ops::Range;

/// Rows of one leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    Range(Range<usize>),
    /// Ascending.
    List(Vec<u16>),
}

impl Rows {
    pub fn len(&self) -> usize {
        match self {
            Rows::Range(range) => range.len(),
            Rows::List(list) => list.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The i-th of the rows.
    pub fn get(&self, i: usize) -> usize {
        match self {
            Rows::Range(range) => range.start + i,
            Rows::List(list) => list[i] as usize,
        }
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Returns the rows whose places among these are in `keep`.
    pub fn pick(&self, keep: impl Iterator<Item = usize>) -> Rows {
        let mut list = Vec::with_capacity(self.len());
        list.extend(keep.map(|i| self.get(i) as u16));
        Rows::List(list)
    }
}

/// Which rows of a leaf a view sees.
pub struct Visibility;

impl Visibility {
    /// Rows of the base were made by transactions that every view sees.
    pub fn of(_leaf: &Leaf<'_>, _view: &ReadView) -> Result<Visibility, BadPage> {
        Ok(Visibility)
    }

    #[inline]
    pub fn sees(&self, _row: usize) -> bool {
        true
    }
}

/// The rows of a range of a leaf that a view sees.
pub fn visible(leaf: &Leaf<'_>, range: Range<usize>, view: &ReadView) -> Result<Rows, BadPage> {
    Visibility::of(leaf, view).map(|_| Rows::Range(range))
}
