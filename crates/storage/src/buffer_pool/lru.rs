//! Which page goes when room is needed: two lists, young and old, as in InnoDB.
//!
//! ```text
//!   young head .... young tail | old head .... old tail -> evicted
//!        ^                       ^
//!        pages used again        pages just read (midpoint insertion)
//! ```
//!
//! A page enters at the head of the old list and becomes young when it is used again later than
//! `old_blocks_time` after its first use; so one scan, however long, passes only through the old list. A small share
//! of the pages that scans read becomes young at once (bimodal insertion: Qureshi et al., "Adaptive insertion
//! policies for high performance caching", ISCA 2007): a set that is scanned again and again gets hold of memory that
//! nobody uses any more, and a set slightly too large keeps the part of it that fits.

use super::frames::{Frame, Frames};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const NIL: u32 = u32::MAX;

pub(super) const IN_NONE: u32 = 0;
pub(super) const IN_YOUNG: u32 = 1;
pub(super) const IN_OLD: u32 = 2;

/// One page in so many that a scan reads becomes young at once.
const SCAN_YOUNG_ONE_IN: u64 = 64;

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

const EMPTY: List = List { head: NIL, tail: NIL, len: 0 };

struct Lists {
    prev: Box<[u32]>,
    next: Box<[u32]>,
    young: List,
    old: List,
    /// Xorshift state.
    random: u64,
}

pub(super) struct Lru {
    lists: Mutex<Lists>,
    /// Pages that have become young so far: a young page has sunk by the difference to its stamp.
    ticks: AtomicU32,
    young_len: AtomicU32,
    old_pct: AtomicU32,
    old_time_ms: AtomicU32,
}

/// Milliseconds of a coarse clock; never 0.
fn now_ms() -> u32 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; on failure it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    ((time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000) as u32).max(1)
}

impl Lru {
    pub fn new(frames: usize) -> Lru {
        Lru {
            lists: Mutex::new(Lists {
                prev: vec![NIL; frames].into(),
                next: vec![NIL; frames].into(),
                young: EMPTY,
                old: EMPTY,
                random: 0x9E37_79B9_7F4A_7C15,
            }),
            ticks: AtomicU32::new(0),
            young_len: AtomicU32::new(0),
            old_pct: AtomicU32::new(37),
            old_time_ms: AtomicU32::new(1000),
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
        let lists = self.lists.lock();
        (lists.young.len as usize, lists.old.len as usize)
    }

    /// A page was put into `frame`; `used` says whether somebody asked for it already.
    pub fn insert(&self, frames: &Frames, frame: u32, scan: bool, used: bool) {
        let mut lists = self.lists.lock();
        debug_assert_eq!(frames.get(frame).list.load(Relaxed), IN_NONE);
        if scan && lists.next_random().is_multiple_of(SCAN_YOUNG_ONE_IN) {
            self.push_young(&mut lists, frames.get(frame), frame);
        } else {
            lists.push_head(IN_OLD, frame);
            frames.get(frame).list.store(IN_OLD, Relaxed);
            frames.get(frame).stamp.store(if used { now_ms() } else { 0 }, Relaxed);
        }
        self.balance(&mut lists, frames);
    }

    /// `frame` holds no page any more.
    pub fn remove(&self, frames: &Frames, frame: u32) {
        let mut lists = self.lists.lock();
        let list = frames.get(frame).list.swap(IN_NONE, Relaxed);
        if list != IN_NONE {
            lists.unlink(list, frame);
            self.young_len.store(lists.young.len, Relaxed);
        }
    }

    /// A page was used. Cheap: takes the lock only when the frame has to move, and not even then if it is taken.
    #[inline]
    pub fn touch(&self, frames: &Frames, frame: u32) {
        let f = frames.get(frame);
        let stamp = f.stamp.load(Relaxed);
        match f.list.load(Relaxed) {
            IN_YOUNG => {
                let sunk = self.ticks.load(Relaxed).wrapping_sub(stamp);
                if sunk <= self.young_len.load(Relaxed) / 4 {
                    return;
                }
            }
            IN_OLD => {
                let now = now_ms();
                if stamp == 0 {
                    f.stamp.store(now, Relaxed);
                    return;
                }
                if now.wrapping_sub(stamp) < self.old_time_ms.load(Relaxed) {
                    return;
                }
            }
            _ => return,
        }
        self.make_young(frames, frame);
    }

    #[cold]
    fn make_young(&self, frames: &Frames, frame: u32) {
        let Some(mut lists) = self.lists.try_lock() else { return };
        let list = frames.get(frame).list.load(Relaxed);
        if list == IN_NONE {
            return;
        }
        lists.unlink(list, frame);
        self.push_young(&mut lists, frames.get(frame), frame);
        self.balance(&mut lists, frames);
    }

    fn push_young(&self, lists: &mut Lists, f: &Frame, frame: u32) {
        lists.push_head(IN_YOUNG, frame);
        f.list.store(IN_YOUNG, Relaxed);
        f.stamp.store(self.ticks.fetch_add(1, Relaxed).wrapping_add(1), Relaxed);
    }

    /// Moves the border between the lists. The shares are of all frames, not of those in the lists: while frames are
    /// out for reading only the old list is short, and the young one must not fill it up.
    fn balance(&self, lists: &mut Lists, frames: &Frames) {
        let old_max = ((frames.len() as u64 * u64::from(self.old_pct.load(Relaxed)) / 100) as u32).max(1);
        let young_max = frames.len() as u32 - old_max;
        // Every call adds one page, so that the border moves by few; after a change of the share by more.
        while lists.young.len > young_max {
            let frame = lists.young.tail;
            lists.unlink(IN_YOUNG, frame);
            lists.push_head(IN_OLD, frame);
            frames.get(frame).list.store(IN_OLD, Relaxed);
            // Used long ago: the next use makes it young again.
            let long_ago = now_ms().wrapping_sub(self.old_time_ms.load(Relaxed)).max(1);
            frames.get(frame).stamp.store(long_ago, Relaxed);
        }
        // While the pool fills, what comes first gets the room that nobody needs yet.
        while lists.old.len > old_max && lists.young.len < young_max {
            let frame = lists.old.head;
            lists.unlink(IN_OLD, frame);
            lists.push_tail(IN_YOUNG, frame);
            frames.get(frame).list.store(IN_YOUNG, Relaxed);
            // Its first use after read-ahead does not move it to the head.
            frames.get(frame).stamp.store(self.ticks.load(Relaxed), Relaxed);
        }
        self.young_len.store(lists.young.len, Relaxed);
    }

    /// Up to `limit` frames, the next to go first.
    pub fn candidates(&self, limit: usize, into: &mut Vec<u32>) {
        into.clear();
        let lists = self.lists.lock();
        for mut frame in [lists.old.tail, lists.young.tail] {
            while frame != NIL && into.len() < limit {
                into.push(frame);
                frame = lists.prev[frame as usize];
            }
        }
    }
}

impl Lists {
    fn list(&mut self, list: u32) -> &mut List {
        if list == IN_YOUNG { &mut self.young } else { &mut self.old }
    }

    fn push_head(&mut self, list: u32, frame: u32) {
        let head = self.list(list).head;
        self.prev[frame as usize] = NIL;
        self.next[frame as usize] = head;
        if head == NIL {
            self.list(list).tail = frame
        } else {
            self.prev[head as usize] = frame
        }
        self.list(list).head = frame;
        self.list(list).len += 1;
    }

    fn push_tail(&mut self, list: u32, frame: u32) {
        let tail = self.list(list).tail;
        self.next[frame as usize] = NIL;
        self.prev[frame as usize] = tail;
        if tail == NIL {
            self.list(list).head = frame
        } else {
            self.next[tail as usize] = frame
        }
        self.list(list).tail = frame;
        self.list(list).len += 1;
    }

    fn unlink(&mut self, list: u32, frame: u32) {
        let (prev, next) = (self.prev[frame as usize], self.next[frame as usize]);
        if prev == NIL {
            self.list(list).head = next
        } else {
            self.next[prev as usize] = next
        }
        if next == NIL {
            self.list(list).tail = prev
        } else {
            self.prev[next as usize] = prev
        }
        self.list(list).len -= 1;
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
