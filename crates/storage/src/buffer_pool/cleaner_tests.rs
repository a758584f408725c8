//! The cleaner beside readers and writers: who writes, when, and what happens when that fails.

use super::{write_fixtures::*, *};
use crate::{
    io::simulated::{DiskFault, FaultKind, Operation},
    page::PageHeader,
};
use std::{
    sync::atomic::Ordering::SeqCst,
    thread,
    time::{Duration, Instant},
};

fn wait_until(what: &str, reached: impl Fn() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_cleaner_keeps_the_share_of_dirty_pages() {
    let f = fixture();
    f.pool.set_dirty_max(10);
    let before = f.pool.statistics().flushed;
    change_each(&f, 1..=10);
    thread::sleep(Duration::from_millis(20));
    assert_eq!((f.pool.statistics().dirty, f.pool.statistics().flushed), (10, before));
    change(&f, 11);
    wait_until("the eleventh dirty page is one too many", || f.pool.statistics().dirty <= 10);
    assert_eq!(dirty_pages(&f), (2..=11).collect::<Vec<_>>(), "the oldest one is written");
}

#[test]
fn pages_are_cleaned_in_the_order_of_their_first_change() {
    let f = fixture();
    let log = Arc::new(FakeLog { end: AtomicU64::new(512), ..FakeLog::default() });
    f.pool.set_page_log(Arc::clone(&log) as _);
    for page_no in [9, 3, 7, 9, 3, 1] {
        logged_change(&f, &log, page_no);
    }
    assert_eq!(f.pool.redo_start(), 512);
    // The groups of pages 9 and 3 begin at 512 and 520.
    assert_eq!(f.pool.flush_before(528, &f.counters).unwrap(), 528);
    assert_eq!(dirty_pages(&f), [1, 7]);
    assert_eq!(f.pool.flush_before(u64::MAX, &f.counters).unwrap(), 560, "the end of the log");
    logged_change(&f, &log, 2);
    logged_change(&f, &log, 4);
    f.pool.set_dirty_max(FRAMES);
    f.pool.clean_before(568);
    wait_until("the cleaner writes what the log asks for", || f.pool.redo_start() >= 568);
}

/// Whoever reads finds clean frames, and waits for the cleaner if there are none; only its thread writes.
#[test]
fn no_reader_writes() {
    let f = fixture();
    f.pool.set_dirty_max(FRAMES);
    let strangers = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&strangers);
    f.io.on_write(move |_| {
        let is_cleaner = thread::current().name() == Some(cleaner::THREAD_NAME);
        seen.fetch_add(u64::from(!is_cleaner), SeqCst);
    });
    for round in 1..20 {
        for page_no in 1..=FRAMES as u32 {
            assert_eq!(change(&f, page_no), round);
        }
        (FRAMES as u32 + 1..=PAGES).for_each(|p| f.check(p));
    }
    assert!(f.pool.statistics().flushed > 100, "{:?}", f.pool.statistics());
    assert_eq!(strangers.load(SeqCst), 0);
    f.pool.flush_all(&f.counters).unwrap();
    f.check_frames();
}

/// Writers and readers share a pool that is too small with the cleaner and with somebody who flushes.
#[test]
fn writers_readers_and_the_cleaner_lose_nothing() {
    let f = fixture();
    f.pool.set_dirty_max(4);
    let log = Arc::new(FakeLog { end: AtomicU64::new(512), ..FakeLog::default() });
    f.pool.set_page_log(Arc::clone(&log) as _);
    let durable = Arc::clone(&log);
    let early = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&early);
    f.io.on_write(move |bytes| {
        let ahead = bytes.chunks_exact(SIZE).any(|page| PageHeader(page).lsn() > durable.durable.load(SeqCst));
        seen.fetch_add(u64::from(ahead), SeqCst);
    });
    let expected: Vec<AtomicU64> = (0..=PAGES).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for t in 0..4u64 {
            let (f, log, expected) = (&f, &log, &expected);
            scope.spawn(move || {
                let mut x = 0x9E37_79B9_7F4A_7C15 ^ (t << 40);
                for i in 0..3000 {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    let page_no = (x % u64::from(PAGES)) as u32 + 1;
                    match x >> 40 & 3 {
                        0 | 1 => {
                            logged_change(f, log, page_no);
                            expected[page_no as usize].fetch_add(1, SeqCst);
                        }
                        2 if i % 64 == 0 => f.pool.flush_all(&f.counters).unwrap(),
                        _ => drop(count(&f.get(page_no).unwrap())),
                    }
                }
            });
        }
    });
    f.pool.flush_all(&f.counters).unwrap();
    f.pool.discard_file(&f.file);
    for page_no in 1..=PAGES {
        assert_eq!(count(&f.get(page_no).unwrap()), expected[page_no as usize].load(SeqCst), "page {page_no}");
    }
    assert_eq!(early.load(SeqCst), 0, "pages that were written before their log");
    f.check_frames();
}

#[test]
fn what_cannot_be_written_stays_dirty_and_is_tried_again() {
    for code in [libc::ENOSPC, libc::EIO] {
        let f = fixture();
        f.pool.set_dirty_max(3);
        f.io.inject(DiskFault { on: Operation::Write, after: 0, kind: FaultKind::Error(code), forever: true });
        change_each(&f, 1..=8);
        let failures = || f.pool.counters.page_write_failures();
        wait_until("the cleaner tries again and again", || failures() > 3);
        assert_eq!(dirty_pages(&f), (1..=8).collect::<Vec<_>>());
        // Clean pages can be read, and pages that are in memory can be changed.
        (20..=PAGES).for_each(|p| f.check(p));
        assert_eq!(change(&f, 8), 2);
        f.io.clear_faults();
        wait_until("work goes on", || f.pool.statistics().dirty <= 3);
        f.pool.flush_all(&f.counters).unwrap();
        f.pool.discard_file(&f.file);
        assert_eq!((count(&f.get(7).unwrap()), count(&f.get(8).unwrap())), (1, 2));
    }
}

#[test]
fn who_needs_a_frame_is_told_why_there_is_none() {
    let f = fixture();
    f.pool.set_frame_wait_ms(20);
    f.pool.set_dirty_max(FRAMES);
    f.io.inject(DiskFault { on: Operation::Write, after: 0, kind: FaultKind::Error(libc::ENOSPC), forever: true });
    change_each(&f, 1..=FRAMES as u32);
    assert!(matches!(f.get(PAGES), Err(StorageError::DiskFull { .. })));
    assert!(f.counters.frame_waits() > 0);
    f.io.clear_faults();
    f.pool.set_frame_wait_ms(5000);
    f.check(PAGES);
    f.check_frames();
}

#[test]
fn a_full_disk_is_told_at_once_and_so_is_its_end() {
    let f = fixture();
    let minute = 60_000;
    f.pool.set_frame_wait_ms(minute);
    f.pool.set_cleaner_retry_ms(minute);
    f.pool.set_dirty_max(FRAMES);
    f.io.inject(DiskFault { on: Operation::Write, after: 0, kind: FaultKind::Error(libc::ENOSPC), forever: true });
    change_each(&f, 1..=FRAMES as u32);
    let start = Instant::now();
    for _ in 0..3 {
        assert!(matches!(f.get(PAGES), Err(StorageError::DiskFull { .. })));
    }
    f.io.clear_faults();
    f.check(PAGES);
    assert!(start.elapsed() < Duration::from_millis(minute / 4), "{:?}", start.elapsed());
    f.check_frames();
}

#[test]
fn a_store_that_is_closed_is_not_written_to() {
    let f = fixture();
    f.pool.set_dirty_max(0);
    change_each(&f, 1..=8);
    f.pool.stop_cleaner();
    let operations = f.io.operations();
    change_each(&f, 9..=16);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(f.io.operations(), operations);
}
