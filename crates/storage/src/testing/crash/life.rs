//! Lives of a directory: each begins with what the last power cut has left.

use super::{
    catalog::{Catalog, StoredTable},
    change::Broken,
    known::Known,
    open_transaction::OpenTransaction,
};
use crate::{
    Counters, IoBackend, LogSettings, Store, StoreOptions, Table, TableStatistics,
    io::{Disk, simulated::SimulatedDisk},
    log::{LogFiles, OnFailure, repair},
    store::Faults,
    testing::{
        random::Random,
        table_model::{
            compare::{Compare, compare},
            history::Met,
            model::Model,
        },
    },
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub(super) const PAGE_SIZE: usize = 4096;
const TABLES_MAX: usize = 3;
const TRANSACTIONS_MAX: usize = 4;
pub(super) const DIRECTORY: &str = "/d";

/// A directory that loses its power again and again.
pub(super) struct Lives {
    pub(super) draw: Random,
    pub(super) disk: Arc<SimulatedDisk>,
    pub(super) known: Known,
    pub(super) catalog: Catalog,
    /// A catalog that was being written when the power went, with the tables that it replaces.
    pub(super) pending: Option<(Catalog, Vec<(u64, Option<Model>)>)>,
    faults: Faults,
    pub met: Met,
}

/// An open directory.
pub(super) struct Open {
    pub store: Arc<Store>,
    pub tables: BTreeMap<u64, Arc<Table>>,
    pub transactions: Vec<OpenTransaction>,
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

    pub(super) fn hit(&mut self, what: &str, times: u64) {
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

    fn options(&mut self) -> StoreOptions {
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
            // The thread that purges is at work in every other life; else the test does its work.
            purges: self.draw.one_in(2),
            ..StoreOptions::default()
        }
    }

    /// Opens the directory and compares it with what is known.
    pub(super) fn start(&mut self) -> Result<Open, Broken> {
        self.count_torn_pages();
        // As it was before anything is mended.
        let found = Arc::new(self.disk.only_synced());
        let options = self.options();
        self.known.history.note(format!("a start; purges {}", options.purges));
        let opened = Store::open_on(Path::new(DIRECTORY), options, Arc::clone(&self.disk) as _);
        let store = match opened {
            Ok(store) => store,
            Err(e) => {
                self.hit("cuts within recovery", u64::from(self.disk.is_off()));
                return Err(e.into());
            }
        };
        // Also where the thread is at work, so that several purge at once.
        store.transactions().help_purge_from(6);
        let read = Catalog::read(&store);
        if read.is_err() && self.disk.is_off() {
            return Err(off());
        }
        self.adopt(read.map_err(Broken::Wrong)?)?;
        store.remove_unknown_files(&self.catalog.files())?;
        let mut tables = BTreeMap::new();
        for (id, StoredTable { files, schema }) in &self.catalog.tables {
            tables.insert(*id, store.open_table(schema.clone(), files.clone(), TableStatistics::default())?);
        }
        // All tables that there are have been opened: what else the log names was dropped.
        store.set_table_source(Arc::new(|_| Ok(None)));
        let checked = self.compare(&store, &tables);
        // Reading fails when the power goes.
        match checked {
            Err(_) if self.disk.is_off() => return Err(off()),
            checked => checked.map_err(|e| Broken::Wrong(format!("{e}\n{}", self.evidence(&found))))?,
        }
        self.known.history.begin_life();
        Ok(Open { store, tables, transactions: Vec::new() })
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

    /// Compares the tables with what is known: first what a view sees while transactions that the power has cut off are
    /// not rolled back yet, and then all trees when nothing is left of them.
    fn compare(&mut self, store: &Arc<Store>, tables: &BTreeMap<u64, Arc<Table>>) -> Result<(), String> {
        let lost = self.known.settle(tables, &store.read_view())?;
        self.hit("commits lost", lost);
        self.clean_up(store)?;
        for (id, table) in tables {
            let reports = table.check(&Counters::default(), &mut || Ok(())).map_err(|e| format!("table {id}: {e}"))?;
            for report in reports {
                self.hit("pages that were not posted", report.unposted_pages);
                self.hit("pages lost", report.lost_pages);
                self.hit("long values' pages", report.overflow_pages);
            }
        }
        for (id, table) in tables {
            let found = compare(table, &self.known.now[id], &mut self.draw, Compare::AfterCrash);
            found.map_err(|e| format!("table {id}: {e}"))?;
        }
        Ok(())
    }

    /// Waits until losers are rolled back, and all is purged that transactions have left.
    fn clean_up(&mut self, store: &Store) -> Result<(), String> {
        let (losers, to_purge) = (store.losers(), store.history_length());
        self.hit("losers", losers as u64);
        self.hit("transactions to purge", to_purge as u64);
        for _ in 0..1000 {
            if let Err(e) = store.roll_back_losers().and_then(|()| store.purge())
                && !self.disk.is_off()
            {
                return Err(format!("losers and what is to be purged: {e}"));
            }
            let (losers, to_purge) = (store.losers(), store.history_length());
            if self.disk.is_off() {
                self.hit("cuts while losers are rolled back", u64::from(losers > 0));
                self.hit("cuts while rows are purged", u64::from(losers == 0 && to_purge > 0));
                return Err("the power is off".into());
            }
            if (losers, to_purge) == (0, 0) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err("losers, or transactions to purge, are left after a long time".into())
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
        if self.disk.is_off() {
            self.hit("purges cut short", u64::from(open.store.history_length() > 0));
        }
        open.transactions.clear();
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
        self.clean_up(&open.store)?;
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
                0..55 => self.change(open)?,
                55..70 => self.end_one(open)?,
                70..74 => self.use_savepoint(open)?,
                74..80 => {
                    open.store.make_durable()?;
                    self.known.acknowledged();
                }
                80..83 => open.store.checkpoint()?,
                83..87 => {
                    for _ in 0..25 {
                        self.change(open)?;
                    }
                }
                87..90 => self.define(open)?,
                _ => self.change_once(open)?,
            }
        }
        self.end_all(open)
    }

    /// Another table, one less, or other files. As in the engine, no transaction that has changed rows is open then.
    fn define(&mut self, open: &mut Open) -> Result<(), Broken> {
        self.end_all(open)?;
        match self.draw.below(8) {
            0 | 1 if open.tables.len() < TABLES_MAX => self.create(open),
            2 => self.drop_table(open),
            3..6 => self.alter(open),
            _ => self.load(open),
        }
    }

    pub(super) fn any_table(&mut self, open: &Open) -> (u64, Arc<Table>) {
        let (id, table) = open.tables.iter().nth(self.draw.below(open.tables.len())).expect("there is one");
        (*id, Arc::clone(table))
    }

    /// Changes a row in one of the open transactions, or in a new one.
    fn change(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, table) = self.any_table(open);
        if open.transactions.is_empty() || open.transactions.len() < TRANSACTIONS_MAX && self.draw.one_in(4) {
            open.transactions.push(OpenTransaction::begin(&open.store));
        }
        let at = self.draw.below(open.transactions.len());
        let event = open.transactions[at].change((id, &table), &mut self.known, &mut self.draw)?;
        self.hit(event, 1);
        Ok(())
    }

    /// Changes a row in a transaction of its own.
    pub(super) fn change_once(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, table) = self.any_table(open);
        let mut transaction = OpenTransaction::begin(&open.store);
        let event = transaction.change((id, &table), &mut self.known, &mut self.draw)?;
        self.hit(event, 1);
        let is_waited_for = self.draw.one_in(2);
        transaction.commit(&mut self.known, is_waited_for)
    }

    /// Commits a transaction or rolls it back.
    fn end_one(&mut self, open: &mut Open) -> Result<(), Broken> {
        if open.transactions.is_empty() {
            return Ok(());
        }
        let transaction = open.transactions.swap_remove(self.draw.below(open.transactions.len()));
        if self.draw.one_in(3) {
            let undone = transaction.roll_back(&mut self.known)?;
            self.hit("changes rolled back", undone);
            return Ok(());
        }
        self.hit("commits", 1);
        let is_waited_for = self.draw.one_in(2);
        transaction.commit(&mut self.known, is_waited_for)
    }

    fn end_all(&mut self, open: &mut Open) -> Result<(), Broken> {
        while !open.transactions.is_empty() {
            self.end_one(open)?;
        }
        Ok(())
    }

    /// Sets a savepoint in a transaction, or rolls back to the one that it has.
    fn use_savepoint(&mut self, open: &mut Open) -> Result<(), Broken> {
        if open.transactions.is_empty() {
            return Ok(());
        }
        let at = self.draw.below(open.transactions.len());
        let transaction = &mut open.transactions[at];
        if self.draw.one_in(2) {
            transaction.set_savepoint();
            return Ok(());
        }
        let undone = transaction.roll_back_to_savepoint(&mut self.known)?;
        self.hit("changes taken back to a savepoint", undone);
        Ok(())
    }
}

/// The error of what fails because the power is gone.
pub(super) fn off() -> Broken {
    crate::StorageError::io(DIRECTORY, std::io::Error::other("the power is off")).into()
}
