//! EXPLAIN: the one door for all statements and all forms (MySQL manual 15.8.2).
//!
//! ```text
//!   explain      a statement, by its kind and the format            mod.rs
//!     changes    INSERT, REPLACE, UPDATE, DELETE                    changes.rs
//!       change_texts  as they were rewritten, for SHOW WARNINGS     change_texts.rs
//!     connection the statement that another session runs            connection.rs
//!     constant   tables of one row, which MySQL reads first         constant.rs
//!     facts      what the optimizer noted of tables                 facts.rs
//!     output     the result in each form                            output.rs
//!   OptimizerTrace   `information_schema.OPTIMIZER_TRACE`           trace.rs
//! ```

mod change_texts;
mod changes;
mod connection;
mod constant;
mod facts;
mod output;
mod trace;

pub use connection::explain_connection;
pub use output::Explained;
pub use trace::{keep as keep_trace, rows as trace_rows};

use crate::{
    statement::{StatementContext, estimate_notes, query},
    threads,
};
use facts::Noted;
use futures::StreamExt;
use muster_algebra::Switch;
use muster_exec::Profile;
use muster_explain::{PlanSource, analyze::Analyzed, json::first, query_block::ConstantRow, traditional};
use muster_optimizer::Trace;
use muster_sql::{Explain, ExplainFormat, Statement};
use muster_types::{ErrorCode, Result, SqlError, Value};
use output::{Form, form};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Explains a statement. Nothing changes; only a query that is analyzed runs. Error 1235 for what MySQL lacks, too.
pub fn explain(context: &Arc<StatementContext>, explain: &Explain, parameters: &[Value]) -> Result<Explained> {
    let form = form(context, explain.analyze, explain.format);
    output::check_into(explain.into.as_deref(), form)?;
    // EXPLAIN tells what the optimizer noted, whether the session wants a trace or not.
    let trace = context.trace.get_or_init(Trace::on);
    context.explains.store(true, Relaxed);
    let shown = match &*explain.statement {
        Statement::Query(query) => of_query(context, query, parameters, (explain.analyze, form)),
        Statement::Insert(statement) => changes::insert(context, statement, parameters, explain.analyze, form),
        Statement::Update(statement) => changes::update(context, statement, parameters, explain.analyze, form),
        Statement::Delete(statement) => changes::delete(context, statement, parameters, explain.analyze, form),
        _ => Err(SqlError::unsupported("EXPLAIN of a statement that does not read or change rows")),
    };
    debug_assert!(trace.is_on());
    shown
}

fn of_query(
    context: &Arc<StatementContext>,
    query: &muster_sql::Query,
    parameters: &[Value],
    (analyze, form): (bool, Form),
) -> Result<Explained> {
    if analyze && form == Form::Traditional {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE with TRADITIONAL format"));
    }
    let planned = query::plan(context, query, parameters)?;
    let noted = Noted::of(context, &planned.plan);
    if analyze {
        return run(context, planned, &noted, form).map(Explained::Text);
    }
    let source = PlanSource {
        plan: &planned.plan,
        columns: &planned.columns,
        statistics: &*planned.tables,
        facts: &noted.facts,
        checks_entries: checks_entries(context),
        constant_row: &|scan| constant::row(context, scan, &planned.columns, &planned.tables),
    };
    if let (Some(relation), true) = (&noted.rewritten, form != Form::Tree) {
        let text = muster_explain::rewritten(relation, &planned.outputs, &planned.columns);
        context.note(ErrorCode::Yes, text);
    }
    Ok(match form {
        Form::Traditional => Explained::Table(traditional::rows(&source)),
        Form::JsonFirst => Explained::Text(first::print(&source, None)),
        Form::JsonSecond => Explained::Text(muster_explain::json::json(&planned.plan, &planned.columns)),
        Form::Tree => Explained::Text(muster_explain::tree(&planned.plan, &planned.columns)),
    })
}

/// Runs a query to its end, throws its rows away, and prints the plan with what its nodes did.
fn run(context: &StatementContext, planned: query::Planned, noted: &Noted, form: Form) -> Result<String> {
    let profile = Profile::new(context.process.counters.clone());
    let (plan, columns, tables) = (planned.plan.clone(), planned.columns.clone(), planned.tables.clone());
    let mut result = query::run(context, planned, None, Some(profile.clone()))?;
    while let Some(batch) = threads::wait(result.rows.next())? {
        batch?;
    }
    let actual = |node| profile.of(node);
    estimate_notes::note(context, &plan, &columns, &actual);
    let analyzed = Analyzed { plan: &plan, columns: &columns, actual: &actual };
    match form {
        Form::Traditional | Form::Tree => Ok(analyzed.tree()),
        Form::JsonSecond => Ok(analyzed.json()),
        Form::JsonFirst => {
            let source = PlanSource {
                plan: &plan,
                columns: &columns,
                statistics: &*tables,
                facts: &noted.facts,
                checks_entries: checks_entries(context),
                constant_row: &|_| ConstantRow::Found,
            };
            Ok(first::print(&source, Some(&actual)))
        }
    }
}

/// Returns true if the session lets conditions be checked on entries of indexes.
fn checks_entries(context: &StatementContext) -> bool {
    crate::variables::optimizer_options(&context.session.variables).is_on(Switch::IndexConditionPushdown)
}

/// The format as `EXPLAIN` was given it, or as the session's variables say.
fn named_format(context: &StatementContext, analyze: bool, given: Option<ExplainFormat>) -> ExplainFormat {
    given.unwrap_or_else(|| match (analyze, &*context.session.variables.text("explain_format")) {
        (true, _) | (_, "TREE") => ExplainFormat::Tree,
        (_, "JSON") => ExplainFormat::Json,
        _ => ExplainFormat::Traditional,
    })
}
