//! Versions of one row that are needed: for undo and purge, which ask of an entry whether one of them has it.
//!
//! There are two kinds of them:
//!
//! - Versions that views may see. Of each transaction that has changed the row only the last version can be seen by
//!   others, so of a run of versions of one transaction all but the newest are passed by, with the help of skips.
//! - Versions that a transaction which has not ended has made and replaced: ROLLBACK TO SAVEPOINT may bring them back.
//!   In a unique tree their entries stay, marked, or somebody else could add the same key meanwhile. They matter in
//!   unique trees only.
//!
//! What was found is kept, since undo and purge come back to the same row once for each of its versions: for all of
//! them together the chain is read once. Undo of a transaction comes to ever older versions of it, and what is behind
//! them does not change before it ends. For purge the row may have new versions by then, and the chain is read as far
//! as it is not known.

use super::{ChangedTable, SeenByAll, TransactionSystem, UndoRecord, rollback::undo_of};
use crate::{
    FileId, Result,
    log::{Lsn, NearbyRecords},
    tree::page::leaf::slot::Version,
};
use std::collections::{HashMap, VecDeque};

/// Finds the versions that are needed of one row after the other.
pub(crate) struct NeededVersions<'a> {
    system: &'a TransactionSystem,
    records: NearbyRecords<'a>,
    older: OlderVersions,
}

/// The versions of a row before its newest one, as far as they are needed.
#[derive(Debug, Default)]
pub(crate) struct OlderVersions {
    /// The file of the clustered tree, and the key in it.
    row: Option<(FileId, Vec<u8>)>,
    /// Those of the transaction that has changed the row last.
    own: Option<OwnVersions>,
    /// The last version of each transaction before that, the newest one first. The last of all is one that all views
    /// see, or there is none before.
    versions: VecDeque<Version>,
    /// True if there may be versions behind the last one.
    is_cut: bool,
    /// The number of the newest version; each older one has one less.
    newest: i64,
    /// By trees and keys of entries, the number of the newest version that has the entry. Versions that are gone may be
    /// among them.
    entries: Vec<HashMap<Vec<u8>, i64>>,
}

/// Versions of the transaction that has changed a row last.
#[derive(Debug, Default)]
struct OwnVersions {
    trx_id: u64,
    /// The roll pointer of the newest one.
    top: Lsn,
    /// Of unique trees, the keys of the entries of the others, each with the least roll pointer of a version that has
    /// it.
    entries: Vec<HashMap<Vec<u8>, Lsn>>,
}

/// A version that was found, with the keys of its entries; none if it is marked.
type WithKeys = (Version, Vec<Vec<u8>>);

impl<'a> NeededVersions<'a> {
    /// Begins with what is known from before.
    pub fn new(system: &'a TransactionSystem, older: OlderVersions) -> NeededVersions<'a> {
        NeededVersions { system, records: system.log().nearby(), older }
    }

    /// What is known, for the next time.
    pub fn take(&mut self) -> OlderVersions {
        std::mem::take(&mut self.older)
    }

    /// The versions of a row before this one, which is its newest one now. Errors: those of reading the log and long
    /// values.
    pub fn before(
        &mut self,
        table: &dyn ChangedTable,
        key: &[u8],
        newest: Version,
        seen: &SeenByAll,
    ) -> Result<&OlderVersions> {
        let file = table.clustered_file();
        if self.older.row.as_ref().is_none_or(|row| row.0 != file || row.1 != key) || !self.older.reaches(seen) {
            self.older = OlderVersions { row: Some((file, key.to_vec())), ..OlderVersions::default() };
        }
        let own = self.older.own.take().filter(|own| own.trx_id == newest.trx_id);
        self.older.own = match own {
            // The transaction has undone what it has changed since then, and all before is as it was.
            Some(own) if newest.roll_pointer <= own.top => Some(own),
            own => Some(self.read_before(table, newest, own, seen)?),
        };
        self.older.forget_unneeded(seen);
        Ok(&self.older)
    }

    /// Reads the versions before the newest one, as far as they are not known. `known`: those of the same transaction
    /// that were found before.
    fn read_before(
        &mut self,
        table: &dyn ChangedTable,
        newest: Version,
        known: Option<OwnVersions>,
        seen: &SeenByAll,
    ) -> Result<OwnVersions> {
        let mut own = OwnVersions { trx_id: newest.trx_id, top: newest.roll_pointer, entries: Vec::new() };
        let known_top = known.as_ref().map_or(0, |known| known.top);
        let visit = |record: &UndoRecord| {
            own.add(table, record)?;
            Ok(record.version.roll_pointer == known_top)
        };
        match self.last_before(newest, visit, table.has_unique_entries())? {
            Last::Known => return Ok(own.with_older(known.unwrap_or_default())),
            Last::None => self.older.replace(Vec::new(), false),
            // The one that had changed the row since then was rolled back.
            Last::Before(_) if self.older.versions.front() == Some(&newest) => {}
            Last::Before(record) => self.read_others(table, record, seen)?,
        }
        Ok(own)
    }

    /// Reads the versions from this one on that views may see, as far as they are not known.
    fn read_others(&mut self, table: &dyn ChangedTable, mut record: UndoRecord, seen: &SeenByAll) -> Result<()> {
        let mut found: Vec<WithKeys> = Vec::new();
        loop {
            let version = record.version;
            // A version without a roll pointer may be any that all views see.
            if version.roll_pointer != 0 && self.older.versions.front() == Some(&version) {
                self.older.add(found);
                return Ok(());
            }
            let keys = if record.marked { Vec::new() } else { table.keys_of_entries(&record)? };
            found.push((version, keys));
            if version.roll_pointer == 0 || seen.contains(version.trx_id) {
                self.older.replace(found, version.roll_pointer != 0);
                return Ok(());
            }
            record = match self.last_before(version, |_| Ok(false), false)? {
                Last::Before(record) => record,
                Last::None | Last::Known => {
                    self.older.replace(found, false);
                    return Ok(());
                }
            };
        }
    }

    /// Goes from a version to the one that another transaction has left. `visit`: called with undo records that lead to
    /// versions of the same transaction, all of them with `all`; it returns true to end.
    fn last_before(
        &mut self,
        Version { trx_id, roll_pointer: mut at }: Version,
        mut visit: impl FnMut(&UndoRecord) -> Result<bool>,
        all: bool,
    ) -> Result<Last> {
        while at != 0 {
            self.system.transactions().count_undo_read();
            let read = self.records.read(at, undo_of)?;
            let (_, record) = read.ok_or_else(|| self.system.log().damaged(at, "no undo record is here"))?;
            if record.kind.is_insert() {
                break;
            }
            if record.version.trx_id != trx_id {
                return Ok(Last::Before(record));
            }
            if visit(&record)? {
                return Ok(Last::Known);
            }
            let skip = record.place.skips().iter().rev().find(|skip| skip.trx_id == trx_id && !all);
            at = skip.map_or(record.version.roll_pointer, |skip| skip.at);
        }
        Ok(Last::None)
    }
}

/// The end of a way through the versions of one transaction.
enum Last {
    /// An undo record of the transaction that leads to a version of another one.
    Before(UndoRecord),
    /// There was no row before.
    None,
    /// What follows is known.
    Known,
}

impl OwnVersions {
    /// Takes in the version that an undo record leads to.
    fn add(&mut self, table: &dyn ChangedTable, record: &UndoRecord) -> Result<()> {
        if record.marked || !table.has_unique_entries() {
            return Ok(());
        }
        for (index, key) in table.keys_of_entries(record)?.into_iter().enumerate() {
            if self.entries.len() <= index {
                self.entries.resize_with(index + 1, HashMap::new);
            }
            if table.is_unique(index) {
                self.entries[index].insert(key, record.version.roll_pointer);
            }
        }
        Ok(())
    }

    /// These and older ones, with the newest one of these.
    fn with_older(self, mut older: OwnVersions) -> OwnVersions {
        older.top = self.top;
        if older.entries.len() < self.entries.len() {
            older.entries.resize_with(self.entries.len(), HashMap::new);
        }
        for (older, newer) in older.entries.iter_mut().zip(self.entries) {
            newer.into_iter().for_each(|(key, at)| {
                older.entry(key).or_insert(at);
            });
        }
        older
    }
}

impl OlderVersions {
    /// Returns true if a version before the newest one has an entry with this key. `index`: the position among the
    /// secondary trees; `newest`: the roll pointer of the newest version.
    pub fn have(&self, index: usize, key: &[u8], newest: Lsn) -> bool {
        let own = self.own.as_ref().and_then(|own| own.entries.get(index)?.get(key));
        let found = self.entries.get(index).and_then(|keys| keys.get(key));
        own.is_some_and(|at| *at < newest) || found.is_some_and(|number| *number >= self.oldest())
    }

    /// The number of the oldest version.
    fn oldest(&self) -> i64 {
        self.newest + 1 - self.versions.len() as i64
    }

    /// Returns true if no version is missing behind the last one. Views end, so what all see becomes ever more.
    fn reaches(&self, seen: &SeenByAll) -> bool {
        !self.is_cut || self.versions.back().is_some_and(|last| seen.contains(last.trx_id))
    }

    /// Puts versions in the place of those that are known.
    fn replace(&mut self, versions: Vec<WithKeys>, is_cut: bool) {
        self.versions.clear();
        self.entries.clear();
        self.is_cut = is_cut;
        self.add(versions);
    }

    /// Adds newer versions, the newest one first.
    fn add(&mut self, versions: Vec<WithKeys>) {
        for (version, keys) in versions.into_iter().rev() {
            self.newest += 1;
            self.versions.push_front(version);
            for (index, key) in keys.into_iter().enumerate() {
                if self.entries.len() <= index {
                    self.entries.resize_with(index + 1, HashMap::new);
                }
                self.entries[index].insert(key, self.newest);
            }
        }
    }

    /// Forgets versions behind the newest one that all views see.
    fn forget_unneeded(&mut self, seen: &SeenByAll) {
        while let Some(second_last) = self.versions.len().checked_sub(2)
            && seen.contains(self.versions[second_last].trx_id)
        {
            self.versions.pop_back();
            self.is_cut = true;
        }
        let oldest = self.oldest();
        for keys in self.entries.iter_mut().filter(|keys| keys.len() > 2 * self.versions.len() + 64) {
            keys.retain(|_, number| *number >= oldest);
        }
    }
}
