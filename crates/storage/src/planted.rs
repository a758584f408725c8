//! A fault that a test plants in a part of the storage, to see that some test finds it.

/// The fault `F` that is planted in a part. Outside of tests there is none.
#[derive(Debug)]
pub(crate) struct Planted<F> {
    #[cfg(test)]
    fault: std::sync::OnceLock<F>,
    faults: std::marker::PhantomData<F>,
}

impl<F> Default for Planted<F> {
    fn default() -> Planted<F> {
        Planted {
            #[cfg(test)]
            fault: std::sync::OnceLock::new(),
            faults: std::marker::PhantomData,
        }
    }
}

impl<F: Copy + PartialEq + std::fmt::Debug> Planted<F> {
    /// Plants a fault. A part takes one at most.
    #[cfg(test)]
    pub fn plant(&self, fault: F) {
        self.fault.set(fault).unwrap();
    }

    /// Returns true if this fault is planted.
    #[inline]
    pub fn has(&self, fault: F) -> bool {
        #[cfg(test)]
        return self.fault.get() == Some(&fault);
        #[cfg(not(test))]
        return {
            let _ = fault;
            false
        };
    }
}
