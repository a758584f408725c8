//! Faults that tests plant in commit, undo and purge, to see that some test finds them.

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// Purge takes all that has committed, also what the oldest view does not see.
    PurgeUnseen,
    /// Undo leaves the entries of secondary trees as they are.
    ForgetEntries,
    /// A commit counts as durable at once.
    CommitNotWaitedFor,
}

#[cfg(test)]
impl super::Transactions {
    /// Plants a fault, once.
    pub fn plant(&self, fault: PlantedFault) {
        self.planted.plant(fault);
    }
}
