//! A small database loses its power in every operation on the disk: it opens, its catalog is the old one or the new
//! one, the rows are those that the catalog promises, and files of no table go.

use crate::{
    ColumnSchema, Counters, FileId, IndexSchema, LogSettings, ReadView, Result, RoomUse, Scan, ScanRequest, Store,
    StoreOptions, Table, TableLoader, TableSchema, TableStatistics,
    checked_file::FileKind,
    definitions::{DefinitionChanges, Definitions},
    io::{
        Disk,
        simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    },
    rows::fixtures::{batch_of, rows_of, scan_request, small_load},
    small_file::ReplaceError,
};
use arrow_array::RecordBatch;
use muster_types::{Collation, KeyPart, SqlType, Value};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

const DIRECTORY: &str = "/parent/d";
const CATALOG: &str = "catalog.mus";
const KIND: FileKind = FileKind { magic: *b"MUSTTEST", version: 1 };
/// The keys of the catalog. Each change sets the first and the last one.
const STEP: &[u8] = b"a step";
const FILES: &[u8] = b"files";
const STEP_AGAIN: &[u8] = b"step";
/// Rows after each step that loads.
const LOADED: [usize; 2] = [150, 400];

/// The history: steps that were acknowledged change the catalog, which holds the last step and its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Catalog {
    /// 0: nothing; 1: an empty table; 2 and 3: loads; 4: the table is dropped.
    step: usize,
    files: Vec<FileId>,
}

impl Catalog {
    fn rows(&self) -> usize {
        if (2..4).contains(&self.step) { LOADED[self.step - 2] } else { 0 }
    }

    fn read(store: &Store) -> Catalog {
        let Some(bytes) = store.read_small_file(CATALOG, 1000).unwrap() else { return Catalog::default() };
        let values = Definitions::from_bytes(&bytes, KIND).unwrap().values;
        let numbers =
            |value: &[u8]| -> Vec<u32> { value.chunks(4).map(|n| u32::from_le_bytes(n.try_into().unwrap())).collect() };
        let step = |key: &[u8]| values.get(key).map(|value| numbers(value)[0] as usize);
        let steps = [step(STEP), step(STEP_AGAIN)];
        assert_eq!(steps[0], steps[1], "half a change");
        let files = values.get(FILES).map_or(Vec::new(), |value| numbers(value).into_iter().map(FileId).collect());
        Catalog { step: steps[0].unwrap(), files }
    }

    /// The first step makes the file, the others change definitions in it.
    fn write(&self, store: &Store, before: &Catalog) -> Result<()> {
        let mut changes = DefinitionChanges::default();
        changes.set(STEP.to_vec(), (self.step as u32).to_le_bytes());
        changes.set(STEP_AGAIN.to_vec(), (self.step as u32).to_le_bytes());
        match self.files.is_empty() {
            true => changes.remove(FILES.to_vec()),
            false => changes.set(FILES.to_vec(), self.files.iter().flat_map(|f| f.0.to_le_bytes()).collect::<Vec<_>>()),
        }
        let written = if before.step == 0 {
            let mut definitions = Definitions { kind: KIND, values: BTreeMap::new() };
            definitions.change(changes.values);
            store.replace_small_file(CATALOG, &definitions.to_bytes(), &before.files, RoomUse::Takes)
        } else {
            store.change_definitions(CATALOG, changes, &before.files, RoomUse::Takes)
        };
        written.map_err(|e| match e {
            ReplaceError::NotReplaced(e) | ReplaceError::DurabilityUnknown(e) => e,
        })
    }
}

fn schema() -> TableSchema {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let column = |ty| ColumnSchema { ty, nullable: false };
    TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::INT), column(SqlType::varchar(100, Collation::DEFAULT))],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
        ],
    }
}

fn row(number: usize) -> Vec<Value> {
    vec![Value::Int(number as i64), Value::Text(format!("{:03} of a row", number * 7919 % 1000))]
}

struct Scenario {
    /// The rows that each step adds.
    batches: Vec<RecordBatch>,
}

impl Scenario {
    fn new() -> Scenario {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open(&disk).unwrap();
        let table = open_table(&store, store.create_table(&schema()).unwrap()).unwrap();
        let from = [0, LOADED[0]];
        let rows = |i: usize| (from[i]..LOADED[i]).map(row).collect::<Vec<_>>();
        Scenario { batches: (0..2).map(|i| batch_of(&table, &rows(i))).collect() }
    }

    /// Runs the steps. Returns the last catalog that was acknowledged, and the one after it if a step failed.
    fn run(&self, disk: &Arc<SimulatedDisk>) -> (Catalog, Option<Catalog>) {
        let mut done = Catalog::default();
        let Ok(store) = open(disk) else { return (done, None) };
        for step in 1..=4 {
            let mut next = Catalog { step, files: Vec::new() };
            let made = self.step(&store, &done, &mut next);
            if made.is_err() {
                return (done, Some(next));
            }
            done = next;
        }
        (done, None)
    }

    /// Makes new files, names them, and deletes the ones before.
    fn step(&self, store: &Arc<Store>, before: &Catalog, next: &mut Catalog) -> Result<()> {
        match next.step {
            1 => next.files = store.create_table(&schema())?,
            2 | 3 => {
                let table = open_table(store, before.files.clone())?;
                let mut loader = TableLoader::new(table, small_load())?;
                loader.push(&self.batches[next.step - 2])?;
                next.files = loader.finish()?.files;
                // Groups of files that the next load removes.
                let table = open_table(store, next.files.clone())?;
                let before = store.log_position();
                for number in (0..LOADED[next.step - 2]).step_by(50) {
                    let row = row(number);
                    table.delete_now(&row[..1], store.counters())?;
                    table.insert_now(&row, store.counters())?;
                }
                assert!(store.log_position() > before, "changes in place are logged");
            }
            _ => {}
        }
        next.write(store, before)?;
        // The change is made; that files stay until the next start does not undo it.
        for file in &before.files {
            let _ = store.open_file(*file).and_then(|file| store.delete_file(&file));
        }
        Ok(())
    }
}

fn open(disk: &Arc<SimulatedDisk>) -> Result<Arc<Store>> {
    let log = LogSettings { capacity: 1 << 20, buffer_bytes: 128 << 10, ..LogSettings::default() };
    let options = StoreOptions { page_size: 4096, buffer_pool_bytes: 40 * 4096, log, ..StoreOptions::default() };
    Store::open_on(Path::new(DIRECTORY), options, Arc::clone(disk) as _)
}

fn open_table(store: &Arc<Store>, files: Vec<FileId>) -> Result<Arc<Table>> {
    store.open_table(schema(), files, TableStatistics::default())
}

/// Opens what a power cut left, and returns the catalog. The rows must be those that it promises, and after the files
/// of no table are removed there is nothing else.
fn restart(disk: &Arc<SimulatedDisk>, context: &str) -> Catalog {
    let store = open(disk).unwrap_or_else(|e| panic!("{context}: {e}"));
    let catalog = Catalog::read(&store);
    store.remove_unknown_files(&catalog.files).unwrap();
    let left = disk.list(Path::new(DIRECTORY)).unwrap();
    let tables = left.iter().filter(|path| crate::file::number_in(path).is_some()).count();
    assert_eq!(tables, catalog.files.len(), "{context}: {left:?}");
    assert!(left.iter().all(|path| path.extension().is_none_or(|e| e != "new")), "{context}: {left:?}");
    if !catalog.files.is_empty() {
        let table = open_table(&store, catalog.files.clone()).unwrap_or_else(|e| panic!("{context}: {e}"));
        for tree in table.trees() {
            let report = tree.check(&Counters::default()).unwrap_or_else(|e| panic!("{context}: {e}"));
            assert_eq!(report.rows, catalog.rows() as u64, "{context}");
        }
        assert_eq!(rows(&table), (0..catalog.rows()).map(row).collect::<Vec<_>>(), "{context}");
    }
    // A number that a file had, even one that is lost, is never used again.
    let number = store.new_file(9).unwrap_or_else(|e| panic!("{context}: {e}")).id();
    assert!(catalog.files.iter().all(|file| *file < number), "{context}");
    catalog
}

fn rows(table: &Arc<Table>) -> Vec<Vec<Value>> {
    let request = ScanRequest { ordered: true, view: ReadView::latest(), ..scan_request(vec![0, 1]) };
    let mut cursor = Scan::new(Arc::clone(table), request).unwrap().cursor();
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        rows.extend(rows_of(&table.schema().columns, batch.columns(), batch.num_rows()));
    }
    rows
}

/// Cuts the power in every operation, and restarts on what each of the seeds leaves. Returns how often the catalog was
/// the one before the step that failed, and how often the one after.
fn cut_everywhere(seeds: std::ops::Range<u64>) -> [u64; 2] {
    let scenario = Scenario::new();
    let whole = Arc::new(SimulatedDisk::new());
    assert_eq!(scenario.run(&whole).0.step, 4);
    let mut found = [0, 0];
    for operations in 0..=whole.operations() {
        let disk = Arc::new(SimulatedDisk::new());
        disk.cut_power_after(operations);
        let (done, next) = scenario.run(&disk);
        for seed in seeds.clone() {
            let left = Arc::new(disk.after_power_cut(seed));
            let context = format!("power cut in operation {operations}, seed {seed}, after step {}", done.step);
            let catalog = restart(&left, &context);
            let is_next = next.as_ref().is_some_and(|next| catalog == *next);
            assert!(is_next || catalog == done, "{context}: {catalog:?}, wanted {done:?} or {next:?}");
            found[usize::from(is_next)] += 1;
        }
    }
    found
}

#[test]
fn a_power_cut_leaves_the_old_state_or_the_new() {
    let found = cut_everywhere(0..40);
    assert!(found.into_iter().all(|n| n > 50), "{found:?}");
}

#[test]
#[ignore = "a soak: half a minute"]
fn a_power_cut_leaves_the_old_state_or_the_new_with_many_seeds() {
    let found = cut_everywhere(1000..2000);
    println!("{} restarts: {} on the old state, {} on the new one", found[0] + found[1], found[0], found[1]);
}

/// A restart loses its power too, in every operation; the one after it finds the same.
#[test]
fn a_power_cut_in_a_restart_changes_nothing() {
    let scenario = Scenario::new();
    for operations in (0..).step_by(7) {
        let disk = Arc::new(SimulatedDisk::new());
        disk.cut_power_after(operations);
        let (done, next) = scenario.run(&disk);
        if !disk.is_off() {
            return;
        }
        let first = disk.after_power_cut(operations);
        for in_restart in 0.. {
            let again = Arc::new(first.after_power_cut(0));
            again.cut_power_after(in_restart);
            let restarted = open(&again).and_then(|store| store.remove_unknown_files(&Catalog::read(&store).files));
            let context = format!("power cut in operation {operations}, again in operation {in_restart}");
            let catalog = restart(&Arc::new(again.after_power_cut(in_restart)), &context);
            assert!(catalog == done || next.as_ref() == Some(&catalog), "{context}: {catalog:?}");
            if !again.is_off() {
                restarted.unwrap();
                break;
            }
        }
    }
}

/// A disk that does not sync what it says it syncs loses what was acknowledged: the tests above would see it.
#[test]
fn a_lost_sync_is_found() {
    let scenario = Scenario::new();
    for on in [Operation::Sync, Operation::SyncDirectory] {
        let disk = Arc::new(SimulatedDisk::new());
        disk.inject(DiskFault { on, after: 0, kind: FaultKind::Lost, forever: true });
        assert_eq!(scenario.run(&disk).0.step, 4);
        let lost = |seed| {
            let left = Arc::new(disk.after_power_cut(seed));
            catch_unwind(AssertUnwindSafe(|| restart(&left, "a lost sync").step)).ok() != Some(4)
        };
        assert!((0..100).any(lost), "{on:?}");
    }
}
