//! Rows of a leaf that keys find and a view sees.

use super::{LeafRows, all_resident, max_latched};
use crate::{
    Counters, ReadView, Result,
    key::KeyList,
    tree::{
        Batching, PrefixLeaf, PrefixRun, Tree,
        page::leaf::{rows::RowSelection, search::PrefixSearch},
    },
};
use std::{ops::ControlFlow, sync::Arc};

/// How leaves are found and asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    batching: Batching,
    /// Leaves that may be latched at once.
    max_leaves: usize,
}

impl Reading {
    pub fn of(tree: &Tree, batched: bool) -> Reading {
        let batching = Batching { batched, read_ahead: !all_resident(tree) };
        Reading { batching, max_leaves: max_latched(tree) }
    }

    /// Returns true if keys ascend and share descents; otherwise each is looked up by itself.
    pub fn is_batched(&self) -> bool {
        self.batching.batched
    }
}

/// Rows for which there is room before it is known how many are found.
const NUMBERS_ROOM: usize = 1024;

/// Looks for rows of one tree by beginnings of their keys.
pub(crate) struct Matcher {
    tree: Arc<Tree>,
    view: Arc<ReadView>,
    search: PrefixSearch,
}

impl Matcher {
    /// Makes a reader for keys of `parts` whole parts; `None` if they do not end where parts do, or differ.
    pub fn new(tree: &Arc<Tree>, view: Arc<ReadView>, parts: Option<usize>) -> Matcher {
        Matcher { search: PrefixSearch::new(tree.layout(), parts), tree: Arc::clone(tree), view }
    }

    /// The rows that the next of `keys` find, leaf by leaf, with the number of its key for each: at least `wanted` of
    /// them if there are so many and the leaves that may be latched hold them.
    pub fn next_rows(
        &mut self,
        run: &mut PrefixRun,
        keys: KeyList<'_>,
        how: Reading,
        wanted: usize,
        counters: &Counters,
    ) -> Result<(Vec<LeafRows>, Vec<usize>)> {
        let (tree, view) = (Arc::clone(&self.tree), Arc::clone(&self.view));
        let (mut leaves, mut visited) = (Vec::with_capacity(how.max_leaves), 0);
        let mut numbers = Vec::with_capacity(wanted.min(NUMBERS_ROOM));
        tree.read_prefixes(run, keys, &view, how.batching, counters, |leaf| {
            visited += 1;
            let found = self.rows(leaf, keys, &mut numbers)?;
            if !found.rows.is_empty() {
                leaves.push(found);
            }
            Ok(match numbers.len() >= wanted || visited >= how.max_leaves {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok((leaves, numbers))
    }

    /// The rows of a leaf that `keys` find, in the order of the keys, and the number of its key for each to `numbers`.
    fn rows(&mut self, leaf: PrefixLeaf, keys: KeyList<'_>, numbers: &mut Vec<usize>) -> Result<LeafRows> {
        let PrefixLeaf { page, keys: which, first_row } = leaf;
        let corrupt = |e| self.tree.corrupt(page.page_no(), e);
        let layout = self.tree.layout();
        let content = self.tree.leaf(&page)?;
        let mut seen = Ok(());
        let mut list: Vec<u16> = Vec::with_capacity(content.rows());
        self.search
            .find(&content, layout, keys, which, first_row, |key, rows| {
                for position in rows {
                    match content.unmarked_row(position) {
                        Ok(Some(row)) => {
                            list.push(row as u16);
                            numbers.push(key);
                        }
                        Ok(None) => {}
                        Err(e) => seen = Err(e),
                    }
                }
            })
            .and(seen)
            .map_err(corrupt)?;
        let rows = RowSelection::of(list, content.base_rows());
        Ok(LeafRows { page, rows })
    }
}
