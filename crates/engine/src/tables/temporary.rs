//! The tables of one session: its temporary tables in front of the stored ones.
//!
//! ```text
//!   SessionTables       what statements of a session look names up in
//!     own               its temporary tables: definitions and handles, in no catalog
//!     layered           own and stored tables as one TableSet; the stored set itself if there are none of its own
//!   TemporarySessions   the sessions that have some, so that purge and rollback find their trees by file
//! ```
//!
//! No catalog names files of temporary tables: they are deleted with the table or with the session, and after a crash
//! by the next start. Changes of their pages are not in the log, which has their undo records only. Their statistics
//! and counters are kept in memory. Nobody else sees the tables, so they need no metadata locks, and every view may
//! read their files.

use super::{Companions, NewFiles, TableSet, Tables, UnpublishedRows, storage_error};
use crate::catalog::{Schema, Snapshot, TableEntry, schema_of};
use muster_algebra::{TableDef, TableId};
use muster_storage::{FileId, StorageError, Store, Table, file::TemporarySpace, mutex::Mutex};
use muster_types::{Result, SqlError};
use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// The tables that statements of a session see.
pub struct SessionTables {
    shared: Arc<Tables>,
    companions: Companions,
    /// The room that files of temporary tables of the session may take.
    space: Arc<TemporarySpace>,
    layers: Arc<Layers>,
}

/// The temporary tables of a session, and what it sees with them.
#[derive(Default)]
struct Layers {
    /// True while the session has temporary tables.
    has_own: AtomicBool,
    own: Mutex<Arc<TableSet>>,
    /// What the session sees now; made when it is asked for.
    layered: Mutex<Option<Arc<TableSet>>>,
}

impl Layers {
    fn own(&self) -> Arc<TableSet> {
        self.own.lock().clone()
    }
}

/// The sessions that have had temporary tables, and the number of tables that they have made.
#[derive(Default)]
pub(super) struct TemporarySessions {
    layers: Mutex<Vec<Weak<Layers>>>,
    made: AtomicU64,
}

impl TemporarySessions {
    fn add(&self, layers: &Arc<Layers>) {
        let mut known = self.layers.lock();
        known.retain(|known| known.strong_count() > 0);
        if !known.iter().any(|known| known.as_ptr() == Arc::as_ptr(layers)) {
            known.push(Arc::downgrade(layers));
        }
    }

    fn all(&self) -> Vec<Arc<Layers>> {
        self.layers.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Has the sessions see the stored tables as they are now. What they saw before is let go, with files that were
    /// dropped.
    pub(super) fn forget_layers(&self) {
        self.all().iter().for_each(|layers| *layers.layered.lock() = None);
    }

    /// The temporary table that has this clustered tree.
    pub(super) fn table_of_file(&self, file: FileId, store: &Arc<Store>) -> Result<Option<Arc<Table>>> {
        let found =
            self.all().iter().map(|layers| layers.own().storage_of_file(file, store)).find_map(Result::transpose);
        found.transpose()
    }
}

impl Tables {
    /// The tables of a new session, which has no temporary ones.
    pub fn of_session(self: &Arc<Tables>) -> SessionTables {
        let companions = Companions::in_memory(self.store().clone());
        let space = Arc::new(TemporarySpace::within(&self.temporary_space));
        SessionTables { shared: Arc::clone(self), companions, space, layers: Arc::default() }
    }

    /// The definitions of the temporary tables of all sessions.
    pub fn all_temporary(&self) -> Vec<Arc<TableEntry>> {
        let sessions = self.sessions.all();
        sessions.iter().flat_map(|layers| layers.own().definitions.tables().cloned().collect::<Vec<_>>()).collect()
    }

    /// Bounds the bytes of all files of temporary tables.
    pub fn set_temporary_bytes_max(&self, bytes: u64) {
        self.temporary_space.set_max(bytes);
    }
}

impl SessionTables {
    pub fn store(&self) -> &Arc<Store> {
        self.shared.store()
    }

    /// Returns true if the session has temporary tables.
    pub fn has_temporary(&self) -> bool {
        self.layers.has_own.load(Relaxed)
    }

    /// The temporary tables alone.
    pub fn temporary(&self) -> Arc<TableSet> {
        self.layers.own()
    }

    /// Returns true if the name is that of a temporary table.
    pub fn is_temporary(&self, database: &str, name: &str) -> bool {
        self.has_temporary() && self.temporary().definitions.table(database, name).is_ok()
    }

    /// Returns true if the name is that of a temporary table, or of one that is being filled.
    pub fn is_own(&self, database: &str, name: &str) -> bool {
        let has = |schema: &Schema| schema.tables.contains_key(name) || schema.unfinished.contains_key(name);
        self.has_temporary() && self.temporary().definitions.schemas.get(database).is_some_and(has)
    }

    /// The state now.
    pub fn current(&self) -> Arc<TableSet> {
        if !self.has_temporary() {
            return self.shared.current();
        }
        let own = self.layers.own();
        let mut layered = self.layers.layered.lock();
        // Whoever changes the stored tables takes away what was made of them, afterwards.
        let set = || Arc::new(TableSet::with_temporary(&self.shared.current(), &own));
        layered.get_or_insert_with(set).clone()
    }

    /// The definitions as they are now.
    pub fn definitions(&self) -> Arc<Snapshot> {
        self.current().definitions.clone()
    }

    /// Bounds the bytes of the files of the session's temporary tables.
    pub fn set_temporary_bytes_max(&self, bytes: u64) {
        self.space.set_max(bytes);
    }

    /// Makes the files of an empty table, a temporary one or a stored one. Error 1114.
    pub fn create_files(&self, def: &TableDef, temporary: bool) -> Result<Vec<FileId>> {
        let made = self.make_files(def, temporary);
        made.map_err(|e| if temporary { storage_error(def, e) } else { e.into() })
    }

    /// The same for the rows of a table that is there. Error 1114 for stored tables, too.
    pub fn create_files_for_rows(&self, def: &TableDef, temporary: bool) -> Result<Vec<FileId>> {
        self.make_files(def, temporary).map_err(|e| storage_error(def, e))
    }

    fn make_files(&self, def: &TableDef, temporary: bool) -> std::result::Result<Vec<FileId>, StorageError> {
        self.store().create_table_in(&schema_of(def), temporary.then_some(&self.space))
    }

    /// The number of a new temporary table.
    pub fn new_temporary_id(&self) -> TableId {
        TableId::temporary(self.shared.sessions.made.fetch_add(1, Relaxed))
    }

    /// Makes a change of the stored tables, or of the session's temporary ones if `id` is one of theirs.
    pub fn change_of<R>(&self, id: TableId, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R> {
        match id.is_temporary() {
            true => self.change_temporary(f),
            false => self.shared.change(f),
        }
    }

    /// Makes a change that brings new files into a table, as [`Tables::publish`] does, a stored or a temporary one.
    pub fn publish_of<R>(
        &self,
        id: TableId,
        rows: Option<&UnpublishedRows<'_>>,
        made: NewFiles<'_>,
        f: impl FnOnce(&mut Snapshot) -> Result<R>,
    ) -> Result<R> {
        if !id.is_temporary() {
            return self.shared.publish(rows, made, f);
        }
        let files = rows.map(|rows| rows.files.to_vec()).unwrap_or_default();
        let written = rows.map_or(Ok(()), |rows| rows.write(&self.companions)).map_err(SqlError::from);
        let changed = written.and_then(|()| self.change_temporary(f));
        match &changed {
            Ok(_) => made.keep(),
            Err(_) => files.iter().for_each(|file| self.companions.forget(*file)),
        }
        changed
    }

    /// Makes a change of the temporary tables: `f` edits their definitions, in the databases that there are.
    pub fn change_temporary<R>(&self, f: impl FnOnce(&mut Snapshot) -> Result<R>) -> Result<R> {
        let (before, next, result) = {
            let stored = self.shared.definitions();
            let mut own = self.layers.own.lock();
            let mut definitions = Snapshot::clone(&own.definitions);
            for (database, schema) in &stored.schemas {
                let schema = || Schema::new(schema.collation);
                definitions.schemas.entry(database.clone()).or_insert_with(schema);
            }
            let result = f(&mut definitions)?;
            definitions.schemas.retain(|_, schema| !schema.tables.is_empty() || !schema.unfinished.is_empty());
            // Every view may read the files: nobody else can have changed what is in them.
            let next = Arc::new(own.next(Arc::new(definitions), &self.companions, 0));
            (std::mem::replace(&mut *own, next.clone()), next, result)
        };
        self.shared.sessions.add(&self.layers);
        self.layers.has_own.store(!next.definitions.schemas.is_empty(), Relaxed);
        *self.layers.layered.lock() = None;
        before.discard_files_not_in(&next, self.store());
        let files = |set: &TableSet| set.handles().flat_map(|(_, handle)| handle.files().to_vec()).collect::<Vec<_>>();
        let kept = files(&next);
        files(&before).iter().filter(|file| !kept.contains(file)).for_each(|file| self.companions.forget(*file));
        Ok(result)
    }

    /// Drops all temporary tables.
    pub fn drop_temporary(&self) {
        if self.has_temporary() {
            // No condition is checked, and nothing is written.
            let _ = self.change_temporary(|own| {
                own.schemas.clear();
                Ok(())
            });
        }
    }

    pub fn new_files(&self, files: Vec<FileId>) -> NewFiles<'_> {
        self.shared.new_files(files)
    }

    /// Runs a change that leaves more room on the disk than it takes, as [`Tables::in_reserve`] does.
    pub fn in_reserve<R>(&self, change: impl Fn() -> Result<R>) -> Result<R> {
        self.shared.in_reserve(change)
    }
}

impl Drop for SessionTables {
    fn drop(&mut self) {
        self.drop_temporary();
    }
}
