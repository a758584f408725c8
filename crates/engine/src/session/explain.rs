//! EXPLAIN: the plan as a tree, as a table, as JSON; with ANALYZE what its run took.

use super::{Context, query, run::blocking};
use crate::{
    Outcome,
    rows::{self, text_column},
};
use futures::StreamExt;
use muster_algebra::{Expr, Plan, PlanOp, Scan};
use muster_sql::{Explain, ExplainFormat, Statement};
use muster_types::{IntWidth, KeyRange, Result, SqlError, SqlType, Value};
use std::{collections::HashSet, ops::Bound, sync::Arc, time::Instant};

pub async fn explain(context: &Arc<Context>, explain: &Explain, parameters: &[Value]) -> Result<Outcome> {
    let Statement::Query(query) = &*explain.statement else {
        return Err(SqlError::unsupported("EXPLAIN of a statement other than SELECT"));
    };
    let (planning, query, parameters) = (context.clone(), query.clone(), parameters.to_vec());
    let planned = blocking(move || query::plan(&planning, &query, &parameters)).await?;
    let format =
        explain.format.unwrap_or_else(|| match (explain.analyze, &*context.variables.text("explain_format")) {
            (true, _) | (_, "TREE") => ExplainFormat::Tree,
            (_, "JSON") => ExplainFormat::Json,
            _ => ExplainFormat::Traditional,
        });
    let columns = vec![text_column("EXPLAIN", u32::MAX / 4)];
    let one = |text: String| rows::outcome(columns.clone(), &[vec![Value::Text(text)]]);
    match (explain.analyze, format) {
        (true, ExplainFormat::Tree) => {
            let tree = muster_algebra::explain::tree(&planned.plan, &planned.columns);
            let since = Instant::now();
            let pages = context.shared.counters.pages_read();
            let read = context.shared.counters.rows_read();
            let mut result = query::run(context, planned, None)?;
            let mut found = 0;
            while let Some(batch) = result.rows.next().await {
                found += batch?.num_rows();
            }
            let ms = since.elapsed().as_secs_f64() * 1000.0;
            let pages = context.shared.counters.pages_read() - pages;
            let read = context.shared.counters.rows_read() - read;
            one(format!("-> (actual time={ms:.3} ms rows={found} rows_read={read} pages_read={pages})\n{tree}"))
        }
        (true, _) => Err(SqlError::unsupported("EXPLAIN ANALYZE with a format other than TREE")),
        (false, ExplainFormat::Tree) => one(muster_algebra::explain::tree(&planned.plan, &planned.columns)),
        (false, ExplainFormat::Json) => {
            let json = serde_json::json!({ "plan": planned.plan, "columns": planned.columns });
            one(serde_json::to_string_pretty(&json).map_err(SqlError::internal)?)
        }
        (false, ExplainFormat::Traditional) => traditional(&planned.plan),
    }
}

/// One line of EXPLAIN.
struct Line<'a> {
    id: u64,
    select_type: &'static str,
    scan: Option<&'a Scan>,
    rows: f64,
    extra: Vec<String>,
}

/// MySQL's table: a line for each table that is read, in the order of the plan.
fn traditional(plan: &Plan) -> Result<Outcome> {
    let mut lines = Vec::new();
    let has_subplan = collect(plan, 1, false, &mut Vec::new(), &mut lines);
    if lines.is_empty() {
        lines.push(Line { id: 1, select_type: "SIMPLE", scan: None, rows: 0.0, extra: vec!["No tables used".into()] });
    }
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
    let values: Vec<Vec<Value>> = lines.iter().map(|line| values(line, has_subplan)).collect();
    rows::outcome(columns, &values)
}

fn values(line: &Line, has_subplan: bool) -> Vec<Value> {
    let text = |s: String| if s.is_empty() { Value::Null } else { Value::Text(s) };
    let select_type = match line.select_type {
        "SIMPLE" if has_subplan => "PRIMARY",
        other => other,
    };
    let mut row = vec![Value::UInt(line.id), Value::Text(select_type.into())];
    let Some(scan) = line.scan else {
        row.extend(std::iter::repeat_n(Value::Null, 9));
        row.push(text(line.extra.join("; ")));
        return row;
    };
    let index = &scan.table.indexes[scan.index];
    let whole = scan.ranges.iter().all(|r| *r == KeyRange::all());
    let points = scan.ranges.iter().all(is_point);
    let used = scan.ranges.iter().map(used_parts).max().unwrap_or(0);
    let access = match () {
        () if whole && scan.index == 0 => "ALL",
        () if whole => "index",
        () if points && index.unique && used == index.parts.len() && scan.ranges.len() == 1 => "const",
        () if points && scan.ranges.len() == 1 => "ref",
        () => "range",
    };
    let uses_key = access != "ALL";
    let key = if uses_key { index.name.clone() } else { String::new() };
    let key_bytes: u64 = index
        .parts
        .iter()
        .take(if whole { index.parts.len() } else { used })
        .map(|p| {
            let column = &scan.table.columns[p.column];
            crate::ddl::key_bytes(&column.ty, p.prefix) + u64::from(column.nullable)
        })
        .sum();
    let mut extra = line.extra.clone();
    if !scan.filter.is_empty() {
        extra.insert(0, "Using where".into());
    }
    if uses_key && scan.index != 0 && scan.is_covering() {
        extra.push("Using index".into());
    }
    if scan.reverse {
        extra.push("Backward index scan".into());
    }
    row.extend([
        Value::Text(scan.alias.clone()),
        Value::Null,
        Value::Text(access.into()),
        text(if whole { String::new() } else { key.clone() }),
        text(key),
        text(if uses_key { key_bytes.to_string() } else { String::new() }),
        text(if matches!(access, "const" | "ref") { vec!["const"; used].join(",") } else { String::new() }),
        Value::UInt(line.rows.max(0.0).round() as u64),
        Value::Double(100.0),
        text(extra.join("; ")),
    ]);
    row
}

fn is_point(range: &KeyRange) -> bool {
    matches!((&range.lower, &range.upper), (Bound::Included(a), Bound::Included(b)) if a == b)
}

fn used_parts(range: &KeyRange) -> usize {
    let parts = |b: &Bound<Vec<Value>>| match b {
        Bound::Included(v) | Bound::Excluded(v) => v.len(),
        Bound::Unbounded => 0,
    };
    parts(&range.lower).max(parts(&range.upper))
}

/// Adds the scans below a node; whether there are subplans among them. `notes`: what the nodes above do.
fn collect<'a>(plan: &'a Plan, id: u64, subquery: bool, notes: &mut Vec<String>, lines: &mut Vec<Line<'a>>) -> bool {
    let select_type = if subquery { "SUBQUERY" } else { "SIMPLE" };
    match &plan.op {
        PlanOp::Scan(scan) => {
            let extra = std::mem::take(notes);
            lines.push(Line { id, select_type, scan: Some(scan), rows: plan.estimate.rows, extra });
        }
        PlanOp::HashAggregate { group, .. } if !group.is_empty() => notes.push("Using temporary".into()),
        PlanOp::Sort { .. } => notes.push("Using filesort".into()),
        _ => {}
    }
    let mut found = false;
    for (i, input) in plan.inputs().into_iter().enumerate() {
        let before = lines.len();
        found |= collect(input, id, subquery, notes, lines);
        // Every table after the first one is joined to those before it.
        if i > 0
            && let (PlanOp::HashJoin { .. }, Some(line)) = (&plan.op, lines.get_mut(before))
        {
            line.extra.push("Using join buffer (hash join)".into());
        }
    }
    for subplan in subplans(plan) {
        collect(subplan, id + 1, true, &mut Vec::new(), lines);
        found = true;
    }
    found
}

fn subplans(plan: &Plan) -> Vec<&Plan> {
    let exprs: Vec<&Expr> = match &plan.op {
        PlanOp::Filter { predicates, .. } => predicates.iter().collect(),
        PlanOp::Project { exprs, .. } => exprs.iter().map(|(_, e)| e).collect(),
        PlanOp::HashJoin { residual, .. } | PlanOp::MergeJoin { residual, .. } => residual.iter().collect(),
        PlanOp::NestedLoopJoin { on, .. } => on.iter().collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for expr in exprs {
        expr.visit(&mut |e| {
            if let Expr::Subplan(s) = e
                && seen.insert(std::ptr::from_ref(&*s.plan))
            {
                found.push(&*s.plan);
            }
        });
    }
    found
}
