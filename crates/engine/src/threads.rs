//! The threads that statements run on. Connections have others, so that they answer, and KILL reaches a statement,
//! however busy the statements are.

use crate::RowStream;
use futures::{StreamExt, stream};
use muster_storage::LoadProgress;
use muster_types::{Result, SqlError};
use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};
use tokio::{runtime::Runtime, sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Parsing, binding and planning recurse with what is nested in a statement, within the limits of the parser.
pub const STACK_BYTES: usize = 64 << 20;

/// Most statements that run at a time. More would wait, KILL among them, so this is beyond what sessions there are.
const STATEMENTS_MAX: usize = 1 << 20;

/// The runtime of all databases of the process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .thread_name("statement")
            .thread_stack_size(STACK_BYTES)
            .max_blocking_threads(STATEMENTS_MAX)
            .enable_all()
            .build()
    });
    made.as_ref().map_err(SqlError::internal)
}

/// The error that a client gets after a panic. The message of the panic goes to the log.
pub fn panic_error(panic: &(dyn std::any::Any + Send)) -> SqlError {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic".into());
    tracing::error!("a statement panicked: {text}");
    SqlError::internal(text)
}

/// Runs work that blocks on a thread for such; a panic there is an error 1105 here.
pub async fn blocking<R: Send + 'static>(work: impl FnOnce() -> Result<R> + Send + 'static) -> Result<R> {
    match runtime()?.spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) if e.is_panic() => Err(panic_error(&*e.into_panic())),
        Err(_) => Err(SqlError::interrupted()),
    }
}

/// Drops something that may be nested deeply, such as a parsed statement, where the stack is large enough.
pub fn drop_elsewhere(dropped: impl Send + 'static) {
    match runtime() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(dropped))),
        Err(_) => drop(dropped),
    }
}

/// Waits for something asynchronous, such as the rows of a query, on a thread that may block.
pub fn wait<T>(future: impl Future<Output = T>) -> Result<T> {
    let _inside = runtime()?.enter();
    poll_here(future, None).ok_or_else(|| SqlError::internal("a wait without a limit has ended"))
}

/// Runs blocking work that looks at `progress.cancelled`, and sets it when `cancel` is cancelled.
pub fn while_watching_kill<R>(cancel: &CancellationToken, progress: &Arc<LoadProgress>, work: impl FnOnce() -> R) -> R {
    const POLL: Duration = Duration::from_millis(50);
    let (finished, waiting) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (cancel, progress) = (cancel.clone(), progress.clone());
        scope.spawn(move || {
            // Ends when the sender is dropped: with the work, or with its panic.
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = waiting.recv_timeout(POLL) {
                if cancel.is_cancelled() {
                    progress.cancelled.store(true, Relaxed);
                    return;
                }
            }
        });
        let result = work();
        drop(finished);
        result
    })
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A reader who leaves rows waiting for so long has stalled.
const STALL: Duration = Duration::from_secs(1);

/// A query with few rows computes so many batches of them where it was started, as long as it has not waited for so
/// long; the rest elsewhere.
const HEAD_BATCHES_MAX: usize = 16;
const HEAD_MAX: Duration = Duration::from_millis(20);

/// Starts a query whose rows are few by estimate and computes them on the caller's thread, which may block; what is
/// left after some time as [`rows`] does. `stopped` ends with the error of a query that is to stop.
pub fn few_rows(
    start: impl FnOnce() -> Result<RowStream>,
    stopped: impl Future<Output = SqlError>,
    stalled: impl FnMut() + Send + 'static,
) -> Result<RowStream> {
    let _inside = runtime()?.enter();
    let (mut head, began) = (Vec::new(), Instant::now());
    let mut rest = start()?;
    let mut stopped = pin!(stopped);
    while head.len() < HEAD_BATCHES_MAX {
        let next = poll_fn(|cx| match stopped.as_mut().poll(cx) {
            Poll::Ready(error) => Poll::Ready(Err(error)),
            Poll::Pending => rest.poll_next_unpin(cx).map(Ok),
        });
        match poll_here(next, Some(began + HEAD_MAX)).transpose()? {
            Some(Some(batch)) => head.push(batch),
            Some(None) => return Ok(stream::iter(head).boxed()),
            None => break,
        }
    }
    Ok(stream::iter(head).chain(rows(|| Ok(rest), stalled)?).boxed())
}

/// Wakes a thread that polls a future.
struct ThreadWaker {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Release);
        self.thread.unpark();
    }
}

/// Polls a future on this thread, which may be one that polls a session already: what is to let other tasks run may not
/// wait for that. `None` if nothing has woken the future by the moment `until`.
fn poll_here<T>(future: impl Future<Output = T>, until: Option<Instant>) -> Option<T> {
    let mut future = pin!(tokio::task::unconstrained(future));
    // The first poll is as if something had woken it.
    let own = Arc::new(ThreadWaker { thread: thread::current(), is_woken: AtomicBool::new(true) });
    let waker = Waker::from(own.clone());
    loop {
        if own.is_woken.swap(false, Acquire)
            && let Poll::Ready(ready) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            return Some(ready);
        }
        // Also what has woken itself to let others run is not polled beyond the moment; else parking returns at once.
        match until {
            Some(until) => thread::park_timeout(until.checked_duration_since(Instant::now())?),
            None => thread::park(),
        }
    }
}

/// Starts a query and computes its rows ahead of who reads them, by one batch. Dropping them stops it. `stalled` is
/// called when nobody has read on for a second.
pub fn rows(
    start: impl FnOnce() -> Result<RowStream>,
    mut stalled: impl FnMut() + Send + 'static,
) -> Result<RowStream> {
    let runtime = runtime()?;
    let mut rows = {
        let _inside = runtime.enter();
        start()?
    };
    let (sender, receiver) = mpsc::channel(1);
    let task = runtime.spawn(async move {
        while let Some(batch) = rows.next().await {
            let place = match tokio::time::timeout(STALL, sender.reserve()).await {
                Ok(place) => place,
                Err(_) => {
                    stalled();
                    sender.reserve().await
                }
            };
            match place {
                Ok(place) => place.send(batch),
                Err(_) => break,
            }
        }
    });
    let running = Some((receiver, AbortOnDrop(task)));
    let rows = stream::unfold(running, |running| async {
        let (mut receiver, mut task) = running?;
        match receiver.recv().await {
            Some(batch) => Some((batch, Some((receiver, task)))),
            // The end of the channel is the end of the rows only if the task got there.
            None => match (&mut task.0).await {
                Ok(()) => None,
                Err(e) if e.is_panic() => Some((Err(panic_error(&*e.into_panic())), None)),
                Err(_) => Some((Err(SqlError::interrupted()), None)),
            },
        }
    });
    Ok(rows.boxed())
}
