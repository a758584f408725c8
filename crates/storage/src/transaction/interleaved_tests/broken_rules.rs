//! Rules of commit, undo and purge that are broken: these histories find each of them.

use super::*;
use crate::transaction::PlantedFault;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns true if the life of some seed finds something wrong while the fault is there.
fn is_found(fault: PlantedFault, live: fn(&mut Life)) -> bool {
    (0..30).any(|seed| {
        let faults = Faults { transactions: Some(fault), ..Faults::default() };
        let mut life = Life::with_faults(seed, faults);
        catch_unwind(AssertUnwindSafe(|| live(&mut life))).is_err()
    })
}

fn views_are_looked_at(life: &mut Life) {
    for step in 0..600 {
        life.step().unwrap();
        if step % 60 == 59 {
            life.look(&format!("step {step}"));
        }
    }
    life.settle("the end");
}

fn power_is_lost(life: &mut Life) {
    for time in 0..5 {
        (0..100).for_each(|_| life.step().unwrap());
        life.lose_power(&format!("cut {time}"));
    }
}

#[test]
fn purge_of_what_a_view_needs_is_found() {
    assert!(is_found(PlantedFault::PurgeUnseen, views_are_looked_at));
}

#[test]
fn undo_that_forgets_entries_is_found() {
    assert!(is_found(PlantedFault::ForgetEntries, views_are_looked_at));
}

#[test]
fn a_commit_that_is_not_waited_for_is_found() {
    assert!(is_found(PlantedFault::CommitNotWaitedFor, power_is_lost));
}
