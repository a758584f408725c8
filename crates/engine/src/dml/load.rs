//! LOAD DATA row by row: into a table that has rows, and within a transaction that statements share. The rows are seen
//! when the transaction commits, and go when it is rolled back.

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
use muster_sql::{Statement, bind::bind_insert};
use muster_storage::{DuplicatePolicy, LockMode, value_at};
use muster_types::{Result, SqlError};
use std::sync::Arc;

/// Takes the rows of a load, all columns of the table as it stores them. Calls the function with the number of each row
/// of the batch before it takes it.
pub type TakeRows<'a> = &'a mut dyn FnMut(&RecordBatch, &mut dyn FnMut(usize)) -> Result<()>;

/// Loads rows into a table, which `fill` hands over. `missing`: columns that the rows have no values for.
pub fn load_rows<R>(
    context: &Arc<StatementContext>,
    (database, table): (&str, &str),
    duplicates: DuplicatePolicy,
    missing: &[usize],
    fill: impl FnOnce(TakeRows<'_>) -> Result<R>,
) -> Result<(R, LoadCounts)> {
    let quoted = |name: &str| name.replace('`', "``");
    // A load locks and checks what an INSERT of rows without values does.
    let text = format!("INSERT INTO `{}`.`{}` () VALUES ()", quoted(database), quoted(table));
    let Statement::Insert(statement) = muster_sql::parse(&text)? else {
        return Err(SqlError::internal("an INSERT is another statement"));
    };
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
    let filled = fill(&mut |batch, before_row| {
        for row in 0..batch.num_rows() {
            context.check_interrupt()?;
            before_row(row);
            let mut values = batch.columns().iter().map(|column| value_at(column, row)).collect::<Result<Vec<_>>>()?;
            if !missing.is_empty() {
                let number = insert.counts.records + 1;
                let given: Vec<usize> = (0..values.len()).filter(|column| !missing.contains(column)).collect();
                insert.put_computed_defaults(&given, &mut values, number)?;
            }
            insert.insert(values, &|_| None)?;
        }
        Ok(())
    });
    let filled = insert.after(filled)?;
    Ok((filled, insert.loaded()))
}
