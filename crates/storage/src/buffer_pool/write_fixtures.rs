//! Pages that count their changes, and a log for them: for the tests of writing.

use super::{pool_tests::Fixture, *};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

pub(super) const SIZE: usize = 4096;
pub(super) const FRAMES: usize = 32;
pub(super) const PAGES: u32 = 60;
/// The offset in a page at which a test keeps the page's number of changes; the same number is at the page's end.
pub(super) const COUNT: usize = 1000;

pub(super) fn fixture() -> Fixture {
    let f = Fixture::new(FRAMES, SIZE, PAGES);
    f.pool.set_frame_wait_ms(5000);
    f
}

pub(super) fn count(page: &[u8]) -> u64 {
    let first = u64::from_le_bytes(page[COUNT..COUNT + 8].try_into().unwrap());
    assert_eq!(page[SIZE - 8..], first.to_le_bytes(), "a page is not torn");
    first
}

pub(super) fn set_count(page: &mut [u8], n: u64) {
    page[COUNT..COUNT + 8].copy_from_slice(&n.to_le_bytes());
    page[SIZE - 8..].copy_from_slice(&n.to_le_bytes());
}

/// Changes a page and returns how often it was changed.
pub(super) fn change(f: &Fixture, page_no: u32) -> u64 {
    let mut page = f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap();
    let n = count(&page) + 1;
    set_count(&mut page, n);
    n
}

pub(super) fn change_each(f: &Fixture, pages: impl IntoIterator<Item = u32>) {
    pages.into_iter().for_each(|page_no| {
        change(f, page_no);
    });
}

/// Numbers of the pages of the file that are dirty, in ascending order.
pub(super) fn dirty_pages(f: &Fixture) -> Vec<u32> {
    let number = |(_, frame): (u64, u32)| f.pool.frames.get(frame).key().page_no();
    let mut dirty: Vec<u32> = f.pool.dirty.oldest(usize::MAX).into_iter().map(number).collect();
    dirty.sort_unstable();
    dirty
}

/// A log that takes its time to become durable, and knows how far it is.
#[derive(Default)]
pub(super) struct FakeLog {
    pub end: AtomicU64,
    pub durable: AtomicU64,
    pub fails: AtomicBool,
}

impl FakeLog {
    /// Appends a group; returns its end.
    pub fn append(&self) -> u64 {
        self.end.fetch_add(8, SeqCst) + 8
    }
}

impl PageLog for FakeLog {
    fn position(&self) -> u64 {
        self.end.load(SeqCst)
    }

    fn make_durable(&self, lsn: u64) -> Result<()> {
        if self.fails.load(SeqCst) {
            return Err(StorageError::io("log", std::io::Error::other("the log has failed")));
        }
        self.durable.fetch_max(lsn, SeqCst);
        Ok(())
    }
}

/// Changes a page as a group of the log does: dirty first, then appended, then changed.
pub(super) fn logged_change(f: &Fixture, log: &FakeLog, page_no: u32) {
    let mut page = f.pool.fetch_mut(&f.file, page_no, &f.counters).unwrap();
    page.mark_dirty();
    let lsn = log.append();
    let n = count(&page) + 1;
    set_count(&mut page, n);
    page.header_mut().set_lsn(lsn);
}
