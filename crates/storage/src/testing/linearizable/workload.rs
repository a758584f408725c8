//! Threads that work on the rows of one table, each operation with its start, its end and its outcome.

use super::operation::{Kind, Operation, Outcome, Version};
use crate::{
    Counters, LogSettings, ReadView, Result, StorageError, Store, StoreOptions, Table, TableStatistics,
    io::simulated::SimulatedDisk,
    testing::{
        random::Random,
        table_model::{
            compare::{Compare, Verdict, compare},
            draw,
            history::Met,
            model::{Model, Parts, Row},
        },
    },
};
use muster_types::Value;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
};

const THREADS: u64 = 8;
const OPERATIONS: usize = 500;
const KEYS: usize = 60;
const PAGE_SIZE: usize = 4096;
const FRAMES: usize = 32;

/// A fault that is planted in the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlantedFault {
    /// Now and then a thread reads what it has read or written last with the same key.
    StaleRead,
    /// Now and then an update counts as done and is not made.
    LostUpdate,
    /// Now and then a row is deleted and inserted in the place of an update.
    UpdateInTwoSteps,
}

/// A key with the versions of its row that operations have written.
struct Key {
    values: Vec<Value>,
    row: Vec<Value>,
    versions: Mutex<BTreeMap<Version, Vec<Value>>>,
    operations: Mutex<Vec<Operation>>,
}

/// A table, and the history of its keys.
pub(super) struct Workload {
    table: Arc<Table>,
    keys: Vec<Key>,
    clock: AtomicU64,
    fault: Option<PlantedFault>,
    seed: u64,
}

fn open_table(draw: &mut Random) -> Arc<Table> {
    let options = StoreOptions {
        page_size: PAGE_SIZE,
        buffer_pool_bytes: FRAMES * PAGE_SIZE,
        log: LogSettings { capacity: 1 << 20, buffer_bytes: 128 << 10, ..LogSettings::default() },
        ..StoreOptions::default()
    };
    let disk = Arc::new(SimulatedDisk::new());
    let store = Store::open_on(Path::new("/d"), options, disk).expect("a store in memory opens");
    store.transactions().help_purge_from(3);
    let schema = loop {
        let schema = draw::schema(draw);
        if !schema.indexes[0].parts.is_empty() {
            break schema;
        }
    };
    let files = store.create_table(&schema).expect("an empty table is made");
    store.open_table(schema, files, TableStatistics::default()).expect("a new table opens")
}

impl Workload {
    /// An empty table.
    pub fn new(seed: u64, fault: Option<PlantedFault>) -> Workload {
        let mut draw = Random(seed);
        let table = open_table(&mut draw);
        let model = Model::new(table.schema().clone());
        let mut keys: BTreeMap<Parts, Key> = BTreeMap::new();
        for _ in 0..KEYS {
            let row = Row { values: draw::row(&mut draw, &model.schema), number: 0 };
            let key = Key {
                values: model.key_values(&row),
                row: row.values.clone(),
                versions: Mutex::default(),
                operations: Mutex::default(),
            };
            keys.entry(model.key(&row)).or_insert(key);
        }
        Workload { table, keys: keys.into_values().collect(), clock: AtomicU64::new(0), fault, seed }
    }

    /// Lets all threads work, and compares the table with the rows that are left. Returns what was met, and each key's
    /// operations in the order of their starts.
    pub fn run(self) -> Result<(Met, Vec<Vec<Operation>>), String> {
        thread::scope(|threads| {
            let workers: Vec<_> = (0..THREADS)
                .map(|t| {
                    threads.spawn({
                        let workload = &self;
                        move || workload.work(t)
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker without a panic"))
        })?;
        self.compare_all()?;
        let mut met = Met::default();
        for (event, hits) in self.table.trees().iter().flat_map(|tree| tree.events().collect::<Vec<_>>()) {
            *met.entry(event).or_default() += hits;
        }
        let histories = self.keys.into_iter().map(|key| {
            let mut operations = key.operations.into_inner();
            operations.sort_by_key(|operation| operation.start);
            operations
        });
        Ok((met, histories.collect()))
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    /// One thread's operations. Errors: a problem that no operation may have.
    fn work(&self, thread: u64) -> Verdict {
        let mut draw = Random(self.seed ^ (thread + 1) << 40);
        let mut last: BTreeMap<usize, Outcome> = BTreeMap::new();
        for _ in 0..OPERATIONS {
            let at = draw.below(self.keys.len());
            let key = &self.keys[at];
            let kind = match draw.below(10) {
                0..3 => Kind::Insert(key.new_version(self, &mut draw)),
                3..6 => Kind::Update(key.new_version(self, &mut draw)),
                6..8 => Kind::Delete,
                _ => Kind::Get,
            };
            let planted = self.fault.filter(|_| draw.one_in(5));
            let start = self.now();
            let outcome = match (planted, kind, last.get(&at)) {
                (Some(PlantedFault::StaleRead), Kind::Get, Some(outcome)) => *outcome,
                (Some(PlantedFault::LostUpdate), Kind::Update(_), _) if self.is_there(key)? => Outcome::Done,
                (Some(PlantedFault::UpdateInTwoSteps), Kind::Update(new), _) => {
                    self.perform(key, Kind::Delete)?;
                    self.perform(key, Kind::Insert(new))?
                }
                _ => self.perform(key, kind)?,
            };
            key.operations.lock().push(Operation { start, end: self.now(), kind, outcome });
            match (kind, outcome) {
                (Kind::Insert(new) | Kind::Update(new), Outcome::Done) => drop(last.insert(at, Outcome::Found(new))),
                (Kind::Get, _) => drop(last.insert(at, outcome)),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_there(&self, key: &Key) -> Result<bool, String> {
        Ok(self.perform(key, Kind::Get)? != Outcome::Absent)
    }

    fn perform(&self, key: &Key, kind: Kind) -> Result<Outcome, String> {
        let counters = Counters::default();
        let written = |version: Version| key.versions.lock()[&version].clone();
        let done = match kind {
            Kind::Insert(new) => self.table.insert_now(&written(new), &counters).map(|()| true),
            Kind::Update(new) => self.table.update_now(&key.values, &written(new), &counters),
            Kind::Delete => self.table.delete_now(&key.values, &counters),
            Kind::Get => return key.version_of(self.table.get(&key.values, &ReadView::latest(), &counters)),
        };
        match done {
            Ok(true) => Ok(Outcome::Done),
            Ok(false) => Ok(Outcome::Absent),
            Err(StorageError::Duplicate { index: 0, .. }) => Ok(Outcome::Exists),
            Err(StorageError::Duplicate { .. }) => Ok(Outcome::Refused),
            Err(e) => Err(format!("{kind:?}: {e}")),
        }
    }

    /// Reads each row as the last operation on its key, and compares all indexes with these rows.
    fn compare_all(&self) -> Verdict {
        let mut model = Model::new(self.table.schema().clone());
        for key in &self.keys {
            let start = self.now();
            let outcome = self.perform(key, Kind::Get)?;
            key.operations.lock().push(Operation { start, end: self.now(), kind: Kind::Get, outcome });
            if let Outcome::Found(version) = outcome {
                model.put(None, Row { values: key.versions.lock()[&version].clone(), number: 0 });
            }
        }
        compare(&self.table, &model, &mut Random(self.seed), Compare::AfterCrash)
    }
}

impl Key {
    /// Draws a row with this key, now and then in other letters, which differs from all others in its last column.
    fn new_version(&self, workload: &Workload, draw: &mut Random) -> Version {
        let schema = workload.table.schema();
        let mut row = draw::row(draw, schema);
        for part in &schema.indexes[0].parts {
            row[part.column] = self.row[part.column].clone();
        }
        let version = workload.now() as Version;
        match row.last_mut() {
            Some(Value::Bytes(bytes)) => bytes.extend(version.to_be_bytes()),
            last => *last.expect("a table has columns") = Value::Bytes(version.to_be_bytes().to_vec()),
        }
        self.versions.lock().insert(version, row);
        version
    }

    /// The version that has this content. Error: none has it.
    fn version_of(&self, row: Result<Option<Vec<Value>>>) -> Result<Outcome, String> {
        let Some(row) = row.map_err(|e| e.to_string())? else { return Ok(Outcome::Absent) };
        let versions = self.versions.lock();
        let found = versions.iter().find(|(_, written)| **written == row);
        found.map(|(version, _)| Outcome::Found(*version)).ok_or_else(|| format!("nobody has written {row:?}"))
    }
}
