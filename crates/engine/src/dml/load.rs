//! LOAD DATA row by row: into a table that has rows, and within a transaction that statements share. The rows are seen
//! when the transaction commits, and go when it is rolled back. SET .. assigns to each row behind its fields, which
//! user variables may have taken.

use super::{
    binding::{bind, check_privileges},
    convert::Conversion,
    duplicate::OnDuplicate,
    evaluation::Evaluation,
    row_insert::{LoadCounts, RowInsert},
    target::OpenTarget,
};
use crate::{accounts::Privilege, statement::StatementContext};
use arrow_array::RecordBatch;
use muster_sql::{
    Insert, LoadData,
    bind::{NewValue, OnDuplicateUpdate, bind_insert},
};
use muster_storage::{DuplicatePolicy, LockMode, value_at};
use muster_types::{Collation, Result, Value};
use std::sync::Arc;

/// Takes the rows of a load, all columns of the table as it stores them. Calls the function with the number of each row
/// of the batch before it takes it.
pub type TakeRows<'a> = &'a mut dyn FnMut(&RecordBatch, &mut dyn FnMut(usize)) -> Result<()>;

/// The parts of a load beside its rows.
#[derive(Clone, Copy, Default)]
pub struct LoadParts<'a> {
    /// Columns that the rows have no values for.
    pub missing: &'a [usize],
    /// A statement, whose assignments change each row. What its user variables take stands behind the columns of the
    /// table in the rows.
    pub statement: Option<&'a LoadData>,
    /// True if the user variables take bytes.
    pub reads_bytes: bool,
}

/// Sets the user variables of a statement to the values of a row. Error: there are too many.
pub fn set_variables(context: &StatementContext, statement: &LoadData, values: &[Value]) -> Result<()> {
    for (name, value) in statement.variables().zip(values) {
        let collation = match value {
            Value::Bytes(_) => Collation::Binary,
            _ => Collation::from_name(&context.session.variables.text("collation_connection"))
                .unwrap_or(Collation::DEFAULT),
        };
        context.session.live_variables.set(name, value.clone(), Some(collation))?;
    }
    Ok(())
}

/// Loads rows into a table, which `fill` hands over.
pub fn load_rows<R>(
    context: &Arc<StatementContext>,
    (database, table): (&str, &str),
    duplicates: DuplicatePolicy,
    parts: LoadParts<'_>,
    fill: impl FnOnce(TakeRows<'_>) -> Result<R>,
) -> Result<(R, LoadCounts)> {
    let LoadParts { missing, statement: load, reads_bytes } = parts;
    let statement = Insert::for_load(database, table, load, reads_bytes);
    let binding = bind(context, &[], |env| bind_insert(&statement, env), |bound| vec![&bound.target])?;
    let bound = &binding.bound;
    let mut needed = vec![(Privilege::Insert, "INSERT")];
    if duplicates == DuplicatePolicy::Replace {
        needed.push((Privilege::Delete, "DELETE"));
    }
    check_privileges(context, &bound.surroundings, &[&bound.target], &needed)?;
    let target = OpenTarget::open(context, binding.tables.set(), &bound.target.table)?;
    let seen = context.read_newest();
    let conversion = Conversion::new(context, duplicates == DuplicatePolicy::Ignore).of_table(&bound.target.table.name);
    let evaluation = Evaluation::new(context, conversion, &bound.surroundings, &binding.tables, &[], false)?;
    let (on_duplicate, mode) = match duplicates {
        DuplicatePolicy::Error => (OnDuplicate::Error, LockMode::Shared),
        DuplicatePolicy::Ignore => (OnDuplicate::Ignore, LockMode::Shared),
        DuplicatePolicy::Replace => (OnDuplicate::Replace, LockMode::Exclusive),
    };
    context.transaction.change(context.database.store(), |transaction| transaction.set_duplicate_mode(mode));
    let mut insert = RowInsert::new((&target, &bound.target), conversion, &evaluation, on_duplicate, (0, &seen));
    let assignments = bound.on_duplicate.iter().flat_map(|update| &update.assignments);
    let assigned: Vec<usize> = assignments.map(|assignment| assignment.column).collect();
    let filled = fill(&mut |batch, before_row| {
        for row in 0..batch.num_rows() {
            context.check_interrupt()?;
            before_row(row);
            let mut values = batch.columns().iter().map(|column| value_at(column, row)).collect::<Result<Vec<_>>>()?;
            let variables = values.split_off(target.columns().len().min(values.len()));
            if let Some(load) = load {
                set_variables(context, load, &variables)?;
            }
            let number = insert.counts.records + 1;
            if !missing.is_empty() {
                let is_given = |column: &usize| !missing.contains(column) || assigned.contains(column);
                let given: Vec<usize> = (0..values.len()).filter(is_given).collect();
                insert.put_computed_defaults(&given, &mut values, number)?;
            }
            if let Some(update) = &bound.on_duplicate {
                assign(&insert, update, &mut values, number)?;
            }
            insert.insert(values, &|_| None)?;
        }
        Ok(())
    });
    let filled = insert.after(filled)?;
    Ok((filled, insert.loaded()))
}

/// Assigns to the columns of a row, from left to right. What is assigned to a generated column is dropped, as a field
/// for it is.
fn assign(insert: &RowInsert<'_>, update: &OnDuplicateUpdate, row: &mut [Value], number: u64) -> Result<()> {
    let defs = insert.target.columns();
    // NULL stands for the next number. Unlike those of an INSERT, each row has a warning of its NULL for other columns.
    let stored = |column: usize, value: &Value| match insert.generated.column == Some(column) && value.is_null() {
        true => Ok(Value::Null),
        false => insert.conversion.stored(&defs[column], value, number),
    };
    for assignment in update.assignments.iter().filter(|assignment| defs[assignment.column].generated.is_none()) {
        let column = assignment.column;
        row[column] = match &assignment.value {
            NewValue::Value(value) => stored(column, value)?,
            NewValue::Default => match insert.rules().default(column, row, number)? {
                Some(value) => value,
                None => insert.default_value(column)?,
            },
            NewValue::Expr(expr) => {
                let own = |id| update.old.iter().position(|c| *c == id);
                let known = |id| match own(id) {
                    // The next number is not known yet.
                    Some(at) if row[at].is_null() && !defs[at].nullable => {
                        Some(insert.target.value_before(at, &insert.conversion))
                    }
                    Some(at) => Some(row[at].clone()),
                    // VALUES(column): no row of an INSERT is there.
                    None => insert.bound.columns.contains(&id).then_some(Value::Null),
                };
                stored(column, &insert.evaluation.value(expr, &known)?)?
            }
        };
    }
    Ok(())
}
