//! Measures how many keys a lookup finds per second, in memory. Ignored: run with `--release -- --ignored --nocapture`.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, TableSchema,
    rows::fixtures::{home, loaded_table},
};
use arrow_array::{Array, ArrayRef, Int32Array, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use muster_types::{Collation, KeyPart, SqlType};

const ROWS: i32 = 4_000_000;

/// Time that this thread has computed, in seconds: what others do beside it does not count.
fn computed() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; on failure it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A number that looks random, below `n`.
fn scattered(i: i32, n: i32) -> i32 {
    ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i32 % n
}

#[test]
#[ignore = "a measurement"]
fn keys_per_second() {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let int = ColumnSchema { ty: SqlType::INT, nullable: false };
    let text = ColumnSchema { ty: SqlType::varchar(40, Collation::DEFAULT), nullable: true };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![int.clone(), int.clone(), int, text],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
        ],
    };
    let ty = |c: i32| if c < 3 { DataType::Int32 } else { DataType::Utf8View };
    let fields: Vec<_> = (0..4).map(|c| Field::new(format!("c{c}"), ty(c), c == 3)).collect();
    let fields = Arc::new(Schema::new(fields));
    let batches: Vec<RecordBatch> = (0..ROWS)
        .step_by(100_000)
        .map(|start| {
            let ints = |f: fn(i32) -> i32| -> ArrayRef {
                Arc::new(Int32Array::from_iter_values((start..start + 100_000).map(f)))
            };
            let text: ArrayRef = Arc::new(StringViewArray::from_iter_values(
                (start..start + 100_000).map(|i| format!("row {i} of some thousands, {}", scattered(i, 1000))),
            ));
            let columns = vec![ints(|i| i), ints(|i| scattered(i, ROWS / 4)), ints(|i| i % 1000), text];
            RecordBatch::try_new(Arc::clone(&fields), columns).unwrap()
        })
        .collect();
    let home = home(16384, 1 << 30);
    let table = loaded_table(&home, &schema, &batches);
    drop(batches);
    let every = |step: usize, end: i32| -> Vec<i32> { (0..end).step_by(step).collect() };
    for (name, index, columns, values) in [
        ("primary key, every row, an int", 0, vec![2], every(1, ROWS)),
        ("primary key, every 10th row, an int", 0, vec![2], every(10, ROWS)),
        ("primary key, every 10th row, all columns", 0, vec![0, 1, 2, 3], every(10, ROWS)),
        ("primary key, every 1000th row, an int", 0, vec![2], every(1000, ROWS)),
        ("primary key, every 1000th row, all columns", 0, vec![0, 1, 2, 3], every(1000, ROWS)),
        ("covering index, every key, 4 entries each", 1, vec![0], every(1, ROWS / 4)),
        ("covering index, every 1000th key", 1, vec![0], every(1000, ROWS / 4)),
        ("index and rows, every 10th key", 1, vec![2], every(10, ROWS / 4)),
        ("index and rows, every 1000th key", 1, vec![2], every(1000, ROWS / 4)),
    ] {
        for (how, batched, fetch) in
            [("batched", true, Fetch::KeyOrder { buffer_bytes: 1 << 20 }), ("one by one", false, Fetch::EntryOrder)]
        {
            let request = LookupRequest {
                view: ReadView::latest(),
                index,
                columns: columns.clone(),
                index_filter: None,
                filter: None,
                fetch,
                batched,
                batch_rows: 8192,
                counters: Arc::default(),
            };
            let mut lookup = Lookup::new(Arc::clone(&table), request).unwrap();
            let array: ArrayRef = Arc::new(Int32Array::from(values.clone()));
            let (mut best, mut rows) = (f64::MAX, 0);
            for _ in 0..5 {
                let start = computed();
                rows = 0;
                // As many keys at once as a join would have.
                for at in (0..array.len()).step_by(65_536) {
                    let some = array.slice(at, 65_536.min(array.len() - at));
                    lookup.begin(table.lookup_keys(index, &[some]).unwrap());
                    while let Some((batch, _)) = lookup.next_batch().unwrap() {
                        rows += batch.num_rows();
                    }
                }
                best = best.min(computed() - start);
            }
            let keys = values.len() as f64;
            println!(
                "{name}, {how}: {:.2} million keys/s, {:.0} ns a key, {:.0} ns a row ({rows} rows)",
                keys / best / 1e6,
                best / keys * 1e9,
                best / rows as f64 * 1e9
            );
        }
    }
}
