//! Many histories, and what they met.

use super::history::{History, Met};
use crate::tree::page::leaf::planted::{self, PlantedFault};
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Events that every set of seeds must meet.
const MUST_MEET: [&str; 23] = [
    "Encode",
    "Split",
    "Post",
    "Cross",
    "Merge",
    "Grow",
    "Shrink",
    "Reuse",
    "overflow pages",
    "unposted pages",
    "trees of three levels",
    "opened again",
    "duplicates",
    "moved by updates",
    "changed but for their key",
    "marked",
    "marked entries put in again",
    "purged",
    "columns added",
    "columns dropped",
    "columns moved",
    "leaves of former layouts",
    "leaves of three layouts",
];

/// Runs histories. Returns what they met, and the seeds that failed with what was wrong.
fn run(seeds: Range<u64>) -> (Met, Vec<String>) {
    let (mut met, mut failed) = (Met::default(), Vec::new());
    for seed in seeds {
        let mut history = History::new(seed);
        if let Err(e) = history.run() {
            failed.push(format!("seed {seed}: {e}"));
        }
        for (what, times) in history.met {
            *met.entry(what).or_default() += times;
        }
    }
    (met, failed)
}

/// Some seeds; while they have not met every event, a few more follow.
fn assert_as_modelled(seeds: Range<u64>) {
    let mut met = Met::default();
    let is_missed = |met: &Met, what: &str| met.get(what).is_none_or(|times| *times == 0);
    for more in [seeds.clone(), seeds.end..seeds.end + 20, seeds.end + 20..seeds.end + 60] {
        let (met_now, failed) = run(more);
        assert!(failed.is_empty(), "{} failed: {:#?}", failed.len(), &failed[..failed.len().min(5)]);
        met_now.into_iter().for_each(|(what, times)| *met.entry(what).or_default() += times);
        if !MUST_MEET.iter().any(|what| is_missed(&met, what)) {
            return;
        }
    }
    let missed: Vec<&str> = MUST_MEET.into_iter().filter(|what| is_missed(&met, what)).collect();
    panic!("no seed has met {missed:?}: {met:?}");
}

#[test]
fn tables_do_what_the_model_does() {
    assert_as_modelled(0..20);
}

#[test]
#[ignore = "a soak of ten minutes"]
fn tables_do_what_the_model_does_for_many_seeds() {
    assert_as_modelled(1_000..3_000);
}

/// A fault in the changes of leaves is not hidden from the model.
#[test]
fn each_fault_that_is_planted_in_leaves_is_found() {
    use PlantedFault::{ForgetFreeBytes, KeepRecord, KeepShift, KeepTrxId, MarkedStays, RemovedStays};
    for fault in [KeepTrxId, KeepShift, RemovedStays, MarkedStays, ForgetFreeBytes, KeepRecord] {
        let fails = |seed: u64| {
            let run = || planted::with(fault, || History::new(seed).run());
            catch_unwind(AssertUnwindSafe(run)).map_or(true, |outcome| outcome.is_err())
        };
        assert!((0..20).any(fails), "no seed finds {fault:?}");
    }
}
