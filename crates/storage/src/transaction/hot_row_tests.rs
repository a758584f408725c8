//! Rows with very many versions: what is read of the log to undo them, to purge them and to see an old one is counted,
//! not timed.

use super::tests::{Model, change_or_fail, compare, compare_at_rest, open_table, schema};
use crate::{
    ColumnSchema, Counters, FileId, IndexSchema, LogSettings, ReadView, Scan, ScanRequest, StorageError, Store,
    StoreOptions, Table, TableSchema, TableStatistics, Transaction,
    io::simulated::SimulatedDisk,
    rows::fixtures::{rows_of, scan_request},
    testing::random::Random,
};
use muster_types::{KeyPart, SqlType, Value};
use std::{path::Path, sync::Arc};

/// A table of four numbers, the first one its key, with so many indexes beside that.
fn numbers(indexes: usize) -> TableSchema {
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let index =
        |id, columns: &[usize], unique| IndexSchema { id, parts: columns.iter().copied().map(part).collect(), unique };
    let indexes: Vec<IndexSchema> =
        [index(1, &[0], true), index(2, &[1], false), index(3, &[2, 1], false), index(4, &[3], true)]
            .into_iter()
            .take(1 + indexes)
            .collect();
    TableSchema {
        layouts: Default::default(),
        columns: vec![ColumnSchema { ty: SqlType::INT, nullable: false }; 4],
        indexes,
    }
}

fn open(disk: &Arc<SimulatedDisk>) -> Arc<Store> {
    let log = LogSettings { capacity: 64 << 20, ..LogSettings::default() };
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 256 * 4096,
        log,
        leaf_rest: None,
        purges: false,
        ..StoreOptions::default()
    };
    Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _).unwrap()
}

struct Hot {
    table: Arc<Table>,
    disk: Arc<SimulatedDisk>,
    indexes: usize,
    files: Vec<FileId>,
}

impl Hot {
    /// A table with one row, in version 0, that all views see.
    fn new(indexes: usize) -> Hot {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open(&disk);
        let files = store.create_table(&numbers(indexes)).unwrap();
        let table = store.open_table(numbers(indexes), files.clone(), TableStatistics::default()).unwrap();
        table.insert_now(&Hot::row(0), &Counters::default()).unwrap();
        store.purge().unwrap();
        Hot { table, disk, indexes, files }
    }

    /// The row's version with this number: each has entries of its own, but for the first index, which has few.
    fn row(version: i64) -> Vec<Value> {
        [1, version % 7, version, -version].map(Value::Int).to_vec()
    }

    fn store(&self) -> Arc<Store> {
        self.table.store()
    }

    fn update(&self, trx: &mut Transaction, versions: std::ops::Range<i64>) {
        for version in versions {
            assert!(self.table.update(trx, &[Value::Int(1)], &Hot::row(version), &Counters::default()).unwrap());
        }
    }

    /// Makes versions, each in a transaction of its own.
    fn commit_each(&self, versions: std::ops::Range<i64>) {
        for version in versions {
            let mut trx = self.store().begin();
            self.update(&mut trx, version..version + 1);
            let _not_waited_for = trx.commit().unwrap();
        }
    }

    /// Checks that a view sees this version, by each index. Returns the number of undo records that were read.
    #[track_caller]
    fn sees(&self, view: &Arc<ReadView>, version: i64) -> u64 {
        let before = self.store().transactions().undo_reads();
        let row = self.table.get(&[Value::Int(1)], view, &Counters::default()).unwrap();
        assert_eq!(row, Some(Hot::row(version)));
        self.store().transactions().undo_reads() - before
    }

    /// Nothing but the row in this version is left.
    #[track_caller]
    fn is_at_rest(&self, version: i64) {
        self.store().purge().unwrap();
        self.sees(&ReadView::latest(), version);
        for tree in self.table.trees() {
            let report = tree.check(&Counters::default()).unwrap();
            assert_eq!((report.rows, report.marked_rows), (1, 0), "{report:?}");
        }
        self.table.check(&Counters::default(), &mut || Ok(())).unwrap();
    }

    /// The number of undo records that something reads.
    fn reads(&self, act: impl FnOnce()) -> u64 {
        let before = self.store().transactions().undo_reads();
        act();
        self.store().transactions().undo_reads() - before
    }
}

const VERSIONS: i64 = 1000;

/// Records that undoing `VERSIONS` versions may read: each to be undone, and each once to see what was before the
/// transaction.
const READS_MAX: u64 = 2 * VERSIONS as u64 + 40;

#[test]
fn rollback_of_a_hot_row_reads_its_versions_once() {
    for indexes in 0..4 {
        let hot = Hot::new(indexes);
        let mut trx = hot.store().begin();
        hot.update(&mut trx, 1..VERSIONS + 1);
        let reads = hot.reads(|| trx.roll_back().unwrap());
        assert!(reads <= READS_MAX, "{indexes} indexes: {reads} reads");
        hot.is_at_rest(0);
    }
}

#[test]
fn rollback_to_a_savepoint_reads_the_versions_behind_it_once() {
    let hot = Hot::new(3);
    let mut trx = hot.store().begin();
    hot.update(&mut trx, 1..VERSIONS / 2);
    let savepoint = trx.savepoint();
    hot.update(&mut trx, VERSIONS / 2..VERSIONS);
    let reads = hot.reads(|| trx.roll_back_to(savepoint).unwrap());
    assert!(reads <= READS_MAX, "{reads} reads");
    hot.update(&mut trx, VERSIONS..VERSIONS + 10);
    let _not_waited_for = trx.commit().unwrap();
    hot.is_at_rest(VERSIONS + 9);
}

/// Older versions of others, which a view needs, are behind those that are undone.
#[test]
fn rollback_beside_an_old_view_reads_the_versions_once() {
    let hot = Hot::new(3);
    let old = hot.store().read_view();
    hot.commit_each(1..VERSIONS);
    let newer = hot.store().read_view();
    let mut trx = hot.store().begin();
    // The first ones have the entries of versions that are needed.
    hot.update(&mut trx, 1..VERSIONS / 2);
    hot.update(&mut trx, VERSIONS..3 * VERSIONS / 2);
    let reads = hot.reads(|| trx.roll_back().unwrap());
    assert!(reads <= READS_MAX + VERSIONS as u64, "{reads} reads");
    assert!(hot.sees(&old, 0) <= 100);
    assert!(hot.sees(&newer, VERSIONS - 1) <= 100);
    drop((old, newer));
    hot.is_at_rest(VERSIONS - 1);
}

#[test]
fn recovery_rolls_a_hot_row_back_in_as_many_reads() {
    let hot = Hot::new(3);
    let mut trx = hot.store().begin();
    hot.update(&mut trx, 1..VERSIONS + 1);
    hot.store().log().wait_durable(hot.store().log().current()).unwrap();
    let store = open(&Arc::new(hot.disk.only_synced()));
    let table = store.open_table(numbers(hot.indexes), hot.files.clone(), TableStatistics::default()).unwrap();
    let again = Hot { table, disk: Arc::clone(&hot.disk), indexes: hot.indexes, files: hot.files.clone() };
    assert_eq!(again.store().losers(), 1);
    let reads = again.reads(|| again.store().roll_back_losers().unwrap());
    assert!((VERSIONS as u64..=READS_MAX).contains(&reads), "{reads} reads");
    again.is_at_rest(0);
}

/// A reader jumps over the versions that its view does not see, whoever has made them.
#[test]
fn an_old_view_sees_its_version_behind_thousands_of_others() {
    let hot = Hot::new(1);
    let oldest = hot.store().read_view();
    let mut views = vec![(oldest, 0)];
    for round in 0..8 {
        let first = 1000 * round + 1;
        hot.commit_each(first..first + 300);
        views.push((hot.store().read_view(), first + 299));
        let mut trx = hot.store().begin();
        hot.update(&mut trx, first + 300..first + 900);
        let savepoint = trx.savepoint();
        hot.update(&mut trx, first + 900..first + 1000);
        trx.roll_back_to(savepoint).unwrap();
        let _not_waited_for = trx.commit().unwrap();
        views.push((hot.store().read_view(), first + 899));
    }
    for (view, version) in &views {
        let reads = hot.sees(view, *version);
        assert!(reads <= 90, "{reads} records for version {version}");
    }
    // A row that was deleted and came again has one chain.
    let counters = Counters::default();
    let before = hot.store().read_view();
    for version in 9000..9500 {
        let mut trx = hot.store().begin();
        assert!(hot.table.delete(&mut trx, &[Value::Int(1)], &counters).unwrap());
        let _not_waited_for = trx.commit().unwrap();
        let mut trx = hot.store().begin();
        hot.table.insert(&mut trx, &Hot::row(version), &counters).unwrap();
        let _not_waited_for = trx.commit().unwrap();
    }
    views.push((before, 7900));
    for (view, version) in &views {
        let reads = hot.sees(view, *version);
        assert!(reads <= 110, "{reads} records for version {version}");
    }
    // The oldest views end, and what was before the others is purged.
    while !views.is_empty() {
        views.remove(0);
        hot.store().purge().unwrap();
        views.iter().for_each(|(view, version)| assert!(hot.sees(view, *version) <= 110));
    }
    hot.is_at_rest(9499);
}

/// A reader of an old view meets the entries of all later versions, and asks once what it sees of their row.
#[test]
fn the_entries_of_a_hot_row_ask_for_their_row_once() {
    let hot = Hot::new(2);
    let view = hot.store().read_view();
    hot.commit_each(1..VERSIONS);
    let middle = hot.store().read_view();
    let mut trx = hot.store().begin();
    hot.update(&mut trx, VERSIONS..3 * VERSIONS);
    for (ordered, reverse) in [(false, false), (true, false), (true, true)] {
        for (view, version) in [(&view, 0), (&middle, VERSIONS - 1), (&view, 0)] {
            let request =
                ScanRequest { view: Arc::clone(view), index: 2, ordered, reverse, ..scan_request(vec![0, 1, 2, 3]) };
            let reads = hot.reads(|| {
                let mut cursor = Scan::new(Arc::clone(&hot.table), request).unwrap().cursor();
                let batch = cursor.next_batch().unwrap().expect("a row");
                let rows = rows_of(&hot.table.schema().columns, batch.columns(), batch.num_rows());
                assert_eq!(rows, [Hot::row(version)]);
                assert!(cursor.next_batch().unwrap().is_none());
            });
            // Once with the versions of the leaf that a reader does not wait for, once behind it.
            assert!(reads <= 200, "{reads} reads of undo records for version {version}");
        }
    }
    trx.roll_back().unwrap();
    drop((view, middle));
    hot.is_at_rest(VERSIONS - 1);
}

/// Half of the versions may go, the others are needed: the needed ones are not read anew for each that goes.
#[test]
fn purge_before_a_view_reads_the_versions_behind_it_once() {
    let hot = Hot::new(3);
    let old = hot.store().read_view();
    hot.commit_each(1..VERSIONS);
    let middle = hot.store().read_view();
    hot.commit_each(VERSIONS..2 * VERSIONS);
    drop(old);
    let reads = hot.reads(|| hot.store().purge().unwrap());
    assert!((VERSIONS as u64 - 10..=READS_MAX).contains(&reads), "{reads} reads");
    hot.sees(&middle, VERSIONS - 1);
    for tree in &hot.table.trees()[2..] {
        let marked = tree.check(&Counters::default()).unwrap().marked_rows;
        assert_eq!(marked, VERSIONS as u64, "entries of the versions that are needed");
    }
    drop(middle);
    let reads = hot.reads(|| hot.store().purge().unwrap());
    assert!(reads <= READS_MAX, "{reads} reads");
    hot.is_at_rest(2 * VERSIONS - 1);
}

/// Those who begin transactions and help to purge do not read all needed versions of a hot row each.
#[test]
fn those_who_help_purge_read_the_versions_once_together() {
    let hot = Hot::new(3);
    let old = hot.store().read_view();
    hot.commit_each(1..VERSIONS);
    let middle = hot.store().read_view();
    hot.commit_each(VERSIONS..2 * VERSIONS);
    hot.store().transactions().help_purge_from(10);
    drop(old);
    let reads = hot.reads(|| hot.commit_each(2 * VERSIONS..3 * VERSIONS));
    assert!(hot.store().history_length() <= 2 * VERSIONS as usize + 10, "{}", hot.store().history_length());
    assert!(reads <= 3 * READS_MAX, "{reads} reads");
    hot.sees(&middle, VERSIONS - 1);
    drop(middle);
    hot.is_at_rest(3 * VERSIONS - 1);
}

/// A transaction that all views see is purged while another one has made many versions of the same row.
#[test]
fn purge_beside_a_transaction_with_many_versions_passes_them_by() {
    let hot = Hot::new(3);
    let mut trx = hot.store().begin();
    hot.update(&mut trx, 1..VERSIONS);
    let _not_waited_for = trx.commit().unwrap();
    let mut trx = hot.store().begin();
    hot.update(&mut trx, VERSIONS..2 * VERSIONS);
    let reads = hot.reads(|| hot.store().purge().unwrap());
    assert!((VERSIONS as u64 - 10..=READS_MAX).contains(&reads), "{reads} reads");
    let reads = hot.reads(|| trx.roll_back().unwrap());
    assert!(reads <= READS_MAX, "{reads} reads");
    hot.is_at_rest(VERSIONS - 1);
}

/// A key of a unique index that a savepoint may bring back is nobody else's, though the row has had another one twice
/// since then, and purge has passed by.
#[test]
fn a_unique_key_that_may_come_back_is_not_given_away() {
    let counters = Counters::default();
    let unique = |key: i64, value: i64| [key, 0, 0, value].map(Value::Int).to_vec();
    for purged in [false, true] {
        let hot = Hot::new(3);
        let (table, store) = (&hot.table, hot.store());
        let set = |trx: &mut Transaction, value: i64| {
            assert!(table.update(trx, &[Value::Int(1)], &unique(1, value), &counters).unwrap());
        };
        let old = store.read_view();
        for value in [6, 7] {
            let mut earlier = store.begin();
            set(&mut earlier, value);
            let _not_waited_for = earlier.commit().unwrap();
        }
        let mut trx = store.begin();
        set(&mut trx, 6);
        let first = trx.savepoint();
        set(&mut trx, 8);
        let second = trx.savepoint();
        set(&mut trx, 6);
        trx.roll_back_to(second).unwrap();
        drop(old);
        if purged {
            store.purge().unwrap();
        }
        let mut other = store.begin();
        let taken = table.insert(&mut other, &unique(2, 6), &counters);
        assert!(matches!(taken, Err(StorageError::WouldWait)), "{taken:?}");
        other.roll_back().unwrap();
        trx.roll_back_to(first).unwrap();
        let _not_waited_for = trx.commit().unwrap();
        let taken = table.insert_now(&unique(2, 6), &counters);
        assert!(matches!(taken, Err(StorageError::Duplicate { .. })), "{taken:?}");
        table.insert_now(&unique(2, 8), &counters).unwrap();
        store.purge().unwrap();
        for tree in table.trees() {
            let report = tree.check(&counters).unwrap();
            assert_eq!((report.rows, report.marked_rows), (2, 0), "{report:?}");
        }
    }
}

/// Few rows with many versions each, long values among them, by transactions that commit, are rolled back and are cut
/// off; views of all times see what they saw, while purge follows.
#[test]
fn hot_rows_follow_the_model() {
    for seed in 0..6 {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open(&disk);
        let files = store.create_table(&schema()).unwrap();
        let table = open_table(&store, &files);
        let (mut random, mut model) = (Random(seed), Model::new());
        let mut views = Vec::new();
        for round in 0..24 {
            let mut trx = store.begin();
            let mut own = model.clone();
            let mut change = |trx: &mut Transaction, own: &mut Model, count: usize| {
                for _ in 0..count {
                    // A row may be moved to a key that another one has.
                    let changed = change_or_fail(&table, trx, own, &mut random, 0..3);
                    assert!(matches!(changed, Ok(()) | Err(StorageError::Duplicate { .. })), "{changed:?}");
                }
            };
            change(&mut trx, &mut own, 40);
            let (savepoint, at_savepoint) = (trx.savepoint(), own.clone());
            change(&mut trx, &mut own, 60);
            if round % 3 == 0 {
                trx.roll_back_to(savepoint).unwrap();
                own = at_savepoint;
            }
            match random.below(8) {
                0 => {
                    store.log().wait_durable(store.log().current()).unwrap();
                    views.clear();
                    let after = Arc::new(disk.only_synced());
                    let restarted = open(&after);
                    let reopened = open_table(&restarted, &files);
                    restarted.roll_back_losers().unwrap();
                    compare(&reopened, &model, &restarted.read_view());
                    compare_at_rest(&reopened, &model, true);
                    trx.roll_back().unwrap();
                }
                1..3 => trx.roll_back().unwrap(),
                _ => {
                    let _not_waited_for = trx.commit().unwrap();
                    model = own;
                }
            }
            views.push((store.read_view(), model.clone()));
            if random.below(3) == 0 && views.len() > 4 {
                views.remove(random.below(views.len()));
            }
            if random.below(2) == 0 {
                store.purge().unwrap();
            }
            compare(&table, &model, &ReadView::latest());
            views.iter().for_each(|(view, seen)| compare(&table, seen, view));
        }
        drop(views);
        compare_at_rest(&table, &model, false);
        drop((table, store));
        let store = open(&disk);
        compare_at_rest(&open_table(&store, &files), &model, true);
    }
}

/// Measures 100,000 versions of one row: undone, undone after a crash, seen from behind, purged. Run with
/// `cargo test --release -p muster-storage --lib -- --ignored --nocapture hot_row_times`.
#[test]
#[ignore = "a measurement"]
fn hot_row_times() {
    const MANY: i64 = 100_000;
    let timed = |what: &str, act: &mut dyn FnMut()| {
        let start = std::time::Instant::now();
        act();
        println!("  {what:48} {:8.1} ms", start.elapsed().as_secs_f64() * 1e3);
    };
    for indexes in [0, 1, 3] {
        println!("{MANY} versions of one row, {indexes} indexes beside its key");
        let hot = Hot::new(indexes);
        let old = hot.store().read_view();
        let mut trx = Some(hot.store().begin());
        timed("updates by one transaction", &mut || hot.update(trx.as_mut().unwrap(), 1..MANY + 1));
        timed("a read behind them", &mut || assert!(hot.sees(&old, 0) < 110));
        timed("rollback", &mut || trx.take().unwrap().roll_back().unwrap());
        let mut trx = hot.store().begin();
        hot.update(&mut trx, 1..2);
        let savepoint = trx.savepoint();
        hot.update(&mut trx, 2..MANY);
        timed("rollback to a savepoint", &mut || trx.roll_back_to(savepoint).unwrap());
        trx.roll_back().unwrap();
        timed("updates by a transaction each", &mut || hot.commit_each(1..MANY + 1));
        timed("a read behind them", &mut || assert!(hot.sees(&old, 0) < 110));
        let middle = hot.store().read_view();
        let mut trx = Some(hot.store().begin());
        hot.update(trx.as_mut().unwrap(), MANY..2 * MANY);
        timed("rollback beside an old view, and its versions", &mut || trx.take().unwrap().roll_back().unwrap());
        hot.commit_each(MANY..2 * MANY);
        drop(old);
        timed("purge beside a view, of half the versions", &mut || hot.store().purge().unwrap());
        drop(middle);
        timed("purge of the other half", &mut || hot.store().purge().unwrap());
        let mut trx = hot.store().begin();
        hot.update(&mut trx, 1..MANY + 1);
        hot.store().log().wait_durable(hot.store().log().current()).unwrap();
        let store = open(&Arc::new(hot.disk.only_synced()));
        let table = store.open_table(numbers(indexes), hot.files.clone(), TableStatistics::default()).unwrap();
        timed("rollback after a crash", &mut || store.roll_back_losers().unwrap());
        let row = table.get(&[Value::Int(1)], &store.read_view(), &Counters::default()).unwrap();
        assert_eq!(row, Some(Hot::row(2 * MANY - 1)));
    }
}
