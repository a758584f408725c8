use super::*;
use crate::{
    ColumnSchema, IndexSchema, Scan, ScanRequest, Store, StoreOptions, TableSchema, TableStatistics,
    io::{
        Disk,
        simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    },
    key::KeyPartCodec,
    rows::fixtures::{
        EvenOnes, Home, any_fetch, batch_of, empty_table, even, home, loaded_table, number_table, rows_of,
        scan_request, sort_rows, sortable, table_and_rows,
    },
    tree::{ColumnSource, TreeLayout, page::block::cut_value},
};
use arrow_array::{Array, ArrayRef, Int32Array, cast::AsArray, types::Int32Type};
use muster_types::{KeyPart, SqlType, Value};
use proptest::prelude::*;
use std::time::{Duration, Instant};

type FoundRows = Vec<(u32, Vec<Value>)>;

fn request(index: usize, columns: Vec<usize>) -> LookupRequest {
    LookupRequest {
        view: ReadView::latest(),
        index,
        columns,
        index_filter: None,
        filter: None,
        fetch: Fetch::KeyOrder { buffer_bytes: 1 << 18 },
        batched: true,
        batch_rows: 50,
        counters: Arc::default(),
    }
}

/// All that is left of the keys begun with.
fn drain(table: &Table, lookup: &mut Lookup) -> Result<FoundRows> {
    let columns = lookup.access.output.columns.clone();
    let types: Vec<_> = columns.iter().map(|c| table.schema().columns[*c].clone()).collect();
    let mut found = Vec::new();
    while let Some((batch, ordinals)) = lookup.next_batch()? {
        assert!(batch.num_rows() > 0 && batch.num_rows() == ordinals.len());
        for array in batch.columns() {
            array.to_data().validate_full().unwrap();
        }
        found.extend(ordinals.into_iter().zip(rows_of(&types, batch.columns(), batch.num_rows())));
    }
    Ok(found)
}

fn keys_of(list: &[Vec<u8>]) -> Keys {
    let mut keys = Keys::default();
    list.iter().for_each(|key| keys.push(key));
    keys
}

fn fill(table: &Table, rows: Vec<Vec<Value>>) -> Vec<(i64, Vec<Value>)> {
    let mut stored: Vec<(i64, Vec<Value>)> = Vec::new();
    for row in rows {
        match table.insert_now(&row, &Counters::default()) {
            // Row numbers go up with each attempt; their order is that of `stored`.
            Ok(()) => stored.push((stored.len() as i64, row)),
            Err(StorageError::Duplicate { .. }) => {}
            Err(e) => panic!("{e}"),
        }
    }
    stored
}

/// How often a buffer of so many bytes is filled with these keys.
fn fills(keys: impl Iterator<Item = usize>, buffer_bytes: usize) -> u64 {
    let (mut fills, mut left) = (0, 0);
    for len in keys {
        if len > left {
            fills += 1;
            left = buffer_bytes.max(len);
        }
        left -= len;
    }
    fills
}

#[derive(Debug, Clone)]
struct How {
    batched: bool,
    fetch: Fetch,
    batch_rows: usize,
    frames: usize,
}

fn how() -> impl Strategy<Value = How> {
    // The rows are inserted through the same pool, and a change keeps the pages of all trees that it touches latched.
    let frames = prop_oneof![Just(32usize), Just(64), Just(2000)];
    (any::<bool>(), any_fetch(), 1..80usize, frames).prop_map(|(batched, fetch, batch_rows, frames)| How {
        batched,
        fetch,
        batch_rows,
        frames,
    })
}

/// The table's columns that a key consists of, up to the hidden row number.
fn key_columns(layout: &TreeLayout) -> Vec<usize> {
    let table_column = |part: &KeyPartCodec| match layout.columns[part.column].source {
        ColumnSource::Table { column, .. } => Some(column),
        ColumnSource::RowNumber => None,
    };
    layout.key.parts.iter().map_while(table_column).collect()
}

/// The keys of some rows, ascending and distinct. Each must be what the values of its row encode to.
fn checked_keys(table: &Table, index: usize, columns: &[usize], rows: &[Vec<Value>]) -> Vec<Vec<u8>> {
    if rows.is_empty() {
        return Vec::new();
    }
    let layout = TreeLayout::new(table.schema(), index);
    let batch = batch_of(table, rows);
    let arrays: Vec<ArrayRef> = columns.iter().map(|c| batch.column(*c).clone()).collect();
    let made = table.lookup_keys(index, &arrays).unwrap();
    let encoded = |row: &Vec<Value>| {
        let parts = layout.key.parts[..columns.len()].iter().zip(columns);
        let values: Vec<Value> = parts.map(|(codec, column)| cut_value(&row[*column], codec.prefix)).collect();
        let mut bytes = Vec::new();
        layout.key.append_values(&values, &mut bytes).unwrap();
        bytes
    };
    let mut keys: Vec<Vec<u8>> = rows.iter().map(encoded).collect();
    made.iter().zip(&keys).for_each(|(key, bytes)| assert_eq!(key, bytes.as_slice()));
    keys.sort();
    keys.dedup();
    keys
}

/// Rows with the numbers of the keys that found them, as texts that can be compared in any order.
fn in_any_order(found: &FoundRows) -> Vec<String> {
    sortable(&found.iter().map(|(o, row)| [&[Value::Int(*o as i64)], &row[..]].concat()).collect::<Vec<_>>())
}

/// A filter that keeps rows with an even value in a column.
fn even_filter(schema: &TableSchema, column: Option<usize>) -> Option<Arc<dyn BatchFilter>> {
    column.map(|c| {
        Arc::new(EvenOnes { columns: vec![c], types: vec![schema.columns[c].clone()], ranges: Vec::new() })
            as Arc<dyn BatchFilter>
    })
}

/// Bytes of the primary key of a row, or of its hidden row number.
fn primary_key_len(schema: &TableSchema, row: &[Value]) -> usize {
    let parts = &schema.indexes[0].parts;
    if parts.is_empty() {
        return 8;
    }
    let values: Vec<_> = parts.iter().map(|p| row[p.column].clone()).collect();
    let mut key = Vec::new();
    TreeLayout::new(schema, 0).key.append_values(&values, &mut key).unwrap();
    key.len()
}

/// Discards the pages of a table. Returns true if all frames of the pool are free then, so that nothing is latched.
fn all_frames_are_free_after_discarding(home: &Home, table: &Table) -> bool {
    table.flush().unwrap();
    holds_nothing(&home.store, table)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn lookups_find_what_the_keys_say(
        (mut schema, rows) in table_and_rows(),
        unique in any::<bool>(),
        which in any::<prop::sample::Index>(),
        parts in any::<prop::sample::Index>(),
        wanted in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        (on_entries, on_rows) in (
            proptest::option::of(any::<prop::sample::Index>()),
            proptest::option::of(any::<prop::sample::Index>()),
        ),
        strangers in 0..6usize,
        seldom in 1..20usize,
        how in how(),
    ) {
        schema.indexes[1..].iter_mut().for_each(|i| i.unique &= unique);
        let index = which.index(schema.indexes.len());
        let layout = TreeLayout::new(&schema, index);
        let key_columns = key_columns(&layout);
        prop_assume!(!key_columns.is_empty());
        let parts = parts.index(key_columns.len()) + 1;
        let home = home(4096, how.frames * 4096);
        let table = empty_table(&home, &schema);
        // Some rows are not stored, so that their keys find nothing.
        let (missing, rows): (Vec<_>, Vec<_>) = rows.into_iter().enumerate().partition(|(i, _)| i % 7 < strangers);
        let stored = fill(&table, rows.into_iter().map(|(_, row)| row).collect());

        // Keys of some rows, ascending and distinct.
        let candidates: Vec<Vec<Value>> = stored.iter().map(|(_, row)| row.clone()).step_by(seldom)
            .chain(missing.into_iter().map(|(_, row)| row)).collect();
        let keys = checked_keys(&table, index, &key_columns[..parts], &candidates);

        let columns: Vec<usize> = wanted.iter().map(|i| i.index(schema.columns.len())).collect();
        let held: Vec<usize> = (0..schema.columns.len()).filter(|c| layout.column_of(*c).is_some()).collect();
        let index_column = on_entries.filter(|_| !held.is_empty()).map(|i| held[i.index(held.len())]);
        let filter_column = on_rows.map(|i| i.index(schema.columns.len()));
        let covering = columns.iter().chain(&filter_column).all(|c| held.contains(c));

        // The rows that the lookups must find.
        let sorted = sort_rows(&schema, index, &stored);
        let passes = |column: Option<usize>, row: &[Value]| column.is_none_or(|c| even(&row[c]) == Some(true));
        let (mut want, mut entries, mut onward, mut fetched) = (Vec::new(), 0, 0, Vec::new());
        for (ordinal, key) in keys.iter().enumerate() {
            let here: Vec<_> = sorted.iter().filter(|(entry, _)| entry.starts_with(key)).collect();
            entries += here.len() as u64;
            onward += here.len().saturating_sub(1) as u64;
            for (_, row) in here.into_iter().filter(|(_, row)| passes(index_column, row)) {
                fetched.push(row.clone());
                if passes(filter_column, row) {
                    want.push((ordinal as u32, columns.iter().map(|c| row[*c].clone()).collect::<Vec<_>>()));
                }
            }
        }
        let request = LookupRequest {
            index_filter: even_filter(&schema, index_column),
            filter: even_filter(&schema, filter_column),
            fetch: how.fetch,
            batched: how.batched,
            batch_rows: how.batch_rows,
            ..request(index, columns)
        };
        let counters = Arc::clone(&request.counters);
        let mut lookup = Lookup::new(Arc::clone(&table), request).unwrap();
        for round in 0..3 {
            counters.reset();
            lookup.begin(keys_of(&keys));
            if round == 1 {
                // Left in the middle.
                lookup.next_batch().unwrap();
                continue;
            }
            let mut got = drain(&table, &mut lookup).unwrap();
            prop_assert!(lookup.next_batch().unwrap().is_none());
            if !covering && how.fetch != Fetch::EntryOrder {
                prop_assert_eq!(in_any_order(&got), in_any_order(&want));
                got = want.clone();
            }
            prop_assert_eq!(&got, &want);

            let c = &*counters;
            prop_assert_eq!((c.key_lookups(), c.entries_forward()), (keys.len() as u64, onward));
            prop_assert_eq!(c.rows_delivered(), want.len() as u64);
            let fetches = if covering { 0 } else { fetched.len() as u64 };
            prop_assert_eq!(c.rows_fetched(), fetches);
            let tested = if covering || index_column.is_none() { (0, 0) } else { (entries, fetches) };
            prop_assert_eq!((c.entries_tested(), c.entries_passed()), tested);
            let refills = match how.fetch {
                Fetch::KeyOrder { buffer_bytes } if !covering => {
                    let keys = fetched.iter().map(|row| primary_key_len(&schema, row));
                    (1, fills(keys, buffer_bytes).saturating_sub(1))
                }
                _ => (0, 0),
            };
            prop_assert_eq!((c.key_order_fetches(), c.fetch_buffer_refills()), refills);
        }
        // Nothing is held, in the middle or at the end.
        lookup.begin(keys_of(&keys));
        lookup.next_batch().unwrap();
        prop_assert!(all_frames_are_free_after_discarding(&home, &table));
    }

    /// A failing device is an error, never wrong rows, and leaves nothing latched.
    #[test]
    fn lookups_survive_failing_reads(
        after in 0..30u64,
        kind in prop_oneof![Just(FaultKind::Error(libc::EIO)), Just(FaultKind::BitFlip), Just(FaultKind::Short)],
        forever in any::<bool>(),
        index in 0..2usize,
        how in how(),
    ) {
        let io = Arc::new(SimulatedDisk::new());
        let (_directory, store, table) = table_on(&io, how.frames.min(64));
        let empty = || holds_nothing(&store, &table);
        prop_assert!(empty());
        let request = LookupRequest {
            fetch: how.fetch,
            batched: how.batched,
            batch_rows: how.batch_rows,
            ..request(index, vec![2, 0])
        };
        let mut lookup = Lookup::new(Arc::clone(&table), request).unwrap();
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values((0..3000).step_by(7)));
        io.inject(DiskFault { on: Operation::Read, after, kind, forever });
        lookup.begin(table.lookup_keys(index, &[Arc::clone(&values)]).unwrap());
        let faulty = drain(&table, &mut lookup);
        io.clear_faults();
        prop_assert!(empty());
        lookup.begin(table.lookup_keys(index, &[values]).unwrap());
        let sound = drain(&table, &mut lookup).unwrap();
        prop_assert_eq!(sound.len(), 215);
        for (ordinal, row) in &sound {
            let (Value::Int(ten), Value::Int(n)) = (&row[0], &row[1]) else { panic!("{row:?}") };
            let key = if index == 0 { *n } else { n * 7919 % 1500 };
            prop_assert_eq!((key, *ten), (i64::from(*ordinal) * 7, n % 10));
        }
        match faulty {
            Ok(rows) => prop_assert_eq!(rows, sound),
            Err(e) => prop_assert!(
                matches!(e, StorageError::Io { .. } | StorageError::Corrupt { .. }), "{}", e),
        }
    }
}

/// Scans and lookups that are given up while reads are slow: they go at once, and what was asked for comes to an end.
#[test]
fn who_gives_up_holds_nothing() {
    let io = Arc::new(SimulatedDisk::new());
    let (_directory, store, table) = table_on(&io, 64);
    assert!(holds_nothing(&store, &table));
    for (index, fetch) in [
        (0, Fetch::KeyOrder { buffer_bytes: 400 }),
        (1, Fetch::KeyOrder { buffer_bytes: 4000 }),
        (1, Fetch::EntryOrder),
    ] {
        for batches in 0..4 {
            io.set_read_delay(Duration::from_millis(3));
            let scan = ScanRequest { index, fetch, ..scan_request(vec![2, 0]) };
            let mut cursor = Scan::new(Arc::clone(&table), scan).unwrap().cursor();
            // Also those that have come to their end.
            (0..batches).for_each(|_| drop(cursor.next_batch().unwrap()));
            let mut lookup =
                Lookup::new(Arc::clone(&table), LookupRequest { fetch, ..request(index, vec![2, 0]) }).unwrap();
            lookup.begin(table.lookup_keys(index, &[ints((0..1500).step_by(3))]).unwrap());
            (0..batches).for_each(|_| drop(lookup.next_batch().unwrap()));
            io.set_read_delay(Duration::from_millis(300));
            let since = Instant::now();
            drop((cursor, lookup));
            assert!(since.elapsed() < Duration::from_millis(200), "nobody waits for reads that are under way");
            io.set_read_delay(Duration::ZERO);
            assert!(holds_nothing(&store, &table), "index {index}, {fetch:?}, after {batches} batches");
        }
    }
}

/// 1500 rows of [`number_schema`] on files in memory, none of them in the pool.
fn table_on(io: &Arc<SimulatedDisk>, frames: usize) -> (tempfile::TempDir, Arc<Store>, Arc<Table>) {
    let directory = tempfile::tempdir().unwrap();
    let options =
        StoreOptions { page_size: 4096, buffer_pool_bytes: frames * 4096, sync: false, ..StoreOptions::default() };
    let store = Store::open_on(directory.path(), options, Arc::clone(io) as Arc<dyn Disk>).unwrap();
    let schema = number_schema();
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema, files, TableStatistics::default()).unwrap();
    for n in 0..1500 {
        table.insert_now(&[n, n * 7919 % 1500, n % 10].map(Value::Int), &Counters::default()).unwrap();
    }
    table.flush().unwrap();
    (directory, store, table)
}

/// Returns true if no page of a table is latched when all reads have ended. The pages leave the pool.
fn holds_nothing(store: &Store, table: &Table) -> bool {
    let pool = store.buffer_pool();
    while pool.statistics().reading > 0 {
        std::thread::yield_now();
    }
    // The threads that write pages and encode leaves may hold one for a moment, or read it again.
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        table.trees().iter().for_each(|tree| pool.discard_file(tree.file()));
        let is_free = pool.statistics().free == pool.frame_count();
        if is_free || Instant::now() > deadline {
            return is_free;
        }
        std::thread::yield_now();
    }
}

fn number_schema() -> TableSchema {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    TableSchema {
        layouts: Default::default(),
        columns: vec![ColumnSchema { ty: SqlType::INT, nullable: false }; 3],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
            IndexSchema { id: 3, parts: vec![part(2), part(1)], unique: false },
        ],
    }
}

fn ints(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

/// `(i, i * 7919 % rows, i % 10)`, in trees of several levels.
fn large_table(home: &crate::rows::fixtures::Home, rows: i32) -> Arc<Table> {
    use arrow_schema::{DataType, Field, Schema};
    let fields: Vec<_> = (0..3).map(|c| Field::new(format!("c{c}"), DataType::Int32, false)).collect();
    let columns = vec![
        ints(0..rows),
        ints((0..rows).map(|i| (i64::from(i) * 7919 % i64::from(rows)) as i32)),
        ints((0..rows).map(|i| i % 10)),
    ];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    loaded_table(home, &number_schema(), &[batch])
}

/// Keys with more entries than a leaf, an inner page's worth of leaves, and many keys per leaf.
#[test]
fn keys_go_on_over_many_leaves() {
    const ROWS: i32 = 400_000;
    for frames in [24, 10_000] {
        let home = home(4096, frames * 4096);
        let table = large_table(&home, ROWS);
        assert!(table.tree(2).height(&Counters::default()).unwrap() >= 3);
        for batched in [true, false] {
            // A tenth of the table per key.
            let r = LookupRequest { batched, batch_rows: 8192, ..request(2, vec![0, 2]) };
            let mut lookup = Lookup::new(Arc::clone(&table), r).unwrap();
            lookup.begin(table.lookup_keys(2, &[ints([-5, 3, 7, 8, 11])]).unwrap());
            let found = drain(&table, &mut lookup).unwrap();
            assert_eq!(found.len(), 120_000);
            assert!(found.is_sorted_by_key(|(ordinal, _)| *ordinal));
            let mut numbers: Vec<i64> = Vec::new();
            for (ordinal, row) in &found {
                let (Value::Int(n), Value::Int(ten)) = (&row[0], &row[1]) else { panic!("{row:?}") };
                assert_eq!((*ten, n % 10), ([-5, 3, 7, 8, 11][*ordinal as usize], *ten));
                numbers.push(*n);
            }
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), 120_000);

            // Every third row, by its primary key, and keys behind the last.
            let r = LookupRequest { batched, batch_rows: 8192, ..request(0, vec![1]) };
            let counters = Arc::clone(&r.counters);
            let mut lookup = Lookup::new(Arc::clone(&table), r).unwrap();
            lookup.begin(table.lookup_keys(0, &[ints((0..ROWS + 300).step_by(3))]).unwrap());
            let found = drain(&table, &mut lookup).unwrap();
            assert_eq!(found.len(), (ROWS as usize).div_ceil(3));
            for (i, (ordinal, row)) in found.iter().enumerate() {
                let n = 3 * i as i64;
                assert_eq!((*ordinal, &row[0]), (i as u32, &Value::Int(n * 7919 % i64::from(ROWS))));
            }
            assert_eq!((counters.key_lookups(), counters.entries_forward()), (133_434, 0));
            let leaves = table.tree(0).file().header().leaf_count;
            let asked = counters.page_requests();
            if batched {
                // Batches end amid leaves, which are then asked for again.
                assert!(asked < leaves * 12 / 10, "{asked} pages for {leaves} leaves");
            } else {
                assert_eq!(asked, 133_434 * u64::from(table.tree(0).height(&Counters::default()).unwrap()));
            }
        }
    }
}

#[test]
fn handlers_are_counted_as_mysql_does() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 3000);
    let count = |r: LookupRequest, keys: Keys| {
        let c = Arc::clone(&r.counters);
        let mut lookup = Lookup::new(Arc::clone(&table), r).unwrap();
        lookup.begin(keys);
        let rows = drain(&table, &mut lookup).unwrap().len();
        let icp = [c.entries_tested(), c.entries_passed()];
        let mrr = [c.key_order_fetches(), c.fetch_buffer_refills()];
        (rows, [c.key_lookups(), c.entries_forward(), c.rows_fetched()], icp, mrr)
    };
    let keys = |index, values: &[i32]| table.lookup_keys(index, &[ints(values.iter().copied())]).unwrap();
    for batched in [true, false] {
        // Column 1 holds each number below 3000 once, in an index that is not unique.
        let primary = LookupRequest { batched, ..request(0, vec![1]) };
        assert_eq!(count(primary, keys(0, &[-1, 3, 700, 5000])), (2, [4, 0, 0], [0, 0], [0, 0]));
        let covering = LookupRequest { batched, ..request(1, vec![0]) };
        assert_eq!(count(covering, keys(1, &[5, 6, 9])), (3, [3, 0, 0], [0, 0], [0, 0]));
        for (fetch, mrr) in [
            (Fetch::EntryOrder, [0, 0]),
            (Fetch::KeyOrder { buffer_bytes: 1 << 18 }, [1, 0]),
            (Fetch::KeyOrder { buffer_bytes: 8 }, [1, 1]),
            (Fetch::KeyOrder { buffer_bytes: 4 }, [1, 2]),
            (Fetch::KeyOrder { buffer_bytes: 0 }, [1, 2]),
        ] {
            let fetched = LookupRequest { batched, fetch, ..request(1, vec![2]) };
            assert_eq!(count(fetched, keys(1, &[5, 6, 9])), (3, [3, 0, 3], [0, 0], mrr), "{fetch:?}");
        }
        let values: Vec<i32> = (10..60).collect();
        let kept = values.iter().filter(|n| even(&Value::Int(i64::from(**n))) == Some(true)).count() as u64;
        let types = vec![table.schema().columns[1].clone()];
        let filter: Arc<dyn BatchFilter> = Arc::new(EvenOnes { columns: vec![1], types, ranges: Vec::new() });
        let icp = LookupRequest { batched, index_filter: Some(filter), ..request(1, vec![2]) };
        assert_eq!(count(icp, keys(1, &values)), (kept as usize, [50, 0, kept], [50, kept], [1, 0]));
    }
}

/// A buffer of keys that is not sorted: each is a descent, and rows are fetched together all the same.
#[test]
fn keys_one_by_one_come_in_any_order() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 3000);
    let keys = table.lookup_keys(1, &[ints([900, 5, 6, 5, 2999, 4000, 5])]).unwrap();
    for fetch in [Fetch::EntryOrder, Fetch::KeyOrder { buffer_bytes: 1 << 18 }, Fetch::KeyOrder { buffer_bytes: 8 }] {
        let r = LookupRequest { batched: false, fetch, ..request(1, vec![1, 2]) };
        let counters = Arc::clone(&r.counters);
        let mut lookup = Lookup::new(Arc::clone(&table), r).unwrap();
        lookup.begin(keys.clone());
        let mut found = Vec::new();
        while let Some((batch, numbers)) = lookup.next_batch().unwrap() {
            let values = batch.column(0).as_primitive::<Int32Type>().values();
            found.extend(values.iter().copied().zip(numbers));
        }
        found.sort_by_key(|(_, number)| *number);
        assert_eq!(found, [(900, 0), (5, 1), (6, 2), (5, 3), (2999, 4), (5, 6)], "{fetch:?}");
        assert_eq!(counters.key_lookups(), 7);
    }
}

#[test]
fn wrong_requests_are_errors() {
    let home = home(4096, 1 << 22);
    let table = number_table(&home, 30);
    let wrong = |r: LookupRequest| matches!(Lookup::new(Arc::clone(&table), r), Err(StorageError::WrongType { .. }));
    let types = vec![table.schema().columns[2].clone()];
    let on_two: Arc<dyn BatchFilter> = Arc::new(EvenOnes { columns: vec![2], types, ranges: Vec::new() });
    assert!(wrong(request(7, vec![0])) && wrong(request(0, vec![3])));
    assert!(wrong(LookupRequest { index_filter: Some(Arc::clone(&on_two)), ..request(1, vec![0]) }));
    assert!(!wrong(LookupRequest { filter: Some(on_two), ..request(1, vec![0]) }));

    let refused = |arrays: &[ArrayRef]| matches!(table.lookup_keys(1, arrays), Err(StorageError::WrongType { .. }));
    let long: ArrayRef = Arc::new(arrow_array::Int64Array::from_iter_values([1]));
    let null: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    assert!(refused(&[]) && refused(&[long]) && refused(&[null]) && refused(&[ints([1]), ints([2]), ints([3])]));

    let mut lookup = Lookup::new(Arc::clone(&table), request(0, vec![0])).unwrap();
    assert!(lookup.next_batch().unwrap().is_none());
    for list in [vec![vec![2], vec![1]], vec![vec![1], vec![1]], vec![vec![1], vec![1, 2]]] {
        lookup.begin(keys_of(&list));
        assert!(matches!(lookup.next_batch(), Err(StorageError::WrongType { .. })), "{list:?}");
    }
    lookup.begin(keys_of(&[]));
    assert!(lookup.next_batch().unwrap().is_none());
    // Nothing, which every key begins with; and bytes that end amid a part.
    lookup.begin(keys_of(&[vec![]]));
    assert_eq!(drain(&table, &mut lookup).unwrap().len(), 30);
    lookup.begin(keys_of(&[vec![0x80, 0, 0], vec![0x80, 1]]));
    assert_eq!(drain(&table, &mut lookup).unwrap().len(), 30);
}

/// Rows that a view sees are found, whatever a writer does around them.
#[test]
fn lookups_go_on_while_a_writer_works() {
    let home = home(4096, 128 * 4096);
    let table = number_table(&home, 2000);
    let view = home.store.read_view();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let counters = Counters::default();
            for round in 0..2 {
                for n in 2000..2200 {
                    table.insert_now(&[n, n * 13 % 2000, round].map(Value::Int), &counters).unwrap();
                }
                for n in 2000..2200 {
                    table.update_now(&[Value::Int(n)], &[n, n * 17 % 2000, 5].map(Value::Int), &counters).unwrap();
                    assert!(table.delete_now(&[Value::Int(n)], &counters).unwrap());
                }
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        for (batched, fetch) in [(true, Fetch::KeyOrder { buffer_bytes: 900 }), (false, Fetch::EntryOrder)] {
            let (table, done, view) = (&table, &done, Arc::clone(&view));
            threads.spawn(move || {
                let r = LookupRequest { view, batched, fetch, ..request(1, vec![0, 2]) };
                let mut lookup = Lookup::new(Arc::clone(table), r).unwrap();
                while !done.load(std::sync::atomic::Ordering::Acquire) {
                    lookup.begin(table.lookup_keys(1, &[ints(0..2000)]).unwrap());
                    let mut numbers: Vec<i64> = Vec::new();
                    for (ordinal, row) in drain(table, &mut lookup).unwrap() {
                        let (Value::Int(n), Value::Int(ten)) = (&row[0], &row[1]) else { panic!("{row:?}") };
                        assert_eq!((n * 7919 % 2000, n % 10), (i64::from(ordinal), *ten));
                        numbers.push(*n);
                    }
                    numbers.sort_unstable();
                    assert_eq!(numbers, (0..2000).collect::<Vec<_>>());
                }
            });
        }
    });
}
