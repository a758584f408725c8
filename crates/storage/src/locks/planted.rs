//! Faults that tests plant in the use of locks, to see that some test finds them.

use super::LockTable;

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// A new entry does not inherit the locks of the gap that it splits.
    SplitUnlocked,
    /// The locks of the gap before an entry that goes are forgotten.
    JoinUnlocked,
    /// A secondary entry counts as one of its row, whatever happened to either during a wait.
    TrustEntries,
}

impl LockTable {
    #[cfg(test)]
    pub(crate) fn plant(&self, fault: PlantedFault) {
        self.planted.plant(fault);
    }

    #[inline]
    pub(crate) fn has_fault(&self, fault: PlantedFault) -> bool {
        self.planted.has(fault)
    }
}
