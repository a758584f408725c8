//! Up to four tables, each reached by a key or a short range of an index from those before it; computed columns,
//! groups, locking reads.
//!
//! ```text
//!   bound statement -> TableQuery                                     query.rs
//!   TableQuery + the general plan's order of tables -> levels         levels.rs
//!          or led by the table of an EXISTS                           semi_join.rs
//!          with subqueries that have one value                        scalar.rs
//!   values -> rows of a level for each row of those before            run.rs
//!          -> as a view sees them, or locked in their newest version  reads.rs
//!          -> or only those that hold a MIN or MAX                    ends.rs
//!          -> or the first of each combination of columns             distinct.rs
//!          -> groups                                                  groups.rs
//!          -> sorted, cut off, computed                               output.rs
//! ```
//!
//! Rows come level by level: all rows of the first table, then for each of them those of the second, and so on. If the
//! first table's index has the order that is asked for, its rows come in portions, until there are enough rows of the
//! result. Tables that neither change the order nor the number of rows, or only let rows pass, are looked up when the
//! rows have their order. So are the subqueries that are only shown.

mod distinct;
mod ends;
mod groups;
mod levels;
mod output;
mod query;
mod reads;
mod run;
mod scalar;
mod semi_join;

pub use query::TableQuery;
pub use reads::{LockingReads, LockingStatement, RowReads};
pub use run::run;

use super::{constant::value_of_row, key_access::KeyAccess, run_end::Left};
use ends::Ends;
use muster_algebra::{ColId, Columns, Expr, TableDef};
use muster_sql::Locking;
use muster_storage::Table;
use muster_types::{SqlType, Value};
use scalar::Scalars;
use std::sync::{Arc, Weak};

/// A plan over some tables.
pub struct NestedPlan {
    levels: Vec<Level>,
    query: TableQuery,
    /// For each column of the query its place in a row; [`NO_SLOT`]: it is not read.
    slots: Vec<u16>,
    /// The same for the columns that a grouping delivers.
    group_slots: Vec<u16>,
    /// The rows of the first table come in the order that is asked for.
    is_in_order: bool,
    /// The ends of the first table's range that have all that is wanted of it.
    ends: Option<Ends>,
    /// The columns of which each combination is wanted once, in the order of the first table's index.
    distinct: Option<Vec<ColId>>,
    /// The levels from this number on add to rows that are ordered, as many as are asked for.
    late: usize,
    scalars: Scalars,
    lock: Option<Locking>,
}

const NO_SLOT: u16 = u16::MAX;

/// A table, and how its rows are come by.
struct Level {
    table: Weak<Table>,
    def: Arc<TableDef>,
    access: KeyAccess,
    /// The rows come from the end of the range.
    reverse: bool,
    /// Positions in the table of the columns that are read, which become the next places of a row.
    columns: Vec<usize>,
    /// The same in the tree that rows are read from.
    stored: Vec<usize>,
    /// Conditions that a row of the table meets, besides those that its range of keys implies.
    conditions: Vec<Expr>,
    /// The right side of a LEFT JOIN: without such a row, there is one of NULLs.
    outer: bool,
    /// A row is only looked for, and passes on the row before it if there is one; with true if there is none.
    exists: Option<bool>,
    /// Conditions of the result that an outer table decides.
    afterwards: Vec<Expr>,
}

impl NestedPlan {
    /// What the rows that are read are locked for; `None`: they are not.
    pub fn lock(&self) -> Option<&Locking> {
        self.lock.as_ref()
    }

    /// Returns true if it reads the first rows of an order and no others.
    pub fn stops_early(&self) -> bool {
        self.is_in_order && self.query.limit.is_some() || self.ends.is_some()
    }

    /// Returns true if it reads all rows of a range of one table.
    pub fn is_one_range(&self) -> bool {
        self.levels.len() == 1 && self.ends.is_none() && self.distinct.is_none()
    }

    pub fn footprint(&self) -> usize {
        const COLUMN_BYTES: usize = 100;
        let levels: usize = self.levels.iter().map(|l| size_of::<Level>() + 2 * size_of_val(&*l.columns)).sum();
        levels + self.query.columns.len() * COLUMN_BYTES + self.scalars.footprint()
    }
}

/// A row whose columns have places, and the values of the statement's parameters.
#[derive(Clone, Copy)]
struct RowScope<'a> {
    slots: &'a [u16],
    columns: &'a Columns,
    parameters: &'a [Value],
}

impl RowScope<'_> {
    fn slot(&self, id: ColId) -> Option<usize> {
        let slot = *self.slots.get(id.0 as usize)?;
        (slot != NO_SLOT).then_some(slot.into())
    }

    fn ty(&self, id: ColId) -> SqlType {
        self.columns.ty(id)
    }

    /// The value of an expression for a row.
    fn value(&self, expr: &Expr, row: &[Value]) -> Result<Value, Left> {
        match expr {
            Expr::Column(id) => self.slot(*id).and_then(|slot| row.get(slot)).cloned().ok_or(Left::General),
            Expr::Literal { value, .. } => Ok(value.clone()),
            // A value of the parameter's own type, which is what plans are made for.
            Expr::Parameter { index, .. } => self.parameters.get(*index).cloned().ok_or(Left::General),
            _ => value_of_row(expr, &|id| row.get(self.slot(id)?).cloned(), &|id| Some(self.ty(id)), self.parameters)
                .ok_or(Left::General),
        }
    }

    /// Returns true if all conditions are TRUE for a row.
    fn meets(&self, conditions: &[Expr], row: &[Value]) -> Result<bool, Left> {
        for condition in conditions {
            if muster_eval::compare::truth(&self.value(condition, row)?) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
