//! Which processors the process runs on.

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps this thread, and all that it starts from now on, on `count` of the processors that it may run on: the last
/// ones, since the first has most of the interrupts. Returns their numbers.
pub fn pin(count: usize) -> anyhow::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None).context("which processors may be used")?;
    let mut chosen: Vec<usize> = (0..CpuSet::MAX_CPU).rev().filter(|cpu| allowed.is_set(*cpu)).take(count).collect();
    chosen.reverse();
    let mut set = CpuSet::new();
    chosen.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set).context("keeping to a processor")?;
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn started_threads_stay_there() {
        // In a thread of its own: it would hold for the tests that this one runs after.
        std::thread::spawn(|| {
            let pinned = pin(1).unwrap();
            let seen = std::thread::spawn(|| {
                let set = sched_getaffinity(None).unwrap();
                (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect::<Vec<_>>()
            });
            assert_eq!((pinned.len(), seen.join().unwrap()), (1, pinned));
        })
        .join()
        .unwrap();
    }
}
