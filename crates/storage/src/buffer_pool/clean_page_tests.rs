//! Whenever the power goes, a page that counted as clean is on the disk.

use super::{planted::PlantedFault, pool_tests::Fixture, write_fixtures::*, *};
use crate::io::simulated::SimulatedDisk;
use std::collections::HashMap;

/// The content that a page had when it was last clean.
type Clean = HashMap<u32, u64>;

/// Changes and flushes until the power goes; notes after each step which pages are clean.
fn change_until_the_power_goes(f: &Fixture, clean: &mut Clean) {
    let mut x = 0x2545_F491_4F6C_DD1Du64;
    for step in 0..60u32 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let page_no = (x % 12) as u32 + 1;
        change(f, page_no);
        // Part of the batches are of few pages, so that pages stay dirty over several syncs.
        let oldest: Vec<u32> = f.pool.dirty.oldest(3).into_iter().map(|(_, frame)| frame).collect();
        match step % 5 {
            2 => drop(f.pool.write_batch(&oldest, &f.counters)),
            4 if x >> 40 & 1 == 0 => drop(f.pool.flush_all(&f.counters)),
            _ => {}
        }
        let dirty = dirty_pages(f);
        for page_no in (1..=12).filter(|page_no| !dirty.contains(page_no)) {
            clean.insert(page_no, count(&f.get(page_no).unwrap()));
        }
        clean.retain(|page_no, _| !dirty.contains(page_no));
        if f.io.is_off() {
            return;
        }
    }
}

/// Cuts the power in each operation. Returns how many pages were clean and how many of them were on the disk.
fn clean_pages_after_power_cuts(planted: Option<PlantedFault>) -> (u64, u64) {
    let (mut clean_pages, mut found) = (0, 0);
    for operations in 0.. {
        let f = fixture();
        f.pool.set_dirty_max(FRAMES);
        planted.into_iter().for_each(|fault| f.pool.planted.plant(fault));
        f.pool.set_on_failure(Arc::new(|_| ()));
        f.file.sync_directory().unwrap();
        // All pages are in memory, so that none is read when the power is gone.
        (1..=12).for_each(|p| f.check(p));
        f.io.cut_power_after(operations);
        let mut clean = Clean::new();
        change_until_the_power_goes(&f, &mut clean);
        for seed in 0..10 {
            let left = Arc::new(f.io.after_power_cut(seed));
            for (&page_no, &n) in &clean {
                clean_pages += 1;
                found += u64::from(count_on_disk(&left, page_no) == Some(n));
            }
        }
        if !f.io.is_off() {
            return (clean_pages, found);
        }
    }
    unreachable!("the changes come to an end")
}

/// The count that a page has on a disk; `None` if the page is damaged.
fn count_on_disk(disk: &Arc<SimulatedDisk>, page_no: u32) -> Option<u64> {
    let file = PageFile::open(Arc::clone(disk) as _, Path::new("/d"), crate::FileId(1), true).ok()?;
    let pool = BufferPool::new(8 * SIZE, SIZE, Arc::clone(disk) as _).unwrap();
    pool.fetch(&file, page_no, &Counters::default()).ok().map(|page| count(&page))
}

#[test]
fn what_is_clean_is_on_the_disk_whenever_the_power_goes() {
    let (clean, found) = clean_pages_after_power_cuts(None);
    assert!(clean > 1000, "{clean}");
    assert_eq!(clean, found);
    let (clean, found) = clean_pages_after_power_cuts(Some(PlantedFault::CleanBeforeSync));
    assert!(found < clean, "the planted fault is found");
}
