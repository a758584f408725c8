//! The life of one table, drawn from a seed: rows come, change and go, pages leave memory, the table is closed and
//! opened.

use super::{
    compare::{Compare, Verdict, compare},
    draw,
    model::{Model, Parts, Row},
};
use crate::{
    Counters, FileId, LogSettings, ReadView, StorageError, Store, StoreOptions, Table, TableStatistics,
    io::simulated::SimulatedDisk,
    key::ByteRange,
    testing::random::Random,
    tree::{Rest, TreeChange},
};
use muster_types::Value;
use std::{collections::BTreeMap, path::Path, sync::Arc};

const DIRECTORY: &str = "/d";
const PAGE_SIZE: usize = 4096;
const FRAMES: usize = 32;

/// How often a history has met each event, by the event's name.
pub(crate) type Met = BTreeMap<String, u64>;

/// An entry that was marked as deleted, with its key.
struct Grave {
    index: usize,
    entry: Parts,
    key: Vec<u8>,
}

pub(crate) struct History {
    pub(super) draw: Random,
    disk: Arc<SimulatedDisk>,
    /// `None` while it is closed.
    pub(super) table: Option<Arc<Table>>,
    pub(super) files: Vec<FileId>,
    pub(super) model: Model,
    graves: Vec<Grave>,
    /// Rows that were marked, to be put in again.
    pub(super) marked_rows: Vec<Row>,
    pub met: Met,
}

fn open_store(disk: &Arc<SimulatedDisk>) -> Arc<Store> {
    let options = StoreOptions {
        page_size: PAGE_SIZE,
        buffer_pool_bytes: FRAMES * PAGE_SIZE,
        log: LogSettings { capacity: 1 << 20, buffer_bytes: 128 << 10, ..LogSettings::default() },
        purges: false,
        ..StoreOptions::default()
    };
    Store::open_on(Path::new(DIRECTORY), options, Arc::clone(disk) as _).expect("a store in memory opens")
}

impl History {
    /// An empty table.
    pub fn new(seed: u64) -> History {
        let mut draw = Random(seed);
        let disk = Arc::new(SimulatedDisk::new());
        let store = open_store(&disk);
        let schema = draw::schema(&mut draw);
        let files = store.create_table(&schema).expect("an empty table is made");
        let opened = store.open_table(schema.clone(), files.clone(), TableStatistics::default());
        let table = Some(opened.expect("a new table opens"));
        let model = Model::new(schema);
        let (graves, marked_rows, met) = (Vec::new(), Vec::new(), Met::default());
        History { draw, disk, table, files, model, graves, marked_rows, met }
    }

    pub fn table(&self) -> &Arc<Table> {
        self.table.as_ref().expect("it is closed only while it is opened again")
    }

    pub fn hit(&mut self, what: &str, times: u64) {
        *self.met.entry(what.to_string()).or_default() += times;
    }

    /// Times in which the table grows, shrinks or stays as large as it is, with comparisons in between.
    pub fn run(&mut self) -> Verdict {
        let scale = if self.draw.one_in(5) { 4 } else { 1 };
        for time in 0..5 {
            // The number of inserts, updates and deletes among ten changes; the rest are marks.
            let (inserts, updates, deletes) = match time {
                0 | 2 => (6, 3, 1),
                1 => (2, 5, 2),
                _ => (1, 2, 6),
            };
            for step in 0..scale * (40 + self.draw.below(200)) {
                let changed = match self.draw.below(10) {
                    n if n < inserts => self.insert(),
                    n if n < inserts + updates => self.update(),
                    n if n < inserts + updates + deletes => self.delete(),
                    _ => self.mark_or_purge(),
                };
                changed.map_err(|e| format!("time {time}, change {step}: {e}"))?;
                if self.draw.one_in(60) {
                    self.change_layout().map_err(|e| format!("time {time}, a layout after {step}: {e}"))?;
                }
                if self.draw.one_in(40) {
                    let store = self.table().store();
                    let pool = store.buffer_pool();
                    pool.clear(&Counters::default()).map_err(|e| e.to_string())?;
                }
            }
            self.compare().map_err(|e| format!("after time {time}: {e}"))?;
            self.change_layout().map_err(|e| format!("another layout after time {time}: {e}"))?;
            if self.draw.one_in(2) {
                self.reopen()?;
                self.compare().map_err(|e| format!("opened again after time {time}: {e}"))?;
            }
        }
        self.count_events();
        Ok(())
    }

    pub fn compare(&mut self) -> Verdict {
        let table = Arc::clone(self.table());
        compare(&table, &self.model, &mut self.draw, Compare::Exactly)?;
        for tree in table.trees() {
            let report = tree.check(&Counters::default()).map_err(|e| e.to_string())?;
            *self.met.entry("overflow pages".into()).or_default() += report.overflow_pages;
            *self.met.entry("unposted pages".into()).or_default() += report.unposted_pages;
            let levels = tree.height(&Counters::default()).map_err(|e| e.to_string())?;
            *self.met.entry("trees of three levels".into()).or_default() += u64::from(levels > 2);
        }
        Ok(())
    }

    pub(super) fn count_events(&mut self) {
        let table = Arc::clone(self.table());
        for tree in table.trees() {
            for (event, hits) in tree.events() {
                *self.met.entry(event).or_default() += hits;
            }
        }
    }

    /// Closes everything and opens it again.
    fn reopen(&mut self) -> Verdict {
        self.count_events();
        self.table().flush().map_err(|e| e.to_string())?;
        // The directory has one user: the old store goes first.
        self.table = None;
        let schema = self.model.schema.clone();
        let opened = open_store(&self.disk).open_table(schema, self.files.clone(), TableStatistics::default());
        self.table = Some(opened.map_err(|e| e.to_string())?);
        self.hit("opened again", 1);
        Ok(())
    }

    /// A row to insert: a new one, or one that is nearly there already.
    fn new_row(&mut self) -> Row {
        let mut values = draw::row(&mut self.draw, &self.model.schema);
        if self.draw.one_in(8)
            && let Some(row) = self.marked_rows.pop()
        {
            values = row.values;
        } else if self.draw.one_in(8)
            && let Some(row) = self.any_row()
        {
            let column = self.draw.below(values.len());
            let drawn = std::mem::replace(&mut values, row.values);
            values[column] = drawn[column].clone();
        }
        Row { values, number: 0 }
    }

    fn any_row(&mut self) -> Option<Row> {
        let count = self.model.rows.len();
        if count == 0 { None } else { self.model.rows.values().nth(self.draw.below(count)).cloned() }
    }

    fn insert(&mut self) -> Verdict {
        let mut row = self.new_row();
        // Only a primary key can be a duplicate; the hidden row number comes with the row.
        let want = self.model.duplicate(&row, None);
        let done = self.table().insert_now(&row.values, &Counters::default());
        if self.refused(done.map(|()| true), want, &row)? {
            return Ok(());
        }
        if !self.model.has_primary_key() {
            row.number = self.last_number()?;
        }
        self.changed(None, Some(&row))?;
        self.model.put(None, row);
        self.hit("inserted", 1);
        Ok(())
    }

    /// The id of the transaction that came last.
    fn trx_id(&self) -> u64 {
        self.table().store().transactions().next() - 1
    }

    /// The hidden row number of the row that came last.
    fn last_number(&mut self) -> Result<i64, String> {
        let counters = Counters::default();
        let tree = self.table().tree(0);
        let rows = tree.rows(ByteRange::default(), true, &ReadView::latest(), &counters);
        let last = rows.and_then(|mut rows| rows.next()).map_err(|e| e.to_string())?;
        let Some(Value::Int(number)) = last.and_then(|stored| stored.last().cloned()) else {
            return Err("no hidden row number".to_string());
        };
        match self.model.rows.values().next_back() {
            Some(before) if before.number >= number => Err(format!("row number {number} behind {}", before.number)),
            _ => Ok(number),
        }
    }

    /// Compares how a change ended with how it should have. Returns true if it was refused.
    fn refused(&mut self, done: crate::Result<bool>, want: Option<usize>, row: &Row) -> Result<bool, String> {
        match (done, want) {
            (Ok(true), None) => Ok(false),
            (Err(StorageError::Duplicate { index, .. }), Some(wanted)) if index == wanted => {
                self.hit("duplicates", 1);
                Ok(true)
            }
            (done, want) => Err(format!("{done:?}, wanted duplicate {want:?}: {row:?}")),
        }
    }

    fn update(&mut self) -> Verdict {
        let Some(old) = self.any_row() else { return Ok(()) };
        let drawn = draw::row(&mut self.draw, &self.model.schema);
        let mut new = old.clone();
        let filler = drawn.len() - 1;
        match self.draw.below(6) {
            0 => new.values = drawn,
            1 => new.values[filler] = drawn[filler].clone(),
            2 => new.values = new.values.iter().map(draw::other_case).collect(),
            3 => {}
            _ => {
                let column = self.draw.below(filler);
                new.values[column] = drawn[column].clone();
            }
        }
        let key = self.model.key(&old);
        let want = self.model.duplicate(&new, Some(&key));
        let by = self.model.key_values(&old);
        let done = self.table().update_now(&by, &new.values, &Counters::default());
        if self.refused(done, want, &new)? {
            return Ok(());
        }
        let same_key = self.model.key(&new) == key;
        self.hit("updated", 1);
        self.hit("moved by updates", u64::from(!same_key));
        self.hit("changed but for their key", u64::from(same_key && self.model.key_values(&new) != by));
        self.changed(Some(&old), Some(&new))?;
        self.model.put(Some(&key), new);
        Ok(())
    }

    fn delete(&mut self) -> Verdict {
        let counters = Counters::default();
        let absent = Row { number: -1, ..self.new_row() };
        if !self.model.rows.contains_key(&self.model.key(&absent)) {
            let key = self.model.key_values(&absent);
            let found = self.table().delete_now(&key, &counters).map_err(|e| e.to_string())?;
            if found || self.table().get(&key, &ReadView::latest(), &counters).map_err(|e| e.to_string())?.is_some() {
                return Err(format!("a row with key {key:?} that nobody put in"));
            }
        }
        let Some(row) = self.any_row() else { return Ok(()) };
        let key = self.model.key_values(&row);
        if !self.table().delete_now(&key, &counters).map_err(|e| e.to_string())? {
            return Err(format!("no row with key {key:?}"));
        }
        self.changed(Some(&row), None)?;
        self.model.rows.remove(&self.model.key(&row));
        self.hit("deleted", 1);
        Ok(())
    }

    /// Marks all entries of a row as deleted, or removes some that are marked.
    fn mark_or_purge(&mut self) -> Verdict {
        if self.draw.one_in(2) {
            return self.purge();
        }
        let Some(row) = self.any_row() else { return Ok(()) };
        let counters = Counters::default();
        let table = Arc::clone(self.table());
        let mut changes: Vec<TreeChange<'_>> = Vec::new();
        for (index, tree) in table.trees().iter().enumerate() {
            let stored = tree.layout().stored_values(&row.values, row.number).into_owned();
            let key = tree.key_of_values(&stored).map_err(|e| e.to_string())?;
            let mut change = tree.begin(self.trx_id(), tree.room().unwrap(), &counters);
            if !change.mark(&key).map_err(|e| e.to_string())? {
                return Err(format!("no entry to mark in index {index}: {row:?}"));
            }
            changes.push(change);
            let entry = self.model.entry(index, &row);
            self.model.marked[index].insert(entry.clone());
            self.graves.push(Grave { index, entry, key });
        }
        let rests: Vec<Rest<'_>> = changes.into_iter().map(TreeChange::commit).collect();
        rests.into_iter().for_each(Rest::finish);
        self.changed(Some(&row), None)?;
        self.model.rows.remove(&self.model.key(&row));
        self.marked_rows.push(row);
        self.hit("marked", 1);
        Ok(())
    }

    /// Removes some entries that are still marked, each for itself.
    fn purge(&mut self) -> Verdict {
        for _ in 0..self.draw.below(12).min(self.graves.len()) {
            let at = self.draw.below(self.graves.len());
            let Grave { index, entry, key } = self.graves.swap_remove(at);
            if !self.model.marked[index].remove(&entry) {
                self.hit("marked entries put in again", 1);
                continue;
            }
            let counters = Counters::default();
            let table = Arc::clone(self.table());
            let mut change = table.tree(index).begin(self.trx_id(), table.tree(index).room().unwrap(), &counters);
            if !change.delete(&key).map_err(|e| e.to_string())? {
                return Err(format!("a marked entry of index {index} is gone: {entry:?}"));
            }
            change.commit().finish();
            self.hit("purged", 1);
        }
        Ok(())
    }

    /// The pages of all entries that a change has touched have its transaction's number, or a larger one.
    fn changed(&self, old: Option<&Row>, new: Option<&Row>) -> Verdict {
        let fail = |e: StorageError| e.to_string();
        for (index, tree) in self.table().trees().iter().enumerate() {
            let stored = |row: &Row| tree.layout().stored_values(&row.values, row.number).into_owned();
            let (old, new) = (old.map(stored), new.map(stored));
            if old == new {
                continue;
            }
            for values in old.iter().chain(&new) {
                let key = tree.key_of_values(values).map_err(fail)?;
                let largest = tree.largest_trx_id_at(&key).map_err(fail)?;
                if largest < self.trx_id() {
                    return Err(format!("a page of index {index} has {largest}, not {}", self.trx_id()));
                }
            }
        }
        Ok(())
    }
}
