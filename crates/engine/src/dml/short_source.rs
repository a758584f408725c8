//! The rows that an INSERT .. SELECT on the short path inserts.

use super::search::FoundRows;
use crate::{
    short_path::{CollectedRows, LockingReads, RowReads, RunEnd, ShortPlan, Stop, Way, run_nested},
    statement::{StatementContext, plan_counters},
};
use muster_algebra::ColId;
use muster_storage::{LockMode, Pages, StorageError};
use muster_types::{Result, Value};
use std::cell::Cell;

/// The query of an INSERT on the short path, and the values of the statement's parameters.
pub struct ShortSource<'a> {
    pub plan: &'a ShortPlan,
    pub parameters: &'a [Value],
    /// Set if the general path has to read the rows.
    pub is_general: &'a Cell<bool>,
    /// Set with it if there are too many.
    pub too_many: &'a Cell<bool>,
}

impl ShortSource<'_> {
    /// The rows of the query, whose outputs `columns` are: locked so that others may read them, if what the statement
    /// reads must still be so when its transaction commits, and else as they have been committed by now. An error with
    /// `is_general`: the general path has to read them.
    pub fn find(&self, context: &StatementContext, columns: Vec<ColId>) -> Result<FoundRows> {
        let Way::Nested(plan) = self.plan.way() else { return self.leave() };
        let cannot_lock = context.reads_for_writing_lock() && plan.lock().is_none();
        if cannot_lock || self.plan.too_many.is_known(self.parameters) {
            return self.leave();
        }
        let mut sink = CollectedRows::default();
        let stop = Stop { cancel: context.cancel.clone(), deadline: context.clock.deadline.get().copied() };
        let reads = match context.reads_for_writing_lock() {
            true => RowReads::Locking(LockingReads {
                statement: context,
                mode: LockMode::Shared,
                skip_locked: false,
                waits: true,
                view: None,
                met_unseen: Cell::new(false),
            }),
            false => {
                let pages = match context.in_place {
                    true => Pages::Resident { requests: Cell::new(0) },
                    false => Pages::All(context.process.counters.storage()),
                };
                RowReads::View { view: context.read_view(), pages, stop: Some(&stop) }
            }
        };
        match run_nested(self.plan, plan, self.parameters, &reads, &mut sink) {
            RunEnd::Rows(figures) => {
                plan_counters::count_short(self.plan, &figures, &context.process.counters);
                Ok(FoundRows::of_values(columns, sink.rows))
            }
            RunEnd::Failed(e) => Err(e),
            RunEnd::MustWait if context.in_place => Err(StorageError::WouldWait.into()),
            RunEnd::TooMany => {
                self.too_many.set(true);
                self.leave()
            }
            RunEnd::General | RunEnd::MustWait => self.leave(),
        }
    }

    fn leave(&self) -> Result<FoundRows> {
        self.is_general.set(true);
        Err(StorageError::WouldWait.into())
    }
}
