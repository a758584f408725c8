//! Measures the speed of a scan against a plain read of the same memory. Ignored: run with `--release -- --ignored
//! --nocapture`.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, IoBackend, Store, StoreOptions, TableSchema, TableStatistics,
    file::SequentialWriter,
    tree::{TreeBuilder, TreeLayout},
};
use arrow_array::{
    ArrayRef, Date32Array, Decimal64Array, Int32Array, RecordBatch, StringViewArray, cast::AsArray,
    types::Decimal64Type,
};
use muster_types::{Collation, KeyPart, SqlType};
use std::time::Instant;

const ROWS: usize = 6_000_000;
pub(crate) const PIECE: usize = 60_000;

/// A cheap sequence that looks random.
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A table shaped like DBT-3's lineitem.
pub(crate) fn schema() -> TableSchema {
    let text = |n| SqlType::varchar(n, Collation::DEFAULT);
    let decimal = SqlType::Decimal { precision: 15, scale: 2 };
    let mut types = vec![SqlType::INT; 4];
    types.extend([decimal; 4]);
    types.extend([text(1), text(1), SqlType::Date, SqlType::Date, SqlType::Date, text(25), text(10), text(44)]);
    let part = |column| KeyPart { column, prefix: None, descending: false };
    TableSchema {
        layouts: Default::default(),
        columns: types.into_iter().enumerate().map(|(i, ty)| ColumnSchema { ty, nullable: i != 0 && i != 3 }).collect(),
        indexes: vec![IndexSchema { id: 1, parts: vec![part(0), part(3)], unique: true }],
    }
}

pub(crate) fn piece(start: usize, r: &mut Numbers) -> Vec<ArrayRef> {
    let rows = start..start + PIECE;
    let words =
        ["carefully", "final", "deposits", "sleep", "quickly", "ironic", "requests", "above", "the", "furiously"];
    let int =
        |f: &mut dyn FnMut(usize) -> i32| -> ArrayRef { Arc::new(Int32Array::from_iter_values(rows.clone().map(f))) };
    let decimal = |r: &mut Numbers, low: u64, high: u64| -> ArrayRef {
        let values = rows.clone().map(|_| (low + r.below(high - low)) as i64);
        Arc::new(Decimal64Array::from_iter_values(values).with_precision_and_scale(15, 2).unwrap())
    };
    let date = |r: &mut Numbers| -> ArrayRef {
        Arc::new(Date32Array::from_iter_values(rows.clone().map(|_| 8036 + r.below(2520) as i32)))
    };
    let pick = |r: &mut Numbers, from: &[&str]| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(rows.clone().map(|_| from[r.below(from.len() as u64) as usize])))
    };
    let comment = |r: &mut Numbers| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(rows.clone().map(|_| {
            let mut text = String::new();
            for _ in 0..2 + r.below(3) {
                text.push_str(words[r.below(10) as usize]);
                text.push(' ');
            }
            text
        })))
    };
    vec![
        int(&mut |i| (i / 4 / 8 * 32 + i / 4 % 8) as i32),
        int(&mut |_| r.below(200_000) as i32),
        int(&mut |_| r.below(10_000) as i32),
        int(&mut |i| (i % 4) as i32),
        decimal(r, 1, 50),
        decimal(r, 90_000, 10_000_000),
        decimal(r, 0, 11),
        decimal(r, 0, 9),
        pick(r, &["A", "N", "R"]),
        pick(r, &["F", "O"]),
        date(r),
        date(r),
        date(r),
        pick(r, &["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
        pick(r, &["AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR"]),
        comment(r),
    ]
}

fn scan(table: &Arc<Table>, columns: &[usize], each: &mut dyn FnMut(&RecordBatch)) {
    let all = ScanRequest::all(ReadView::latest(), 0, columns.to_vec(), Arc::default());
    let request = ScanRequest { batch_rows: 8192, ..all };
    let mut cursor = Scan::new(Arc::clone(table), request).unwrap().cursor();
    while let Some(batch) = cursor.next_batch().unwrap() {
        each(&batch);
    }
}

fn best_ms(mut f: impl FnMut()) -> f64 {
    let runs = (0..5).map(|_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e3
    });
    runs.fold(f64::MAX, f64::min)
}

#[test]
#[ignore = "a measurement"]
fn scan_against_memory() {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        page_size: 16384,
        buffer_pool_bytes: 2 << 30,
        io: IoBackend::Threads,
        sync: false,
        ..StoreOptions::default()
    };
    let store = Store::open(directory.path(), options).unwrap();
    let schema = schema();
    let file = store.new_file(1).unwrap();
    let writer = SequentialWriter::new(file, Arc::clone(store.counters()));
    let mut builder = TreeBuilder::new(Arc::new(TreeLayout::new(&schema, 0)), writer);
    let (mut r, mut building) = (Numbers(1), 0.0);
    for start in (0..ROWS).step_by(PIECE) {
        let arrays = piece(start, &mut r);
        let begin = Instant::now();
        builder.append(&arrays, 0..PIECE).unwrap();
        building += begin.elapsed().as_secs_f64();
    }
    let (file, shape) = builder.finish().unwrap();
    let bytes = shape.leaf_pages * 16384;
    println!("built {shape:?} in {building:.2} s, {:.1} bytes a row", bytes as f64 / ROWS as f64);
    let table = store.open_table(schema, vec![file.id()], TableStatistics::default()).unwrap();

    // The machine's limit: a sum over memory as large as the column is in Arrow.
    let memory: Vec<u64> = (0..ROWS as u64).collect();
    let mut total = 0u64;
    let plain = best_ms(|| total = total.wrapping_add(std::hint::black_box(&memory).iter().fold(0, |a, b| a ^ b)));
    let mb = ROWS as f64 * 8.0 / 1e6;
    println!("plain read of {mb:.0} MB: {plain:.1} ms ({total})");

    let mut sum = 0i64;
    let one = |sum: &mut i64| {
        scan(&table, &[5], &mut |b| *sum += b.column(0).as_primitive::<Decimal64Type>().values().iter().sum::<i64>())
    };
    one(&mut sum);
    let ms = best_ms(|| one(&mut sum));
    println!("sum of one decimal: {ms:.1} ms, {:.0} % of the plain read ({sum})", 100.0 * plain / ms);
    for (name, columns) in [
        ("no column", vec![]),
        ("one decimal", vec![5]),
        ("four columns of Q6", vec![4, 5, 6, 10]),
        ("three short texts", vec![8, 9, 14]),
        ("comments", vec![15]),
        ("all columns", (0..16).collect()),
    ] {
        let mut rows = 0;
        let ms = best_ms(|| scan(&table, &columns, &mut |b| rows += b.num_rows()));
        assert_eq!(rows, 5 * ROWS);
        println!("{name}: {ms:.1} ms, {:.2} ns a value", ms * 1e6 / (ROWS * columns.len().max(1)) as f64);
    }
}
