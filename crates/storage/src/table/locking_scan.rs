//! Locking reads: the rows of ranges of an index, each locked before it is looked at, in their newest versions.
//!
//! ```text
//!   an entry is found and its lock asked for, while its leaf is latched
//!     -> somebody has the lock: wait with nothing latched, and find the entry again
//!   of a secondary index: the row is found and its lock asked for
//!     -> somebody has the lock: wait, and begin again with the entry
//!   the row is delivered if it is not marked and still makes the entry
//! ```
//!
//! With `gaps` nobody adds entries to what was read, until the transaction ends: each entry is locked with the gap
//! before it, marked ones too, and so is the gap at the end of a range (MySQL manual, "Phantom Rows"). A search by a
//! whole unique key that finds its row locks that alone.

use crate::{
    Counters, ReadView, Result, StorageError, Table, Transaction,
    key::ByteRange,
    locks::{Acquired, LockMode, PlantedFault, Resource, TransactionLocks, Wanted},
    tree::{CurrentEntry, TreeLayout},
};
use muster_types::{KeyRange, Value};
use std::{collections::VecDeque, ops::Bound, sync::Arc};

#[derive(Debug, Clone)]
pub struct LockingScanRequest {
    /// The position of the index in the table's schema.
    pub index: usize,
    /// Ranges that do not overlap, in the order of the index.
    pub ranges: Vec<KeyRange>,
    /// Reads from the last entry of the last range to the first one of the first.
    pub reverse: bool,
    pub mode: LockMode,
    /// Locks gaps too: REPEATABLE READ and SERIALIZABLE.
    pub gaps: bool,
    /// Leaves out rows that others have locked, instead of waiting for them.
    pub skip_locked: bool,
}

impl LockingScanRequest {
    /// The rows with these values in the first parts of an index, without gaps; waits for those that are locked.
    pub fn of_values(index: usize, values: &[Value], mode: LockMode) -> LockingScanRequest {
        let ranges = vec![KeyRange::prefix(values.to_vec())];
        LockingScanRequest { index, ranges, reverse: false, mode, gaps: false, skip_locked: false }
    }
}

/// A range that is read.
#[derive(Debug)]
struct Range {
    bytes: ByteRange,
    /// At most one live entry can be in the range.
    is_point: bool,
    begun: bool,
}

/// A locking read of an index. It holds no latch between calls.
pub struct LockingScan {
    table: Arc<Table>,
    request: LockingScanRequest,
    /// Ranges to read; of the first one what is still to be read.
    ranges: VecDeque<Range>,
    /// The key of the entry that was looked at last.
    at: Vec<u8>,
    /// Of a scan of a secondary index: the key of the row that was delivered last in the clustered tree, and its lock,
    /// if it is new.
    row: (Vec<u8>, Option<Resource>),
    /// Locks that the transaction has got newly for the entry that was looked at last.
    acquired: Vec<Resource>,
    /// All locks that the scan has got newly, if it may have to give them back.
    account: Option<Vec<Resource>>,
    /// The view that what is met is compared with.
    view: Option<Arc<ReadView>>,
    met_unseen: bool,
}

/// A row that a transaction has locked exclusively, in its newest version.
#[derive(Debug)]
pub struct LockedRow {
    /// Its key in the clustered tree.
    pub(crate) key: Vec<u8>,
    pub(crate) stored: Vec<Value>,
    /// The lock, if the transaction had none of the row before.
    pub(crate) lock: Option<Resource>,
}

impl LockedRow {
    /// All columns of the table, then the hidden row number if there is one.
    pub fn values(&self) -> &[Value] {
        &self.stored
    }

    /// The key of the row in the clustered tree, which no other row of the table has.
    pub fn clustered_key(&self) -> &[u8] {
        &self.key
    }
}

/// What was found at the next place of a range.
enum FoundEntry {
    /// The end of the range.
    End,
    /// An entry that no row belongs to.
    NoRow,
    /// A row of the clustered tree.
    Row(Vec<Value>),
    /// A secondary entry whose row has this key.
    Entry { clustered_key: Vec<u8> },
}

impl LockingScan {
    /// Errors: `WrongType` for values that are not of the types of the key.
    pub fn new(table: &Arc<Table>, request: LockingScanRequest) -> Result<LockingScan> {
        let layout = table.tree(request.index).layout();
        let mut ranges = VecDeque::with_capacity(request.ranges.len());
        for range in &request.ranges {
            if let Some(bytes) = layout.key.byte_range(range)? {
                let range = Range { bytes, is_point: is_point(layout, range), begun: false };
                if request.reverse { ranges.push_front(range) } else { ranges.push_back(range) }
            }
        }
        Ok(LockingScan {
            table: Arc::clone(table),
            request,
            ranges,
            at: Vec::new(),
            row: Default::default(),
            acquired: Vec::new(),
            account: None,
            view: None,
            met_unseen: false,
        })
    }

    /// Compares what the scan meets with what a view sees, which somebody holds until the scan is done.
    pub fn compare_with(&mut self, view: Arc<ReadView>) {
        self.view = Some(view);
    }

    /// Returns true if the scan has met a row or an entry whose last change the view does not see. If it has not by its
    /// end, the view sees the rows that are locked, each as it is, and no others: one that came and went between is
    /// still there, marked.
    pub fn met_unseen(&self) -> bool {
        self.met_unseen
    }

    /// The next row, locked: all columns of the table, then the hidden row number if there is one. Errors: `WouldWait`
    /// if the transaction does not wait, `LockTimeout`, `Deadlock`, `Interrupted`, `LockTableFull`, and those of
    /// reading pages. After `WouldWait` the same row comes again.
    #[allow(clippy::should_implement_trait, reason = "fallible")]
    pub fn next(&mut self, trx: &mut Transaction, counters: &Counters) -> Result<Option<Vec<Value>>> {
        let locks = trx.locks()?;
        self.note_acquired();
        while let Some(range) = self.ranges.front() {
            let is_point = range.is_point;
            match self.step(locks, counters) {
                Ok(Step::End) => drop(self.ranges.pop_front()),
                Ok(Step::NoRow) => self.pass(locks),
                Ok(Step::Row(row)) => {
                    self.advance();
                    if is_point {
                        self.ranges.pop_front();
                    }
                    return Ok(Some(row));
                }
                Err(StorageError::WouldWait) if self.request.skip_locked => self.pass(locks),
                Err(StorageError::WouldWait) => self.acquired.extend(locks.wait()?),
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    /// The next row, locked exclusively, of a scan that says so, for who changes it before anything else does. Errors:
    /// as [`LockingScan::next`].
    pub fn next_to_change(&mut self, trx: &mut Transaction, counters: &Counters) -> Result<Option<LockedRow>> {
        debug_assert!(self.request.mode == LockMode::Exclusive);
        let Some(stored) = self.next(trx, counters)? else { return Ok(None) };
        let (key, lock) = match self.request.index {
            0 => (self.at.clone(), self.acquired.last().cloned()),
            _ => self.row.clone(),
        };
        Ok(Some(LockedRow { key, stored, lock }))
    }

    /// Releases the locks of the row that was delivered last, unless the transaction had them before: READ COMMITTED
    /// keeps no locks of rows that do not match.
    pub fn unlock_last(&mut self, trx: &mut Transaction) {
        if !self.acquired.is_empty() {
            self.release(trx.own_locks());
        }
    }

    /// Keeps account of the locks that the scan gets, for [`LockingScan::give_back`].
    pub fn keep_account(&mut self) {
        self.account = Some(Vec::new());
    }

    /// Releases all locks that the transaction has got by the scan, since the rows are too many to lock all of them.
    pub fn give_back(&mut self, trx: &mut Transaction) {
        self.note_acquired();
        let locks = trx.own_locks();
        for resource in self.account.take().unwrap_or_default() {
            locks.release(&resource);
        }
    }

    fn note_acquired(&mut self) {
        match &mut self.account {
            Some(account) => account.append(&mut self.acquired),
            None => self.acquired.clear(),
        }
    }

    fn release(&mut self, locks: &TransactionLocks) {
        for resource in self.acquired.drain(..) {
            locks.release(&resource);
        }
    }

    /// Goes on behind the entry that was looked at last, which is not delivered.
    fn pass(&mut self, locks: &TransactionLocks) {
        if !self.request.gaps {
            self.release(locks);
        }
        self.note_acquired();
        self.advance();
    }

    fn advance(&mut self) {
        let (reverse, at) = (self.request.reverse, &self.at);
        if let Some(range) = self.ranges.front_mut() {
            if reverse && !range.is_point {
                range.bytes.upper = Some(at.clone());
            } else {
                // The least key that is greater.
                range.bytes.lower.clone_from(at);
                range.bytes.lower.push(0);
            }
        }
    }

    /// Looks at the next entry. Error: `WouldWait`, if somebody has to be waited for.
    fn step(&mut self, locks: &TransactionLocks, counters: &Counters) -> Result<Step> {
        match self.find(locks, counters)? {
            FoundEntry::End => Ok(Step::End),
            FoundEntry::NoRow => Ok(Step::NoRow),
            FoundEntry::Row(row) => Ok(Step::Row(row)),
            FoundEntry::Entry { clustered_key } => match self.row_of_entry(&clustered_key, locks, counters)? {
                Some(row) => Ok(Step::Row(row)),
                None => Ok(Step::NoRow),
            },
        }
    }

    fn find(&mut self, locks: &TransactionLocks, counters: &Counters) -> Result<FoundEntry> {
        let LockingScan { table, request, ranges, at, acquired, view, met_unseen, .. } = self;
        let Some(range) = ranges.front_mut() else { return Ok(FoundEntry::End) };
        let tree = table.tree(request.index);
        let file = tree.file().id().0;
        let lock_gap = |before: Option<&CurrentEntry<'_>>| -> Result<()> {
            if request.gaps {
                let resource = Resource::new(file, before.map(|entry| entry.key.as_slice()));
                locks.try_acquire(&resource, Wanted::gap(request.mode))?;
            }
            Ok(())
        };
        let backward = request.reverse && !range.is_point;
        if backward && !range.begun {
            match &range.bytes.upper {
                Some(upper) => tree.visit_first(upper, counters, lock_gap)?,
                None => lock_gap(None)?,
            }
            range.begun = true;
        }
        let mut visit = |entry: Option<&CurrentEntry<'_>>| -> Result<FoundEntry> {
            let Some(inside) = entry.filter(|entry| range.bytes.contains(&entry.key)) else {
                if !backward {
                    lock_gap(entry)?;
                }
                return Ok(FoundEntry::End);
            };
            at.clone_from(&inside.key);
            let resource = Resource::entry(file, &inside.key);
            let is_changed = locks.is_changed_by_other(inside.trx_id(), || resource.clone());
            let leaves_nothing =
                inside.is_marked() && !is_changed && !locks.table().has_fault(PlantedFault::TrustEntries);
            let mut compare = || *met_unseen |= view.as_ref().is_some_and(|view| !view.sees(inside.trx_id()));
            let wanted = match request.gaps {
                true if range.is_point && !inside.is_marked() => Wanted::record(request.mode),
                true => Wanted::next_key(request.mode),
                false if leaves_nothing => {
                    compare();
                    return Ok(FoundEntry::NoRow);
                }
                false => Wanted::record(request.mode),
            };
            if locks.try_acquire(&resource, wanted)? == Acquired::New {
                acquired.push(resource);
            }
            compare();
            Ok(match request.index {
                _ if leaves_nothing => FoundEntry::NoRow,
                0 if inside.is_marked() => FoundEntry::NoRow,
                0 => FoundEntry::Row(inside.values(counters)?),
                _ => FoundEntry::Entry { clustered_key: inside.clustered_key()? },
            })
        };
        match backward {
            true => tree.visit_last(range.bytes.upper.as_deref(), counters, &mut visit),
            false => tree.visit_first(&range.bytes.lower, counters, &mut visit),
        }
    }

    /// Locks the row of a secondary entry. Returns it if it is there and makes the entry.
    fn row_of_entry(
        &mut self,
        clustered_key: &[u8],
        locks: &TransactionLocks,
        counters: &Counters,
    ) -> Result<Option<Vec<Value>>> {
        let LockingScan { table, request, at, row: found, acquired, view, met_unseen, .. } = self;
        let Some(LockedEntry { row, lock, trx_id }) = lock_row(table, clustered_key, request.mode, locks, counters)?
        else {
            return Ok(None);
        };
        *found = (clustered_key.to_vec(), lock.clone());
        acquired.extend(lock);
        *met_unseen |= view.as_ref().is_some_and(|view| !view.sees(trx_id));
        let Some(row) = row else { return Ok(None) };
        let (values, number) = table.split_stored(&row);
        let tree = table.tree(request.index);
        let makes_entry = tree.key_of_values(&tree.layout().stored_values(values, number))? == *at;
        Ok((makes_entry || locks.table().has_fault(PlantedFault::TrustEntries)).then_some(row))
    }
}

enum Step {
    End,
    NoRow,
    Row(Vec<Value>),
}

/// An entry of the clustered tree that was locked.
pub(crate) struct LockedEntry {
    /// The newest version of the row; `None` if it is marked.
    pub row: Option<Vec<Value>>,
    /// The lock, if it is new.
    pub lock: Option<Resource>,
    /// The transaction that has changed the row last.
    trx_id: u64,
}

/// Locks a row of the clustered tree. `None` if there is no such entry. Error: `WouldWait`, if somebody has to be
/// waited for.
pub(crate) fn lock_row(
    table: &Table,
    clustered_key: &[u8],
    mode: LockMode,
    locks: &TransactionLocks,
    counters: &Counters,
) -> Result<Option<LockedEntry>> {
    let tree = table.tree(0);
    tree.visit_first(clustered_key, counters, |entry| {
        let Some(entry) = entry.filter(|entry| entry.key == clustered_key) else { return Ok(None) };
        let resource = Resource::entry(tree.file().id().0, clustered_key);
        locks.is_changed_by_other(entry.trx_id(), || resource.clone());
        let is_new = locks.try_acquire(&resource, Wanted::record(mode))? == Acquired::New;
        let row = if entry.is_marked() { None } else { Some(entry.values(counters)?) };
        Ok(Some(LockedEntry { row, lock: is_new.then_some(resource), trx_id: entry.trx_id() }))
    })
}

/// Returns true if a range can have at most one live entry: it names all parts of a unique key, and none is NULL.
fn is_point(layout: &TreeLayout, range: &KeyRange) -> bool {
    let parts = if layout.declared_parts == 0 { layout.key.parts.len() } else { layout.declared_parts };
    match (&range.lower, &range.upper) {
        (Bound::Included(lower), Bound::Included(upper)) => {
            layout.unique && lower == upper && lower.len() >= parts && !lower[..parts].contains(&Value::Null)
        }
        _ => false,
    }
}

impl std::fmt::Debug for LockingScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockingScan").field("request", &self.request).field("ranges", &self.ranges).finish()
    }
}
