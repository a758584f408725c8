//! Lives of a directory: each begins with what the last power cut has left.

use super::{
    catalog::{Catalog, schema_of},
    change::{self, Broken},
    known::{Known, model_of, rows_of},
};
use crate::{
    Counters, DuplicatePolicy, IoBackend, LoadOptions, LogSettings, Result, Store, StoreOptions, Table, TableLoader,
    TableStatistics, array_of, arrow_type,
    io::{Disk, simulated::SimulatedDisk},
    log::{LogFiles, OnFailure, repair},
    random::Random,
    store::Faults,
    table_model::{
        compare::{Compare, compare},
        draw,
        history::Met,
        model::{Model, Row},
    },
};
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

const PAGE_SIZE: usize = 4096;
const TABLES_MAX: usize = 3;
const DIRECTORY: &str = "/d";

/// A directory that loses its power again and again.
pub(super) struct Lives {
    draw: Random,
    disk: Arc<SimulatedDisk>,
    known: Known,
    catalog: Catalog,
    /// A catalog that was being written when the power went, with the tables that it replaces.
    pending: Option<(Catalog, Vec<(u64, Option<Model>)>)>,
    faults: Faults,
    pub met: Met,
}

/// An open directory.
struct Open {
    store: Arc<Store>,
    tables: BTreeMap<u64, Arc<Table>>,
}

impl Lives {
    pub fn new(seed: u64, faults: Faults) -> Lives {
        Lives {
            draw: Random(seed),
            disk: Arc::new(SimulatedDisk::new()),
            known: Known::default(),
            catalog: Catalog::default(),
            pending: None,
            faults,
            met: Met::default(),
        }
    }

    fn hit(&mut self, what: &str, times: u64) {
        *self.met.entry(what.to_string()).or_default() += times;
    }

    /// Lives so many lives, and starts once more. Errors: what is wrong.
    pub fn live(&mut self, lives: usize) -> Result<(), String> {
        for life in 0..lives {
            if life > 0 {
                let most = *self.draw.pick(&[12, 40, 150, 400]);
                let operations = self.draw.below(most) as u64;
                self.disk.cut_power_after(operations);
            }
            let outcome = self.one_life();
            if let Err(Broken::Wrong(e)) = outcome {
                return Err(format!("life {life}: {e}"));
            }
            if let Err(Broken::Storage(e)) = outcome
                && !self.disk.is_off()
            {
                return Err(format!("life {life}: the power is on, but {e}"));
            }
            let seed = self.draw.next();
            if self.disk.is_off() {
                self.hit("power cuts", 1);
            }
            self.disk = Arc::new(self.disk.after_power_cut(seed));
        }
        match self.start() {
            Ok(_) => Ok(()),
            Err(Broken::Wrong(e)) => Err(format!("at last: {e}")),
            Err(Broken::Storage(e)) => Err(format!("at last: {e}")),
        }
    }

    fn options(&self) -> StoreOptions {
        let log = LogSettings {
            capacity: 1 << 20,
            buffer_bytes: 128 << 10,
            checkpoint_interval: Duration::from_millis(20),
            ..LogSettings::default()
        };
        StoreOptions {
            page_size: PAGE_SIZE,
            buffer_pool_bytes: 32 * PAGE_SIZE,
            io: IoBackend::Threads,
            log,
            faults: self.faults,
            purges: false,
            ..StoreOptions::default()
        }
    }

    /// Opens the directory and compares it with what is known.
    fn start(&mut self) -> Result<Open, Broken> {
        self.count_torn_pages();
        let opened = Store::open_on(Path::new(DIRECTORY), self.options(), Arc::clone(&self.disk) as _);
        let store = match opened {
            Ok(store) => store,
            Err(e) => {
                self.hit("cuts within recovery", u64::from(self.disk.is_off()));
                return Err(e.into());
            }
        };
        let read = Catalog::read(&store);
        if read.is_err() && self.disk.is_off() {
            return Err(off());
        }
        self.adopt(read.map_err(Broken::Wrong)?)?;
        store.remove_unknown_files(&self.catalog.files())?;
        let mut tables = BTreeMap::new();
        for (id, files) in &self.catalog.tables {
            tables.insert(*id, store.open_table(schema_of(*id), files.clone(), TableStatistics::default())?);
        }
        store.roll_back_losers()?;
        store.purge()?;
        let checked = self.compare(&tables);
        // Reading fails when the power goes.
        match checked {
            Err(_) if self.disk.is_off() => return Err(off()),
            checked => checked.map_err(Broken::Wrong)?,
        }
        Ok(Open { store, tables })
    }

    /// Takes the catalog that was found for the one that there is: the last one, or the one that was being written.
    fn adopt(&mut self, found: Catalog) -> Result<(), Broken> {
        let pending = self.pending.take();
        if found == self.catalog {
            return Ok(());
        }
        match pending {
            Some((catalog, replaced)) if catalog == found => {
                // The log has one order: all that was changed before is there.
                self.known.acknowledged();
                replaced.into_iter().for_each(|(table, model)| self.known.replaced(table, model));
                self.catalog = catalog;
                Ok(())
            }
            pending => Err(Broken::Wrong(format!("found {found:?}, wanted {:?} or {pending:?}", self.catalog))),
        }
    }

    fn compare(&mut self, tables: &BTreeMap<u64, Arc<Table>>) -> Result<(), String> {
        for (id, table) in tables {
            let reports = table.check(&Counters::default(), &mut || Ok(())).map_err(|e| format!("table {id}: {e}"))?;
            for report in reports {
                self.hit("pages that were not posted", report.unposted_pages);
                self.hit("pages lost", report.lost_pages);
                self.hit("long values' pages", report.overflow_pages);
            }
        }
        let lost = self.known.settle(tables)?;
        self.hit("changes lost", lost);
        for (id, table) in tables {
            let found = compare(table, &self.known.now[id], &mut self.draw, Compare::AfterCrash);
            found.map_err(|e| format!("table {id}: {e}"))?;
        }
        Ok(())
    }

    /// How many pages are torn at their places: looked at in a copy of the disk.
    fn count_torn_pages(&mut self) {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.only_synced());
        let on_failure = OnFailure(Arc::new(|_| ()));
        let files = LogFiles { disk, directory: PathBuf::from(DIRECTORY), sync: true, buffered: false, on_failure };
        let torn = repair(&files, PAGE_SIZE).map_or(0, |pages| pages.len());
        self.hit("torn pages put back", torn as u64);
    }

    fn one_life(&mut self) -> Result<(), Broken> {
        let mut open = self.start()?;
        let outcome = self.work(&mut open);
        let status = open.store.log_status();
        self.hit("segments used again", status.segments_recycled);
        let at_end = if outcome.is_ok() { self.compare_now(&open) } else { Ok(()) };
        if !self.disk.is_off() {
            at_end.map_err(Broken::Wrong)?;
        }
        for table in open.tables.values() {
            for (event, hits) in table.trees().iter().flat_map(|tree| tree.events().collect::<Vec<_>>()) {
                self.hit(&event, hits);
            }
        }
        outcome
    }

    /// Compares all tables while nothing has failed.
    fn compare_now(&mut self, open: &Open) -> Result<(), String> {
        for (id, table) in &open.tables {
            let found = compare(table, &self.known.now[id], &mut self.draw, Compare::AfterCrash);
            found.map_err(|e| format!("before the power went: table {id}: {e}"))?;
        }
        Ok(())
    }

    fn work(&mut self, open: &mut Open) -> Result<(), Broken> {
        for _ in 0..self.draw.below(250) {
            match self.draw.below(100) {
                _ if open.tables.is_empty() => self.create(open)?,
                0..80 => self.change(open)?,
                80..90 => {
                    open.store.make_durable()?;
                    self.known.acknowledged();
                }
                90..93 => open.store.checkpoint()?,
                93 if open.tables.len() < TABLES_MAX => self.create(open)?,
                94 => self.drop_table(open)?,
                95 | 96 => self.load(open)?,
                _ => {
                    for _ in 0..25 {
                        self.change(open)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn any_table(&mut self, open: &Open) -> (u64, Arc<Table>) {
        let (id, table) = open.tables.iter().nth(self.draw.below(open.tables.len())).expect("there is one");
        (*id, Arc::clone(table))
    }

    fn change(&mut self, open: &Open) -> Result<(), Broken> {
        let (id, table) = self.any_table(open);
        if let Some(delta) = change::change(&table, &self.known.now[&id], &mut self.draw)? {
            self.known.changed(id, delta).map_err(Broken::Wrong)?;
            let has_numbers = !self.known.now[&id].has_primary_key();
            self.hit("changes of rows with hidden numbers", u64::from(has_numbers));
            self.hit("changes", 1);
        }
        Ok(())
    }

    /// Names other files for a table, and deletes those that it had.
    fn publish(&mut self, open: &mut Open, id: u64, table: Option<(Arc<Table>, Model)>) -> Result<(), Broken> {
        let mut next = self.catalog.clone();
        match &table {
            Some((table, _)) => drop(next.tables.insert(id, table.files().to_vec())),
            None => drop(next.tables.remove(&id)),
        }
        let model = table.as_ref().map(|(_, model)| model.clone());
        self.pending = Some((next.clone(), vec![(id, model.clone())]));
        let before = open.tables.get(&id).map_or(Vec::new(), |table| table.files().to_vec());
        next.write(&open.store, &before)?;
        self.pending = None;
        self.known.acknowledged();
        self.known.replaced(id, model);
        self.catalog = next;
        match table {
            Some((table, _)) => drop(open.tables.insert(id, table)),
            None => drop(open.tables.remove(&id)),
        }
        for file in before {
            // Files that stay are removed at the next start.
            let _ = open.store.open_file(file).and_then(|file| open.store.delete_file(&file));
        }
        Ok(())
    }

    fn create(&mut self, open: &mut Open) -> Result<(), Broken> {
        let id = self.draw.next() >> 1;
        let schema = schema_of(id);
        let files = open.store.create_table(&schema)?;
        let table = open.store.open_table(schema.clone(), files, TableStatistics::default())?;
        self.hit("tables made", 1);
        self.publish(open, id, Some((table, Model::new(schema))))
    }

    fn drop_table(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, _) = self.any_table(open);
        self.hit("tables dropped", 1);
        self.publish(open, id, None)
    }

    /// Loads rows into a table: it gets new files, with a checkpoint while they are written.
    fn load(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, table) = self.any_table(open);
        let schema = schema_of(id);
        let mut wanted = self.known.now[&id].clone();
        let mut rows = Vec::new();
        for n in 0..20 + self.draw.below(60) as i64 {
            let row = Row { values: draw::row(&mut self.draw, &schema), number: i64::MAX - n };
            if wanted.duplicate(&row, None).is_none() {
                rows.push(row.values.clone());
                wanted.put(None, row);
            }
        }
        let options = LoadOptions {
            memory_bytes: 1 << 20,
            temp_dir: std::env::temp_dir(),
            threads: 1,
            duplicates: DuplicatePolicy::Error,
            progress: Arc::default(),
        };
        let mut loader = TableLoader::new(Arc::clone(&table), options)?;
        loader.push(&batch(&schema, &rows)?)?;
        let loaded = loader.finish()?;
        open.store.checkpoint()?;
        self.hit("checkpoints during loads", 1);
        let new = open.store.open_table(schema.clone(), loaded.files, loaded.statistics)?;
        let found = rows_of(&new);
        if self.disk.is_off() {
            return Err(off());
        }
        let found = found.map_err(Broken::Wrong)?;
        let sorted = |rows: &mut dyn Iterator<Item = &Row>| {
            let mut values: Vec<String> = rows.map(|row| format!("{:?}", row.values)).collect();
            values.sort();
            values
        };
        let (got, want) = (sorted(&mut found.iter()), sorted(&mut wanted.rows.values()));
        if got != want {
            let missing: Vec<&String> = want.iter().filter(|row| !got.contains(row)).collect();
            let before = rows_of(&table).map_or(0, |rows| rows.len());
            return Err(Broken::Wrong(format!(
                "table {id}: {} rows were loaded, wanted {}; the table had {before}, in the model {}, {} came; {} are \
                 missing: {missing:?}",
                got.len(),
                want.len(),
                self.known.now[&id].rows.len(),
                rows.len(),
                missing.len(),
            )));
        }
        self.hit("loads", 1);
        self.publish(open, id, Some((new, model_of(&schema, found))))
    }
}

/// The error of what fails because the power is gone.
fn off() -> Broken {
    crate::StorageError::io(DIRECTORY, std::io::Error::other("the power is off")).into()
}

fn batch(schema: &crate::TableSchema, rows: &[Vec<muster_types::Value>]) -> Result<RecordBatch> {
    let columns = schema.columns.iter().enumerate();
    let arrays = columns.map(|(i, column)| array_of(rows.iter().map(|row| &row[i]), column.ty));
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(crate::StorageError::Filter)?;
    let fields = schema.columns.iter().map(|c| Field::new("", arrow_type(&c.ty), c.nullable));
    let arrow_schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(RecordBatch::try_new(arrow_schema, arrays).expect("arrays of the columns' types"))
}
