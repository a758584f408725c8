//! UPDATE.

use super::{
    Assignment, BoundUpdate, ChangeTarget, NewValue, RelationSource, assigned::see_assigned,
    insert::generated_value_given,
};
use crate::{
    InsertValue, Update,
    bind::{
        BindEnv,
        binder::Binder,
        from::Joined,
        query::add_ctes,
        scope::{Clause, Names, Scope},
    },
};
use muster_algebra::ColumnUse;
use muster_types::{ErrorCode, Result, SqlError};

/// The order in which MySQL checks the rights on the columns of an UPDATE.
const CLAUSES: u8 = 0;
const ASSIGNED: u8 = 1;
const VALUES: u8 = 2;

/// Looks up all names of an UPDATE. Errors: 1054, 1093, 1288 and 1348 for what cannot be changed, 1393 for
/// two tables of one view.
pub fn bind_update(update: &Update, env: &BindEnv) -> Result<BoundUpdate> {
    let mut binder = Binder::new(env);
    binder.changes_strictly = !update.ignore && env.session.sql_modes().is_strict();
    let database = env.session.database();
    let mut names = Names::of_statement(database.as_deref(), &update.written.items).assigning(update.written.assigns);
    if let Some(with) = &update.with {
        add_ctes(with, &mut names)?;
    }
    binder.begin_statement_block(update.written.hints.as_deref());
    let joined = binder.tables_of(&update.tables, &names, false)?;
    let own_reads = binder.reads.len();
    let (mut targets, mut assignments) = (Vec::new(), Vec::new());
    for assignment in &update.assignments {
        let bound = binder.update_assignment(&joined, &assignment.column, &assignment.value, &names, &mut targets)?;
        assignments.push(bound);
    }
    binder.column_rights.stage = CLAUSES;
    let (condition, limit) = (update.condition.as_ref(), update.limit.as_ref());
    let clauses = binder.clauses(&joined, condition, &update.order_by, limit, &names)?;
    binder.refuse_reading_targets(own_reads, &targets)?;
    if let ([relation], [target]) = (&joined.from.relations[..], &targets[..])
        && matches!(relation.source, RelationSource::Table)
    {
        see_assigned(&mut assignments, target);
    }
    for target in &mut targets {
        target.rules = binder.row_rules(&target.table, &target.columns)?;
    }
    let values = assignments.iter_mut().filter_map(|a| match &mut a.value {
        NewValue::Expr(expr) => Some(expr),
        NewValue::Value(_) | NewValue::Default => None,
    });
    let values = values.collect();
    let mut search = binder.search(joined, clauses, &targets, values, true);
    let surroundings = binder.surroundings(&mut search);
    Ok(BoundUpdate { ignore: update.ignore, targets, assignments, search, surroundings })
}

impl Binder<'_> {
    fn update_assignment(
        &mut self,
        joined: &Joined,
        column: &[String],
        value: &InsertValue,
        names: &Names,
        targets: &mut Vec<ChangeTarget>,
    ) -> Result<Assignment> {
        let parts: Vec<&str> = column.iter().map(String::as_str).collect();
        let clause = Clause::FieldList.name();
        let Some(id) = joined.from.find(&parts, clause)? else {
            return Err(self.no_such_column(&parts, &joined.from, ColumnUse::Update, clause));
        };
        self.column_rights.stage = ASSIGNED;
        self.use_column(id, ColumnUse::Update);
        self.column_rights.stage = VALUES;
        let known = targets.len();
        self.check_updatable(joined, id, parts[parts.len() - 1])?;
        let target = self.target_of(joined, id, targets, "UPDATE")?;
        if targets.len() > known {
            refuse_second_table_of_view(targets)?;
        }
        let stored = self.stored_column(id);
        let position = targets[target].columns.iter().position(|c| *c == stored);
        let Some(position) = position else { return Err(not_updatable_column(column)) };
        let ty = targets[target].table.columns[position].ty;
        let scope = Scope::of(&joined.from);
        let value = self.new_value(value, ty, &scope, names)?;
        let table = &targets[target].table;
        if table.columns[position].generated.is_some() && value != NewValue::Default {
            return Err(generated_value_given(&table.columns[position].name, &table.name));
        }
        Ok(Assignment { target, column: position, value })
    }

    /// Errors: 1288 for a relation whose rows cannot be changed, 1348 for a computed column of a view.
    fn check_updatable(&self, joined: &Joined, id: muster_algebra::ColId, name: &str) -> Result<()> {
        let Some(relation) = joined.from.relation_of(id) else { return Ok(()) };
        match &relation.source {
            RelationSource::Table => Ok(()),
            RelationSource::Derived => Err(super::target::not_updatable(&relation.alias, "UPDATE")),
            RelationSource::View(view) if view.table_count() == 0 => {
                Err(super::target::not_updatable(&relation.alias, "UPDATE"))
            }
            RelationSource::View(view) => match view.table_of(self.stored_column(id)) {
                Some(_) => Ok(()),
                None => Err(not_updatable_column(&[name.to_string()])),
            },
        }
    }
}

/// Error 1348.
pub(super) fn not_updatable_column(name: &[String]) -> SqlError {
    let name = name.last().map_or("", String::as_str);
    SqlError::new(ErrorCode::NonUpdatableColumn, format!("Column '{name}' is not updatable"))
}

/// Error 1393 if the last target is the second one of its view.
fn refuse_second_table_of_view(targets: &[ChangeTarget]) -> Result<()> {
    let Some((last, others)) = targets.split_last() else { return Ok(()) };
    if others.iter().any(|t| (&t.alias, &t.named) == (&last.alias, &last.named)) {
        return Err(SqlError::new(
            ErrorCode::ViewMultiUpdate,
            format!("Can not modify more than one base table through a join view '{}.{}'", last.named.0, last.named.1),
        ));
    }
    Ok(())
}
