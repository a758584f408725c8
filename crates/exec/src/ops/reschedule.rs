//! A task that goes back to the scheduler, so that those it has woken find a thread.
//!
//! Tokio keeps the task that a running task has woken last for the same thread, and no other thread takes it from
//! there,
//! idle as it may be (<https://github.com/tokio-rs/tokio/issues/4941>). So a task that wakes another one and goes on computing
//! has the other one wait. A task that wakes itself and returns is put where all threads look for work instead.

use std::task::Poll;

/// Lets the tasks that this one has just woken run beside it. It is worth its while before long work only.
pub async fn reschedule() {
    let mut returned = false;
    std::future::poll_fn(|cx| match std::mem::replace(&mut returned, true) {
        true => Poll::Ready(()),
        false => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::{
        sync::{Arc, Barrier},
        time::{Duration, Instant},
    };

    /// Tasks that wait for one result all run at a time once it is there, although none of them gives up its thread.
    #[test]
    fn those_that_were_woken_run_beside_the_one_that_woke_them() {
        const TASKS: usize = 2;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(TASKS).enable_time().build().unwrap();
        for _ in 0..20 {
            let all = Arc::new(Barrier::new(TASKS));
            let result = async { tokio::time::sleep(Duration::from_millis(2)).await }.boxed().shared();
            let tasks = (0..TASKS).map(|_| {
                let (result, all) = (result.clone(), all.clone());
                runtime.spawn(async move {
                    result.await;
                    reschedule().await;
                    all.wait();
                })
            });
            let tasks: Vec<_> = tasks.collect();
            let began = Instant::now();
            while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
                assert!(began.elapsed() < Duration::from_secs(20), "a task waits for the thread of another one");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
