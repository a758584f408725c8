//! The primitives that locks are built of. Tests compile the same locks with those of a model checker instead.

pub(crate) use crate::mutex::{Condvar, Mutex};
pub(crate) use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
