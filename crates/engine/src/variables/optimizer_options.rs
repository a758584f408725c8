//! Variables that the optimizer obeys.

use super::{Variables, optimizer_switch};
use muster_algebra::Switch;
use muster_optimizer::Options;

/// The options of the optimizer: `optimizer_switch`, `range_optimizer_max_mem_size`, the session's cost model.
pub fn optimizer_options(variables: &Variables) -> Options {
    let mut options = optimizer_switch::options(&variables.text("optimizer_switch"));
    // MariaDB's levels: from 3 on joins by hash, from 5 on batches of keys.
    let level = variables.unsigned("join_cache_level");
    for (switch, from) in [(Switch::JoinCacheHashed, 3), (Switch::JoinCacheBka, 5)] {
        let on = options.is_on(switch) && level >= from;
        options.set(switch, on);
    }
    options.cost = variables.costs().model;
    options.range_optimizer_max_mem_size = variables.unsigned("range_optimizer_max_mem_size");
    options
}
