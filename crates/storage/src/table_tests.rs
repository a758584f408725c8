//! Changes of rows: with a fault at every position, and seen by readers.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, Scan, ScanRequest,
    buffer_pool::PageGuard,
    io::simulated::{DiskFault, FaultKind, Operation},
    rows::fixtures::{empty_table, home, home_with_faults, scan_request, sortable},
    schema::ColumnOrigin,
};
use muster_types::{BytesKind, Collation, KeyPart, SqlType};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

/// A number, a short text, and bytes that may be too long for a page.
type Row = (i64, String, Vec<u8>);
type Model = BTreeMap<i64, Row>;

fn values((number, text, bytes): &Row) -> Vec<Value> {
    vec![Value::Int(*number), Value::Text(text.clone()), Value::Bytes(bytes.clone())]
}

fn schema() -> TableSchema {
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let column = |ty| ColumnSchema { ty, nullable: false };
    let bytes = SqlType::Bytes { kind: BytesKind::Blob, length: 65535 };
    let index =
        |id, columns: &[usize], unique| IndexSchema { id, parts: columns.iter().copied().map(part).collect(), unique };
    TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::INT), column(SqlType::varchar(200, Collation::DEFAULT)), column(bytes)],
        indexes: vec![index(1, &[0], true), index(2, &[1, 0], true)],
    }
}

/// The rows that an index leads to.
fn rows_by(table: &Arc<Table>, index: usize) -> Vec<Vec<Value>> {
    let view = table.store().read_view();
    let request = ScanRequest { view, index, ordered: true, batch_rows: 10_000, ..scan_request(vec![0, 1, 2]) };
    let scan = Scan::new(Arc::clone(table), request).unwrap();
    let mut cursor = scan.cursor();
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        rows.extend(crate::rows::fixtures::rows_of(&table.schema().columns, batch.columns(), batch.num_rows()));
    }
    rows
}

/// All trees are sound and hold the model's rows.
fn compare(table: &Arc<Table>, model: &Model, context: &str) {
    let counters = Counters::default();
    for tree in table.trees() {
        let report = tree.check(&counters).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert_eq!((report.rows, report.lost_pages), (model.len() as u64, 0), "{context}");
    }
    let want: Vec<Vec<Value>> = model.values().map(values).collect();
    assert_eq!(rows_by(table, 0), want, "{context}");
    assert_eq!(sortable(&rows_by(table, 1)), sortable(&want), "{context}");
}

/// A change of the table: one of each kind that matters to the shape of the trees.
enum Op {
    Insert(Row),
    Update(i64, Row),
    Delete(i64),
}

impl Op {
    fn apply(&self, table: &Table) -> Result<()> {
        let counters = Counters::default();
        match self {
            Op::Insert(row) => table.insert_now(&values(row), &counters),
            Op::Update(key, row) => {
                table.update_now(&[Value::Int(*key)], &values(row), &counters).map(|found| assert!(found))
            }
            Op::Delete(key) => table.delete_now(&[Value::Int(*key)], &counters).map(|found| assert!(found)),
        }
    }

    fn apply_to(&self, model: &mut Model) {
        match self {
            Op::Insert(row) => drop(model.insert(row.0, row.clone())),
            Op::Update(key, row) => {
                model.remove(key);
                model.insert(row.0, row.clone());
            }
            Op::Delete(key) => drop(model.remove(key)),
        }
    }
}

fn row(number: i64, tag: &str, bytes: usize) -> Row {
    (number, format!("{tag} {:03} {}", number * 7919 % 1000, "x".repeat(100)), vec![number as u8; bytes])
}

/// Rows that split leaves and inner pages, go to other leaves, get long values and lose them, and merge pages again.
fn history() -> Vec<Op> {
    let mut ops: Vec<Op> = (0..150).map(|n| Op::Insert(row(n * 37 % 151, "first", 60))).collect();
    ops.extend((0..20).map(|n| Op::Update(n * 5, row(n * 5, "second", 10_000))));
    ops.extend((0..20).map(|n| Op::Update(n * 5 + 1, row(n * 5 + 1000, "third", 300))));
    ops.extend((0..20).map(|n| Op::Update(n * 5, row(n * 5, "fourth", 10))));
    ops.extend((0..90).map(|n| Op::Delete(n * 37 % 151)).filter(|op| match op {
        Op::Delete(key) => key % 5 > 1 || *key > 100,
        _ => true,
    }));
    ops
}

/// Runs the history on a table in memory. Before each change that `faults` picks, faults are injected one position
/// after the other until the change does not meet them any more; each one that it meets must leave the table as it was.
fn survive(faults: &[(Operation, FaultKind)], forever: bool, every: usize) {
    let (home, io) = home_with_faults(4096, 40);
    let table = empty_table(&home, &schema());
    let mut model = Model::new();
    let mut met = 0;
    for (i, op) in history().iter().enumerate() {
        let mut done = false;
        for (on, kind) in faults.iter().filter(|_| i % every == 0) {
            for after in 0.. {
                // Nothing in memory, so that pages must be read, and changed pages written.
                home.store.buffer_pool().clear(home.store.counters()).unwrap();
                io.inject(DiskFault { on: *on, after, kind: *kind, forever });
                let result = op.apply(&table);
                io.clear_faults();
                let context = format!("change {i}, fault at {on:?} {after}: {result:?}");
                if result.is_ok() {
                    done = true;
                    op.apply_to(&mut model);
                    compare(&table, &model, &context);
                    break;
                }
                assert!(matches!(result, Err(StorageError::Io { .. } | StorageError::DiskFull { .. })), "{context}");
                met += 1;
                compare(&table, &model, &context);
            }
            if done {
                break;
            }
        }
        if !done {
            op.apply(&table).unwrap_or_else(|e| panic!("change {i}: {e}"));
            op.apply_to(&mut model);
        }
    }
    compare(&table, &model, "at the end");
    assert!(met > 0, "no fault was met");
}

#[test]
fn a_failed_read_leaves_all_rows_where_they_were() {
    survive(&[(Operation::Read, FaultKind::Error(libc::EIO))], false, 3);
    survive(&[(Operation::Read, FaultKind::Error(libc::EIO))], true, 7);
}

#[test]
fn a_full_disk_leaves_all_rows_where_they_were() {
    survive(&[(Operation::Allocate, FaultKind::Error(libc::ENOSPC))], true, 1);
}

/// The pool has fewer and fewer frames for a change until it cannot be made.
#[test]
fn a_pool_without_frames_leaves_all_rows_where_they_were() {
    let (home, _io) = home_with_faults(4096, 40);
    let table = empty_table(&home, &schema());
    let other = empty_table(&home, &schema());
    let mut model = Model::new();
    for n in 0..400 {
        let filler = row(n, "filler", 300);
        other.insert_now(&values(&filler), &Counters::default()).unwrap();
    }
    let pool = home.store.buffer_pool();
    let mut failed = 0;
    for (i, op) in history().iter().enumerate() {
        for free in (0..30).filter(|_| i % 5 == 0) {
            pool.clear(home.store.counters()).unwrap();
            let file = other.tree(0).file();
            let pinned: Vec<PageGuard> =
                (1..=40 - free).map(|page| pool.fetch(file, page, home.store.counters()).unwrap()).collect();
            let result = op.apply(&table);
            drop(pinned);
            match result {
                Ok(()) => {
                    op.apply_to(&mut model);
                    compare(&table, &model, &format!("change {i} with {free} frames"));
                    break;
                }
                Err(StorageError::NoFreeFrame { .. }) => {
                    failed += 1;
                    compare(&table, &model, &format!("change {i} failed with {free} frames"));
                }
                Err(e) => panic!("change {i} with {free} frames: {e}"),
            }
        }
        if i % 5 != 0 {
            op.apply(&table).unwrap();
            op.apply_to(&mut model);
        }
    }
    assert!(failed > 50, "{failed}");
}

/// A reader sees a row before a change or after it, in each step of reading: never neither, never both.
#[test]
fn readers_see_a_row_before_an_update_or_after_it() {
    let home = home(4096, 1 << 20);
    let table = empty_table(&home, &schema());
    let counters = Counters::default();
    for n in 0..20 {
        table.insert_now(&values(&row(n, "still", 20)), &counters).unwrap();
    }
    let states = [row(5, "before", 30), row(500, "after", 700)];
    table.update_now(&[Value::Int(5)], &values(&states[0]), &counters).unwrap();
    let left = [AtomicU64::new(2000), AtomicU64::new(2000)];
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for i in 0.. {
                let (from, to) = (&states[i % 2], &states[(i + 1) % 2]);
                table.update_now(&[Value::Int(from.0)], &values(to), &Counters::default()).unwrap();
                if left.iter().all(|left| left.load(Ordering::Acquire) == 0) {
                    return;
                }
            }
        });
        for (index, left) in left.iter().enumerate() {
            let (table, states) = (&table, &states);
            threads.spawn(move || {
                while left.load(Ordering::Acquire) > 0 {
                    // In case of a panic the writer ends too.
                    left.fetch_sub(1, Ordering::AcqRel);
                    let rows = rows_by(table, index);
                    let moving: Vec<_> =
                        rows.iter().filter(|row| states.iter().any(|s| row[0] == Value::Int(s.0))).collect();
                    let seen = (rows.len() == 20 && moving.len() == 1).then(|| moving[0]);
                    if !states.iter().any(|s| seen == Some(&values(s))) {
                        left.store(0, Ordering::Release);
                        panic!("by index {index}: {} rows, {moving:?}", rows.len());
                    }
                }
            });
        }
    });
    for tree in table.trees() {
        tree.check(&counters).unwrap();
    }
}

#[test]
fn pages_of_a_refused_row_are_free_in_a_table_that_is_closed() {
    let (home, _io) = home_with_faults(4096, 40);
    let table = empty_table(&home, &schema());
    let twice = values(&row(1, "twice", 10_000));
    table.insert_now(&twice, &Counters::default()).unwrap();
    assert!(matches!(table.insert_now(&twice, &Counters::default()), Err(StorageError::Duplicate { .. })));
    table.flush().unwrap();
    // Opened again, a table does not know what the one before has left behind.
    let again = home.store.open_table(schema(), table.files().to_vec(), TableStatistics::default()).unwrap();
    let report = again.tree(0).check(&Counters::default()).unwrap();
    assert_eq!((report.overflow_pages, report.free_pages, report.lost_pages), (3, 3, 0), "{report:?}");
}

/// A table that is opened anew may still be changed by who has opened it before.
#[test]
fn openings_of_a_table_share_the_guards_of_its_rows_and_pages_to_be_freed() {
    let home = home(4096, 64 * 4096);
    let former = empty_table(&home, &schema());
    let again = home.store.open_table(schema(), former.files().to_vec(), TableStatistics::default()).unwrap();
    assert!(again.may_be_changed_now());
    let unchanged = former.without_changes();
    assert!(!again.may_be_changed_now());
    drop(unchanged);
    let (counters, values) = (Counters::default(), values(&row(1, "one", 10_000)));
    former.insert_now(&values, &counters).unwrap();
    // The pages of a row that was refused.
    assert!(former.insert_now(&values, &counters).is_err());
    drop(former);
    assert!(again.delete_now(&values[..1], &counters).unwrap());
    assert!(again.is_empty().unwrap());
    let report = again.tree(0).check(&counters).unwrap();
    assert_eq!((report.overflow_pages, report.free_pages, report.lost_pages), (0, 6, 0), "{report:?}");
}

/// A table that is opened anew with another row layout is not changed in the former one any more, nor opened in it.
#[test]
fn a_former_row_layout_is_read_only() {
    let home = home(4096, 64 * 4096);
    let (counters, before) = (Counters::default(), schema());
    let former = empty_table(&home, &before);
    // Values that differ, so that there are many leaves.
    let text = |number: i64| Value::Text(format!("{number:190}"));
    let row = |number: i64| vec![Value::Int(number), text(number), Value::Bytes(vec![number as u8; 300])];
    for number in 0..50 {
        former.insert_now(&row(number), &counters).unwrap();
    }
    let long = [row(60)[..2].to_vec(), vec![Value::Bytes(vec![1; 10_000])]].concat();
    former.insert_now(&long, &counters).unwrap();
    let key = former.tree(0).key_of_values(&long).unwrap();
    let record = former.tree(0).current(&key, &counters).unwrap().unwrap().record;
    let new = ColumnSchema { ty: SqlType::INT, nullable: false };
    let origins = [ColumnOrigin::Column(0), ColumnOrigin::New(Value::Int(5)), ColumnOrigin::Column(1)];
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let after = TableSchema {
        layouts: Arc::new(before.layouts.next(&before.columns, &origins).unwrap()),
        columns: vec![before.columns[0].clone(), new, before.columns[1].clone()],
        indexes: vec![
            before.indexes[0].clone(),
            IndexSchema { parts: vec![part(2), part(0)], ..before.indexes[1].clone() },
        ],
    };
    let store = Arc::clone(&home.store);
    let open =
        |schema: &TableSchema| store.open_table(schema.clone(), former.files().to_vec(), TableStatistics::default());
    let newest = open(&after).unwrap();
    let changed = former.insert_now(&row(100), &counters);
    assert!(matches!(changed, Err(StorageError::SnapshotTooOld)), "{changed:?}");
    assert!(matches!(former.delete_now(&[Value::Int(3)], &counters), Err(StorageError::SnapshotTooOld)));
    assert!(matches!(open(&before), Err(StorageError::SnapshotTooOld)));

    // Its leaves are read as they are until one is of the newest layout.
    let get = |table: &Arc<Table>, number| table.get(&[Value::Int(number)], &store.read_view(), &counters);
    assert_eq!(get(&former, 3).unwrap(), Some(row(3)));
    newest.delete_now(&[Value::Int(3)], &counters).unwrap();
    assert!(matches!(get(&former, 4), Err(StorageError::SnapshotTooOld)));
    assert_eq!(get(&former, 49).unwrap(), Some(row(49)));
    assert_eq!(get(&newest, 4).unwrap(), Some(vec![Value::Int(4), Value::Int(5), text(4)]));
    assert_eq!(get(&newest, 3).unwrap(), None);
    newest.check(&counters, &mut || Ok(())).unwrap();

    // Purge that was under way in it still frees long values of versions, which nobody would do later.
    let free_pages = || newest.tree(0).file().header().free_count;
    let free = free_pages();
    former.free_long_values(0, &record).unwrap();
    assert_eq!(free_pages(), free + 3);
}
