//! Lock striping: locks by key without a lock for each key.

use crate::{
    latch_order::{Held, Rank},
    mutex::{Mutex, MutexGuard},
};

/// So many writers of different keys seldom meet in one lock.
const STRIPES: usize = 64;

/// A fixed number of locks, among which keys are spread. Two keys may have the same lock, so who holds one must not ask
/// for another.
#[derive(Debug)]
pub(crate) struct Stripes([Mutex<()>; STRIPES]);

/// A lock of a key.
#[must_use]
pub(crate) struct Stripe<'a> {
    _guard: MutexGuard<'a, ()>,
    _held: Held,
}

impl Default for Stripes {
    fn default() -> Stripes {
        Stripes([const { Mutex::new(()) }; STRIPES])
    }
}

impl Stripes {
    /// Locks a key, and those that share its lock.
    pub fn lock(&self, key: &[u8], rank: Rank) -> Stripe<'_> {
        let held = Held::lock(rank);
        Stripe { _guard: self.0[crc32c::crc32c(key) as usize % STRIPES].lock(), _held: held }
    }
}
