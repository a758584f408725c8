//! EXPLAIN: the plan as a tree, as a table, as JSON.

use super::{StatementContext, estimate_notes, query};
use crate::{
    Outcome,
    rows::{self, text_column},
    threads,
};
use futures::StreamExt;
use muster_algebra::{Columns, Plan};
use muster_exec::Profile;
use muster_explain::{ChangePlan, analyze::Analyzed};
use muster_sql::{Explain, ExplainFormat, Statement};
use muster_types::{IntWidth, Result, SqlError, SqlType, Value};
use std::sync::Arc;

pub fn explain(context: &Arc<StatementContext>, explain: &Explain, parameters: &[Value]) -> Result<Outcome> {
    let Statement::Query(query) = &*explain.statement else {
        return Err(SqlError::unsupported("EXPLAIN of a statement other than SELECT"));
    };
    let planned = query::plan(context, query, parameters)?;
    let format = format(context, explain);
    match (explain.analyze, format) {
        (true, ExplainFormat::Tree) => one(analyze(context, planned, |run| Ok(run.tree()))?),
        (true, ExplainFormat::Json) => one(analyze(context, planned, |run| run.json().map_err(SqlError::internal))?),
        (true, _) => Err(SqlError::unsupported("EXPLAIN ANALYZE with a format other than TREE and JSON")),
        (false, ExplainFormat::Tree) => one(muster_explain::tree(&planned.plan, &planned.columns)),
        (false, ExplainFormat::Json) => {
            one(muster_explain::json(&planned.plan, &planned.columns).map_err(SqlError::internal)?)
        }
        (false, ExplainFormat::Traditional) => traditional(&planned.plan, &planned.columns),
    }
}

/// EXPLAIN of a statement that changes rows.
pub fn change(context: &StatementContext, explain: &Explain, change: &ChangePlan<'_>) -> Result<Outcome> {
    match format(context, explain) {
        ExplainFormat::Tree => one(change.tree()),
        ExplainFormat::Json => one(change.json().map_err(SqlError::internal)?),
        ExplainFormat::Traditional => table(&change.rows()),
    }
}

/// The format that was asked for, or that of `explain_format`.
fn format(context: &StatementContext, explain: &Explain) -> ExplainFormat {
    explain.format.unwrap_or_else(|| match (explain.analyze, &*context.session.variables.text("explain_format")) {
        (true, _) | (_, "TREE") => ExplainFormat::Tree,
        (_, "JSON") => ExplainFormat::Json,
        _ => ExplainFormat::Traditional,
    })
}

/// One text as a result.
fn one(text: String) -> Result<Outcome> {
    rows::outcome(vec![text_column("EXPLAIN", u32::MAX / 4)], &[vec![Value::Text(text)]])
}

/// MySQL's table: a line for each table that is read, in the order of the plan.
fn traditional(plan: &Plan, columns: &Columns) -> Result<Outcome> {
    table(&muster_explain::traditional::rows(plan, columns))
}

fn table(lines: &[Vec<Value>]) -> Result<Outcome> {
    let big = SqlType::Int { width: IntWidth::Big, unsigned: true };
    let columns = vec![
        rows::column("id", big, true),
        text_column("select_type", 19),
        text_column("table", 64),
        text_column("partitions", 512),
        text_column("type", 10),
        text_column("possible_keys", 4096),
        text_column("key", 64),
        text_column("key_len", 4096),
        text_column("ref", 1024),
        rows::column("rows", big, true),
        rows::column("filtered", SqlType::Double, true),
        text_column("Extra", 255),
    ];
    rows::outcome(columns, lines)
}

/// Runs a query to its end, throws its rows away, and prints the plan with what its nodes did.
fn analyze(
    context: &StatementContext,
    planned: query::Planned,
    print: impl FnOnce(&Analyzed<'_>) -> Result<String>,
) -> Result<String> {
    let profile = Profile::new(context.process.counters.clone());
    let (plan, columns) = (planned.plan.clone(), planned.columns.clone());
    let mut result = query::run(context, planned, None, Some(profile.clone()))?;
    while let Some(batch) = threads::wait(result.rows.next())? {
        batch?;
    }
    let actual = |node| profile.of(node);
    estimate_notes::note(context, &plan, &columns, &actual);
    print(&Analyzed { plan: &plan, columns: &columns, actual: &actual })
}
