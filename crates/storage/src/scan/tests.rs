use super::*;
use crate::{
    ColumnRange, ColumnSchema, Counters, IndexSchema, ReadView, StorageError, TableSchema,
    key::{ByteRange, KeyCodec},
    rows::fixtures::{
        EvenOnes, any_fetch, empty_table, even, home, is_within, number_table, rows_of, scan_request as request,
        sort_rows, sortable, table_and_rows,
    },
    tree::{
        TreeLayout,
        arbitrary::{any_rows, any_schema},
    },
};
use arrow_array::{BooleanArray, RecordBatch};
use muster_types::{KeyPart, SqlType, Value};
use proptest::prelude::*;
use std::ops::Bound;

fn run(table: &Arc<Table>, request: ScanRequest, cursors: usize) -> Vec<Vec<Value>> {
    let types: Vec<_> = request.columns.iter().map(|c| table.schema().columns[*c].clone()).collect();
    let counters = Arc::clone(&request.counters);
    let scan = Scan::new(Arc::clone(table), request).unwrap();
    let mut cursors: Vec<_> = (0..cursors).map(|_| Some(scan.cursor())).collect();
    let mut rows = Vec::new();
    while cursors.iter().any(Option::is_some) {
        for slot in &mut cursors {
            let Some(cursor) = slot else { continue };
            match cursor.next_batch().unwrap() {
                Some(batch) => {
                    assert!(batch.num_rows() > 0);
                    for array in batch.columns() {
                        array.to_data().validate_full().unwrap();
                    }
                    rows.extend(rows_of(&types, batch.columns(), batch.num_rows()));
                }
                None => *slot = None,
            }
        }
    }
    assert_eq!(counters.rows_delivered(), rows.len() as u64);
    rows
}

/// Ranges of an index between values of stored rows, with their bytes, put in order; those that overlap are left out.
/// All keys without any.
fn ranges_between(
    schema: &TableSchema,
    index: usize,
    stored: &[(i64, Vec<Value>)],
    bounds: &[(prop::sample::Index, prop::sample::Index, usize)],
) -> Vec<(KeyRange, ByteRange)> {
    let layout = TreeLayout::new(schema, index);
    let parts = &schema.indexes[index].parts;
    let mut ranges = Vec::new();
    if !stored.is_empty() && !parts.is_empty() {
        for (a, b, len) in bounds {
            let values = |i: &prop::sample::Index| -> Vec<Value> {
                let row = i.get(stored);
                parts.iter().take((*len).max(1)).map(|p| row.1[p.column].clone()).collect()
            };
            let range = KeyRange { lower: Bound::Included(values(a)), upper: Bound::Included(values(b)) };
            let Some(bytes) = layout.key.byte_range(&range).unwrap() else { continue };
            let apart = ranges.iter().all(|(_, r): &(KeyRange, ByteRange)| {
                r.upper.as_ref().is_some_and(|u| *u <= bytes.lower)
                    || bytes.upper.as_ref().is_some_and(|u| *u <= r.lower)
            });
            if apart {
                ranges.push((range, bytes));
            }
        }
    }
    ranges.sort_by(|a, b| a.1.lower.cmp(&b.1.lower));
    if ranges.is_empty() {
        ranges.push((KeyRange::all(), Default::default()));
    }
    ranges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn scans_deliver_what_was_asked_for(
        (schema, rows) in table_and_rows(),
        which in any::<prop::sample::Index>(),
        wanted in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        filtered in proptest::option::of(any::<prop::sample::Index>()),
        index_filtered in proptest::option::of(any::<prop::sample::Index>()),
        ranged in proptest::collection::vec((any::<prop::sample::Index>(), -30i64..40, -30i64..40), 0..3),
        (fetch, batch_rows) in (any_fetch(), 1..80usize),
        bounds in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..4), 0..3),
        (ordered, reverse, cursors, limit) in (any::<bool>(), any::<bool>(), 1usize..4, 0..60usize),
    ) {
        let mut schema = schema;
        schema.indexes[1..].iter_mut().for_each(|i| i.unique = false);
        // So few frames that scans cannot keep what they read.
        let home = home(4096, 64 * 4096);
        let table = empty_table(&home, &schema);
        let counters = Counters::default();
        let mut stored = Vec::new();
        for row in rows {
            match table.insert_now(&row, &counters) {
                Ok(()) => stored.push((stored.len() as i64, row)),
                Err(StorageError::Duplicate { index: 0, .. }) => {}
                Err(e) => prop_assert!(false, "{e}"),
            }
        }
        // The hidden row number goes up with each attempt; its order is that of `stored`.
        let index = which.index(schema.indexes.len());
        let columns: Vec<usize> = wanted.iter().map(|i| i.index(schema.columns.len())).collect();
        let filter_column = filtered.map(|i| i.index(schema.columns.len()));
        let held: Vec<usize> = {
            let layout = TreeLayout::new(&schema, index);
            (0..schema.columns.len()).filter(|c| layout.column_of(*c).is_some()).collect()
        };
        let index_column = index_filtered.filter(|_| !held.is_empty()).map(|i| held[i.index(held.len())]);

        let column_ranges = |columns: &[usize]| -> Vec<ColumnRange> {
            let columns: Vec<usize> =
                columns.iter().copied().filter(|c| ColumnRange::holds(&schema.columns[*c].ty)).collect();
            let range = |(i, least, most): &(prop::sample::Index, i64, i64)| {
                Some(ColumnRange { column: *columns.get(i.index(columns.len().max(1)))?, least: *least, most: *most })
            };
            ranged.iter().filter_map(range).collect()
        };
        let all: Vec<usize> = (0..schema.columns.len()).collect();
        let (row_ranges, entry_ranges) = (column_ranges(&all), column_ranges(&held));

        let sorted = sort_rows(&schema, index, &stored);
        let ranges = ranges_between(&schema, index, &stored, &bounds);
        let inside = |key: &[u8]| ranges.iter().any(|(_, bytes)| bytes.contains(key));
        let within = sorted.iter().filter(|(key, _)| inside(key)).count() as u64;
        let passes = |column: Option<usize>, ranges: &[ColumnRange], row: &[Value]| {
            column.is_none_or(|c| even(&row[c]) == Some(true) && ranges.iter().all(|range| is_within(range, row)))
        };
        let mut want: Vec<Vec<Value>> = sorted
            .iter()
            .filter(|(key, _)| inside(key))
            .filter(|(_, row)| passes(filter_column, &row_ranges, row) && passes(index_column, &entry_ranges, row))
            .map(|(_, row)| columns.iter().map(|c| row[*c].clone()).collect())
            .collect();
        if reverse {
            want.reverse();
        }
        let key_ranges: Vec<KeyRange> = ranges.iter().map(|(range, _)| range.clone()).collect();
        let filter = |column: Option<usize>, ranges: &[ColumnRange]| column.map(|c| {
            let (types, ranges) = (vec![schema.columns[c].clone()], ranges.to_vec());
            Arc::new(EvenOnes { columns: vec![c], types, ranges }) as Arc<dyn BatchFilter>
        });
        let limited = ScanRequest {
            index,
            ranges: key_ranges.clone(),
            fetch,
            batch_rows,
            ordered,
            reverse,
            limit: Some(limit as u64),
            ..request(columns.clone())
        };
        let request = ScanRequest {
            index,
            ranges: key_ranges,
            index_filter: filter(index_column, &entry_ranges),
            filter: filter(filter_column, &row_ranges),
            fetch,
            batch_rows,
            ordered,
            reverse,
            ..request(columns)
        };
        let counters = Arc::clone(&request.counters);
        let singles = schema.indexes[index].unique && request.ranges.iter().all(|r| r != &KeyRange::all());
        let got = run(&table, request, if ordered { 1 } else { cursors });
        if ordered {
            prop_assert_eq!(&got, &want);
        } else {
            prop_assert_eq!(sortable(&got), sortable(&want));
        }
        let onward = counters.entries_forward() + counters.entries_backward() + counters.rows_scanned();
        prop_assert!(onward == within || singles && onward <= within, "{} of {}", onward, within);
        let begun = counters.key_lookups() + counters.first_lookups() + counters.last_lookups();
        let whole = counters.rows_scanned() > 0 || index == 0 && !ordered && begun == 0;
        prop_assert_eq!(begun, if whole { 0 } else { ranges.len() as u64 });
        // Without conditions, no more is read than is wanted.
        if filter_column.is_none() && index_column.is_none() {
            let counters = Arc::clone(&limited.counters);
            let got = run(&table, limited, 1);
            let onward = counters.entries_forward() + counters.entries_backward() + counters.rows_scanned();
            prop_assert!(onward <= limit as u64, "{} of {}", onward, limit);
            prop_assert_eq!(got.len(), want.len().min(limit));
            if ordered {
                want.truncate(limit);
                prop_assert_eq!(got, want);
            }
        }
    }

    #[test]
    fn changes_keep_all_trees_in_step(
        (schema, rows, unique) in any_schema().prop_flat_map(|s| {
            let rows = any_rows(&s, 40..41);
            (Just(s), rows, any::<bool>())
        }),
        ops in proptest::collection::vec((0..3, 0usize..40, 0usize..40), 0..150),
    ) {
        let mut schema = schema;
        schema.indexes[1..].iter_mut().for_each(|i| i.unique &= unique);
        prop_assume!(!schema.indexes[0].parts.is_empty());
        let home = home(4096, 256 * 4096);
        let table = empty_table(&home, &schema);
        let counters = Counters::default();
        let key_values = |row: &[Value]| -> Vec<Value> {
            schema.indexes[0].parts.iter().map(|p| row[p.column].clone()).collect()
        };
        let codecs: Vec<(KeyCodec, TreeLayout)> = (0..schema.indexes.len())
            .map(|i| TreeLayout::new(&schema, i))
            .map(|layout| {
                let declared = if layout.unique { layout.declared_parts } else { 0 };
                (KeyCodec { parts: layout.key.parts[..declared].to_vec() }, layout)
            })
            .collect();
        // The unique keys of a row: the bytes for each unique index, unless a part is NULL.
        let uniques = |row: &[Value]| -> Vec<Option<Vec<u8>>> {
            codecs.iter().map(|(codec, layout)| {
                let stored = layout.stored_values(row, 0).into_owned();
                let values: Vec<Value> = codec.parts.iter().map(|p| stored[p.column].clone()).collect();
                if values.is_empty() || values.iter().any(Value::is_null) {
                    return None;
                }
                let mut bytes = Vec::new();
                codec.append_values(&values, &mut bytes).unwrap();
                Some(bytes)
            }).collect()
        };
        let clash = |a: &[Value], b: &[Value]| {
            uniques(a).iter().zip(uniques(b)).any(|(a, b)| a.is_some() && *a == b)
        };
        let mut model: Vec<Vec<Value>> = Vec::new();
        for (op, a, b) in ops {
            let (row, other) = (&rows[a], &rows[b]);
            let at = model.iter().position(|r| uniques(r)[0] == uniques(row)[0]);
            match op {
                0 => {
                    let taken = model.iter().any(|r| clash(r, row));
                    match table.insert_now(row, &counters) {
                        Ok(()) => {
                            prop_assert!(!taken);
                            model.push(row.clone());
                        }
                        Err(StorageError::Duplicate { .. }) => prop_assert!(taken),
                        Err(e) => prop_assert!(false, "{e}"),
                    }
                }
                1 => {
                    prop_assert_eq!(table.delete_now(&key_values(row), &counters).unwrap(), at.is_some());
                    at.map(|at| model.remove(at));
                }
                _ => {
                    let taken = model.iter().enumerate().any(|(i, r)| Some(i) != at && clash(r, other));
                    match table.update_now(&key_values(row), other, &counters) {
                        Ok(found) => {
                            prop_assert_eq!(found, at.is_some());
                            if let Some(at) = at {
                                prop_assert!(!taken);
                                model[at] = other.clone();
                            }
                        }
                        Err(StorageError::Duplicate { .. }) => prop_assert!(taken && at.is_some()),
                        Err(e) => prop_assert!(false, "{e}"),
                    }
                }
            }
            let want = model.iter().find(|r| uniques(r)[0] == uniques(row)[0]).cloned();
            prop_assert_eq!(table.get(&key_values(row), &ReadView::latest(), &counters).unwrap(), want);
        }
        for tree in table.trees() {
            prop_assert_eq!(tree.check(&counters).unwrap().rows, model.len() as u64);
        }
        let all: Vec<usize> = (0..schema.columns.len()).collect();
        for index in 0..schema.indexes.len() {
            let got = run(&table, ScanRequest { index, ..request(all.clone()) }, 1);
            prop_assert_eq!(sortable(&got), sortable(&model));
        }
    }
}

#[test]
fn handlers_are_counted_as_mysql_does() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 3000);
    let count = |r: ScanRequest| {
        let counters = Arc::clone(&r.counters);
        let rows = run(&table, r, 1).len() as u64;
        let c = &*counters;
        let key = [c.first_lookups(), c.last_lookups(), c.key_lookups()];
        (rows, key, [c.entries_forward(), c.entries_backward(), c.rows_scanned(), c.rows_fetched()])
    };
    let eq = |n: i64| KeyRange::prefix(vec![Value::Int(n)]);
    let between = |a: i64, b: i64| KeyRange {
        lower: Bound::Included(vec![Value::Int(a)]),
        upper: Bound::Excluded(vec![Value::Int(b)]),
    };
    assert_eq!(count(request(vec![1])), (3000, [0, 0, 0], [0, 0, 3000, 0]));
    assert_eq!(count(ScanRequest { ordered: true, ..request(vec![1]) }), (3000, [1, 0, 0], [3000, 0, 0, 0]));
    let backward = ScanRequest { ordered: true, reverse: true, ..request(vec![1]) };
    assert_eq!(count(backward), (3000, [0, 1, 0], [0, 3000, 0, 0]));
    let lookups = ScanRequest { ranges: vec![eq(3), eq(700), eq(5000)], ..request(vec![1]) };
    assert_eq!(count(lookups), (2, [0, 0, 3], [0, 0, 0, 0]));
    let range = ScanRequest { index: 1, ranges: vec![between(10, 60)], ..request(vec![0, 1]) };
    assert_eq!(count(range), (50, [0, 0, 1], [50, 0, 0, 0]));
    let fetched = ScanRequest { index: 1, ranges: vec![between(10, 60)], ..request(vec![2]) };
    assert_eq!(count(fetched), (50, [0, 0, 1], [50, 0, 0, 50]));
    // An index condition saves the fetch; the same condition on rows does not.
    let types = vec![table.schema().columns[1].clone()];
    let filter: Arc<dyn BatchFilter> = Arc::new(EvenOnes { columns: vec![1], types, ranges: Vec::new() });
    let kept = (10..60).filter(|n| even(&Value::Int(*n)) == Some(true)).count() as u64;
    let range = |columns| ScanRequest { index: 1, ranges: vec![between(10, 60)], ..request(columns) };
    let icp = ScanRequest { index_filter: Some(Arc::clone(&filter)), ..range(vec![2]) };
    let counters = Arc::clone(&icp.counters);
    assert_eq!(count(icp), (kept, [0, 0, 1], [50, 0, 0, kept]));
    assert_eq!((counters.entries_tested(), counters.entries_passed()), (50, kept));
    let rows = ScanRequest { filter: Some(Arc::clone(&filter)), ..range(vec![2]) };
    assert_eq!(count(rows), (kept, [0, 0, 1], [50, 0, 0, 50]));
    // If no row is fetched, the index filter is a condition like any other.
    let covered = ScanRequest { index_filter: Some(Arc::clone(&filter)), ..range(vec![0]) };
    let counters = Arc::clone(&covered.counters);
    assert_eq!(count(covered), (kept, [0, 0, 1], [50, 0, 0, 0]));
    assert_eq!((counters.entries_tested(), counters.key_order_fetches()), (0, 0));
    let unheld = ScanRequest { index: 1, index_filter: Some(filter), ..request(vec![0]) };
    assert!(Scan::new(Arc::clone(&table), ScanRequest { index: 0, ..unheld }).is_ok());
    // Passes of a buffer of primary keys (4 bytes each).
    for (fetch, mrr) in [
        (Fetch::EntryOrder, [0, 0]),
        (Fetch::KeyOrder { buffer_bytes: 200 }, [1, 0]),
        (Fetch::KeyOrder { buffer_bytes: 199 }, [1, 1]),
        (Fetch::KeyOrder { buffer_bytes: 40 }, [1, 4]),
        (Fetch::KeyOrder { buffer_bytes: 1 }, [1, 49]),
    ] {
        for ordered in [false, true] {
            let r = ScanRequest { fetch, ordered, batch_rows: 7, ..range(vec![2]) };
            let counters = Arc::clone(&r.counters);
            assert_eq!(count(r), (50, [0, 0, 1], [50, 0, 0, 50]));
            assert_eq!([counters.key_order_fetches(), counters.fetch_buffer_refills()], mrr, "{fetch:?} {ordered}");
        }
    }
    assert_eq!(count(ScanRequest { ranges: vec![], ..request(vec![1]) }), (0, [0; 3], [0; 4]));
    // A limit without conditions: what follows the last row is not seen.
    let first = |n, r: ScanRequest| ScanRequest { limit: Some(n), ..r };
    assert_eq!(count(first(10, request(vec![1]))), (10, [0, 0, 0], [0, 0, 10, 0]));
    let in_order = |reverse| ScanRequest { index: 1, ordered: true, reverse, ..request(vec![1]) };
    assert_eq!(count(first(10, in_order(false))), (10, [1, 0, 0], [9, 0, 0, 0]));
    assert_eq!(count(first(1, in_order(true))), (1, [0, 1, 0], [0; 4]));
    assert_eq!(count(first(5, range(vec![2]))), (5, [0, 0, 1], [4, 0, 0, 5]));
    assert_eq!(count(first(0, range(vec![2]))), (0, [0; 3], [0; 4]));
}

/// A list of values of which the first half is in no row.
#[test]
fn many_ranges_are_estimated_from_some() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 1000);
    let points: Vec<KeyRange> = (-1000..1000).map(|n| KeyRange::prefix(vec![Value::Int(n)])).collect();
    assert_eq!(table.estimate_rows(0, &points).unwrap(), 1000);
}

#[test]
fn a_scan_of_no_columns_counts_rows() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 1000);
    let scan = Scan::new(Arc::clone(&table), request(vec![])).unwrap();
    let mut cursor = scan.cursor();
    let mut rows = 0;
    while let Some(batch) = cursor.next_batch().unwrap() {
        rows += batch.num_rows();
    }
    assert_eq!(rows, 1000);
}

/// The hidden row number is a column behind the declared ones, in every index.
#[test]
fn row_numbers_can_be_read() {
    let home = home(4096, 1 << 22);
    let column = ColumnSchema { ty: SqlType::BIGINT, nullable: true };
    let part = KeyPart { column: 0, prefix: None, descending: false };
    let index = |id, parts| IndexSchema { id, parts, unique: false };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![column; 2],
        indexes: vec![index(0, vec![]), index(1, vec![part.clone()])],
    };
    let table = empty_table(&home, &schema);
    for n in [30, 10, 20] {
        table.insert_now(&[Value::Int(n), Value::Int(-n)], &Counters::default()).unwrap();
    }
    let numbers = |index: usize, columns: Vec<usize>| {
        let scan = Scan::new(Arc::clone(&table), ScanRequest { index, ordered: true, ..request(columns) }).unwrap();
        let batch = scan.cursor().next_batch().unwrap().unwrap();
        let types = vec![ColumnSchema { ty: SqlType::BIGINT, nullable: true }; batch.num_columns()];
        rows_of(&types, batch.columns(), batch.num_rows())
    };
    let pair = |n, number| vec![Value::Int(n), Value::Int(number)];
    assert_eq!(numbers(0, vec![0, 2]), [pair(30, 1), pair(10, 2), pair(20, 3)]);
    assert_eq!(numbers(1, vec![0, 2]), [pair(10, 2), pair(20, 3), pair(30, 1)]);
    assert_eq!(numbers(1, vec![1, 2]), [pair(-10, 2), pair(-20, 3), pair(-30, 1)]);

    let keyed = TableSchema { indexes: vec![index(0, vec![part])], ..schema };
    let table = empty_table(&home, &keyed);
    assert!(matches!(Scan::new(table, request(vec![2])), Err(StorageError::WrongType { .. })));
}

#[test]
fn an_ordered_scan_fetches_no_more_than_it_must() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 3000);
    let r = ScanRequest { index: 1, ordered: true, batch_rows: 1000, ..request(vec![2]) };
    let counters = Arc::clone(&r.counters);
    let scan = Scan::new(Arc::clone(&table), r).unwrap();
    let first = scan.cursor().next_batch().unwrap().unwrap();
    assert!(first.num_rows() <= 500 && counters.rows_fetched() <= 500, "{}", first.num_rows());
}

#[test]
fn a_failing_filter_ends_the_scan() {
    struct Failing;
    impl BatchFilter for Failing {
        fn columns(&self) -> &[usize] {
            &[0]
        }
        fn ranges(&self) -> &[ColumnRange] {
            &[]
        }
        fn evaluate(&self, _: &RecordBatch) -> Result<BooleanArray> {
            Err(StorageError::Interrupted)
        }
    }
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 100);
    let scan = Scan::new(table, ScanRequest { filter: Some(Arc::new(Failing)), ..request(vec![1]) }).unwrap();
    assert!(matches!(scan.cursor().next_batch(), Err(StorageError::Interrupted)));
}

#[test]
fn dropped_files_go_with_the_last_reference() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 10);
    let files = table.files().to_vec();
    let again = Arc::clone(&table);
    table.remove_files_when_unused(&files[1..]);
    drop(table);
    assert_eq!(run(&again, request(vec![0]), 1).len(), 10);
    again.flush().unwrap();
    drop(again);
    assert!(home.store.open_file(files[0]).is_ok());
    assert!(home.store.open_file(files[1]).is_err());
}

/// Rows that stay are seen by every scan, whatever a writer does around them, and nobody waits forever.
#[test]
fn scans_go_on_while_a_writer_works() {
    let home = home(4096, 128 * 4096);
    let table = number_table(&home, 2000);
    let done = std::sync::atomic::AtomicBool::new(false);
    let stays = |rows: Vec<Vec<Value>>| {
        let mut numbers: Vec<i64> = rows
            .iter()
            .filter_map(|r| match r[0] {
                Value::Int(n) if n < 2000 => Some(n),
                _ => None,
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..2000).collect::<Vec<_>>());
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let counters = Counters::default();
            for round in 0..2 {
                for n in 2000..2200 {
                    let row = [n, n * 13 % 2000, round].map(Value::Int);
                    table.insert_now(&row, &counters).unwrap();
                }
                for n in 2000..2200 {
                    table.update_now(&[Value::Int(n)], &[n, n * 17 % 2000, 5].map(Value::Int), &counters).unwrap();
                    assert!(table.delete_now(&[Value::Int(n)], &counters).unwrap());
                }
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        for (index, ordered, reverse) in [(0, false, false), (1, true, true)] {
            let (table, done, stays) = (&table, &done, &stays);
            threads.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::Acquire) {
                    stays(run(table, ScanRequest { index, ordered, reverse, ..request(vec![0, 2]) }, 1));
                }
            });
        }
    });
    for tree in table.trees() {
        tree.check(&Counters::default()).unwrap();
    }
}
