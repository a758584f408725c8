//! One table's files, opened at first use.

use super::{
    Companions,
    auto_increment::{AutoIncrement, following, largest_value},
    content::Content,
    fresh,
};
use crate::catalog::TableEntry;
use muster_storage::{FileId, Store, Table, TableStatistics, load, mutex::Mutex};
use muster_types::{Result, SqlError, collation::TextTraits, distribution::Distribution};
use parking_lot::RwLock;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A plan changes with what is in memory only when this share of an index has come or gone.
const RESIDENT_STEP: f64 = 0.125;
/// Statistics are made anew when more than this share of the rows has changed, as InnoDB does (MySQL manual,
/// "Configuring Automatic Statistics Calculation for Persistent Optimizer Statistics"), and at least so many rows.
const STALE_SHARE: f64 = 0.1;
const STALE_ROWS: u64 = 100;
/// So many times the traits of texts become exactly what they are; then they are made wider than need be, since each
/// change is written to the disk.
const EXACT_WIDENINGS: u32 = 8;

pub struct Handle {
    /// The entry that brought the files or columns. Later entries on the same files differ in names and comments only.
    entry: Arc<TableEntry>,
    /// For each file, the moment that a view must see to read it ([`Store::moment_of_views`]); 0: all views may.
    since: Vec<AtomicU64>,
    /// Opened at first use, so that a damaged table hurts only those who read it.
    opened: Mutex<Option<Arc<Table>>>,
    companions: Companions,
    /// Read at first use.
    content: RwLock<Option<Arc<Content>>>,
    /// Statistics for as many rows as there were a short time ago, and what they were made of.
    fresh: Mutex<Option<(Arc<Content>, Arc<TableStatistics>)>>,
    /// Statistics that a file has brought.
    imported: RwLock<Option<Arc<TableStatistics>>>,
    /// Rows that had changed since the statistics were made when the table was another handle's.
    changed_before: u64,
    /// Held by who changes what is known of the rows. It counts how often that was done.
    widening: Mutex<u32>,
    /// Shared by all handles with the same clustered tree.
    auto_increment: Arc<OnceLock<AutoIncrement>>,
}

/// Statistics that were made of a table's rows and are not known to anybody yet.
pub struct Sampled {
    table: Arc<Table>,
    statistics: TableStatistics,
    /// Rows that had changed when this began.
    changed_rows: u64,
}

impl Handle {
    /// `since`: the moment at which its files came, which views before do not see; 0: there are none.
    pub fn new(entry: Arc<TableEntry>, companions: &Companions, since: u64) -> Handle {
        Handle {
            since: entry.files.iter().map(|_| AtomicU64::new(since)).collect(),
            entry,
            opened: Mutex::default(),
            companions: companions.clone(),
            content: RwLock::default(),
            fresh: Mutex::default(),
            imported: RwLock::default(),
            changed_before: 0,
            widening: Mutex::default(),
            auto_increment: Arc::default(),
        }
    }

    /// The same table as another entry has it, with other files or other columns. Those files that it did not have
    /// before came at the moment `since`, and so did all if the layout of its rows is another one.
    pub fn on_other_files(&self, entry: Arc<TableEntry>, since: u64) -> Handle {
        let same_rows = entry.clustered_file() == self.entry.clustered_file();
        let auto_increment = if same_rows { self.auto_increment.clone() } else { Arc::default() };
        let known = |file: &FileId| self.files().iter().position(|known| known == file).map(|at| self.since(at));
        // Older versions of the rows are of a former layout.
        let same_layout = entry.layouts.number == self.entry.layouts.number;
        let moment = |file: &FileId| known(file).filter(|_| same_layout).unwrap_or(since);
        let moments = entry.files.iter().map(|file| AtomicU64::new(moment(file))).collect();
        let changed = self.table().map_or(self.changed_before, |table| table.changed_rows());
        let changed_before = if same_rows { changed } else { 0 };
        Handle { auto_increment, changed_before, since: moments, ..Handle::new(entry, &self.companions, since) }
    }

    /// What was known of the rows when they were loaded, with the traits of texts that came since.
    pub fn content(&self) -> Arc<Content> {
        if let Some(content) = &*self.content.read() {
            return content.clone();
        }
        let mut content = self.content.write();
        content.get_or_insert_with(|| Arc::new(Content::read(&self.companions, &self.entry))).clone()
    }

    /// Statistics of the rows that there are about now.
    pub fn statistics(&self) -> Arc<TableStatistics> {
        let (content, table) = (self.content(), self.opened.lock().clone());
        let rows = table.as_ref().map_or(content.statistics.rows, |table| table.row_count());
        let mut known = self.fresh.lock();
        if let Some((of, known)) = &*known
            && Arc::ptr_eq(of, &content)
            && fresh::is_about(known.rows, rows)
        {
            return known.clone();
        }
        let statistics = match table {
            Some(table) => fresh::statistics(&content.statistics, &table),
            None => content.statistics.clone(),
        };
        known.insert((content, Arc::new(statistics))).1.clone()
    }

    /// Statistics that a file has brought, which count in place of the table's own.
    pub fn imported(&self) -> Option<Arc<TableStatistics>> {
        self.imported.read().clone()
    }

    /// Has other statistics count in place of the table's own; `None`: those count again. Returns true if that changes
    /// anything.
    pub fn import(&self, statistics: Option<TableStatistics>) -> bool {
        let mut imported = self.imported.write();
        let changes = statistics.is_some() || imported.is_some();
        *imported = statistics.map(Arc::new);
        changes
    }

    fn table(&self) -> Option<Arc<Table>> {
        self.opened.lock().clone()
    }

    /// Rows now; about as many after a crash.
    pub fn row_count(&self) -> u64 {
        self.table().map_or_else(|| self.content().statistics.rows, |table| table.row_count())
    }

    /// Rows that came, changed or went since the statistics were made.
    fn changed_rows(&self) -> u64 {
        let known = self.content();
        let Some(table) = self.table() else { return self.changed_before.max(known.changed_rows) };
        // Rows that are loaded or come back with a rollback are not counted one by one.
        table.changed_rows().max(table.row_count().abs_diff(known.statistics.rows))
    }

    /// Share of the rows that came or changed since the statistics were made, 0 to 1.
    pub fn changed_share(&self) -> f64 {
        (self.changed_rows() as f64 / self.row_count().max(1) as f64).min(1.0)
    }

    /// Returns true if so many rows of an open table have changed that its statistics are to be made anew.
    pub fn is_stale(&self) -> bool {
        let Some(table) = self.table() else { return false };
        let changed = self.changed_rows();
        changed > STALE_ROWS && changed as f64 > table.row_count() as f64 * STALE_SHARE
    }

    /// Returns true if a row has changed since the statistics were made, or they are without what only values tell.
    pub fn is_behind(&self) -> bool {
        self.changed_rows() > 0 || self.content().statistics.columns.len() != self.entry.def.columns.len()
    }

    /// Makes statistics of the rows that there are now, from so many leaves of each index.
    pub fn sample(&self, leaves: usize) -> Result<Sampled> {
        let table = self.open(self.companions.store())?;
        let changed_rows = table.changed_rows();
        let statistics = load::sample(&table, &self.content().statistics, leaves)?;
        Ok(Sampled { table, statistics, changed_rows })
    }

    /// Puts statistics in the place of those that are known: on the disk first, then for all who ask at once. The
    /// caller sees to it that the files stay those of the table meanwhile.
    pub fn replace(&self, sampled: Sampled) -> Result<()> {
        let Sampled { table, mut statistics, changed_rows } = sampled;
        // What texts have may have changed since.
        let _known = self.widening.lock();
        let content = self.content();
        for (column, known) in statistics.columns.iter_mut().zip(&content.statistics.columns) {
            column.text = known.text;
        }
        let rest = table.changed_rows().saturating_sub(changed_rows);
        let content = Content { statistics, changed_rows: rest, loaded: content.loaded };
        content.write_all(&self.companions, self.files(), self.column_ids()).map_err(SqlError::from)?;
        table.replace_statistics(content.statistics.clone(), changed_rows);
        *self.content.write() = Some(Arc::new(content));
        Ok(())
    }

    /// Changes what is known of how the values are spread: on the disk first, then for all who ask at once. Of a table
    /// that has no sample one is made.
    pub fn change_distribution(&self, change: impl FnOnce(&mut Distribution)) -> Result<()> {
        const LEAVES: usize = 128;
        if self.content().statistics.distribution.is_none() {
            self.replace(self.sample(LEAVES)?)?;
        }
        let table = self.open(self.companions.store())?;
        let _known = self.widening.lock();
        let mut content = Content::clone(&self.content());
        content.changed_rows = table.changed_rows();
        let mut distribution = content.statistics.distribution.as_deref().cloned().unwrap_or_default();
        change(&mut distribution);
        content.statistics.distribution = Some(Arc::new(distribution.prepared()));
        content.write_all(&self.companions, self.files(), self.column_ids()).map_err(SqlError::from)?;
        *self.content.write() = Some(Arc::new(content));
        *self.fresh.lock() = None;
        Ok(())
    }

    /// Makes sure that texts with these traits may come into a column: that is on the disk before a row with them is,
    /// and known to who reads before a view can see the row.
    pub fn widen(&self, table: &Table, column: usize, traits: TextTraits) -> Result<()> {
        let mut widenings = self.widening.lock();
        let mut content = Content::clone(&self.content());
        content.changed_rows = table.changed_rows();
        let Some(known) = content.statistics.columns.get_mut(column) else { return Ok(()) };
        if !known.text.covers(traits) {
            known.text = TextTraits::merge(known.text, traits);
            *widenings += 1;
            if *widenings > EXACT_WIDENINGS {
                known.text = known.text.with_all_letters();
            }
            let wide = known.text;
            let written = content.write(&self.companions, self.files(), self.column_ids());
            written.map_err(SqlError::from)?;
            *self.content.write() = Some(Arc::new(content));
            table.widen_text_traits(column, wide);
        }
        Ok(())
    }

    pub fn auto_increment(&self) -> &AutoIncrement {
        self.auto_increment.get_or_init(|| {
            AutoIncrement::open(&self.companions, self.entry.clustered_file(), || self.least_auto_increment())
        })
    }

    /// Makes the next value of the AUTO_INCREMENT column `next`, or the least that is above all rows.
    pub fn set_auto_increment(&self, next: u64) -> Result<()> {
        self.auto_increment().reset(next, self.least_auto_increment())
    }

    /// Writes what is kept in memory only: the next AUTO_INCREMENT value, and statistics for the rows that there are.
    pub fn settle(&self) {
        if let Some(counter) = self.auto_increment.get() {
            counter.settle();
        }
        let Some(table) = self.opened.lock().clone() else { return };
        let _known = self.widening.lock();
        let (content, changed_rows) = (self.content(), table.changed_rows());
        if fresh::is_about(content.statistics.rows, table.row_count())
            && changed_rows.abs_diff(content.changed_rows) <= STALE_ROWS.max(table.row_count() / 50)
        {
            return;
        }
        let statistics = fresh::statistics(&content.statistics, &table);
        let grown = Content { statistics, changed_rows, loaded: content.loaded };
        match grown.write(&self.companions, self.files(), self.column_ids()) {
            Ok(()) => *self.content.write() = Some(Arc::new(grown)),
            Err(e) => tracing::debug!("old statistics are kept: {}", SqlError::from(e)),
        }
    }

    /// One more than the largest value of the AUTO_INCREMENT column, by the index that the column begins.
    fn least_auto_increment(&self) -> u64 {
        let Some(column) = self.entry.auto_increment_column() else { return 1 };
        let largest = self.open(self.companions.store()).and_then(|table| largest_value(table, column));
        // A table that cannot be read takes no rows either.
        largest.map_or(1, |largest| following(largest.as_ref()))
    }

    /// Ids of the columns; empty: their positions.
    fn column_ids(&self) -> &[u32] {
        &self.entry.layouts.ids
    }

    /// Returns true if the files of an entry are these, and its rows the same columns.
    pub fn is_of(&self, entry: &TableEntry) -> bool {
        let own = &self.entry;
        let is_same_def = Arc::ptr_eq(&own.def, &entry.def) && Arc::ptr_eq(&own.layouts, &entry.layouts);
        own.files == entry.files && (is_same_def || own.schema() == entry.schema())
    }

    pub fn files(&self) -> &[FileId] {
        &self.entry.files
    }

    /// The moment that a view must see to read an index; 0: all views may.
    pub fn since(&self, index: usize) -> u64 {
        self.since.get(index).map_or(0, |since| since.load(Relaxed))
    }

    /// Makes a moment that at which all files came: a table that was filled comes with its rows. Nobody but the
    /// statement that filled it has read it.
    pub fn come_at(&self, moment: u64) {
        let opened = self.opened.lock();
        for (index, since) in self.since.iter().enumerate() {
            since.store(moment, Relaxed);
            if let Some(table) = &*opened {
                table.set_since(index, moment);
            }
        }
    }

    pub fn open(&self, store: &Arc<Store>) -> Result<Arc<Table>> {
        // Who widens what is known does not open the table meanwhile.
        let _known = self.widening.lock();
        let content = self.content();
        let mut opened = self.opened.lock();
        if let Some(table) = &*opened {
            return Ok(table.clone());
        }
        let entry = &self.entry;
        let table = store.open_table(entry.schema(), entry.files.clone(), content.statistics.clone())?;
        table.note_changed_rows(self.changed_before.max(content.changed_rows));
        (0..self.since.len()).for_each(|index| table.set_since(index, self.since(index)));
        *opened = Some(table.clone());
        Ok(table)
    }

    /// Deletes files of the table once nobody reads them.
    pub fn discard(&self, store: &Arc<Store>, files: &[FileId]) {
        match self.open(store) {
            Ok(table) => table.remove_files_when_unused(files),
            // A table that cannot be opened has no readers; its files go when the directory is opened next.
            Err(e) => tracing::warn!("files of table {:?} stay until the next start: {e}", self.entry.def.name),
        }
    }

    /// Share of an index's pages that are in memory now, in steps of [`RESIDENT_STEP`]; none of a table that nobody has
    /// read yet.
    pub fn resident_share(&self, index: usize) -> f64 {
        let opened = self.opened.lock();
        let Some(tree) = opened.as_ref().and_then(|table| table.trees().get(index)) else { return 0.0 };
        let file = tree.file();
        // The header is not in the pool.
        let pages = f64::from(file.page_count().max(2) - 1);
        (file.resident_pages() as f64 / pages / RESIDENT_STEP).round().clamp(0.0, 1.0 / RESIDENT_STEP) * RESIDENT_STEP
    }
}
