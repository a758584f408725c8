//! Transactions that interleave: what each view sees, what rollback and a crash leave, what is left when all is purged.

mod broken_rules;
mod power_cuts;

use crate::{
    ColumnSchema, Counters, FlushAtCommit, IndexSchema, ReadView, Savepoint, StorageError, Store, StoreOptions, Table,
    TableSchema, TableStatistics, Transaction, io::simulated::SimulatedDisk, key::ByteRange, store::Faults,
    testing::random::Random,
};
use muster_types::{BytesKind, Collation, KeyPart, SqlType, Value};
use std::{collections::BTreeMap, path::Path, sync::Arc};

type RowsByKey = BTreeMap<i64, Vec<Value>>;

fn schema() -> TableSchema {
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let index =
        |id, columns: &[usize], unique| IndexSchema { id, parts: columns.iter().copied().map(part).collect(), unique };
    let column = |ty| ColumnSchema { ty, nullable: false };
    TableSchema {
        layouts: Default::default(),
        columns: vec![
            column(SqlType::INT),
            column(SqlType::INT),
            column(SqlType::varchar(40, Collation::DEFAULT)),
            column(SqlType::Bytes { kind: BytesKind::Blob, length: 65535 }),
        ],
        indexes: vec![index(1, &[0], true), index(2, &[1], true), index(3, &[2], false)],
    }
}

fn options(faults: Faults) -> StoreOptions {
    StoreOptions { page_size: 4096, buffer_pool_bytes: 64 * 4096, purges: false, faults, ..StoreOptions::default() }
}

fn store_on(disk: &Arc<SimulatedDisk>, faults: Faults) -> Arc<Store> {
    Store::open_on(Path::new("/d"), options(faults), Arc::clone(disk) as _).unwrap()
}

fn row(id: i64, unique: i64, text: &str, long: usize) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(unique), Value::Text(text.into()), Value::Bytes(vec![id as u8; long])]
}

/// The rows that a view sees by an index, which holds their keys.
fn seen_by(table: &Table, index: usize, view: &Arc<ReadView>) -> Vec<Vec<Value>> {
    let counters = Counters::default();
    let mut rows = table.tree(index).rows(ByteRange::default(), false, view, &counters).unwrap();
    std::iter::from_fn(move || rows.next().unwrap()).collect()
}

/// All indexes show a view these rows.
fn assert_sees(table: &Table, view: &Arc<ReadView>, rows: &RowsByKey, context: &str) {
    let want: Vec<_> = rows.values().cloned().collect();
    assert_eq!(seen_by(table, 0, view), want, "{context}");
    for index in 1..table.trees().len() {
        let layout = table.tree(index).layout();
        let mut want: Vec<_> = rows.values().map(|row| layout.stored_values(row, 0).into_owned()).collect();
        want.sort_by_key(|entry| table.tree(index).key_of_values(entry).unwrap());
        assert_eq!(seen_by(table, index, view), want, "{context}: index {index}");
    }
}

/// Rows that are there, marked ones too, in all trees.
fn entries(table: &Table) -> Vec<usize> {
    let counters = Counters::default();
    let mut counts = Vec::new();
    for tree in table.trees() {
        let mut count = 0;
        for page_no in 1..tree.file().page_count() {
            let page = table.store().buffer_pool().fetch(tree.file(), page_no, &counters).unwrap();
            if page.header().page_type() == Some(crate::page::PageType::Leaf) {
                count += tree.leaf(&page).unwrap().rows();
            }
        }
        counts.push(count);
    }
    counts
}

/// A transaction of a history, with the rows as it sees them and its savepoints.
struct Writer {
    trx: Transaction,
    /// Its changes: the row with a key as it is now, or `None`.
    changes: BTreeMap<i64, Option<Vec<Value>>>,
    savepoints: Vec<(Savepoint, BTreeMap<i64, Option<Vec<Value>>>)>,
}

#[derive(Default)]
struct Met {
    waits: u32,
    duplicates: u32,
    rollbacks: u32,
    to_savepoint: u32,
    commits: u32,
    crashes_with_losers: u32,
    cuts_in_recovery: u32,
    cuts_in_cleanup: u32,
    commits_lost: u32,
}

struct Life {
    draw: Random,
    disk: Arc<SimulatedDisk>,
    table: Option<Arc<Table>>,
    committed: RowsByKey,
    /// The rows after the last commit that is known to be durable, then after each commit that is not.
    perhaps: Vec<RowsByKey>,
    writers: Vec<Writer>,
    views: Vec<(Arc<ReadView>, RowsByKey)>,
    faults: Faults,
    met: Met,
}

impl Life {
    fn new(seed: u64) -> Life {
        Life::with_faults(seed, Faults::default())
    }

    fn with_faults(seed: u64, faults: Faults) -> Life {
        let disk = Arc::new(SimulatedDisk::new());
        let store = store_on(&disk, faults);
        let files = store.create_table(&schema()).unwrap();
        let table = Some(store.open_table(schema(), files, TableStatistics::default()).unwrap());
        let (committed, writers, views) = (RowsByKey::new(), Vec::new(), Vec::new());
        let perhaps = vec![RowsByKey::new()];
        Life { draw: Random(seed), disk, table, committed, perhaps, writers, views, faults, met: Met::default() }
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(self.table.as_ref().unwrap())
    }

    /// Something happens. Errors: the power is gone.
    fn step(&mut self) -> crate::Result<()> {
        match self.draw.below(40) {
            0..=3 if self.writers.len() < 4 => {
                let trx = self.table().store().begin();
                self.writers.push(Writer { trx, changes: BTreeMap::new(), savepoints: Vec::new() });
            }
            4 if !self.writers.is_empty() => {
                let ended = self.draw.below(self.writers.len());
                self.writers.swap_remove(ended).trx.roll_back()?;
                self.met.rollbacks += 1;
            }
            5 | 6 if !self.writers.is_empty() => {
                let ended = self.draw.below(self.writers.len());
                let Writer { trx, changes, .. } = self.writers.swap_remove(ended);
                // A transaction that has changed nothing has nothing to wait for.
                let waits = trx.changed_rows() > 0 && self.draw.one_in(3);
                let trx = trx.commit()?;
                for (key, row) in changes {
                    match row {
                        Some(row) => self.committed.insert(key, row),
                        None => self.committed.remove(&key),
                    };
                }
                self.met.commits += 1;
                self.perhaps.push(self.committed.clone());
                if waits {
                    trx.wait(FlushAtCommit::Durable)?;
                    self.perhaps.drain(..self.perhaps.len() - 1);
                }
            }
            7 => self.views.push((self.table().store().read_view(), self.committed.clone())),
            8 if self.views.len() > 2 => {
                let gone = self.draw.below(self.views.len());
                self.views.swap_remove(gone);
            }
            9 => self.table().store().purge()?,
            10 | 11 if !self.writers.is_empty() => {
                let at = self.draw.below(self.writers.len());
                let writer = &mut self.writers[at];
                match self.draw.one_in(2) {
                    true => writer.savepoints.push((writer.trx.savepoint(), writer.changes.clone())),
                    false => {
                        if let Some((to, changes)) = writer.savepoints.pop() {
                            writer.trx.roll_back_to(to)?;
                            writer.changes = changes;
                            self.met.to_savepoint += 1;
                        }
                    }
                }
            }
            _ if !self.writers.is_empty() => self.change()?,
            _ => {}
        }
        Ok(())
    }

    fn change(&mut self) -> crate::Result<()> {
        let (table, counters) = (self.table(), Counters::default());
        let at = self.draw.below(self.writers.len());
        let (key, to) = (self.draw.below(60) as i64, self.draw.below(60) as i64);
        let long = if self.draw.one_in(6) { 6000 } else { self.draw.below(300) };
        let text = ["a", "A", "b", "long text", ""][self.draw.below(5)];
        let new = |id: i64, draw: &mut Random| row(id, draw.below(80) as i64, text, long);
        let new_row = new(key, &mut self.draw);
        let moved = new(if self.draw.one_in(3) { to } else { key }, &mut self.draw);
        let kind = self.draw.below(5);
        let writer = &mut self.writers[at];
        let is_there = match writer.changes.get(&key) {
            Some(row) => row.is_some(),
            None => self.committed.contains_key(&key),
        };
        let done = match kind {
            0 | 1 => table.insert(&mut writer.trx, &new_row, &counters).map(|()| {
                assert!(!is_there);
                writer.changes.insert(key, Some(new_row));
            }),
            2 => table.delete(&mut writer.trx, &[Value::Int(key)], &counters).map(|found| {
                assert_eq!(found, is_there);
                if found {
                    writer.changes.insert(key, None);
                }
            }),
            _ => table.update(&mut writer.trx, &[Value::Int(key)], &moved, &counters).map(|found| {
                assert_eq!(found, is_there);
                if found {
                    writer.changes.insert(key, None);
                    let Value::Int(to) = moved[0] else { panic!() };
                    writer.changes.insert(to, Some(moved));
                }
            }),
        };
        match done {
            Ok(()) => {}
            Err(StorageError::WouldWait) => self.met.waits += 1,
            Err(StorageError::Duplicate { .. }) => self.met.duplicates += 1,
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn look(&self, context: &str) {
        let table = self.table();
        assert_sees(&table, &table.store().read_view(), &self.committed, context);
        for (view, rows) in &self.views {
            assert_sees(&table, view, rows, context);
        }
        for writer in &self.writers {
            let Some(id) = writer.trx.id() else { continue };
            let mut rows = self.committed.clone();
            for (key, row) in &writer.changes {
                match row {
                    Some(row) => rows.insert(*key, row.clone()),
                    None => rows.remove(key),
                };
            }
            assert_sees(&table, &table.store().read_view().with_own(id), &rows, context);
        }
    }

    /// Ends all, and looks whether anything is left of what nobody needs.
    fn settle(&mut self, context: &str) {
        self.writers.drain(..).for_each(|writer| writer.trx.roll_back().unwrap());
        self.views.clear();
        let table = self.table();
        table.store().roll_back_losers().unwrap();
        table.store().purge().unwrap();
        assert_eq!((table.store().history_length(), table.store().losers()), (0, 0), "{context}");
        assert_sees(&table, &ReadView::latest(), &self.committed, context);
        assert_eq!(entries(&table), [self.committed.len(); 3], "{context}: rows that are marked are left");
    }

    fn check_pages(&self, context: &str) {
        for report in self.table().check(&Counters::default(), &mut || Ok(())).unwrap() {
            assert_eq!(report.lost_pages, 0, "{context}");
        }
    }

    /// Opens the store as the power going at this moment would leave it.
    fn crash(&mut self) {
        let table = self.table.take().unwrap();
        table.store().make_durable().unwrap();
        let changed = self.writers.iter().filter(|writer| writer.trx.changed_rows() > 0).count();
        self.met.crashes_with_losers += u32::from(changed > 0);
        let disk = Arc::new(self.disk.after_power_cut(self.draw.0));
        self.views.clear();
        self.writers.clear();
        self.perhaps = vec![self.committed.clone()];
        let files = table.files().to_vec();
        drop(table);
        self.disk = disk;
        let store = store_on(&self.disk, self.faults);
        self.table = Some(store.open_table(schema(), files, TableStatistics::default()).unwrap());
    }
}

#[test]
fn each_view_sees_what_had_committed() {
    let mut met = Met::default();
    for seed in 0..25 {
        let mut life = Life::new(seed);
        for step in 0..600 {
            life.step().unwrap();
            if step % 60 == 59 {
                life.look(&format!("seed {seed}, step {step}"));
            }
        }
        life.settle(&format!("seed {seed}"));
        life.check_pages(&format!("seed {seed}"));
        met.waits += life.met.waits;
        met.duplicates += life.met.duplicates;
        met.rollbacks += life.met.rollbacks;
        met.to_savepoint += life.met.to_savepoint;
        met.commits += life.met.commits;
    }
    let Met { waits, duplicates, rollbacks, to_savepoint, commits, .. } = met;
    assert!(waits > 100 && duplicates > 100, "{waits} waits, {duplicates} duplicates");
    assert!(rollbacks > 100 && to_savepoint > 50 && commits > 200, "{rollbacks} {to_savepoint} {commits}");
}

#[test]
fn a_crash_leaves_what_had_committed() {
    let mut met = Met::default();
    for seed in 100..125 {
        let mut life = Life::new(seed);
        for time in 0..4 {
            for _ in 0..150 {
                life.step().unwrap();
            }
            if life.draw.one_in(2) {
                life.table().store().checkpoint().unwrap();
            }
            let context = format!("seed {seed}, crash {time}");
            life.crash();
            life.look(&format!("{context}, before the rollback"));
            if life.draw.one_in(2) {
                life.settle(&context);
                life.table().check(&Counters::default(), &mut || Ok(())).unwrap();
            }
        }
        life.settle(&format!("seed {seed}"));
        met.crashes_with_losers += life.met.crashes_with_losers;
    }
    assert!(met.crashes_with_losers > 30, "{}", met.crashes_with_losers);
}

#[test]
fn views_that_keep_too_much_of_the_log_fail() {
    let mut life = Life::new(7);
    let (table, counters) = (life.table(), Counters::default());
    table.insert_now(&row(1, 1, "first", 10), &counters).unwrap();
    table.insert_now(&row(2, 2, "first", 10), &counters).unwrap();
    let store = table.store();
    let old = store.read_view();
    let own = old.with_own(1000);
    table.update_now(&[Value::Int(1)], &row(1, 1, "second", 10), &counters).unwrap();
    let young = store.read_view();
    assert_eq!(store.history_length(), 1, "the old view needs it");
    assert_eq!(store.transactions().expire_views(0), 0);
    assert_eq!(seen_by(&table, 0, &old)[0], row(1, 1, "first", 10));
    assert_eq!(store.transactions().expire_views(store.log_position()), 1);
    for view in [&old, &own] {
        for index in 0..3 {
            let mut rows = table.tree(index).rows(ByteRange::default(), false, view, &counters).unwrap();
            assert!(matches!(rows.next(), Err(StorageError::SnapshotTooOld)));
        }
        assert!(matches!(table.get(&[Value::Int(9)], view, &counters), Err(StorageError::SnapshotTooOld)));
    }
    life.committed = RowsByKey::from([(1, row(1, 1, "second", 10)), (2, row(2, 2, "first", 10))]);
    assert_sees(&table, &young, &life.committed, "the young view");
    life.settle("after the old views");
}

/// Before it ends, a transaction keeps the log by itself: a view that does not see it is not to blame.
#[test]
fn views_fail_for_what_they_keep_only() {
    let mut life = Life::new(8);
    let (table, counters) = (life.table(), Counters::default());
    let store = table.store();
    let mut long = store.begin();
    table.insert(&mut long, &row(1, 1, "long", 10), &counters).unwrap();
    table.insert_now(&row(2, 2, "first", 10), &counters).unwrap();
    let view = store.read_view();
    let before_its_end = store.log_position();
    long.roll_back().unwrap();
    assert_eq!(store.transactions().expire_views(before_its_end), 0);
    life.committed = RowsByKey::from([(2, row(2, 2, "first", 10))]);
    assert_sees(&table, &view, &life.committed, "the view");
    assert_eq!(store.transactions().expire_views(store.log_position()), 1);
    assert!(matches!(table.get(&[Value::Int(9)], &view, &counters), Err(StorageError::SnapshotTooOld)));
    life.settle("after the view");
}
