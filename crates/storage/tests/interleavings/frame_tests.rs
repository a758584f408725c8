//! A model of the buffer pool's frames: who finds a page in the table latches its frame without the table's lock if it must
//! wait, and looks at the frame's key again, since the page may have left meanwhile.

use super::{check, fails};
use shuttle::{
    sync::{Arc, Mutex, RwLock, RwLockReadGuard, TryLockError},
    thread,
};
use std::collections::HashMap;

const FRAMES: usize = 2;

/// What a frame holds; the page's content is made of its number.
#[derive(Default)]
struct Frame {
    key: Option<usize>,
    content: usize,
}

struct Pool {
    table: Mutex<HashMap<usize, usize>>,
    frames: [RwLock<Frame>; FRAMES],
    /// The frame to take next.
    hand: Mutex<usize>,
    /// The planted fault: a frame that was waited for counts as the one that was looked up.
    trusts_frames: bool,
}

impl Pool {
    fn new(trusts_frames: bool) -> Arc<Pool> {
        let frames = [(); FRAMES].map(|()| RwLock::default());
        Arc::new(Pool { table: Mutex::default(), frames, hand: Mutex::default(), trusts_frames })
    }

    fn fetch(&self, page: usize) -> RwLockReadGuard<'_, Frame> {
        loop {
            let table = self.table.lock().unwrap();
            if let Some(frame) = table.get(&page).copied() {
                match self.frames[frame].try_read() {
                    Ok(guard) => return guard,
                    Err(TryLockError::WouldBlock) => drop(table),
                    Err(TryLockError::Poisoned(_)) => panic!("poisoned"),
                }
                let guard = self.frames[frame].read().unwrap();
                if guard.key == Some(page) || self.trusts_frames {
                    return guard;
                }
            } else {
                drop(table);
                self.read(page);
            }
        }
    }

    /// Brings a page in the place of one that nobody holds.
    fn read(&self, page: usize) {
        let at = {
            let mut hand = self.hand.lock().unwrap();
            *hand = (*hand + 1) % FRAMES;
            *hand
        };
        let Ok(mut frame) = self.frames[at].try_write() else { return thread::yield_now() };
        if let Some(old) = frame.key.take() {
            self.table.lock().unwrap().remove(&old);
        }
        let mut table = self.table.lock().unwrap();
        if table.contains_key(&page) {
            return;
        }
        table.insert(page, at);
        drop(table);
        *frame = Frame { key: Some(page), content: page * 10 };
    }
}

fn run(trusts_frames: bool) {
    let pool = Pool::new(trusts_frames);
    let threads: Vec<_> = [[0, 1], [1, 2], [2, 0]]
        .into_iter()
        .map(|pages| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                for page in pages {
                    assert_eq!(pool.fetch(page).content, page * 10);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_latched_frame_has_the_page_that_was_asked_for() {
    check(3000, || run(false));
    assert!(fails(3000, || run(true)), "without another look at the key some thread must read another page");
}
