//! The atomic words of the ring. The test of its ordering compiles the ring with those of a model checker instead.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
