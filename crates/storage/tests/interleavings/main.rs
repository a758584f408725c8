//! Locks and protocols in interleavings that a model checker (shuttle) draws. It runs one thread at a time, chooses at
//! each lock and each atomic operation which, and finds who waits for each other.
//!
//! ```text
//!   lock_tests.rs       the lock table: src/locks itself
//!   primitives.rs       what locks are built of here
//!   frame_tests.rs      a model of frames (src/buffer_pool): latches, eviction, keys looked at again
//!   tree_model.rs       a model of trees (src/tree): splits, posts, merges, right links, remembered page numbers
//!   tree_tests.rs       what threads do to it, and faults that must be found
//! ```

mod frame_tests;
mod lock_tests;
#[allow(dead_code, unused_imports, reason = "reports are for users")]
#[path = "../../src/locks/mod.rs"]
mod locks;
#[path = "../../src/planted.rs"]
mod planted;
mod primitives;
mod tree_model;
mod tree_tests;

use shuttle::{
    Config, Runner,
    scheduler::{PctScheduler, RandomScheduler},
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a test in that many interleavings drawn at random, and in as many with few changes of threads.
fn check(interleavings: usize, test: fn()) {
    let config = || {
        let mut config = Config::new();
        config.failure_persistence = shuttle::FailurePersistence::None;
        config
    };
    Runner::new(RandomScheduler::new_from_seed(1, interleavings), config()).run(test);
    Runner::new(PctScheduler::new_from_seed(2, 3, interleavings), config()).run(test);
}

/// Returns true if some interleaving makes the test fail.
fn fails(interleavings: usize, test: fn()) -> bool {
    catch_unwind(AssertUnwindSafe(|| check(interleavings, test))).is_err()
}
