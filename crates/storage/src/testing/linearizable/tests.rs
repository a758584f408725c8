//! Many tables, what their threads met, and the faults that are found.

use super::operation::Outcome;
use super::{
    search::is_linearizable,
    workload::{PlantedFault, Workload},
};
use crate::testing::table_model::history::Met;
use std::ops::Range;

/// Events that every set of seeds must meet.
const MUST_MEET: [&str; 8] =
    ["Split", "Post", "Encode", "done", "exists", "absent", "refused", "found at the same time"];

fn run(seed: u64, fault: Option<PlantedFault>) -> Result<Met, String> {
    let (mut met, histories) = Workload::new(seed, fault).run()?;
    for operations in histories {
        for (i, operation) in operations.iter().enumerate() {
            let what = match operation.outcome {
                Outcome::Done => "done",
                Outcome::Exists => "exists",
                Outcome::Absent => "absent",
                Outcome::Refused => "refused",
                Outcome::Found(_) => match operations.get(i + 1).is_some_and(|next| next.start < operation.end) {
                    true => "found at the same time",
                    false => "found",
                },
            };
            *met.entry(what.into()).or_default() += 1;
        }
        if !is_linearizable(&operations) {
            return Err(format!("no order explains {operations:#?}"));
        }
    }
    Ok(met)
}

fn assert_linearizable(seeds: Range<u64>) {
    let mut met = Met::default();
    for seed in seeds {
        let found = run(seed, None).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        for (what, times) in found {
            *met.entry(what).or_default() += times;
        }
    }
    println!("{met:?}");
    for what in MUST_MEET {
        assert!(met.get(what).is_some_and(|times| *times > 0), "no seed has met {what:?}: {met:?}");
    }
}

#[test]
fn operations_by_key_are_linearizable() {
    assert_linearizable(0..6);
}

#[test]
#[ignore = "a soak of some minutes"]
fn operations_by_key_are_linearizable_for_many_seeds() {
    assert_linearizable(1_000..1_500);
}

#[test]
fn each_fault_that_is_planted_in_operations_is_found() {
    for fault in [PlantedFault::StaleRead, PlantedFault::LostUpdate, PlantedFault::UpdateInTwoSteps] {
        assert!((0..20).any(|seed| run(seed, Some(fault)).is_err()), "no seed finds {fault:?}");
    }
}
