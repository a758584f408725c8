//! A thread that waits for a lock: until it is woken, killed, or out of time. It asks nobody in between.

use super::Patience;
use muster_types::{Result, SqlError};
use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Instant,
};
use tokio::sync::Notify;

/// Wakes a thread that is parked.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until `woken` is told something, at once if it was told since it was last waited for. Errors: 1205 when the
/// patience is over, 3024 at the deadline, 1317 after KILL.
pub fn until_woken(woken: &Notify, patience: &Patience<'_>) -> Result<()> {
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut context = Context::from_waker(&waker);
    let (mut notified, mut killed) = (pin!(woken.notified()), pin!(patience.killed.cancelled()));
    loop {
        if killed.as_mut().poll(&mut context).is_ready() {
            return Err(SqlError::interrupted());
        }
        if notified.as_mut().poll(&mut context) == Poll::Ready(()) {
            return Ok(());
        }
        let now = Instant::now();
        let is_over = |moment: Option<Instant>| moment.is_some_and(|moment| now >= moment);
        if is_over(patience.deadline) {
            return Err(SqlError::timed_out());
        }
        if is_over(patience.until) {
            return Err(SqlError::lock_wait_timeout());
        }
        match patience.until.into_iter().chain(patience.deadline).min() {
            None => thread::park(),
            Some(moment) => thread::park_timeout(moment - now),
        }
    }
}
