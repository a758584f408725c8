//! EXPLAIN of statements that change rows: what they change, and the plan that finds the rows. Nothing changes.

use super::binding::{Binding, bind, check_privileges};
use crate::{
    Outcome,
    accounts::Privilege,
    statement::{StatementContext, explain, query},
};
use muster_algebra::Rel;
use muster_explain::{ChangeKind, ChangePlan};
use muster_sql::{
    Delete, Explain, Insert, Statement, Update,
    bind::{ChangeTarget, RowSource, Search, Surroundings, bind_delete, bind_insert, bind_update},
};
use muster_types::{Result, SqlError, Value};
use std::sync::Arc;

/// EXPLAIN of an INSERT, UPDATE or DELETE; `None` for any other statement. Error 1235 for EXPLAIN ANALYZE, which would
/// have to change rows.
pub fn explained(context: &Arc<StatementContext>, explain: &Explain, parameters: &[Value]) -> Option<Result<Outcome>> {
    let shown = match &*explain.statement {
        Statement::Insert(statement) => insert(context, statement, parameters, explain),
        Statement::Update(statement) => update(context, statement, parameters, explain),
        Statement::Delete(statement) => delete(context, statement, parameters, explain),
        _ => return None,
    };
    Some(shown)
}

fn insert(
    context: &Arc<StatementContext>,
    statement: &Insert,
    parameters: &[Value],
    explain: &Explain,
) -> Result<Outcome> {
    let binding = bind(context, parameters, |env| bind_insert(statement, env), |b| vec![&b.target])?;
    let bound = &binding.bound;
    let kind = if bound.replace { ChangeKind::Replace } else { ChangeKind::Insert };
    let rel = match &bound.source {
        RowSource::Rows(_) => None,
        RowSource::Query(query) => Some(query.rel.clone()),
    };
    let needed = (Privilege::Insert, "INSERT");
    show(context, &binding, (kind, needed), (vec![&bound.target], &bound.surroundings), rel, explain)
}

fn update(
    context: &Arc<StatementContext>,
    statement: &Update,
    parameters: &[Value],
    explain: &Explain,
) -> Result<Outcome> {
    let binding = bind(context, parameters, |env| bind_update(statement, env), |b| b.targets.iter().collect())?;
    let bound = &binding.bound;
    let rel = Some(rel(&bound.search, &bound.targets));
    let kind = (ChangeKind::Update, (Privilege::Update, "UPDATE"));
    show(context, &binding, kind, (bound.targets.iter().collect(), &bound.surroundings), rel, explain)
}

fn delete(
    context: &Arc<StatementContext>,
    statement: &Delete,
    parameters: &[Value],
    explain: &Explain,
) -> Result<Outcome> {
    let binding = bind(context, parameters, |env| bind_delete(statement, env), |b| b.targets.iter().collect())?;
    let bound = &binding.bound;
    let rel = Some(rel(&bound.search, &bound.targets));
    let kind = (ChangeKind::Delete, (Privilege::Delete, "DELETE"));
    show(context, &binding, kind, (bound.targets.iter().collect(), &bound.surroundings), rel, explain)
}

/// The relation that finds the rows of a search.
fn rel(search: &Search, targets: &[ChangeTarget]) -> Rel {
    match search {
        Search::Table(table) => table.rel(&targets[0]),
        Search::Query(rel) => rel.clone(),
    }
}

/// Plans the relation and prints it below what changes.
fn show<B>(
    context: &Arc<StatementContext>,
    binding: &Binding<B>,
    (kind, needed): (ChangeKind, (Privilege, &str)),
    (targets, surroundings): (Vec<&ChangeTarget>, &Surroundings),
    rel: Option<Rel>,
    explain: &Explain,
) -> Result<Outcome> {
    if explain.analyze {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE of a statement that changes rows"));
    }
    check_privileges(context, surroundings, &targets, &[needed, (Privilege::Select, "SELECT")])?;
    let planned = match rel {
        Some(rel) => Some(query::optimize(context, surroundings.bound(rel), binding.tables.clone())?),
        None => None,
    };
    let plan = planned.as_ref().map(|p| (&p.plan, &p.columns));
    let change = ChangePlan { kind, targets: targets.iter().map(|t| t.alias.as_str()).collect(), plan };
    explain::change(context, explain, &change)
}
