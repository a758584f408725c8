//! The room that files of temporary tables may take on the disk together.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A budget that temporary files share. Changes of rows ask it before they begin; what undoes a change may go beyond
/// it, as may the pages by which a file grows at once.
#[derive(Debug)]
pub struct TemporarySpace {
    bytes: AtomicU64,
    bytes_max: AtomicU64,
    /// The budget that this one is a part of.
    whole: Option<Arc<TemporarySpace>>,
}

impl TemporarySpace {
    pub fn new(bytes_max: u64) -> TemporarySpace {
        TemporarySpace { bytes: AtomicU64::new(0), bytes_max: AtomicU64::new(bytes_max), whole: None }
    }

    /// A budget within another one, without a bound of its own yet.
    pub fn within(whole: &Arc<TemporarySpace>) -> TemporarySpace {
        TemporarySpace { whole: Some(Arc::clone(whole)), ..TemporarySpace::new(u64::MAX) }
    }

    /// Sets the budget, in bytes.
    pub fn set_max(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Relaxed);
    }

    /// Bytes that the files take.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Returns true if the files take all that they may.
    pub fn is_used_up(&self) -> bool {
        self.bytes() >= self.bytes_max.load(Relaxed) || self.whole.as_ref().is_some_and(|whole| whole.is_used_up())
    }

    pub(super) fn take(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.whole.iter().for_each(|whole| whole.take(bytes));
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
        self.whole.iter().for_each(|whole| whole.give_back(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_uses_the_whole_up() {
        let whole = Arc::new(TemporarySpace::new(100));
        let parts = [TemporarySpace::within(&whole), TemporarySpace::within(&whole)];
        parts[0].take(60);
        assert!(!parts[0].is_used_up() && !parts[1].is_used_up());
        parts[1].take(40);
        assert!(parts[0].is_used_up() && parts[1].is_used_up() && whole.bytes() == 100);
        parts[1].give_back(40);
        assert!(!parts[0].is_used_up());
        parts[0].set_max(60);
        assert!(parts[0].is_used_up() && !parts[1].is_used_up());
    }
}
