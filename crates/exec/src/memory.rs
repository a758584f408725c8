//! The memory that all queries share, and who may take how much of it.
//!
//! Operators that can spill (sort, aggregation) may fill [`SPILLABLE_SHARE`] of the limit in any division; beyond it
//! each is still sure of its fair share of that part, so that one that came first cannot starve the others. What is
//! left serves operators that cannot spill (the build side of a hash join). Whoever does not get what it asks for
//! spills, or fails with an error that names the limit.

use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use parking_lot::Mutex;
use std::{collections::HashMap, fmt};

/// Part of the limit that spillable operators may fill together, and that they share fairly once it is full. What is
/// left is for operators that cannot spill, and for newcomers that hold nothing they could spill.
const SPILLABLE_SHARE: f64 = 0.6;

#[derive(Debug, Default)]
struct PoolState {
    /// Bytes of each spillable consumer that holds any, by its number.
    spillers: HashMap<usize, usize>,
    spillable: usize,
    unspillable: usize,
}

impl PoolState {
    fn add(&mut self, consumer: &MemoryConsumer, bytes: usize) {
        if consumer.can_spill() {
            *self.spillers.entry(consumer.id()).or_default() += bytes;
            self.spillable += bytes;
        } else {
            self.unspillable += bytes;
        }
    }

    fn remove(&mut self, consumer: &MemoryConsumer, bytes: usize) {
        if consumer.can_spill() {
            if let Some(held) = self.spillers.get_mut(&consumer.id()) {
                *held = held.saturating_sub(bytes);
                if *held == 0 {
                    self.spillers.remove(&consumer.id());
                }
            }
            self.spillable = self.spillable.saturating_sub(bytes);
        } else {
            self.unspillable = self.unspillable.saturating_sub(bytes);
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct SharedPool {
    limit: usize,
    state: Mutex<PoolState>,
}

impl SharedPool {
    /// `limit` in bytes.
    pub fn new(limit: usize) -> SharedPool {
        SharedPool { limit, state: Mutex::default() }
    }
}

impl MemoryPool for SharedPool {
    fn name(&self) -> &str {
        "shared"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.state.lock().add(reservation.consumer(), additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, bytes: usize) {
        self.state.lock().remove(reservation.consumer(), bytes);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state.lock();
        let held = state.spillable.saturating_add(state.unspillable);
        // Who asks for nothing is not to suffer from those who took more than there is.
        let fits = additional == 0 || held.saturating_add(additional) <= self.limit;
        let granted = if reservation.consumer().can_spill() {
            let freely = (self.limit as f64 * SPILLABLE_SHARE) as usize;
            let held = state.spillers.get(&reservation.consumer().id()).copied().unwrap_or(0);
            let fair = freely / (state.spillers.len() + (held == 0) as usize);
            fits && (state.spillable + additional <= freely || held + additional <= fair)
        } else {
            fits
        };
        if !granted {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} holds {} bytes and asked for {additional} more",
                reservation.consumer().name(),
                reservation.size(),
            )));
        }
        state.add(reservation.consumer(), additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        let state = self.state.lock();
        state.spillable + state.unspillable
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

impl fmt::Display for SharedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shared pool of {} bytes", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_spiller_leaves_room_for_others() {
        let pool: Arc<dyn MemoryPool> = Arc::new(SharedPool::new(1000));
        let first = MemoryConsumer::new("first").with_can_spill(true).register(&pool);
        let second = MemoryConsumer::new("second").with_can_spill(true).register(&pool);
        let build = MemoryConsumer::new("build").register(&pool);
        second.try_grow(1).unwrap();
        first.try_grow(599).unwrap();
        assert!(first.try_grow(1).is_err(), "past the spillable part and past half of the limit");
        second.try_grow(99).unwrap();
        build.try_grow(301).unwrap();
        assert!(build.try_grow(1).is_err() && second.try_grow(1).is_err(), "all is taken");
        first.free();
        build.try_grow(500).unwrap();
        drop((first, second, build));
        assert_eq!(pool.reserved(), 0);
    }
}
