//! CHECKs of the altered table, and columns that expressions need: such a column is neither dropped nor renamed.

use crate::{
    catalog::TableEntry,
    ddl::expressions::{self, NewChecks},
    statement::StatementContext,
};
use muster_algebra::{CheckConstraint, ColumnDef, DefaultValue, TableDef};
use muster_sql::{
    AlterAction,
    canonical::{named_columns, names_column},
};
use muster_types::{ErrorCode, Result, SqlError};

/// The CHECKs that are kept, then the new ones. `def`: the altered table without them. Errors: 3812, 3813, 3821, 3822,
/// 3939, 3940.
pub fn altered(
    context: &StatementContext,
    entry: &TableEntry,
    actions: &[AlterAction],
    def: &TableDef,
) -> Result<Vec<CheckConstraint>> {
    let before = &entry.def;
    let mut checks = before.checks.clone();
    for action in actions {
        match action {
            AlterAction::DropCheck(name) => {
                let at = position(&checks, name).ok_or_else(|| not_found(name))?;
                checks.remove(at);
            }
            AlterAction::DropConstraint(name) => {
                if let Some(at) = dropped_check(before, &checks, name)? {
                    checks.remove(at);
                }
            }
            AlterAction::SetCheckEnforced { check, enforced } => {
                let at = position(&checks, check).ok_or_else(|| not_found(check))?;
                checks[at].enforced = *enforced;
            }
            _ => {}
        }
    }
    // One that names only a column that goes, goes with it.
    let is_gone = |name: &String| before.column(name).is_some() && def.column(name).is_none();
    let is_dropped = |name: &String| actions.contains(&AlterAction::DropColumn(name.clone())) && is_gone(name);
    checks.retain(|check| !matches!(&named_columns(&check.expr)[..], [only] if is_dropped(only)));
    let kept = TableDef { checks, ..before.as_ref().clone() };
    let mut checks = match def.name == before.name {
        true => kept.checks,
        false => expressions::renamed_checks(&kept, &def.name),
    };
    let added = actions.iter().filter_map(|action| match action {
        AlterAction::AddCheck(spec) => Some(spec),
        _ => None,
    });
    let taken = match before.id.is_temporary() {
        true => Default::default(),
        false => expressions::names_of_checks(context, &def.database, &before.name),
    };
    let new = NewChecks::new(&def.name, &checks, added, &|name| taken.contains(&name.to_lowercase()))?;
    new.refuse_other_columns()?;
    checks.extend(new.checks);
    Ok(checks)
}

fn position(checks: &[CheckConstraint], name: &str) -> Option<usize> {
    checks.iter().position(|check| check.name.eq_ignore_ascii_case(name))
}

fn not_found(name: &str) -> SqlError {
    SqlError::new(ErrorCode::CheckNotFound, format!("Check constraint '{name}' is not found in the table."))
}

/// The CHECK that `DROP CONSTRAINT` means; `None`: it means a key. Errors 3939, 3940.
fn dropped_check(def: &TableDef, checks: &[CheckConstraint], name: &str) -> Result<Option<usize>> {
    let is_key = def.indexes.iter().any(|i| i.unique && !i.parts.is_empty() && i.name.eq_ignore_ascii_case(name));
    let is_foreign_key = def.foreign_keys.iter().any(|key| key.name.eq_ignore_ascii_case(name));
    let check = position(checks, name);
    match [check.is_some(), is_key, is_foreign_key].into_iter().filter(|is_it| *is_it).count() {
        0 => Err(SqlError::new(ErrorCode::ConstraintNotFound, format!("Constraint '{name}' does not exist."))),
        1 => Ok(check),
        _ => {
            let message = format!(
                "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause."
            );
            Err(SqlError::new(ErrorCode::MultipleConstraints, message))
        }
    }
}

/// Refuses to drop or rename a column that an expression of the altered table names. Errors: 3108, 3766, 3837, 3959.
pub fn refuse_dependents(before: &TableDef, altered: &TableDef) -> Result<()> {
    for column in before.columns.iter().filter(|column| !column.is_hidden()) {
        if altered.column(&column.name).is_some() {
            continue;
        }
        let name = &column.name;
        if let Some(dependent) = altered.columns.iter().find(|other| is_generated_from(other, name)) {
            return Err(match dependent.is_hidden() {
                true => SqlError::new(
                    ErrorCode::DependentByFunctionalIndex,
                    format!("Column '{name}' has a functional index dependency and cannot be dropped or renamed."),
                ),
                false => SqlError::new(
                    ErrorCode::DependentByGenerated,
                    format!("Column '{name}' has a generated column dependency."),
                ),
            });
        }
        let in_default = |other: &ColumnDef| match &other.default {
            Some(DefaultValue::Expr(text)) => names_column(text, name),
            _ => false,
        };
        if altered.columns.iter().any(in_default) {
            let message = format!(
                "Column '{name}' of table '{}' has a default value expression dependency and cannot be dropped or \
                 renamed.",
                before.name
            );
            return Err(SqlError::new(ErrorCode::DependentByDefault, message));
        }
        let is_kept = |check: &&CheckConstraint| before.checks.iter().any(|old| old.expr == check.expr);
        let mut kept: Vec<&CheckConstraint> = altered.checks.iter().filter(is_kept).collect();
        kept.sort_by_key(|check| check.name.to_lowercase());
        if let Some(check) = kept.into_iter().find(|check| names_column(&check.expr, name)) {
            let message = format!(
                "Check constraint '{}' uses column '{name}', hence column cannot be dropped or renamed.",
                check.name
            );
            return Err(SqlError::new(ErrorCode::DependentByCheck, message));
        }
    }
    Ok(())
}

fn is_generated_from(column: &ColumnDef, name: &str) -> bool {
    column.generated.as_ref().is_some_and(|generated| names_column(&generated.expr, name))
}
