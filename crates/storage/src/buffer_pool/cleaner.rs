//! The cleaner: a thread that writes dirty pages, so that no reader has to.
//!
//! It works in rounds. A round writes a batch of the dirty pages that are nearest to being replaced, if somebody asked
//! for frames; and a batch of those that have been dirty longest, while more than a share of the pool is dirty or
//! somebody asked for all changes before a position of the log. The thread is started when it is first needed.

use super::BufferPool;
use crate::{
    Result, StorageError, essential_thread,
    mutex::{Condvar, Mutex},
};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Name of the thread.
pub(super) const THREAD_NAME: &str = "page-cleaner";
/// The share of the pool, in percent, that may be dirty without being written.
const DIRTY_PCT: usize = 50;
/// How long the cleaner rests when the pages that it should write are all being changed.
const BUSY_REST: Duration = Duration::from_millis(2);
/// How long it rests after an error, unless it is set.
const RETRY_MS: u64 = 200;
/// The pages that are nearest to being replaced: how many of them are looked at.
const NEAREST: usize = 1024;

#[derive(Default)]
struct Requests {
    /// Number of the last request, and of the last one whose round has ended.
    asked: u64,
    ended: u64,
    /// Somebody needs frames that are clean.
    frames_wanted: bool,
    /// Changes before this position of the log are wanted on the disk.
    before: u64,
    /// Somebody waits for a round, which is not put off after an error.
    at_once: bool,
    started: bool,
    in_round: bool,
    stopped: bool,
    failure: Option<Arc<StorageError>>,
}

/// The work of one round of the cleaner.
struct Round {
    request: u64,
    frames_wanted: bool,
    before: u64,
}

/// How a round ended, if without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundEnd {
    /// There is nothing more to write.
    Done,
    /// There is more.
    More,
    /// There is more, but all of it is being changed just now.
    Busy,
}

pub(super) struct Cleaner {
    requests: Mutex<Requests>,
    /// Wakes the cleaner.
    work: Condvar,
    /// Notified when a round has ended.
    round_ended: Condvar,
    /// True if a request for frames is waiting, or one because too many pages are dirty: so that another one need not
    /// be made.
    frames_pending: AtomicBool,
    share_pending: AtomicBool,
    /// The most dirty pages that are left alone.
    dirty_max: AtomicUsize,
    retry_ms: AtomicU64,
}

impl Cleaner {
    pub fn new(frames: usize) -> Cleaner {
        Cleaner {
            requests: Mutex::default(),
            work: Condvar::new(),
            round_ended: Condvar::new(),
            frames_pending: AtomicBool::new(false),
            share_pending: AtomicBool::new(false),
            dirty_max: AtomicUsize::new(frames * DIRTY_PCT / 100),
            retry_ms: AtomicU64::new(RETRY_MS),
        }
    }

    pub fn set_dirty_max(&self, pages: usize) {
        self.dirty_max.store(pages, Relaxed);
    }

    pub fn dirty_max(&self) -> usize {
        self.dirty_max.load(Relaxed)
    }

    pub fn set_retry_ms(&self, ms: u64) {
        self.retry_ms.store(ms, Relaxed);
    }

    /// Asks for frames that need no writing, without waiting.
    pub fn wake_for_frames(&self, pool: &Weak<BufferPool>) {
        if !self.frames_pending.swap(true, Relaxed) {
            let mut requests = self.requests.lock();
            requests.frames_wanted = true;
            self.ask(&mut requests, pool);
        }
    }

    /// Tells that more pages are dirty than may be, without waiting.
    pub fn wake_for_share(&self, pool: &Weak<BufferPool>) {
        if !self.share_pending.swap(true, Relaxed) {
            self.ask(&mut self.requests.lock(), pool);
        }
    }

    /// Asks for all changes before a position of the log to be written to their places, without waiting.
    pub fn wake_for(&self, before: u64, pool: &Weak<BufferPool>) {
        let mut requests = self.requests.lock();
        requests.before = requests.before.max(before);
        self.ask(&mut requests, pool);
    }

    fn ask(&self, requests: &mut Requests, pool: &Weak<BufferPool>) {
        if requests.stopped {
            return;
        }
        requests.asked += 1;
        if !requests.started {
            let Some((cleaner, disk)) = pool.upgrade().map(|pool| (Arc::clone(&pool.cleaner), Arc::clone(&pool.io)))
            else {
                return;
            };
            let pool = Weak::clone(pool);
            requests.started = essential_thread::spawn(THREAD_NAME, &disk, move || cleaner.run(&pool)).is_ok();
        }
        self.work.notify_one();
    }

    /// Asks for frames and waits until the round has ended. Returns its error. `at_once`: the cleaner does not rest
    /// before it, even if the round before has failed.
    pub fn round(&self, pool: &Weak<BufferPool>, at_once: bool) -> Option<Arc<StorageError>> {
        let mut requests = self.requests.lock();
        requests.frames_wanted = true;
        requests.at_once |= at_once;
        self.ask(&mut requests, pool);
        let request = requests.asked;
        while requests.started && !requests.stopped && requests.ended < request {
            self.round_ended.wait(&mut requests);
        }
        requests.failure.clone()
    }

    /// Ends the thread, and waits for the end of what it writes just now. Nothing is written by it after this.
    pub fn stop(&self) {
        let mut requests = self.requests.lock();
        requests.stopped = true;
        self.work.notify_all();
        self.round_ended.notify_all();
        while requests.in_round {
            self.round_ended.wait(&mut requests);
        }
    }

    /// Tells the thread to end, which may be the one that calls this.
    pub fn end(&self) {
        self.requests.lock().stopped = true;
        self.work.notify_all();
        self.round_ended.notify_all();
    }

    fn run(&self, pool: &Weak<BufferPool>) {
        let mut rest = None;
        while let Some(round) = self.next_round(rest) {
            let Some(pool) = pool.upgrade() else { return };
            let end = pool.clean(round.frames_wanted, round.before);
            rest = match end {
                Ok(RoundEnd::Done) => None,
                Ok(RoundEnd::More) => Some(Duration::ZERO),
                Ok(RoundEnd::Busy) => Some(BUSY_REST),
                Err(_) => Some(Duration::from_millis(self.retry_ms.load(Relaxed))),
            };
            self.end_round(&round, end.err());
        }
    }

    /// Waits until there is something to do; at most `rest` if the last round left something, and after an error no
    /// less unless a round is wanted at once.
    fn next_round(&self, rest: Option<Duration>) -> Option<Round> {
        let mut requests = self.requests.lock();
        match rest {
            // Requests come in all the time while nothing can be written.
            Some(rest) if requests.failure.is_some() => {
                let deadline = Instant::now() + rest;
                while !requests.stopped && !requests.at_once {
                    if self.work.wait_until(&mut requests, deadline).timed_out() {
                        break;
                    }
                }
            }
            Some(rest) if requests.asked == requests.ended && !rest.is_zero() => {
                self.work.wait_for(&mut requests, rest);
            }
            Some(_) => {}
            None => {
                while !requests.stopped && requests.asked == requests.ended {
                    self.work.wait(&mut requests);
                }
            }
        }
        if requests.stopped {
            return None;
        }
        self.frames_pending.store(false, Relaxed);
        self.share_pending.store(false, Relaxed);
        requests.at_once = false;
        requests.in_round = true;
        Some(Round { request: requests.asked, frames_wanted: requests.frames_wanted, before: requests.before })
    }

    fn end_round(&self, round: &Round, failure: Option<StorageError>) {
        let mut requests = self.requests.lock();
        match (&requests.failure, &failure) {
            (None, Some(e)) => tracing::error!("changed pages stay in memory, to be written later: {e}"),
            (Some(_), None) => tracing::info!("changed pages are written again"),
            _ => {}
        }
        // Pages whose write failed are tried again.
        requests.frames_wanted &= failure.is_some() || requests.asked > round.request;
        requests.failure = failure.map(Arc::new);
        requests.ended = round.request;
        requests.in_round = false;
        drop(requests);
        self.round_ended.notify_all();
    }
}

impl BufferPool {
    /// One round of the cleaner.
    fn clean(&self, frames_wanted: bool, before: u64) -> Result<RoundEnd> {
        if frames_wanted {
            self.clean_nearest()?;
        }
        let too_many = self.dirty.count().saturating_sub(self.cleaner.dirty_max());
        let mut oldest = self.dirty.oldest(self.batch_pages());
        let wanted = oldest.iter().enumerate().take_while(|(i, (lsn, _))| *i < too_many || *lsn < before).count();
        oldest.truncate(wanted);
        if oldest.is_empty() {
            return Ok(RoundEnd::Done);
        }
        let frames: Vec<u32> = oldest.iter().map(|(_, frame)| *frame).collect();
        match self.write_batch(&frames, &self.counters)? {
            0 => Ok(RoundEnd::Busy),
            _ => Ok(RoundEnd::More),
        }
    }

    /// Writes the dirty pages that are nearest to being replaced.
    fn clean_nearest(&self) -> Result<()> {
        let mut candidates = Vec::new();
        for limit in [NEAREST, usize::MAX] {
            self.replacement.candidates(&self.frames, limit, &mut candidates);
            candidates.retain(|frame| !self.frames.get(*frame).state.is_clean());
            if !candidates.is_empty() && self.write_batch(&candidates, &self.counters)? > 0 {
                break;
            }
        }
        Ok(())
    }
}
