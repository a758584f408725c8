//! The log thread: writes and syncs when somebody waits for it, when the ring fills up, and once in an interval.
//!
//! A thread that waits for a commit and finds nobody at work does one round itself, since waking another thread and
//! being woken by it takes a good part of the time of a sync. Futures never do: whoever polls them must not wait for a
//! disk.

use super::{Lsn, flusher::Flusher, shared::Shared};
use crate::Result;
use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

/// How often a thread lets others run before it sleeps while a group that it needs is being copied.
const YIELDS: u32 = 100;

/// The next task of the log thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Write,
    Sync,
    /// Write and sync what there is, and end.
    Stop,
}

/// The log thread's life.
pub(super) fn run(shared: &Shared) {
    let mut last_sync = Instant::now();
    loop {
        let task = next_task(shared, last_sync);
        if task == Task::Sync {
            gather(shared);
        }
        let goal = if task == Task::Stop { shared.reserved() } else { wanted(shared) };
        if shared.round(&mut shared.flusher.lock(), goal, task != Task::Write).is_err() {
            return;
        }
        if task != Task::Write {
            last_sync = Instant::now();
        }
        shared.wake_waiters();
        if task == Task::Stop {
            return;
        }
    }
}

/// Sleeps until there is something to do.
fn next_task(shared: &Shared, last_sync: Instant) -> Task {
    let interval = shared.options.flush_interval;
    let mut waiters = shared.waiters.lock();
    loop {
        let flushed = shared.flushed.load(Ordering::Acquire);
        if waiters.stop {
            return Task::Stop;
        }
        if waiters.durable > flushed || last_sync.elapsed() >= interval && shared.reserved() > flushed {
            return Task::Sync;
        }
        if waiters.written > shared.written.load(Ordering::Acquire) {
            return Task::Write;
        }
        waiters.idle = true;
        let left = interval.saturating_sub(last_sync.elapsed()).max(Duration::from_millis(1));
        shared.work.wait_for(&mut waiters, left);
        waiters.idle = false;
    }
}

/// Lets others run before a sync that several may wait for, as long as that brings more of them: one sync serves all,
/// and while processors are scarce, those who are about to commit wait for one of them. It takes no time while there
/// are some to spare.
fn gather(shared: &Shared) {
    let mut before = 1;
    for _ in 0..YIELDS {
        let waiting = shared.waiters.lock().waiting.len();
        if waiting <= before {
            return;
        }
        before = waiting;
        thread::yield_now();
    }
}

/// The position that somebody waits for.
fn wanted(shared: &Shared) -> Lsn {
    let waiters = shared.waiters.lock();
    waiters.durable.max(waiters.written).min(shared.reserved())
}

impl Shared {
    /// Writes what the ring has, at least up to a position, and syncs it if that is asked for and not done yet. An
    /// error is the end of the log ([`Shared::fail`]), before anybody else comes to the flusher: it does not know any
    /// more what it could not write or sync, and would take that for durable.
    pub fn round(&self, flusher: &mut Flusher, goal: Lsn, sync: bool) -> Result<()> {
        if let Some(e) = self.failure() {
            return Err(e);
        }
        let done = self.write_and_sync(flusher, goal, sync);
        if let Err(e) = &done {
            self.fail(e);
        }
        done
    }

    fn write_and_sync(&self, flusher: &mut Flusher, goal: Lsn, sync: bool) -> Result<()> {
        let mut idle_rounds = 0;
        while !flusher.write(self)? && flusher.taken() < goal {
            // Whoever has the next place in the log is about to copy its group there.
            idle_rounds += 1;
            if idle_rounds < YIELDS { thread::yield_now() } else { thread::sleep(Duration::from_micros(50)) }
        }
        if sync && self.flushed.load(Ordering::Acquire) < flusher.taken() { flusher.sync(self) } else { Ok(()) }
    }
}
