//! UPDATE, of one table or of several.

use super::{
    assign::{RowPlace, changed, kept_columns, mentioned_by, passes_view},
    attempts::{Attempt, until_not_stale},
    binding::{bind, check_privileges},
    convert::Conversion,
    evaluation::Evaluation,
    rules::Rules,
    same_table::{self, Images},
    search::{self, BySearch},
    target::OpenTarget,
    write::{Writer, Written},
};
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext, StatementTables},
};
use muster_algebra::ColId;
use muster_exec::FirstRows;
use muster_sql::{
    Update,
    bind::{BoundUpdate, ChangeTarget, Search, bind_update},
};
use muster_storage::LockedRow;
use muster_types::{Result, Value};
use std::{borrow::Cow, ops::ControlFlow, sync::Arc};

/// What an UPDATE has done.
#[derive(Default)]
struct Counts {
    matched: u64,
    changed: u64,
}

pub fn update(context: &Arc<StatementContext>, statement: &Update, parameters: &[Value]) -> Result<Done> {
    let binding = bind(context, parameters, |env| bind_update(statement, env), |b| b.targets.iter().collect())?;
    update_rows(context, &binding.bound, &binding.tables, None)
}

/// Runs an UPDATE whose tables are locked. `by`: it is about these rows of its only table.
pub fn update_rows(
    context: &Arc<StatementContext>,
    bound: &BoundUpdate,
    tables: &Arc<StatementTables>,
    by: Option<&BySearch<'_>>,
) -> Result<Done> {
    check_update(context, bound)?;
    let conversion = Conversion::new(context, bound.ignore);
    same_table::check_keys(bound)?;
    let parameters: &[_] = by.map_or(&[], |by| by.parameters);
    let evaluation = Evaluation::new(context, conversion, &bound.surroundings, tables, parameters, true)?;
    let opened = OpenTarget::open_all(context, tables, &bound.targets)?;
    let kept = kept_columns(bound, by.is_some());
    let find = || match (by, &bound.search) {
        (Some(by), _) => search::find_locked(context, &opened[0], &bound.targets[0], by),
        (None, search) => {
            let rel = match search {
                Search::Table(table) => evaluation.with_constants(table).rel(&bound.targets[0]),
                Search::Query(rel) => rel.clone(),
            };
            search::find(context, rel, wanted(bound, &kept), &bound.surroundings, tables, &bound.targets, conversion)
        }
    };
    let Counts { matched, changed } = until_not_stale(context, || {
        let found = find()?;
        let seen = found.seen.as_ref();
        let writers = opened.iter().map(|target| Writer::new(context, target, seen)).collect();
        let first = match &bound.search {
            Search::Table(_) => Vec::new(),
            Search::Query(_) => bound.targets.iter().map(|t| found.first_rows(&t.key())).collect::<Result<_>>()?,
        };
        let (images, counts) = (Images::new(context.database.runtime(), &bound.targets), Counts::default());
        let mut rows = UpdatedRows {
            bound,
            opened: &opened,
            writers,
            conversion,
            evaluation: &evaluation,
            first,
            met: 0,
            images,
            counts,
        };
        let end = found.each(|values, locked| {
            context.check_interrupt()?;
            let value = |id| found.position(id).map(|at| values[at].clone());
            let mut rest = values;
            for (at, target) in bound.targets.iter().enumerate() {
                let (old, others) = rest.split_at(kept[at].len());
                rest = others.get(usize::from(target.row_number.is_some())..).unwrap_or_default();
                let old = whole_row(target.columns.len(), &kept[at], old);
                if rows.update(at, &old, &value, locked)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            rows.met += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(if end.is_break() { Attempt::Stale } else { Attempt::Done(rows.counts) })
    })?;
    let warnings = context.diagnostics.counts().0;
    let affected_rows = if context.session.counts_found_rows { matched } else { changed };
    let info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
    Ok(Done { affected_rows, last_insert_id: context.process.said_insert_id().unwrap_or(0), info, ..Done::default() })
}

/// Error 1142 or 1143 for an account that may not change, or read, what the statement names.
pub fn check_update(context: &StatementContext, bound: &BoundUpdate) -> Result<()> {
    let named: Vec<_> = bound.targets.iter().collect();
    check_privileges(context, &bound.surroundings, &named, &[(Privilege::Update, "UPDATE")])
}

/// A row with NULL for the columns that were not kept.
fn whole_row<'v>(columns: usize, kept: &[usize], values: &'v [Value]) -> Cow<'v, [Value]> {
    if kept.len() == columns {
        return Cow::Borrowed(values);
    }
    let mut row = vec![Value::Null; columns];
    for (column, value) in kept.iter().zip(values) {
        row[*column].clone_from(value);
    }
    Cow::Owned(row)
}

/// The columns that the search has to deliver: those that are kept of each target, with its hidden row number behind
/// them, and what assignments mention besides.
fn wanted(bound: &BoundUpdate, kept: &[Vec<usize>]) -> Vec<ColId> {
    let of_target = |(target, kept): (&ChangeTarget, &Vec<usize>)| {
        let columns = kept.iter().map(|column| target.columns[*column]);
        columns.chain(target.row_number).collect::<Vec<_>>()
    };
    let mut columns: Vec<ColId> = bound.targets.iter().zip(kept).flat_map(of_target).collect();
    let available = match &bound.search {
        Search::Table(_) => Vec::new(),
        Search::Query(rel) => rel.output(),
    };
    for assignment in &bound.assignments {
        for id in mentioned_by(&assignment.value) {
            if available.contains(&id) && !columns.contains(&id) {
                columns.push(id);
            }
        }
    }
    columns
}

/// Changes rows.
struct UpdatedRows<'a> {
    bound: &'a BoundUpdate,
    opened: &'a [OpenTarget],
    /// One for each of them.
    writers: Vec<Writer<'a>>,
    conversion: Conversion<'a>,
    evaluation: &'a Evaluation<'a>,
    /// Rows of the search that are the first ones with the row of a target, for each target of a statement over several
    /// tables: a row is changed once.
    first: Vec<Option<FirstRows>>,
    /// The number of rows of the search so far.
    met: usize,
    /// Rows that were changed under one of several names of their table.
    images: Images<'a>,
    counts: Counts,
}

impl UpdatedRows<'_> {
    /// Changes the row of one of the targets that a row of the search has: the values of its columns. Breaks off if it
    /// is another one by now. `locked`: that row, if nobody else can have changed it.
    fn update(
        &mut self,
        at: usize,
        old: &[Value],
        value: &dyn Fn(ColId) -> Option<Value>,
        locked: Option<&LockedRow>,
    ) -> Result<ControlFlow<()>> {
        let (target, opened) = (&self.bound.targets[at], &self.opened[at]);
        let key: Vec<Value> = target.key().iter().map(|id| value(*id).unwrap_or(Value::Null)).collect();
        // An outer join has found no row of this table.
        if key.iter().any(Value::is_null) {
            return Ok(ControlFlow::Continue(()));
        }
        if matches!(self.first.get(at), Some(Some(first)) if !first.contains(self.met)) {
            return Ok(ControlFlow::Continue(()));
        }
        self.counts.matched += 1;
        let place = RowPlace { target: opened, columns: &target.columns, position: at, rules: &target.rules };
        let number = self.counts.matched;
        let mut row = changed(place, old, &self.bound.assignments, self.evaluation, &self.conversion, number, value)?;
        self.images.complete(at, &key, &mut row);
        if !row.differs {
            return Ok(match self.writers[at].lock_unchanged(&key)? {
                Written::Stale => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
        }
        let rules = Rules {
            rules: &target.rules,
            columns: &target.columns,
            defs: opened.columns(),
            evaluation: self.evaluation,
            conversion: &self.conversion,
        };
        if !passes_view(target.check.as_ref(), &target.columns, &row.new, self.evaluation, &self.conversion)?
            || !rules.passes(&row.new)?
        {
            return Ok(ControlFlow::Continue(()));
        }
        let written = match locked {
            Some(_) => self.writers[at].update(&key, locked, &row.new)?,
            None => self.writers[at].update_columns(&key, &row.new, &row.assigned)?,
        };
        match written {
            Written::Yes => {
                self.counts.changed += 1;
                self.images.note(at, &key, &row.new)?;
            }
            Written::Gone => {}
            Written::Stale => return Ok(ControlFlow::Break(())),
            Written::Duplicate { error, .. } | Written::Refused(error) => self.conversion.tolerate(error)?,
        }
        Ok(ControlFlow::Continue(()))
    }
}
