//! The rows of a page that a read view sees. Every read of leaves goes through [`Visibility`].

use super::{BadPage, Leaf, read::Column};
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
pub struct Visibility<'a> {
    view: &'a ReadView,
    /// The transactions that wrote the rows; `None` if the view sees all of them.
    transactions: Option<Column<'a>>,
}

impl<'a> Visibility<'a> {
    /// A page that no transaction younger than the view has changed is not looked into.
    pub fn of(leaf: &Leaf<'a>, view: &'a ReadView) -> Result<Visibility<'a>, BadPage> {
        let all = view.sees_all_of(leaf.max_trx_id());
        Ok(Visibility { view, transactions: if all { None } else { Some(leaf.trx_ids()?) } })
    }

    #[inline]
    pub fn sees(&self, row: usize) -> bool {
        self.transactions.is_none_or(|trx| self.view.sees_all_of(trx.int(row) as u64))
    }
}

/// The rows of a range of a leaf that a view sees.
pub fn visible(leaf: &Leaf<'_>, range: Range<usize>, view: &ReadView) -> Result<Rows, BadPage> {
    let visibility = Visibility::of(leaf, view)?;
    Ok(match visibility.transactions {
        None => Rows::Range(range),
        Some(_) => Rows::List(range.filter(|row| visibility.sees(*row)).map(|row| row as u16).collect()),
    })
}
