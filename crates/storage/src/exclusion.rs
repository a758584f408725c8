//! Group mutual exclusion (Joung, "Asynchronous group mutual exclusion", 1998): many readers at once or many writers at once,
//! but never both.

use super::primitives::{AtomicU64, Condvar, Mutex, SeqCst};

/// One of the two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Readers,
    Writers,
}

/// A lock that readers share with readers and writers with writers.
///
/// A reader passes writers who wait, so a thread may be inside several times as a reader. A writer does not pass readers who
/// wait, so a steady stream of writers does not keep them out; it must be inside once only.
#[derive(Debug, Default)]
pub(crate) struct Exclusion {
    /// Readers inside in the lower half, writers inside in the upper one.
    inside: AtomicU64,
    /// Readers and writers who wait, in the same way.
    waiting: AtomicU64,
    /// Held to begin waiting and to wake who waits, so that nobody is missed between looking and waiting.
    queue: Mutex<()>,
    changed: Condvar,
}

const UPPER: u32 = 32;
const LOWER_HALF: u64 = (1 << UPPER) - 1;

fn readers(count: u64) -> u64 {
    count & LOWER_HALF
}

fn writers(count: u64) -> u64 {
    count >> UPPER
}

impl Side {
    fn one(self) -> u64 {
        match self {
            Side::Readers => 1,
            Side::Writers => 1 << UPPER,
        }
    }
}

/// A place inside; given up when it is dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    exclusion: &'a Exclusion,
    side: Side,
}

impl Exclusion {
    /// Waits until nobody of the other side is inside.
    pub fn enter(&self, side: Side) -> Inside<'_> {
        if let Some(inside) = self.try_enter(side) {
            return inside;
        }
        let mut queue = self.queue.lock();
        self.waiting.fetch_add(side.one(), SeqCst);
        let inside = loop {
            // Looked at after the wait was announced: who leaves later sees that somebody waits.
            if let Some(inside) = self.try_enter(side) {
                break inside;
            }
            self.changed.wait(&mut queue);
        };
        self.waiting.fetch_sub(side.one(), SeqCst);
        inside
    }

    /// Enters if that needs no waiting.
    pub fn try_enter(&self, side: Side) -> Option<Inside<'_>> {
        let mut inside = self.inside.load(SeqCst);
        loop {
            let closed = match side {
                Side::Readers => writers(inside) > 0,
                Side::Writers => readers(inside) > 0 || readers(self.waiting.load(SeqCst)) > 0,
            };
            if closed {
                return None;
            }
            match self.inside.compare_exchange_weak(inside, inside + side.one(), SeqCst, SeqCst) {
                Ok(_) => return Some(Inside { exclusion: self, side }),
                Err(now) => inside = now,
            }
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let Exclusion { inside, waiting, queue, changed } = self.exclusion;
        let was = inside.fetch_sub(self.side.one(), SeqCst);
        if was == self.side.one() && waiting.load(SeqCst) > 0 {
            drop(queue.lock());
            changed.notify_all();
        }
    }
}
