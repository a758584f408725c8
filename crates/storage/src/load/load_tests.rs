use super::*;
use crate::{ColumnSchema, IndexSchema, ReadView, Scan, ScanRequest, Store, StoreOptions, arrow_type};
use arrow_array::{Array, Int32Array, StringViewArray, cast::AsArray, types::Int32Type};
use arrow_schema::{Field, Schema};
use muster_types::{Collation, KeyPart, SqlType};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// a INT NOT NULL, t VARCHAR NOT NULL, v INT NULL, s VARCHAR NULL.
type Row = (i32, String, Option<i32>, Option<String>);

fn part(column: usize) -> KeyPart {
    KeyPart { column, prefix: None, descending: false }
}

fn schema(primary: bool, unique_v: bool) -> TableSchema {
    let column = |ty, nullable| ColumnSchema { ty, nullable };
    let text = SqlType::varchar(400, Collation::DEFAULT);
    let index = |id, parts: Vec<KeyPart>, unique| IndexSchema { id, parts, unique };
    TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::INT, false), column(text, false), column(SqlType::INT, true), column(text, true)],
        indexes: vec![
            index(1, if primary { vec![part(0), part(1)] } else { vec![] }, true),
            index(2, vec![part(2)], unique_v),
            index(3, vec![part(0)], false),
            index(4, vec![KeyPart { column: 3, prefix: Some(2), descending: true }, part(2)], false),
            index(5, vec![part(0), part(2)], false),
        ],
    }
}

struct Fixture {
    store: Arc<Store>,
    table: Arc<Table>,
    directory: tempfile::TempDir,
}

fn fixture(schema: TableSchema) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions { page_size: 4096, buffer_pool_bytes: 4 << 20, sync: false, ..StoreOptions::default() };
    let store = Store::open(directory.path(), options).unwrap();
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema, files, TableStatistics::default()).unwrap();
    Fixture { directory, store, table }
}

fn options(duplicates: DuplicatePolicy, memory_bytes: usize) -> LoadOptions {
    let temp_dir = std::env::temp_dir();
    LoadOptions { memory_bytes, temp_dir, threads: 2, duplicates, progress: Arc::default() }
}

fn batch(schema: &TableSchema, rows: &[Row]) -> RecordBatch {
    let fields: Vec<_> = schema.columns.iter().map(|c| Field::new("c", arrow_type(&c.ty), c.nullable)).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.0))),
        Arc::new(StringViewArray::from_iter_values(rows.iter().map(|r| &r.1))),
        Arc::new(rows.iter().map(|r| r.2).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|r| r.3.as_ref()).collect::<StringViewArray>()),
    ];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

impl Fixture {
    fn load(&mut self, rows: &[Row], batch_rows: usize, options: LoadOptions) -> Result<LoadedFiles> {
        let mut loader = TableLoader::new(Arc::clone(&self.table), options)?;
        for rows in rows.chunks(batch_rows) {
            loader.push(&batch(self.table.schema(), rows))?;
        }
        let loaded = loader.finish()?;
        self.table.remove_files_when_unused(self.table.files());
        let schema = self.table.schema().clone();
        let files = loaded.files.clone();
        self.table = self.store.open_table(schema, files, loaded.statistics.clone())?;
        Ok(loaded)
    }

    /// All rows in the order of an index.
    fn rows(&self, index: usize) -> Vec<Row> {
        let all = ScanRequest::all(ReadView::latest(), index, vec![0, 1, 2, 3], Arc::default());
        let request = ScanRequest { ordered: true, batch_rows: 1000, ..all };
        let mut cursor = Scan::new(Arc::clone(&self.table), request).unwrap().cursor();
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch().unwrap() {
            for i in 0..batch.num_rows() {
                let int = |c: usize| batch.column(c).as_primitive::<Int32Type>();
                let text = |c: usize| batch.column(c).as_string_view();
                rows.push((
                    int(0).value(i),
                    text(1).value(i).to_string(),
                    int(2).is_valid(i).then(|| int(2).value(i)),
                    text(3).is_valid(i).then(|| text(3).value(i).to_string()),
                ));
            }
        }
        rows
    }

    fn table_files(&self) -> usize {
        let files = std::fs::read_dir(self.directory.path()).unwrap();
        files.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "mus")).count()
    }

    /// Compares all trees with the rows, which stand in clustered order; and the statistics with what they should be.
    fn check(&self, want: &[Row]) {
        let layout = TreeLayout::new(self.table.schema(), 0);
        assert_eq!(self.rows(0), want);
        let sort_key = |s: &str| Collation::DEFAULT.sort_key(s);
        let clustered = |r: &Row| if layout.row_number().is_some() { None } else { Some((r.0, sort_key(&r.1))) };
        let cut = |s: &Option<String>| s.as_ref().map(|s| sort_key(&s.chars().take(2).collect::<String>()));
        let mut by = want.to_vec();
        by.sort_by_key(|r| (r.2, clustered(r)));
        assert_eq!(self.rows(1), by);
        by = want.to_vec();
        by.sort_by_key(|r| (r.0, clustered(r)));
        assert_eq!(self.rows(2), by);
        by = want.to_vec();
        by.sort_by_key(|r| (std::cmp::Reverse(cut(&r.3)), r.2, clustered(r)));
        assert_eq!(self.rows(3), by);
        by = want.to_vec();
        by.sort_by_key(|r| (r.0, r.2, clustered(r)));
        assert_eq!(self.rows(4), by);

        let distinct = |keys: Vec<String>| keys.into_iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
        let of = |f: &dyn Fn(&Row) -> String| distinct(want.iter().map(f).collect());
        let stats = self.table.statistics();
        assert_eq!(stats.rows, want.len() as u64);
        assert_eq!(stats.columns[2].null_count, want.iter().filter(|r| r.2.is_none()).count() as u64);
        let bounds = want.iter().map(|r| Value::Int(r.0.into()));
        assert_eq!(stats.columns[0].min, want.iter().map(|r| r.0).min().map(|i| Value::Int(i.into())));
        assert!(bounds.into_iter().all(|b| want.is_empty() || less_or_equal(&b, &stats.columns[0].max)));
        if layout.row_number().is_none() {
            assert_eq!(stats.indexes[0].distinct, [of(&|r| r.0.to_string()), want.len() as f64]);
        }
        assert_eq!(stats.indexes[1].distinct, [of(&|r| format!("{:?}", r.2))]);
        let prefixes = [of(&|r| format!("{:?}", cut(&r.3))), of(&|r| format!("{:?} {:?}", cut(&r.3), r.2))];
        assert_eq!(stats.indexes[3].distinct, prefixes);
        for index in 0..self.table.schema().indexes.len() {
            let report = self.table.tree(index).check(self.store.counters()).unwrap();
            assert_eq!(report.rows, want.len() as u64);
            assert_eq!(stats.indexes[index].leaf_pages, report.leaf_pages);
        }
    }
}

fn less_or_equal(a: &Value, b: &Option<Value>) -> bool {
    matches!((a, b), (Value::Int(a), Some(Value::Int(b))) if a <= b)
}

/// Rows as the table must have them, under their clustered key.
#[derive(Default)]
struct Model(BTreeMap<(i32, Vec<u8>), Row>);

impl Model {
    /// Loads these rows into the model. Returns false if the load must fail.
    fn load(&mut self, rows: &[Row], duplicates: DuplicatePolicy) -> bool {
        for row in rows {
            let key = (row.0, Collation::DEFAULT.sort_key(&row.1));
            match (self.0.contains_key(&key), duplicates) {
                (true, DuplicatePolicy::Error) => return false,
                (true, DuplicatePolicy::Ignore) => (),
                _ => {
                    self.0.insert(key, row.clone());
                }
            }
        }
        true
    }

    fn rows(&self) -> Vec<Row> {
        self.0.values().cloned().collect()
    }
}

fn many(n: i32) -> Vec<Row> {
    (0..n)
        .map(|i| {
            let text = if i % 7 == 0 { "a longer text than a view holds".to_string() } else { format!("t{}", i % 50) };
            (
                i / 3,
                format!("k{}", i % 3),
                (i % 11 > 0).then_some(i.wrapping_mul(7919) % 1000),
                (i % 5 > 0).then_some(text),
            )
        })
        .collect()
}

fn shuffled(mut rows: Vec<Row>) -> Vec<Row> {
    let mut x = 7u64;
    for i in (1..rows.len()).rev() {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        rows.swap(i, (x >> 33) as usize % (i + 1));
    }
    rows
}

#[test]
fn rows_in_order_are_streamed() {
    let mut fixture = fixture(schema(true, false));
    let rows = many(20_000);
    let opts = options(DuplicatePolicy::Error, 1 << 20);
    let progress = Arc::clone(&opts.progress);
    let loaded = fixture.load(&rows, 1000, opts).unwrap();
    assert_eq!((loaded.loaded, loaded.duplicates), (20_000, 0));
    assert_eq!(progress.rows_read.load(Relaxed), 20_000);
    assert_eq!(progress.entries_written.load(Relaxed), 5 * 20_000);
    fixture.check(&rows);
    assert_eq!(fixture.table_files(), 5);
}

#[test]
fn a_tree_of_three_levels_is_read_to_its_end() {
    let mut schema = schema(true, false);
    schema.indexes.truncate(2);
    let mut fixture = fixture(schema);
    let rows = many(300_000);
    let loaded = fixture.load(&rows, 8000, options(DuplicatePolicy::Error, 1 << 24)).unwrap();
    assert!(loaded.statistics.indexes[0].height >= 3, "{:?}", loaded.statistics.indexes);
    let report = fixture.table.tree(1).check(fixture.store.counters()).unwrap();
    assert_eq!(report.rows, 300_000);
    assert_eq!(fixture.rows(0), rows);
}

#[test]
fn rows_in_any_order_are_sorted_within_the_budget() {
    for memory in [100_000, 1 << 24] {
        let mut fixture = fixture(schema(true, false));
        fixture.load(&shuffled(many(20_000)), 700, options(DuplicatePolicy::Error, memory)).unwrap();
        fixture.check(&many(20_000));
        assert_eq!(fixture.table_files(), 5);
    }
}

#[test]
fn a_late_row_out_of_order_goes_to_its_place() {
    let mut fixture = fixture(schema(true, false));
    let mut rows = many(9000);
    rows.swap(100, 8500);
    fixture.load(&rows, 1000, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    fixture.check(&many(9000));
    // Interleaved with rows that are there, in order at first.
    let mut more: Vec<Row> = many(9000).into_iter().map(|r| (r.0, format!("{}x", r.1), r.2, r.3)).collect();
    more.swap(4000, 8999);
    fixture.load(&more, 512, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    let mut model = Model::default();
    assert!(model.load(&many(9000), DuplicatePolicy::Error) && model.load(&more, DuplicatePolicy::Error));
    fixture.check(&model.rows());
    assert_eq!(fixture.table_files(), 5);
}

#[test]
fn tables_without_a_primary_key_keep_the_order_of_arrival() {
    let mut fixture = fixture(schema(false, false));
    let (first, second) = (shuffled(many(5000)), shuffled(many(3000)));
    fixture.load(&first, 999, options(DuplicatePolicy::Error, 200_000)).unwrap();
    fixture.check(&first);
    fixture.load(&second, 999, options(DuplicatePolicy::Ignore, 200_000)).unwrap();
    fixture.check(&[first, second].concat());
}

#[test]
fn a_load_of_nothing() {
    let mut fixture = fixture(schema(true, false));
    assert_eq!(fixture.load(&[], 1, options(DuplicatePolicy::Error, 1 << 20)).unwrap().loaded, 0);
    fixture.check(&[]);
    fixture.load(&many(10), 3, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    fixture.load(&[], 1, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    fixture.check(&many(10));
}

fn entry_of(result: Result<LoadedFiles>) -> (String, usize) {
    match result {
        Err(StorageError::Duplicate { entry, index }) => (entry.join("-"), index),
        Err(e) => panic!("{e}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn duplicates_are_named_and_nothing_is_left() {
    let mut fixture = fixture(schema(true, true));
    let row = |a: i32, t: &str, v: Option<i32>| (a, t.to_string(), v, None);
    let rows = vec![row(1, "x", Some(10)), row(2, "y", None), row(3, "z", None)];
    fixture.load(&rows, 10, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    let error = |fixture: &mut Fixture, rows: &[Row], d| entry_of(fixture.load(rows, 10, options(d, 1 << 20)));
    use DuplicatePolicy::{Error, Ignore, Replace};
    // With the table's rows; the collation decides what is the same.
    assert_eq!(error(&mut fixture, &[row(2, "Y", Some(1))], Error), ("2-Y".into(), 0));
    // Among new ones, next to each other and apart.
    assert_eq!(error(&mut fixture, &[row(5, "a", None), row(5, "A", None)], Error), ("5-A".into(), 0));
    let apart = [row(5, "a", None), row(4, "b", None), row(5, "á", None)];
    assert_eq!(error(&mut fixture, &apart, Error), ("5-á".into(), 0));
    // A unique index refuses duplicates under each policy; NULLs are never the same.
    for policy in [Error, Ignore, Replace] {
        assert_eq!(error(&mut fixture, &[row(9, "new", Some(10))], policy), ("10".into(), 1));
    }
    assert_eq!(fixture.table_files(), 5);
    fixture.check(&rows);
    fixture.load(&[row(4, "n", None)], 10, options(Error, 1 << 20)).unwrap();
}

#[test]
fn a_cancelled_or_dropped_load_leaves_nothing() {
    let mut fixture = fixture(schema(true, false));
    fixture.load(&many(100), 50, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    let rows = shuffled(many(30_000));
    let new = batch(fixture.table.schema(), &rows);
    let mut loader = TableLoader::new(Arc::clone(&fixture.table), options(DuplicatePolicy::Replace, 1 << 20)).unwrap();
    loader.push(&new).unwrap();
    drop(loader);
    assert_eq!(fixture.table_files(), 5);

    let opts = options(DuplicatePolicy::Replace, 1 << 20);
    let progress = Arc::clone(&opts.progress);
    let mut loader = TableLoader::new(Arc::clone(&fixture.table), opts).unwrap();
    loader.push(&new).unwrap();
    progress.cancelled.store(true, Relaxed);
    assert!(matches!(loader.finish(), Err(StorageError::Interrupted)));
    assert_eq!(fixture.table_files(), 5);
    fixture.check(&many(100));
}

#[test]
fn an_error_of_the_building_thread_reaches_the_caller() {
    let fixture = fixture(schema(true, false));
    let opts = LoadOptions { temp_dir: "/nonexistent".into(), ..options(DuplicatePolicy::Error, 1000) };
    let mut loader = TableLoader::new(Arc::clone(&fixture.table), opts).unwrap();
    let rows = batch(fixture.table.schema(), &shuffled(many(3000)));
    let error = (0..100).find_map(|_| loader.push(&rows).err());
    assert!(matches!(error, Some(StorageError::Io { .. })), "{error:?}");
    drop(loader);
    assert_eq!(fixture.table_files(), 5);
}

#[test]
fn an_index_is_built_later() {
    let mut later = schema(true, false);
    let index = later.indexes.pop().unwrap();
    let mut fixture = fixture(later.clone());
    fixture.load(&many(5000), 1000, options(DuplicatePolicy::Error, 1 << 20)).unwrap();
    later.indexes.push(index);
    let opts = options(DuplicatePolicy::Error, 100_000);
    let (file, stats) = build_index(&fixture.table, &later, 4, &opts).unwrap();
    let mut statistics = TableStatistics::clone(&fixture.table.statistics());
    statistics.indexes.push(stats);
    let files = [fixture.table.files(), &[file]].concat();
    fixture.table = fixture.store.open_table(later.clone(), files, statistics).unwrap();
    fixture.check(&many(5000));

    // A unique one that is not.
    later.indexes.push(IndexSchema { id: 9, parts: vec![part(2)], unique: true });
    assert!(matches!(build_index(&fixture.table, &later, 5, &opts), Err(StorageError::Duplicate { index: 5, .. })));
    assert_eq!(fixture.table_files(), 5);
}

fn random_rows() -> impl Strategy<Value = Vec<Row>> {
    let text = prop::sample::select(vec!["", "a", "A", "b", "ab", "Ábc", "abcdefghijklmnopq"]).prop_map(String::from);
    let row = (0..60i32, text.clone(), prop::option::of(0..9i32), prop::option::of(text));
    (prop::collection::vec(row, 0..300), any::<bool>()).prop_map(|(mut rows, sorted)| {
        if sorted {
            rows.sort_by_key(|r| (r.0, Collation::DEFAULT.sort_key(&r.1)));
        }
        rows
    })
}

fn policy() -> impl Strategy<Value = DuplicatePolicy> {
    prop::sample::select(vec![DuplicatePolicy::Error, DuplicatePolicy::Ignore, DuplicatePolicy::Replace])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn loads_one_after_the_other_do_what_a_map_does(
        loads in prop::collection::vec((random_rows(), policy(), 1usize..120, 2000usize..60_000), 1..4),
    ) {
        let mut fixture = fixture(schema(true, false));
        // A load of nothing, for statistics.
        fixture.load(&[], 1, options(DuplicatePolicy::Error, 1000)).unwrap();
        let mut model = Model::default();
        for (rows, duplicates, batch_rows, memory) in loads {
            let before = model.rows();
            let result = fixture.load(&rows, batch_rows, options(duplicates, memory));
            if model.load(&rows, duplicates) {
                let loaded = result.unwrap();
                if duplicates == DuplicatePolicy::Ignore {
                    prop_assert_eq!(loaded.loaded as usize, model.0.len() - before.len());
                }
                if duplicates == DuplicatePolicy::Replace {
                    prop_assert_eq!((rows.len() - loaded.duplicates as usize) + before.len(), model.0.len());
                }
            } else {
                prop_assert_eq!(entry_of(result).1, 0);
                model = Model(before.into_iter().map(|r| ((r.0, Collation::DEFAULT.sort_key(&r.1)), r)).collect());
            }
            fixture.check(&model.rows());
            prop_assert_eq!(fixture.table_files(), 5);
        }
    }
}
