//! Where rows of a page become visible. Every read of leaves goes through [`visible`].

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

    /// Those of the rows, counted by their place among them, that are in `keep`.
    pub fn pick(&self, keep: impl Iterator<Item = usize>) -> Rows {
        Rows::List(keep.map(|i| self.get(i) as u16).collect())
    }
}

/// The rows of a range of a leaf that a view sees. A page that no transaction younger than the view has changed is
/// not looked into.
pub fn visible(leaf: &Leaf<'_>, range: Range<usize>, view: &ReadView) -> Result<Rows, BadPage> {
    if view.sees_all_of(leaf.max_trx_id()) {
        return Ok(Rows::Range(range));
    }
    let trx = leaf.trx_ids()?;
    Ok(Rows::List(range.filter(|row| view.sees_all_of(trx.int(*row) as u64)).map(|row| row as u16).collect()))
}
