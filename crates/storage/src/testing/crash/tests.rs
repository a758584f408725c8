//! Many directories that lose their power again and again, and what they met.

use super::life::Lives;
use crate::{buffer_pool, log, store::Faults, testing::table_model::history::Met, transaction};
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

const LIVES: usize = 8;

/// Events that every set of seeds must meet.
const MUST_MEET: [&str; 33] = [
    "power cuts",
    "cuts within recovery",
    "segments used again",
    "torn pages put back",
    "checkpoints during loads",
    "pages that were not posted",
    "long values' pages",
    "commits lost",
    "commits",
    "conflicts",
    "duplicates",
    "changes rolled back",
    "changes taken back to a savepoint",
    "losers",
    "cuts while losers are rolled back",
    "transactions to purge",
    "purges cut short",
    "changes of rows with hidden numbers",
    "insertions of rows together",
    "loads",
    "tables made",
    "tables dropped",
    "columns added",
    "columns dropped",
    "columns moved",
    "rows of a former layout read",
    "views older than a layout",
    "Split",
    "Post",
    "Merge",
    "Grow",
    "Encode",
    "Reuse",
];

/// Runs directories. Returns what they met, and the seeds that failed with what was wrong.
fn run(seeds: Range<u64>, faults: Faults) -> (Met, Vec<String>) {
    let (mut met, mut failed) = (Met::default(), Vec::new());
    for seed in seeds {
        let mut lives = Lives::new(seed, faults);
        match catch_unwind(AssertUnwindSafe(|| lives.live(LIVES))) {
            Ok(Ok(())) => {}
            Ok(Err(e)) => failed.push(format!("seed {seed}: {e}")),
            Err(_) => failed.push(format!("seed {seed}: a panic")),
        }
        for (what, times) in lives.met {
            *met.entry(what).or_default() += times;
        }
    }
    (met, failed)
}

/// Seeds of a soak: 2000 of them, from the number in `MUSTER_SEED` on.
fn soak_seeds() -> Range<u64> {
    let first = std::env::var("MUSTER_SEED").map_or(1_000, |first| first.parse().expect("MUSTER_SEED is a number"));
    first..first + 2_000
}

fn missed(met: &Met) -> Option<&'static str> {
    MUST_MEET.into_iter().find(|what| met.get(*what).is_none_or(|times| *times == 0))
}

/// Panics with all that is known of the first directory that failed, if one did.
fn assert_none_failed(failed: &[String]) {
    assert!(failed.is_empty(), "{} failed; the first one: {}", failed.len(), failed[0]);
}

fn assert_whole(seeds: Range<u64>) {
    let (met, failed) = run(seeds, Faults::default());
    println!("{met:?}");
    assert_none_failed(&failed);
    assert_eq!(missed(&met), None, "is what no seed has met: {met:?}");
}

/// Threads beside the one that changes rows decide what a seed meets: when ten seeds have missed something, more of
/// them follow.
#[test]
fn tables_are_whole_after_power_cuts() {
    let (mut met, failed) = run(0..10, Faults::default());
    assert_none_failed(&failed);
    for seed in 10..110 {
        if missed(&met).is_none() {
            return;
        }
        let (more, failed) = run(seed..seed + 1, Faults::default());
        assert_none_failed(&failed);
        more.into_iter().for_each(|(what, times)| *met.entry(what).or_default() += times);
    }
    panic!("no seed has met {:?}: {met:?}", missed(&met));
}

#[test]
#[ignore = "a soak of some minutes"]
fn tables_are_whole_after_many_power_cuts() {
    assert_whole(soak_seeds());
}

/// Without any one of the rules of writing pages, of undo and of commits some seed finds a table that is not whole.
#[test]
fn each_rule_that_is_broken_is_found() {
    let faults = [
        Faults { log: Some(log::PlantedFault::SkipDoublewriteSync), ..Faults::default() },
        Faults { log: Some(log::PlantedFault::SkipSync), ..Faults::default() },
        Faults { pool: Some(buffer_pool::PlantedFault::PageBeforeLog), ..Faults::default() },
        Faults { pool: Some(buffer_pool::PlantedFault::CleanBeforeSync), ..Faults::default() },
        Faults { transactions: Some(transaction::PlantedFault::ForgetEntries), ..Faults::default() },
        Faults { transactions: Some(transaction::PlantedFault::CommitNotWaitedFor), ..Faults::default() },
    ];
    for fault in faults {
        let found = (0..200).any(|seed| !run(seed..seed + 1, fault).1.is_empty());
        assert!(found, "no seed finds {fault:?}");
    }
}
