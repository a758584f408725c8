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
    pub fn new(value: T) -> Mutex<T> {
        Mutex(InnerMutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap()))
    }
}

impl<T> std::ops::Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}

impl Condvar {
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.0 = guard.0.take().map(|inner| self.0.wait(inner).unwrap());
    }

    /// Waits without end: time does not pass here, so a thread that is forgotten is found.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _timeout: std::time::Duration) {
        self.wait(guard);
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
