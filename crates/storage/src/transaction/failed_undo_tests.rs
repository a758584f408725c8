//! Undoing that fails half way: the transaction can only be rolled back, and that can be tried again.

use super::tests::{Model, compare, compare_at_rest, open_table, schema};
use crate::{
    Counters, FileId, FlushAtCommit, LockMode, StorageError, Store, StoreOptions, Table,
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
};
use muster_types::Value;
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

const EIO: i32 = 5;

fn open(disk: &Arc<SimulatedDisk>, purges: bool) -> Arc<Store> {
    let options = StoreOptions { page_size: 4096, buffer_pool_bytes: 64 * 4096, purges, ..StoreOptions::default() };
    let store = Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _).unwrap();
    store.buffer_pool().set_frame_wait_ms(20);
    store
}

fn row(key: i64, text: &str, bytes: usize) -> Vec<Value> {
    vec![Value::Int(key), Value::Text(text.into()), Value::Bytes(vec![key as u8; bytes])]
}

fn key(key: i64) -> Vec<Value> {
    vec![Value::Int(key)]
}

struct Home {
    disk: Arc<SimulatedDisk>,
    table: Arc<Table>,
    files: Vec<FileId>,
    /// The rows that have committed.
    model: Model,
}

impl Home {
    /// Rows with long values, of which the one with key 3 has been deleted and is not purged.
    fn new(purges: bool) -> Home {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open(&disk, purges);
        let files = store.create_table(&schema()).unwrap();
        let table = open_table(&store, &files);
        let counters = Counters::default();
        let mut model = Model::new();
        for n in 0..6 {
            table.insert_now(&row(n, "a", 6000), &counters).unwrap();
            model.insert(n, row(n, "a", 6000));
        }
        table.delete_now(&key(3), &counters).unwrap();
        model.remove(&3);
        Home { disk, table, files, model }
    }

    fn store(&self) -> Arc<Store> {
        self.table.store()
    }

    /// Changes of all kinds: rows that come, go, change and come again where one was deleted.
    fn change(&self, trx: &mut crate::Transaction) {
        let counters = Counters::default();
        self.table.insert(trx, &row(3, "b", 7000), &counters).unwrap();
        self.table.insert(trx, &row(9, "b", 7000), &counters).unwrap();
        assert!(self.table.update(trx, &key(1), &row(1, "b", 7000), &counters).unwrap());
        assert!(self.table.delete(trx, &key(2), &counters).unwrap());
        assert!(self.table.update(trx, &key(4), &row(40, "c", 50), &counters).unwrap());
    }

    /// Empties the buffer pool, and has reads of pages fail from the n-th on.
    fn break_reads(&self, after: u64) {
        self.store().buffer_pool().clear(&Counters::default()).unwrap();
        let fault = DiskFault { on: Operation::Read, after, kind: FaultKind::Error(EIO), forever: true };
        self.disk.inject_for(".mus", fault);
    }
}

/// Wherever undoing a statement fails: nothing else can be done with the transaction, nor can it be committed, until
/// the statement is undone.
#[test]
fn a_statement_that_is_undone_in_part_is_undone_before_anything_else() {
    for after in 0.. {
        let home = Home::new(false);
        let (table, counters) = (&home.table, Counters::default());
        let mut trx = home.store().begin();
        table.insert(&mut trx, &row(7, "own", 50), &counters).unwrap();
        let (statement, within) = (trx.savepoint(), {
            home.change(&mut trx);
            trx.savepoint()
        });
        assert!(table.update(&mut trx, &key(0), &row(0, "late", 7000), &counters).unwrap());
        home.break_reads(after);
        let undone = trx.roll_back_to(statement);
        home.disk.clear_faults();
        if undone.is_ok() {
            assert!(after > 10 && !trx.is_half_undone(), "{after} failures");
            break;
        }
        assert!(matches!(undone, Err(StorageError::Io { .. })), "{after}: {undone:?}");
        assert!(trx.is_half_undone(), "{after}");
        let refused = table.insert(&mut trx, &row(8, "no", 50), &counters);
        assert!(matches!(refused, Err(StorageError::HalfUndone)), "{after}: {refused:?}");
        let refused = table.lock_row(&mut trx, 0, &key(0), LockMode::Shared, &counters);
        assert!(matches!(refused, Err(StorageError::HalfUndone)), "{after}: {refused:?}");
        if after % 3 == 0 {
            let refused = trx.commit().map(drop);
            assert!(matches!(refused, Err(StorageError::HalfUndone)), "{after}: {refused:?}");
            compare(table, &home.model, &home.store().read_view());
            compare_at_rest(table, &home.model, true);
            continue;
        }
        // A savepoint within the statement is not enough.
        trx.roll_back_to(within).unwrap();
        assert!(trx.is_half_undone(), "{after}");
        trx.roll_back_to(statement).unwrap_or_else(|e| panic!("{after}: {e}"));
        assert!(!trx.is_half_undone(), "{after}");
        trx.commit().unwrap().wait(FlushAtCommit::Durable).unwrap();
        let mut model = home.model.clone();
        model.insert(7, row(7, "own", 50));
        compare(table, &model, &home.store().read_view());
        let again = open(&Arc::new(home.disk.only_synced()), false);
        let reopened = open_table(&again, &home.files);
        again.roll_back_losers().unwrap();
        compare_at_rest(&reopened, &model, true);
        compare_at_rest(table, &model, true);
    }
}

/// A rollback that fails keeps its rows locked, and is done in the background once the disk reads again.
#[test]
fn a_rollback_that_fails_is_done_in_the_background() {
    let home = Home::new(true);
    let mut trx = home.store().begin();
    home.change(&mut trx);
    home.break_reads(2);
    trx.roll_back().unwrap_err();
    assert_eq!(home.store().losers(), 1);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(home.store().losers(), 1, "the disk still fails");
    home.disk.clear_faults();
    let mut other = home.store().begin();
    let locked = home.table.update(&mut other, &key(1), &row(1, "other", 50), &Counters::default());
    // It may have been rolled back just now.
    assert!(matches!(locked, Err(StorageError::WouldWait) | Ok(true)), "{locked:?}");
    other.roll_back().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while home.store().losers() > 0 {
        assert!(Instant::now() < deadline, "the rollback is not tried again");
        std::thread::sleep(Duration::from_millis(20));
    }
    compare(&home.table, &home.model, &home.store().read_view());
}

/// A crash at any moment of a rollback with long values: they are there for the rest of it, and no page has two owners.
#[test]
fn a_crash_within_a_rollback_leaves_long_values_whole() {
    let mut crashes = 0;
    for after in 0.. {
        let home = Home::new(false);
        let mut trx = home.store().begin();
        home.change(&mut trx);
        home.store().log().wait_durable(home.store().log().current()).unwrap();
        home.break_reads(after);
        let rolled_back = trx.roll_back();
        home.disk.clear_faults();
        // What the rollback has logged so far is durable, and some of the pages are.
        home.store().log().wait_durable(home.store().log().current()).unwrap();
        if after % 2 == 0 {
            home.store().buffer_pool().flush_all(&Counters::default()).unwrap();
        }
        let store = open(&Arc::new(home.disk.only_synced()), false);
        let table = open_table(&store, &home.files);
        crashes += store.losers();
        store.roll_back_losers().unwrap();
        compare(&table, &home.model, &store.read_view());
        compare_at_rest(&table, &home.model, true);
        // Pages that are free are taken again: none of them is one of a value that is still there.
        let (counters, mut model) = (Counters::default(), home.model.clone());
        for n in 20..40 {
            table.insert_now(&row(n, "new", 9000), &counters).unwrap();
            model.insert(n, row(n, "new", 9000));
        }
        compare_at_rest(&table, &model, true);
        if rolled_back.is_ok() {
            break;
        }
    }
    assert!(crashes > 5, "{crashes} crashes within a rollback");
}
