//! Subqueries that have one value: `(SELECT MAX(id) FROM orders WHERE user_id = u.id)`. Expressions have the value as a
//! column of the row.
//!
//! - What depends on no table is read first, and all rows begin with its value: keys may be made of it.
//! - What depends on a row comes behind the row's other columns, when all tables have been read; if it is only shown,
//!   for the rows that are shown. The subquery's own rows begin with that row.
//!
//! A subquery with several rows is left to the general path, which knows whether that is an error.

use super::{
    NO_SLOT, NestedPlan,
    levels::Slots,
    query::{QueryTable, TableQuery},
};
use crate::short_path::{plan::ShortPlan, run_end::Left, sink::RowSink};
use muster_algebra::{ColId, Expr, Plan, TableId};
use muster_storage::Table;
use muster_types::{Value, ValueRef};
use std::sync::Arc;

/// A subquery that has one value.
#[derive(Debug, Clone)]
pub struct ScalarQuery {
    /// The column that expressions have its value as.
    pub id: ColId,
    pub query: TableQuery,
    /// The columns of the query around it that it depends on.
    pub outer: Vec<ColId>,
}

impl ScalarQuery {
    fn depends_on_rows(&self) -> bool {
        !self.outer.is_empty()
    }

    /// Returns true if the query around it comes by its value where it has a use for it.
    pub fn is_known_in(&self, around: &TableQuery) -> bool {
        let is_of_row = |id: &ColId| around.tables.iter().any(|table| table.exists.is_none() && table.has(*id));
        let mut joins = around.tables.iter().filter_map(|table: &QueryTable| table.on.as_ref()).flatten();
        let is_for_join = joins.any(|condition| condition.columns().contains(&self.id));
        let is_behind_rows = around.grouping.is_none() && around.exists.is_none() && !is_for_join;
        !self.depends_on_rows() || is_behind_rows && self.outer.iter().all(is_of_row)
    }
}

/// What is known before the tables of a query are read: columns of the row that its own rows begin with.
#[derive(Clone)]
pub(super) struct Given {
    pub ids: Vec<ColId>,
    pub slots: Slots,
}

impl Given {
    /// Nothing is known, for a query of so many columns.
    pub fn nothing(columns: usize) -> Given {
        Given { ids: Vec::new(), slots: Slots { slots: vec![NO_SLOT; columns], next: 0 } }
    }
}

/// The scalar subqueries of a plan.
#[derive(Default)]
pub(super) struct Scalars {
    /// Those that depend on no table, in the order of their places at the beginning of a row.
    pub first: Vec<NestedPlan>,
    /// Those that depend on a row, in the order of their places behind it.
    pub of_rows: Vec<NestedPlan>,
    /// The conditions that mention the latter.
    pub conditions: Vec<Expr>,
    /// True if the latter are only shown.
    pub are_late: bool,
}

impl Scalars {
    /// Those that depend on no table, which are given from then on.
    pub fn first(
        query: &TableQuery,
        general: &Plan,
        storage: &impl Fn(TableId) -> Option<Arc<Table>>,
        given: &mut Given,
    ) -> Option<Scalars> {
        let mut scalars = Scalars::default();
        for scalar in query.scalars.iter().filter(|scalar| !scalar.depends_on_rows()) {
            let plan = NestedPlan::behind(scalar.query.clone(), general, None, storage, given.clone())?;
            scalars.first.push(plan);
            given.ids.push(scalar.id);
            given.slots.give(scalar.id)?;
        }
        Some(scalars)
    }

    /// Adds those that depend on a row, for whose columns there are places. `conditions`: those that could not be
    /// decided without them.
    pub fn add_of_rows(
        &mut self,
        query: &TableQuery,
        general: &Plan,
        storage: &impl Fn(TableId) -> Option<Arc<Table>>,
        slots: &mut Slots,
        conditions: Vec<Expr>,
    ) -> Option<()> {
        let mut ids = Vec::new();
        for scalar in query.scalars.iter().filter(|scalar| scalar.depends_on_rows()) {
            let given = Given { ids: scalar.outer.clone(), slots: slots.clone() };
            self.of_rows.push(NestedPlan::behind(scalar.query.clone(), general, None, storage, given)?);
            slots.give(scalar.id)?;
            ids.push(scalar.id);
        }
        if ids.is_empty() && !conditions.is_empty() {
            return None;
        }
        let orders = query.order.iter().flat_map(|key| key.expr.columns()).any(|id| ids.contains(&id));
        self.are_late = conditions.is_empty() && !orders;
        self.conditions = conditions;
        Some(())
    }

    /// Returns true if tables may be looked up when the rows have their order.
    pub fn may_be_late(&self) -> bool {
        self.of_rows.is_empty() || self.are_late
    }

    /// Returns true if these are all that a query has.
    pub fn are_all(&self, query: &TableQuery) -> bool {
        self.first.len() + self.of_rows.len() == query.scalars.len()
    }

    pub fn footprint(&self) -> usize {
        self.first.iter().chain(&self.of_rows).map(|plan| size_of::<NestedPlan>() + plan.footprint()).sum()
    }
}

/// A plan with the files of its tables.
pub(super) struct OpenPlan<'p> {
    pub plan: &'p NestedPlan,
    pub tables: Vec<Arc<Table>>,
    /// As in [`Scalars`].
    pub first: Vec<OpenPlan<'p>>,
    pub of_rows: Vec<OpenPlan<'p>>,
}

impl<'p> OpenPlan<'p> {
    /// `None` if one of the tables is gone.
    pub fn of(plan: &'p NestedPlan) -> Option<OpenPlan<'p>> {
        Some(OpenPlan {
            plan,
            tables: plan.levels.iter().map(|level| level.table.upgrade()).collect::<Option<_>>()?,
            first: plan.scalars.first.iter().map(OpenPlan::of).collect::<Option<_>>()?,
            of_rows: plan.scalars.of_rows.iter().map(OpenPlan::of).collect::<Option<_>>()?,
        })
    }
}

/// Takes the row of a subquery that has one value.
#[derive(Default)]
pub(super) struct OneValue {
    value: Option<Value>,
    rows: usize,
}

impl OneValue {
    /// The value; NULL without a row.
    pub fn value(self) -> Result<Value, Left> {
        if self.rows > 1 { Err(Left::General) } else { Ok(self.value.unwrap_or(Value::Null)) }
    }
}

impl RowSink for OneValue {
    fn begin(&mut self, _plan: &ShortPlan) {
        *self = OneValue::default();
    }

    fn begin_row(&mut self) {}

    fn value(&mut self, value: ValueRef<'_>) {
        self.value = Some(value.to_value());
    }

    fn end_row(&mut self) {
        self.rows += 1;
    }
}
