//! Faults that tests plant in the writing of pages, to see that some test finds them.

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// Pages are written before the log that changed them.
    PageBeforeLog,
    /// Pages count as clean before their files are synced.
    CleanBeforeSync,
    /// A page that was changed since its copy counts as clean.
    ForgetChangesSinceCopy,
}

#[cfg(test)]
impl super::BufferPool {
    /// Plants a fault, once.
    pub(crate) fn plant(&self, fault: PlantedFault) {
        self.planted.plant(fault);
    }
}
