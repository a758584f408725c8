//! UPDATE, of one table or of several.

use super::{
    assign::{changed, passes_view, row_columns},
    binding::{bind, check_privileges},
    convert::Conversion,
    evaluation::Evaluation,
    search,
    target::Target,
    write::{Writer, Written},
};
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext},
};
use muster_algebra::ColId;
use muster_sql::{
    Update,
    bind::{BoundUpdate, NewValue, Search, bind_update},
};
use muster_types::{Result, Value};
use std::{collections::HashSet, sync::Arc};

/// What an UPDATE has done.
#[derive(Default)]
struct Counts {
    matched: u64,
    changed: u64,
}

pub fn update(context: &Arc<StatementContext>, statement: &Update, parameters: &[Value]) -> Result<Done> {
    let binding = bind(context, parameters, |env| bind_update(statement, env), |b| b.targets.iter().collect())?;
    let bound = &binding.bound;
    let named: Vec<_> = bound.targets.iter().collect();
    let mut needed = vec![(Privilege::Update, "UPDATE")];
    if reads(bound) {
        needed.push((Privilege::Select, "SELECT"));
    }
    check_privileges(context, &bound.surroundings, &named, &needed)?;
    let conversion = Conversion::new(context, bound.ignore);
    let evaluation = Evaluation::new(context, conversion, &bound.surroundings, &binding.tables)?;
    let opened = bound.targets.iter().map(|target| binding.open(context, target)).collect::<Result<Vec<_>>>()?;
    let rel = match &bound.search {
        Search::Table(table) => evaluation.with_constants(table).rel(&bound.targets[0]),
        Search::Query(rel) => rel.clone(),
    };
    let found = search::find(context, rel, wanted(bound), &bound.surroundings, &binding.tables)?;
    let mut rows =
        Rows { bound, opened: &opened, conversion, evaluation, seen: HashSet::new(), counts: Counts::default() };
    found.each(|values| {
        context.check_interrupt()?;
        let value = |id| found.position(id).map(|at| values[at].clone());
        (0..opened.len()).try_for_each(|at| rows.update(at, &value))
    })?;
    let Counts { matched, changed } = rows.counts;
    let warnings = context.diagnostics.all().len();
    let affected_rows = if context.session.counts_found_rows { matched } else { changed };
    let info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
    Ok(Done { affected_rows, info, ..Done::default() })
}

/// Returns true if the statement looks at values of its tables.
fn reads(bound: &BoundUpdate) -> bool {
    let computes = bound.assignments.iter().any(|a| matches!(a.value, NewValue::Expr(_)));
    let searches = match &bound.search {
        Search::Table(table) => !table.conditions.is_empty() || !table.order.is_empty(),
        Search::Query(_) => true,
    };
    computes || searches
}

/// The columns that the search has to deliver: the targets' rows, and what assignments mention besides.
fn wanted(bound: &BoundUpdate) -> Vec<ColId> {
    let mut columns: Vec<ColId> = bound.targets.iter().flat_map(row_columns).collect();
    let available = match &bound.search {
        Search::Table(_) => Vec::new(),
        Search::Query(rel) => rel.output(),
    };
    for assignment in &bound.assignments {
        let NewValue::Expr(expr) = &assignment.value else { continue };
        for id in expr.columns() {
            if available.contains(&id) && !columns.contains(&id) {
                columns.push(id);
            }
        }
    }
    columns
}

/// Changes rows.
struct Rows<'a> {
    bound: &'a BoundUpdate,
    opened: &'a [Target],
    conversion: Conversion<'a>,
    evaluation: Evaluation<'a>,
    /// Keys of rows that were met, of statements over several tables: a row is changed once.
    seen: HashSet<(usize, String)>,
    counts: Counts,
}

impl Rows<'_> {
    /// Changes the row of one of the targets that a row of the search has.
    fn update(&mut self, at: usize, value: &dyn Fn(ColId) -> Option<Value>) -> Result<()> {
        let (target, opened) = (&self.bound.targets[at], &self.opened[at]);
        let key: Vec<Value> = target.key().iter().map(|id| value(*id).unwrap_or(Value::Null)).collect();
        // An outer join has found no row of this table.
        if key.iter().any(Value::is_null) {
            return Ok(());
        }
        if matches!(self.bound.search, Search::Query(_)) && !self.seen.insert((at, format!("{key:?}"))) {
            return Ok(());
        }
        let old: Vec<Value> = target.columns.iter().map(|id| value(*id).unwrap_or(Value::Null)).collect();
        self.counts.matched += 1;
        let place = (opened, target.columns.as_slice(), at);
        let number = self.counts.matched;
        let row = changed(place, &old, &self.bound.assignments, &self.evaluation, &self.conversion, number, value)?;
        if !row.differs
            || !passes_view(target.check.as_ref(), &target.columns, &row.new, &self.evaluation, &self.conversion)?
        {
            return Ok(());
        }
        match Writer::new(self.conversion.context, opened).update(&key, &row.new)? {
            Written::Yes => self.counts.changed += 1,
            Written::Gone => {}
            Written::Duplicate { error, .. } => self.conversion.tolerate(error)?,
        }
        Ok(())
    }
}
