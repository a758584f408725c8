//! Tests of the order of writing: the log and the copy are durable before a page is written, the page is clean after
//! it.

use super::{planted::PlantedFault, write_fixtures::*, *};
use crate::{
    io::simulated::{DiskFault, FaultKind, Operation},
    page::PageHeader,
};
use std::sync::atomic::Ordering::SeqCst;

/// Returns true if the log was always durable up to the LSN of a page when the page was written.
fn log_comes_first(planted: Option<PlantedFault>) -> bool {
    let f = fixture();
    planted.into_iter().for_each(|fault| f.pool.planted.plant(fault));
    let log = Arc::new(FakeLog { end: AtomicU64::new(512), ..FakeLog::default() });
    f.pool.set_page_log(Arc::clone(&log) as _);
    let (durable, early) = (Arc::clone(&log), Arc::new(AtomicU64::new(0)));
    let seen = Arc::clone(&early);
    f.io.on_write(move |bytes| {
        let ahead = bytes.chunks_exact(SIZE).any(|page| PageHeader(page).lsn() > durable.durable.load(SeqCst));
        seen.fetch_add(u64::from(ahead), SeqCst);
    });
    for page_no in [5, 6, 7, 5] {
        logged_change(&f, &log, page_no);
    }
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    early.load(SeqCst) == 0
}

#[test]
fn the_log_is_durable_before_a_page_is_written() {
    assert!(log_comes_first(None));
    assert!(!log_comes_first(Some(PlantedFault::PageBeforeLog)), "the planted fault is found");
}

#[test]
fn a_log_that_has_failed_keeps_pages_from_being_written() {
    let f = fixture();
    let log = Arc::new(FakeLog { end: AtomicU64::new(512), ..FakeLog::default() });
    f.pool.set_page_log(Arc::clone(&log) as _);
    logged_change(&f, &log, 5);
    log.fails.store(true, SeqCst);
    let before = f.io.operations();
    assert!(f.pool.flush_file(&f.file, &f.counters).is_err());
    assert_eq!((f.io.operations(), dirty_pages(&f)), (before, vec![5]));
    log.fails.store(false, SeqCst);
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    assert_eq!(f.pool.statistics().dirty, 0);
}

/// A page is changed while its copy is being written. Returns true if the change is not lost.
fn a_change_during_the_write_stays(planted: Option<PlantedFault>) -> bool {
    let f = Arc::new(fixture());
    planted.into_iter().for_each(|fault| f.pool.planted.plant(fault));
    change(&f, 5);
    let (inside, left) = (Arc::downgrade(&f), AtomicU64::new(1));
    f.io.on_write(move |_| {
        if left.swap(0, SeqCst) == 1 {
            change(&inside.upgrade().unwrap(), 5);
        }
    });
    let first = f.pool.dirty.least();
    let mut frames: Vec<u32> = f.pool.dirty.oldest(1).into_iter().map(|(_, frame)| frame).collect();
    let clean = f.pool.write_batch(&frames, &f.counters).unwrap();
    frames.retain(|frame| f.pool.dirty.recovery_lsn(*frame).is_some());
    if planted.is_none() {
        assert_eq!((clean, frames.len()), (0, 1), "it was changed since its copy");
        assert!(f.pool.dirty.least() > first, "what was copied is durable");
    }
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    f.pool.discard_file(&f.file);
    count(&f.get(5).unwrap()) == 2
}

#[test]
fn a_page_changed_while_it_is_written_is_written_again() {
    assert!(a_change_during_the_write_stays(None));
    assert!(!a_change_during_the_write_stays(Some(PlantedFault::ForgetChangesSinceCopy)), "the planted fault is found");
}

/// The copies of the last batch of each file, as a doublewrite file would keep them.
#[derive(Default)]
struct FakeDoublewrite {
    kept: Mutex<Vec<(u32, Vec<u8>)>>,
}

impl Doublewrite for FakeDoublewrite {
    fn save(&self, pages: &[PageCopy<'_>]) -> Result<()> {
        assert!(pages.len() <= BATCH_PAGES);
        *self.kept.lock() = pages.iter().map(|page| (page.page_no, page.bytes.to_vec())).collect();
        Ok(())
    }
    fn written(&self, _pages: &[PageCopy<'_>], _durable: &[bool]) {}
    fn forget(&self, _file: crate::FileId) {}
}

#[test]
fn pages_are_saved_before_they_come_to_their_places() {
    let f = fixture();
    let saved = Arc::new(FakeDoublewrite::default());
    f.pool.set_doublewrite(Some(Arc::clone(&saved) as _));
    let (kept, unsaved) = (Arc::clone(&saved), Arc::new(AtomicU64::new(0)));
    let seen = Arc::clone(&unsaved);
    f.io.on_write(move |bytes| {
        let kept = kept.kept.lock();
        let is_missing = |page: &[u8]| !kept.iter().any(|(_, copy)| copy == page);
        seen.fetch_add(u64::from(bytes.chunks_exact(SIZE).any(is_missing)), SeqCst);
    });
    change_each(&f, [4, 5, 6, 9]);
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    assert_eq!(unsaved.load(SeqCst), 0);
    let numbers: Vec<u32> = saved.kept.lock().iter().map(|(page_no, _)| *page_no).collect();
    let s = f.pool.statistics();
    assert_eq!((numbers, s.doublewrite_pages, s.doublewrite_batches), (vec![4, 5, 6, 9], 4, 1));
    f.pool.set_doublewrite(None);
    saved.kept.lock().clear();
    change(&f, 4);
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    assert_eq!((unsaved.load(SeqCst), f.pool.statistics().doublewrite_batches), (1, 1), "it is switched off");
}

/// Files that are deleted while their pages are on the way, and frames that have other pages then.
#[test]
fn a_file_deleted_while_its_pages_are_written_leaves_nothing() {
    let f = Arc::new(fixture());
    change_each(&f, 1..=4);
    let inside = Arc::downgrade(&f);
    f.io.on_write(move |_| {
        let f = inside.upgrade().unwrap();
        f.file.delete().unwrap();
        f.pool.discard_file(&f.file);
    });
    f.pool.flush_file(&f.file, &f.counters).unwrap();
    let s = f.pool.statistics();
    assert_eq!((s.dirty, s.free), (0, FRAMES));
    f.io.unwatch();
    let other = f.second_file(9, 4);
    let mut page = f.pool.fetch_mut(&other, 2, &f.counters).unwrap();
    set_count(&mut page, 7);
    drop(page);
    assert_eq!(f.pool.statistics().dirty, 1);
}

/// After a sync that failed nothing is clean, and nothing is written any more, for nobody knows what is on the disk.
#[test]
fn a_failed_sync_is_the_end() {
    let f = fixture();
    let told = Arc::new(AtomicU64::new(0));
    let hook = Arc::clone(&told);
    f.pool.set_on_failure(Arc::new(move |_| {
        hook.fetch_add(1, SeqCst);
    }));
    f.io.inject(DiskFault { on: Operation::Sync, after: 0, kind: FaultKind::Error(libc::EIO), forever: false });
    change(&f, 5);
    assert!(f.pool.flush_file(&f.file, &f.counters).is_err());
    assert_eq!((told.load(SeqCst), dirty_pages(&f)), (1, vec![5]));
    let before = f.io.operations();
    let e = f.pool.flush_file(&f.file, &f.counters).unwrap_err();
    assert!(e.to_string().contains("a sync that failed"), "{e}");
    assert_eq!((f.io.operations(), f.pool.statistics().dirty), (before, 1));
}
