//! Faults that tests plant in the use of locks, to see that some test finds them.

use super::LockTable;

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A new entry does not inherit the locks of the gap that it splits.
    SplitUnlocked,
    /// The locks of the gap before an entry that goes are forgotten.
    JoinUnlocked,
    /// A secondary entry counts as one of its row, whatever happened to either during a wait.
    TrustEntries,
}

/// The fault that is planted. Outside of tests there is none.
#[derive(Debug, Default)]
pub(super) struct Planted {
    #[cfg(test)]
    fault: std::sync::OnceLock<Fault>,
}

impl LockTable {
    #[cfg(test)]
    pub(crate) fn plant(&self, fault: Fault) {
        self.planted.fault.set(fault).unwrap();
    }

    #[inline]
    pub(crate) fn has_fault(&self, fault: Fault) -> bool {
        #[cfg(test)]
        return self.planted.fault.get() == Some(&fault);
        #[cfg(not(test))]
        return {
            let _ = (fault, &self.planted);
            false
        };
    }
}
