//! The pool on files in memory: contents, eviction, faults, read-ahead, many threads.

use super::{watched_disk::WatchedDisk, *};
use crate::{
    FileId,
    io::{
        simulated::{DiskFault, FaultKind, Operation},
        threads::ThreadsIo,
    },
    page::{PAGE_HEADER, PageHeader, PageType},
};
use proptest::prelude::*;
use std::{
    collections::HashMap,
    sync::atomic::AtomicU64,
    thread,
    time::{Duration, Instant},
};

const SIZE: usize = 4096;

/// A pool on a file whose pages hold their number.
pub(super) struct Fixture {
    pub io: Arc<WatchedDisk>,
    pub pool: Arc<BufferPool>,
    pub file: Arc<PageFile>,
    pub counters: Counters,
}

impl Fixture {
    /// Pages 1 to `pages` on disk, nothing in memory.
    pub fn new(frames: usize, page_size: usize, pages: u32) -> Fixture {
        let io = Arc::new(WatchedDisk::default());
        let pool = BufferPool::new(frames * page_size, page_size, Arc::clone(&io) as Arc<dyn Disk>).unwrap();
        let file = PageFile::create(Arc::clone(&io) as _, Path::new("/d"), FileId(1), 7, page_size, true).unwrap();
        let f = Fixture { io, pool, file, counters: Counters::default() };
        f.append(&f.file, pages);
        f.pool.discard_file(&f.file);
        f.pool.set_frame_wait_ms(20);
        f.pool.set_cleaner_retry_ms(1);
        f.counters.reset();
        f
    }

    fn append(&self, file: &Arc<PageFile>, pages: u32) {
        for i in 1..=pages {
            let mut page = self.pool.new_page(file, PageType::Leaf, &self.counters).unwrap();
            page[PAGE_HEADER..PAGE_HEADER + 4].copy_from_slice(&i.to_le_bytes());
            drop(page);
            if i.is_multiple_of(4) {
                self.pool.flush_file(file, &self.counters).unwrap();
            }
        }
        self.pool.flush_file(file, &self.counters).unwrap();
    }

    pub fn second_file(&self, index_id: u32, pages: u32) -> Arc<PageFile> {
        let io = Arc::clone(&self.io) as Arc<dyn Disk>;
        let size = self.pool.page_size();
        let file = PageFile::create(io, Path::new("/d"), FileId(2), index_id, size, true).unwrap();
        self.append(&file, pages);
        self.pool.discard_file(&file);
        file
    }

    pub fn get(&self, page_no: u32) -> Result<PageGuard> {
        self.pool.fetch(&self.file, page_no, &self.counters)
    }

    /// Reads a page and checks that it is the right one.
    pub fn check(&self, page_no: u32) {
        let page = self.get(page_no).unwrap();
        assert_eq!((number(&page), page.page_no(), page.file_id()), (page_no, page_no, FileId(1)));
    }

    fn fault(&self, on: Operation, kind: FaultKind, forever: bool) {
        self.io.inject(DiskFault { on, after: 0, kind, forever });
    }

    /// All frames are free or in a list, none is lost. A page that was read ahead is in a list a moment before it stops
    /// counting as one that is read, so this waits until none is.
    pub fn check_frames(&self) {
        while self.pool.statistics().reading > 0 {
            thread::yield_now();
        }
        let s = self.pool.statistics();
        assert_eq!(s.free + s.young + s.old, s.frames, "{s:?}");
    }
}

fn number(page: &[u8]) -> u32 {
    u32::from_le_bytes(page[PAGE_HEADER..PAGE_HEADER + 4].try_into().unwrap())
}

#[test]
fn pages_survive_eviction_and_reopening_on_a_real_file() {
    let directory = tempfile::tempdir().unwrap();
    let io: Arc<dyn Disk> = Arc::new(ThreadsIo::new());
    let file = PageFile::create(Arc::clone(&io), directory.path(), FileId(1), 7, SIZE, true).unwrap();
    let pool = BufferPool::new(16 * SIZE, SIZE, Arc::clone(&io)).unwrap();
    let counters = Counters::default();
    for i in 1..=100u32 {
        let mut page = pool.new_page(&file, PageType::Leaf, &counters).unwrap();
        assert_eq!(page.page_no(), i);
        page[64..68].copy_from_slice(&i.to_le_bytes());
    }
    pool.flush_file(&file, &counters).unwrap();
    file.sync().unwrap();
    assert!(pool.statistics().flushed >= 101, "the header too");
    drop((pool, file));

    let file = PageFile::open(Arc::clone(&io), directory.path(), FileId(1), true).unwrap();
    let pool = BufferPool::new(16 * SIZE, SIZE, io).unwrap();
    assert_eq!(pool.prefetch(&file, &[50, 51, 53], &counters), 3);
    for i in 1..=100u32 {
        let page = pool.fetch(&file, i, &counters).unwrap();
        assert_eq!(page[64..68], i.to_le_bytes());
    }
    assert_eq!(file.resident_pages(), 16);
}

#[test]
fn counters_are_true() {
    let f = Fixture::new(8, SIZE, 20);
    let hits_before = f.pool.statistics().hits;
    for page_no in [1, 2, 1, 1, 3] {
        f.check(page_no);
    }
    let c = &f.counters;
    assert_eq!((c.page_requests(), c.page_misses()), (5, 3));
    assert_eq!((c.reads(), c.bytes_read(), c.pages_read()), (3, 3 * SIZE as u64, 3));
    assert_eq!(c.pages_written(), 0);
    assert_eq!((f.file.resident_pages(), f.pool.statistics().free), (3, 5));
    assert_eq!(f.pool.statistics().hits - hits_before, 2);
}

#[test]
fn pages_that_do_not_exist_are_corrupt_references() {
    let f = Fixture::new(8, SIZE, 3);
    for page_no in [0, 4, u32::MAX] {
        let e = f.get(page_no).unwrap_err();
        assert!(matches!(&e, StorageError::Corrupt { page, .. } if *page == page_no), "{e}");
    }
    f.check_frames();
}

#[test]
fn torn_and_swapped_pages_are_corrupt() {
    let f = Fixture::new(16, SIZE, 10);
    let other = f.second_file(8, 10);
    let page_of_other = {
        let page = f.pool.fetch(&other, 3, &f.counters).unwrap();
        let mut copy = page.to_vec();
        page::seal(&mut copy);
        copy
    };
    let reason = |page_no| match f.get(page_no).unwrap_err() {
        StorageError::Corrupt { path, page, reason } => {
            assert_eq!((path.as_path(), page), (f.file.path(), page_no));
            reason
        }
        e => panic!("{e}"),
    };
    f.io.tamper(f.file.path(), |bytes| bytes[2 * SIZE + 2048..3 * SIZE].fill(0xEE));
    assert!(reason(2).contains("checksum"), "{}", reason(2));
    f.io.tamper(f.file.path(), |bytes| bytes[3 * SIZE..4 * SIZE].copy_from_slice(&page_of_other));
    assert_eq!(reason(3), "it belongs to index 8, not 7");
    f.io.tamper(f.file.path(), |bytes| bytes.copy_within(5 * SIZE..6 * SIZE, 4 * SIZE));
    assert_eq!(reason(4), "it says it is page 5");
    f.io.tamper(f.file.path(), |bytes| bytes.truncate(9 * SIZE + 100));
    assert!(reason(9).contains("cut short"));
    assert_eq!(f.pool.prefetch(&f.file, &[2, 3, 4, 9], &f.counters), 4);
    assert!(reason(2).contains("checksum"), "after read-ahead too");
    // A write that tore says nothing; the read does.
    f.pool.fetch_mut(&f.file, 6, &f.counters).unwrap()[SIZE - 8..].fill(1);
    f.fault(Operation::Write, FaultKind::Torn, false);
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    f.pool.discard_file(&f.file);
    assert!(reason(6).contains("checksum"));
    for good in [1, 5, 7, 8] {
        f.check(good);
    }
    f.check_frames();
}

#[test]
fn a_failed_read_leaves_the_frame_usable() {
    let f = Fixture::new(8, SIZE, 30);
    f.fault(Operation::Read, FaultKind::Error(libc::EIO), true);
    for page_no in 1..=30 {
        assert!(matches!(f.get(page_no), Err(StorageError::Io { .. })));
    }
    assert_eq!(f.pool.prefetch(&f.file, &[1, 2, 3], &f.counters), 2, "a quarter of the frames");
    f.io.clear_faults();
    for page_no in 1..=30 {
        f.check(page_no);
    }
    f.check_frames();
}

#[test]
fn a_full_disk_keeps_the_data_in_memory() {
    let f = Fixture::new(8, SIZE, 4);
    for page_no in 2..=4 {
        f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap()[SIZE - 1] = 42;
    }
    // A file system that finds its room as it writes.
    f.fault(Operation::Write, FaultKind::Error(libc::ENOSPC), true);
    assert!(matches!(f.pool.flush_file(&f.file, &f.counters), Err(StorageError::DiskFull { .. })));
    assert_eq!(f.pool.statistics().dirty, 3);
    f.io.clear_faults();
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    f.pool.discard_file(&f.file);
    for page_no in 2..=4 {
        f.check(page_no);
        assert_eq!(f.get(page_no).unwrap()[SIZE - 1], 42);
    }
    f.check_frames();
}

#[test]
fn all_frames_in_use_is_an_error_and_not_for_ever() {
    let f = Fixture::new(8, SIZE, 20);
    let mut held: Vec<PageGuard> = (1..=8).map(|p| f.get(p).unwrap()).collect();
    assert!(matches!(f.get(9), Err(StorageError::NoFreeFrame { frames: 8 })));
    assert!(matches!(
        f.pool.new_page(&f.file, PageType::Leaf, &f.counters),
        Err(StorageError::NoFreeFrame { frames: 8 })
    ));
    assert_eq!(f.pool.prefetch(&f.file, &[10], &f.counters), 0);
    assert_eq!(f.file.page_count(), 21, "no page was taken");
    held.pop();
    f.check(9);
    assert_eq!(held.iter().map(|p| number(p)).sum::<u32>(), 28);
}

#[test]
fn a_latched_page_may_be_latched_again_while_a_writer_waits() {
    let f = Fixture::new(8, SIZE, 4);
    let first = f.get(1).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            f.pool.fetch_mut(&f.file, 1, &f.counters).unwrap()[SIZE - 1] = 9;
        });
        thread::sleep(Duration::from_millis(20));
        let second = f.get(1).unwrap();
        assert_eq!(second[SIZE - 1], 0);
        drop((first, second));
        writer.join().unwrap();
    });
    assert_eq!(f.get(1).unwrap()[SIZE - 1], 9);
    let page = f.pool.fetch_mut(&f.file, 1, &f.counters).unwrap().downgrade();
    assert_eq!(number(&page), number(&f.get(1).unwrap()));
}

#[test]
fn a_fetch_waits_for_the_read_ahead() {
    let f = Fixture::new(64, SIZE, 60);
    f.io.set_read_delay(Duration::from_millis(300));
    let start = Instant::now();
    assert_eq!(f.pool.prefetch(&f.file, &[9, 8, 7, 20, 61, 0], &f.counters), 4);
    assert!(start.elapsed() < Duration::from_millis(250), "the caller does not wait");
    f.check(8);
    assert!(start.elapsed() >= Duration::from_millis(300));
    f.io.set_read_delay(Duration::ZERO);
    for page_no in [7, 9, 20] {
        f.check(page_no);
    }
    let c = &f.counters;
    assert_eq!((c.pages_read_ahead(), c.page_misses(), c.pages_read()), (4, 0, 4));
    assert_eq!((c.reads(), c.bytes_read()), (2, 4 * SIZE as u64), "7 to 9 together, and 20");
    assert_eq!(f.pool.prefetch(&f.file, &[7, 8, 9, 20], &f.counters), 0, "they are in memory");
}

#[test]
fn a_long_scan_leaves_the_hot_pages() {
    let f = Fixture::new(200, SIZE, 1300);
    (101..=300).for_each(|p| f.check(p));
    for _ in 0..3 {
        (1..=80).for_each(|p| f.check(p));
    }
    for start in (100..1300).step_by(10) {
        let pages: Vec<u32> = (start..start + 10).collect();
        f.pool.prefetch(&f.file, &pages, &f.counters);
        pages.iter().for_each(|&p| f.check(p));
    }
    let kept = (1..=80).filter(|&p| f.pool.is_resident(&f.file, p)).count();
    assert!(kept >= 78, "{kept} of 80 hot pages after a scan of six times the pool");
}

#[test]
fn what_is_read_in_a_circle_keeps_its_share() {
    let f = Fixture::new(200, SIZE, 1000);
    for pages in [240, 1000] {
        for round in 0..6 {
            f.counters.reset();
            (1..=pages).for_each(|p| f.check(p));
            let hits = u64::from(pages) - f.counters.page_misses();
            // The least recently used page going first, none would ever be there.
            assert!(round == 0 || hits >= 180, "{hits} of 200 frames are of use for {pages} pages");
        }
    }
}

#[test]
fn clearing_writes_and_leaves_what_is_in_use() {
    let f = Fixture::new(64, SIZE, 40);
    f.pool.prefetch(&f.file, &[1, 2, 3, 4], &f.counters);
    (1..=20).for_each(|p| f.check(p));
    f.pool.fetch_mut(&f.file, 5, &f.counters).unwrap()[SIZE - 1] = 77;
    let held = f.get(9).unwrap();
    assert_eq!(f.pool.clear(&f.counters).unwrap(), 1);
    assert!((1..=20).all(|p| f.pool.is_resident(&f.file, p) == (p == 9)));
    f.check_frames();
    drop(held);
    assert_eq!(f.pool.clear(&f.counters).unwrap(), 0);
    f.counters.reset();
    assert_eq!(f.get(5).unwrap()[SIZE - 1], 77);
    assert_eq!(f.counters.page_misses(), 1);
}

#[test]
fn a_new_working_set_takes_over() {
    let f = Fixture::new(200, SIZE, 400);
    for _ in 0..3 {
        (1..=190).for_each(|p| f.check(p));
    }
    // Pages 1 to 190 are not used any more; 150 others are read again and again.
    let mut reads = Vec::new();
    for _ in 0..8 {
        f.counters.reset();
        (201..=350).for_each(|p| f.check(p));
        reads.push(f.counters.page_misses());
    }
    assert_eq!(reads[0], 150);
    assert!(reads[7] < 5, "{reads:?}");
}

/// With `old_blocks_time` a page that comes back at once stays old.
#[test]
fn a_page_may_have_to_wait_to_be_young() {
    for (ms, young) in [(0, 40), (60_000, 0)] {
        let f = Fixture::new(200, SIZE, 400);
        f.pool.set_old_blocks_pct(50);
        (1..=200).for_each(|p| f.check(p));
        f.pool.set_old_blocks_time_ms(ms);
        let before = f.pool.statistics().made_young;
        // As many pages in between as make two uses of what would be one.
        for pages in [301..=340, 341..=352, 301..=340] {
            pages.into_iter().for_each(|p| f.check(p));
        }
        assert_eq!(f.pool.statistics().made_young - before, young, "{ms} ms");
    }
}

#[test]
fn discarded_files_leave_nothing() {
    let f = Fixture::new(16, SIZE, 10);
    (1..=5).for_each(|p| f.check(p));
    f.pool.fetch_mut(&f.file, 6, &f.counters).unwrap()[SIZE - 1] = 1;
    let held = f.get(2).unwrap();
    f.file.delete().unwrap();
    f.pool.discard_file(&f.file);
    assert_eq!((f.file.resident_pages(), f.pool.statistics().dirty), (1, 0));
    assert_eq!(number(&held), 2);
    drop(held);
    f.pool.discard_file(&f.file);
    assert_eq!((f.file.resident_pages(), f.pool.statistics().free), (0, 16));
    assert_eq!(f.counters.pages_written(), 0);
}

/// Reads and writes fail at random while threads share the pool: errors come out as errors, and afterwards every frame
/// is usable and no change is lost.
#[test]
fn threads_survive_failing_reads_and_writes() {
    const PAGES: u32 = 40;
    let f = Fixture::new(12, SIZE, PAGES);
    f.pool.set_frame_wait_ms(5000);
    let expected: Vec<AtomicU64> = (0..=PAGES).map(|_| AtomicU64::new(0)).collect();
    let failures = AtomicU64::new(0);
    let count = |page: &[u8]| u64::from_le_bytes(page[1000..1008].try_into().unwrap());
    thread::scope(|scope| {
        for t in 0..4u64 {
            let (f, expected, failures) = (&f, &expected, &failures);
            scope.spawn(move || {
                let mut x = 0x9E37_79B9_7F4A_7C15 ^ (t << 40);
                for _ in 0..2000 {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    let page_no = (x % u64::from(PAGES)) as u32 + 1;
                    let on = if x >> 32 & 1 == 0 { Operation::Read } else { Operation::Write };
                    if x >> 40 & 15 == 0 {
                        f.io.inject(DiskFault { on, after: 3, kind: FaultKind::Error(libc::EIO), forever: false });
                    }
                    if x >> 48 & 3 == 0 {
                        f.pool.prefetch(&f.file, &[page_no + 1, page_no + 2], &f.counters);
                    }
                    match f.pool.fetch_mut(&f.file, page_no, &f.counters) {
                        Ok(mut page) => {
                            let n = count(&page) + 1;
                            page[1000..1008].copy_from_slice(&n.to_le_bytes());
                            expected[page_no as usize].fetch_add(1, Relaxed);
                        }
                        Err(StorageError::Io { .. }) => drop(failures.fetch_add(1, Relaxed)),
                        Err(e) => panic!("{e}"),
                    }
                }
            });
        }
    });
    assert!(failures.load(Relaxed) > 0);
    f.io.clear_faults();
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    for page_no in 1..=PAGES {
        let page = f.get(page_no).unwrap();
        assert_eq!(count(&page), expected[page_no as usize].load(Relaxed), "page {page_no}");
    }
    while f.pool.statistics().reading > 0 {
        thread::yield_now();
    }
    f.pool.discard_file(&f.file);
    assert_eq!(f.pool.statistics().free, 12);
    assert_eq!(f.file.resident_pages(), 0);
}

/// Pages with a counter each, changed and read by threads that share a pool with fewer frames than pages.
#[test]
fn threads_see_whole_pages_and_lose_no_change() {
    const PAGES: u32 = 40;
    let f = Fixture::new(16, SIZE, PAGES);
    f.pool.set_frame_wait_ms(5000);
    let expected: Vec<AtomicU64> = (0..=PAGES).map(|_| AtomicU64::new(0)).collect();
    let count = |page: &[u8], at: usize| u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
    thread::scope(|scope| {
        for t in 0..4u64 {
            let (f, expected) = (&f, &expected);
            scope.spawn(move || {
                let mut x = 0x2545_F491_4F6C_DD1D ^ (t << 32);
                for round in 0..4000 {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    let page_no = (x % u64::from(PAGES)) as u32 + 1;
                    match x >> 40 & 7 {
                        0 | 1 => {
                            let mut page = f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap();
                            let n = count(&page, 1000) + 1;
                            page[1000..1008].copy_from_slice(&n.to_le_bytes());
                            page[SIZE - 8..].copy_from_slice(&n.to_le_bytes());
                            expected[page_no as usize].fetch_add(1, Relaxed);
                        }
                        2 => {
                            f.pool.prefetch(&f.file, &[page_no, page_no + 1, page_no + 2], &f.counters);
                        }
                        3 if round % 50 == 0 => f.pool.flush_file(&f.file, &f.counters).unwrap(),
                        _ => {
                            let page = f.pool.fetch(&f.file, page_no, &f.counters).unwrap();
                            assert_eq!(number(&page), page_no);
                            assert_eq!(count(&page, 1000), count(&page, SIZE - 8));
                        }
                    }
                }
            });
        }
    });
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    f.pool.discard_file(&f.file);
    for page_no in 1..=PAGES {
        let page = f.get(page_no).unwrap();
        assert_eq!(count(&page, 1000), expected[page_no as usize].load(Relaxed), "page {page_no}");
    }
    f.check_frames();
}

#[derive(Debug, Clone)]
enum Op {
    New,
    Free(u32),
    Read(u32),
    Write(u32, u8),
    Prefetch(Vec<u32>),
    Flush,
    Reopen,
    Pct(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => Just(Op::New),
        1 => any::<u32>().prop_map(Op::Free),
        6 => any::<u32>().prop_map(Op::Read),
        4 => (any::<u32>(), any::<u8>()).prop_map(|(p, b)| Op::Write(p, b)),
        2 => prop::collection::vec(0..60u32, 0..6).prop_map(Op::Prefetch),
        1 => Just(Op::Flush),
        1 => Just(Op::Reopen),
        1 => (0..100u32).prop_map(Op::Pct),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is evicted, flushed, freed and read ahead: a page holds what was written to it last.
    #[test]
    fn the_pool_is_a_map_from_page_to_content(frames in 8..20usize, ops in prop::collection::vec(op(), 1..200)) {
        let mut f = Fixture::new(frames, SIZE, 0);
        let mut model: HashMap<u32, u8> = HashMap::new();
        let pick = |model: &HashMap<u32, u8>, n: u32| {
            let mut pages: Vec<u32> = model.keys().copied().collect();
            pages.sort_unstable();
            pages.get(n as usize % pages.len().max(1)).copied()
        };
        for op in ops {
            match op {
                Op::New => {
                    let page = f.pool.new_page(&f.file, PageType::Leaf, &f.counters).unwrap();
                    prop_assert_eq!(page[SIZE - 1], 0);
                    prop_assert!(model.insert(page.page_no(), 0).is_none());
                }
                Op::Free(n) => if let Some(page_no) = pick(&model, n) {
                    let page = f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap();
                    f.pool.free_page(&f.file, page, &f.counters).unwrap();
                    model.remove(&page_no);
                },
                Op::Read(n) => if let Some(page_no) = pick(&model, n) {
                    prop_assert_eq!(f.get(page_no).unwrap()[SIZE - 1], model[&page_no]);
                },
                Op::Write(n, byte) => if let Some(page_no) = pick(&model, n) {
                    f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap()[SIZE - 1] = byte;
                    model.insert(page_no, byte);
                },
                Op::Prefetch(pages) => { f.pool.prefetch(&f.file, &pages, &f.counters); }
                Op::Flush => f.pool.flush_all(&f.counters).unwrap(),
                Op::Reopen => {
                    f.pool.flush_file(&f.file, &f.counters).unwrap();
                    f.pool.discard_file(&f.file);
                    f.file = PageFile::open(Arc::clone(&f.io) as _, Path::new("/d"), FileId(1), true).unwrap();
                }
                Op::Pct(pct) => f.pool.set_old_blocks_pct(pct),
            }
        }
        for (&page_no, &byte) in &model {
            let page = f.get(page_no).unwrap();
            prop_assert_eq!((PageHeader(&page).page_no(), page[SIZE - 1]), (page_no, byte));
        }
    }
}
