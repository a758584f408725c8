//! Faults that tests plant in the changes of leaves, to see that some test finds them. A fault is planted for one
//! thread.

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// The largest transaction id of a page is not raised.
    KeepTrxId,
    /// Slots behind one that comes or goes keep their shift.
    KeepShift,
    /// A row that is removed is still seen.
    RemovedStays,
    /// A row that is marked is still seen.
    MarkedStays,
    /// Bytes of records that are given up are not counted as free.
    ForgetFreeBytes,
    /// A record that replaces one of the same length is not written.
    KeepRecord,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<PlantedFault>> = const { std::cell::Cell::new(None) };
}

/// Returns true if a fault is planted. Outside of tests there is none.
#[inline]
pub(super) fn has(fault: PlantedFault) -> bool {
    #[cfg(test)]
    return PLANTED.get() == Some(fault);
    #[cfg(not(test))]
    return {
        let _ = fault;
        false
    };
}

/// Does something with a fault planted in this thread.
#[cfg(test)]
pub(crate) fn with<T>(fault: PlantedFault, run: impl FnOnce() -> T) -> T {
    PLANTED.set(Some(fault));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    PLANTED.set(None);
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
