//! A query that does not take the short path is kept with its names and types, known for all values of its parameters,
//! and with the plan that it had last. The general path does not parse and bind it again, and does not plan it again if
//! it comes soon with the same values, or with others that the plan serves ([`PlanTemplate`]).

use super::{
    parameter_places::{has_comparisons_only, planned_for, with_values},
    values::ValueRules,
};
use crate::{tables::TableSet, variables::Variables};
use muster_algebra::{ColId, Columns, Expr, Plan, Rel, ScalarFunction, TableId};
use muster_optimizer::PlanTemplate;
use muster_sql::{Bound, Statement};
use muster_storage::mutex::Mutex;
use muster_types::Value;
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// How long a plan serves. Statistics, and what is in memory, may ask for another one then.
const LONGEST: Duration = Duration::from_secs(1);
/// Bytes that are kept for a byte of the statement's text, about.
const FOOTPRINT_OF_BYTE: usize = 64;
/// A query that takes fewer milliseconds by estimate may run on the thread of its connection.
const LIGHT_MS: f64 = 1.0;
/// After so many values more that no template was made for or that it did not serve, than that it served, there are no
/// templates.
const MISSES_MAX: u32 = 8;

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
    /// It may wait, or take long whatever it is estimated to take: it locks rows, it has a function such as SLEEP or
    /// BENCHMARK, or it is recursive.
    may_take_long: bool,
    rules: ValueRules,
    text_bytes: usize,
    last: Mutex<Option<Arc<LastPlan>>>,
    /// How often there was no template or it did not serve other values, less how often it did.
    misses: AtomicU32,
}

/// The plan that was made last.
pub struct LastPlan {
    pub values: Vec<Value>,
    pub variables: Variables,
    pub made: Instant,
    pub plan: Arc<Plan>,
    pub columns: Arc<Columns>,
    pub outputs: Vec<(ColId, String)>,
    /// For other values; `None` if the plan was made for its values only.
    pub template: Option<PlanTemplate>,
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
        let locks_rows = matches!(statement, Statement::Query(query) if !query.locking().is_empty());
        is_kept.then(|| KeptQuery {
            statement: statement.clone(),
            bound: bound.clone(),
            tables: Arc::downgrade(tables),
            used,
            locks_rows,
            may_take_long: locks_rows || may_take_long(&bound.rel),
            rules: rules.clone(),
            text_bytes: text.len(),
            last: Mutex::default(),
            misses: AtomicU32::new(if rules.has_moments() { MISSES_MAX } else { 0 }),
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

    /// The query with parameters that are planned for certain values.
    pub fn planned_for(&self, values: &[Value]) -> Bound {
        Bound { rel: planned_for(self.bound.rel.clone(), values), ..self.bound.clone() }
    }

    /// Returns true if the query is expected to be over soon with these values and to wait for nothing but pages.
    pub fn is_light(&self, values: &[Value]) -> bool {
        let serves = |last: &LastPlan| last.values == values || last.template.is_some();
        let is_cheap = |last: &LastPlan| last.plan.estimate.cost.worst_ms < LIGHT_MS && serves(last);
        !self.may_take_long && self.last.lock().as_deref().is_some_and(is_cheap)
    }

    /// The plan that was made under the same variables a moment ago.
    pub fn last(&self, variables: &Variables) -> Option<Arc<LastPlan>> {
        let last = self.last.lock().clone()?;
        let serves = last.variables.is_same(variables) && last.made.elapsed() < LONGEST;
        serves.then_some(last)
    }

    /// Returns true if a plan may be made that serves other values, too. A value of the moment, such as `NOW()`, is
    /// folded into others.
    pub fn may_have_template(&self) -> bool {
        self.misses.load(Relaxed) < MISSES_MAX
    }

    /// Notes that a template has served other values, or that it has not or could not be made.
    pub fn note_template(&self, has_served: bool) {
        let misses = self.misses.load(Relaxed);
        let misses = if has_served { misses.saturating_sub(1) } else { misses.saturating_add(1) };
        self.misses.store(misses, Relaxed);
    }

    /// Keeps the plan that was made for some values and variables.
    pub fn keep(&self, plan: LastPlan) {
        *self.last.lock() = Some(Arc::new(plan));
    }
}

/// Returns true if a relation has a function that waits or repeats something, or is recursive.
fn may_take_long(rel: &Rel) -> bool {
    let mut found = false;
    rel.visit(&mut |rel| {
        found |= matches!(rel, Rel::Recursive { .. });
        for expr in rel.exprs() {
            expr.visit(&mut |e| {
                found |= matches!(
                    e,
                    Expr::Call {
                        function: ScalarFunction::Session(_) | ScalarFunction::Benchmark | ScalarFunction::Sleep,
                        ..
                    }
                );
            });
        }
    });
    found
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
