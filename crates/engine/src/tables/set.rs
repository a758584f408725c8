//! One state of all tables: their definitions, each with its handle.

use super::{
    Companions,
    auto_increment::AutoIncrement,
    content::Content,
    families::{Families, Family},
    handle::Handle,
};
use crate::catalog::{Snapshot, TableEntry, is_view};
use muster_algebra::TableId;
use muster_storage::{FileId, Store, Table, TableStatistics};
use muster_types::{Result, SqlError, collation::TextTraits};
use std::{collections::HashMap, sync::Arc};

/// Whoever keeps a set can read its tables as they were, however they change meanwhile.
#[derive(Default)]
pub struct TableSet {
    pub definitions: Arc<Snapshot>,
    handles: HashMap<TableId, Arc<Handle>>,
    families: Families,
    /// The stored tables alone, below a session's temporary ones.
    stored: Option<Arc<TableSet>>,
}

impl TableSet {
    /// The set of a data directory that was opened just now: no view is older.
    pub(super) fn first(definitions: Arc<Snapshot>, companions: &Companions) -> TableSet {
        TableSet::default().next(definitions, companions, 0)
    }

    /// The set after a change of definitions: a table whose files and columns stayed the same keeps its handle. Views
    /// that do not see `since` do not read files that come with the change.
    pub(super) fn next(&self, definitions: Arc<Snapshot>, companions: &Companions, since: u64) -> TableSet {
        // Those that are filled by now come at this moment.
        let unfinished = |of: &Snapshot| of.unfinished().map(|entry| entry.def.id).collect::<Vec<_>>();
        let (before, now) = (unfinished(&self.definitions), unfinished(&definitions));
        for id in before.iter().filter(|id| !now.contains(id)) {
            self.handles.get(id).into_iter().for_each(|handle| handle.come_at(since));
        }
        let handle = |entry: &Arc<TableEntry>| {
            let handle = match self.handles.get(&entry.def.id) {
                Some(handle) if handle.is_of(entry) => handle.clone(),
                Some(handle) => Arc::new(handle.on_other_files(entry.clone(), since)),
                None => Arc::new(Handle::new(entry.clone(), companions, since)),
            };
            (entry.def.id, handle)
        };
        let handles = definitions.all_tables().map(handle).collect();
        TableSet { handles, families: Families::of(&definitions), definitions, stored: None }
    }

    /// The set that a session sees: its temporary tables in front of the stored ones. Foreign keys are those of stored
    /// tables, since temporary ones have none.
    pub(super) fn with_temporary(stored: &Arc<TableSet>, temporary: &TableSet) -> TableSet {
        let both = stored.handles.iter().chain(&temporary.handles);
        TableSet {
            definitions: Arc::new(stored.definitions.with_temporary(&temporary.definitions)),
            handles: both.map(|(id, handle)| (*id, handle.clone())).collect(),
            families: stored.families.clone(),
            stored: Some(Arc::clone(stored)),
        }
    }

    /// The stored tables, which all sessions see.
    pub fn stored(self: &Arc<TableSet>) -> &Arc<TableSet> {
        self.stored.as_ref().unwrap_or(self)
    }

    /// Marks files that `next` no longer has for deletion. Returns true if there are any.
    pub(super) fn discard_files_not_in(&self, next: &TableSet, store: &Arc<Store>) -> bool {
        let mut found = false;
        for (id, handle) in &self.handles {
            let kept = next.handles.get(id).map_or(&[][..], |handle| handle.files());
            let gone: Vec<FileId> = handle.files().iter().copied().filter(|file| !kept.contains(file)).collect();
            if !gone.is_empty() {
                handle.discard(store, &gone);
                found = true;
            }
        }
        found
    }

    /// Writes what is kept in memory only.
    pub(super) fn settle(&self) {
        self.handles.values().for_each(|handle| handle.settle());
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = (&TableId, &Arc<Handle>)> {
        self.handles.iter()
    }

    pub(super) fn handle(&self, id: TableId) -> Result<&Arc<Handle>> {
        self.handles.get(&id).ok_or_else(|| SqlError::internal(format!("no table {}", id.0)))
    }

    /// The foreign keys of all tables.
    pub fn families(&self) -> &Families {
        &self.families
    }

    /// The foreign keys that a table takes part in; `None` if there are none.
    pub fn family(&self, id: TableId) -> Option<&Arc<Family>> {
        self.families.of_table(id)
    }

    /// Returns true if a table is the same in both sets, its definition, its foreign keys and its files, or a view.
    pub fn is_same(&self, other: &TableSet, id: TableId) -> bool {
        if is_view(id) {
            let view = |set: &TableSet| set.definitions.views().find(|view| view.id == id).map(Arc::as_ptr);
            return view(self) == view(other);
        }
        let entry = |set: &TableSet| set.handles.get(&id).map(Arc::as_ptr);
        let def = |set: &TableSet| set.definitions.tables().find(|t| t.def.id == id).map(|t| t.def.clone());
        let is_defined_so = || def(self) == def(other) && self.family(id) == other.family(id);
        entry(self) == entry(other) && (Arc::ptr_eq(&self.definitions, &other.definitions) || is_defined_so())
    }

    /// The open table that has this clustered tree, if there is one.
    pub(super) fn storage_of_file(&self, file: FileId, store: &Arc<Store>) -> Result<Option<Arc<Table>>> {
        let handle = self.handles.values().find(|handle| handle.files().first() == Some(&file));
        handle.map(|handle| handle.open(store)).transpose()
    }

    /// The open table of this number.
    pub fn storage(&self, id: TableId, store: &Arc<Store>) -> Result<Arc<Table>> {
        self.handle(id)?.open(store)
    }

    /// What was known of a table's rows when they were loaded.
    pub fn content(&self, id: TableId) -> Result<Arc<Content>> {
        Ok(self.handle(id)?.content())
    }

    /// Rows of a table now; about as many after a crash.
    pub fn row_count(&self, id: TableId) -> Result<u64> {
        Ok(self.handle(id)?.row_count())
    }

    /// Share of a table's rows that came or changed since its statistics were made, 0 to 1.
    pub fn changed_share(&self, id: TableId) -> f64 {
        self.handles.get(&id).map_or(0.0, |handle| handle.changed_share())
    }

    /// Statistics of the rows that a table has about now.
    pub fn statistics(&self, id: TableId) -> Result<Arc<TableStatistics>> {
        Ok(self.handle(id)?.statistics())
    }

    /// Statistics that a file has brought, which count in place of the table's own.
    pub fn imported_statistics(&self, id: TableId) -> Option<Arc<TableStatistics>> {
        self.handles.get(&id)?.imported()
    }

    /// The statistics that the optimizer uses: imported ones, or the table's own.
    pub fn known_statistics(&self, id: TableId) -> Result<Arc<TableStatistics>> {
        let handle = self.handle(id)?;
        Ok(handle.imported().unwrap_or_else(|| handle.statistics()))
    }

    /// The moment that a view must see to read an index ([`Store::moment_of_views`]); 0: all views may.
    pub fn since(&self, id: TableId, index: usize) -> u64 {
        self.handles.get(&id).map_or(0, |handle| handle.since(index))
    }

    /// Makes sure that texts with these traits may come into a column of a table.
    pub fn widen(&self, id: TableId, table: &Table, column: usize, traits: TextTraits) -> Result<()> {
        self.handle(id)?.widen(table, column, traits)
    }

    /// The next value of a table's AUTO_INCREMENT column.
    pub fn auto_increment(&self, id: TableId) -> Result<&AutoIncrement> {
        Ok(self.handle(id)?.auto_increment())
    }

    /// Makes the next value of a table's AUTO_INCREMENT column `next`, or the least that is above all rows.
    pub fn set_auto_increment(&self, id: TableId, next: u64) -> Result<()> {
        self.handle(id)?.set_auto_increment(next)
    }

    /// Share of an index's pages that are in memory now.
    pub fn resident_share(&self, id: TableId, index: usize) -> f64 {
        self.handles.get(&id).map_or(0.0, |handle| handle.resident_share(index))
    }
}
