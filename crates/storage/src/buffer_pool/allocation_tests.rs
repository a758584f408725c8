//! Pages that files get and give back, and the header that counts them.

use super::{pool_tests::Fixture, watched_disk::WatchedDisk, *};
use crate::{FileId, page::PageType};

const SIZE: usize = 4096;

#[test]
fn a_page_is_new_only_if_the_disk_has_room_for_it() {
    let f = Fixture::new(8, SIZE, 4);
    let full = |pages: u64| {
        f.io.set_capacity(Some(pages * SIZE as u64));
        let mut made = 0;
        let e = loop {
            match f.pool.new_page(&f.file, PageType::Leaf, &f.counters) {
                Ok(_) => made += 1,
                Err(e) => break e,
            }
        };
        assert!(matches!(e, StorageError::DiskFull { .. }), "{e}");
        made
    };
    // The file grows by several pages where it can, by one where it cannot.
    let there = u64::from(f.file.page_count()) + full(9);
    assert_eq!((there, f.file.page_count()), (9, 9));
    assert_eq!((full(10), full(10)), (1, 0));
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    f.check_frames();
}

#[test]
fn free_pages_are_used_again() {
    let f = Fixture::new(8, SIZE, 10);
    for page_no in [3, 5, 9] {
        let page = f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap();
        f.pool.free_page(&f.file, page, &f.counters).unwrap();
    }
    assert_eq!((f.file.header().free_head, f.file.header().free_count), (9, 3));
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    f.pool.discard_file(&f.file);
    let mut got = Vec::new();
    for _ in 0..4 {
        let page = f.pool.new_page(&f.file, PageType::Inner, &f.counters).unwrap();
        assert_eq!(page.header().page_type(), Some(PageType::Inner));
        assert!(page[48..].iter().all(|&b| b == 0));
        got.push(page.page_no());
    }
    assert_eq!(got, [9, 5, 3, 11]);
    // A free list that leads into a used page is told, not followed.
    f.file.update_header(&mut f.pool.header_mut(&f.file, &f.counters).unwrap(), |h| h.free_head = 1);
    let e = f.pool.new_page(&f.file, PageType::Leaf, &f.counters).unwrap_err();
    assert!(matches!(e, StorageError::Corrupt { page: 1, .. }), "{e}");
}

#[test]
fn the_header_is_written_with_the_pages() {
    let f = Fixture::new(8, SIZE, 4);
    drop(f.pool.new_page(&f.file, PageType::Leaf, &f.counters).unwrap());
    let open = |io: Arc<WatchedDisk>| PageFile::open(io as _, Path::new("/d"), FileId(1), true).unwrap();
    assert_eq!(open(Arc::clone(&f.io)).page_count(), 5);
    f.pool.flush_all(&f.counters).unwrap();
    assert_eq!(f.counters.pages_written(), 2, "the page and the header");
    assert_eq!(open(Arc::clone(&f.io)).page_count(), 6);
    assert_eq!(f.file.resident_pages(), 1, "the header is not counted");
    // It leaves the pool as others do, and comes back.
    for page_no in (1..=5).chain(1..=4) {
        f.get(page_no).map(drop).unwrap_or_else(|e| panic!("{e}"));
    }
    drop(f.pool.new_page(&f.file, PageType::Leaf, &f.counters).unwrap());
    f.pool.clear(&f.counters).unwrap();
    assert_eq!(f.pool.statistics().free, 8);
    assert_eq!(open(Arc::clone(&f.io)).page_count(), 7);
}

/// Whatever blocks a power failure keeps of those that were not synced, the file is as long as its header says.
#[test]
fn a_power_failure_leaves_no_header_of_a_longer_file() {
    let f = Fixture::new(8, SIZE, 4);
    f.file.sync().unwrap();
    f.file.sync_directory().unwrap();
    for pages in 5..40 {
        drop(f.pool.new_page(&f.file, PageType::Leaf, &f.counters).unwrap());
        f.pool.flush_all(&f.counters).unwrap();
        for seed in 0..20 {
            let io: Arc<dyn Disk> = Arc::new(f.io.after_power_cut(seed));
            let opened = PageFile::open(io, Path::new("/d"), FileId(1), true).unwrap_or_else(|e| panic!("{e}"));
            assert!((5..=pages + 1).contains(&opened.page_count()));
        }
    }
}

/// A frame whose page was noted gets the header of the file: that is no leaf to be encoded.
#[test]
fn a_file_header_is_no_rested_leaf() {
    let f = Fixture::new(8, SIZE, 8);
    for page_no in 1..=8 {
        f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap().note_changed();
    }
    f.pool.clear(&f.counters).unwrap();
    drop(f.pool.header_mut(&f.file, &f.counters).unwrap());
    assert!(f.pool.take_rested().is_empty());
    assert_eq!(f.pool.take_rested(), []);
}
