//! Guards of rows, which all openings of a table share. A table is opened anew on the same files when its indexes or
//! the types of its columns change, and for a while changes of rows may be under way in the former opening, too: purge,
//! say.

use crate::{
    latch_order::{self, Rank},
    stripes::Stripes,
};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A change of a row, or a time in which there is none.
#[must_use]
pub(crate) struct Held<G> {
    _guard: G,
    _held: latch_order::Held,
}

/// The guards of a table's rows, kept with the file of its clustered tree.
#[derive(Debug, Default)]
pub(crate) struct RowGuards {
    /// Held by who changes a row, shared with others who do; alone by who checks the table. Entered before any lock of
    /// a row and any latch of a page.
    changes: RwLock<()>,
    /// Locks of rows by their primary keys: held by who changes or removes a row from reading it on. Taken before any
    /// latch of a page.
    pub rows: Stripes,
}

impl RowGuards {
    /// Keeps rows from changing while it is held. A thread that changes a row must not ask for it.
    pub fn without_changes(&self) -> Held<RwLockWriteGuard<'_, ()>> {
        let held = latch_order::Held::lock(Rank::Changes);
        Held { _guard: self.changes.write(), _held: held }
    }

    /// Waits until changes are allowed; to be held during one. A thread must hold it once only.
    pub fn changing(&self) -> Held<RwLockReadGuard<'_, ()>> {
        let held = latch_order::Held::lock(Rank::Changes);
        Held { _guard: self.changes.read(), _held: held }
    }

    /// Returns true if a change could begin at once.
    pub fn may_change_now(&self) -> bool {
        self.changes.try_read().is_some()
    }
}
