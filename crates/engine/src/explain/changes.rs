//! EXPLAIN of statements that change rows: what they change, and the plan that finds the rows. Nothing changes.

use super::{
    change_texts, checks_entries,
    facts::Noted,
    output::{Explained, Form},
};
use crate::{
    accounts::Privilege,
    dml::binding::{Binding, bind, check_privileges},
    statement::{StatementContext, query},
};
use muster_algebra::Rel;
use muster_explain::{ChangeKind, ChangePlan, ChangeText, PlanSource, query_block::ConstantRow};
use muster_sql::{
    Delete, Insert, Update,
    bind::{ChangeTarget, RowSource, Search, Surroundings, bind_delete, bind_insert, bind_update},
};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

/// What MySQL answers to EXPLAIN ANALYZE of most statements that change rows.
const NOT_EXECUTABLE: &str = "<not executable by iterator executor>\n";

/// How a statement is to be explained.
#[derive(Clone, Copy)]
struct Request {
    kind: ChangeKind,
    /// The privilege that it needs on the tables that it changes, and the command that an error names.
    needed: (Privilege, &'static str),
    analyze: bool,
    form: Form,
}

pub fn insert(
    context: &Arc<StatementContext>,
    statement: &Insert,
    parameters: &[Value],
    analyze: bool,
    form: Form,
) -> Result<Explained> {
    let binding = bind(context, parameters, |env| bind_insert(statement, env), |b| vec![&b.target])?;
    let bound = &binding.bound;
    let kind = if bound.replace { ChangeKind::Replace } else { ChangeKind::Insert };
    let rel = match &bound.source {
        RowSource::Rows(_) => None,
        RowSource::Query(query) => Some(query.rel.clone()),
    };
    let request = Request { kind, needed: (Privilege::Insert, "INSERT"), analyze, form };
    let text = |words: &ChangeText<'_>| change_texts::insert(statement, bound, words);
    show(context, &binding, (vec![&bound.target], &bound.surroundings, bound.ignore), (rel, &text), request)
}

pub fn update(
    context: &Arc<StatementContext>,
    statement: &Update,
    parameters: &[Value],
    analyze: bool,
    form: Form,
) -> Result<Explained> {
    let binding = bind(context, parameters, |env| bind_update(statement, env), |b| b.targets.iter().collect())?;
    let bound = &binding.bound;
    let rel = Some(rel(&bound.search, &bound.targets));
    let request = Request { kind: ChangeKind::Update, needed: (Privilege::Update, "UPDATE"), analyze, form };
    let text = |words: &ChangeText<'_>| change_texts::update(bound, words);
    let targets = bound.targets.iter().collect();
    show(context, &binding, (targets, &bound.surroundings, bound.ignore), (rel, &text), request)
}

pub fn delete(
    context: &Arc<StatementContext>,
    statement: &Delete,
    parameters: &[Value],
    analyze: bool,
    form: Form,
) -> Result<Explained> {
    let binding = bind(context, parameters, |env| bind_delete(statement, env), |b| b.targets.iter().collect())?;
    let bound = &binding.bound;
    let rel = Some(rel(&bound.search, &bound.targets));
    let request = Request { kind: ChangeKind::Delete, needed: (Privilege::Delete, "DELETE"), analyze, form };
    let text = |words: &ChangeText<'_>| change_texts::delete(bound, words);
    let targets = bound.targets.iter().collect();
    show(context, &binding, (targets, &bound.surroundings, bound.ignore), (rel, &text), request)
}

/// The relation that finds the rows of a search.
fn rel(search: &Search, targets: &[ChangeTarget]) -> Rel {
    match search {
        Search::Table(table) => table.rel(&targets[0]),
        Search::Query(rel) => rel.clone(),
    }
}

/// Plans the relation and prints it below what changes; note 1003 has the statement as it was rewritten. Error 1235 for
/// EXPLAIN ANALYZE of a join, which MySQL runs.
fn show<B>(
    context: &Arc<StatementContext>,
    binding: &Binding<B>,
    (targets, surroundings, ignore): (Vec<&ChangeTarget>, &Surroundings, bool),
    (rel, text): (Option<Rel>, &dyn Fn(&ChangeText<'_>) -> String),
    request: Request,
) -> Result<Explained> {
    let Request { kind, needed, analyze, form } = request;
    check_privileges(context, surroundings, &targets, &[needed])?;
    if analyze {
        if form != Form::Tree {
            let name = if form == Form::Traditional { "TRADITIONAL" } else { "JSON" };
            return Err(SqlError::unsupported(format!("EXPLAIN ANALYZE with {name} format")));
        }
        let reads_tables =
            rel.as_ref().is_some_and(|rel| has_join(rel) || matches!(kind, ChangeKind::Insert | ChangeKind::Replace));
        return match reads_tables {
            true => Err(SqlError::unsupported("EXPLAIN ANALYZE of a statement that changes rows")),
            false => Ok(Explained::Text(NOT_EXECUTABLE.into())),
        };
    }
    let planned = match rel {
        Some(rel) => Some(query::optimize(context, surroundings.bound(rel), binding.tables.clone())?),
        None => {
            surroundings.warnings.iter().for_each(|warning| context.warn(warning.code, warning.message.clone()));
            None
        }
    };
    let noted = planned.as_ref().map(|planned| Noted::of(context, &planned.plan)).unwrap_or_default();
    if form != Form::Tree && noted.rewritten.is_some() == planned.is_some() {
        let words = ChangeText {
            kind,
            ignore,
            tables: change_texts::tables(&targets),
            columns: planned.as_ref().map_or(&surroundings.columns, |planned| &planned.columns),
            search: noted.rewritten.as_deref(),
            constants: surroundings.constants.as_ref(),
            dependent: &surroundings.dependent,
        };
        context.note(ErrorCode::Yes, text(&words));
    }
    let source = planned.as_ref().map(|planned| PlanSource {
        plan: &planned.plan,
        columns: &planned.columns,
        statistics: &*planned.tables,
        facts: &noted.facts,
        checks_entries: checks_entries(context),
        constant_row: &|_| ConstantRow::Found,
    });
    let change = ChangePlan { kind, targets: targets.iter().map(|t| t.alias.as_str()).collect(), source };
    Ok(match form {
        Form::Traditional => Explained::Table(change.rows()),
        Form::JsonFirst => Explained::Text(change.json_first()),
        Form::JsonSecond => Explained::Text(change.json_second()),
        Form::Tree => Explained::Text(change.tree()),
    })
}

fn has_join(rel: &Rel) -> bool {
    matches!(rel, Rel::Join { .. }) || rel.inputs().into_iter().any(has_join)
}
