//! One table's files, opened at first use.

use super::{
    Companions,
    auto_increment::{AutoIncrement, following, largest_value, least_auto_increment},
    content::Content,
};
use crate::catalog::TableEntry;
use muster_storage::{FileId, Store, Table};
use muster_types::Result;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// A plan changes with what is in memory only when this share of an index has come or gone.
const RESIDENT_STEP: f64 = 0.125;

pub struct Handle {
    /// The entry that brought the files. Later entries on the same files differ in names and comments only.
    entry: Arc<TableEntry>,
    /// Opened at first use, so that a damaged table hurts only those who read it.
    opened: Mutex<Option<Arc<Table>>>,
    companions: Companions,
    /// Read at first use.
    content: OnceLock<Arc<Content>>,
    /// Shared by all handles with the same clustered tree.
    auto_increment: Arc<OnceLock<AutoIncrement>>,
}

impl Handle {
    pub fn new(entry: Arc<TableEntry>, companions: &Companions) -> Handle {
        Handle {
            entry,
            opened: Mutex::default(),
            companions: companions.clone(),
            content: OnceLock::new(),
            auto_increment: Arc::default(),
        }
    }

    /// The same table on the files of another entry.
    pub fn on_other_files(&self, entry: Arc<TableEntry>) -> Handle {
        let same_rows = entry.clustered_file() == self.entry.clustered_file();
        let auto_increment = if same_rows { self.auto_increment.clone() } else { Arc::default() };
        Handle { auto_increment, ..Handle::new(entry, &self.companions) }
    }

    /// Statistics of the rows.
    pub fn content(&self) -> &Arc<Content> {
        self.content.get_or_init(|| Arc::new(Content::read(&self.companions, &self.entry)))
    }

    pub fn auto_increment(&self) -> &AutoIncrement {
        self.auto_increment.get_or_init(|| {
            AutoIncrement::open(&self.companions, self.entry.clustered_file(), || self.least_auto_increment())
        })
    }

    /// Writes what is kept in memory only: the next AUTO_INCREMENT value.
    pub fn settle(&self) {
        if let Some(counter) = self.auto_increment.get() {
            counter.settle();
        }
    }

    /// One more than the largest value of the AUTO_INCREMENT column, by the statistics or by the index that the column
    /// begins.
    fn least_auto_increment(&self) -> u64 {
        let Some(column) = self.entry.auto_increment_column() else { return 1 };
        let statistics = &self.content().statistics;
        if !statistics.columns.is_empty() {
            return least_auto_increment(statistics, column);
        }
        let largest = self.open(self.companions.store()).and_then(|table| largest_value(table, column));
        // A table that cannot be read takes no rows either.
        largest.map_or(1, |largest| following(largest.as_ref()))
    }

    pub fn files(&self) -> &[FileId] {
        &self.entry.files
    }

    pub fn open(&self, store: &Arc<Store>) -> Result<Arc<Table>> {
        let content = self.content();
        let mut opened = self.opened.lock();
        if let Some(table) = &*opened {
            return Ok(table.clone());
        }
        let entry = &self.entry;
        let table = store.open_table(entry.schema(), entry.files.clone(), content.statistics.clone())?;
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
