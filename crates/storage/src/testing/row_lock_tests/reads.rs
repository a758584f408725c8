//! What locking reads wait for, and what they deliver after it.

use super::{Bench, EXCLUSIVE, SHARED, between, int, row, waits, would_wait};
use crate::{LockingScan, StorageError, Waits, testing::kill::Kill};
use muster_types::KeyRange;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

#[test]
fn rows_are_delivered_in_the_order_of_the_index() {
    let bench = Bench::with(1..=300);
    let mut trx = bench.begin_nowait();
    assert_eq!(bench.lock(&mut trx, 0, 3, 5).unwrap(), [3, 4, 5]);
    assert_eq!(bench.lock(&mut trx, 1, 30, 50).unwrap(), [3, 4, 5]);
    assert_eq!(bench.lock(&mut trx, 2, 300, 500).unwrap(), [3, 4, 5]);
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let mut request = bench.request(index, vec![between(factor, 20 * factor), between(290 * factor, 301 * factor)]);
        let forward: Vec<i64> = (1..=20).chain(290..=300).collect();
        assert_eq!(bench.read(&mut trx, request.clone()).unwrap(), forward);
        request.reverse = true;
        assert_eq!(bench.read(&mut trx, request.clone()).unwrap(), forward.iter().rev().copied().collect::<Vec<_>>());
        request.ranges = vec![KeyRange::all()];
        assert_eq!(bench.read(&mut trx, request).unwrap(), (1..=300).rev().collect::<Vec<_>>());
    }
    // The transaction's own changes are part of it.
    bench.delete(&mut trx, 4).unwrap();
    bench.update(&mut trx, 5, &row(5, 35, 500)).unwrap();
    bench.insert(&mut trx, &row(400, 36, 300)).unwrap();
    assert_eq!(bench.lock(&mut trx, 1, 30, 50).unwrap(), [3, 5, 400]);
    assert_eq!(bench.lock(&mut trx, 2, 300, 500).unwrap(), [3, 400, 5]);
}

#[test]
fn a_read_waits_for_a_change_and_delivers_what_was_committed() {
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let bench = Arc::new(Bench::with(1..=5));
        let mut writer = bench.begin();
        bench.update(&mut writer, 2, &row(2, 22, 222)).unwrap();
        bench.delete(&mut writer, 3).unwrap();
        let reader = waits(&bench, move |bench| {
            let mut trx = bench.begin();
            bench.lock(&mut trx, index, factor, 4 * factor)
        });
        drop(writer.commit().unwrap());
        // Row 2 has gone from 20 to 22 in index 1, and from 200 to 222 in index 2: it is found in either place once.
        assert_eq!(reader.join().unwrap().unwrap(), [1, 2, 4], "index {index}");
    }
}

#[test]
fn a_read_waits_for_a_change_and_delivers_what_was_there_before_it_was_undone() {
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let bench = Arc::new(Bench::with(1..=5));
        let mut writer = bench.begin();
        bench.update(&mut writer, 2, &row(2, 22, 222)).unwrap();
        bench.delete(&mut writer, 3).unwrap();
        let reader = waits(&bench, move |bench| {
            let mut trx = bench.begin();
            bench.lock(&mut trx, index, factor, 4 * factor)
        });
        writer.roll_back().unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), [1, 2, 3, 4], "index {index}");
    }
}

/// The row left the range during the wait: what was read before the wait counts no more.
#[test]
fn a_row_that_does_not_make_its_entry_any_more_is_not_delivered() {
    for index in 1..3 {
        let factor = [1, 10, 100][index];
        let bench = Arc::new(Bench::with(1..=5));
        let mut writer = bench.begin();
        bench.update(&mut writer, 2, &row(2, 9999, 9999)).unwrap();
        let reader = waits(&bench, move |bench| {
            let mut trx = bench.begin();
            bench.lock(&mut trx, index, factor, 4 * factor)
        });
        drop(writer.commit().unwrap());
        assert_eq!(reader.join().unwrap().unwrap(), [1, 3, 4], "index {index}");
    }
}

/// A writer that waits computes from the newest version, not from the one that it met first: no update is lost.
#[test]
fn a_writer_that_waits_reads_the_row_anew() {
    let bench = Arc::new(Bench::with(1..=2));
    let mut first = bench.begin();
    let read = bench.table.lock_row(&mut first, 0, &[int(1)], EXCLUSIVE, &bench.counters).unwrap().unwrap();
    assert_eq!(read, row(1, 10, 100));
    let second = waits(&bench, |bench| {
        let mut trx = bench.begin();
        let read = bench.table.lock_row(&mut trx, 1, &[int(10)], EXCLUSIVE, &bench.counters).unwrap().unwrap();
        drop(trx.commit().unwrap());
        read
    });
    bench.update(&mut first, 1, &row(1, 10, 101)).unwrap();
    drop(first.commit().unwrap());
    assert_eq!(second.join().unwrap(), row(1, 10, 101));
}

#[test]
fn shared_locks_go_together_and_keep_writers_out() {
    let bench = Bench::with(1..=3);
    let (mut a, mut b, mut c) = (bench.begin_nowait(), bench.begin_nowait(), bench.begin_nowait());
    let counters = &bench.counters;
    assert!(bench.table.lock_row(&mut a, 0, &[int(1)], SHARED, counters).unwrap().is_some());
    assert!(bench.table.lock_row(&mut b, 1, &[int(10)], SHARED, counters).unwrap().is_some());
    assert!(bench.table.lock_row(&mut b, 1, &[int(11)], SHARED, counters).unwrap().is_none());
    assert!(would_wait(bench.table.lock_row(&mut c, 0, &[int(1)], EXCLUSIVE, counters)));
    assert!(would_wait(bench.update(&mut c, 1, &row(1, 10, 5))));
    assert!(would_wait(bench.delete(&mut c, 1)));
    assert!(bench.delete(&mut c, 2).unwrap());
}

#[test]
fn locked_rows_can_be_skipped() {
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let bench = Bench::with(1..=6);
        let (mut writer, mut holder) = (bench.begin_nowait(), bench.begin_nowait());
        bench.update(&mut writer, 2, &row(2, 20, 7)).unwrap();
        bench.delete(&mut writer, 4).unwrap();
        bench.table.lock_row(&mut holder, 0, &[int(5)], EXCLUSIVE, &bench.counters).unwrap();
        let mut request = bench.request(index, vec![between(factor, 6 * factor)]);
        (request.skip_locked, request.gaps) = (true, false);
        let mut reader = bench.begin_nowait();
        assert_eq!(bench.read(&mut reader, request.clone()).unwrap(), [1, 3, 6], "index {index}");
        request.skip_locked = false;
        assert!(would_wait(bench.read(&mut reader, request)));
        // What was skipped is not locked.
        let mut other = bench.begin_nowait();
        drop(holder.commit().unwrap());
        assert!(bench.table.lock_row(&mut other, 0, &[int(5)], EXCLUSIVE, &bench.counters).unwrap().is_some());
    }
}

/// READ COMMITTED: rows that do not match are free at once, those that do are not, and gaps are.
#[test]
fn rows_that_do_not_match_can_be_unlocked() {
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let bench = Bench::with(1..=4);
        let mut request = bench.request(index, vec![between(factor, 4 * factor)]);
        request.gaps = false;
        let mut scan = LockingScan::new(&bench.table, request).unwrap();
        let mut trx = bench.begin_nowait();
        // A lock that it had before is not released.
        bench.table.lock_row(&mut trx, 0, &[int(3)], EXCLUSIVE, &bench.counters).unwrap();
        while let Some(found) = scan.next(&mut trx, &bench.counters).unwrap() {
            if found[0] != int(2) {
                scan.unlock_last(&mut trx);
            }
        }
        let mut other = bench.begin_nowait();
        let mut is_free = |id| !would_wait(bench.table.lock_row(&mut other, 0, &[int(id)], SHARED, &bench.counters));
        assert_eq!([1, 2, 3, 4].map(&mut is_free), [true, false, false, true], "index {index}");
        bench.insert(&mut bench.begin_nowait(), &row(0, 25, 250)).unwrap();
    }
}

/// A row that a transaction has changed needs no place in the lock table as long as nobody waits for it: a transaction
/// may change more rows than there is memory for locks.
#[test]
fn changed_rows_take_little_memory_for_locks() {
    const ROWS: i64 = 20_000;
    let bench = Arc::new(Bench::with(1..=ROWS));
    let mut trx = bench.begin();
    for id in 4..=ROWS {
        assert!(bench.update(&mut trx, id, &row(id, 10 * id + 1, 100 * id)).unwrap());
    }
    let kept = bench.home.store.locks().locks().len();
    assert!(kept > 0 && kept < 4000, "{kept} locks, in a quarter of the half of 4 MiB");
    bench.update(&mut trx, 1, &row(1, 11, 101)).unwrap();
    bench.delete(&mut trx, 2).unwrap();
    bench.insert(&mut trx, &row(ROWS + 1, 0, 0)).unwrap();
    assert_eq!(bench.home.store.locks().locks().len(), kept);
    // A row that stays as it is has only its lock.
    bench.update(&mut trx, 3, &row(3, 30, 300)).unwrap();
    assert_eq!(bench.home.store.locks().locks().len(), kept + 1);
    let others = [1, 2, 3, ROWS, ROWS + 1].map(|id| would_wait(bench.delete(&mut bench.begin_nowait(), id)));
    assert_eq!(others, [true; 5]);
    let waiting = waits(&bench, |bench| bench.delete(&mut bench.begin(), 1).unwrap());
    drop(trx.commit().unwrap());
    assert!(waiting.join().unwrap());
    assert_eq!(bench.home.store.locks().locks(), []);
}

#[test]
fn a_wait_ends_by_its_time_or_by_kill() {
    let bench = Arc::new(Bench::with(1..=2));
    let mut holder = bench.begin();
    bench.update(&mut holder, 1, &row(1, 10, 0)).unwrap();
    let mut trx = bench.begin();
    let timeout = Duration::from_millis(100);
    trx.set_waits(Waits::for_time(timeout));
    let begun = Instant::now();
    assert!(matches!(bench.delete(&mut trx, 1), Err(StorageError::LockTimeout)));
    assert!(begun.elapsed() >= timeout);
    let kill = Kill::default();
    let waiting = {
        let kill = kill.clone();
        waits(&bench, move |bench| {
            let mut trx = bench.begin();
            trx.set_waits(kill.waits(Duration::from_secs(60)));
            bench.lock(&mut trx, 1, 0, 100)
        })
    };
    kill.kill();
    assert!(matches!(waiting.join().unwrap(), Err(StorageError::Interrupted)));
    // The transaction is alive after the timeout.
    assert!(bench.delete(&mut trx, 2).unwrap());
}

#[test]
fn the_transaction_that_changed_less_is_the_victim() {
    let bench = Arc::new(Bench::with(1..=9));
    let (mut more, mut less) = (bench.begin(), bench.begin());
    for id in 1..=3 {
        bench.update(&mut more, id, &row(id, 10 * id, 0)).unwrap();
    }
    bench.update(&mut less, 9, &row(9, 90, 0)).unwrap();
    let victim = waits(&bench, move |bench| {
        let outcome = bench.delete(&mut less, 1);
        assert!(matches!(outcome, Err(StorageError::Deadlock)), "{outcome:?}");
        less.roll_back().unwrap();
    });
    assert!(bench.delete(&mut more, 9).unwrap());
    victim.join().unwrap();
    drop(more.commit().unwrap());
    assert!(bench.seen(9).is_none() && bench.seen(1).is_some());
    assert_eq!(bench.home.store.locks().latest_deadlock().unwrap().parties.len(), 2);
}
