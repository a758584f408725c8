//! The waiters for the log to be durable or written: threads and futures, woken by the log thread.

use super::{Lsn, shared::Shared};
use crate::Result;
use std::{
    cell::OnceCell,
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

/// How far the log must have come for a waiter to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Durable(Lsn),
    Written(Lsn),
}

/// The waiters, and what the log thread is asked for.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pub waiting: Vec<(Goal, Waker)>,
    /// The highest position that somebody wants to be durable.
    pub durable: Lsn,
    /// The highest position that somebody wants to be written.
    pub written: Lsn,
    /// True while the log thread sleeps.
    pub idle: bool,
    pub stop: bool,
}

impl Shared {
    /// How far the log is: `None` if the goal is not reached yet. Errors: the log has failed.
    fn reached(&self, goal: Goal) -> Option<Result<()>> {
        if let Some(e) = self.failure() {
            return Some(Err(e));
        }
        let there = match goal {
            Goal::Durable(lsn) => self.flushed.load(Ordering::Acquire) >= lsn,
            Goal::Written(lsn) => self.written.load(Ordering::Acquire) >= lsn,
        };
        there.then_some(Ok(()))
    }

    /// Asks for a goal and registers who waits for it, unless it is reached.
    fn ask(&self, goal: Goal, waker: &Waker) -> Option<Result<()>> {
        let mut waiters = self.waiters.lock();
        // The log thread wakes under this lock, after it has told how far it is.
        if let Some(result) = self.reached(goal) {
            return Some(result);
        }
        let end = self.reserved();
        match goal {
            // Whoever believes in a position that the log does not have would wait for ever.
            Goal::Durable(lsn) | Goal::Written(lsn) if lsn > end => {
                return Some(Err(self.segments.damaged(end, format!("the log ends before position {lsn}"))));
            }
            Goal::Durable(lsn) => waiters.durable = waiters.durable.max(lsn),
            Goal::Written(lsn) => waiters.written = waiters.written.max(lsn),
        }
        waiters.waiting.push((goal, waker.clone()));
        if waiters.idle {
            self.work.notify_one();
        }
        None
    }

    /// Waits on this thread, which does the work itself if nobody else does.
    pub(super) fn wait_for(&self, goal: Goal) -> Result<()> {
        if let Some(result) = self.reached(goal) {
            return result;
        }
        let (lsn, sync) = match goal {
            Goal::Durable(lsn) => (lsn, true),
            Goal::Written(lsn) => (lsn, false),
        };
        if lsn <= self.reserved()
            && let Some(mut flusher) = self.flusher.try_lock()
        {
            // What it fails with is told by `reached`.
            let _ = self.round(&mut flusher, lsn, sync);
            drop(flusher);
            self.wake_waiters();
            if let Some(result) = self.reached(goal) {
                return result;
            }
        }
        WAKER.with(|cell| {
            let waker = cell.get_or_init(|| Waker::from(Arc::new(Unpark(thread::current()))));
            if let Some(result) = self.ask(goal, waker) {
                return result;
            }
            loop {
                thread::park();
                if let Some(result) = self.reached(goal) {
                    return result;
                }
            }
        })
    }

    /// Wakes those whose goal is reached; all if the log has failed.
    pub(super) fn wake_waiters(&self) {
        let mut waiters = self.waiters.lock();
        let reached = |(goal, _): &mut (Goal, Waker)| self.reached(*goal).is_some();
        let woken: Vec<_> = waiters.waiting.extract_if(.., reached).collect();
        drop(waiters);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

thread_local! {
    static WAKER: OnceCell<Waker> = const { OnceCell::new() };
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Ready when the log is as far as somebody asked for.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(super) shared: Arc<Shared>,
    pub(super) goal: Goal,
}

impl Future for Reached {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let reached = self.shared.reached(self.goal).or_else(|| self.shared.ask(self.goal, context.waker()));
        reached.map_or(Poll::Pending, Poll::Ready)
    }
}
