//! The expressions of a table's definition, checked when it is made: CHECKs, generated columns and defaults.

use crate::statement::{BindEnvironment, StatementContext, StatementTables};
use muster_algebra::{CheckConstraint, ColumnDef, DefaultValue, TableDef};
use muster_sql::{
    CheckSpec, Parameters,
    bind::bind_row,
    canonical::{Disallowed, canonical, disallowed, is_condition, named_columns},
};
use muster_types::{ErrorCode, Result, SqlError};
use std::{collections::HashSet, sync::Arc};

/// CHECKs that a statement defines.
pub struct NewChecks {
    pub checks: Vec<CheckConstraint>,
    /// For each of them the column in whose definition it stands.
    columns: Vec<Option<String>>,
}

impl NewChecks {
    /// Those without a name get that of the table with a number, above those of `existing`. Errors: 3812, and 3822 for
    /// a name that `is_taken`.
    pub fn new<'s>(
        table: &str,
        existing: &[CheckConstraint],
        specs: impl Iterator<Item = &'s CheckSpec>,
        is_taken: &dyn Fn(&str) -> bool,
    ) -> Result<NewChecks> {
        let mut number = existing.iter().filter_map(|check| generated_number(table, &check.name)).max().unwrap_or(0);
        let mut new = NewChecks { checks: Vec::new(), columns: Vec::new() };
        for spec in specs {
            let name = spec.name.clone().unwrap_or_else(|| {
                number += 1;
                format!("{table}_chk_{number}")
            });
            super::check_length(&name)?;
            let known = existing.iter().chain(&new.checks);
            if is_taken(&name) || known.into_iter().any(|check| check.name.eq_ignore_ascii_case(&name)) {
                let message = format!("Duplicate check constraint name '{name}'.");
                return Err(SqlError::new(ErrorCode::CheckDupName, message));
            }
            if !is_condition(&spec.expr) {
                let message = format!("An expression of non-boolean type specified to a check constraint '{name}'.");
                return Err(SqlError::new(ErrorCode::CheckNotBoolean, message));
            }
            new.checks.push(CheckConstraint { name, expr: canonical(&spec.expr)?, enforced: spec.enforced });
            new.columns.push(spec.column.clone());
        }
        Ok(new)
    }

    /// Error 3813 for the CHECK of a column that names another one.
    pub fn refuse_other_columns(&self) -> Result<()> {
        for (check, column) in self.checks.iter().zip(&self.columns) {
            let Some(column) = column else { continue };
            if named_columns(&check.expr).iter().any(|name| !name.eq_ignore_ascii_case(column)) {
                let message = format!("Column check constraint '{}' references other column.", check.name);
                return Err(SqlError::new(ErrorCode::ColumnCheckReferencesOther, message));
            }
        }
        Ok(())
    }
}

/// The number in the name that a CHECK of a table without one has got.
pub fn generated_number(table: &str, name: &str) -> Option<u64> {
    name.strip_prefix(table)?.strip_prefix("_chk_")?.parse().ok()
}

/// The names of the CHECKs of a database, but for one table.
pub fn names_of_checks(context: &StatementContext, database: &str, except: &str) -> HashSet<String> {
    let definitions = context.database.tables().definitions();
    let tables = definitions.schemas.get(database).map(|schema| &schema.tables);
    let others = tables.into_iter().flatten().filter(|(name, _)| *name != except);
    others.flat_map(|(_, entry)| entry.def.checks.iter().map(|check| check.name.to_lowercase())).collect()
}

/// The CHECKs of a table under another name: those whose names were given by the server get that of the table.
pub fn renamed_checks(def: &TableDef, to: &str) -> Vec<CheckConstraint> {
    let name = |check: &CheckConstraint| match generated_number(&def.name, &check.name) {
        Some(number) => format!("{to}_chk_{number}"),
        None => check.name.clone(),
    };
    def.checks.iter().map(|check| CheckConstraint { name: name(check), ..check.clone() }).collect()
}

/// Checks all expressions of a table, and binds them. Errors: 1054, 3102, 3107, 3109, 3763, 3767 to 3772, 3814 to 3820
/// and those of expressions.
/// `is_new`: the table is made, so that a column which a CHECK names and is not there is an error of its own.
pub fn check(context: &Arc<StatementContext>, def: &TableDef, is_new: bool) -> Result<()> {
    if def.checks.is_empty() && !def.has_row_expressions() {
        return Ok(());
    }
    for (at, column) in def.columns.iter().enumerate() {
        if let Some(generated) = &column.generated {
            check_generated(def, at, &generated.expr)?;
        }
        if let Some(DefaultValue::Expr(text)) = &column.default {
            check_default(def, at, text)?;
        }
    }
    def.checks.iter().try_for_each(|constraint| check_constraint(def, constraint, is_new))?;
    // One that is not enforced has to mean something, too.
    let mut whole = def.clone();
    whole.checks.iter_mut().for_each(|check| check.enforced = true);
    let tables = StatementTables::to_change(context);
    let environment = BindEnvironment::new(context);
    bind_row(&Arc::new(whole), &[], &environment.with(&tables, Parameters::Values(&[]))).map(drop)
}

fn column_of<'t>(def: &'t TableDef, name: &str) -> Option<(usize, &'t ColumnDef)> {
    let at = def.column(name).filter(|at| !def.columns[*at].is_hidden())?;
    Some((at, &def.columns[at]))
}

fn variables_in_default(column: &str) -> SqlError {
    let message = format!("Default value expression of column '{column}' cannot refer user or system variables.");
    SqlError::new(ErrorCode::DefaultVariables, message)
}

/// The errors of an expression that has something it must not have.
struct Refusals<'t> {
    /// The message up to the words "disallowed function".
    subject: &'t str,
    function: ErrorCode,
    subquery: ErrorCode,
    variable: SqlError,
}

/// Refuses functions, subqueries and variables in an expression. `is_default`: it is the default of a column.
fn refuse_disallowed(text: &str, is_default: bool, refusals: Refusals) -> Result<()> {
    let subject = refusals.subject;
    Err(match disallowed(text, is_default) {
        None => return Ok(()),
        Some(Disallowed::Function(function)) => {
            SqlError::new(refusals.function, format!("{subject} disallowed function: {function}."))
        }
        Some(Disallowed::Subquery) => SqlError::new(refusals.subquery, format!("{subject} disallowed function.")),
        Some(Disallowed::Variable) => refusals.variable,
    })
}

fn check_generated(def: &TableDef, at: usize, text: &str) -> Result<()> {
    let name = &def.columns[at].name;
    let refusals = Refusals {
        subject: &format!("Expression of generated column '{name}' contains a"),
        function: ErrorCode::FunctionNotAllowedNamed,
        subquery: ErrorCode::GeneratedFunctionNotAllowed,
        variable: variables_in_default(name),
    };
    refuse_disallowed(text, false, refusals)?;
    for named in named_columns(text) {
        let Some((position, column)) = column_of(def, &named) else {
            return Err(SqlError::unknown_column(named, "generated column function"));
        };
        if column.auto_increment {
            let message = format!("Generated column '{name}' cannot refer to auto-increment column.");
            return Err(SqlError::new(ErrorCode::GeneratedRefersAutoIncrement, message));
        }
        if column.generated.is_some() && position >= at {
            let message = "Generated column can refer only to generated columns defined prior to it.";
            return Err(SqlError::new(ErrorCode::GeneratedNonPrior, message));
        }
    }
    Ok(())
}

fn check_default(def: &TableDef, at: usize, text: &str) -> Result<()> {
    let name = &def.columns[at].name;
    let refusals = Refusals {
        subject: &format!("Default value expression of column '{name}' contains a"),
        function: ErrorCode::DefaultFunctionNotAllowed,
        subquery: ErrorCode::DefaultFunctionNotAllowed,
        variable: variables_in_default(name),
    };
    refuse_disallowed(text, true, refusals)?;
    for named in named_columns(text) {
        let Some((position, column)) = column_of(def, &named) else {
            return Err(SqlError::unknown_column(named, "default value expression"));
        };
        if column.auto_increment {
            let message =
                format!("Default value expression of column '{name}' cannot refer to an auto-increment column.");
            return Err(SqlError::new(ErrorCode::DefaultRefersAutoIncrement, message));
        }
        let is_computed = column.generated.is_some() || matches!(column.default, Some(DefaultValue::Expr(_)));
        if is_computed && position >= at {
            let message = format!(
                "Default value expression of column '{name}' cannot refer to a column defined after it if that column \
                 is a generated column or has an expression as default value."
            );
            return Err(SqlError::new(ErrorCode::DefaultNonPrior, message));
        }
    }
    Ok(())
}

fn check_constraint(def: &TableDef, constraint: &CheckConstraint, is_new: bool) -> Result<()> {
    let name = &constraint.name;
    let variables = format!("An expression of a check constraint '{name}' cannot refer to a user or system variable.");
    let refusals = Refusals {
        subject: &format!("An expression of a check constraint '{name}' contains"),
        function: ErrorCode::CheckFunctionNotAllowedNamed,
        subquery: ErrorCode::CheckFunctionNotAllowed,
        variable: SqlError::new(ErrorCode::CheckVariables, variables),
    };
    refuse_disallowed(&constraint.expr, false, refusals)?;
    for named in named_columns(&constraint.expr) {
        let Some((_, column)) = column_of(def, &named) else {
            if !is_new {
                return Err(SqlError::unknown_column(named, &format!("check constraint {name} expression")));
            }
            let message = format!("Check constraint '{name}' refers to non-existing column '{named}'.");
            return Err(SqlError::new(ErrorCode::CheckUnknownColumn, message));
        };
        if column.auto_increment {
            let message = format!("Check constraint '{name}' cannot refer to an auto-increment column.");
            return Err(SqlError::new(ErrorCode::CheckRefersAutoIncrement, message));
        }
    }
    Ok(())
}
