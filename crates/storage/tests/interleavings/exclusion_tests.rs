//! The lock of readers and writers: never both are inside, nobody is left waiting.

use super::{
    check,
    exclusion::{Exclusion, Side},
};
use shuttle::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    thread,
};

#[derive(Default)]
struct Shared {
    lock: Exclusion,
    /// Writers inside; readers inside count below zero.
    inside: AtomicI64,
    /// Most of each that were inside at once.
    most: [AtomicI64; 2],
}

impl Shared {
    fn visit(&self, side: Side) {
        let (one, most) = match side {
            Side::Readers => (-1, &self.most[0]),
            Side::Writers => (1, &self.most[1]),
        };
        let before = self.inside.fetch_add(one, SeqCst);
        assert!(before * one >= 0, "a reader and a writer at once");
        most.fetch_max((before + one).abs(), SeqCst);
        thread::yield_now();
        self.inside.fetch_sub(one, SeqCst);
    }
}

fn run(threads: &[(Side, usize)]) -> Arc<Shared> {
    let shared = Arc::new(Shared::default());
    let threads: Vec<_> = threads
        .iter()
        .map(|&(side, times)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..times {
                    let _inside = shared.lock.enter(side);
                    shared.visit(side);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    shared
}

#[test]
fn readers_and_writers_exclude_each_other_and_nobody_is_left_waiting() {
    check(3000, || {
        run(&[(Side::Writers, 2), (Side::Readers, 2), (Side::Writers, 1), (Side::Readers, 1)]);
    });
}

/// Writers are inside together in some interleaving, and so are readers.
#[test]
fn each_side_shares_the_lock() {
    static MOST: [std::sync::atomic::AtomicI64; 2] = [const { std::sync::atomic::AtomicI64::new(0) }; 2];
    check(300, || {
        let shared = run(&[(Side::Writers, 1), (Side::Readers, 1), (Side::Writers, 1), (Side::Readers, 1)]);
        for (all, most) in MOST.iter().zip(&shared.most) {
            all.fetch_max(most.load(SeqCst), SeqCst);
        }
    });
    assert_eq!([0, 1].map(|side: usize| MOST[side].load(SeqCst)), [2, 2]);
}

/// A reader that is inside enters again although a writer waits.
#[test]
fn a_reader_enters_again() {
    check(1000, || {
        let lock = Arc::new(Exclusion::default());
        let writer = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || drop(lock.enter(Side::Writers)))
        };
        let outer = lock.enter(Side::Readers);
        drop(lock.enter(Side::Readers));
        assert!(lock.try_enter(Side::Writers).is_none());
        assert!(lock.try_enter(Side::Readers).is_some());
        drop(outer);
        writer.join().unwrap();
    });
}
