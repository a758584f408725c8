//! Guards of rows, which all openings of a table share. A table is opened anew on the same files when its indexes or
//! the layout of its rows change, and for a while changes of rows may be under way in the former opening, too: purge,
//! say.

use crate::{
    Result, StorageError,
    latch_order::{self, Rank},
    stripes::Stripes,
};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicU32, Ordering};

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
    /// The number of the newest row layout that an opening has brought. It changes only while no row does.
    newest_layout: AtomicU32,
}

impl RowGuards {
    /// Has an opening with this row layout begin. From then on nobody changes rows in an older one. Error
    /// `SnapshotTooOld`: the layout is an older one itself.
    pub fn begin_layout(&self, number: u32) -> Result<()> {
        if self.newest_layout.load(Ordering::Acquire) < number {
            let _unchanged = self.without_changes();
            self.newest_layout.fetch_max(number, Ordering::AcqRel);
        }
        self.check_layout(number)
    }

    /// Error `SnapshotTooOld` if rows have a newer layout by now.
    fn check_layout(&self, number: u32) -> Result<()> {
        match self.newest_layout.load(Ordering::Acquire) > number {
            true => Err(StorageError::SnapshotTooOld),
            false => Ok(()),
        }
    }

    /// Keeps rows from changing while it is held. A thread that changes a row must not ask for it.
    pub fn without_changes(&self) -> Held<RwLockWriteGuard<'_, ()>> {
        let held = latch_order::Held::lock(Rank::Changes);
        Held { _guard: self.changes.write(), _held: held }
    }

    /// Waits until changes are allowed; to be held during one. A thread must hold it once only. `layout`: the number of
    /// the row layout in which the change is made. Error `SnapshotTooOld`: rows have a newer one by now.
    pub fn changing(&self, layout: u32) -> Result<Held<RwLockReadGuard<'_, ()>>> {
        let changing = self.changing_no_row();
        self.check_layout(layout)?;
        Ok(changing)
    }

    /// Waits until changes are allowed, for one that is right whatever layout the rows have by now.
    pub fn changing_no_row(&self) -> Held<RwLockReadGuard<'_, ()>> {
        let held = latch_order::Held::lock(Rank::Changes);
        Held { _guard: self.changes.read(), _held: held }
    }

    /// Returns true if a change could begin at once.
    pub fn may_change_now(&self) -> bool {
        self.changes.try_read().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_layout_is_refused_once_a_newer_one_is_there() {
        let guards = RowGuards::default();
        guards.begin_layout(0).unwrap();
        drop(guards.changing(0).unwrap());
        guards.begin_layout(2).unwrap();
        assert!(matches!(guards.begin_layout(1), Err(StorageError::SnapshotTooOld)));
        assert!(matches!(guards.changing(1), Err(StorageError::SnapshotTooOld)));
        let change = guards.changing(2).unwrap();
        assert!(guards.may_change_now());
        // A newer layout waits for the changes that are under way.
        std::thread::scope(|scope| {
            let newer = scope.spawn(|| guards.begin_layout(3));
            while guards.may_change_now() {
                std::thread::yield_now();
            }
            assert!(guards.check_layout(2).is_ok(), "the change is not made yet");
            drop(change);
            newer.join().unwrap().unwrap();
        });
        assert!(guards.changing(2).is_err());
    }
}
