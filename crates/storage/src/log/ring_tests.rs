//! The ring with many threads.

use super::ring::Ring;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

#[test]
fn bytes_come_out_as_they_went_in_across_the_end() {
    let ring = Ring::new(64);
    for at in (0..640).step_by(24) {
        let group: Vec<u8> = (0..24).map(|i| (at + i) as u8 | 1).collect();
        assert!(!ring.is_complete(at));
        ring.put(at, &group);
        assert!(ring.is_complete(at));
        let mut out = [0; 24];
        ring.copy(at, &mut out);
        assert_eq!(out, *group);
        ring.clear(at, 24);
    }
}

/// Threads put groups of two to nine words, one takes them out: whole, once each, and those of one thread in its order.
#[test]
fn groups_of_many_threads_come_out_whole() {
    const THREADS: u64 = 8;
    const EACH: u64 = 20_000;
    let ring = Ring::new(4096);
    let (reserved, limit) = (AtomicU64::new(0), AtomicU64::new(4096));
    let taken = thread::scope(|scope| {
        for t in 0..THREADS {
            let (ring, reserved, limit) = (&ring, &reserved, &limit);
            scope.spawn(move || {
                for i in 0..EACH {
                    let words = 2 + (i + t) % 8;
                    let at = reserved.fetch_add(8 * words, Ordering::SeqCst);
                    while at + 8 * words > limit.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    let mut group = words.to_le_bytes().to_vec();
                    (1..words).for_each(|_| group.extend_from_slice(&(t << 32 | i).to_le_bytes()));
                    ring.put(at, &group);
                }
            });
        }
        scope
            .spawn(|| {
                let (mut at, mut next) = (0, [0; THREADS as usize]);
                while next.iter().sum::<u64>() < THREADS * EACH {
                    if !ring.is_complete(at) {
                        thread::yield_now();
                        continue;
                    }
                    let mut words = [0; 8];
                    ring.copy(at, &mut words);
                    let mut group = vec![0; 8 * u64::from_le_bytes(words) as usize];
                    ring.copy(at, &mut group);
                    let words: Vec<u64> = group.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                    let (thread, number) = ((words[1] >> 32) as usize, words[1] & 0xFFFF_FFFF);
                    assert!(words[1..].iter().all(|word| *word == words[1]));
                    assert_eq!(number, next[thread]);
                    next[thread] += 1;
                    ring.clear(at, group.len() as u64);
                    at += group.len() as u64;
                    limit.store(at + 4096, Ordering::Release);
                }
                at
            })
            .join()
            .unwrap()
    });
    assert_eq!(taken, reserved.load(Ordering::SeqCst));
}
