//! What the log tells of transactions after a crash: which had begun and not ended, and which have committed and are
//! not purged.

use super::{
    Ended,
    history::History,
    records::{Event, event_of},
};
use crate::{
    FileId,
    log::{Lsn, Record},
};
use std::collections::{BTreeMap, HashMap};

/// The transactions of a log that is being read.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// The next transaction's id.
    pub next: u64,
    /// Transactions without an end.
    pub losers: Vec<Ended>,
    /// The clustered trees of the tables that each of them has changed.
    pub changed_trees: HashMap<u64, Vec<FileId>>,
    /// Transactions that have committed and are not purged, by the numbers of their ends.
    committed: BTreeMap<u64, Ended>,
    end_of: HashMap<u64, u64>,
    ends: u64,
    found: HashMap<u64, Ended>,
}

impl Analysis {
    /// Begins with what a checkpoint knows: the next transaction.
    pub fn new(next: u64) -> Analysis {
        Analysis { next: next.max(1), ..Analysis::default() }
    }

    /// Takes in a record, in the order of the log.
    pub fn add(&mut self, record: &Record<'_>) {
        let Some((id, event)) = event_of(record) else { return };
        self.saw(id);
        match event {
            Event::Changed => {
                let first = || Ended { id, first: record.group, ..Ended::default() };
                let ended = self.found.entry(id).or_insert_with(first);
                ended.last = record.lsn;
                ended.changes += 1;
                let trees = self.changed_trees.entry(id).or_default();
                if !trees.contains(&record.file) {
                    trees.push(record.file);
                }
            }
            Event::Undone { next } => {
                if let Some(ended) = self.found.get_mut(&id) {
                    ended.last = next;
                }
            }
            Event::Committed { purged } => {
                let ended = self.found.remove(&id);
                self.changed_trees.remove(&id);
                if let Some(ended) = ended.filter(|ended| ended.last != 0 && !purged) {
                    self.ends += 1;
                    self.end_of.insert(id, self.ends);
                    self.committed.insert(self.ends, Ended { end: self.ends, ..ended });
                }
            }
            Event::RolledBack => {
                self.found.remove(&id);
                self.changed_trees.remove(&id);
            }
            Event::Purged => drop(self.end_of.remove(&id).and_then(|end| self.committed.remove(&end))),
        }
    }

    /// A transaction with this id has been.
    pub fn saw(&mut self, id: u64) {
        self.next = self.next.max(id.saturating_add(1));
    }

    /// Ends with the log: those without an end are losers.
    pub fn finish(mut self) -> Analysis {
        self.losers = self.found.drain().map(|(_, ended)| ended).collect();
        self.losers.sort_unstable_by_key(|loser| loser.id);
        self
    }

    /// The position from which on the log is needed.
    pub fn oldest(&self) -> Option<Lsn> {
        self.losers.iter().chain(self.committed.values()).map(|ended| ended.first).min()
    }

    /// Transactions that have committed and are not purged. `end`: the end of the log.
    pub(super) fn into_history(self, end: Lsn) -> History {
        History::new(self.committed.into_values(), self.ends, end)
    }
}
