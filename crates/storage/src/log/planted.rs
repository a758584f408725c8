//! Faults that tests plant in the log, to see that some test finds them.

/// Faults that are on. Outside of tests there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Planted {
    #[cfg(test)]
    pub fault: Option<PlantedFault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// The log thread tells that bytes are durable without a sync.
    SkipSync,
    /// Groups say that all before them is durable.
    SyncedTooEarly,
    /// Recovery goes on with the epoch that the log had.
    SameEpoch,
    /// Recovery does not make durable what it found.
    SkipSyncOfRecovery,
    /// Pages are written to their places before their copies are durable.
    SkipDoublewriteSync,
    /// Segments are used again before the checkpoint is durable.
    RecycleEarly,
}

impl Planted {
    pub fn has(self, fault: PlantedFault) -> bool {
        #[cfg(test)]
        return self.fault == Some(fault);
        #[cfg(not(test))]
        return {
            let _ = fault;
            false
        };
    }
}
