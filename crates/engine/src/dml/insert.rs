//! INSERT: rows of VALUES and SET.

use super::{convert::Conversion, duplicate::OnDuplicate, row_insert::RowInsert, target::Target};
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext, evaluate},
};
use muster_sql::{Insert, InsertRows, InsertSource, InsertValue};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::{Arc, atomic::Ordering::Relaxed};

pub fn insert(context: &Arc<StatementContext>, statement: &Insert, parameters: &[Value]) -> Result<Done> {
    let mut privileges = vec![(Privilege::Insert, "INSERT")];
    if statement.replace {
        privileges.push((Privilege::Delete, "DELETE"));
    }
    if !statement.on_duplicate.is_empty() {
        privileges.push((Privilege::Update, "UPDATE"));
    }
    let InsertSource::Rows(rows) = &statement.source else { return Err(SqlError::unsupported("INSERT .. SELECT")) };
    if statement.replace || !statement.on_duplicate.is_empty() {
        return Err(SqlError::unsupported("REPLACE"));
    }
    let target = Target::open(context, &statement.table, &privileges)?;
    let columns = columns(&target, statement, rows.width)?;
    if let Some(row) = rows.uneven {
        return Err(SqlError::wrong_value_count(row));
    }
    let mut conversion = Conversion::new(context, statement.ignore);
    conversion.null_is_error = rows.rows == 1;
    let on_duplicate = if statement.ignore { OnDuplicate::Ignore } else { OnDuplicate::Error };
    let mut insert = RowInsert::new(conversion, &target, on_duplicate, rows.rows as u64);
    insert_rows(&mut insert, context, rows, &columns, parameters)?;
    let first_id = insert.counts.first_id;
    if first_id > 0 {
        context.process.last_insert_id.store(first_id, Relaxed);
    }
    Ok(insert.done(rows.rows > 1))
}

/// The positions of the columns that values are given for. Errors 1054, 1110, 1136.
fn columns(target: &Target, statement: &Insert, width: usize) -> Result<Vec<usize>> {
    let all = target.columns().len();
    let columns = match &statement.columns {
        Some(names) if !names.is_empty() => {
            let columns = names.iter().map(|name| target.column(name)).collect::<Result<Vec<_>>>()?;
            for (i, column) in columns.iter().enumerate() {
                if columns[..i].contains(column) {
                    let message = format!("Column '{}' specified twice", target.columns()[*column].name);
                    return Err(SqlError::new(ErrorCode::FieldSpecifiedTwice, message));
                }
            }
            columns
        }
        // `()` gives no values.
        _ if width == 0 => Vec::new(),
        _ => (0..all).collect(),
    };
    if columns.len() != width {
        return Err(SqlError::wrong_value_count(1));
    }
    Ok(columns)
}

fn insert_rows(
    insert: &mut RowInsert<'_>,
    context: &Arc<StatementContext>,
    rows: &InsertRows,
    columns: &[usize],
    parameters: &[Value],
) -> Result<()> {
    let (target, conversion) = (insert.target, insert.conversion);
    let missing: Vec<usize> = (0..target.columns().len()).filter(|column| !columns.contains(column)).collect();
    for row in 0..rows.rows {
        context.check_interrupt()?;
        let number = row as u64 + 1;
        let mut values = vec![Value::Null; target.columns().len()];
        for (column, given) in columns.iter().zip(&rows.values[row * rows.width..]) {
            let value = match given {
                InsertValue::Literal(value) => value.clone(),
                InsertValue::Hexadecimal(bytes) => Value::Bytes(bytes.clone()),
                InsertValue::Parameter(index) => parameters.get(*index).cloned().unwrap_or(Value::Null),
                InsertValue::Expr(expr) => evaluate(context, expr, parameters)?,
                InsertValue::Default => {
                    values[*column] = target.default_value(*column, &conversion)?;
                    continue;
                }
            };
            let is_next = insert.generated.column == Some(*column) && value.is_null();
            if !is_next {
                values[*column] = conversion.stored(&target.columns()[*column], &value, number)?;
            }
        }
        for column in &missing {
            values[*column] = target.default_value(*column, &conversion)?;
        }
        insert.insert(values)?;
    }
    Ok(())
}
