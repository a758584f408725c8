//! The pool on real files: pages come back as they went.

use super::*;
use crate::{FileId, io::threads::ThreadsIo};

#[test]
fn pages_survive_eviction_and_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let io: Arc<dyn PageIo> = Arc::new(ThreadsIo::new());
    let file = PageFile::create(Arc::clone(&io), directory.path(), FileId(1), 7, 4096, true).unwrap();
    let pool = BufferPool::new(16 * 4096, 4096, Arc::clone(&io)).unwrap();
    let counters = Counters::default();
    for i in 1..=100u32 {
        let mut page = pool.new_page(&file, PageType::Leaf, &counters).unwrap();
        assert_eq!(page.page_no(), i);
        page[64..68].copy_from_slice(&i.to_le_bytes());
    }
    pool.flush_file(&file, &counters).unwrap();
    file.sync().unwrap();
    assert_eq!(counters.pages_written(), 100);
    drop((pool, file));

    let file = PageFile::open(Arc::clone(&io), directory.path(), FileId(1), true).unwrap();
    let pool = BufferPool::new(16 * 4096, 4096, io).unwrap();
    pool.prefetch(&file, &[50, 51, 53], &counters);
    for i in 1..=100u32 {
        let page = pool.fetch(&file, i, AccessHint::Scan, &counters).unwrap();
        assert_eq!(page[64..68], i.to_le_bytes());
    }
    assert_eq!(file.resident_pages(), 16);
    assert_eq!(counters.buffer_pool_read_ahead(), 3);
    assert!(matches!(pool.fetch(&file, 101, AccessHint::Scan, &counters), Err(StorageError::Corrupt { .. })));
    assert!(matches!(pool.fetch(&file, 0, AccessHint::Scan, &counters), Err(StorageError::Corrupt { .. })));
}
