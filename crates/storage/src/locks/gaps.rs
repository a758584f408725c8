//! Gaps that are split by a new entry, or joined where one goes. The caller holds the latches that keep the neighbours
//! of the gap as they are.

use super::{
    LockError,
    owner::LockOwner,
    planted::PlantedFault,
    request::{LockMode, Resource, Wanted},
    table::LockTable,
};
use std::sync::Arc;

impl LockTable {
    /// Asks for the addition of `entry` to the gap before `successor`, and splits the gap if that may be: who has
    /// locked it has locked both parts then. Error: `WouldWait`, with the request to wait for.
    pub fn split_gap(
        &self,
        owner: &Arc<LockOwner>,
        entry: &Resource,
        successor: &Resource,
    ) -> Result<(), (Resource, Wanted)> {
        if self.try_acquire(owner, successor, Wanted::insert_intention()) == Err(LockError::WouldWait) {
            return Err((successor.clone(), Wanted::insert_intention()));
        }
        if !self.has_fault(PlantedFault::SplitUnlocked) {
            self.inherit(successor, entry);
        }
        Ok(())
    }

    /// To be called when `entry` goes for good: who has locked the gap before it has locked the gap before `successor`
    /// then, which reaches as far down.
    pub fn join_gaps(&self, entry: &Resource, successor: &Resource) {
        if !self.has_fault(PlantedFault::JoinUnlocked) {
            self.inherit(entry, successor);
        }
    }

    /// Gives whoever has locked the gap before one key a lock of the gap before another one.
    fn inherit(&self, from: &Resource, to: &Resource) {
        let heirs: Vec<(Arc<LockOwner>, LockMode)> = {
            let shard = self.shard(from).lock();
            let Some(queue) = shard.get(from) else { return };
            let gaps = queue.granted.iter();
            gaps.filter_map(|lock| lock.gap.map(|mode| (Arc::clone(&lock.owner), mode))).collect()
        };
        if heirs.is_empty() {
            return;
        }
        let grant_all = |queue: &mut _| {
            for (owner, mode) in &heirs {
                self.grant(queue, owner, to, Wanted::gap(*mode));
            }
        };
        {
            let mut shard = self.shard(to).lock();
            let queue = shard.entry(to.clone()).or_default();
            if queue.waiting.is_empty() {
                grant_all(queue);
                if queue.is_empty() {
                    shard.remove(to);
                }
                return;
            }
        }
        // Who waits to add an entry to the gap waits for the heirs too now, which may wait for something themselves.
        let mut waits = self.waits.lock();
        let waiting: Vec<Arc<LockOwner>> = {
            let mut shard = self.shard(to).lock();
            let queue = shard.entry(to.clone()).or_default();
            grant_all(queue);
            // An heir that waits for the entry itself does not wait for the others who wait any more.
            self.settle(&mut waits, &mut shard, to);
            let queue = shard.get(to).into_iter();
            queue.flat_map(|queue| &queue.waiting).map(|waiting| Arc::clone(&waiting.owner)).collect()
        };
        for owner in waiting {
            self.end_deadlocks(&mut waits, &owner);
        }
    }
}
