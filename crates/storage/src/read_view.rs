//! The versions of rows that a reader sees.

use crate::{Result, StorageError};
use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

/// A snapshot of the transactions that had committed at one moment, and of the reader's own one.
///
/// Whoever commits publishes the next view, and readers take pointers to the newest ([`crate::Store::read_view`]).
/// Versions of rows that a view needs are kept as long as anybody holds the view.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadView {
    /// All transactions below this one had ended when the view was published.
    low: u64,
    /// No transaction from this one on had begun.
    high: u64,
    /// The transactions between the two that had not ended, in ascending order.
    active: Arc<[u64]>,
    /// The reader's own transaction, whose changes it sees; 0 if it has changed nothing.
    own: u64,
    /// The published view that this one was made from, which is kept with it.
    published: Option<Arc<ReadView>>,
    expired: Expired,
    /// What this transaction and later ones change is seen at once, at any moment; `u64::MAX` in a snapshot.
    changes_from: u64,
}

/// Set when versions that a view needs are not kept any more. Views that see the same are equal all the same.
#[derive(Debug, Default)]
struct Expired(AtomicBool);

impl PartialEq for Expired {
    fn eq(&self, _: &Expired) -> bool {
        true
    }
}

impl Eq for Expired {}

static LATEST: LazyLock<Arc<ReadView>> = LazyLock::new(|| ReadView::uncommitted(0));

impl ReadView {
    /// The view at a moment at which the transactions in `active`, which ascend, had begun and not ended, and `next` is
    /// the next that will begin.
    pub fn new(active: Arc<[u64]>, next: u64) -> Arc<ReadView> {
        debug_assert!(active.is_sorted() && active.last().is_none_or(|last| *last < next));
        let low = active.first().copied().unwrap_or(next);
        let (expired, changes_from) = (Expired::default(), u64::MAX);
        Arc::new(ReadView { low, high: next, active, own: 0, published: None, expired, changes_from })
    }

    /// Sees the newest version of every row, whether it is committed or not: for statistics and checks. Rows may change
    /// and go between two looks at them.
    pub fn latest() -> Arc<ReadView> {
        Arc::clone(&LATEST)
    }

    /// Sees the newest version of every row, for readers of READ UNCOMMITTED. All transactions below `ended_below` have
    /// ended, so that rows which only they have changed are the same at every look.
    pub fn uncommitted(ended_below: u64) -> Arc<ReadView> {
        let (active, expired) = (Arc::default(), Expired::default());
        let (low, high, changes_from) = (u64::MAX, u64::MAX, ended_below);
        Arc::new(ReadView { low, high, active, own: 0, published: None, expired, changes_from })
    }

    /// The same view for a reader whose own transaction has changed rows.
    pub fn with_own(self: &Arc<Self>, trx_id: u64) -> Arc<ReadView> {
        let published = Arc::clone(self.published.as_ref().unwrap_or(self));
        let (active, published) = (Arc::clone(&self.active), Some(published));
        let (low, high) = (self.low, self.high);
        let (expired, changes_from) = (Expired::default(), self.changes_from);
        Arc::new(ReadView { low, high, active, own: trx_id, published, expired, changes_from })
    }

    /// A view that sees the same, and for which nothing is kept.
    pub(crate) fn without_hold(&self) -> Arc<ReadView> {
        ReadView::new(Arc::clone(&self.active), self.high)
    }

    /// The least transaction that the view may not see, its own one aside.
    pub fn low(&self) -> u64 {
        self.low
    }

    /// Returns true if what the view sees does not change while it is held.
    #[inline]
    pub fn is_snapshot(&self) -> bool {
        self.changes_from == u64::MAX
    }

    /// Returns true if rows of a page with this largest transaction id may differ from what the view saw before.
    #[inline]
    pub fn may_see_changes_in(&self, page_max_trx_id: u64) -> bool {
        page_max_trx_id >= self.changes_from
    }

    /// Versions that the view needs are not kept from now on.
    pub(crate) fn expire(&self) {
        self.expired.0.store(true, Ordering::Release);
    }

    /// Error `SnapshotTooOld` if versions that the view needs are not kept any more. To be asked after reading
    /// something and before it is used: what was read until then is what the view sees.
    #[inline]
    pub(crate) fn check_kept(&self) -> Result<()> {
        let expired = self.published.as_ref().map_or(&self.expired, |published| &published.expired);
        if expired.0.load(Ordering::Acquire) { Err(StorageError::SnapshotTooOld) } else { Ok(()) }
    }

    /// Returns true if the view sees what a transaction has changed. Loaded rows carry transaction 0, which all views
    /// see.
    #[inline]
    pub fn sees(&self, trx_id: u64) -> bool {
        trx_id < self.low || trx_id == self.own || trx_id < self.high && self.active.binary_search(&trx_id).is_err()
    }

    /// What the view sees, to be compared with that of other views.
    pub(crate) fn sight(&self) -> Sight {
        Sight { low: self.low, high: self.high, active: Arc::clone(&self.active), own: self.own }
    }

    /// Returns true if the view sees all changes of a page whose largest transaction id this is.
    #[inline]
    pub fn sees_all_of(&self, page_max_trx_id: u64) -> bool {
        page_max_trx_id < self.low
    }
}

/// What a view sees, without a hold on it.
#[derive(Debug)]
pub(crate) struct Sight {
    low: u64,
    high: u64,
    active: Arc<[u64]>,
    own: u64,
}

impl Sight {
    /// Returns true if a view sees the same transactions.
    pub fn is_of(&self, view: &ReadView) -> bool {
        let alike = (self.low, self.high, self.own) == (view.low, view.high, view.own);
        alike && (Arc::ptr_eq(&self.active, &view.active) || self.active == view.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_sees_what_had_committed() {
        let view = ReadView::new([5, 8].into(), 10);
        let seen = (0..12).filter(|trx_id| view.sees(*trx_id)).collect::<Vec<_>>();
        assert_eq!(seen, [0, 1, 2, 3, 4, 6, 7, 9]);
        assert!(view.sees_all_of(4) && !view.sees_all_of(5) && !view.sees_all_of(9));
        assert_eq!(view.low(), 5);
    }

    #[test]
    fn a_view_sees_its_own_transaction() {
        let published = ReadView::new([5, 8].into(), 10);
        let own = published.with_own(8);
        assert!(own.sees(8) && !own.sees(5) && !own.sees(10));
        assert!(published.with_own(11).sees(11));
        // A page that the transaction has changed is looked at: others may have changed it too.
        assert!(!own.sees_all_of(8));
    }

    #[test]
    fn who_keeps_an_own_view_keeps_the_published_one() {
        let published = ReadView::new(Arc::default(), 10);
        let told = Arc::downgrade(&published);
        let own = published.with_own(10);
        drop(published);
        assert!(told.upgrade().is_some());
        drop(own);
        assert!(told.upgrade().is_none());
    }

    #[test]
    fn the_latest_view_sees_everything() {
        for view in [ReadView::latest(), ReadView::uncommitted(5)] {
            assert!([0, 1, u64::MAX - 1].iter().all(|trx_id| view.sees(*trx_id) && view.sees_all_of(*trx_id)));
            assert!(!view.is_snapshot());
        }
    }

    #[test]
    fn what_ended_before_an_uncommitted_view_does_not_change_under_it() {
        let view = ReadView::uncommitted(5);
        assert!(!view.may_see_changes_in(4) && view.may_see_changes_in(5));
        let snapshot = ReadView::new([5].into(), 9);
        assert!(snapshot.is_snapshot() && !snapshot.may_see_changes_in(9));
    }
}
