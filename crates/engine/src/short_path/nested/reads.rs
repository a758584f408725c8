//! The rows of a level: as a view sees them, or locked in their newest version.

use super::{Level, RowScope, groups::Groups};
use crate::{
    short_path::run_end::{Left, RESULT_BYTES_MAX, ReadTotals, Stop, counted_bytes, is_resident},
    tables::storage_error,
};
use muster_storage::{
    Counters, LockMode, LockingScan, LockingScanRequest, Pages, ReadView, RowVisit, StorageError, Table, Transaction,
    VisitCounts, VisitEnd, key::ByteRange,
};
use muster_types::{KeyRange, SqlError, Value, ValueRef};
use std::{cell::Cell, ops::ControlFlow, sync::Arc};

/// How rows are read.
pub enum RowReads<'a> {
    /// Those that a view sees.
    View {
        view: Arc<ReadView>,
        pages: Pages<'a>,
        stop: Option<&'a Stop>,
    },
    Locking(LockingReads<'a>),
}

/// What locking reads need of their statement.
pub trait LockingStatement {
    /// True if it waits for nothing.
    fn is_in_place(&self) -> bool;
    fn counters(&self) -> &Counters;
    /// Error 1317 after KILL, and 3024 beyond `max_execution_time`.
    fn check_interrupt(&self) -> Result<(), SqlError>;
    /// Does something with the transaction. `waits`: for locks of others, as long as the statement may.
    fn lock(&self, waits: bool, lock: &mut dyn FnMut(&mut Transaction));
}

/// Locking reads of a statement.
pub struct LockingReads<'a> {
    pub statement: &'a dyn LockingStatement,
    pub mode: LockMode,
    pub skip_locked: bool,
    /// False for NOWAIT.
    pub waits: bool,
    /// Without gap locks: the view that everything which is met is compared with.
    pub view: Option<Arc<ReadView>>,
    /// True if something was met that the view does not see: a round with a newer one is to come.
    pub met_unseen: Cell<bool>,
}

/// What a run may still read, and what it has read.
pub(super) struct Budget {
    /// Entries of indexes.
    pub entries: usize,
    pub bytes: usize,
    pub read: ReadTotals,
}

impl Budget {
    fn spend(&mut self, entries: usize) -> Result<(), Left> {
        self.entries = self.entries.checked_sub(entries).ok_or(Left::TooMany)?;
        Ok(())
    }

    /// Counts a value that is kept beside the memory of queries.
    pub fn keep(&mut self, value: &ValueRef<'_>) -> Result<(), Left> {
        self.bytes += counted_bytes(value);
        if self.bytes > RESULT_BYTES_MAX { Err(Left::TooMany) } else { Ok(()) }
    }
}

/// Rows of a level, and whether there may be more than the portion that was asked for.
#[derive(Default)]
pub(super) struct Portion {
    pub rows: Vec<Vec<Value>>,
    pub more: bool,
}

/// What takes the rows that a view sees.
struct Taken<'a, 'g> {
    all: &'a mut Portion,
    groups: Option<&'a mut Groups<'g>>,
}

impl Taken<'_, '_> {
    fn take(&mut self, row: &mut Vec<Value>) -> Result<(), Left> {
        match &mut self.groups {
            Some(groups) => groups.add(row),
            None => {
                self.all.rows.push(std::mem::take(row));
                Ok(())
            }
        }
    }
}

/// A reading of the rows of a level behind a row of those before it.
pub(super) struct LevelReading<'a> {
    pub level: &'a Level,
    pub table: &'a Arc<Table>,
    pub scope: RowScope<'a>,
    pub before: &'a [Value],
    pub part: PartOfRange,
}

/// Which rows of a range are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartOfRange {
    /// Most entries of the index.
    pub entries: usize,
    /// Most rows that meet the conditions.
    pub wanted: usize,
    /// The rows come from the end of the range.
    pub reverse: bool,
}

impl PartOfRange {
    pub const ALL: PartOfRange = PartOfRange { entries: usize::MAX, wanted: usize::MAX, reverse: false };
}

impl LevelReading<'_> {
    /// The rows of some ranges of keys, each behind the row before.
    pub fn read(&self, ranges: Vec<KeyRange>, reads: &RowReads<'_>, budget: &mut Budget) -> Result<Portion, Left> {
        self.read_into(None, ranges, reads, budget)
    }

    /// Does what [`LevelReading::read`] does. With `groups` the rows that a view sees are added to these, and are not
    /// in the portion.
    pub fn read_into(
        &self,
        mut groups: Option<&mut Groups<'_>>,
        ranges: Vec<KeyRange>,
        reads: &RowReads<'_>,
        budget: &mut Budget,
    ) -> Result<Portion, Left> {
        let codec = &self.table.tree(self.level.access.index).layout().key;
        let found = codec.sorted_ranges(ranges).map_err(|_| Left::General)?;
        match reads {
            RowReads::View { view, pages, stop } => {
                let mut all = Portion::default();
                for (range, _) in &found {
                    if stop.is_some_and(Stop::is_due) {
                        return Err(Left::General);
                    }
                    let taken = Taken { all: &mut all, groups: groups.as_deref_mut() };
                    self.visit(range, view, pages, taken, budget)?;
                }
                Ok(all)
            }
            RowReads::Locking(_) if groups.is_some() => Err(Left::General),
            RowReads::Locking(locking) => self.lock(found, locking, budget),
        }
    }

    fn visit(
        &self,
        range: &ByteRange,
        view: &Arc<ReadView>,
        pages: &Pages<'_>,
        mut taken: Taken<'_, '_>,
        budget: &mut Budget,
    ) -> Result<(), Left> {
        let level = self.level;
        let PartOfRange { entries: portion, wanted, reverse } = self.part;
        let entries_max = portion.min(budget.entries);
        let request = RowVisit {
            index: level.access.index,
            range,
            whole_rows: level.access.whole_rows,
            view: Arc::clone(view),
            pages,
            reverse,
            entries_max,
        };
        let (mut counts, mut failed, mut delivered) = (VisitCounts::default(), None, 0);
        let mut values = Vec::new();
        let end = self.table.visit_rows(&request, &mut counts, &mut |row| {
            values.clear();
            values.reserve_exact(self.before.len() + level.stored.len());
            values.extend_from_slice(self.before);
            for stored in &level.stored {
                match row.value(*stored) {
                    Ok(Some(value)) if budget.keep(&value).is_ok() => values.push(value.to_value()),
                    Ok(Some(_)) => failed = Some(Left::TooMany),
                    // A value that is not on the page, or a page that is damaged.
                    Ok(None) | Err(_) => failed = Some(Left::General),
                }
                if failed.is_some() {
                    return ControlFlow::Break(());
                }
            }
            match self.scope.meets(&level.conditions, &values) {
                Ok(true) => {
                    delivered += 1;
                    failed = taken.take(&mut values).err();
                }
                Ok(false) => {}
                Err(left) => failed = Some(left),
            }
            let is_enough = level.access.points || taken.all.rows.len() >= wanted || failed.is_some();
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        budget.read.add(&counts, level.access.points || wanted == 1, delivered);
        budget.spend(counts.entries as usize)?;
        match (failed, end) {
            (Some(left), _) => return Err(left),
            (None, Err(_)) => return Err(Left::General),
            (None, Ok(VisitEnd::MustWait)) => return Err(Left::MustWait),
            (None, Ok(_)) => {}
        }
        if counts.too_many {
            if entries_max < portion {
                return Err(Left::TooMany);
            }
            taken.all.more = true;
        }
        Ok(())
    }

    /// Locks the rows of some ranges, those that meet the conditions of the level: at READ COMMITTED no others.
    fn lock(
        &self,
        ranges: Vec<(ByteRange, KeyRange)>,
        locking: &LockingReads<'_>,
        budget: &mut Budget,
    ) -> Result<Portion, Left> {
        if ranges.is_empty() || self.part.wanted == 0 {
            return Ok(Portion::default());
        }
        let (level, statement) = (self.level, locking.statement);
        if statement.is_in_place() {
            for (range, _) in &ranges {
                let entries_max = self.part.wanted.saturating_add(1).min(budget.entries);
                match is_resident(self.table, level.access.index, range, self.part.reverse, entries_max) {
                    Err(Left::TooMany) if self.part.wanted < budget.entries => {}
                    other => other?,
                }
            }
        }
        let gaps = locking.view.is_none();
        let request = LockingScanRequest {
            index: level.access.index,
            ranges: ranges.into_iter().map(|(_, range)| range).collect(),
            reverse: self.part.reverse,
            mode: locking.mode,
            gaps,
            skip_locked: locking.skip_locked,
        };
        let mut scan = LockingScan::new(self.table, request).map_err(|_| Left::General)?;
        if let Some(view) = &locking.view {
            scan.compare_with(Arc::clone(view));
        }
        let mut portion = Err(Left::General);
        statement.lock(locking.waits, &mut |transaction| {
            portion = self.lock_each(transaction, &mut scan, locking, budget);
            locking.met_unseen.set(locking.met_unseen.get() | scan.met_unseen());
        });
        portion
    }

    fn lock_each(
        &self,
        transaction: &mut Transaction,
        scan: &mut LockingScan,
        locking: &LockingReads<'_>,
        budget: &mut Budget,
    ) -> Result<Portion, Left> {
        let (level, statement) = (self.level, locking.statement);
        let mut all = Portion::default();
        loop {
            let row = match scan.next(transaction, statement.counters()) {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(all),
                Err(StorageError::WouldWait) if statement.is_in_place() && locking.waits => return Err(Left::MustWait),
                Err(e) => return Err(Left::Failed(storage_error(&level.def, e))),
            };
            budget.spend(1)?;
            let mut values = Vec::with_capacity(self.before.len() + level.columns.len());
            values.extend_from_slice(self.before);
            for column in &level.columns {
                budget.keep(&ValueRef::from(&row[*column]))?;
                values.push(row[*column].clone());
            }
            match self.scope.meets(&level.conditions, &values)? {
                true => all.rows.push(values),
                false if locking.view.is_some() => scan.unlock_last(transaction),
                false => {}
            }
            if all.rows.len() >= self.part.wanted {
                return Ok(all);
            }
            statement.check_interrupt().map_err(Left::Failed)?;
        }
    }
}
