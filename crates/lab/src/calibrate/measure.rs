//! The work of each statement in each constant, and its time.

use super::{
    Progress,
    statements::{STATEMENTS, Statement},
    tables,
};
use crate::{
    runner::{rows_of, session as session_of},
    target::{Result, TargetError},
};
use muster_engine::{Database, Session};
use serde_json::Value as Json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// By how much a constant is made dearer to see which statements have its work.
const STEP: f64 = 0.02;
/// Runs of a statement at most.
const RUNS_MAX: usize = 25;

/// A statement, its work and its time.
#[derive(Debug, Clone)]
pub struct StatementTimes {
    pub name: &'static str,
    /// The part of each constant in the cost, in milliseconds by its default. A part that is not known is missing.
    pub work: Vec<(String, f64)>,
    /// Milliseconds of the statement, without what every statement takes.
    pub measured_ms: f64,
    /// Milliseconds by the model with the constants of before.
    pub before_ms: f64,
    /// Milliseconds by the model with the constants that were measured.
    pub after_ms: f64,
    /// The reason why the statement was not timed.
    pub left_out: Option<String>,
}

/// A cost as the tables of costs have it.
struct DefaultCost {
    table: &'static str,
    name: String,
    value: f64,
}

/// Explains all statements with each constant made dearer in turn.
pub async fn work(database: &Arc<Database>, progress: Progress<'_>) -> Result<Vec<StatementTimes>> {
    progress("asking the model");
    let mut root = session_of(database);
    let mut defaults = Vec::new();
    for table in ["server_cost", "engine_cost"] {
        for row in rows(&mut root, &format!("SELECT cost_name, default_value FROM mysql.{table}")).await? {
            if let [name, value] = &row[..]
                && is_constant(name)
            {
                let value = value.parse().map_err(|e| TargetError::Answer(format!("{name}: {e}")))?;
                defaults.push(DefaultCost { table, name: name.clone(), value });
            }
        }
    }
    let base = explain_all(database).await?;
    let mut found: Vec<StatementTimes> = (STATEMENTS.iter().zip(&base))
        .map(|(statement, plan)| StatementTimes {
            name: statement.name,
            work: Vec::new(),
            measured_ms: 0.0,
            before_ms: plan.cost_ms,
            after_ms: plan.cost_ms,
            left_out: missing_operator(statement, plan),
        })
        .collect();
    for constant in &defaults {
        set(&mut root, constant, Some(constant.value * (1.0 + STEP))).await?;
        let dearer = explain_all(database).await?;
        for ((times, before), after) in found.iter_mut().zip(&base).zip(&dearer) {
            // Where the other cost makes another plan, the work is that of neither.
            if before.operators == after.operators {
                let part_ms = (after.cost_ms - before.cost_ms) / STEP;
                times.work.push((constant.name.clone(), part_ms.max(0.0)));
            }
        }
        set(&mut root, constant, None).await?;
    }
    root.query("FLUSH OPTIMIZER_COSTS").await?;
    Ok(found)
}

/// Returns true for the name of a constant of Muster's, which ends with its unit.
pub fn is_constant(name: &str) -> bool {
    ["_ns", "_ms", "_factor", "_rows"].iter().any(|unit| name.ends_with(unit))
}

/// Runs all statements that have their plan, for about so many seconds.
pub async fn run(
    database: &Arc<Database>,
    statements: &mut [StatementTimes],
    seconds: f64,
    progress: Progress<'_>,
) -> Result<()> {
    let share = Duration::from_secs_f64(seconds / STATEMENTS.len() as f64);
    let mut nothing_ms = 0.0;
    for (statement, times) in STATEMENTS.iter().zip(statements.iter_mut()) {
        if times.left_out.is_some() {
            continue;
        }
        progress(&format!("timing: {}", statement.name));
        let mut session = session_for(database, statement).await?;
        // Brings the pages into memory, and the plan into the cache.
        session.query(statement.sql).await?;
        let (begun, mut least) = (Instant::now(), f64::INFINITY);
        for _ in 0..RUNS_MAX {
            let run = Instant::now();
            session.query(statement.sql).await?;
            least = least.min(run.elapsed().as_secs_f64() * 1e3);
            if begun.elapsed() > share {
                break;
            }
        }
        if nothing_ms == 0.0 {
            nothing_ms = least;
        }
        times.measured_ms = (least - nothing_ms).max(0.0);
    }
    Ok(())
}

/// The plan of a statement.
struct ExplainedPlan {
    cost_ms: f64,
    operators: Vec<String>,
}

fn missing_operator(statement: &Statement, plan: &ExplainedPlan) -> Option<String> {
    let lacks = |word: &&&str| !plan.operators.iter().any(|operator| operator.contains(**word));
    let missing = statement.operators.iter().find(lacks)?;
    Some(format!("its plan has no '{missing}': {}", plan.operators.join("; ")))
}

/// The plans of all statements in sessions that begin now.
async fn explain_all(database: &Arc<Database>) -> Result<Vec<ExplainedPlan>> {
    let mut plans = Vec::with_capacity(STATEMENTS.len());
    for statement in STATEMENTS {
        let mut session = session_for(database, statement).await?;
        session.query("SET explain_json_format_version = 2").await?;
        let text = rows(&mut session, &format!("EXPLAIN FORMAT=JSON {}", statement.sql)).await?.concat().concat();
        let json: Json = serde_json::from_str(&text).map_err(|e| TargetError::Answer(format!("{text}: {e}")))?;
        let root = &json["query_plan"];
        let mut operators = Vec::new();
        collect_operators(root, &mut operators);
        plans.push(ExplainedPlan { cost_ms: root_cost(root), operators });
    }
    Ok(plans)
}

/// The cost of the first line that has one.
fn root_cost(node: &Json) -> f64 {
    let below = || node["inputs"].as_array().and_then(|inputs| inputs.first()).map_or(0.0, root_cost);
    node["estimated_total_cost"].as_f64().unwrap_or_else(below)
}

fn collect_operators(node: &Json, found: &mut Vec<String>) {
    found.extend(node["operation"].as_str().map(str::to_owned));
    for input in node["inputs"].as_array().into_iter().flatten() {
        collect_operators(input, found);
    }
}

async fn session_for(database: &Arc<Database>, statement: &Statement) -> Result<Session> {
    let mut session = session_of(database);
    session.use_database(tables::DATABASE)?;
    if !statement.switches.is_empty() {
        session.query(&format!("SET optimizer_switch = '{}'", statement.switches)).await?;
    }
    Ok(session)
}

/// Sets a cost of the tables, or its default, for sessions that begin afterwards.
async fn set(root: &mut Session, constant: &DefaultCost, value: Option<f64>) -> Result<()> {
    let (table, name) = (constant.table, &constant.name);
    let value = value.map_or("NULL".into(), |value| value.to_string());
    root.query(&format!("UPDATE mysql.{table} SET cost_value = {value} WHERE cost_name = '{name}'")).await?;
    root.query("FLUSH OPTIMIZER_COSTS").await?;
    Ok(())
}

/// The rows of a statement as texts; NULL is empty.
pub async fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>> {
    let rows = rows_of(session, sql).await?;
    Ok(rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
}
