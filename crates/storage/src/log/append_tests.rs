use super::*;
use crate::{
    StorageError,
    io::{
        Disk,
        simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    },
    log::{
        FlushAtCommit,
        fixtures::{Fixture, Stepped, group_of, groups_of},
        geometry::SEGMENT_MIN,
        group::group_bytes,
    },
};
use std::{
    sync::atomic::{AtomicBool, AtomicU64},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

fn fixture() -> (Arc<SimulatedDisk>, Fixture) {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = Fixture::new(Arc::clone(&disk) as _);
    fixture.create().unwrap();
    (disk, fixture)
}

fn append(log: &Log, payload: &[u8]) -> Range<Lsn> {
    let mut group = group_of(payload);
    let mut room = log.reserve(group.bytes()).unwrap();
    log.append(&mut group, &mut room)
}

/// A thread that takes a checkpoint whenever one is wanted.
fn with_checkpoints<R>(log: &Log, work: impl FnOnce() -> R) -> R {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                if log.wait_for_pressure(Duration::from_millis(5)) {
                    let end = log.current();
                    log.checkpoint(end, end, 1).unwrap();
                }
            }
        });
        let result = work();
        ended.store(true, Ordering::Relaxed);
        result
    })
}

/// Eight threads append and commit while checkpoints free segments. At some moments the power goes: all that was told
/// committed before is there, in the order of each thread.
#[test]
fn commits_of_many_threads_survive_a_power_cut() {
    const THREADS: usize = 8;
    let (disk, fixture) = fixture();
    let log = fixture
        .recovery()
        .unwrap()
        .start(crate::log::LogOptions { throttle: Duration::from_secs(60), ..fixture.options() });
    let log = log.unwrap();
    let committed: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::default()).collect();
    let enough = AtomicBool::new(false);
    let left = with_checkpoints(&log, || {
        thread::scope(|scope| {
            let (log, enough) = (&log, &enough);
            for (t, committed) in committed.iter().enumerate() {
                scope.spawn(move || {
                    for i in 1u64.. {
                        if enough.load(Ordering::Relaxed) {
                            break;
                        }
                        let bytes = [8, 40, 900][(i % 3) as usize];
                        let mut payload = [(t as u64).to_le_bytes(), i.to_le_bytes()].concat();
                        payload.resize(16 + bytes, t as u8);
                        let place = append(log, &payload);
                        if i % 10 == t as u64 {
                            log.wait_durable(place.end).unwrap();
                            committed.store(i, Ordering::SeqCst);
                        }
                    }
                });
            }
            let mut left = Vec::new();
            while left.len() < 6 || log.status().segments_recycled == 0 {
                let before: Vec<u64> = committed.iter().map(|count| count.load(Ordering::SeqCst)).collect();
                left.push((before, disk.after_power_cut(left.len() as u64)));
                thread::sleep(Duration::from_millis(5));
            }
            enough.store(true, Ordering::Relaxed);
            left
        })
    });
    assert!(committed.iter().all(|count| count.load(Ordering::SeqCst) > 0));
    for (before, disk) in left {
        let fixture = Fixture::new(Arc::new(disk) as _);
        let recovery = fixture.recovery().unwrap();
        let redo = recovery.checkpoint().redo;
        let mut last = [0; THREADS];
        let found = groups_of(&recovery);
        for (_, payload) in &found {
            let (t, i) = (crate::page::u64_at(payload, 0) as usize, crate::page::u64_at(payload, 8));
            assert!(last[t] == 0 || i == last[t] + 1, "thread {t}: {i} after {}", last[t]);
            last[t] = i;
        }
        for t in 0..THREADS {
            // Groups before the checkpoint are not read.
            assert!(last[t] >= before[t] || last[t] == 0 && redo > 512, "thread {t}: {} of {}", last[t], before[t]);
        }
    }
}

#[test]
fn a_record_is_read_by_its_position_wherever_it_is() {
    let (_, fixture) = fixture();
    let log = fixture.log();
    let mut group = group_of(b"first");
    let second = group.push(9, crate::FileId(3), 4, b"second");
    let mut room = log.reserve(group.bytes()).unwrap();
    let place = log.append(&mut group, &mut room);
    let read = || log.read(place.start + second, |r| (r.kind, r.file.0, r.page, r.payload.to_vec())).unwrap();
    assert_eq!(read(), (9, 3, 4, b"second".to_vec()), "not written yet");
    log.wait_durable(place.end).unwrap();
    assert_eq!(read(), (9, 3, 4, b"second".to_vec()), "in the ring");
    for _ in 0..100 {
        let end = append(&log, &[5; 2000]).end;
        log.wait_durable(end).unwrap();
    }
    assert!(log.shared.history.load(Ordering::SeqCst) > place.end, "the ring has gone on");
    assert_eq!(read(), (9, 3, 4, b"second".to_vec()), "in the file");
    for lsn in [0, 7, place.start, place.start + 40, place.end - 8, log.current(), log.current() + 4096, 1 << 60] {
        let e = log.read(lsn, |_| ()).unwrap_err();
        assert!(matches!(e, StorageError::DamagedLog { .. }), "{lsn}: {e}");
    }
}

#[test]
fn a_commit_waits_for_what_the_setting_says() {
    let (disk, fixture) = fixture();
    let options = crate::log::LogOptions { flush_interval: Duration::from_secs(3600), ..fixture.options() };
    let log = fixture.recovery().unwrap().start(options).unwrap();
    let place = append(&log, b"x");
    log.wait_committed(place.end, FlushAtCommit::Nothing).unwrap();
    assert_eq!((log.flushed(), log.status().os_log_fsyncs), (place.start, 0));
    log.wait_committed(place.end, FlushAtCommit::Written).unwrap();
    assert_eq!((log.flushed(), log.status().os_log_fsyncs), (place.start, 0));
    assert_eq!(groups_of(&Fixture::new(Arc::new(disk.only_synced()) as _).recovery().unwrap()).len(), 0);
    log.wait_committed(place.end, FlushAtCommit::Durable).unwrap();
    assert_eq!((log.flushed(), log.status().os_log_fsyncs), (place.end, 1));
    assert_eq!(groups_of(&Fixture::new(Arc::new(disk.only_synced()) as _).recovery().unwrap()).len(), 1);
    assert_eq!((log.status().log_write_requests, log.status().os_log_written), (1, 4096));
    assert!(log.wait_durable(place.end + 8).unwrap_err().to_string().contains("the log ends before"));
}

#[test]
fn the_log_is_synced_once_in_an_interval() {
    let (_, fixture) = fixture();
    let options = crate::log::LogOptions { flush_interval: Duration::from_millis(5), ..fixture.options() };
    let log = fixture.recovery().unwrap().start(options).unwrap();
    let place = append(&log, b"x");
    let deadline = Instant::now() + Duration::from_secs(20);
    while log.flushed() < place.end {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_future_is_woken_when_the_log_is_durable() {
    let (_, fixture) = fixture();
    let Stepped { shared } = fixture.stepped().unwrap();
    let mut group = group_of(b"x");
    let mut room = shared.reserve(group.bytes(), true).unwrap();
    let place = shared.append(&mut group, &mut room);
    let mut future = Box::pin(Reached { shared: Arc::clone(&shared), goal: Goal::Durable(place.end) });
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    shared.flusher.lock().write(&shared).unwrap();
    shared.wake_waiters();
    assert!(future.as_mut().poll(&mut context).is_pending(), "written is not durable");
    shared.flusher.lock().sync(&shared).unwrap();
    shared.wake_waiters();
    assert!(matches!(future.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
}

#[test]
fn dropping_the_log_makes_it_durable() {
    let (disk, fixture) = fixture();
    let log = fixture.log();
    for _ in 0..100 {
        append(&log, &[1; 3000]);
    }
    drop(log);
    let left = Fixture::new(Arc::new(disk.only_synced()) as _);
    assert_eq!(groups_of(&left.recovery().unwrap()).len(), 100);
}

/// A thread writes and syncs, and fails. Another one that comes next to the flusher must know that, also if it had seen
/// no failure before: the flusher has forgotten what it could not sync.
#[test]
fn what_one_thread_could_not_make_durable_is_not_for_the_next_one() {
    for on in [Operation::Write, Operation::Sync] {
        let (disk, fixture) = fixture();
        let Stepped { shared } = fixture.stepped().unwrap();
        let mut group = group_of(b"x");
        let mut room = shared.reserve(group.bytes(), true).unwrap();
        let place = shared.append(&mut group, &mut room);
        disk.inject_for(".log", DiskFault { on, after: 0, kind: FaultKind::Error(libc::EIO), forever: false });
        for thread in ["the first", "the second"] {
            assert!(shared.round(&mut shared.flusher.lock(), place.end, true).is_err(), "{on:?}, {thread}");
        }
        assert!(shared.flushed.load(Ordering::Acquire) < place.end, "{on:?}");
    }
}

#[test]
fn a_failed_sync_ends_the_log() {
    for on in [Operation::Sync, Operation::Write] {
        let (disk, fixture) = fixture();
        let log = fixture.log();
        let place = append(&log, b"x");
        let kind = FaultKind::Error(libc::EIO);
        disk.inject_for(".log", DiskFault { on, after: 0, kind, forever: false });
        assert!(log.wait_durable(place.end).is_err());
        assert!(fixture.failures.load(Ordering::SeqCst) > 0);
        // Nothing waits for ever, and nothing is promised.
        let places: Vec<_> = (0..5).map(|_| append(&log, &[0; 20_000])).collect();
        assert!(log.wait_durable(places[4].end).is_err());
        assert_eq!(log.flushed(), place.start);
    }
}

#[test]
fn a_full_disk_is_met_before_the_append_and_undo_has_its_room() {
    let (disk, fixture) = fixture();
    let log = fixture.log();
    let bytes = group_bytes([8000]);
    // Room for undoing is promised first.
    let mut undo = log.reserve(bytes).unwrap();
    undo.merge(log.reserve(bytes).unwrap());
    disk.set_capacity(Some(100_000));
    let refused = loop {
        match log.reserve(bytes) {
            Ok(mut room) => drop(log.append(&mut group_of(&[1; 8000]), &mut room)),
            Err(e) => break e,
        }
    };
    assert!(matches!(refused, StorageError::DiskFull { .. }), "{refused}");
    let appended = log.status().log_write_requests;
    assert!(log.current() <= SEGMENT_MIN && appended > 1, "{appended}");
    for _ in 0..2 {
        log.append(&mut group_of(&[2; 8000]), &mut undo);
    }
    log.wait_durable(log.current()).unwrap();
    let names = disk.list(std::path::Path::new("/d")).unwrap();
    assert!(names.iter().all(|path| !path.to_string_lossy().ends_with(".new")), "{names:?}");
    disk.set_capacity(None);
    append(&log, &[3; 8000]);
    drop(log);
    assert_eq!(groups_of(&fixture.recovery().unwrap()).len() as u64, appended + 3);
    assert_eq!(fixture.failures.load(Ordering::SeqCst), 0);
}

#[test]
fn a_log_at_its_capacity_waits_for_a_checkpoint() {
    let (_, fixture) = fixture();
    let log = fixture.log();
    let full = loop {
        match log.reserve(5000) {
            Ok(mut room) => drop(log.append(&mut group_of(&[1; 4000]), &mut room)),
            Err(e) => break e,
        }
    };
    assert!(matches!(full, StorageError::LogFull { capacity } if capacity == 6 * SEGMENT_MIN), "{full}");
    let age = log.status().checkpoint_age();
    assert!(age <= 6 * SEGMENT_MIN && age > 5 * SEGMENT_MIN, "{age}");
    assert!(log.wait_for_pressure(Duration::ZERO));
    let end = log.current();
    log.checkpoint(end, end, 5).unwrap();
    assert_eq!(log.status().checkpoint_age(), 0);
    with_checkpoints(&log, || {
        for _ in 0..500 {
            while log.reserve(5000).is_err() {}
            append_when_possible(&log);
        }
    });
    let status = log.status();
    assert!(status.segments_recycled > 10 && status.segments_made < 9, "{status:?}");
    drop(log);
    let numbers = fixture.recovery().unwrap().start(fixture.options()).unwrap().shared.segments.list().unwrap();
    assert!(numbers.len() <= 9, "{numbers:?}");
}

fn append_when_possible(log: &Log) {
    let mut group = group_of(&[1; 4000]);
    let mut room = loop {
        match log.reserve(group.bytes()) {
            Ok(room) => break room,
            Err(e) => assert!(matches!(e, StorageError::LogFull { .. }), "{e}"),
        }
    };
    log.append(&mut group, &mut room);
}

#[test]
fn a_ring_that_is_full_is_counted() {
    let (_, fixture) = fixture();
    let log = fixture.log();
    with_checkpoints(&log, || {
        let threads = || {
            while log.status().log_waits == 0 {
                append_when_possible(&log)
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(threads))));
    });
    drop(log);
}

#[test]
#[should_panic(expected = "within the room")]
fn a_group_beyond_its_room_is_a_mistake() {
    let (_, fixture) = fixture();
    let log = fixture.log();
    let mut room = log.reserve(100).unwrap();
    log.append(&mut group_of(&[1; 200]), &mut room);
}

#[test]
fn a_group_that_no_segment_takes_is_refused() {
    let (_, fixture) = fixture();
    let log = fixture.log();
    let e = log.reserve(log.group_max() + 8).unwrap_err();
    assert!(matches!(e, StorageError::GroupTooLarge { .. }), "{e}");
    let mut group = group_of(&vec![1; log.group_max() as usize - 48]);
    for _ in 0..5 {
        let mut room = log.reserve(log.group_max()).unwrap();
        log.append(&mut group, &mut room);
    }
    drop(log);
    assert_eq!(groups_of(&fixture.recovery().unwrap()).len(), 5);
}
