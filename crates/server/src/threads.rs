//! The threads that connections live on.
//!
//! A connection stays on one thread from its greeting to its end. Each thread has an event loop that nobody else looks into, so
//! no connection moves between threads, and a statement that arrives wakes only the thread that answers it. While there are few
//! connections each has a thread to itself: the kernel then tends to run a client and its thread in turn on one core, which
//! makes waking them cheap. It does so more often with a thread that is new than with one whose past ties it to another core,
//! so threads are not kept for later. More connections share threads: a thousand idle ones cost little, and a thread that wakes
//! answers all that have sent something meanwhile.

use std::{convert::Infallible, future::Future, io, sync::Arc, thread};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// More threads than this cost more in switching between them than they save.
const THREADS_PER_CORE: usize = 16;

/// All threads of a server. Dropping this drops the connections and ends the threads.
pub struct ConnectionThreads {
    threads: Vec<ConnectionThread>,
    threads_max: usize,
}

struct ConnectionThread {
    events: Handle,
    /// One reference here, and one for each connection.
    connections: Arc<()>,
    /// The thread ends when this is dropped.
    stop: oneshot::Sender<Infallible>,
    thread: thread::JoinHandle<()>,
}

impl ConnectionThreads {
    /// No thread yet: they are started when connections come.
    pub fn new() -> ConnectionThreads {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        ConnectionThreads { threads: Vec::new(), threads_max: cores * THREADS_PER_CORE }
    }

    /// Serves a connection on a new thread, or on that with the fewest connections if there may be no more. Threads whose
    /// connections have ended end here. Fails if the system refuses the first thread.
    pub fn spawn(&mut self, serve: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let thread = self.thread()?;
        let counted = thread.connections.clone();
        thread.events.spawn(async move {
            serve.await;
            drop(counted);
        });
        Ok(())
    }

    fn thread(&mut self) -> io::Result<&ConnectionThread> {
        self.threads.retain(|thread| thread.connections() > 0);
        if self.threads.len() < self.threads_max {
            match ConnectionThread::start() {
                Ok(thread) => self.threads.push(thread),
                Err(e) if self.threads.is_empty() => return Err(e),
                Err(e) => tracing::warn!("connections share {} threads: {e}", self.threads.len()),
            }
        }
        let fewest = self.threads.iter().min_by_key(|thread| thread.connections());
        fewest.ok_or_else(|| io::Error::other("no thread for connections"))
    }
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
    fn start() -> io::Result<ConnectionThread> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let events = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("connection".into()).spawn(move || {
            let Err(_) = runtime.block_on(stopped);
        })?;
        Ok(ConnectionThread { events, connections: Arc::new(()), stop, thread })
    }

    fn connections(&self) -> usize {
        Arc::strong_count(&self.connections) - 1
    }

    /// Has the thread drop its connections where they wait, and end.
    fn end(self) -> thread::JoinHandle<()> {
        drop(self.stop);
        self.thread
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
