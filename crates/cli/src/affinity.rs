//! The processors that the process runs on.

use anyhow::Context;
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

/// Keeps this thread, and all that it starts from now on, on `count` of the processors that it may run on: the last
/// ones, since the first has most of the interrupts. Returns their numbers.
pub fn pin(count: usize) -> anyhow::Result<Vec<usize>> {
    let mut chosen: Vec<usize> =
        allowed().context("which processors may be used")?.into_iter().rev().take(count).collect();
    chosen.reverse();
    let mut set = CpuSet::new();
    chosen.iter().try_for_each(|cpu| set.set(*cpu))?;
    sched_setaffinity(Pid::from_raw(0), &set).context("keeping to a processor")?;
    Ok(chosen)
}

/// The processors that this thread may run on.
fn allowed() -> nix::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn started_threads_stay_there() {
        // In a thread of its own: it would hold for the tests that this one runs after.
        std::thread::spawn(|| {
            let pinned = pin(1).unwrap();
            let seen = std::thread::spawn(|| allowed().unwrap());
            assert_eq!((pinned.len(), seen.join().unwrap()), (1, pinned));
        })
        .join()
        .unwrap();
    }
}
