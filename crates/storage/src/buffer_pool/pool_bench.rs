//! What a request costs when the page is in memory. Run with
//! `cargo test --release -p muster-storage pool_bench -- --ignored --nocapture`.

use super::{pool_tests::Fixture, *};

fn ns_per_fetch(pages: u32, hint: AccessHint, random: bool) -> f64 {
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
            let page = f.pool.fetch(&f.file, page_no, hint, &counters).unwrap();
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
            println!("{pages} pages, {name}: {:.0} ns", ns_per_fetch(pages, AccessHint::Point, random));
        }
    }
}
