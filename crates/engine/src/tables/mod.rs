//! Stored tables as open handles: the catalog names their files, this module opens, locks and deletes them.
//!
//! ```text
//!   Tables      the tables of a data directory                         mod.rs
//!   publish     how they change                                        publish.rs
//!   TableSet    one state: definitions with their handles              set.rs
//!   SessionTables   stored tables behind the temporary ones of a session   temporary.rs
//!   Families    the foreign keys of one state, by table                families.rs
//!   Handle      one table's files, opened at first use                 handle.rs
//!   Content     statistics, in a file beside the clustered tree's      content.rs
//!   fresh       statistics for as many rows as there are now            fresh.rs
//!   Renewal     statistics made anew, of a sample, beside the statements  renewal.rs
//!   AutoIncrement   the next value, in a file beside it too            auto_increment.rs
//!   Companions  such files                                             companions.rs
//!   storage_error   what storage reports, in MySQL's words             storage_error.rs
//! ```
//!
//! A change edits the catalog and makes the next set. Files that the catalog named before a change and no longer names
//! after it are deleted as soon as no statement reads them, unless it is not known whether the change is durable: then
//! those of both states stay until the next start, which sees what became of it.

mod auto_increment;
mod companions;
mod content;
mod families;
mod fresh;
mod handle;
mod publish;
mod renewal;
mod set;
mod storage_error;
mod temporary;

pub use auto_increment::{Advance, AutoIncrement, Steps, least_auto_increment};
pub use content::Content;
pub use families::{Family, KeySide, Reference, leading_index};
pub use fresh::data_and_index_bytes;
use handle::Handle;
pub use publish::{NewFiles, UnpublishedRows};
pub use renewal::Renewal;
pub use set::TableSet;
pub use storage_error::{entry_text, storage_error};
pub use temporary::SessionTables;

use crate::{
    catalog::{Catalog, Former, Snapshot},
    persist,
};
use companions::Companions;
use muster_storage::{FileId, Reserve, Store, Table, file::TemporarySpace, mutex::Mutex};
use muster_types::Result;
use parking_lot::RwLock;
use std::sync::Arc;
use temporary::TemporarySessions;

pub struct Tables {
    companions: Companions,
    catalog: Catalog,
    reserve: Reserve,
    current: RwLock<Arc<TableSet>>,
    /// Held while a change is made.
    change: Mutex<()>,
    /// The sessions that have temporary tables.
    sessions: TemporarySessions,
    /// The room that files of temporary tables may take.
    temporary_space: Arc<TemporarySpace>,
}

impl Tables {
    /// Reads the catalog of a data directory, or begins an empty one, and removes files that no table has. Error 1712
    /// when there are files of tables and no catalog that names them.
    pub fn open(store: Arc<Store>) -> Result<Tables> {
        let companions = Companions::new(store);
        let store = companions.store();
        let (catalog, former) = match Catalog::read(store)? {
            Some(read) => read,
            None if store.has_table_files()? => {
                let path = Catalog::path(store.directory());
                return Err(persist::corrupt(&path, "missing, while files of tables are there: put it back"));
            }
            None => (Catalog::create(store)?, Former::new()),
        };
        take_over(&companions, &catalog, former)?;
        let definitions = catalog.snapshot();
        let known: Vec<FileId> = definitions.tables().flat_map(|t| t.files.iter().copied()).collect();
        store.remove_unknown_files(&known)?;
        let reserve = Reserve::new(store.disk().clone(), store.directory());
        let current = RwLock::new(Arc::new(TableSet::first(definitions, &companions)));
        let tables = Tables {
            companions,
            catalog,
            reserve,
            current,
            change: Mutex::new(()),
            sessions: TemporarySessions::default(),
            temporary_space: Arc::new(TemporarySpace::new(u64::MAX)),
        };
        tables.keep_reserve();
        Ok(tables)
    }

    pub fn store(&self) -> &Arc<Store> {
        self.companions.store()
    }

    /// Writes what is kept of tables in memory only, before the directory is closed.
    pub fn settle(&self) {
        self.current().settle();
    }

    /// The state now.
    pub fn current(&self) -> Arc<TableSet> {
        self.current.read().clone()
    }

    /// The table that has this clustered tree, a stored or a temporary one; `None` if it was dropped.
    pub fn by_file(&self, file: FileId) -> Result<Option<Arc<Table>>> {
        match self.current().storage_of_file(file, self.store())? {
            Some(table) => Ok(Some(table)),
            None => self.sessions.table_of_file(file, self.store()),
        }
    }

    /// The definitions as they are now.
    pub fn definitions(&self) -> Arc<Snapshot> {
        self.current.read().definitions.clone()
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        self.settle();
    }
}

/// Puts what a catalog of format 1 said of tables' rows where it is kept now, and writes the catalog without it.
fn take_over(companions: &Companions, catalog: &Catalog, former: Former) -> Result<()> {
    if former.is_empty() {
        return Ok(());
    }
    for (entry, former) in former {
        let content = Content { statistics: former.statistics, changed_rows: 0, loaded: former.updated };
        let auto_increment = Some(former.auto_increment);
        let (files, column_ids) = (&entry.files, &entry.layouts.ids);
        UnpublishedRows { files, column_ids, content: &content, auto_increment }.write(companions)?;
    }
    Ok(catalog.change(|_| Ok(()))?)
}
