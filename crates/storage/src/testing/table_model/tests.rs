//! Many histories, and what they met.

use super::history::{History, Met};
use crate::tree::page::leaf::planted::{self, PlantedFault};
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Events that every set of seeds must meet.
const MUST_MEET: [&str; 18] = [
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

fn assert_as_modelled(seeds: Range<u64>) {
    let (met, failed) = run(seeds);
    println!("{met:?}");
    assert!(failed.is_empty(), "{} failed: {:#?}", failed.len(), &failed[..failed.len().min(5)]);
    for what in MUST_MEET {
        assert!(met.get(what).is_some_and(|times| *times > 0), "no seed has met {what:?}: {met:?}");
    }
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
