//! The leaf encoder: a thread that encodes leaves anew which have slots and rest, so that no reader has to, and so that
//! tables with few changes are scanned as fast as those without.
//!
//! Writers, and readers that meet slots, note leaves in the buffer pool ([`BufferPool::take_rested`]). In each round
//! the encoder takes those that nobody has changed for a whole interval. It is not the cleaner's thread: encoding asks
//! for room in the log, and that may have to wait for the cleaner.

use crate::{
    Counters, FileId, StorageError,
    buffer_pool::BufferPool,
    mutex::{Condvar, Mutex},
    tree::Tree,
};
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Leaves that are encoded before the encoder rests for as long as that took: it uses half a processor at most.
const AT_ONCE: usize = 32;

/// The thread, until it is stopped.
pub(super) struct LeafEncoder {
    work: Arc<Work>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Work {
    pool: Arc<BufferPool>,
    counters: Arc<Counters>,
    /// The trees that are open, by their files.
    trees: Mutex<HashMap<FileId, Weak<Tree>>>,
    stopped: Mutex<bool>,
    stop: Condvar,
}

impl LeafEncoder {
    /// Starts the thread, which has a round once in an interval, if there is an interval.
    pub fn start(
        pool: Arc<BufferPool>,
        counters: Arc<Counters>,
        interval: Option<Duration>,
    ) -> io::Result<LeafEncoder> {
        let (trees, stopped, stop) = (Mutex::default(), Mutex::default(), Condvar::new());
        let work = Arc::new(Work { pool, counters, trees, stopped, stop });
        let start = |interval| {
            let work = Arc::clone(&work);
            thread::Builder::new().name("leaf-encoder".into()).spawn(move || work.run(interval))
        };
        let thread = Mutex::new(interval.map(start).transpose()?);
        Ok(LeafEncoder { work, thread })
    }

    /// Leaves of this tree are encoded from now on.
    pub fn register(&self, tree: &Arc<Tree>) {
        let mut trees = self.work.trees.lock();
        trees.retain(|_, tree| tree.strong_count() > 0);
        trees.insert(tree.file().id(), Arc::downgrade(tree));
    }

    /// One round, on this thread. Returns how many leaves it encoded.
    pub fn round(&self) -> usize {
        self.work.round()
    }

    /// Ends the thread and waits for that: no page is changed by it after this.
    pub fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        *self.work.stopped.lock() = true;
        self.work.stop.notify_all();
        // A thread that panicked has said so.
        let _ = thread.join();
    }
}

impl Work {
    fn run(&self, interval: Duration) {
        while !self.rests(interval) {
            self.round();
        }
    }

    /// Waits. Returns true if the encoder is to stop.
    fn rests(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut stopped = self.stopped.lock();
        while !*stopped && !self.stop.wait_until(&mut stopped, deadline).timed_out() {}
        *stopped
    }

    fn round(&self) -> usize {
        let mut encoded = 0;
        for leaves in self.pool.take_rested().chunks(AT_ONCE) {
            let start = Instant::now();
            for (file, page_no) in leaves {
                let tree = self.trees.lock().get(file).and_then(Weak::upgrade);
                let Some(tree) = tree else { continue };
                match tree.encode_rested(*page_no, &self.counters) {
                    Ok(done) => encoded += usize::from(done),
                    // It was dropped, or opened anew with another layout of its rows meanwhile.
                    Err(_) if tree.file().is_deleted() => {}
                    Err(StorageError::SnapshotTooOld) => {}
                    Err(e) => {
                        // Whoever meets their changes notes these leaves again.
                        tracing::warn!("leaves with changes stay as they are: {e}");
                        return encoded;
                    }
                }
            }
            if self.rests(start.elapsed()) {
                break;
            }
        }
        encoded
    }
}
