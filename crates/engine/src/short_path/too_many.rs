//! A plan remembers runs that met too many rows: where data are skewed, some values have many rows and most have few,
//! and the former are to cost the latter nothing.
//!
//! A run that is left costs about a quarter of what one that ends well saves, so a plan is worth its while as long as
//! one run in five ends well. Values that had too many rows go to the general path at once, until they have been met
//! so often that they are tried anew.

use muster_storage::mutex::Mutex;
use muster_types::Value;
use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash, Hasher, RandomState},
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

/// Weight of failed runs that one run takes back which ends well.
const WELL: u32 = 4;
/// The weight at which a plan is given up.
const WEIGHT_MAX: u32 = 64;
/// Values that are remembered.
const KEPT_MAX: usize = 64;
/// How often remembered values are met until they are tried anew: rows may have gone.
const MEETINGS_MAX: u32 = 64;

/// Values with too many rows.
struct Remembered {
    hash: u64,
    meetings: u32,
}

#[derive(Default)]
pub struct TooMany {
    /// The number of runs that have read too many rows, less [`WELL`] for each other one since.
    weight: AtomicU32,
    /// True if values are remembered.
    any: AtomicBool,
    hasher: RandomState,
    remembered: Mutex<VecDeque<Remembered>>,
}

impl TooMany {
    /// Notes a run that has read too many rows. Returns true if so many do that the general path, which has to do them
    /// again, is the better one for all.
    pub fn note(&self, values: &[Value]) -> bool {
        let hash = self.hash(values);
        let mut remembered = self.remembered.lock();
        if remembered.len() == KEPT_MAX {
            remembered.pop_front();
        }
        remembered.push_back(Remembered { hash, meetings: 0 });
        self.any.store(true, Relaxed);
        self.weight.fetch_add(1, Relaxed) + 1 > WEIGHT_MAX
    }

    /// Notes a run that has its rows.
    pub fn note_well(&self) {
        // Mostly there is nothing to write, which would take the plan from other processors.
        if self.weight.load(Relaxed) > 0 {
            let _ = self.weight.fetch_update(Relaxed, Relaxed, |weight| Some(weight.saturating_sub(WELL)));
        }
    }

    /// Returns true if a run with these values is known to read too many rows.
    pub fn is_known(&self, values: &[Value]) -> bool {
        if !self.any.load(Relaxed) {
            return false;
        }
        let hash = self.hash(values);
        let mut remembered = self.remembered.lock();
        let Some(at) = remembered.iter().position(|known| known.hash == hash) else { return false };
        remembered[at].meetings += 1;
        if remembered[at].meetings <= MEETINGS_MAX {
            return true;
        }
        remembered.remove(at);
        self.any.store(!remembered.is_empty(), Relaxed);
        false
    }

    fn hash(&self, values: &[Value]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        for value in values {
            match value {
                Value::Int(n) => n.hash(&mut hasher),
                Value::Text(text) => text.hash(&mut hasher),
                other => format!("{other:?}").hash(&mut hasher),
            }
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: i64) -> [Value; 2] {
        [Value::Int(n), Value::Text(format!("text{n}"))]
    }

    #[test]
    fn values_with_too_many_rows_are_known_until_they_have_been_met_often() {
        let too_many = TooMany::default();
        assert!(!too_many.is_known(&values(1)));
        assert!(!too_many.note(&values(1)));
        assert!(!too_many.is_known(&values(2)));
        for _ in 0..MEETINGS_MAX {
            assert!(too_many.is_known(&values(1)));
        }
        assert!(!too_many.is_known(&values(1)), "it is tried anew");
        assert!(!too_many.is_known(&values(1)));
    }

    #[test]
    fn a_plan_is_given_up_when_hardly_a_run_ends_well() {
        let given_up = |good_in: u32| {
            let too_many = TooMany::default();
            (1..2000u32).any(|n| match n % good_in {
                0 => {
                    too_many.note_well();
                    false
                }
                _ => too_many.note(&values(n.into())),
            })
        };
        assert!(!given_up(2), "every other run ends well");
        assert!(!given_up(5));
        assert!(given_up(7));
    }
}
