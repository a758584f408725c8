//! INSERT and REPLACE: rows of VALUES and SET, and of queries.

use super::{
    binding::{bind, check_privileges},
    convert::Conversion,
    duplicate::OnDuplicate,
    evaluation::Evaluation,
    row_insert::RowInsert,
    search,
    short_source::ShortSource,
    target::OpenTarget,
};
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext, StatementTables},
};
use muster_algebra::ColId;
use muster_sql::{
    Insert,
    bind::{BoundInsert, NewRows, NewValue, RowSource, bind_insert},
};
use muster_storage::LockMode;
use muster_types::{Result, Value};
use std::{ops::ControlFlow, sync::Arc};

pub fn insert(context: &Arc<StatementContext>, statement: &Insert, parameters: &[Value]) -> Result<Done> {
    let binding = bind(context, parameters, |env| bind_insert(statement, env), |b| vec![&b.target])?;
    insert_bound(context, &binding.bound, &binding.tables, &[], None)
}

/// Runs an INSERT or REPLACE whose tables are locked. `parameters`: their values, if it was bound without them;
/// `source`: what its query's rows come from on the short path.
pub fn insert_bound(
    context: &Arc<StatementContext>,
    bound: &BoundInsert,
    tables: &Arc<StatementTables>,
    parameters: &[Value],
    source: Option<&ShortSource<'_>>,
) -> Result<Done> {
    check_insert(context, bound)?;
    let target = OpenTarget::open(context, tables.set(), &bound.target.table)?;
    // The query of INSERT ... SELECT reads what has been committed by now, not what the transaction saw first.
    let seen = context.read_newest();
    let rows = match &bound.source {
        RowSource::Rows(rows) => rows.rows,
        RowSource::Query(_) => 0,
    };
    let mut conversion = Conversion::new(context, bound.ignore).of_table(&bound.target.table.name);
    conversion.null_is_error = rows == 1;
    let evaluation = Evaluation::new(context, conversion, &bound.surroundings, tables, parameters, false)?;
    let on_duplicate = match &bound.on_duplicate {
        Some(update) => OnDuplicate::Update(update),
        None if bound.replace => OnDuplicate::Replace,
        None if bound.ignore => OnDuplicate::Ignore,
        None => OnDuplicate::Error,
    };
    let mode = match on_duplicate {
        OnDuplicate::Replace | OnDuplicate::Update(_) => LockMode::Exclusive,
        OnDuplicate::Error | OnDuplicate::Ignore => LockMode::Shared,
    };
    context.transaction.change(context.database.store(), |transaction| transaction.set_duplicate_mode(mode));
    let mut insert =
        RowInsert::new((&target, &bound.target), conversion, &evaluation, on_duplicate, (rows as u64, &seen));
    let inserted = match &bound.source {
        RowSource::Rows(rows) => insert_rows(&mut insert, bound, rows),
        RowSource::Query(_) => {
            insert = insert.of_query();
            insert_query(&mut insert, context, bound, tables, source)
        }
    };
    insert.after(inserted)?;
    Ok(insert.done(rows != 1))
}

/// Error 1142 or 1143 for an account that may not insert rows, or read what the statement names.
pub fn check_insert(context: &StatementContext, bound: &BoundInsert) -> Result<()> {
    check_privileges(context, &bound.surroundings, &[&bound.target], &needed(bound))
}

/// The privileges on the table that rows come into.
fn needed(bound: &BoundInsert) -> Vec<(Privilege, &'static str)> {
    let mut needed = vec![(Privilege::Insert, "INSERT")];
    if bound.replace {
        needed.push((Privilege::Delete, "DELETE"));
    }
    if bound.on_duplicate.is_some() {
        needed.push((Privilege::Update, "UPDATE"));
    }
    needed
}

/// The values of the columns that are given none. To be called behind those that are given: what is wrong with these is
/// told before. A default that is missing is told of for the first row (`number` 1).
fn put_defaults(insert: &RowInsert<'_>, given: &[usize], row: &mut [Value], number: u64) -> Result<()> {
    let (target, conversion) = (insert.target, &insert.conversion);
    for (column, value) in row.iter_mut().enumerate().filter(|(column, _)| !given.contains(column)) {
        *value = match number > 1 && target.lacks_default(column) && !conversion.is_strict() {
            true => target.value_before(column, conversion),
            false => target.default_value(column, conversion)?,
        };
    }
    insert.put_computed_defaults(given, row, number)
}

/// A value as its column stores it; NULL stays for the AUTO_INCREMENT column, where it stands for the next number.
fn stored(insert: &RowInsert<'_>, column: usize, value: &Value, row: u64) -> Result<Value> {
    if insert.generated.column == Some(column) && value.is_null() {
        return Ok(Value::Null);
    }
    insert.stored(column, value, row)
}

fn insert_rows(insert: &mut RowInsert<'_>, bound: &BoundInsert, rows: &NewRows) -> Result<()> {
    let (given, ids) = (&bound.given, &bound.target.columns);
    let computes = rows.values.iter().any(|value| matches!(value, NewValue::Expr(_)));
    for at in 0..rows.rows {
        insert.context.check_interrupt()?;
        let number = at as u64 + 1;
        let mut row = vec![Value::Null; ids.len()];
        if computes {
            (0..row.len()).for_each(|column| row[column] = insert.target.value_before(column, &insert.conversion));
        }
        for (column, value) in given.iter().zip(&rows.values[at * given.len()..]) {
            row[*column] = match value {
                NewValue::Value(value) => stored(insert, *column, value, number)?,
                NewValue::Default => match insert.rules().default(*column, &row, number)? {
                    Some(value) => value,
                    None => insert.default_value(*column)?,
                },
                NewValue::Expr(expr) => {
                    let known = |id| ids.iter().position(|c| *c == id).map(|at| row[at].clone());
                    stored(insert, *column, &insert.evaluation.value(expr, &known)?, number)?
                }
            };
        }
        put_defaults(insert, given, &mut row, number)?;
        insert.insert(row, &|_| None)?;
    }
    Ok(())
}

/// Rows of a query: all are there before the first is inserted, so that it does not read what it has inserted.
fn insert_query(
    insert: &mut RowInsert<'_>,
    context: &Arc<StatementContext>,
    bound: &BoundInsert,
    tables: &Arc<StatementTables>,
    source: Option<&ShortSource<'_>>,
) -> Result<()> {
    let RowSource::Query(query) = &bound.source else { return Ok(()) };
    let mentioned = bound.on_duplicate.iter().flat_map(|update| update.mentioned.iter().copied());
    let columns: Vec<ColId> = query.outputs.iter().map(|(id, _)| *id).chain(mentioned).collect();
    let (rel, conversion) = (&query.rel, insert.conversion);
    let found = match source {
        Some(source) => source.find(context, columns)?,
        None => search::find(context, rel.clone(), columns, &bound.surroundings, tables, &[], conversion)?,
    };
    found
        .each(|values, _| {
            context.check_interrupt()?;
            let number = insert.counts.records + 1;
            let mut row = vec![Value::Null; bound.target.columns.len()];
            for ((column, value), (id, _)) in bound.given.iter().zip(values).zip(&query.outputs) {
                let def = &insert.target.columns()[*column];
                conversion.refuse_cut(bound.surroundings.columns.get(*id), def, value, number)?;
                row[*column] = stored(insert, *column, value, number)?;
            }
            put_defaults(insert, &bound.given, &mut row, number)?;
            insert.insert(row, &|id| found.position(id).map(|at| values[at].clone()))?;
            Ok(ControlFlow::Continue(()))
        })
        .map(drop)
}
