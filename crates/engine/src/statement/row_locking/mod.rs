//! Locks of the rows that a statement reads: `FOR UPDATE`, `FOR SHARE`, reads at SERIALIZABLE, and statements that
//! change rows.
//!
//! Rows are locked first, by locking scans of the indexes that the plan reads. Then the plan runs, with a view that
//! sees every locked row as it was locked. The promise is the same at all levels: each row that the statement returns
//! is locked and is the newest committed version, and no row is missing that every committed state of that time has.
//!
//! Which [`Strategy`] locks the rows follows from the isolation level and from the shape of the plan:
//!
//! | what the plan does                           | REPEATABLE READ, SERIALIZABLE | READ COMMITTED, READ UNCOMMITTED |
//! |----------------------------------------------|-------------------------------|----------------------------------|
//! | scans under SKIP LOCKED, or with a LIMIT     | `RowByRow`, with gaps         | `RowByRow`, in rounds            |
//! | other scans, index merges, lookup joins      | `Ranges`                      | `Rounds`                         |
//! | finds the rows that an UPDATE or DELETE      | `Ranges`                      | none: each row is locked when it |
//! | changes, and what such a statement reads     |                               | is changed; if it is another one |
//! |                                              |                               | by then, the statement runs anew |
//!
//! - **Ranges** ([`ranges`]): the ranges of the plan are locked with their gaps, so that nothing can come into them.
//!   The keys that joins look up are known only when the rows before are read ([`lookups`]).
//! - **Rounds** ([`rounds`]): without gap locks a row can move to a place that the scan has passed. Each round takes a
//!   view first and compares every entry that it meets with that view. If the view sees all of them, the statement
//!   reads with the view. Otherwise something was changed meanwhile, and the next round takes a newer view.
//! - **RowByRow** ([`row_by_row`]): the plan reads exactly the rows that were locked, and no others.
//!
//! ```text
//!   strategy.rs    the choice, and what it asks of a plan
//!   ranges.rs      ranges with gaps
//!   lookups.rs     the keys that joins look up
//!   rounds.rs      rounds that end when the view of a round sees everything that the round has met
//!   row_by_row.rs  scans that read only the rows that were locked
//!   matching.rs    whether a locked row meets the conditions of its scan
//! ```

mod lookups;
mod matching;
mod ranges;
mod rounds;
mod row_by_row;
mod strategy;

pub use row_by_row::SWITCHES_OFF;
pub use strategy::reads_prefixes;

use super::{StatementContext, query::Planned};
use muster_algebra::{Expr, Plan, PlanOp, Scan};
use muster_sql::{Blocked, Isolation, Locking};
use muster_storage::{LockMode, Waits};
use muster_types::{ErrorCode, Result, SqlError};
use strategy::Strategy;

/// The locks that a statement takes of the rows and gaps that it reads.
pub struct RowLocks<'a> {
    pub mode: LockMode,
    pub waits: Waits,
    /// Returns true for tables of which rows are locked.
    pub of: &'a dyn Fn(&Scan) -> bool,
    /// True if rows that others have locked are left out (SKIP LOCKED).
    pub skip_locked: bool,
    /// True if all rows of tables that are read as a whole are locked, however many they are. If false, a statement
    /// that changes a table with so many rows that their locks take much memory locks the rows that it changes, one by
    /// one.
    pub whole_tables: bool,
    /// True if the rows are locked that subqueries read which run by themselves. A locking clause does not reach into
    /// them.
    pub subplans: bool,
}

impl RowLocks<'_> {
    /// Returns true if rows are locked that the scan reads.
    fn is_of(&self, scan: &Scan) -> bool {
        !scan.table.id.is_virtual() && (self.of)(scan)
    }
}

impl StatementContext {
    /// Returns false if so many rows of a table are not locked before they are changed.
    fn has_room_for(&self, locks: &RowLocks<'_>, rows: u64) -> bool {
        locks.whole_tables || self.database.store().locks().has_room_for(rows)
    }

    /// Locks what the locking clauses of a SELECT say. The plan may read fewer rows afterwards: only those that were
    /// locked. Errors: 1205, 1206, 1213, 1235, 1317, 3572, and 3568 for a table that the query does not read.
    pub fn lock_what_is_read(&self, planned: &mut Planned, clauses: &[Locking]) -> Result<()> {
        let meant = |table: &Option<String>, scan: &Scan| {
            table.as_ref().is_none_or(|table| scan.alias.eq_ignore_ascii_case(table))
        };
        check_names(&planned.plan, clauses, &meant)?;
        let of: Vec<_> = clauses.iter().map(|clause| move |scan: &Scan| meant(&clause.table, scan)).collect();
        let locks = clauses.iter().zip(&of).map(|(clause, of)| RowLocks {
            mode: if clause.exclusive { LockMode::Exclusive } else { LockMode::Shared },
            waits: if matches!(clause.blocked, Blocked::Waits) { self.lock_waits() } else { Waits::Never },
            of,
            skip_locked: matches!(clause.blocked, Blocked::Skips),
            whole_tables: true,
            subplans: self.reads_lock() || clause.inner,
        });
        let locks: Vec<RowLocks<'_>> = locks.collect();
        match Strategy::choose(&planned.plan, &locks, self.locks_gaps())? {
            Strategy::Ranges => self.lock_rows(planned, &locks),
            Strategy::Rounds => self.lock_in_rounds(planned, &locks),
            Strategy::RowByRow => self.lock_row_by_row(planned, &locks),
        }
    }

    /// Returns true if a SELECT without a locking clause locks what it reads: at SERIALIZABLE, unless it is a
    /// transaction of its own.
    pub fn reads_lock(&self) -> bool {
        self.transaction.characteristics().is_some_and(|of| of.isolation == Isolation::Serializable)
    }

    /// Returns true if a statement that changes rows locks what it reads of other tables. What they say must still be
    /// so when the transaction commits; a statement that is a transaction of its own has read one state of them, which
    /// will do.
    pub fn reads_for_writing_lock(&self) -> bool {
        self.locks_gaps() && self.transaction.is_open()
    }

    /// Returns true if nobody may add rows to what the statement reads and locks: at REPEATABLE READ and SERIALIZABLE.
    pub fn locks_gaps(&self) -> bool {
        let isolation = match self.transaction.characteristics() {
            Some(of) => of.isolation,
            None => self.session.variables.settings().isolation,
        };
        !matches!(isolation, Isolation::ReadCommitted | Isolation::ReadUncommitted)
    }
}

/// Error 3568 for a table of a locking clause that the query does not read.
fn check_names(plan: &Plan, clauses: &[Locking], meant: &dyn Fn(&Option<String>, &Scan) -> bool) -> Result<()> {
    let mut scans = Vec::new();
    add_scans(plan, &mut scans);
    // Subqueries that run by themselves would read what they should leave out.
    let skips = |clause: &&Locking| clause.inner && clause.blocked == Blocked::Skips;
    if clauses.iter().filter(skips).any(|clause| !scans.iter().any(|(scan, _)| meant(&clause.table, scan))) {
        return Err(SqlError::unsupported("SKIP LOCKED in a subquery that runs by itself"));
    }
    for Locking { table, .. } in clauses.iter().filter(|clause| !clause.inner) {
        if let Some(name) = table.as_ref().filter(|_| !scans.iter().any(|(scan, _)| meant(table, scan))) {
            let message = format!("Unresolved table name `{name}` in locking clause.");
            return Err(SqlError::new(ErrorCode::UnresolvedTableLock, message));
        }
    }
    Ok(())
}

/// Adds the tables that a plan reads, with true for those that a join looks up.
fn add_scans<'p>(plan: &'p Plan, scans: &mut Vec<(&'p Scan, bool)>) {
    match &plan.op {
        PlanOp::Scan(scan) => scans.push((scan, false)),
        PlanOp::LookupJoin { lookup, .. } => scans.push((lookup, true)),
        _ => {}
    }
    plan.inputs().into_iter().for_each(|input| add_scans(input, scans));
}

/// The tables that the subqueries of a plan read which run by themselves, those of their subqueries included, with true
/// for those that a join looks up.
fn scans_of_subplans(plan: &Plan) -> Vec<(&Scan, bool)> {
    let mut scans = Vec::new();
    add_scans_of_subplans(plan, &mut scans);
    scans
}

fn add_scans_of_subplans<'p>(plan: &'p Plan, scans: &mut Vec<(&'p Scan, bool)>) {
    for expr in plan.exprs() {
        expr.visit(&mut |expr| {
            if let Expr::Subplan(subplan) = expr {
                add_scans(&subplan.plan, scans);
                add_scans_of_subplans(&subplan.plan, scans);
            }
        });
    }
    plan.inputs().into_iter().for_each(|input| add_scans_of_subplans(input, scans));
}
