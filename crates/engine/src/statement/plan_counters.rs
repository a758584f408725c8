//! Status variables that a plan fills when it starts: how tables are read and sorted.

use crate::short_path::{RunFigures, ShortPlan};
use muster_algebra::Plan;
use muster_exec::{QueryCounters, counters::OperatorCounter};
use muster_explain::counters::PlanCounts;

/// Counts up the status variables that tell how tables are read and sorted.
pub fn count(plan: &Plan, counters: &QueryCounters) {
    add(&muster_explain::counters::count(plan), counters);
}

/// Counts a run of the short path that has its rows: what the general path counts for the statement, and what was read.
pub fn count_short(plan: &ShortPlan, figures: &RunFigures, counters: &QueryCounters) {
    plan.too_many.note_well();
    plan.count(figures, counters);
    add(plan.counts(), counters);
}

/// Adds what a plan counts.
fn add(counts: &PlanCounts, counters: &QueryCounters) {
    if *counts == PlanCounts::default() {
        return;
    }
    counters.add(OperatorCounter::first_table_scans, counts.select_scan);
    counters.add(OperatorCounter::inner_table_scans, counts.select_full_join);
    counters.add(OperatorCounter::first_table_ranges, counts.select_range);
    counters.add(OperatorCounter::inner_table_ranges, counts.select_full_range_join);
    counters.add(OperatorCounter::sorts_of_ranges, counts.sort_range);
    counters.add(OperatorCounter::sorts_of_scans, counts.sort_scan);
    counters.add(OperatorCounter::group_tables, counts.created_tmp_tables);
}
