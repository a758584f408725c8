//! Readers beside writers: within one view all ways of reading give the same rows, again and again, whatever
//! transactions do meanwhile.

use super::{
    compare::compare_view,
    draw,
    model::{Model, Row},
};
use crate::{
    Counters, LogSettings, ReadView, StorageError, Store, StoreOptions, Table, TableStatistics,
    io::simulated::SimulatedDisk, key::ByteRange, testing::random::Random,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
};

const PAGE_SIZE: usize = 4096;
const FRAMES: usize = 256;
const WRITERS: u64 = 2;
const READERS: u64 = 2;
/// Views that each reader takes at least, and at most if there is nothing to read yet.
const VIEWS: usize = 8;
const VIEWS_MAX: usize = 10_000;

fn table(draw: &mut Random) -> Arc<Table> {
    let options = StoreOptions {
        page_size: PAGE_SIZE,
        buffer_pool_bytes: FRAMES * PAGE_SIZE,
        log: LogSettings { capacity: 64 << 20, buffer_bytes: 128 << 10, ..LogSettings::default() },
        ..StoreOptions::default()
    };
    let store = Store::open_on(Path::new("/d"), options, Arc::new(SimulatedDisk::new()) as _).unwrap();
    // Several threads purge at once.
    store.transactions().help_purge_from(3);
    let schema = draw::schema(draw);
    let files = store.create_table(&schema).unwrap();
    store.open_table(schema, files, TableStatistics::default()).unwrap()
}

/// The rows that a view sees in the clustered tree.
fn seen(table: &Table, view: &Arc<ReadView>) -> Model {
    let counters = Counters::default();
    let mut model = Model::new(table.schema().clone());
    let mut rows = table.tree(0).rows(ByteRange::default(), false, view, &counters).unwrap();
    while let Some(stored) = rows.next().unwrap() {
        let (values, number) = table.split_stored(&stored);
        model.put(None, Row { values: values.to_vec(), number });
    }
    model
}

/// Transactions, one after the other, until they are told to stop: some of them roll back. In between one reads what it
/// has written itself. Counts those that have committed.
fn write(table: &Arc<Table>, seed: u64, stop: &AtomicBool, committed: &AtomicU64) {
    let mut draw = Random(seed);
    let counters = Counters::default();
    let store = table.store();
    let mut known: Vec<Row> = Vec::new();
    for round in 0.. {
        if stop.load(Relaxed) {
            break;
        }
        if round % 16 == 0 {
            known = seen(table, &store.read_view()).rows.into_values().collect();
        }
        let (published, mut trx) = (store.read_view(), store.begin());
        let mut ends_well = !draw.one_in(4);
        for _ in 0..1 + draw.below(6) {
            let values = draw::row(&mut draw, table.schema());
            let key = |row: &Row| Model::new(table.schema().clone()).key_values(row);
            let done = match draw.below(5) {
                0 | 1 => table.insert(&mut trx, &values, &counters),
                _ if known.is_empty() => Ok(()),
                2 if known.len() > 40 => table.delete(&mut trx, &key(draw.pick(&known)), &counters).map(drop),
                kind => {
                    let row = draw.pick(&known).clone();
                    let mut new = row.values.clone();
                    let column = draw.below(new.len());
                    match kind {
                        3 => new = values,
                        _ => new[column] = values[column].clone(),
                    }
                    table.update(&mut trx, &key(&row), &new, &counters).map(drop)
                }
            };
            match done {
                Ok(()) | Err(StorageError::Duplicate { .. }) => {}
                // Another transaction has the row: what was changed is taken back.
                Err(StorageError::WouldWait | StorageError::LockTimeout | StorageError::Deadlock) => {
                    ends_well = false;
                    break;
                }
                Err(e) => panic!("{e}"),
            }
        }
        if let Some(own) = trx.id().filter(|_| round % 8 == 0) {
            let view = published.with_own(own);
            compare_view(table, &seen(table, &view), &view, &mut draw).unwrap();
        }
        if ends_well {
            drop(trx.commit().unwrap());
            committed.fetch_add(1, Relaxed);
        } else {
            trx.roll_back().unwrap();
        }
    }
}

/// Reads views by all ways, some of them when they are old. Returns how many rows were seen, which are some once a
/// transaction has committed.
fn read(table: &Arc<Table>, seed: u64) -> usize {
    let mut draw = Random(seed);
    let mut old: Option<(Arc<ReadView>, Model)> = None;
    let mut rows = 0;
    for taken in 0..VIEWS_MAX {
        if taken >= VIEWS && rows > 0 {
            break;
        }
        let view = table.store().read_view();
        let model = seen(table, &view);
        rows += model.rows.len();
        compare_view(table, &model, &view, &mut draw).unwrap();
        if let Some((view, model)) = &old {
            compare_view(table, model, view, &mut draw).unwrap();
        }
        if old.is_none() || draw.one_in(3) {
            old = Some((view, model));
        }
    }
    rows
}

#[test]
fn all_ways_of_reading_agree_within_a_view_beside_writers() {
    for seed in 0..6 {
        let table = table(&mut Random(seed));
        let (stop, committed, rows) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (table, stop, committed) = (&table, &stop, &committed);
                scope.spawn(move || write(table, seed * 100 + writer, stop, committed));
            }
            let readers: Vec<_> = (0..READERS)
                .map(|reader| {
                    let (table, rows) = (&table, &rows);
                    scope.spawn(move || rows.fetch_add(read(table, seed * 100 + 50 + reader) as u64, Relaxed))
                })
                .collect();
            let ended: Vec<_> = readers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            stop.store(true, Relaxed);
            ended.into_iter().for_each(|ended| assert!(ended.is_ok(), "a reader failed"));
        });
        assert!(committed.into_inner() > 0 && rows.into_inner() > 0, "seed {seed}");
        table.check(&Counters::default(), &mut || Ok(())).unwrap();
    }
}
