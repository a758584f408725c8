//! A query that does not take the short path is kept with its names and types, known for all values of its parameters,
//! and with the plan that it had last. The general path does not parse and bind it again, and does not plan it again if
//! it comes with the same values soon.

use super::{
    parameter_places::{has_comparisons_only, with_values},
    values::ValueRules,
};
use crate::{tables::TableSet, variables::Variables};
use muster_algebra::{ColId, Columns, Plan, Rel, TableId};
use muster_sql::{Bound, Statement};
use muster_storage::mutex::Mutex;
use muster_types::Value;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// How long a plan serves for the same values. Statistics, and what is in memory, may ask for another one then.
const LONGEST: Duration = Duration::from_secs(1);
/// Bytes that are kept for a byte of the statement's text, about.
const FOOTPRINT_OF_BYTE: usize = 64;

pub struct KeptQuery {
    /// As it was parsed with `?` in the places of its values.
    pub statement: Statement,
    bound: Bound,
    /// The tables that it was bound with. Held weakly, so that it keeps no files of tables that are gone.
    tables: Weak<TableSet>,
    /// Those that it reads, and the views that it reads them through.
    pub used: Vec<TableId>,
    /// Has `FOR UPDATE` or `FOR SHARE`.
    pub locks_rows: bool,
    rules: ValueRules,
    text_bytes: usize,
    last: Mutex<Option<Arc<LastPlan>>>,
}

/// The plan that was made last.
pub struct LastPlan {
    pub values: Vec<Value>,
    pub variables: Variables,
    pub made: Instant,
    pub plan: Plan,
    pub columns: Columns,
    pub outputs: Vec<(ColId, String)>,
}

impl KeptQuery {
    /// `None` for a query in which a parameter may mean something else with other values, that reads tables which are
    /// not stored, or that has a rollup: there `a > 1` is a key if GROUP BY has the same, and two parameters are never
    /// the same.
    pub fn of(
        statement: &Statement,
        text: &str,
        bound: &Bound,
        rules: &ValueRules,
        (tables, used): (&Arc<TableSet>, Vec<TableId>),
    ) -> Option<KeptQuery> {
        let is_kept = has_comparisons_only(&bound.rel, &bound.columns) && !has_rollup_or_virtual_table(&bound.rel);
        is_kept.then(|| KeptQuery {
            statement: statement.clone(),
            bound: bound.clone(),
            tables: Arc::downgrade(tables),
            used,
            locks_rows: matches!(statement, Statement::Query(query) if !query.locking().is_empty()),
            rules: rules.clone(),
            text_bytes: text.len(),
            last: Mutex::default(),
        })
    }

    /// How the statement's values become those that it runs with.
    pub fn rules(&self) -> &ValueRules {
        &self.rules
    }

    /// About how many bytes it has.
    pub fn footprint(&self) -> usize {
        size_of::<KeptQuery>() + self.text_bytes * FOOTPRINT_OF_BYTE
    }

    /// Returns true if these are the tables that it was bound with.
    pub fn is_of(&self, tables: &Arc<TableSet>) -> bool {
        self.tables.as_ptr() == Arc::as_ptr(tables)
    }

    /// The query with its values.
    pub fn bound(&self, values: &[Value]) -> Bound {
        Bound { rel: with_values(self.bound.rel.clone(), values), ..self.bound.clone() }
    }

    /// The plan that was made for the same values and variables a moment ago.
    pub fn last(&self, values: &[Value], variables: &Variables) -> Option<Arc<LastPlan>> {
        let last = self.last.lock().clone()?;
        let serves = last.values == values && last.variables.is_same(variables) && last.made.elapsed() < LONGEST;
        serves.then_some(last)
    }

    /// Keeps the plan that was made for some values and variables.
    pub fn keep(&self, plan: LastPlan) {
        *self.last.lock() = Some(Arc::new(plan));
    }
}

fn has_rollup_or_virtual_table(rel: &Rel) -> bool {
    let mut found = false;
    rel.visit(&mut |rel| {
        found |= match rel {
            Rel::Get { table, .. } => table.id.is_virtual(),
            Rel::Rollup { .. } => true,
            _ => false,
        };
    });
    found
}
