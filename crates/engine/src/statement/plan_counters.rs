//! Status variables that a plan fills when it starts: how tables are read and sorted.

use muster_algebra::Plan;
use muster_storage::{Counters, counters::Counter};

/// Counts up the status variables that tell how tables are read and sorted.
pub fn count(plan: &Plan, counters: &Counters) {
    let counts = muster_explain::counters::count(plan);
    counters.add(Counter::select_scan, counts.select_scan);
    counters.add(Counter::select_full_join, counts.select_full_join);
    counters.add(Counter::select_range, counts.select_range);
    counters.add(Counter::select_full_range_join, counts.select_full_range_join);
    counters.add(Counter::sort_range, counts.sort_range);
    counters.add(Counter::sort_scan, counts.sort_scan);
    counters.add(Counter::created_tmp_tables, counts.created_tmp_tables);
}
