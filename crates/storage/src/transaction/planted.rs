//! Faults that tests plant in commit, undo and purge, to see that some test finds them.

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Purge takes all that has committed, also what the oldest view does not see.
    PurgeUnseen,
    /// Undo leaves the entries of secondary trees as they are.
    ForgetEntries,
    /// A commit counts as durable at once.
    CommitNotWaitedFor,
}

/// The fault that is planted. Outside of tests there is none.
#[derive(Debug, Default)]
pub(crate) struct Planted {
    #[cfg(test)]
    fault: std::sync::OnceLock<Fault>,
}

#[cfg(test)]
impl super::Transactions {
    /// Plants a fault, once.
    pub fn plant(&self, fault: Fault) {
        self.planted.fault.set(fault).unwrap();
    }
}

impl Planted {
    pub fn has(&self, fault: Fault) -> bool {
        #[cfg(test)]
        return self.fault.get() == Some(&fault);
        #[cfg(not(test))]
        return {
            let _ = fault;
            false
        };
    }
}
