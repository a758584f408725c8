//! `EXPLAIN FOR CONNECTION n`: the plan of the statement that another session runs, with what its operators have done
//! so far (MySQL manual 10.8.4).

use super::{
    checks_entries,
    output::{self, Explained, Form, form},
};
use crate::{accounts::Privilege, processes::RunningPlan, statement::StatementContext};
use muster_algebra::Plan;
use muster_explain::{
    PlanSource, StatementFacts, analyze::Analyzed, document::Document, json::first, query_block::ConstantRow,
    traditional,
};
use muster_sql::ExplainFormat;
use muster_types::{ErrorCode, Result, SqlError, Value};

/// Explains what a session runs just now. Errors: 1094 for one that there is not, 1045 for one of another user without
/// the privilege PROCESS, 3012 for a statement without a plan, 1235 with ANALYZE.
pub fn explain_connection(
    context: &StatementContext,
    id: u64,
    (analyze, format): (bool, Option<ExplainFormat>),
    into: Option<&str>,
) -> Result<Explained> {
    if analyze {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE FOR CONNECTION"));
    }
    let form = form(context, false, format);
    output::check_into(into, form)?;
    let target = u32::try_from(id).ok().and_then(|id| context.database.sessions().get(id));
    let target = target.ok_or_else(|| SqlError::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {id}")))?;
    if target.user() != context.rights.user && !context.rights.global().has(Privilege::Process) {
        let (user, host) = (&context.rights.user, &context.rights.host);
        let message = format!("Access denied for user '{user}'@'{host}' (using password: NO)");
        return Err(SqlError::new(ErrorCode::AccessDenied, message));
    }
    match target.running_plan() {
        Some(running) => show(context, &running, form),
        None if target.statement(STATEMENT_BYTES).is_some_and(|text| has_plan(&text)) => Ok(not_ready(form)),
        None if target.is_running() => {
            let message = "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
            Err(SqlError::new(ErrorCode::ExplainNotSupported, message))
        }
        // MySQL tells nothing of a session that runs nothing.
        None => Ok(Explained::Table(Vec::new())),
    }
}

/// Bytes of a statement's text that tell its kind.
const STATEMENT_BYTES: usize = 1024;

/// Returns true for the text of a statement that has a plan, or will have one.
fn has_plan(text: &str) -> bool {
    let first =
        text.trim_start_matches(|c: char| c == '(' || c.is_whitespace()).split(|c: char| !c.is_alphabetic()).next();
    let words = ["SELECT", "WITH", "TABLE", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"];
    first.is_some_and(|first| words.iter().any(|word| word.eq_ignore_ascii_case(first)))
}

/// What MySQL tells of a statement that has no plan yet.
fn not_ready(form: Form) -> Explained {
    const MESSAGE: &str = "Plan isn't ready yet";
    if form == Form::Traditional {
        let mut row = vec![Value::UInt(1), Value::Text("SIMPLE".into())];
        row.resize(11, Value::Null);
        row.push(Value::Text(MESSAGE.into()));
        return Explained::Table(vec![row]);
    }
    if form == Form::Tree {
        return Explained::Text(format!("-> {MESSAGE}\n"));
    }
    let mut block = Document::object();
    block.add("select_id", 1u32);
    block.add("message", MESSAGE);
    let mut out = Document::object();
    out.add("query_block", block);
    Explained::Text(out.pretty())
}

fn show(context: &StatementContext, running: &RunningPlan, form: Form) -> Result<Explained> {
    let (plan, columns) = (&*running.plan, &*running.columns);
    let facts = StatementFacts::default();
    let statistics = &*running.statistics;
    let constant_row = &|_: &Plan| ConstantRow::Found;
    let checks_entries = checks_entries(context);
    let source = PlanSource { plan, columns, statistics, facts: &facts, checks_entries, constant_row };
    let actual = |node| running.profile.as_ref().map(|profile| profile.of(node)).unwrap_or_default();
    let analyzed = Analyzed { plan, columns, actual: &actual };
    let is_measured = running.profile.is_some();
    Ok(match form {
        Form::Traditional => Explained::Table(traditional::rows(&source)),
        Form::JsonFirst if is_measured => Explained::Text(first::print(&source, Some(&actual))),
        Form::JsonFirst => Explained::Text(first::print(&source, None)),
        Form::JsonSecond if is_measured => Explained::Text(analyzed.json()),
        Form::JsonSecond => Explained::Text(muster_explain::json::json(plan, columns)),
        Form::Tree if is_measured => Explained::Text(analyzed.tree()),
        Form::Tree => Explained::Text(muster_explain::tree(plan, columns)),
    })
}
