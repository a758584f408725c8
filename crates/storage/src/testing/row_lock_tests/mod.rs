//! Tests of locks of rows and gaps, as writers and locking reads of tables take them.
//!
//! ```text
//!   reads.rs       what locking reads wait for, and what they deliver after it
//!   duplicates.rs  unique keys whose rows are not committed
//!   phantoms.rs    gaps that were read stay as they were, what is outside does not; faults that must be found
//!   bank.rs        many threads: money that moves is not lost, and no two rows have the same unique value
//! ```

mod bank;
mod duplicates;
mod phantoms;
mod reads;

use crate::{
    ColumnSchema, Counters, IndexSchema, LockMode, LockingScan, LockingScanRequest, ReadView, Result, StorageError,
    Table, TableSchema, Transaction, Waits,
    rows::fixtures::{Home, empty_table, home},
};
use muster_types::{KeyPart, KeyRange, SqlType, Value};
use std::{
    ops::Bound,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

const SHARED: LockMode = LockMode::Shared;
const EXCLUSIVE: LockMode = LockMode::Exclusive;

/// A table of a primary key, a unique number that may be NULL, and a number with an index.
struct Bench {
    table: Arc<Table>,
    counters: Counters,
    /// Goes last: until the table is closed, its files must be there.
    home: Home,
}

fn int(value: i64) -> Value {
    Value::Int(value)
}

fn row(id: i64, unique: i64, number: i64) -> Vec<Value> {
    vec![int(id), int(unique), int(number)]
}

fn bench() -> Bench {
    let home = home(4096, 4 << 20);
    let column = |nullable| ColumnSchema { ty: SqlType::BIGINT, nullable };
    let index = |id, column, unique| {
        let parts = vec![KeyPart { column, prefix: None, descending: false }];
        IndexSchema { id, parts, unique }
    };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![column(false), column(true), column(false)],
        indexes: vec![index(1, 0, true), index(2, 1, true), index(3, 2, false)],
    };
    let table = empty_table(&home, &schema);
    Bench { home, table, counters: Counters::default() }
}

impl Bench {
    /// A table with rows of these primary keys; the unique number is ten times as much, the other one a hundred times.
    fn with(ids: impl IntoIterator<Item = i64>) -> Bench {
        let bench = bench();
        let mut trx = bench.begin();
        for id in ids {
            bench.insert(&mut trx, &row(id, 10 * id, 100 * id)).unwrap();
        }
        drop(trx.commit().unwrap());
        bench
    }

    /// A transaction that waits as long as it takes.
    fn begin(&self) -> Transaction {
        let mut trx = self.home.store.begin();
        trx.set_waits(Waits::for_time(Duration::from_secs(60)));
        trx
    }

    /// A transaction that does not wait.
    fn begin_nowait(&self) -> Transaction {
        self.home.store.begin()
    }

    fn insert(&self, trx: &mut Transaction, row: &[Value]) -> Result<()> {
        self.table.insert(trx, row, &self.counters)
    }

    fn update(&self, trx: &mut Transaction, id: i64, new: &[Value]) -> Result<bool> {
        self.table.update(trx, &[int(id)], new, &self.counters)
    }

    fn delete(&self, trx: &mut Transaction, id: i64) -> Result<bool> {
        self.table.delete(trx, &[int(id)], &self.counters)
    }

    fn request(&self, index: usize, ranges: Vec<KeyRange>) -> LockingScanRequest {
        LockingScanRequest { index, ranges, reverse: false, mode: EXCLUSIVE, gaps: true, skip_locked: false }
    }

    fn read(&self, trx: &mut Transaction, request: LockingScanRequest) -> Result<Vec<i64>> {
        let mut scan = LockingScan::new(&self.table, request).unwrap();
        let mut ids = Vec::new();
        while let Some(row) = scan.next(trx, &self.counters)? {
            let Value::Int(id) = row[0] else { panic!("{row:?}") };
            ids.push(id);
        }
        Ok(ids)
    }

    /// Locks rows and gaps between two values of an index, both included.
    fn lock(&self, trx: &mut Transaction, index: usize, from: i64, to: i64) -> Result<Vec<i64>> {
        self.read(trx, self.request(index, vec![between(from, to)]))
    }

    /// The row as a reader sees it who takes no locks.
    fn seen(&self, id: i64) -> Option<Vec<Value>> {
        self.table.get(&[int(id)], &self.home.store.read_view(), &self.counters).unwrap()
    }

    /// All rows that are there, committed or not, in the order of the primary key.
    fn newest(&self) -> Vec<i64> {
        let all = crate::key::ByteRange::default();
        let mut rows = self.table.tree(0).rows(all, false, &ReadView::latest(), &self.counters).unwrap();
        std::iter::from_fn(|| rows.next().unwrap())
            .map(|row| if let Value::Int(id) = row[0] { id } else { 0 })
            .collect()
    }
}

fn between(from: i64, to: i64) -> KeyRange {
    KeyRange { lower: Bound::Included(vec![int(from)]), upper: Bound::Included(vec![int(to)]) }
}

/// Runs something in a thread of its own; returns when it waits for a lock.
fn waits<T: Send + 'static>(bench: &Arc<Bench>, run: impl FnOnce(&Bench) -> T + Send + 'static) -> JoinHandle<T> {
    let before = bench.home.store.locks().wait_statistics().waits;
    let thread = {
        let bench = Arc::clone(bench);
        thread::spawn(move || run(&bench))
    };
    while bench.home.store.locks().wait_statistics().waits == before {
        assert!(!thread.is_finished(), "it did not wait");
        thread::yield_now();
    }
    thread
}

fn would_wait<T: std::fmt::Debug>(outcome: Result<T>) -> bool {
    match outcome {
        Err(StorageError::WouldWait) => true,
        Ok(_) => false,
        Err(e) => panic!("{e}"),
    }
}

/// Panics unless all trees are sound and agree.
fn check(bench: &Bench) {
    bench.home.store.purge().unwrap();
    let rows = bench.newest().len() as u64;
    for tree in bench.table.trees() {
        assert_eq!(tree.check(&bench.counters).unwrap().rows, rows);
    }
    assert_eq!(bench.home.store.locks().locks(), []);
}
