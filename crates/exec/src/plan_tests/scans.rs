//! Scans of a stored table, from a pool that is cold, with faults of the disk.

use super::*;
use muster_algebra::{ColumnDef, CompareOp, IndexDef, JoinKind, Scan, Side, TableDef};
use muster_storage::{
    ColumnSchema, Counters, IndexSchema, Store, StoreOptions, TableSchema, TableStatistics,
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
};
use muster_types::{KeyPart, KeyRange};
use std::ops::Bound;

pub(super) const ROWS: i64 = 20_000;

/// `t (id BIGINT PRIMARY KEY, n BIGINT, c VARCHAR, KEY (n))`
pub(super) struct Stored {
    table: Arc<Table>,
    store: Arc<Store>,
    def: Arc<TableDef>,
    io: Arc<SimulatedDisk>,
    _directory: tempfile::TempDir,
}

struct OneTable(Arc<Table>);

impl TableSource for OneTable {
    fn storage(&self, _: TableId) -> Result<Arc<Table>> {
        Ok(self.0.clone())
    }
}

/// NULL in every tenth row; each other number in about two rows.
pub(super) fn n_of(id: i64) -> Option<i64> {
    (id % 10 != 0).then_some(id * 7919 % ROWS / 2)
}

pub(super) fn row(id: i64) -> Vec<Value> {
    vec![int(id), opt(n_of(id)), text(&format!("text {id}"))]
}

pub(super) fn stored() -> Stored {
    stored_with(8 << 20)
}

fn stored_with(buffer_pool_bytes: usize) -> Stored {
    let directory = tempfile::tempdir().unwrap();
    let io = Arc::new(SimulatedDisk::new());
    let options =
        StoreOptions { page_size: 4096, buffer_pool_bytes, sync: false, purges: false, ..StoreOptions::default() };
    let open = || Store::open_on(directory.path(), options.clone(), io.clone()).unwrap();
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let column = |ty, nullable| ColumnSchema { ty, nullable };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![column(INT, false), column(INT, true), column(TEXT, false)],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
        ],
    };
    let store = open();
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema.clone(), files.clone(), TableStatistics::default()).unwrap();
    let mut trx = store.begin();
    for id in 0..ROWS {
        table.insert(&mut trx, &row(id), &Counters::default()).unwrap();
    }
    let _durable_when_closed = trx.commit().unwrap();
    table.flush().unwrap();
    drop((table, store));
    let store = open();
    let table = store.open_table(schema.clone(), files, TableStatistics::default()).unwrap();
    let columns =
        ["id", "n", "c"].iter().zip(&schema.columns).map(|(name, c)| ColumnDef::plain(*name, c.ty, c.nullable));
    let index = |i: &IndexSchema| IndexDef {
        id: i.id,
        name: format!("i{}", i.id),
        parts: i.parts.clone(),
        unique: i.unique,
        invisible: false,
    };
    let def = TableDef {
        id: TableId(1),
        database: "d".into(),
        name: "t".into(),
        columns: columns.collect(),
        indexes: schema.indexes.iter().map(index).collect(),
        collation: Collation::DEFAULT,
        comment: String::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    Stored { table, store, def: Arc::new(def), io, _directory: directory }
}

impl Stored {
    pub(super) fn query(&self) -> (Query, Vec<ColId>) {
        self.query_with(256 << 20)
    }

    fn query_with(&self, memory_bytes: usize) -> (Query, Vec<ColId>) {
        let mut q = Query::with_memory(memory_bytes);
        q.tables = Arc::new(OneTable(self.table.clone()));
        let ids = q.columns(&[INT, INT, TEXT]);
        (q, ids)
    }

    /// All rows, all columns, in any order.
    pub(super) fn scan(&self, ids: &[ColId]) -> Scan {
        Scan {
            table: self.def.clone(),
            alias: "t".into(),
            index: 0,
            ranges: vec![KeyRange::all()],
            steering: Vec::new(),
            distinct_prefix: None,
            columns: ids.iter().copied().zip(0..).collect(),
            filter_columns: Vec::new(),
            index_condition: Vec::new(),
            fetch: muster_algebra::RowFetch::KeyOrder,
            filter: Vec::new(),
            ordered: false,
            reverse: false,
            limit: None,
            conditions: None,
        }
    }
}

pub(super) fn scan_plan(scan: Scan) -> Plan {
    let output = scan.columns.iter().map(|(id, _)| *id).collect();
    plan(PlanOp::Scan(scan), output)
}

fn table_rows(ids: impl IntoIterator<Item = i64>) -> Vec<Vec<Value>> {
    ids.into_iter().map(row).collect()
}

#[test]
fn all_rows_come_once_from_several_cursors() {
    let stored = stored();
    let (q, ids) = stored.query();
    assert_eq!(q.run_sorted(&scan_plan(stored.scan(&ids))), sorted(table_rows(0..ROWS)));
    assert_eq!(q.counters.storage().rows_delivered(), ROWS as u64);
}

#[test]
fn an_ordered_scan_gives_the_order() {
    let stored = stored();
    let (q, ids) = stored.query();
    let ordered = Scan { ordered: true, ..stored.scan(&ids) };
    assert_eq!(q.run(&scan_plan(ordered.clone())), table_rows(0..ROWS));
    assert_eq!(q.run(&scan_plan(Scan { reverse: true, ..ordered })), table_rows((0..ROWS).rev()));
}

#[test]
fn a_filter_is_exact() {
    let stored = stored();
    let (q, ids) = stored.query();
    let below = Expr::compare(CompareOp::Lt, column(ids[1]), Expr::int(100));
    let other = Expr::compare(CompareOp::NotEq, column(ids[2]), Expr::literal(text("TEXT 1"), TEXT));
    let want = |id: &i64| n_of(*id).is_some_and(|n| n < 100) && *id != 1;
    // The column of the filter is delivered or not.
    for columns in [vec![(ids[0], 0), (ids[1], 1), (ids[2], 2)], vec![(ids[0], 0)]] {
        let filter_columns = [(ids[1], 1), (ids[2], 2)].into_iter().filter(|c| !columns.contains(c)).collect();
        let width = columns.len();
        let filter = vec![below.clone(), other.clone()];
        let scan = Scan { columns, filter_columns, filter, ..stored.scan(&ids) };
        let mut rows = table_rows((0..ROWS).filter(want));
        rows.iter_mut().for_each(|row| row.truncate(width));
        assert_eq!(q.run_sorted(&scan_plan(scan)), sorted(rows));
    }
    let none = Expr::compare(CompareOp::Lt, column(ids[1]), Expr::literal(Value::Null, INT));
    let scan = Scan { filter: vec![none], ..stored.scan(&ids) };
    assert!(q.run(&scan_plan(scan)).is_empty(), "UNKNOWN keeps no row");
}

#[test]
fn a_limit_ends_the_scan() {
    let stored = stored();
    for (limit, reverse) in [(0, false), (1, false), (7, true), (10_000, false), (1_000_000, false)] {
        let (q, ids) = stored.query();
        let scan = Scan { ordered: true, reverse, limit: Some(limit), ..stored.scan(&ids) };
        let got = q.run(&scan_plan(scan));
        let all: Vec<i64> = if reverse { (0..ROWS).rev().collect() } else { (0..ROWS).collect() };
        assert_eq!(got, table_rows(all.into_iter().take(limit as usize)));
        if limit < 100 {
            assert!(
                q.counters.storage().rows_delivered() < 1000,
                "{} rows for {limit}",
                q.counters.storage().rows_delivered()
            );
        }
    }
}

#[test]
fn an_index_gives_its_range_in_its_order() {
    let stored = stored();
    let range = KeyRange { lower: Bound::Included(vec![int(100)]), upper: Bound::Excluded(vec![int(200)]) };
    let mut entries: Vec<(i64, i64)> = (0..ROWS).filter_map(|id| Some((n_of(id)?, id))).collect();
    entries.retain(|(n, _)| (100..200).contains(n));
    entries.sort();
    assert!(entries.len() > 150);
    let (q, ids) = stored.query();
    let scan = Scan { index: 1, ranges: vec![range], ordered: true, ..stored.scan(&ids) };
    let covered = Scan { columns: vec![(ids[1], 1), (ids[0], 0)], ..scan.clone() };
    let want: Vec<_> = entries.iter().map(|(n, id)| vec![int(*n), int(*id)]).collect();
    assert_eq!(q.run(&scan_plan(covered)), want, "the index alone");
    assert_eq!(q.run(&scan_plan(scan.clone())), table_rows(entries.iter().map(|(_, id)| *id)), "rows fetched");
    let first = Scan { limit: Some(3), ..scan };
    assert_eq!(q.run(&scan_plan(first)), table_rows(entries.iter().map(|(_, id)| *id).take(3)));
}

#[test]
fn keys_are_looked_up() {
    let stored = stored();
    let (q, ids) = stored.query();
    let keys = [3, 4, 700, 19_999, 20_000];
    let ranges = keys.iter().map(|k| KeyRange::prefix(vec![int(*k)])).collect();
    let scan = Scan { ranges, ordered: true, ..stored.scan(&ids) };
    assert_eq!(q.run(&scan_plan(scan.clone())), table_rows([3, 4, 700, 19_999]));
    let by_null = Scan { index: 1, ranges: vec![KeyRange::prefix(vec![Value::Null])], ..scan.clone() };
    assert_eq!(q.run_sorted(&scan_plan(by_null)), sorted(table_rows((0..ROWS).step_by(10))));
    assert!(q.run(&scan_plan(Scan { ranges: Vec::new(), ..scan })).is_empty());
}

#[test]
fn filters_of_joins_and_sorts_reach_the_scan() {
    let stored = stored();
    let (mut q, ids) = stored.query();
    let few = q.columns(&[INT]);
    let build = q.values(&few, vec![vec![int(5)], vec![int(6)], vec![Value::Null]]);
    let op = PlanOp::HashJoin {
        kind: JoinKind::Inner,
        left: Box::new(scan_plan(stored.scan(&ids))),
        right: Box::new(build),
        keys: vec![(column(ids[1]), column(few[0]))],
        residual: Vec::new(),
        build: Side::Right,
    };
    let want = table_rows((0..ROWS).filter(|id| matches!(n_of(*id), Some(5 | 6))));
    assert_eq!(q.run_sorted(&plan(op, ids.clone())), sorted(want.clone()));
    assert_eq!(
        q.counters.storage().rows_delivered(),
        want.len() as u64,
        "the join's keys are known before the scan begins"
    );

    let (q, ids) = stored.query();
    let keys = vec![SortKey { expr: column(ids[1]), descending: true }, asc(ids[0])];
    let sort =
        |scan| plan(PlanOp::Sort { input: Box::new(scan_plan(scan)), keys: keys.clone(), fetch: Some(5) }, ids.clone());
    let mut entries: Vec<(Option<i64>, i64)> = (0..ROWS).map(|id| (n_of(id), id)).collect();
    entries.sort_by_key(|(n, id)| (std::cmp::Reverse(*n), *id));
    assert_eq!(q.run(&sort(stored.scan(&ids))), table_rows(entries.iter().map(|(_, id)| *id).take(5)));
    assert!(q.counters.storage().rows_delivered() < ROWS as u64, "{}", q.counters.storage().rows_delivered());

    // The first rows of a limited scan are those of the plan, whatever is wanted of them.
    let limited = Scan { ordered: true, limit: Some(10_000), ..stored.scan(&ids) };
    entries.retain(|(_, id)| *id < 10_000);
    assert_eq!(q.run(&sort(limited)), table_rows(entries.iter().map(|(_, id)| *id).take(5)));
}

/// The rows that a scan of `stored` joined to build rows delivers, and the counters of it. `estimate`: of the build
/// rows; many are built in parts.
fn joined(stored: &Stored, scan: Scan, keys: &[Option<i64>], estimate: f64, build: Side) -> (Vec<Vec<Value>>, Query) {
    let (mut q, ids) = stored.query();
    let key = scan.index;
    let few = q.columns(&[INT]);
    let mut rows = q.split_values(&few, keys.iter().map(|key| vec![opt(*key)]).collect());
    rows.estimate.rows = estimate;
    let scan = Scan { columns: ids.iter().copied().zip(0..).collect(), ..scan };
    let op = PlanOp::HashJoin {
        kind: JoinKind::Semi,
        left: Box::new(scan_plan(scan)),
        right: Box::new(rows),
        keys: vec![(column(ids[key]), column(few[0]))],
        residual: Vec::new(),
        build,
    };
    (q.run_sorted(&plan(op, ids)), q)
}

/// The bounds of a build side's keys are where a scan in the order of these keys begins and ends.
#[test]
fn the_keys_of_a_build_side_narrow_the_scan() {
    let stored = stored();
    let range = |from, to| KeyRange { lower: Bound::Included(vec![int(from)]), upper: Bound::Excluded(vec![int(to)]) };
    let by_id = stored.scan(&stored.query().1);
    let by_n = Scan { index: 1, ..by_id.clone() };
    let cut = Scan { ranges: vec![range(0, 5000), range(7040, 7060), range(9000, 20_000)], ..by_id.clone() };
    let few: Vec<Option<i64>> = (7000..7100).map(Some).chain([None]).collect();
    let two = [Some(100), Some(ROWS / 2 + 60)];
    // The scan, the build side's keys, and rows at most that are read of the table or the index.
    let cases = [
        (&by_id, &few[..], 300),
        (&cut, &few, 20),
        (&by_id, &[Some(-5), Some(-7)], 0),
        (&by_id, &[Some(ROWS), Some(ROWS + 9)], 0),
        (&by_id, &[None], 0),
        (&by_id, &[], 0),
        (&by_id, &two, 12_000),
        (&by_n, &few, 200),
        (&by_n, &[None, Some(3)], 2),
    ];
    for (scan, keys, most) in cases {
        for estimate in [1.0, 1e6] {
            let (want, _) = joined(&stored, scan.clone(), keys, estimate, Side::Left);
            let (got, q) = joined(&stored, scan.clone(), keys, estimate, Side::Right);
            assert_eq!(got, want, "{keys:?}");
            let counters = q.counters.storage();
            let read = counters.rows_scanned() + counters.entries_forward();
            assert!(read <= most && (read > 0 || got.is_empty()), "{keys:?}: {read} rows read, {} come", got.len());
        }
    }
    // From the device: a fraction of the pages.
    let pages = |keys: &[Option<i64>]| {
        let stored = stored_with(64 * 4096);
        let (_, q) = joined(&stored, stored.scan(&stored.query().1), keys, 1.0, Side::Right);
        q.counters.storage().pages_read()
    };
    let (all, narrow) = (pages(&[Some(0), Some(ROWS - 1)]), pages(&few));
    assert!(narrow * 10 < all, "{narrow} of {all} pages");
}

/// A build side on disk says of its keys what it can, too.
#[test]
fn a_build_side_on_disk_filters_the_scan() {
    let stored = stored();
    for (kind, estimate) in
        [(JoinKind::Inner, 1.0), (JoinKind::Semi, 1e6), (JoinKind::Anti, 1.0), (JoinKind::Left, 1e6)]
    {
        let (mut q, ids) = stored.query_with(1 << 20);
        let wide = q.columns(&[INT, TEXT]);
        // Every hundredth row of the second half, and as many that are no rows.
        let keys = (ROWS / 200..ROWS / 50).map(|i| i * 100);
        let padded = |key| vec![int(key), text(&format!("{key:0>4000}"))];
        let mut build = q.split_values(&wide, keys.clone().map(padded).collect());
        build.estimate.rows = estimate;
        let op = PlanOp::HashJoin {
            kind,
            left: Box::new(build),
            right: Box::new(scan_plan(stored.scan(&ids))),
            keys: vec![(column(wide[0]), column(ids[0]))],
            residual: Vec::new(),
            build: Side::Left,
        };
        let delivers_right = matches!(kind, JoinKind::Inner | JoinKind::Left);
        let output = if delivers_right { vec![wide[0], ids[2]] } else { vec![wide[0]] };
        let mut want: Vec<Vec<Value>> = Vec::new();
        for key in keys {
            let found = key < ROWS;
            let right = if found { text(&format!("text {key}")) } else { Value::Null };
            match kind {
                JoinKind::Semi if found => want.push(vec![int(key)]),
                JoinKind::Anti if !found => want.push(vec![int(key)]),
                JoinKind::Inner if found => want.push(vec![int(key), right]),
                JoinKind::Left => want.push(vec![int(key), right]),
                _ => {}
            }
        }
        assert_eq!(q.run_sorted(&plan(op, output)), sorted(want), "{kind:?}");
        assert!(q.counters.operators().spill_files() > 0, "the build side does not fit");
        let (read, delivered) = (q.counters.storage().rows_scanned(), q.counters.storage().rows_delivered());
        assert!(read < 11_000, "{kind:?}: {read} rows within the bounds");
        assert!((100..700).contains(&delivered), "{kind:?}: {delivered} rows pass the filter");
    }
}

/// The NULL of a subquery decides NOT IN for all rows, so a filter of the rows' keys must not drop it.
#[test]
fn a_null_of_not_in_is_not_filtered_away() {
    let stored = stored();
    for memory_bytes in [256 << 20, 1 << 20] {
        for with_null in [true, false] {
            let (mut q, ids) = stored.query_with(memory_bytes);
            let other = q.columns(&[INT, INT, TEXT]);
            let from = if with_null { Vec::new() } else { vec![int(0)] };
            let lower = if with_null { Bound::Unbounded } else { Bound::Included(from) };
            // The entries of the index that have a number, or all.
            let numbers = Scan {
                index: 1,
                ranges: vec![KeyRange { lower, upper: Bound::Excluded(vec![int(100)]) }],
                columns: vec![(other[1], 1)],
                ..stored.scan(&other)
            };
            let op = PlanOp::HashJoin {
                kind: JoinKind::NullAwareAnti,
                left: Box::new(scan_plan(stored.scan(&ids))),
                right: Box::new(scan_plan(numbers)),
                keys: vec![(column(ids[0]), column(other[1]))],
                residual: Vec::new(),
                build: Side::Left,
            };
            let known: std::collections::HashSet<i64> = (0..ROWS).filter_map(n_of).filter(|n| *n < 100).collect();
            let want = if with_null { Vec::new() } else { table_rows((0..ROWS).filter(|id| !known.contains(id))) };
            assert_eq!(q.run_sorted(&plan(op, ids.clone())), sorted(want), "{memory_bytes} bytes, NULL {with_null}");
            assert_eq!(q.counters.operators().spill_files() > 0, memory_bytes == 1 << 20);
        }
    }
}

/// A join by lookup through the index on `n`, ended by its reader at some point, leaves no page latched and no read
/// under way: a pool of few pages serves everything afterwards.
#[test]
fn a_join_by_lookup_that_is_cancelled_lets_go_of_all_pages() {
    let stored = stored_with(32 * 4096);
    stored.io.set_read_delay(std::time::Duration::from_micros(200));
    for (round, batched) in (0..24).flat_map(|round| [(round, false), (round, true)]) {
        let (mut q, inner) = stored.query();
        let outer = q.columns(&[INT, TEXT]);
        let rows = (0..6000).map(|i| vec![int(i * 31 % (ROWS / 2)), text(&format!("outer row {i}"))]).collect();
        let op = PlanOp::LookupJoin {
            kind: JoinKind::Inner,
            left: Box::new(q.split_values(&outer, rows)),
            lookup: Box::new(Scan { index: 1, ranges: Vec::new(), ..stored.scan(&inner) }),
            keys: vec![column(outer[0])],
            residual: Vec::new(),
            entry_condition: Vec::new(),
            batched,
            key_ordered: batched,
            incremental: false,
        };
        let join = plan(op, vec![outer[1], inner[0], inner[2]]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut context = q.context();
            context.buffers = Buffers { join_bytes: 32 << 10, mrr_bytes: 8 << 10, ..Buffers::default() };
            let (join, columns) = q.finished(&join);
            let mut rows = execute(&join, &columns, &context).unwrap();
            for _ in 0..round % 4 {
                assert!(rows.try_next().await.unwrap().is_some_and(|batch| batch.num_rows() > 0));
            }
            // Or while it waits for the first rows.
            let ended = tokio::time::timeout(std::time::Duration::from_micros(100 * round), rows.try_next()).await;
            drop((ended, rows));
        });
        drop(runtime);
        assert_eq!(q.runtime.memory_used_bytes(), 0);
    }
    let pool = stored.store.buffer_pool();
    for _ in 0..1000 {
        if pool.statistics().reading > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    assert_eq!(pool.statistics().reading, 0);
    let (q, ids) = stored.query();
    assert_eq!(q.run_sorted(&scan_plan(stored.scan(&ids))), sorted(table_rows(0..ROWS)));
}

#[test]
fn a_fault_of_the_disk_is_an_error_of_the_query() {
    for kind in [FaultKind::Error(5), FaultKind::Short, FaultKind::BitFlip] {
        // At the beginning, on the way, and later and later, until the scan is over before.
        for after in std::iter::successors(Some(0), |after| Some(after * 2 + 3)) {
            let stored = stored();
            let (q, ids) = stored.query();
            stored.io.inject(DiskFault { on: Operation::Read, after, kind, forever: true });
            let Some(error) = q.try_run(&scan_plan(stored.scan(&ids))).err() else {
                assert!(after >= 8, "{kind:?} after {after} is not noticed");
                break;
            };
            assert!(!error.message.contains("panicked"), "{kind:?} after {after}: {error}");
            let key = KeyRange::prefix(vec![int(ROWS / 2)]);
            let lookup = Scan { index: 1, ranges: vec![key], ..stored.scan(&ids) };
            assert!(q.try_run(&scan_plan(lookup)).is_err() || after > 0);
            stored.io.clear_faults();
            assert_eq!(q.run_sorted(&scan_plan(stored.scan(&ids))), sorted(table_rows(0..ROWS)));
        }
    }
}

#[test]
fn a_plan_that_does_not_fit_the_table_is_an_error() {
    let stored = stored();
    let (q, ids) = stored.query();
    let scan = stored.scan(&ids);
    let wrong = [
        Scan { columns: vec![(ids[0], 3)], ..scan.clone() },
        Scan { index: 2, ..scan.clone() },
        Scan { ranges: vec![KeyRange::prefix(vec![text("x")])], ..scan },
    ];
    for scan in wrong {
        let error = q.try_run(&scan_plan(scan.clone())).unwrap_err();
        assert!(!error.message.contains("panicked"), "{scan:?}: {error}");
    }
}
