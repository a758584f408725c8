use super::*;
use crate::{
    ColumnSchema, DuplicatePolicy, IndexSchema, LoadOptions, Store, StoreOptions, TableLoader, TableSchema, arrow_type,
    testing::random::Random,
};
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{Field, Schema};
use muster_types::KeyPart;
use std::sync::Arc;

const ROWS: i32 = 60_000;
const ID: usize = 0;
/// Five values, no index begins with it alone.
const FEW: usize = 1;
/// About 19,000 values in no order, first of an index.
const MANY: usize = 2;
/// 600 values that grow with the primary key, first of an index.
const DAY: usize = 3;
/// As `MANY`, without an index; a quarter is NULL.
const FREE: usize = 4;
/// 1200 values that grow with the primary key, without an index.
const BLOCK: usize = 5;

fn table(directory: &std::path::Path) -> (Arc<Table>, TableStatistics) {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let index =
        |id, columns: &[usize]| IndexSchema { id, parts: columns.iter().copied().map(part).collect(), unique: id == 1 };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: (0..6).map(|at| ColumnSchema { ty: SqlType::INT, nullable: at == FREE }).collect(),
        indexes: vec![index(1, &[ID]), index(2, &[FEW, MANY]), index(3, &[MANY]), index(4, &[DAY])],
    };
    let options = StoreOptions { page_size: 4096, buffer_pool_bytes: 8 << 20, sync: false, ..StoreOptions::default() };
    let store = Store::open(directory, options).unwrap();
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema.clone(), files, TableStatistics::default()).unwrap();
    let mut random = Random(7);
    let rows: Vec<[i32; 6]> = (0..ROWS)
        .map(|id| {
            let mut below = |n: u64| random.below(n as usize) as i32;
            [id, below(5), below(20_000), id / 100, below(20_000), id / 50]
        })
        .collect();
    let arrays = (0..6).map(|at| -> ArrayRef {
        Arc::new(rows.iter().map(|row| (at != FREE || row[ID] % 4 > 0).then_some(row[at])).collect::<Int32Array>())
    });
    let arrays: Vec<ArrayRef> = arrays.collect();
    let fields: Vec<_> = schema.columns.iter().map(|c| Field::new("c", arrow_type(&c.ty), c.nullable)).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let options = LoadOptions {
        memory_bytes: 8 << 20,
        temp_dir: std::env::temp_dir(),
        threads: 1,
        duplicates: DuplicatePolicy::Error,
        progress: Arc::default(),
    };
    let mut loader = TableLoader::new(Arc::clone(&table), options).unwrap();
    loader.push(&batch).unwrap();
    let loaded = loader.finish().unwrap();
    (store.open_table(schema, loaded.files, loaded.statistics.clone()).unwrap(), loaded.statistics)
}

fn assert_close(what: &str, found: f64, wanted: f64) {
    assert!(found > 0.65 * wanted && found < 1.5 * wanted, "{what}: {found} instead of {wanted}");
}

#[test]
fn a_sample_tells_about_what_all_rows_tell() {
    let directory = tempfile::tempdir().unwrap();
    let (table, loaded) = table(directory.path());
    let leaves = table.tree(0).file().header().leaf_count;
    assert!(leaves > 100, "{leaves}");
    let sampled = sample(&table, &TableStatistics::default(), 24).unwrap();
    assert_eq!(sampled.rows, ROWS as u64);
    for (at, (found, wanted)) in sampled.indexes.iter().zip(&loaded.indexes).enumerate() {
        assert_eq!((found.leaf_pages, found.height), (wanted.leaf_pages, wanted.height));
        for (found, wanted) in found.distinct.iter().zip(&wanted.distinct) {
            assert_close(&format!("index {at}"), *found, *wanted);
        }
    }
    assert_eq!(sampled.indexes[1].distinct[0], 5.0);
    for (at, (found, wanted)) in sampled.columns.iter().zip(&loaded.columns).enumerate() {
        assert_close(&format!("column {at}"), found.distinct, wanted.distinct);
    }
    assert_eq!(sampled.columns[FEW].distinct, 5.0);
    assert_close("NULLs", sampled.columns[FREE].null_count as f64, f64::from(ROWS) / 4.0);
    for at in [ID, FEW, MANY, DAY, BLOCK] {
        let (found, wanted) = (&sampled.columns[at], &loaded.columns[at]);
        assert_eq!((&found.min, &found.max), (&wanted.min, &wanted.max), "column {at}");
    }
    // All texts are to be expected where nothing was known of them.
    assert!(sampled.columns[ID].text.covers(TextTraits::of("Aé \n".as_bytes())));
    assert!(!sample(&table, &loaded, 32).unwrap().columns[ID].text.covers(TextTraits::of(b"a")));
}

#[test]
fn a_small_table_is_read_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (table, loaded) = table(directory.path());
    let sampled = sample(&table, &loaded, usize::MAX).unwrap();
    assert_eq!(sampled.indexes, loaded.indexes);
    for (at, (found, wanted)) in sampled.columns.iter().zip(&loaded.columns).enumerate() {
        assert_eq!((found.null_count, &found.min, &found.max), (wanted.null_count, &wanted.min, &wanted.max), "{at}");
        // Those of a load are estimates.
        assert!((found.distinct - wanted.distinct).abs() <= 0.05 * wanted.distinct, "column {at}");
    }
}
