//! The threads that connections live on.
//!
//! A connection stays on one thread from its greeting to its end. Each thread has an event loop that nobody else looks
//! into, so no connection moves between threads, and a statement that arrives wakes only the thread that answers it.
//! While there are few connections each has a thread to itself: the kernel then tends to run a client and its thread in
//! turn on one core, which makes waking them cheap. It does so more often with a thread that is new than with one whose
//! past ties it to another core, so threads are not kept for later. More connections share threads: a thousand idle
//! ones cost little, and a thread that wakes answers all that have sent something meanwhile, while threads that wake
//! for one statement each wait for each other. A connection that has a thread to itself waits on it for the disk.

use futures::{FutureExt, future::BoxFuture};
use muster_engine::{STACK_BYTES, waiting::serve_sessions};
use std::{future::Future, io, sync::Arc, thread};
use tokio::{runtime::Builder, sync::mpsc};

/// More threads than this cost more in switching between them than they save. With 64 connections that insert on two
/// cores, 4 give 1.3 times as many inserts a second as 16, and half their 95th percentile.
const THREADS_PER_CORE: usize = 4;

/// All threads of a server. Dropping this drops the connections and ends the threads.
pub struct ConnectionThreads {
    threads: Vec<ConnectionThread>,
    threads_max: usize,
}

struct ConnectionThread {
    /// Brings the thread its connections. The thread ends when this is dropped.
    arrivals: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    /// One reference here, and one for each connection.
    connections: Arc<()>,
    thread: thread::JoinHandle<()>,
}

impl ConnectionThreads {
    /// No thread yet: they are started when connections come.
    pub fn new() -> ConnectionThreads {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        ConnectionThreads { threads: Vec::new(), threads_max: cores * THREADS_PER_CORE }
    }

    /// Serves a connection on a new thread, or on that with the fewest connections if there may be no more. Threads
    /// whose connections have ended end here. Fails if the system refuses a thread.
    pub fn spawn(&mut self, serve: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        self.threads.retain(|thread| thread.connections() > 0);
        if self.threads.len() < self.threads_max {
            self.threads.push(ConnectionThread::start(serve)?);
        } else if let Some(fewest) = self.threads.iter().min_by_key(|thread| thread.connections()) {
            hand_over(serve, &fewest.connections, &fewest.arrivals)?;
        }
        Ok(())
    }
}

/// Sends a thread a connection, which counts as long as it is there.
fn hand_over(
    serve: impl Future<Output = ()> + Send + 'static,
    connections: &Arc<()>,
    arrivals: &mpsc::UnboundedSender<BoxFuture<'static, ()>>,
) -> io::Result<()> {
    let counted = connections.clone();
    let sent = arrivals.send(serve.map(|()| drop(counted)).boxed());
    sent.map_err(|_| io::Error::other("the thread of a connection has ended"))
}

impl Drop for ConnectionThreads {
    fn drop(&mut self) {
        let ending: Vec<_> = self.threads.drain(..).map(ConnectionThread::end).collect();
        for thread in ending {
            // A panic of a connection stays with the connection.
            let _ = thread.join();
        }
    }
}

impl ConnectionThread {
    /// The first connection is there before the thread, which begins with it and need not be woken.
    fn start(first: impl Future<Output = ()> + Send + 'static) -> io::Result<ConnectionThread> {
        let (arrivals, arriving) = mpsc::unbounded_channel();
        let connections = Arc::new(());
        hand_over(first, &connections, &arrivals)?;
        let counted = Arc::downgrade(&connections);
        // Queries that are over soon run here, too.
        let builder = thread::Builder::new().name("connection".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn(|| {
            serve_sessions(counted);
            serve_all(arriving);
        })?;
        Ok(ConnectionThread { arrivals, connections, thread })
    }

    fn connections(&self) -> usize {
        Arc::strong_count(&self.connections) - 1
    }

    /// Has the thread drop its connections where they wait, and end.
    fn end(self) -> thread::JoinHandle<()> {
        drop(self.arrivals);
        self.thread
    }
}

/// What a thread does: its connections, which are closed if the system refuses the event loop.
fn serve_all(mut arriving: mpsc::UnboundedReceiver<BoxFuture<'static, ()>>) {
    match Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(events) => events.block_on(async {
            while let Some(connection) = arriving.recv().await {
                tokio::spawn(connection);
            }
        }),
        Err(e) => tracing::warn!("connections are closed: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashMap, sync::mpsc, time::Duration};

    /// Starts `count` connections that last until the threads end; how many live on each thread.
    fn spread(threads: &mut ConnectionThreads, count: usize) -> Vec<usize> {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..count {
            let sender = sender.clone();
            let serve = async move {
                sender.send(thread::current().id()).unwrap();
                std::future::pending().await
            };
            threads.spawn(serve).unwrap();
        }
        let mut by_thread: HashMap<thread::ThreadId, usize> = HashMap::new();
        for _ in 0..count {
            *by_thread.entry(receiver.recv().unwrap()).or_default() += 1;
        }
        by_thread.into_values().collect()
    }

    #[test]
    fn connections_share_threads_when_there_are_many() {
        let few = || ConnectionThreads { threads: Vec::new(), threads_max: 4 };
        assert_eq!(spread(&mut few(), 3), [1, 1, 1]);
        assert_eq!(spread(&mut few(), 12), [3, 3, 3, 3]);
    }

    #[test]
    fn a_thread_ends_with_its_last_connection() {
        let mut threads = ConnectionThreads::new();
        spread(&mut threads, 1);
        for _ in 0..100 {
            threads.spawn(async {}).unwrap();
            while threads.threads.iter().all(|thread| thread.connections() > 0) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(threads.threads.len() <= 2);
    }

    #[test]
    fn connections_are_dropped_with_their_threads() {
        let mut threads = ConnectionThreads::new();
        let alive = Arc::new(());
        for _ in 0..100 {
            let alive = alive.clone();
            let serve = async move {
                std::future::pending::<()>().await;
                drop(alive);
            };
            threads.spawn(serve).unwrap();
        }
        drop(threads);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
