//! Measures what a request costs when the page is in memory, and how fast pages come from the disk. Run with
//! `cargo test --release -p muster-storage pool_bench -- --ignored --nocapture`.

use super::{pool_tests::Fixture, *};
use crate::{
    IoBackend,
    file::SequentialWriter,
    io::open_backend,
    page::{PageHeaderMut, PageType},
};
use std::{thread, time::Instant};

fn ns_per_fetch(pages: u32, random: bool) -> f64 {
    let f = Fixture::new(pages as usize + 64, 16384, pages);
    let parent = Arc::new(Counters::default());
    let counters = Counters::with_parent(parent);
    let mut sum = 0u64;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut x = 88_172_645_463_325_252u64;
        let start = Instant::now();
        let rounds = 2_000_000u32;
        for i in 0..rounds {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let page_no = if random { x % u64::from(pages) } else { u64::from(i % pages) } as u32 + 1;
            let page = f.pool.fetch(&f.file, page_no, &counters).unwrap();
            sum += u64::from(page.header().row_count());
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    assert_eq!(sum, 0);
    best
}

#[test]
#[ignore = "a measurement"]
fn warm_fetch() {
    for pages in [16, 1000, 10_000] {
        for (name, random) in [("in order", false), ("random", true)] {
            println!("{pages} pages, {name}: {:.0} ns", ns_per_fetch(pages, random));
        }
    }
    // Threads that share nothing but the pool and the global counters.
    let f = Fixture::new(1100, 16384, 1000);
    let global: Arc<Counters> = Arc::default();
    let start = Instant::now();
    let rounds = 2_000_000u32;
    thread::scope(|scope| {
        for t in 0..2 {
            let (f, global) = (&f, &global);
            scope.spawn(move || {
                let counters = Counters::with_parent(Arc::clone(global));
                for i in 0..rounds {
                    let page_no = (i * 2 + t) % 1000 + 1;
                    f.pool.fetch(&f.file, page_no, &counters).unwrap();
                }
            });
        }
    });
    println!("two threads: {:.0} ns each", start.elapsed().as_nanos() as f64 / f64::from(rounds));
}

/// Pages that a scan asks for at a time, and as far ahead.
const WINDOW: u32 = 64;

#[test]
#[ignore = "a measurement; writes half a gigabyte to the current directory"]
fn disk() {
    const PAGE: usize = 16384;
    const PAGES: u32 = 32 * 1024;
    let mb = f64::from(PAGES) * PAGE as f64 / 1e6;
    for backend in [IoBackend::Threads, IoBackend::Auto] {
        let directory = tempfile::tempdir_in(".").unwrap();
        let io = open_backend(backend).unwrap();
        let counters: Arc<Counters> = Arc::default();
        let file = PageFile::create(Arc::clone(&io), directory.path(), crate::FileId(1), 1, PAGE, true).unwrap();
        let start = Instant::now();
        let mut writer = SequentialWriter::new(file, Arc::clone(&counters));
        let mut page = vec![7; PAGE];
        PageHeaderMut(&mut page).init(PageType::Leaf, 0, 0);
        for _ in 0..PAGES {
            writer.append(&page).unwrap();
        }
        let file = writer.finish(None, |_| ()).unwrap();
        println!("{io:?}, direct {}: write {:.0} MB/s", file.io_file().is_direct(), mb / start.elapsed().as_secs_f64());
        let pool = BufferPool::new(PAGES as usize / 4 * PAGE, PAGE, io).unwrap();

        let start = Instant::now();
        for page_no in 1..=PAGES {
            if page_no % WINDOW == 1 {
                let ahead: Vec<u32> = (page_no + WINDOW..page_no + 2 * WINDOW).collect();
                pool.prefetch(&file, &ahead, &counters);
            }
            pool.fetch(&file, page_no, &counters).unwrap();
        }
        println!("  scan {:.0} MB/s", mb / start.elapsed().as_secs_f64());

        let scattered = |ahead: bool| {
            pool.discard_file(&file);
            let pages: Vec<u32> = (0..4096u32).map(|i| i.wrapping_mul(40_503) % PAGES + 1).collect();
            let start = Instant::now();
            for batch in pages.chunks(256) {
                if ahead {
                    pool.prefetch(&file, batch, &counters);
                }
                for &page_no in batch {
                    pool.fetch(&file, page_no, &counters).unwrap();
                }
            }
            4096.0 / start.elapsed().as_secs_f64()
        };
        println!("  random pages/s: {:.0} one by one, {:.0} in batches of 256", scattered(false), scattered(true));
    }
}
