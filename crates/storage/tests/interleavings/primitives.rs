//! The primitives of `src/primitives.rs`, taken from the model checker.

pub use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::sync::{Condvar as Inner, Mutex as InnerMutex, MutexGuard as InnerGuard};

#[derive(Debug, Default)]
pub struct Mutex<T>(InnerMutex<T>);

/// Empty only while its thread waits.
pub struct MutexGuard<'a, T>(Option<InnerGuard<'a, T>>);

#[derive(Debug, Default)]
pub struct Condvar(Inner);

impl<T> Mutex<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap()))
    }
}

impl Condvar {
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.0 = guard.0.take().map(|inner| self.0.wait(inner).unwrap());
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
