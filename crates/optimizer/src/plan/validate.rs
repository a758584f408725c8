//! Checks that a plan is well formed, and that every operator can keep what it promises.
//!
//! ```text
//!   validate.rs   every expression mentions only what its node's inputs deliver; lists of columns fit
//!   orders.rs     inputs come in the order that an operator needs, rows in the order that it promises
//!   keys.rs       each group is delivered once: equal keys are in one partition, no group is skipped
//!   rows.rs       no operator expects more rows than it can deliver, keys and limits considered
//!   types.rs      columns exist, conditions are conditions, what is compared can be compared
//! ```
//!
//! Runs on every plan that is made in a build with debug assertions, so in every test of every crate. A violation is a
//! defect of the optimizer.

mod keys;
mod orders;
mod rows;
mod types;

use crate::scope::{ColSet, expr_columns, exprs_columns};
use muster_algebra::{
    AggregateCall, ColId, Columns, ExchangeKind, Expr, JoinKind, JsonTable, Plan, PlanOp, Recursion, Rollup, Scan,
    Side, SortKey, Window,
};
use muster_types::Result;
use muster_types::SqlError;

/// Checks a whole plan. `params`: columns of queries around it that it may mention. `columns`: those of the statement.
///
/// Error: 1105, which names the rule that is broken.
pub fn validate(plan: &Plan, params: &ColSet, columns: &Columns) -> Result<()> {
    let mut produced = ColSet::new();
    check(plan, params, &mut produced)?;
    keys::check_complete(plan)?;
    check_promises(plan, columns)
}

/// Checks what the nodes of a plan promise, subplans included.
fn check_promises(plan: &Plan, columns: &Columns) -> Result<()> {
    orders::check(plan)?;
    keys::check(plan)?;
    types::check(plan, columns)?;
    rows::check(plan)?;
    for expr in plan.exprs() {
        let mut outcome = Ok(());
        expr.visit(&mut |e| {
            if let (Expr::Subplan(subplan), Ok(())) = (e, &outcome) {
                outcome = keys::check_complete(&subplan.plan).and_then(|()| check_promises(&subplan.plan, columns));
            }
        });
        outcome?;
    }
    plan.inputs().into_iter().try_for_each(|input| check_promises(input, columns))
}

fn fail(what: impl std::fmt::Display) -> Result<()> {
    Err(SqlError::internal(format!("malformed plan: {what}")))
}

fn set(ids: &[ColId]) -> ColSet {
    ids.iter().copied().collect()
}

fn produce(ids: impl IntoIterator<Item = ColId>, produced: &mut ColSet) -> Result<()> {
    for id in ids {
        if !produced.insert(id) {
            return fail(format_args!("column {} has two origins", id.0));
        }
    }
    Ok(())
}

fn check(plan: &Plan, params: &ColSet, produced: &mut ColSet) -> Result<()> {
    if let PlanOp::Shared { input, columns, per_run, .. } = &plan.op {
        let none = ColSet::new();
        check(input, if *per_run { params } else { &none }, &mut ColSet::new())?;
        if columns.len() != plan.output.len() || !set(columns).is_subset(&set(&input.output)) {
            return fail("the columns of shared rows do not fit their input");
        }
        // All that read the rows of one run have them under the same names.
        return if *per_run { Ok(()) } else { produce(plan.output.iter().copied(), produced) };
    }
    if let PlanOp::EarlyStop { input, fallback, .. } = &plan.op {
        return check_early_stop(plan, [input, fallback], params, produced);
    }
    for input in plan.inputs() {
        check(input, params, produced)?;
    }
    let mut known: ColSet = params.clone();
    plan.inputs().iter().for_each(|p| known.extend(&p.output));
    let output = set(&plan.output);
    let within = |available: &ColSet, what: &str| match output.difference(available).next() {
        Some(id) => fail(format_args!("{what} delivers column {} that it does not have", id.0)),
        None => Ok(()),
    };
    match &plan.op {
        PlanOp::Scan(scan) => {
            if scan.columns.iter().map(|(id, _)| *id).ne(plan.output.iter().copied()) {
                return fail("the output of Scan is not its columns");
            }
            check_scan(scan, params, produced)?;
        }
        PlanOp::Values { rows } => {
            produce(plan.output.iter().copied(), produced)?;
            for row in rows {
                if row.len() != plan.output.len() {
                    return fail("a row of Values has another length than its output");
                }
                check_exprs(row, params)?;
            }
        }
        PlanOp::Filter { input, predicates } => {
            within(&set(&input.output), "Filter")?;
            check_exprs(predicates, &known)?;
        }
        PlanOp::Lateral { .. } | PlanOp::JsonTable { .. } => check_rows(plan, &known, produced)?,
        PlanOp::Working { .. } | PlanOp::Recursive { .. } => check_rows(plan, &known, produced)?,
        PlanOp::Rollup { .. } => check_rows(plan, &known, produced)?,
        PlanOp::Project { exprs, .. } => {
            if exprs.iter().map(|(id, _)| *id).ne(plan.output.iter().copied()) {
                return fail("the output of Project is not its list");
            }
            check_exprs(exprs.iter().map(|(_, e)| e), &known)?;
        }
        PlanOp::HashJoin { kind, left, right, keys, residual, .. }
        | PlanOp::MergeJoin { kind, left, right, keys, residual } => {
            if keys.is_empty() {
                return fail("an equi-join without keys");
            }
            let l: ColSet = left.output.iter().chain(params).copied().collect();
            let r: ColSet = right.output.iter().chain(params).copied().collect();
            check_exprs(keys.iter().map(|(a, _)| a), &l)?;
            check_exprs(keys.iter().map(|(_, b)| b), &r)?;
            check_exprs(residual, &known)?;
            check_join(*kind, &left.output, &right.output, &output)?;
        }
        PlanOp::LookupJoin { kind, left, lookup, keys, residual, entry_condition, batched, incremental, .. } => {
            // Behind its declared parts an index has those of the primary key.
            let exists = lookup.index < lookup.table.indexes.len();
            if keys.is_empty() || !exists || keys.len() > lookup.table.key_parts(lookup.index).len() {
                return fail("a lookup with keys that the index does not have");
            }
            if *incremental && !(*batched && matches!(left.op, PlanOp::LookupJoin { batched: true, .. })) {
                return fail("an incremental join buffer over none");
            }
            check_exprs(keys, &left.output.iter().chain(params).copied().collect())?;
            check_scan(lookup, params, produced)?;
            let right: Vec<ColId> = lookup.columns.iter().map(|(id, _)| *id).collect();
            check_exprs(residual, &known.iter().chain(&right).copied().collect())?;
            let in_index = |(_, column): &&(ColId, usize)| lookup.table.index_has_column(lookup.index, *column);
            let entry = lookup.columns.iter().filter(in_index).map(|(id, _)| id);
            check_exprs(entry_condition, &known.iter().chain(entry).copied().collect())?;
            check_join(*kind, &left.output, &right, &output)?;
        }
        PlanOp::NestedLoopJoin { kind, left, right, on } => {
            check_exprs(on, &known)?;
            check_join(*kind, &left.output, &right.output, &output)?;
        }
        PlanOp::FinalAggregate { input, group, aggregates } => {
            let partial = match &input.op {
                PlanOp::Exchange { input, .. } => input,
                _ => input,
            };
            match &partial.op {
                PlanOp::PartialAggregate { group: g, aggregates: a, .. } if g == group && a == aggregates => {}
                _ => return fail("a final aggregation of something else than what was accumulated"),
            }
            if plan.output != partial.output {
                return fail("the output of a final aggregation is not that of the partial one");
            }
        }
        PlanOp::HashAggregate { input, group, aggregates }
        | PlanOp::PartialAggregate { input, group, aggregates }
        | PlanOp::StreamAggregate { input, group, aggregates } => {
            let expected: Vec<ColId> = group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect();
            if expected != plan.output {
                return fail("the output of an aggregate is not its group and aggregates");
            }
            if !set(group).is_subset(&set(&input.output)) {
                return fail("a group column is not in the input");
            }
            produce(aggregates.iter().map(|(id, _)| *id), produced)?;
            for (_, call) in aggregates {
                check_exprs(call_exprs(call), &known)?;
            }
        }
        PlanOp::Window { input, window } => {
            check_window(plan, input, window, &known, produced)?;
        }
        PlanOp::Sort { input, keys, .. } => {
            check_same_columns(plan, input, "Sort")?;
            check_keys(keys, &known)?;
        }
        PlanOp::Limit { input, .. } => check_same_columns(plan, input, "Limit")?,
        PlanOp::Exchange { input, kind } => {
            check_same_columns(plan, input, "Exchange")?;
            if let ExchangeKind::Hash { keys } = kind {
                check_exprs(keys, &known)?;
            }
        }
        PlanOp::Shared { .. } | PlanOp::EarlyStop { .. } => {} // Checked above.
        PlanOp::UnionAll { inputs, columns } => {
            produce(plan.output.iter().copied(), produced)?;
            check_union(plan, inputs, columns)?;
        }
    }
    check_partitions(plan)?;
    let promised: ColSet = plan.output.iter().chain(params).copied().collect();
    check_keys(&plan.order, &promised)
}

fn check_same_columns(plan: &Plan, input: &Plan, operator: &str) -> Result<()> {
    if input.output == plan.output { Ok(()) } else { fail(format_args!("{operator} changes its columns")) }
}

/// Checks that a union has columns of each of its inputs.
fn check_union(plan: &Plan, inputs: &[Plan], columns: &[Vec<ColId>]) -> Result<()> {
    if inputs.len() != columns.len() {
        return fail("UnionAll without a column list for each input");
    }
    for (input, ids) in inputs.iter().zip(columns) {
        if ids.len() != plan.output.len() || !set(ids).is_subset(&set(&input.output)) {
            return fail("a column list of UnionAll does not fit its input");
        }
    }
    Ok(())
}

/// Checks that a rollup adds its keys and its level to the columns of the input.
fn check_rollup(plan: &Plan, input: &Plan, rollup: &Rollup, produced: &mut ColSet) -> Result<()> {
    if !input.output.iter().copied().chain(rollup.columns()).eq(plan.output.iter().copied()) {
        return fail("the output of a rollup is not its input, its keys and its level");
    }
    if !rollup.sources().all(|id| input.output.contains(&id)) {
        return fail("a key of a rollup is not in the input");
    }
    produce(rollup.columns(), produced)
}

/// Checks that window functions add their columns to those of the input.
fn check_window(plan: &Plan, input: &Plan, window: &Window, known: &ColSet, produced: &mut ColSet) -> Result<()> {
    let computed = || window.calls.iter().map(|(id, _)| *id);
    if !input.output.iter().copied().chain(computed()).eq(plan.output.iter().copied()) {
        return fail("the output of a window is not its input and its calls");
    }
    produce(computed(), produced)?;
    check_exprs(window.exprs(), known)
}

/// Checks nodes whose rows are those of subqueries, or copies.
fn check_rows(plan: &Plan, known: &ColSet, produced: &mut ColSet) -> Result<()> {
    match &plan.op {
        PlanOp::Recursive { input, recursion } => check_recursive(plan, input, recursion, known, produced),
        PlanOp::Rollup { input, rollup } => check_rollup(plan, input, rollup, produced),
        PlanOp::Lateral { input, rows, .. } => check_lateral(plan, input, rows, known, produced),
        PlanOp::JsonTable { input, table, .. } => check_json_table(plan, input, table, known, produced),
        _ => produce(plan.output.iter().copied(), produced),
    }
}

fn check_recursive(
    plan: &Plan,
    input: &Plan,
    recursion: &Recursion,
    known: &ColSet,
    produced: &mut ColSet,
) -> Result<()> {
    let width = recursion.columns.len();
    let fits = |step: &Expr| matches!(step, Expr::Subplan(subplan) if subplan.outputs.len() == width);
    if input.output != recursion.seed || plan.output != recursion.columns || !recursion.steps.iter().all(fits) {
        return fail("the columns of a recursive table are not those of its parts");
    }
    check_exprs(&recursion.steps, known)?;
    produce(plan.output.iter().copied(), produced)
}

fn check_lateral(plan: &Plan, input: &Plan, rows: &Expr, known: &ColSet, produced: &mut ColSet) -> Result<()> {
    let Expr::Subplan(subplan) = rows else { return fail("a dependent join without a subquery") };
    if !input.output.iter().chain(&subplan.outputs).eq(&plan.output) {
        return fail("the output of a dependent join is not that of its inputs");
    }
    check_exprs([rows], known)?;
    produce(subplan.outputs.iter().copied(), produced)
}

fn check_json_table(plan: &Plan, input: &Plan, table: &JsonTable, known: &ColSet, produced: &mut ColSet) -> Result<()> {
    if !input.output.iter().chain(&table.outputs).eq(&plan.output) {
        return fail("the output of JSON_TABLE is not that of its input and its columns");
    }
    check_exprs([&table.document], known)?;
    produce(table.outputs.iter().copied(), produced)
}

/// Checks that the operator can work in the partitions that were planned.
fn check_partitions(plan: &Plan) -> Result<()> {
    if plan.partitions == 0 || plan.partitions > 1 && !plan.order.is_empty() {
        return fail("an order in several partitions");
    }
    let inputs: Vec<usize> = plan.inputs().iter().map(|input| input.partitions).collect();
    let fits = match &plan.op {
        PlanOp::Filter { .. }
        | PlanOp::Lateral { .. }
        | PlanOp::JsonTable { .. }
        | PlanOp::Project { .. }
        | PlanOp::Rollup { .. }
        | PlanOp::LookupJoin { .. }
        | PlanOp::PartialAggregate { .. } => inputs == [plan.partitions],
        PlanOp::HashAggregate { group, .. } | PlanOp::FinalAggregate { group, .. } => {
            inputs == [plan.partitions] && (plan.partitions == 1 || !group.is_empty())
        }
        PlanOp::HashJoin { build, .. } => {
            let (build, probe) = if *build == Side::Left { (inputs[0], inputs[1]) } else { (inputs[1], inputs[0]) };
            probe == plan.partitions && (build == 1 || build == probe)
        }
        PlanOp::NestedLoopJoin { kind, .. } => {
            inputs == [plan.partitions, 1] && (plan.partitions == 1 || *kind == JoinKind::Inner)
        }
        PlanOp::MergeJoin { .. } | PlanOp::EarlyStop { .. } => inputs == [1, 1] && plan.partitions == 1,
        PlanOp::StreamAggregate { .. } | PlanOp::Shared { .. } => inputs == [1],
        PlanOp::Window { .. } | PlanOp::Recursive { .. } => inputs == [1] && plan.partitions == 1,
        PlanOp::Working { .. } => plan.partitions == 1,
        PlanOp::Limit { offset, .. } => inputs == [plan.partitions] && (plan.partitions == 1 || *offset == 0),
        PlanOp::UnionAll { .. } => inputs.iter().sum::<usize>().max(1) == plan.partitions,
        PlanOp::Scan(_) | PlanOp::Values { .. } | PlanOp::Sort { .. } | PlanOp::Exchange { .. } => true,
    };
    if fits { Ok(()) } else { fail(format_args!("{:?} partitions become {}", inputs, plan.partitions)) }
}

fn check_early_stop(plan: &Plan, inputs: [&Plan; 2], params: &ColSet, produced: &mut ColSet) -> Result<()> {
    let [input, fallback] = inputs;
    // Rows come from one of them at a time, under the same names.
    let mut others = produced.clone();
    check(input, params, produced)?;
    check(fallback, params, &mut others)?;
    produced.extend(others);
    if !matches!(&input.op, PlanOp::Scan(scan) if scan.ordered && scan.limit.is_some()) {
        return fail("an early stop of something else than an ordered scan with a limit");
    }
    match input.output == plan.output && fallback.output == plan.output {
        true => check_partitions(plan),
        false => fail("an early stop and its fallback have other columns"),
    }
}

fn check_scan(scan: &Scan, params: &ColSet, produced: &mut ColSet) -> Result<()> {
    let all = scan.columns.iter().chain(&scan.filter_columns);
    if scan.index >= scan.table.indexes.len() || all.clone().any(|(_, c)| scan.table.readable_type(*c).is_none()) {
        return fail("Scan of an index or a column that the table does not have");
    }
    let parts = scan.table.key_parts(scan.index).len();
    let prefix_fits = scan.distinct_prefix.is_none_or(|n| (1..=parts).contains(&n) && scan.limit.is_none());
    if scan.steering.len() > parts || !prefix_fits {
        return fail("Scan that skips by parts that the key does not have, or that stops early");
    }
    produce(all.clone().map(|(id, _)| *id), produced)?;
    let known: ColSet = all.map(|(id, _)| *id).chain(params.iter().copied()).collect();
    let conditions = || scan.index_condition.iter().chain(&scan.filter);
    if conditions().any(Expr::has_subquery) {
        return fail("Scan with a subquery");
    }
    let in_index = |id: &ColId| {
        let mut all = scan.columns.iter().chain(&scan.filter_columns);
        all.all(|(c, column)| c != id || scan.table.index_has_column(scan.index, *column))
    };
    if !exprs_columns(&scan.index_condition).iter().all(in_index) {
        return fail("an index condition over columns that the index does not have");
    }
    check_exprs(conditions(), &known)
}

fn check_join(kind: JoinKind, left: &[ColId], right: &[ColId], output: &ColSet) -> Result<()> {
    let mut available = set(left);
    if matches!(kind, JoinKind::Inner | JoinKind::Left) {
        available.extend(right);
    }
    if !output.is_subset(&available) {
        return fail("a join delivers columns that its inputs do not have");
    }
    if left.iter().any(|id| right.contains(id)) {
        return fail("both sides of a join deliver the same column");
    }
    Ok(())
}

fn call_exprs(call: &AggregateCall) -> Vec<&Expr> {
    let order = match &call.function {
        muster_algebra::AggregateFunction::GroupConcat { order, .. } => order.as_slice(),
        _ => &[],
    };
    call.args.iter().chain(order.iter().map(|k| &k.expr)).collect()
}

fn check_keys(keys: &[SortKey], known: &ColSet) -> Result<()> {
    check_exprs(keys.iter().map(|k| &k.expr), known)
}

fn check_exprs<'a>(exprs: impl IntoIterator<Item = &'a Expr>, known: &ColSet) -> Result<()> {
    for expr in exprs {
        if let Some(id) = expr_columns(expr).difference(known).next() {
            return fail(format_args!("an expression mentions column {}, which no input delivers", id.0));
        }
        let mut outcome = Ok(());
        expr.visit(&mut |e| match e {
            Expr::Subquery(_) => outcome = fail("a subquery was left over"),
            Expr::Subplan(p) if outcome.is_ok() => {
                let params: ColSet = known.iter().chain(&p.params).copied().collect();
                // A copied expression copies its subplan; each runs by itself.
                outcome = check(&p.plan, &p.params.iter().copied().collect(), &mut ColSet::new());
                if outcome.is_ok() && !set(&p.params).is_subset(&params) {
                    outcome = fail("a parameter of a subplan is not known");
                }
                if outcome.is_ok() && p.outputs.iter().any(|id| !p.plan.output.contains(id)) {
                    outcome = fail("a subplan does not deliver its outputs");
                }
            }
            _ => {}
        });
        outcome?;
    }
    Ok(())
}

#[cfg(test)]
mod broken_tests;
