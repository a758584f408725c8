//! The pauses between attempts to roll a transaction back that could not be rolled back: on a disk that fails or is
//! full.

use crate::mutex::Mutex;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// The pause after the first failure. It doubles with each that follows.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Transactions whose rollback has failed, and when each is tried again.
#[derive(Debug, Default)]
pub(super) struct Retries(Mutex<HashMap<u64, Retry>>);

#[derive(Debug, Clone, Copy)]
struct Retry {
    at: Instant,
    pause: Duration,
}

impl Retries {
    /// Returns true if a transaction may be tried now.
    pub fn is_due(&self, id: u64, now: Instant) -> bool {
        self.0.lock().get(&id).is_none_or(|retry| retry.at <= now)
    }

    /// Notes that a transaction could not be rolled back. Returns the pause until it is tried again.
    pub fn failed(&self, id: u64, now: Instant) -> Duration {
        let mut all = self.0.lock();
        let pause = all.get(&id).map_or(FIRST_PAUSE, |last| (2 * last.pause).min(LONGEST_PAUSE));
        all.insert(id, Retry { at: now + pause, pause });
        pause
    }

    /// Forgets a transaction that is rolled back.
    pub fn succeeded(&self, id: u64) {
        self.0.lock().remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let (retries, mut now) = (Retries::default(), Instant::now());
        assert!(retries.is_due(7, now));
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            let pause = retries.failed(7, now);
            assert!(pause >= last && pause <= LONGEST_PAUSE);
            assert!(!retries.is_due(7, now + pause / 2) && retries.is_due(8, now) && retries.is_due(7, now + pause));
            (last, now) = (pause, now + pause);
        }
        assert_eq!(last, LONGEST_PAUSE);
        retries.succeeded(7);
        assert!(retries.is_due(7, now) && retries.failed(7, now) == FIRST_PAUSE);
    }
}
