//! A statement that waits for a lock, and that a test kills.

use crate::locks::Waits;
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// Kills the statements that wait with it.
#[derive(Clone, Default)]
pub struct Kill(Arc<Mutex<KillState>>);

#[derive(Default)]
struct KillState {
    is_killed: bool,
    /// How often a thread has asked whether it is killed.
    asked: usize,
    waker: Option<Waker>,
}

impl Kill {
    pub fn kill(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.is_killed = true;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    pub fn asked(&self) -> usize {
        self.0.lock().unwrap().asked
    }

    /// A wait for so long, or until it is killed.
    pub fn waits(&self, timeout: Duration) -> Waits {
        let kill = self.clone();
        Waits::Until { timeout, deadline: None, interruption: Arc::new(move || Box::pin(Killed(kill.clone()))) }
    }
}

/// Is ready once the statement is killed.
struct Killed(Kill);

impl Future for Killed {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock().unwrap();
        state.asked += 1;
        if state.is_killed {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
