//! Gaps that were read stay as they were, and others need not.

use super::{Bench, between, check, int, row, waits, would_wait};
use crate::{locks::PlantedFault, testing::random::Random};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn what_was_read_gets_no_new_rows() {
    for index in 0..3 {
        for reverse in [false, true] {
            let factor = [1, 10, 100][index];
            let bench = Bench::with([10, 20, 30, 40]);
            let mut reader = bench.begin_nowait();
            let mut request = bench.request(index, vec![between(15 * factor, 30 * factor)]);
            request.reverse = reverse;
            bench.read(&mut reader, request).unwrap();
            let is_free = |id: i64| {
                let others = [row(id, 9999, 9999), row(id + 1000, id * 10, 9999), row(id + 2000, 8888, id * 100)];
                !would_wait(bench.insert(&mut bench.begin_nowait(), &others[index]))
            };
            let free = [5, 11, 15, 25, 31, 39, 41].map(is_free);
            // The gap from 10 to 20 and the one from 30 to 40 are locked as wholes: the range begins and ends in them.
            assert_eq!(free, [true, false, false, false, false, false, true], "index {index}, reverse: {reverse}");
            assert!(is_free(45));
        }
    }
}

#[test]
fn a_search_that_finds_nothing_locks_the_gap() {
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let bench = Bench::with([10, 20]);
        let mut reader = bench.begin_nowait();
        assert!(bench.lock(&mut reader, index, 15 * factor, 15 * factor).unwrap().is_empty());
        let insert = |id| bench.insert(&mut bench.begin_nowait(), &row(id, id * 10, id * 100));
        assert!(would_wait(insert(15)) && would_wait(insert(11)) && !would_wait(insert(21)) && !would_wait(insert(9)));
        // The neighbours themselves are free.
        assert!(bench.update(&mut bench.begin_nowait(), 20, &row(20, 200, 7)).unwrap() || index == 2);
    }
}

/// A whole unique key that is found leaves the gaps beside it open; one that is not unique does not.
#[test]
fn a_unique_key_that_is_found_locks_its_row_alone() {
    for (index, open) in [(0, true), (1, true), (2, false)] {
        let factor = [1, 10, 100][index];
        let bench = Bench::with([10, 20, 30]);
        let mut reader = bench.begin_nowait();
        assert_eq!(bench.lock(&mut reader, index, 20 * factor, 20 * factor).unwrap(), [20]);
        for id in [19, 21] {
            assert_eq!(!would_wait(bench.insert(&mut bench.begin_nowait(), &row(id, id * 10, id * 100))), open);
        }
        assert!(would_wait(bench.delete(&mut bench.begin_nowait(), 20)));
    }
}

/// A row that is gone, but not purged, is an end of gaps too: nobody puts it back.
#[test]
fn a_row_that_was_deleted_does_not_come_back() {
    for index in 0..3 {
        let factor = [1, 10, 100][index];
        let bench = Bench::with([10, 20, 30]);
        let view = bench.home.store.read_view();
        let mut trx = bench.begin_nowait();
        bench.delete(&mut trx, 20).unwrap();
        drop(trx.commit().unwrap());
        let mut reader = bench.begin_nowait();
        assert!(bench.lock(&mut reader, index, 20 * factor, 20 * factor).unwrap().is_empty());
        for id in [20, 19, 21] {
            assert!(would_wait(bench.insert(&mut bench.begin_nowait(), &row(id, id * 10, id * 100))), "{index} {id}");
        }
        drop(view);
        bench.home.store.purge().unwrap();
        for id in [20, 19, 21] {
            assert!(would_wait(bench.insert(&mut bench.begin_nowait(), &row(id, id * 10, id * 100))), "{index} {id}");
        }
    }
}

#[test]
fn an_insert_goes_on_when_the_gap_is_free() {
    let bench = Arc::new(Bench::with([10, 20]));
    let mut reader = bench.begin();
    bench.lock(&mut reader, 2, 1200, 1300).unwrap();
    let writer = waits(&bench, |bench| {
        let mut trx = bench.begin();
        bench.insert(&mut trx, &row(15, 150, 1500)).unwrap();
        drop(trx.commit().unwrap());
    });
    assert!(bench.lock(&mut reader, 2, 1200, 1800).unwrap().is_empty());
    drop(reader.commit().unwrap());
    writer.join().unwrap();
    assert_eq!(bench.newest(), [10, 15, 20]);
    check(&bench);
}

/// Many leaves, of which entries come and go: the reader's own inserts split gaps that it has locked, and rows that
/// others delete and purge join them. At every step nobody can add a row to what was read, and everybody can elsewhere.
fn gaps_stay_locked(seed: u64, fault: Option<PlantedFault>) {
    let bench = Bench::with((0..400).map(|n| n * 10));
    if let Some(fault) = fault {
        bench.home.store.locks().plant(fault);
    }
    let mut random = Random(seed);
    for round in 0..3 {
        let index = random.below(3);
        let factor = [1, 10, 100][index];
        let mut reader = bench.begin_nowait();
        let from = random.below(3000) as i64;
        let to = from + 20 + random.below(900) as i64;
        // Rows that go make the gaps at both ends longer, some of them while nobody has purged them yet.
        let mut gone = bench.begin_nowait();
        let view = bench.home.store.read_view();
        for id in (from / 10 * 10 - 200..to + 200).step_by(10).filter(|_| random.one_in(3)) {
            bench.delete(&mut gone, id).unwrap();
        }
        drop(gone.commit().unwrap());
        let found = bench.lock(&mut reader, index, from * factor, to * factor).unwrap();
        drop(view);
        let mut own = Vec::new();
        for step in 0..60 {
            let id = from + random.below((to - from) as usize) as i64;
            match random.below(3) {
                // The reader's own row splits a gap.
                0 if id % 10 != 0 && !bench.newest().contains(&id) => {
                    bench.insert(&mut reader, &row(id, 10 * id, 100 * id)).unwrap();
                    own.push(id);
                }
                1 => bench.home.store.purge().unwrap(),
                // Another transaction tries to come in between.
                _ => {
                    let mut other = bench.begin_nowait();
                    let unlike = 1_000_000 + step;
                    let new = match index {
                        0 => row(id, unlike, unlike),
                        1 => row(unlike, 10 * id, unlike),
                        _ => row(unlike, unlike, 100 * id),
                    };
                    assert!(
                        would_wait(bench.insert(&mut other, &new)),
                        "{seed} {round}: a phantom {id} in {from}..{to}"
                    );
                }
            }
        }
        let mut outside = bench.begin_nowait();
        let far = if from > 1500 { -1 } else { 8000 };
        bench.insert(&mut outside, &row(far, 10 * far, 100 * far)).unwrap();
        drop(outside);
        let mut expected: Vec<i64> = found.iter().chain(&own).copied().collect();
        expected.sort_unstable();
        assert_eq!(bench.lock(&mut reader, index, from * factor, to * factor).unwrap(), expected);
        if random.one_in(2) {
            drop(reader.commit().unwrap());
        } else {
            reader.roll_back().unwrap();
        }
    }
    check(&bench);
}

#[test]
fn gaps_stay_locked_while_entries_come_and_go() {
    (0..12).for_each(|seed| gaps_stay_locked(seed, None));
}

/// A planted fault must turn a test red.
#[test]
fn a_gap_that_is_not_inherited_is_found() {
    for fault in [PlantedFault::SplitUnlocked, PlantedFault::JoinUnlocked] {
        let finds = |seed| catch_unwind(AssertUnwindSafe(|| gaps_stay_locked(seed, Some(fault)))).is_err();
        assert!((0..12).any(finds), "{fault:?}");
    }
}

#[test]
fn a_row_that_is_not_tested_again_is_found() {
    let bench = Arc::new(Bench::with(1..=5));
    bench.home.store.locks().plant(PlantedFault::TrustEntries);
    // Purge leaves the entry for this view.
    let _view = bench.home.store.read_view();
    let mut writer = bench.begin();
    bench.update(&mut writer, 2, &row(2, 9999, 200)).unwrap();
    let reader = waits(&bench, |bench| {
        let mut trx = bench.begin();
        bench.table.lock_row(&mut trx, 1, &[int(20)], super::EXCLUSIVE, &bench.counters).unwrap()
    });
    drop(writer.commit().unwrap());
    assert!(reader.join().unwrap().is_some(), "the fault shows");
}
