//! `sql_safe_updates` (manual 7.1.8): an UPDATE or DELETE without LIMIT has to find the rows of its tables by keys.
//!
//! MySQL asks the range optimizer for a statement of one table (a key that could have been used will do), and the plan
//! for one of several tables (`error_if_full_join`).

use crate::statement::{StatementContext, query::Planned};
use muster_algebra::{Plan, PlanOp, Rel, Scan};
use muster_optimizer::trace::{Event, Trace, is_not_null};
use muster_sql::bind::ChangeTarget;
use muster_types::{ErrorCode, KeyRange, Result, SqlError};

/// Returns true if the session wants keys for a search.
pub fn asks_for_keys(context: &StatementContext, search: &Rel) -> bool {
    context.session.variables.is_on("sql_safe_updates") && !has_limit(search)
}

fn has_limit(search: &Rel) -> bool {
    match search {
        Rel::Limit { .. } => true,
        Rel::Project { input, .. } => has_limit(input),
        _ => false,
    }
}

/// Error 1175 if the search that was planned reads one of the targets whole, and no key restricts it.
pub fn check_keys(
    context: &StatementContext,
    planned: &Planned,
    targets: &[ChangeTarget],
    trace: &Trace,
) -> Result<()> {
    let events = trace.take();
    let is_restricted = |target: &ChangeTarget| {
        events.iter().any(|event| match event {
            Event::Paths { table, conjuncts, paths, .. } => {
                let is_target = table.table.id == target.table.id && table.alias == target.alias;
                is_target && paths.iter().any(|path| path.is_restricted(conjuncts))
            }
            Event::Keys { table, .. } => table.table.id == target.table.id && table.alias == target.alias,
            _ => false,
        })
    };
    let refused = targets.iter().any(|target| reads_whole(&planned.plan, target) && !is_restricted(target));
    events.into_iter().for_each(|event| trace.note(|| event));
    if !refused {
        return Ok(());
    }
    // The first warning may say why no key was used.
    let conditions = context.diagnostics.all();
    let first = conditions.first().map(|(_, warning)| warning.message.as_str());
    let message =
        "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column";
    Err(SqlError::new(ErrorCode::UpdateWithoutKeyInSafeMode, format!("{message}. {}", first.unwrap_or_default())))
}

/// Returns true if a plan has a scan of all rows of the target.
fn reads_whole(plan: &Plan, target: &ChangeTarget) -> bool {
    match &plan.op {
        PlanOp::Scan(scan) => {
            let is_whole = |range: &KeyRange| *range == KeyRange::all() || is_not_null(range);
            is_of(scan, target) && scan.ranges.iter().any(is_whole) && scan.steering.is_empty()
        }
        PlanOp::Shared { input, .. } => reads_whole(input, target),
        _ => plan.inputs().into_iter().any(|input| reads_whole(input, target)),
    }
}

fn is_of(scan: &Scan, target: &ChangeTarget) -> bool {
    scan.table.id == target.table.id && scan.alias == target.alias
}
