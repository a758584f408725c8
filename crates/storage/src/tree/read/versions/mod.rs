//! Rows as a view sees them, where the newest version is not the one that it sees. See "Views" in
//! `docs/transactions.md`.
//!
//! ```text
//!   page.rs    a leaf as a view sees it: the latched page, or a copy
//!   copy.rs    copies: rows of a leaf, each in the version that the view sees
//!   chain.rs   versions before the newest one, from undo records
//!   recent.rs  the version that was found last behind many newer ones
//!   entry.rs   entries of secondary trees of which the view does not see the last change
//! ```
//!
//! Nothing is latched while a copy is made, unless what it needs is in memory and not waited for ([`Pages::Resident`]).

mod chain;
mod copy;
mod entry;
#[cfg(test)]
mod fake;
mod page;
mod recent;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use fake::FakeUndo;
pub use page::LeafPage;
pub(in crate::tree) use recent::LastVersion;

use super::by_key::Pages;
use crate::tree::{
    btree::Tree,
    page::leaf::{BadPage, Leaf, slot::Version},
};
use crate::{ReadView, Result, StorageError};
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

/// Where undo records are read.
pub trait UndoSource: Send + Sync {
    /// The version of a row before one that has this roll pointer, which is not 0. `None` if a file would have to be
    /// read for it and `may_wait` is false. Errors: `SnapshotTooOld`, `Corrupt`, I/O.
    fn before(&self, roll_pointer: u64, may_wait: bool) -> Result<Option<Before>>;
}

/// The version of a row before another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    pub version: Version,
    pub marked: bool,
    pub row: BeforeRow,
    /// Ways to much older versions, the one that leads least far first.
    pub skips: Vec<Skip>,
    /// The number of the row layout of record or patch.
    pub layout: u32,
}

/// The way from a version of a row to a much older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip {
    /// The position of the undo record that has the older version, as a whole record.
    pub at: u64,
    /// The transaction of the older version. A view that does not see it sees no version in between.
    pub trx_id: u64,
}

/// The row before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeRow {
    /// There was none.
    None,
    /// As a record of the clustered tree.
    Record(Vec<u8>),
    /// As a patch of the record that the change has left.
    Patch(Vec<u8>),
}

/// Where a tree finds versions that are not in its pages.
pub(crate) struct History {
    pub undo: Option<Arc<dyn UndoSource>>,
    /// The clustered tree of a secondary one.
    pub clustered: Option<Arc<Tree>>,
}

/// A row as a view sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tree) enum Seen {
    /// The row, as a record.
    Row(Vec<u8>),
    /// There is no row, or it was deleted.
    Nothing,
    /// Something would have to be waited for.
    MustWait,
}

impl Tree {
    /// Tells the tree where versions of its rows are found that are not in its pages. To be called once, before anybody
    /// reads with a view that does not see everything.
    pub(crate) fn set_history(&self, history: History) {
        let first = self.history.set(history).is_ok();
        debug_assert!(first, "a tree has one history");
    }

    /// Says that the tree is right for views that see what this transaction has done only: it was built from the rows
    /// that there were then.
    pub(crate) fn set_since(&self, trx_id: u64) {
        self.since.store(trx_id, Ordering::Release);
    }

    /// Error `SnapshotTooOld`: versions that the view needs are not kept any more, or never were in this tree. To be
    /// asked after reading something and before it is used.
    #[inline]
    pub(in crate::tree) fn check_view(&self, view: &ReadView) -> Result<()> {
        let since = self.since.load(Ordering::Acquire);
        if since > 0 && !view.sees(since) {
            return Err(StorageError::SnapshotTooOld);
        }
        view.check_kept()
    }

    /// Returns true if a leaf has a row at these positions whose newest version the view does not see. A leaf without
    /// slots costs two tests. Error `SnapshotTooOld`: the leaf may lack versions that the view needs.
    #[inline]
    pub(in crate::tree) fn has_unseen(
        &self,
        leaf: &Leaf<'_>,
        positions: &Range<usize>,
        view: &ReadView,
    ) -> Result<bool> {
        self.check_view(view)?;
        if leaf.slots().is_empty() || view.sees_all_of(leaf.max_trx_id()) {
            return Ok(false);
        }
        let unseen = leaf.unseen_at(positions, view);
        unseen.map_err(|e| self.corrupt(leaf.page_no(), e))
    }

    /// The version of a row of this clustered tree that a view sees. Holds nothing while it waits for undo records.
    pub(in crate::tree) fn seen_row(&self, key: &[u8], view: &ReadView, pages: &Pages<'_>) -> Result<Seen> {
        let Some(page) = self.leaf_with(key, pages)? else { return Ok(Seen::MustWait) };
        let corrupt = |e: BadPage| self.corrupt(page.page_no(), e);
        let leaf = self.leaf(&page)?;
        let found = leaf.find(&self.layout, key).map_err(corrupt)?;
        if !found.exact {
            return Ok(Seen::Nothing);
        }
        match leaf.slot_at(found.position).map_err(corrupt)? {
            Some(slot) if !view.sees(slot.version.trx_id) => {
                let record = leaf.record_of(&self.layout, found.position).map_err(corrupt)?.into_owned();
                drop(page);
                self.seen_before(slot.version, record, view, pages)
            }
            Some(slot) if slot.marked => Ok(Seen::Nothing),
            _ => leaf.record_of(&self.layout, found.position).map(|row| Seen::Row(row.into_owned())).map_err(corrupt),
        }
    }
}
