//! A disk that is full while transactions are open: changes fail, rollback does not, and all goes on once there is
//! room.

use super::tests::{Model, change_or_fail, compare, compare_at_rest, open_table, schema};
use crate::{
    FlushAtCommit, LogSettings, StorageError, Store, StoreOptions,
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    testing::random::Random,
};
use std::{path::Path, sync::Arc};

/// How the disk becomes full.
#[derive(Debug, Clone, Copy)]
enum Full {
    /// No file can grow by more than so many bytes.
    After(u64),
    /// Writes of pages find no room from the n-th on, as where a file system copies what is written over.
    PageWrites(u64),
    /// Nothing can be allocated from the n-th time on.
    Allocations(u64),
    /// No segment of the log can be made from the n-th write of one on.
    Segments(u64),
}

impl Full {
    fn begin(self, disk: &SimulatedDisk) {
        let kind = FaultKind::Error(libc::ENOSPC);
        match self {
            Full::After(bytes) => disk.set_capacity(Some(disk.used() + bytes)),
            Full::PageWrites(after) => {
                disk.inject_for(".mus", DiskFault { on: Operation::Write, after, kind, forever: true })
            }
            Full::Allocations(after) => disk.inject(DiskFault { on: Operation::Allocate, after, kind, forever: true }),
            Full::Segments(after) => {
                disk.inject_for(".new", DiskFault { on: Operation::Write, after, kind, forever: true })
            }
        }
    }

    fn end(self, disk: &SimulatedDisk) {
        disk.set_capacity(None);
        disk.clear_faults();
    }
}

/// A log of small segments: there is hardly more room in it than was promised.
fn open(disk: &Arc<SimulatedDisk>) -> Arc<Store> {
    let log = LogSettings { capacity: 1 << 20, buffer_bytes: 128 << 10, ..LogSettings::default() };
    let options =
        StoreOptions { page_size: 4096, buffer_pool_bytes: 64 * 4096, purges: false, log, ..StoreOptions::default() };
    let store = Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _).unwrap();
    store.buffer_pool().set_frame_wait_ms(20);
    store.buffer_pool().set_cleaner_retry_ms(5);
    store
}

/// Returns whether a change was refused.
fn run(full: Full) -> bool {
    let mut random = Random(7);
    let disk = Arc::new(SimulatedDisk::new());
    let store = open(&disk);
    let files = store.create_table(&schema()).unwrap();
    let table = open_table(&store, &files);
    let mut model = Model::new();
    // Rows below 30 are those of one transaction, the others those of another.
    let mut transactions = [(0..30, store.begin(), Model::new()), (30..60, store.begin(), Model::new())];
    full.begin(&disk);
    let mut refused = None;
    'full: for _ in 0..150 {
        for (keys, trx, own) in &mut transactions {
            if let Err(e) = change_or_fail(&table, trx, own, &mut random, keys.clone()) {
                refused = Some(e);
                break 'full;
            }
        }
    }
    if let Some(e) = &refused {
        let is_full = matches!(e, StorageError::DiskFull { .. } | StorageError::NoFreeFrame { .. });
        assert!(is_full, "{full:?}: {e}");
    }
    let [(_, committed, own), (_, rolled_back, _)] = transactions;
    let committed = committed.commit().unwrap();
    model.extend(own);
    let undone = rolled_back.roll_back();
    // Its pages may be out of memory, which has no room for them while others cannot be written.
    assert!(undone.is_ok() || matches!(full, Full::PageWrites(_)), "{full:?}: {undone:?}");
    committed.wait(FlushAtCommit::Durable).unwrap();
    full.end(&disk);
    if undone.is_err() {
        assert_eq!(store.losers(), 1, "{full:?}: the rest is done in the background");
        store.roll_back_losers().unwrap();
    }
    compare(&table, &model, &store.read_view());
    // What was acknowledged is there after a power cut, too.
    let restarted = open(&Arc::new(disk.only_synced()));
    let again = open_table(&restarted, &files);
    compare(&again, &model, &restarted.read_view());
    restarted.roll_back_losers().unwrap();
    compare_at_rest(&again, &model, true);
    // There is room: work goes on.
    let mut trx = store.begin();
    for _ in 0..50 {
        change_or_fail(&table, &mut trx, &mut model, &mut random, 0..60).unwrap();
    }
    trx.commit().unwrap().wait(FlushAtCommit::Durable).unwrap();
    compare_at_rest(&table, &model, false);
    refused.is_some()
}

#[test]
fn a_full_disk_takes_no_transaction_along() {
    let mut refused = [0; 4];
    for n in 0..16 {
        let ways = [Full::After((n * 16) << 10), Full::PageWrites(n), Full::Allocations(n), Full::Segments(n)];
        for (kind, full) in ways.into_iter().enumerate() {
            refused[kind] += u32::from(run(full));
        }
    }
    println!("{refused:?}");
    assert!(refused.iter().all(|times| *times > 3), "disks that were full for somebody: {refused:?}");
}
