//! What the optimizer considered while it planned a statement, as typed events in the order in which they came. Others
//! print them: the optimizer trace (MySQL manual 10.15), the possible keys of EXPLAIN.
//!
//! A trace that is off takes one test for each event, and makes nothing.

use muster_algebra::{ColId, Columns, Cost, Expr, JoinKind, Plan, Rel, TableDef};
use muster_types::{KeyRange, Value};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

/// A table as the statement names it.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedTable {
    pub table: Arc<TableDef>,
    pub alias: String,
    /// Its first column in the statement.
    pub column: Option<ColId>,
}

/// A way to read one table through one index.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedPath {
    /// Position in [`TableDef::indexes`].
    pub index: usize,
    /// The ranges that conditions leave; `None` if the index is read whole.
    pub ranges: Option<Vec<KeyRange>>,
    /// Number of ranges, of which only the first ones are kept.
    pub range_count: usize,
    /// True if the path skips from value to value.
    pub skips: bool,
    pub covering: bool,
    /// `None` if the path does not deliver the wanted order; `Some(true)` if it is read backwards for it.
    pub ordered: Option<bool>,
    pub rows: f64,
    /// The cost of reading all of it, without what an order saves or costs.
    pub cost: Cost,
    pub chosen: bool,
}

impl TracedPath {
    /// Returns true if MySQL would count the index among those that may be used: conditions restrict its ranges by more
    /// than that values are not NULL.
    pub fn is_restricted(&self, conjuncts: &[Expr]) -> bool {
        let Some(ranges) = &self.ranges else { return false };
        if self.skips {
            return false;
        }
        let is_null_test = |conjunct: &Expr| matches!(conjunct, Expr::IsNull { .. });
        !ranges.iter().all(is_not_null) || conjuncts.iter().any(is_null_test)
    }
}

/// Returns true for the range of all keys that do not begin with NULL.
pub fn is_not_null(range: &KeyRange) -> bool {
    let is_all = matches!(&range.lower, Bound::Excluded(values) if *values == [Value::Null]);
    range.upper == Bound::Unbounded && is_all
}

/// Why an index has no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPath {
    /// A hint or a switch forbids it.
    Forbidden,
    /// No condition restricts it, it lacks columns, and its order is not wanted.
    NotApplicable,
}

/// How a part of a join is added to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinWay {
    /// The first table.
    First,
    /// Both inputs are read completely.
    Inputs,
    /// Rows are looked up for each row of the left input.
    Lookup,
    /// Both inputs come in the order of the keys.
    Merge,
}

/// One thing that the optimizer did.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Planning began anew: the statement is planned in several ways.
    Began { relation: Box<Rel> },
    /// A rewrite changed the relation.
    Rewrote { pass: &'static str },
    /// All rewrites have run.
    Rewritten { relation: Box<Rel> },
    /// The ways to read a table by itself.
    Paths {
        table: TracedTable,
        /// Rows of the table, and those that its conditions leave.
        rows: f64,
        filtered_rows: f64,
        conjuncts: Vec<Expr>,
        paths: Vec<TracedPath>,
        without: Vec<(usize, NoPath)>,
    },
    /// An index through which a join may look rows up: its leading parts, and what each is equal to.
    Keys { table: TracedTable, index: usize, parts: Vec<(usize, Expr)> },
    /// Two parts of a join region, joined in one way. `kept`: it is the cheapest so far for these tables.
    Joined {
        left: Vec<String>,
        right: Vec<String>,
        way: JoinWay,
        kind: Option<JoinKind>,
        rows: f64,
        cost_ms: f64,
        kept: bool,
        /// A column of the region.
        column: Option<ColId>,
    },
    /// Another way to read a table than its paths: by merged indexes, by late fetch.
    Alternative { table: TracedTable, name: &'static str, cost: Cost, chosen: bool },
    /// A plan of the whole statement.
    Planned { plan: Box<Plan>, columns: Box<Columns> },
}

/// Most ranges of a path that are kept.
const RANGES_KEPT: usize = 16;

/// Where events go; nowhere by default.
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Mutex<Vec<Event>>>>);

impl Trace {
    /// A trace that keeps events.
    pub fn on() -> Trace {
        Trace(Some(Arc::default()))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps an event, which is made only if the trace is on.
    pub fn note(&self, event: impl FnOnce() -> Event) {
        if let Some(events) = &self.0 {
            let event = event();
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    }

    /// Takes the events so far.
    pub fn take(&self) -> Vec<Event> {
        let events = self.0.as_ref().map(|events| events.lock().unwrap_or_else(PoisonError::into_inner));
        events.map(|mut events| std::mem::take(&mut *events)).unwrap_or_default()
    }
}

/// What a relation is called in a join: its table, or the tables in it.
pub(crate) fn unit_name(rel: &Rel) -> String {
    fn tables(rel: &Rel, names: &mut Vec<String>) {
        if let Rel::Get { alias, .. } = rel {
            names.push(alias.clone());
        }
        rel.inputs().into_iter().for_each(|input| tables(input, names));
    }
    let mut names = Vec::new();
    tables(rel, &mut names);
    match names.as_slice() {
        [one] => one.clone(),
        many => format!("({})", many.join(",")),
    }
}

/// The ranges of a path that a trace keeps.
pub(crate) fn kept_ranges(ranges: &[KeyRange]) -> Vec<KeyRange> {
    ranges.iter().take(RANGES_KEPT).cloned().collect()
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Trace" } else { "no Trace" })
    }
}

/// Two traces are equal if they keep events in one place, or both nowhere.
impl PartialEq for Trace {
    fn eq(&self, other: &Trace) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_is_off_makes_no_event() {
        let off = Trace::default();
        off.note(|| panic!("made"));
        assert!(off.take().is_empty() && !off.is_on());
        let on = Trace::on();
        on.clone().note(|| Event::Rewrote { pass: "x" });
        assert_eq!(on.take(), [Event::Rewrote { pass: "x" }]);
        assert!(on.take().is_empty() && on != off && on == on.clone() && on != Trace::on());
    }
}
