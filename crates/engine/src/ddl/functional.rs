//! Parts of indexes that are expressions: each is a hidden column that is generated from the expression.

use super::columns::holding;
use crate::statement::{BindEnvironment, StatementContext, StatementTables};
use muster_algebra::{ColumnDef, Generated, TableDef, Visibility};
use muster_sql::{
    IndexColumn, IndexKind, IndexSpec, Parameters,
    bind::type_of_expression,
    canonical::{canonical, disallowed, named_columns},
};
use muster_types::{ErrorCode, Result, SqlError, SqlType};
use std::sync::Arc;

/// An index with the columns that hold its parts in the place of expressions. `name`: the index's; `table`: with the
/// columns that it has so far, to which the hidden ones are added. Errors: 1054, 3754, 3756 to 3758, 3762.
pub fn with_columns(
    context: &Arc<StatementContext>,
    spec: &IndexSpec,
    name: &str,
    table: &TableDef,
    columns: &mut Vec<ColumnDef>,
) -> Result<IndexSpec> {
    let mut spec = spec.clone();
    for (at, part) in spec.columns.iter_mut().enumerate() {
        let Some(expr) = part.expr.take() else { continue };
        if spec.kind == IndexKind::Primary {
            let message = "The primary key cannot be a functional index";
            return Err(SqlError::new(ErrorCode::FunctionalIndexPrimaryKey, message));
        }
        let text = canonical(&expr)?;
        let table = TableDef { columns: columns.clone(), ..table.clone() };
        check(name, &text, &table)?;
        let tables = StatementTables::to_change(context);
        let environment = BindEnvironment::new(context);
        let env = environment.with(&tables, Parameters::Values(&[]));
        let ty = holding(type_of_expression(&Arc::new(table), &text, &env)?);
        if ty == SqlType::Json {
            let message = "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.";
            return Err(SqlError::new(ErrorCode::FunctionalIndexOnJson, message));
        }
        if ty.is_long() {
            let message = "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please \
                           consider using CAST.";
            return Err(SqlError::new(ErrorCode::FunctionalIndexOnLong, message));
        }
        let hidden = format!("!hidden!{name}!{at}!0");
        columns.push(ColumnDef {
            visibility: Visibility::Hidden,
            generated: Some(Generated { expr: text, stored: false }),
            ..ColumnDef::plain(hidden.clone(), ty, true)
        });
        *part = IndexColumn { name: hidden, ..part.clone() };
    }
    Ok(spec)
}

fn check(index: &str, text: &str, table: &TableDef) -> Result<()> {
    if disallowed(text, false).is_some() {
        let message = format!("Expression of functional index '{index}' contains a disallowed function.");
        return Err(SqlError::new(ErrorCode::FunctionalIndexFunctionNotAllowed, message));
    }
    let named = named_columns(text);
    if text.starts_with('`') && named.len() == 1 && text.len() == named[0].replace('`', "``").len() + 2 {
        let message = "Functional index on a column is not supported. Consider using a regular index instead.";
        return Err(SqlError::new(ErrorCode::FunctionalIndexOnColumn, message));
    }
    for name in named {
        let column = table.columns.iter().find(|c| !c.is_hidden() && c.name.eq_ignore_ascii_case(&name));
        let Some(column) = column else { return Err(SqlError::unknown_column(name, "functional index")) };
        if column.auto_increment {
            let message = format!("Functional index '{index}' cannot refer to an auto-increment column.");
            return Err(SqlError::new(ErrorCode::FunctionalIndexOnAutoIncrement, message));
        }
    }
    Ok(())
}
