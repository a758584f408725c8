//! Tables for the tests of scans and lookups.

use super::BatchFilter;
use crate::{
    ColumnRange, ColumnSchema, Counters, DuplicatePolicy, Fetch, IndexSchema, IoBackend, LoadOptions, ReadView, Result,
    Scan, ScanRequest, Store, StoreOptions, Table, TableLoader, TableSchema, TableStatistics, Waits,
    io::simulated::SimulatedDisk,
    tree::{
        TreeLayout,
        arbitrary::{any_schema, any_value},
        page::block::RowBlock,
    },
};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use muster_types::{BytesKind, Collation, KeyPart, SqlType, Value};
use proptest::prelude::*;
use std::sync::Arc;

pub(crate) struct Home {
    pub store: Arc<Store>,
    _directory: tempfile::TempDir,
}

/// A store in a temporary directory.
pub(crate) fn home(page_size: usize, pool_bytes: usize) -> Home {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        page_size,
        buffer_pool_bytes: pool_bytes,
        io: IoBackend::Threads,
        sync: false,
        ..StoreOptions::default()
    };
    Home { store: Store::open(directory.path(), options).unwrap(), _directory: directory }
}

/// A store whose tables are files in memory, in which faults can be injected. All frames in use is an error at once.
pub(crate) fn home_with_faults(page_size: usize, frames: usize) -> (Home, Arc<SimulatedDisk>) {
    let directory = tempfile::tempdir().unwrap();
    let buffer_pool_bytes = frames * page_size;
    let options = StoreOptions {
        page_size,
        buffer_pool_bytes,
        io: IoBackend::Threads,
        sync: true,
        // Operations are counted.
        leaf_rest: None,
        purges: false,
        ..StoreOptions::default()
    };
    let io = Arc::new(SimulatedDisk::new());
    let store = Store::open_on(directory.path(), options, Arc::clone(&io) as _).unwrap();
    store.buffer_pool().set_frame_wait_ms(0);
    (Home { store, _directory: directory }, io)
}

pub(crate) fn empty_table(home: &Home, schema: &TableSchema) -> Arc<Table> {
    let files = home.store.create_table(schema).unwrap();
    home.store.open_table(schema.clone(), files, TableStatistics::default()).unwrap()
}

/// The values of arrays of these types, row by row.
pub(crate) fn rows_of(types: &[ColumnSchema], arrays: &[ArrayRef], rows: usize) -> Vec<Vec<Value>> {
    let spec = IndexSchema { id: 1, parts: vec![], unique: true };
    let schema = TableSchema { layouts: Default::default(), columns: types.to_vec(), indexes: vec![spec] };
    let layout = TreeLayout::new(&schema, 0);
    let numbers: ArrayRef = Arc::new(arrow_array::Int64Array::from_iter_values(0..rows as i64));
    let arrays: Vec<ArrayRef> = arrays.iter().cloned().chain([numbers]).collect();
    let mut block = RowBlock::new(&layout);
    block.append_arrays(&layout, &arrays, 0..rows).unwrap();
    (0..rows).map(|row| types.iter().zip(&block.columns).map(|(c, b)| b.value(row, &c.ty, None)).collect()).collect()
}

/// Keeps rows whose value of the first column is not NULL and has an even hash of its text; NULL is NULL. Beside that
/// it has ranges.
pub(crate) struct EvenOnes {
    pub columns: Vec<usize>,
    pub types: Vec<ColumnSchema>,
    pub ranges: Vec<ColumnRange>,
}

/// Returns true if a row is in a range.
pub(crate) fn is_within(range: &ColumnRange, row: &[Value]) -> bool {
    let stored = match &row[range.column] {
        Value::Int(x) | Value::DateTime(x) | Value::Time(x) => *x,
        Value::UInt(x) => *x as i64,
        Value::Date(x) => i64::from(*x),
        Value::Decimal(x) => x.narrow().unwrap_or(0) as i64,
        _ => return false,
    };
    (range.least..=range.most).contains(&stored)
}

pub(crate) fn even(value: &Value) -> Option<bool> {
    value.to_text(6).map(|text| text.bytes().map(u32::from).sum::<u32>() % 2 == 0)
}

impl BatchFilter for EvenOnes {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn ranges(&self) -> &[ColumnRange] {
        &self.ranges
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let rows = rows_of(&self.types, batch.columns(), batch.num_rows());
        Ok(rows.iter().map(|row| even(&row[0])).collect())
    }
}

/// Rows in the order of an index, from their values.
pub(crate) fn sort_rows(schema: &TableSchema, index: usize, rows: &[(i64, Vec<Value>)]) -> Vec<(Vec<u8>, Vec<Value>)> {
    let layout = TreeLayout::new(schema, index);
    let mut sorted: Vec<_> = rows
        .iter()
        .map(|(n, row)| {
            let mut block = RowBlock::new(&layout);
            block.push_values(&layout, &layout.stored_values(row, *n)).unwrap();
            let mut key = Vec::new();
            layout.key.append_row(&block.row(0), &mut key);
            (key, row.clone())
        })
        .collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    sorted
}

pub(crate) fn sortable(rows: &[Vec<Value>]) -> Vec<String> {
    let mut text: Vec<String> = rows.iter().map(|r| format!("{r:?}")).collect();
    text.sort();
    text
}

/// Everything, by the clustered index, in small batches.
pub(crate) fn scan_request(columns: Vec<usize>) -> ScanRequest {
    let fetch = Fetch::KeyOrder { buffer_bytes: 1 << 18 };
    ScanRequest { fetch, batch_rows: 50, ..ScanRequest::all(ReadView::latest(), 0, columns, Arc::default()) }
}

/// A batch of a table's columns, from the values of rows.
pub(crate) fn batch_of(table: &Table, rows: &[Vec<Value>]) -> RecordBatch {
    // Through a table of its own, which knows how values become arrays.
    let mut schema =
        TableSchema { layouts: Default::default(), columns: table.schema().columns.clone(), indexes: Vec::new() };
    schema.indexes.push(IndexSchema { id: 1, parts: vec![], unique: true });
    let columns = (0..schema.columns.len()).collect();
    let home = home(16384, 1 << 24);
    let copy = empty_table(&home, &schema);
    for row in rows {
        copy.insert_now(row, &Counters::default()).unwrap();
    }
    let request = ScanRequest { ordered: true, batch_rows: rows.len().max(1), ..scan_request(columns) };
    let scan = Scan::new(copy, request).unwrap();
    let mut cursor = scan.cursor();
    let mut batches = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        batches.push(batch);
    }
    arrow_select::concat::concat_batches(scan.schema(), &batches).unwrap()
}

/// Options of a load of a few rows by one thread, in which a key that comes twice is an error.
pub(crate) fn small_load() -> LoadOptions {
    LoadOptions {
        memory_bytes: 1 << 20,
        temp_dir: std::env::temp_dir(),
        threads: 1,
        duplicates: DuplicatePolicy::Error,
        progress: Arc::default(),
    }
}

/// A table with these rows, loaded in one go.
pub(crate) fn loaded_table(home: &Home, schema: &TableSchema, batches: &[RecordBatch]) -> Arc<Table> {
    let options = LoadOptions { memory_bytes: 1 << 28, threads: 2, ..small_load() };
    let mut loader = TableLoader::new(empty_table(home, schema), options).unwrap();
    batches.iter().for_each(|batch| loader.push(batch).unwrap());
    let loaded = loader.finish().unwrap();
    home.store.open_table(schema.clone(), loaded.files, loaded.statistics).unwrap()
}

/// A table of sysbench: a number, an indexed number, two texts.
pub(crate) fn sysbench_schema() -> TableSchema {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let column = |ty| ColumnSchema { ty, nullable: false };
    let text = |length| column(SqlType::varchar(length, Collation::DEFAULT));
    TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::INT), column(SqlType::INT), text(120), text(60)],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
        ],
    }
}

/// A row of a table of sysbench, whose texts differ by `version`.
pub(crate) fn sysbench_row(id: i64, version: i64, indexed_number: i64) -> Vec<Value> {
    let text = |len: usize| Value::Text(format!("{:0len$}", (id * 7919 + version) * 104_729));
    vec![Value::Int(id), Value::Int(indexed_number), text(119), text(59)]
}

/// Both ways of fetching, with buffers small and large.
pub(crate) fn any_fetch() -> impl Strategy<Value = Fetch> {
    let buffer_bytes = prop_oneof![Just(1usize), 2..200usize, Just(1 << 18)];
    prop_oneof![
        1 => Just(Fetch::EntryOrder),
        2 => buffer_bytes.prop_map(|buffer_bytes| Fetch::KeyOrder { buffer_bytes })
    ]
}

/// Tables with rows, some with long values.
pub(crate) fn table_and_rows() -> impl Strategy<Value = (TableSchema, Vec<Vec<Value>>)> {
    any_schema().prop_flat_map(|mut s| {
        let ty = SqlType::Bytes { kind: BytesKind::Blob, length: 9000 };
        s.columns.push(ColumnSchema { ty, nullable: true });
        let last = s.columns.len() - 1;
        let row: Vec<BoxedStrategy<Value>> = s
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| match i == last {
                true => prop_oneof![
                    6 => (any::<u8>(), 0usize..60).prop_map(|(b, n)| Value::Bytes(vec![b; n])).boxed(),
                    1 => Just(Value::Null).boxed(),
                    1 => (any::<u8>(), 900usize..9000).prop_map(|(b, n)| Value::Bytes(vec![b; n])).boxed()
                ]
                .boxed(),
                false => any_value(c.ty, c.nullable),
            })
            .collect();
        (Just(s), proptest::collection::vec(row, 0..250))
    })
}

/// Three numbers: the first is the primary key, the second has an index.
pub(crate) fn number_schema() -> TableSchema {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    TableSchema {
        layouts: Default::default(),
        columns: vec![ColumnSchema { ty: SqlType::INT, nullable: false }; 3],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
        ],
    }
}

pub(crate) fn number_table(home: &Home, rows: i64) -> Arc<Table> {
    let table = empty_table(home, &number_schema());
    for n in 0..rows {
        table.insert_now(&[n, n * 7919 % rows, n % 10].map(Value::Int), &Counters::default()).unwrap();
    }
    table
}

/// Changes of rows as transactions of their own, after which nothing is left to purge.
impl Table {
    pub(crate) fn insert_now(&self, row: &[Value], counters: &Counters) -> Result<()> {
        now(self, |trx| self.insert(trx, row, counters))
    }

    /// The same, which does not wait for other transactions.
    pub(crate) fn insert_at_once(&self, row: &[Value], counters: &Counters) -> Result<()> {
        let mut trx = self.store().begin();
        self.insert(&mut trx, row, counters)?;
        trx.commit().map(drop)
    }

    pub(crate) fn update_now(&self, key: &[Value], new: &[Value], counters: &Counters) -> Result<bool> {
        now(self, |trx| self.update(trx, key, new, counters))
    }

    pub(crate) fn delete_now(&self, key: &[Value], counters: &Counters) -> Result<bool> {
        now(self, |trx| self.delete(trx, key, counters))
    }
}

/// Waits for other transactions, and tries again if it was chosen to end a deadlock.
fn now<R>(table: &Table, change: impl Fn(&mut crate::Transaction) -> Result<R>) -> Result<R> {
    loop {
        let mut trx = table.store().begin();
        trx.set_waits(Waits::for_time(std::time::Duration::from_secs(60)));
        match change(&mut trx) {
            Ok(done) => {
                let _not_waited_for = trx.commit()?;
                // The change is made, also if the power goes before its old versions are purged.
                let _later = table.store().purge();
                return Ok(done);
            }
            Err(crate::StorageError::Deadlock) => trx.roll_back()?,
            Err(e) => {
                trx.roll_back()?;
                return Err(e);
            }
        }
    }
}
