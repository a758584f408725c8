//! A model of the buffer pool's frames: who finds a page in the table latches its frame without the table's lock if it
//! must wait, and looks at the frame's key again, since the page may have left meanwhile. A frame that is waited for
//! gets no other page: who holds a page and waits for one that comes after it must not come to wait for one that comes
//! before it.

use super::{check, fails};
use shuttle::{
    sync::{
        Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};
use std::{collections::HashMap, ops::Deref};

/// A frame for each of the pages that threads hold at once, and one more.
const FRAMES: usize = 3;

/// The step of the protocol that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlantedFault {
    None,
    /// A frame that was waited for counts as the one that was looked up.
    TrustFrames,
    /// A frame that is waited for gets other pages.
    IgnoreWaiting,
}

/// A frame's state; the page's content is made of its number.
#[derive(Default)]
struct Content {
    key: Option<usize>,
    content: usize,
}

#[derive(Default)]
struct Frame {
    latch: RwLock<Content>,
    waiting: AtomicUsize,
}

struct Pool {
    table: Mutex<HashMap<usize, usize>>,
    frames: [Frame; FRAMES],
    /// The frame to take next.
    hand: Mutex<usize>,
    fault: PlantedFault,
}

/// The way to latch a frame: at once if that can be, or waiting.
trait Latch<'a>: Deref<Target = Content> + Sized {
    fn at_once(frame: &'a Frame) -> Option<Self>;
    fn waiting(frame: &'a Frame) -> Self;
}

impl<'a> Latch<'a> for RwLockReadGuard<'a, Content> {
    fn at_once(frame: &'a Frame) -> Option<Self> {
        frame.latch.try_read().ok()
    }
    fn waiting(frame: &'a Frame) -> Self {
        frame.latch.read().unwrap()
    }
}

impl<'a> Latch<'a> for RwLockWriteGuard<'a, Content> {
    fn at_once(frame: &'a Frame) -> Option<Self> {
        frame.latch.try_write().ok()
    }
    fn waiting(frame: &'a Frame) -> Self {
        frame.latch.write().unwrap()
    }
}

impl Pool {
    fn new(fault: PlantedFault) -> Arc<Pool> {
        let frames = [(); FRAMES].map(|()| Frame::default());
        Arc::new(Pool { table: Mutex::default(), frames, hand: Mutex::default(), fault })
    }

    fn fetch<'a, L: Latch<'a>>(&'a self, page: usize) -> L {
        loop {
            let table = self.table.lock().unwrap();
            let Some(frame) = table.get(&page).map(|at| &self.frames[*at]) else {
                drop(table);
                self.read(page);
                continue;
            };
            if let Some(latched) = L::at_once(frame) {
                return latched;
            }
            frame.waiting.fetch_add(1, SeqCst);
            drop(table);
            let latched = L::waiting(frame);
            frame.waiting.fetch_sub(1, SeqCst);
            if latched.key == Some(page) || self.fault == PlantedFault::TrustFrames {
                return latched;
            }
        }
    }

    fn is_waited_for(&self, at: usize) -> bool {
        self.fault != PlantedFault::IgnoreWaiting && self.frames[at].waiting.load(SeqCst) > 0
    }

    /// Brings a page in the place of one that nobody holds.
    fn read(&self, page: usize) {
        let at = {
            let mut hand = self.hand.lock().unwrap();
            *hand = (*hand + 1) % FRAMES;
            *hand
        };
        let Ok(mut frame) = self.frames[at].latch.try_write() else { return thread::yield_now() };
        if let Some(old) = frame.key.take() {
            self.table.lock().unwrap().remove(&old);
            frame.content = usize::MAX;
        }
        // From here on nobody finds the frame.
        if self.is_waited_for(at) {
            return;
        }
        let mut table = self.table.lock().unwrap();
        if table.contains_key(&page) {
            return;
        }
        table.insert(page, at);
        drop(table);
        *frame = Content { key: Some(page), content: page * 10 };
    }
}

fn run(fault: PlantedFault, threads: &[fn(&Pool)]) {
    let pool = Pool::new(fault);
    let threads: Vec<_> = threads
        .iter()
        .map(|work| {
            let (pool, work) = (Arc::clone(&pool), *work);
            thread::spawn(move || work(&pool))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn read(pool: &Pool, pages: [usize; 3]) {
    for page in pages {
        assert_eq!(pool.fetch::<RwLockReadGuard<'_, Content>>(page).content, page * 10);
    }
}

fn readers(fault: PlantedFault) {
    run(fault, &[|pool| read(pool, [0, 1, 2]), |pool| read(pool, [3, 4, 0]), |pool| read(pool, [2, 3, 1])]);
}

/// Latches a page, and then one that comes after it.
fn change(pool: &Pool, first: usize, second: usize) {
    let _first = pool.fetch::<RwLockWriteGuard<'_, Content>>(first);
    drop(pool.fetch::<RwLockWriteGuard<'_, Content>>(second));
}

fn writers(fault: PlantedFault) {
    run(fault, &[|pool| change(pool, 1, 2), |pool| change(pool, 0, 1), |pool| read(pool, [2, 3, 4])]);
}

#[test]
fn a_latched_frame_has_the_page_that_was_asked_for() {
    check(3000, || readers(PlantedFault::None));
    assert!(fails(3000, || readers(PlantedFault::TrustFrames)), "some thread must read another page");
}

#[test]
fn who_waits_for_a_page_does_not_come_to_wait_for_another() {
    check(10_000, || writers(PlantedFault::None));
    assert!(fails(10_000, || writers(PlantedFault::IgnoreWaiting)), "a deadlock");
}
