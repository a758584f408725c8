//! Where estimates of rows were far off: the worst of each statement's digest, in bounded memory.

use muster_storage::mutex::Mutex;
use std::collections::HashMap;

/// An estimate that is off by more than this factor is an error.
pub const FACTOR: f64 = 10.0;
/// Digests that are kept: those with the largest errors.
const DIGESTS_MAX: usize = 256;

/// An operator whose number of rows was estimated badly.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimateError {
    /// The operator, as EXPLAIN FORMAT=TREE prints it.
    pub operator: String,
    /// The columns that its conditions are on, separated by commas.
    pub columns: String,
    pub estimated_rows: f64,
    pub actual_rows: f64,
    /// How many times too large or too small the estimate is.
    pub factor: f64,
}

/// The worst error of a digest.
#[derive(Debug, Clone)]
pub struct WorstError {
    pub digest: String,
    pub digest_text: String,
    pub error: EstimateError,
    /// How often statements of this digest had an error.
    pub count: u64,
    /// Microseconds since 1970-01-01 UTC when the worst and the last one were seen.
    pub seen: i64,
    pub last_seen: i64,
}

#[derive(Default)]
pub struct EstimateErrors {
    worst: Mutex<HashMap<String, WorstError>>,
}

impl EstimateErrors {
    /// Adds the worst error of one execution. `now`: microseconds since 1970-01-01 UTC.
    pub fn add(&self, digest: String, digest_text: String, error: EstimateError, now: i64) {
        let mut worst = self.worst.lock();
        if let Some(known) = worst.get_mut(&digest) {
            known.count += 1;
            known.last_seen = now;
            if error.factor > known.error.factor {
                (known.error, known.seen) = (error, now);
            }
            return;
        }
        if worst.len() >= DIGESTS_MAX {
            let least = worst.values().min_by(|a, b| a.error.factor.total_cmp(&b.error.factor));
            let Some(least) = least.filter(|least| least.error.factor < error.factor) else { return };
            let digest = least.digest.clone();
            worst.remove(&digest);
        }
        let new = WorstError { digest: digest.clone(), digest_text, error, count: 1, seen: now, last_seen: now };
        worst.insert(digest, new);
    }

    /// All, the worst first.
    pub fn all(&self) -> Vec<WorstError> {
        let mut all: Vec<WorstError> = self.worst.lock().values().cloned().collect();
        all.sort_by(|a, b| b.error.factor.total_cmp(&a.error.factor));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(factor: f64) -> EstimateError {
        EstimateError {
            operator: "Table scan on t".into(),
            columns: "t.a".into(),
            estimated_rows: 1.0,
            actual_rows: factor,
            factor,
        }
    }

    #[test]
    fn the_worst_are_kept() {
        let errors = EstimateErrors::default();
        for i in 0..2 * DIGESTS_MAX {
            errors.add(format!("{i}"), "SELECT".into(), error(20.0 + i as f64), i as i64);
        }
        errors.add("500".into(), "SELECT".into(), error(15.0), 7000);
        errors.add("500".into(), "SELECT".into(), error(1e6), 8000);
        let all = errors.all();
        assert_eq!(all.len(), DIGESTS_MAX);
        assert_eq!((all[0].digest.as_str(), all[0].count, all[0].seen, all[0].last_seen), ("500", 3, 8000, 8000));
        assert!(all.iter().all(|kept| kept.error.factor >= 20.0 + DIGESTS_MAX as f64));
    }
}
