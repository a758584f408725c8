//! A plan as JSON: one object per line of the tree, with its inputs inside.

use crate::{
    access::TableAccess,
    analyze::counted,
    tree::{self, ExplainLine},
};
use muster_algebra::{Actual, Columns, NodeId, Plan, PlanOp};
use serde_json::{Map, Value as Json, json};
use std::iter::Peekable;

/// `EXPLAIN FORMAT=JSON`, with names as MySQL's format 2 has them.
pub fn json(plan: &Plan, columns: &Columns) -> serde_json::Result<String> {
    print(plan, columns, None)
}

/// `actual`: what a node did, if the plan has run.
pub(crate) fn print(
    plan: &Plan,
    columns: &Columns,
    actual: Option<&dyn Fn(NodeId) -> Actual>,
) -> serde_json::Result<String> {
    let mut lines = tree::lines(plan, columns).into_iter().peekable();
    let root = object(&mut lines, actual);
    serde_json::to_string_pretty(&json!({ "query_plan": root }))
}

/// The next line with those below it.
fn object<'a>(
    lines: &mut Peekable<impl Iterator<Item = ExplainLine<'a>>>,
    actual: Option<&dyn Fn(NodeId) -> Actual>,
) -> Option<Json> {
    let line = lines.next()?;
    let mut object = Map::new();
    object.insert("operation".into(), line.text.into());
    if let Some(access) = &line.access {
        add_access(access, &mut object);
    }
    if let Some(node) = line.node {
        object.insert("node".into(), node.id.0.into());
        if let PlanOp::EarlyStop { budget, .. } = &node.op {
            object.insert("budget_cost".into(), budget.cost_ms.into());
            object.insert("budget_entry_cost".into(), budget.entry_ms.into());
            object.insert("budget_fetch_cost".into(), budget.fetch_ms.into());
            object.insert("budget_page_cost".into(), budget.page_ms.into());
        }
        object.insert("partitions".into(), node.partitions.into());
        object.insert("estimated_total_cost".into(), node.estimate.cost_ms.into());
        object.insert("estimated_rows".into(), node.estimate.rows.into());
        if let Some(actual) = actual {
            add_actual(&actual(node.id), &mut object);
        }
    }
    let mut inputs = Vec::new();
    while lines.peek().is_some_and(|next| next.depth > line.depth) {
        inputs.extend(self::object(lines, actual));
    }
    if !inputs.is_empty() {
        object.insert("inputs".into(), inputs.into());
    }
    Some(Json::Object(object))
}

fn add_access(access: &TableAccess<'_>, object: &mut Map<String, Json>) {
    let scan = access.scan;
    object.insert("schema_name".into(), scan.table.database.as_str().into());
    object.insert("table_name".into(), scan.table.name.as_str().into());
    object.insert("alias".into(), scan.alias.as_str().into());
    object.insert("access_type".into(), access.mysql_type().into());
    if let Some(index) = access.index_name() {
        object.insert("index_name".into(), index.into());
        object.insert("covering".into(), scan.is_covering().into());
    }
}

fn add_actual(actual: &Actual, object: &mut Map<String, Json>) {
    object.insert("actual_loops".into(), actual.loops.into());
    if actual.loops > 0 {
        object.insert("actual_rows".into(), (actual.rows as f64 / actual.loops as f64).into());
        object.insert("actual_first_row_ms".into(), actual.first_ms.into());
        object.insert("actual_last_row_ms".into(), actual.last_ms.into());
    }
    object.extend(counted(actual).into_iter().map(|(name, n)| (name.to_string(), n.into())));
}
