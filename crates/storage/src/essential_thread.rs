//! Work whose panic ends the process: threads without which a store does not work, and steps that must come to their
//! end.
//!
//! Without the log thread nobody's commit comes to an end, without the checkpointer and the purge thread the log grows
//! until the disk is full, and without the cleaner no page leaves memory. A statement that panics is told to its
//! client; these threads have no client.

use crate::io::Disk;
use std::{
    io,
    ops::Deref,
    sync::Arc,
    thread::{self, JoinHandle},
};

/// Ends the process as a failed sync does ([`Disk::fail_stop`]) if a panic drops it. A transaction that a panic drops
/// is rolled back while the thread unwinds: what is done then has not panicked itself.
pub(crate) struct EndsProcess<D: Deref<Target = dyn Disk>> {
    disk: D,
    work: &'static str,
    /// True if the thread was unwinding already when the work began.
    was_panicking: bool,
}

impl<D: Deref<Target = dyn Disk>> EndsProcess<D> {
    /// `work`: what must not panic from now on until this is dropped.
    pub fn if_panics(disk: D, work: &'static str) -> EndsProcess<D> {
        EndsProcess { disk, work, was_panicking: thread::panicking() }
    }
}

impl<D: Deref<Target = dyn Disk>> Drop for EndsProcess<D> {
    fn drop(&mut self) {
        if !self.was_panicking && thread::panicking() {
            self.disk.fail_stop(&format!("{} has panicked", self.work));
        }
    }
}

/// Starts a thread whose panic ends the process. Error: the system has no thread to give.
pub(crate) fn spawn(
    name: &'static str,
    disk: &Arc<dyn Disk>,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let ends_process = EndsProcess::if_panics(Arc::clone(disk), name);
    thread::Builder::new().name(name.into()).spawn(move || {
        let _ends_process = ends_process;
        run();
    })
}
