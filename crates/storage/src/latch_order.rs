//! The order in which locks and latches are waited for (`docs/design.md`, "Locks and latches"), asserted in builds with
//! debug assertions. Others do nothing here.
//!
//! Each thread has a record of what it holds. Whoever waits for something says what it is; if that does not come after
//! all that the thread holds, the thread panics. What is had without waiting may be anything.

/// A place in the order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Changes of a table's rows, or a time without any.
    Changes,
    /// The key of a row.
    Row,
    /// Something of a tree, which is the n-th of its table.
    Tree(u32, InTree),
}

/// A place in the order among those of one tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InTree {
    /// The declared parts of a unique entry.
    Unique,
    /// A page of the tree, by its level, the highest first, and its low fence.
    Page { depth: u8, low_fence: Vec<u8> },
    /// A page of a long value.
    LongValue,
    /// Page 0.
    Header,
    /// A page that the tree does not have yet.
    Free,
}

#[cfg(debug_assertions)]
pub(crate) use checked::Held;
#[cfg(not(debug_assertions))]
pub(crate) use unchecked::Held;

#[cfg(debug_assertions)]
mod checked {
    use super::{InTree, Rank};
    use parking_lot::Mutex;
    use std::{
        cell::Cell,
        sync::Arc,
        thread::{self, ThreadId},
    };

    #[derive(Debug)]
    struct HeldLatch {
        number: u64,
        /// `None` while it is not known.
        rank: Option<Rank>,
        /// Which page it is, if it is one.
        page: Option<u64>,
        exclusive: bool,
    }

    type Record = Arc<Mutex<Vec<HeldLatch>>>;

    thread_local! {
        static RECORD: (Record, Cell<u64>) = (Record::default(), Cell::new(0));
    }

    /// Something that a thread holds, until this is dropped, by whatever thread.
    #[derive(Debug)]
    pub(crate) struct Held {
        record: Record,
        thread: ThreadId,
        number: u64,
    }

    impl Held {
        fn new(rank: Option<Rank>, page: Option<u64>, exclusive: bool) -> Held {
            RECORD.with(|(record, next)| {
                let number = next.replace(next.get() + 1);
                record.lock().push(HeldLatch { number, rank, page, exclusive });
                Held { record: Arc::clone(record), thread: thread::current().id(), number }
            })
        }

        /// To be called before waiting for a lock. Panics if that is not in order.
        pub fn lock(rank: Rank) -> Held {
            let held = Held::new(None, None, true);
            held.place(true, || rank);
            held
        }

        /// Notes a latch of a page.
        pub fn page(page: u64, exclusive: bool) -> Held {
            Held::new(None, Some(page), exclusive)
        }

        /// To be called before waiting for a latch. Panics if the thread would wait for itself.
        pub fn before_waiting(page: u64, exclusive: bool) {
            RECORD.with(|(record, _)| {
                for entry in record.lock().iter().filter(|entry| entry.page == Some(page)) {
                    assert!(!entry.exclusive && !exclusive, "waits for a page that this thread has latched: {entry:?}");
                }
            });
        }

        /// Tells the place in the order. Panics if it was `waited` for, and something is held that does not come before
        /// it.
        pub fn place(&self, waited: bool, rank: impl FnOnce() -> Rank) {
            let rank = rank();
            let mut entries = self.record.lock();
            let Some(at) = entries.iter().position(|entry| entry.number == self.number) else { return };
            if waited && thread::current().id() == self.thread {
                for (i, other) in entries.iter().enumerate() {
                    let is_before = other.rank.as_ref().is_none_or(|before| may_wait(before, &rank));
                    if i != at && !is_before {
                        let message = format!("out of order: waits for {rank:?} and holds {other:?}");
                        drop(entries);
                        panic!("{message}");
                    }
                }
            }
            entries[at].rank = Some(rank);
        }

        /// Notes that an exclusive latch became a shared one.
        pub fn share(&mut self) {
            let mut entries = self.record.lock();
            if let Some(entry) = entries.iter_mut().find(|entry| entry.number == self.number) {
                entry.exclusive = false;
            }
        }
    }

    /// Returns true if a thread that holds `held` may wait for `wanted`.
    fn may_wait(held: &Rank, wanted: &Rank) -> bool {
        match (held, wanted) {
            // Only a change of a row goes on from one tree to the next; page 0 and free pages stay with their tree.
            (Rank::Tree(at, held), Rank::Tree(to, _)) if at != to => {
                at < to && matches!(held, InTree::Unique | InTree::Page { .. })
            }
            // Nobody but who holds page 0 waits for these.
            (Rank::Tree(_, InTree::Free), Rank::Tree(_, InTree::Free)) => true,
            _ => held < wanted,
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.record.lock().retain(|entry| entry.number != self.number);
        }
    }
}

#[cfg(not(debug_assertions))]
mod unchecked {
    use super::Rank;

    /// Something that a thread holds: nothing is recorded.
    #[derive(Debug)]
    pub(crate) struct Held;

    impl Held {
        #[inline]
        pub fn lock(_rank: Rank) -> Held {
            Held
        }

        #[inline]
        pub fn page(_page: u64, _exclusive: bool) -> Held {
            Held
        }

        #[inline]
        pub fn before_waiting(_page: u64, _exclusive: bool) {}

        #[inline]
        pub fn place(&self, _waited: bool, _rank: impl FnOnce() -> Rank) {}

        #[inline]
        pub fn share(&mut self) {}
    }
}

#[cfg(all(test, debug_assertions))]
#[path = "latch_order_tests.rs"]
mod tests;
