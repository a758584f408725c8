//! Measures appends and commits. Run with
//! `cargo test --release -p muster-storage log_bench -- --ignored --nocapture`.

use super::{
    FlushAtCommit, Log, LogOptions,
    fixtures::{Fixture, IDENTITY, PAGE_SIZE, group_of},
    geometry::Geometry,
    recovery::{self, Recovery},
    segment_header::SegmentFormat,
    segments::LogFiles,
};
use crate::io::{AlignedBuf, OpenMode, WriteOp, open_backend};
use std::{
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

fn open(directory: &Path, buffered: bool, sync: bool) -> Log {
    let disk = open_backend(crate::IoBackend::Threads).unwrap();
    let fixture = Fixture::new(Arc::clone(&disk));
    let files = LogFiles { disk, directory: directory.to_path_buf(), sync, buffered, ..fixture.files };
    let geometry = Geometry::new(8 << 20).unwrap();
    let format = SegmentFormat { geometry, page_size: PAGE_SIZE, identity: IDENTITY };
    recovery::create(&files, format).unwrap();
    let options = LogOptions { capacity: 64 << 20, ..LogOptions::new(files.clone()) };
    Recovery::open(files, IDENTITY, PAGE_SIZE, super::Damage::IsRefused).unwrap().start(options).unwrap()
}

/// Checkpoints at the end of the log, as often as one is wanted.
fn with_checkpoints(log: &Log, work: impl Fn(usize) + Sync, threads: usize) -> Duration {
    let ended = AtomicU64::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while ended.load(Ordering::Relaxed) < threads as u64 {
                if log.wait_for_pressure(Duration::from_millis(20)) {
                    let end = log.current();
                    log.checkpoint(end, end, 1).unwrap();
                }
            }
        });
        for t in 0..threads {
            let (work, ended) = (&work, &ended);
            scope.spawn(move || {
                work(t);
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    start.elapsed()
}

#[test]
#[ignore = "a measurement"]
fn appends() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let log = open(directory.path(), true, false);
    for (threads, payload) in [(1, 120), (8, 120), (1, 4000), (8, 4000)] {
        let each = if payload > 1000 { 20_000 } else { 400_000 } / threads as u64;
        let busy = AtomicU64::new(0);
        let before = log.status();
        let elapsed = with_checkpoints(
            &log,
            |_| {
                let bytes = vec![7; payload];
                let start = Instant::now();
                for _ in 0..each {
                    let mut group = group_of(&bytes);
                    let mut room = log.reserve(group.bytes()).unwrap();
                    log.append(&mut group, &mut room);
                }
                busy.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            },
            threads,
        );
        let groups = each * threads as u64;
        println!(
            "{threads} threads, {payload} bytes: {:.2} M groups/s, {:.0} ns wall, {:.0} ns of a thread, {} ring waits",
            groups as f64 / elapsed.as_secs_f64() / 1e6,
            elapsed.as_nanos() as f64 / groups as f64,
            busy.load(Ordering::Relaxed) as f64 / groups as f64,
            log.status().log_waits - before.log_waits,
        );
    }
}

/// Writes and syncs a block again and again, as a program without a log thread would.
fn plain_loop(directory: &Path, time: Duration) -> f64 {
    let disk = open_backend(crate::IoBackend::Threads).unwrap();
    let path = directory.join("plain");
    let file = disk.open(&path, OpenMode::CreateNew).unwrap();
    let zeros = AlignedBuf::zeroed(1 << 20);
    for i in 0..8u64 {
        disk.write(&mut [WriteOp::new(&file, i << 20, vec![&zeros])]);
    }
    disk.sync(&file).unwrap();
    let (start, mut count) = (Instant::now(), 0u64);
    while start.elapsed() < time {
        // About thirty commits share a block before the next one begins.
        disk.write(&mut [WriteOp::new(&file, (count / 30 % 2048) << 12, vec![&zeros[..4096]])]);
        disk.sync(&file).unwrap();
        count += 1;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    disk.remove(&path).unwrap();
    rate
}

/// Waits as a session does, on a future that somebody else's thread wakes.
fn wait_as_a_session(log: &Log, end: super::Lsn) {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut reached = pin!(log.committed(end, FlushAtCommit::Durable).unwrap());
    while reached.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
}

/// Commits by so many threads for a time. Returns commits a second, and commits for each write and for each sync.
fn commits_by(log: &Log, threads: usize, time: Duration, wait: impl Fn(&Log, super::Lsn) + Sync) -> [f64; 3] {
    let (commits, before) = (AtomicU64::new(0), log.status());
    let elapsed = with_checkpoints(
        log,
        |_| {
            let start = Instant::now();
            while start.elapsed() < time {
                let mut group = group_of(&[7; 80]);
                let mut room = log.reserve(group.bytes()).unwrap();
                let place = log.append(&mut group, &mut room);
                wait(log, place.end);
                commits.fetch_add(1, Ordering::Relaxed);
            }
        },
        threads,
    );
    let (commits, after) = (commits.load(Ordering::Relaxed) as f64, log.status());
    let [writes, syncs] = [after.log_writes - before.log_writes, after.os_log_fsyncs - before.os_log_fsyncs];
    [commits / elapsed.as_secs_f64(), commits / writes as f64, commits / syncs as f64]
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[test]
#[ignore = "a measurement"]
fn commits() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let log = open(directory.path(), false, true);
    let time = Duration::from_millis(200);
    let threads = [1, 8, 64];
    let mut plain = Vec::new();
    let mut measured: [[Vec<[f64; 3]>; 3]; 2] = Default::default();
    // In turn, for the disk is not as fast at one time as at another.
    for _ in 0..15 {
        plain.push(plain_loop(directory.path(), time));
        for (i, threads) in threads.into_iter().enumerate() {
            measured[0][i].push(commits_by(&log, threads, time, |log, end| log.wait_durable(end).unwrap()));
            measured[1][i].push(commits_by(&log, threads, time, wait_as_a_session));
        }
    }
    let plain = median(plain);
    println!("plain loop of writes and syncs: {plain:.0}/s (all are medians)");
    for (how, measured) in ["threads that wait", "sessions"].into_iter().zip(measured) {
        for (threads, measured) in threads.into_iter().zip(measured) {
            let [rate, writes, syncs] = [0, 1, 2].map(|i| median(measured.iter().map(|all| all[i]).collect()));
            println!("{threads:2} {how}: {:6.2} x, commits a write {writes:.2}, a sync {syncs:.2}", rate / plain);
        }
    }
}
