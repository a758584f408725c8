//! Measures appends and commits. Run with
//! `cargo test --release -p muster-storage log_bench -- --ignored --nocapture`.

use super::{
    Log, LogOptions,
    fixtures::{Fixture, IDENTITY, PAGE_SIZE, group_of},
    geometry::Geometry,
    recovery::{self, Recovery},
    segment_header::SegmentFormat,
    segments::LogFiles,
};
use crate::io::{AlignedBuf, OpenMode, WriteOp, open_backend};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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

#[test]
#[ignore = "a measurement"]
fn commits() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let log = open(directory.path(), false, true);
    let time = Duration::from_millis(200);
    let commits = |threads: usize| {
        let commits = AtomicU64::new(0);
        let elapsed = with_checkpoints(
            &log,
            |_| {
                let start = Instant::now();
                while start.elapsed() < time {
                    let mut group = group_of(&[7; 80]);
                    let mut room = log.reserve(group.bytes()).unwrap();
                    let place = log.append(&mut group, &mut room);
                    log.wait_durable(place.end).unwrap();
                    commits.fetch_add(1, Ordering::Relaxed);
                }
            },
            threads,
        );
        commits.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64()
    };
    // In turn, for the disk is not as fast at one time as at another.
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..15 {
        rates[0].push(plain_loop(directory.path(), time));
        rates[1].push(commits(1));
        rates[2].push(commits(64));
    }
    let [plain, one, many] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    println!("plain {plain:.0}/s; 1 thread {:.2} x, 64 threads {:.2} x (medians)", one / plain, many / plain);
}
