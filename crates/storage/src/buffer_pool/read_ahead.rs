//! Reading pages before they are asked for: threads that take batches from a queue.

use super::{BufferPool, frames::PageKey};
use crate::{
    Counters,
    counters::Counter,
    file::PageFile,
    io::ReadOp,
    mutex::{Condvar, Mutex},
    page,
};
use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
};

/// Batches under way at the same time.
const THREADS: usize = 2;
/// Bytes of one read at most; consecutive pages are read together up to this.
const READ_BYTES: usize = 256 << 10;

/// Frames, latched exclusively and in the page table, with the numbers of their pages, ascending.
struct Job {
    pool: Arc<BufferPool>,
    file: Arc<PageFile>,
    pages: Vec<(u32, u32)>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    stopped: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
}

pub(super) struct ReadAhead {
    shared: Arc<Shared>,
}

impl ReadAhead {
    pub fn new() -> ReadAhead {
        ReadAhead { shared: Arc::default() }
    }

    /// Hands a batch to a thread; does it here when no thread can be had.
    fn submit(&self, job: Job) {
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(job);
        if queue.idle > 0 {
            drop(queue);
            self.shared.work.notify_one();
            return;
        }
        if queue.threads < THREADS {
            let shared = Arc::clone(&self.shared);
            if thread::Builder::new().name("read-ahead".into()).spawn(move || shared.run()).is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                let job = queue.jobs.pop_back();
                drop(queue);
                if let Some(job) = job {
                    job.run();
                }
            }
        }
    }

    /// Lets the threads end. Called when the last reference to the pool goes, so that no batch is under way.
    pub fn stop(&self) {
        self.shared.queue.lock().stopped = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn run(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job.run();
                queue = self.queue.lock();
            } else if queue.stopped {
                return;
            } else {
                queue.idle += 1;
                self.work.wait(&mut queue);
                queue.idle -= 1;
            }
        }
    }
}

impl Job {
    /// Reads and verifies. A page that fails leaves memory again: who asks for it reads it and gets the error.
    fn run(self) {
        let Job { pool, file, pages } = self;
        let mut ops: Vec<ReadOp<'_>> = Vec::new();
        for run in runs(&pages, READ_BYTES / pool.page_size) {
            let buffers = run
                .iter()
                // SAFETY: the frames are latched exclusively by this job; each is in it once.
                .map(|&(_, frame)| unsafe { pool.frames.bytes_mut(frame) })
                .collect();
            ops.push(ReadOp::new(file.io_file(), file.offset(run[0].0), buffers));
        }
        pool.io.read(&mut ops);
        let mut rest = pages.iter();
        for op in ops {
            for (bytes, &(page_no, frame)) in op.buffers.iter().zip(&mut rest) {
                let good = op.result.is_ok() && page::verify(bytes, file.path(), page_no, file.index_id()).is_ok();
                if good {
                    pool.replacement.insert_ahead(&pool.frames, frame, pool.is_filling());
                    // SAFETY: latched exclusively when the job was made.
                    unsafe { pool.frames.get(frame).unlock_exclusive() };
                } else {
                    pool.replacement.disappoint();
                    pool.unmap(frame);
                    pool.give_back(frame);
                }
                pool.reading.fetch_sub(1, Relaxed);
            }
        }
    }
}

/// Cuts into runs of consecutive pages, none longer than `longest`.
fn runs(pages: &[(u32, u32)], longest: usize) -> impl Iterator<Item = &[(u32, u32)]> {
    let mut rest = pages;
    std::iter::from_fn(move || {
        let first = rest.first()?.0;
        let len = rest
            .iter()
            .take(longest.max(1))
            .enumerate()
            .take_while(|&(i, &(page_no, _))| page_no == first + i as u32)
            .count();
        let (run, after) = rest.split_at(len);
        rest = after;
        Some(run)
    })
}

impl BufferPool {
    /// Starts reading pages that are not in memory, in the background; returns how many. A hint: pages beyond the
    /// file, or for which there is no room just now, are left out; errors show when the page is fetched.
    pub fn prefetch(self: &Arc<Self>, file: &Arc<PageFile>, page_nos: &[u32], counters: &Counters) -> usize {
        let end = file.page_count();
        // Pages read ahead must not push out each other before they are used.
        let limit = (self.frames.len() / 4).max(1);
        let mut pages = Vec::new();
        for &page_no in page_nos {
            let key = PageKey::new(file.id(), page_no);
            if page_no == page::NO_PAGE || page_no >= end || self.table.shard(key).frames.contains_key(&key) {
                continue;
            }
            if self.reading.load(Relaxed) >= limit {
                break;
            }
            let Some(frame) = self.take_frame_now() else { break };
            if self.map(file, key, frame) {
                self.reading.fetch_add(1, Relaxed);
                self.replacement.expect();
                pages.push((page_no, frame));
            } else {
                self.give_back(frame);
            }
        }
        if pages.is_empty() {
            return 0;
        }
        pages.sort_unstable();
        let count = pages.len();
        counters.add(Counter::pages_read_ahead, count as u64);
        counters.add(Counter::pages_read, count as u64);
        counters.add(Counter::bytes_read, (count * self.page_size) as u64);
        counters.add(Counter::reads, runs(&pages, READ_BYTES / self.page_size).count() as u64);
        self.read_ahead.submit(Job { pool: Arc::clone(self), file: Arc::clone(file), pages });
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_consecutive_and_short() {
        let pages: Vec<(u32, u32)> = [1, 2, 3, 4, 7, 8, 10].map(|p| (p, 100 + p)).into();
        let cut: Vec<Vec<u32>> = runs(&pages, 3).map(|r| r.iter().map(|p| p.0).collect()).collect();
        assert_eq!(cut, [vec![1, 2, 3], vec![4], vec![7, 8], vec![10]]);
        assert_eq!(runs(&pages, 0).count(), 7);
        assert_eq!(runs(&[], 3).count(), 0);
    }
}
