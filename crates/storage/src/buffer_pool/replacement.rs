//! The page that is evicted when room is needed: LIRS (Jiang and Zhang, "LIRS: an efficient low inter-reference recency
//! set replacement policy", SIGMETRICS 2002), with a clock instead of a list that every hit would have to change.
//!
//! ```text
//!   read -> old    head ... tail -> leaves     a queue of what was read last, a small share of the pool
//!             |
//!             | used again, much sooner than the coldest young page has been waiting
//!             v
//!          young   head ... tail -> leaves     a clock: who was used since it came to the head goes there again
//!
//!          evicted: page -> when it was last used; so that a page that is read again counts as used again
//! ```
//!
//! Time is counted in pages that came into the pool. A page is worth the place of the coldest young page if the
//! interval between two of its uses is shorter than a third of the time that the other was not used; a page only a
//! little better is not worth it, since the other may be wanted next. So a scan, however long, passes through the old
//! queue and leaves hot pages alone; a set that is read in a circle keeps the part of it that came first, since none of
//! its pages comes back sooner than another; and pages nobody wants any more give way to those that come back.
//! Uses that follow each other closely (rows of one page looked up one by one) count as one. Reading ahead is no use.
//!
//! A hit takes no lock and writes only when time has gone on since the page's last use.

use super::{
    eviction_history::EvictionHistory,
    frames::Frames,
    lists::{List, Lists},
};
use crate::mutex::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// An interval longer than all others: of a page whose last use is not known.
const NEVER: u32 = 1 << 31;
/// Uses within this share of the pool's frames, in pages read, count as one.
const ONE_USE_SHARE: usize = 16;
/// The old list's share of the pool, in percent.
const OLD_PCT: u32 = 5;
/// Pages that were read ahead and not used yet may lengthen the old list by this share of the pool.
const AHEAD_SHARE: usize = 4;
/// A page becomes young if it comes back so many times sooner than the coldest young page.
const SOONER: u32 = 3;
/// Steps of the clock at a time.
const CLOCK_STEPS: usize = 16;

struct ListState {
    lists: Lists,
    /// When each frame came to the head of its list.
    since: Box<[u32]>,
    evicted: EvictionHistory,
}

pub(super) struct Replacement {
    state: Mutex<ListState>,
    /// Pages that came into the pool so far.
    now: AtomicU32,
    /// Uses closer together than this count as one.
    one_use: u32,
    old_pct: AtomicU32,
    old_time_ms: AtomicU32,
    /// [`Replacement::expected`].
    ahead: AtomicU32,
    made_young: AtomicU64,
    not_made_young: AtomicU64,
    ahead_evicted: AtomicU64,
}

/// The moves of pages between the lists so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moves {
    pub made_young: u64,
    pub not_made_young: u64,
    pub ahead_evicted: u64,
}

/// Milliseconds of a coarse clock.
fn now_ms() -> u32 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; on failure it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    (time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000) as u32
}

impl Replacement {
    pub fn new(frames: usize) -> Replacement {
        Replacement {
            state: Mutex::new(ListState {
                lists: Lists::new(frames),
                since: vec![0; frames].into(),
                evicted: EvictionHistory::new(frames),
            }),
            now: AtomicU32::new(0),
            one_use: (frames / ONE_USE_SHARE).max(1) as u32,
            old_pct: AtomicU32::new(OLD_PCT),
            old_time_ms: AtomicU32::new(0),
            ahead: AtomicU32::new(0),
            made_young: AtomicU64::new(0),
            not_made_young: AtomicU64::new(0),
            ahead_evicted: AtomicU64::new(0),
        }
    }

    pub fn set_old_pct(&self, pct: u32) {
        self.old_pct.store(pct.clamp(5, 95), Relaxed);
    }

    pub fn set_old_time_ms(&self, ms: u32) {
        self.old_time_ms.store(ms, Relaxed);
    }

    /// Lengths of the young and the old list.
    pub fn lengths(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.lists.len(List::Young) as usize, state.lists.len(List::Old) as usize)
    }

    pub fn moves(&self) -> Moves {
        Moves {
            made_young: self.made_young.load(Relaxed),
            not_made_young: self.not_made_young.load(Relaxed),
            ahead_evicted: self.ahead_evicted.load(Relaxed),
        }
    }

    /// Pages that were read ahead, or are being read, and that nobody has used.
    pub fn expected(&self) -> u32 {
        self.ahead.load(Relaxed)
    }

    /// A page will be read ahead.
    pub fn expect(&self) {
        self.ahead.fetch_add(1, Relaxed);
    }

    /// The page that was expected did not come.
    pub fn disappoint(&self) {
        self.ahead.fetch_sub(1, Relaxed);
    }

    /// The page of `frame` has come, and is used at once. `filling`: there are free frames.
    pub fn insert(&self, frames: &Frames, frame: u32, filling: bool) {
        self.insert_any(frames, frame, filling, false);
    }

    /// The page of `frame` has come as expected, but nobody has used it.
    pub fn insert_ahead(&self, frames: &Frames, frame: u32, filling: bool) {
        self.insert_any(frames, frame, filling, true);
    }

    fn insert_any(&self, frames: &Frames, frame: u32, filling: bool, ahead: bool) {
        let mut state = self.state.lock();
        let now = self.now.fetch_add(1, Relaxed).wrapping_add(1);
        let f = frames.get(frame);
        let last_used = state.evicted.last_used(f.key()).unwrap_or(now.wrapping_sub(NEVER));
        f.stamp.store(last_used, Relaxed);
        f.ahead.store(ahead, Relaxed);
        f.came_back.store(false, Relaxed);
        // While there is room for all, what comes first gets it.
        if filling && state.lists.len(List::Young) < self.young_max(frames) {
            state.push_young(frames, frame, now);
        } else {
            state.lists.push_head(frames, List::Old, frame);
            state.since[frame as usize] = now;
        }
        if !ahead {
            self.used(&mut state, frames, frame, now);
        }
    }

    /// Counts a use of a page in a list, and makes it young if it came back soon.
    fn used(&self, state: &mut ListState, frames: &Frames, frame: u32, now: u32) {
        let f = frames.get(frame);
        let interval = now.wrapping_sub(f.stamp.swap(now, Relaxed));
        if List::of(frames, frame) != List::Old {
            return;
        }
        f.came_back.store(interval < NEVER, Relaxed);
        if interval.saturating_mul(SOONER) < state.coldest(frames, now) {
            state.push_young(frames, frame, now);
            self.made_young.fetch_add(1, Relaxed);
        } else if self.old_time_ms.load(Relaxed) > 0 {
            f.used_ms.store(now_ms(), Relaxed);
        }
    }

    /// A page that is in memory was used.
    #[inline]
    pub fn touch(&self, frames: &Frames, frame: u32) {
        let f = frames.get(frame);
        let since = self.now.load(Relaxed).wrapping_sub(f.stamp.load(Relaxed));
        if since >= self.one_use || f.ahead.load(Relaxed) {
            self.touch_again(frames, frame);
        }
    }

    #[cold]
    fn touch_again(&self, frames: &Frames, frame: u32) {
        let f = frames.get(frame);
        let first = f.ahead.swap(false, Relaxed);
        if first {
            self.ahead.fetch_sub(1, Relaxed);
        }
        match List::of(frames, frame) {
            List::None => {}
            List::Young => f.stamp.store(self.now.load(Relaxed), Relaxed),
            List::Old => {
                let wait_ms = self.old_time_ms.load(Relaxed);
                if !first && wait_ms > 0 && now_ms().wrapping_sub(f.used_ms.load(Relaxed)) < wait_ms {
                    return;
                }
                let mut state = self.state.lock();
                let now = self.now.load(Relaxed);
                // Unless another thread counts the same use.
                if now.wrapping_sub(f.stamp.load(Relaxed)) >= self.one_use {
                    self.used(&mut state, frames, frame, now);
                }
            }
        }
    }

    /// `frame` gives up its page for another.
    pub fn evict(&self, frames: &Frames, frame: u32) {
        let mut state = self.state.lock();
        let list = state.lists.remove(frames, frame);
        let f = frames.get(frame);
        if list == List::Old && f.came_back.load(Relaxed) {
            self.not_made_young.fetch_add(1, Relaxed);
        }
        match f.ahead.swap(false, Relaxed) {
            true => {
                self.ahead.fetch_sub(1, Relaxed);
                self.ahead_evicted.fetch_add(1, Relaxed);
            }
            false => state.evicted.insert(f.key(), f.stamp.load(Relaxed)),
        }
    }

    /// The page of `frame` is no more.
    pub fn remove(&self, frames: &Frames, frame: u32) {
        self.state.lock().lists.remove(frames, frame);
        if frames.get(frame).ahead.swap(false, Relaxed) {
            self.ahead.fetch_sub(1, Relaxed);
        }
    }

    /// Frames that the young list may have. The shares are of all frames, not of those in the lists: while frames are
    /// out for reading only the old list is short, and the young one must not fill it up.
    fn young_max(&self, frames: &Frames) -> u32 {
        let ahead = (self.expected() as usize).min(frames.len() / AHEAD_SHARE);
        let old = (frames.len() * self.old_pct.load(Relaxed) as usize / 100).max(1) + ahead;
        frames.len().saturating_sub(old) as u32
    }

    /// The frames in the lists, the next to go first, each with when it came to the head of its list.
    pub fn order(&self) -> Vec<(u32, u32)> {
        let state = self.state.lock();
        let both = state.lists.tail_first(List::Old).chain(state.lists.tail_first(List::Young));
        both.map(|frame| (frame, state.since[frame as usize])).collect()
    }

    /// Up to `limit` frames, the next to go first.
    pub fn candidates(&self, frames: &Frames, limit: usize, into: &mut Vec<u32>) {
        into.clear();
        let mut state = self.state.lock();
        state.turn(frames, self.now.load(Relaxed));
        let lists = &state.lists;
        let too_many = lists.len(List::Young).saturating_sub(self.young_max(frames)) as usize;
        let young = lists.tail_first(List::Young);
        let then = lists.tail_first(List::Young).skip(too_many);
        into.extend(young.take(too_many).chain(lists.tail_first(List::Old)).chain(then).take(limit));
    }
}

impl ListState {
    fn push_young(&mut self, frames: &Frames, frame: u32, now: u32) {
        self.lists.push_head(frames, List::Young, frame);
        self.since[frame as usize] = now;
    }

    /// Turns the clock until the tail of the young list is a page that was not used since it came to the head.
    fn turn(&mut self, frames: &Frames, now: u32) {
        for _ in 0..CLOCK_STEPS {
            let Some(tail) = self.lists.tail(List::Young) else { return };
            let used = frames.get(tail).stamp.load(Relaxed);
            if used.wrapping_sub(self.since[tail as usize]) as i32 <= 0 {
                return;
            }
            self.push_young(frames, tail, now);
        }
    }

    /// How long the coldest young page has not been used.
    fn coldest(&mut self, frames: &Frames, now: u32) -> u32 {
        self.turn(frames, now);
        let Some(tail) = self.lists.tail(List::Young) else { return NEVER };
        now.wrapping_sub(frames.get(tail).stamp.load(Relaxed)).min(NEVER)
    }
}
