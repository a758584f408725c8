//! DELETE, from one table or from several.

use super::{
    attempts::{Attempt, until_not_stale},
    binding::{bind, check_privileges},
    convert::Conversion,
    evaluation::Evaluation,
    search::{self, BySearch},
    target::OpenTarget,
    write::{Writer, Written},
};
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext, StatementTables},
};
use muster_algebra::ColId;
use muster_sql::{
    Delete,
    bind::{self, BoundDelete, Search, bind_delete},
};
use muster_types::{Result, Value};
use std::{ops::ControlFlow, sync::Arc};

pub fn delete(context: &Arc<StatementContext>, statement: &Delete, parameters: &[Value]) -> Result<Done> {
    let binding = bind(context, parameters, |env| bind_delete(statement, env), |b| b.targets.iter().collect())?;
    delete_rows(context, &binding.bound, &binding.tables, None)
}

/// Runs a DELETE whose tables are locked. `by`: it is about these rows of its only table.
pub fn delete_rows(
    context: &Arc<StatementContext>,
    bound: &BoundDelete,
    tables: &Arc<StatementTables>,
    by: Option<&BySearch<'_>>,
) -> Result<Done> {
    check_delete(context, bound)?;
    let conversion = Conversion::new(context, bound.ignore);
    let evaluation = Evaluation::new(context, conversion, &bound.surroundings, tables, &[], true)?;
    let opened = OpenTarget::open_all(context, tables, &bound.targets)?;
    if let Some(by) = by {
        return delete_locked(context, &opened[0], &bound.targets[0], by);
    }
    let keys: Vec<Vec<ColId>> = bound.targets.iter().map(|target| target.key()).collect();
    let find = || {
        let rel = match &bound.search {
            Search::Table(table) => evaluation.with_constants(table).rel(&bound.targets[0]),
            Search::Query(rel) => rel.clone(),
        };
        search::find(context, rel, keys.concat(), &bound.surroundings, tables, &bound.targets, conversion)
    };
    let affected = until_not_stale(context, || {
        let found = find()?;
        let seen = found.seen.as_ref();
        let writers: Vec<Writer<'_>> = opened.iter().map(|target| Writer::new(context, target, seen)).collect();
        let mut affected = 0;
        let end = found.each(|values, _| {
            context.check_interrupt()?;
            let mut rest = values;
            for (key, writer) in keys.iter().zip(&writers) {
                let (key, others) = rest.split_at(key.len());
                rest = others;
                // A row that an outer join has not found.
                if key.iter().any(Value::is_null) {
                    continue;
                }
                match writer.delete(key)? {
                    Written::Yes => affected += 1,
                    Written::Refused(error) => conversion.tolerate(error)?,
                    // It has gone with an earlier row of the search.
                    Written::Gone | Written::Duplicate { .. } => {}
                    Written::Stale => return Ok(ControlFlow::Break(())),
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(if end.is_break() { Attempt::Stale } else { Attempt::Done(affected) })
    })?;
    Ok(Done::rows(affected))
}

/// Error 1142 or 1143 for an account that may not delete rows, or read what the statement names.
pub fn check_delete(context: &StatementContext, bound: &BoundDelete) -> Result<()> {
    let named: Vec<_> = bound.targets.iter().collect();
    let mut needed = vec![(Privilege::Delete, "DELETE")];
    // Of several tables each is read as a whole; of one only the columns that are named.
    if bound.of_several {
        needed.insert(0, (Privilege::Select, "SELECT"));
    }
    check_privileges(context, &bound.surroundings, &named, &needed)
}

/// Deletes the rows of a search of the short path.
fn delete_locked(
    context: &StatementContext,
    opened: &OpenTarget,
    target: &bind::ChangeTarget,
    by: &BySearch<'_>,
) -> Result<Done> {
    let found = search::find_locked(context, opened, target, by)?;
    let writer = Writer::new(context, opened, None);
    let mut affected = 0;
    let _ = found.each(|_, row| {
        row.map_or(Ok(()), |row| writer.delete_locked(row))?;
        affected += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Done::rows(affected))
}
