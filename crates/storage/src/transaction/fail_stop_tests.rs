//! What ends the process: a sync that fails, a panic amid a change of pages, a thread that is gone. A simulated disk
//! has its power cut then.

use super::tests::{compare, open_table, rows_by, schema};
use crate::{
    Counters, LogSettings, ReadView, Store, StoreOptions,
    file::ROOT_PAGE,
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
};
use muster_types::Value;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

fn row(id: i64, bytes: usize) -> Vec<Value> {
    vec![Value::Int(id), Value::Text("a".into()), Value::Bytes(vec![7; bytes])]
}

/// Nothing is written in the background but the log.
fn quiet_store(disk: &Arc<SimulatedDisk>, purges: bool) -> Arc<Store> {
    let log = LogSettings { checkpoint_interval: Duration::from_secs(3600), ..LogSettings::default() };
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 4096 * 4096,
        log,
        leaf_rest: None,
        purges,
        ..StoreOptions::default()
    };
    Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _).unwrap()
}

/// The kernel tells one caller of a write that failed. If that is a thread that makes a file longer, the thread whose
/// pages are lost is told of success.
#[test]
fn a_failed_sync_of_a_file_that_grows_ends_the_process() {
    let disk = Arc::new(SimulatedDisk::new());
    let store = quiet_store(&disk, false);
    let files = store.create_table(&schema()).unwrap();
    let table = open_table(&store, &files);
    let fault = DiskFault { on: Operation::Sync, after: 0, kind: FaultKind::Error(libc::EIO), forever: false };
    disk.inject_for(&format!("{:08}.mus", files[0].0), fault);
    let failed = (0..10_000).find_map(|id| table.insert_now(&row(id, 500), &Counters::default()).err());
    assert!(failed.is_some(), "the file has not grown");
    assert!(disk.is_off(), "{failed:?}");
}

#[test]
fn a_panic_amid_a_change_of_pages_ends_the_process() {
    let disk = Arc::new(SimulatedDisk::new());
    let store = quiet_store(&disk, false);
    let files = store.create_table(&schema()).unwrap();
    let table = open_table(&store, &files);
    table.insert_now(&row(1, 10), &Counters::default()).unwrap();
    let change = |id| catch_unwind(AssertUnwindSafe(|| drop(table.insert_now(&row(id, 10), &Counters::default()))));
    // A panic elsewhere, with a page latched and as it was, is survived.
    let latched = catch_unwind(AssertUnwindSafe(|| {
        let _page = store.buffer_pool().fetch_mut(table.tree(0).file(), ROOT_PAGE, store.counters()).unwrap();
        panic!("a page is latched");
    }));
    assert!(latched.is_err() && change(2).is_ok() && !disk.is_off());
    // The clustered tree has changed when the other one panics.
    table.tree(1).plant_panic_amid_change();
    assert!(change(3).is_err());
    assert!(disk.is_off());
    drop((table, store));
    let store = quiet_store(&Arc::new(disk.after_power_cut(1)), false);
    let table = open_table(&store, &files);
    store.roll_back_losers().unwrap();
    // The first row is there if the log had come that far.
    let rows = rows_by(&table, 0, &ReadView::latest()).len() as i64;
    assert!(rows <= 2, "{rows}");
    compare(&table, &(1..=rows).map(|id| (id, row(id, 10))).collect(), &ReadView::latest());
}

/// Without the thread that purges nobody would notice anything until the log has filled the disk.
#[test]
fn a_panic_of_the_thread_that_purges_ends_the_process() {
    let disk = Arc::new(SimulatedDisk::new());
    let store = quiet_store(&disk, true);
    let files = store.create_table(&schema()).unwrap();
    let table = open_table(&store, &files);
    table.insert_now(&row(1, 10), &Counters::default()).unwrap();
    let view = store.read_view();
    assert!(table.delete_now(&[Value::Int(1)], &Counters::default()).unwrap());
    drop(table);
    store.set_table_source(Arc::new(|_| panic!("a planted panic")));
    drop(view);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !disk.is_off() {
        assert!(Instant::now() < deadline, "the thread is gone, and the process is not");
        std::thread::sleep(Duration::from_millis(2));
    }
}
