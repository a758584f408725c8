//! Locks that wait without giving up the processor's time slice.
//!
//! A thread that finds such a lock taken looks again for about a hundred turns of a loop, and then sleeps until it is
//! woken. It never calls `sched_yield`, as the locks of `parking_lot` do: on a machine with more threads than
//! processors the scheduler puts a thread that yields behind all others, so that a lock that is held for a microsecond
//! costs milliseconds.
//!
//! The interface is that of `parking_lot`. A thread that panics leaves its locks unlocked, and no lock is poisoned.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        self, PoisonError, TryLockError, WaitTimeoutResult,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Mutual exclusion of threads.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// Holds a [`Mutex`] until it is dropped.
#[must_use]
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    /// `None` only while a [`Condvar`] waits.
    inner: Option<sync::MutexGuard<'a, T>>,
}

/// A condition that threads wait for while they leave their mutex to others.
#[derive(Debug, Default)]
pub struct Condvar {
    inner: sync::Condvar,
    /// Threads that wait. Changed only under the mutex, so that a notification that follows a change of what the mutex
    /// protects misses none of them, and costs nothing if there is none.
    waiting: AtomicUsize,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Mutex<T> {
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { inner: Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    /// Locks the mutex if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(inner) => Some(MutexGuard { inner: Some(inner) }),
            Err(TryLockError::Poisoned(poisoned)) => Some(MutexGuard { inner: Some(poisoned.into_inner()) }),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

const HELD: &str = "a guard has its mutex whenever nobody waits with it";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.inner.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect(HELD)
    }
}

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar { inner: sync::Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a notification. May end without one.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.inner.take().expect(HELD);
        self.waiting.fetch_add(1, Relaxed);
        guard.inner = Some(self.inner.wait(held).unwrap_or_else(PoisonError::into_inner));
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// Waits for a notification, for so long at the most. May end without one.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> WaitTimeoutResult {
        let held = guard.inner.take().expect(HELD);
        self.waiting.fetch_add(1, Relaxed);
        let (held, result) = self.inner.wait_timeout(held, timeout).unwrap_or_else(PoisonError::into_inner);
        guard.inner = Some(held);
        self.waiting.fetch_sub(1, Relaxed);
        result
    }

    /// Waits for a notification, until then at the latest. May end without one.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> WaitTimeoutResult {
        self.wait_for(guard, deadline.saturating_duration_since(Instant::now()))
    }

    /// Wakes one of the threads that wait.
    pub fn notify_one(&self) {
        if self.waiting.load(Relaxed) > 0 {
            self.inner.notify_one();
        }
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        if self.waiting.load(Relaxed) > 0 {
            self.inner.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, thread};

    #[test]
    fn one_thread_at_a_time() {
        let sum = Arc::new(Mutex::new(0_u64));
        let add = |sum: Arc<Mutex<u64>>| {
            thread::spawn(move || {
                for _ in 0..10_000 {
                    let mut sum = sum.lock();
                    let before = *sum;
                    *sum = before + 1;
                }
            })
        };
        let threads: Vec<_> = (0..8).map(|_| add(sum.clone())).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(Arc::into_inner(sum).unwrap().into_inner(), 80_000);
    }

    #[test]
    fn a_panic_leaves_the_mutex_to_others() {
        let mutex = Arc::new(Mutex::new(1));
        let held = mutex.lock();
        assert!(mutex.try_lock().is_none());
        drop(held);
        let panics = {
            let mutex = mutex.clone();
            thread::spawn(move || {
                *mutex.lock() = 2;
                let _held = mutex.lock();
                panic!("on purpose");
            })
        };
        assert!(panics.join().is_err());
        assert_eq!(*mutex.lock(), 2);
        assert_eq!(*mutex.try_lock().unwrap(), 2);
    }

    #[test]
    fn whoever_waits_is_woken() {
        let turn = Arc::new((Mutex::new(0), Condvar::new()));
        let take_turns = |own: usize, turn: Arc<(Mutex<usize>, Condvar)>| {
            thread::spawn(move || {
                for round in 0..1000 {
                    let mut now = turn.0.lock();
                    while *now != 2 * round + own {
                        turn.1.wait(&mut now);
                    }
                    *now += 1;
                    drop(now);
                    turn.1.notify_one();
                }
            })
        };
        let threads = [take_turns(0, turn.clone()), take_turns(1, turn.clone())];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*turn.0.lock(), 2000);
    }

    #[test]
    fn a_wait_ends_with_its_time() {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let mut held = mutex.lock();
        assert!(condvar.wait_for(&mut held, Duration::from_millis(1)).timed_out());
        assert!(condvar.wait_until(&mut held, Instant::now()).timed_out());
        assert!(mutex.try_lock().is_none());
    }
}
