//! Many directories that lose their power again and again, and what they met.

use super::life::Lives;
use crate::{buffer_pool, log, store::Faults, table_model::history::Met, transaction};
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

const LIVES: usize = 8;

/// Events that every set of seeds must meet.
const MUST_MEET: [&str; 27] = [
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
    "loads",
    "tables made",
    "tables dropped",
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

fn assert_whole(seeds: Range<u64>) {
    let (met, failed) = run(seeds, Faults::default());
    println!("{met:?}");
    assert!(failed.is_empty(), "{} failed: {:#?}", failed.len(), &failed[..failed.len().min(5)]);
    for what in MUST_MEET {
        assert!(met.get(what).is_some_and(|times| *times > 0), "no seed has met {what:?}: {met:?}");
    }
}

#[test]
fn tables_are_whole_after_power_cuts() {
    assert_whole(0..10);
}

#[test]
#[ignore = "a soak of some minutes"]
fn tables_are_whole_after_many_power_cuts() {
    assert_whole(1_000..3_000);
}

/// Without any one of the rules of writing pages, of undo and of commits some seed finds a table that is not whole.
#[test]
fn each_rule_that_is_broken_is_found() {
    let faults = [
        Faults { log: Some(log::Fault::SkipDoublewriteSync), ..Faults::default() },
        Faults { log: Some(log::Fault::SkipSync), ..Faults::default() },
        Faults { pool: Some(buffer_pool::PlantedFault::PageBeforeLog), ..Faults::default() },
        Faults { pool: Some(buffer_pool::PlantedFault::CleanBeforeSync), ..Faults::default() },
        Faults { transactions: Some(transaction::Fault::ForgetEntries), ..Faults::default() },
        Faults { transactions: Some(transaction::Fault::CommitNotWaitedFor), ..Faults::default() },
    ];
    for fault in faults {
        let found = (0..200).any(|seed| !run(seed..seed + 1, fault).1.is_empty());
        assert!(found, "no seed finds {fault:?}");
    }
}
