//! A plan that is made once for all values.

use super::{
    direct::DirectPlan,
    nested::NestedPlan,
    run_end::RunFigures,
    sink::{KEPT_MAX, Kept},
    too_many::TooMany,
    values::ValueRules,
};
use crate::ColumnInfo;
use muster_algebra::{Expr, TableId};
use muster_exec::{QueryCounters, counters::OperatorCounter};
use muster_explain::counters::PlanCounts;
use muster_storage::counters::Counter;

/// Expressions are evaluated on the stack of a connection, so they must not be nested deeply.
pub(super) const DEPTH_MAX: usize = 16;

/// What the general path does for the same statement.
pub struct General {
    pub columns: Vec<ColumnInfo>,
    /// The tables, and the views that they are read through.
    pub used: Vec<TableId>,
    pub counts: PlanCounts,
    pub cost_ms: f64,
    /// True if it fetches rows in the order of their keys.
    pub in_key_order: bool,
    /// What the plan runs with.
    pub rules: ValueRules,
}

/// How the rows are come by.
pub enum Way {
    Direct(DirectPlan),
    Nested(NestedPlan),
}

/// A plan of the short path.
pub struct ShortPlan {
    way: Way,
    general: General,
    /// Runs that have read too many rows.
    pub too_many: TooMany,
    pub kept: Kept,
}

impl ShortPlan {
    pub fn new(way: Way, general: General) -> ShortPlan {
        ShortPlan { way, general, too_many: TooMany::default(), kept: Kept::default() }
    }

    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The tables that the plan reads, and the views that they are read through.
    pub fn used(&self) -> &[TableId] {
        &self.general.used
    }

    /// How the statement's values become those that the plan runs with.
    pub fn rules(&self) -> &ValueRules {
        &self.general.rules
    }

    /// Returns true if the plan locks the rows that it reads.
    pub fn locks_rows(&self) -> bool {
        matches!(&self.way, Way::Nested(plan) if plan.lock().is_some())
    }

    /// About how many bytes the plan has, with all that sinks keep with it. Its expressions are as small as its text.
    pub fn footprint(&self) -> usize {
        let text = |c: &ColumnInfo| {
            [&c.name, &c.database, &c.table, &c.org_table, &c.org_name].map(String::len).iter().sum::<usize>()
        };
        let columns: usize = self.columns().iter().map(|c| size_of::<ColumnInfo>() + text(c)).sum();
        let way = match &self.way {
            Way::Direct(plan) => plan.footprint(),
            Way::Nested(plan) => plan.footprint(),
        };
        size_of::<ShortPlan>() + columns * (1 + KEPT_MAX) + way + size_of_val(self.used())
    }

    /// The status variables that the general path counts up for the statement.
    pub fn counts(&self) -> &PlanCounts {
        &self.general.counts
    }

    pub fn cost_ms(&self) -> f64 {
        self.general.cost_ms
    }

    /// Counts what a run has read and sorted.
    pub fn count(&self, figures: &RunFigures, counters: &QueryCounters) {
        figures.read.add_to(counters.storage());
        if self.general.in_key_order {
            counters.storage().add(Counter::key_order_fetches, 1);
        }
        if figures.sorted > 0 {
            counters.add(OperatorCounter::sorted_rows, figures.sorted);
        }
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.general.columns
    }
}

/// Returns true if the expression may be evaluated row by row: no subqueries, no functions that differ from call to
/// call.
pub(super) fn is_plain(expr: &Expr, depth: usize) -> bool {
    let is_known = match expr {
        Expr::Subquery(_) | Expr::Subplan(_) => false,
        Expr::Call { function, .. } => function.is_deterministic(),
        _ => true,
    };
    is_known && depth > 0 && expr.children().into_iter().all(|child| is_plain(child, depth - 1))
}
