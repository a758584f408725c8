//! A plan as MySQL's table: a line for each table that is read, in the order of the plan.

use crate::scans::{is_point, subplans};
use muster_algebra::{Columns, Expr, KeyPart, Plan, PlanOp, RowFetch, Scan, expr_text};
use muster_types::{BytesKind, KeyRange, SqlType, TextKind, Value};
use std::ops::Bound;

/// One line of EXPLAIN.
struct Line<'a> {
    id: u64,
    select_type: &'static str,
    scan: Option<&'a Scan>,
    /// Of a table whose rows are looked up: what its key is compared with.
    keys: Option<Vec<String>>,
    /// Indexes that are merged to find its rows: `union` or `intersect`.
    merged: Option<(&'static str, Vec<&'a Scan>)>,
    rows: f64,
    extra: Vec<String>,
}

/// The rows of `EXPLAIN FORMAT=TRADITIONAL`: id, select_type, table, partitions, type, possible_keys, key, key_len, ref,
/// rows, filtered, Extra.
pub fn rows(plan: &Plan, columns: &Columns) -> Vec<Vec<Value>> {
    let mut lines = Vec::new();
    let has_subplan = collect(plan, columns, 1, "SIMPLE", &mut Vec::new(), &mut lines);
    if lines.is_empty() {
        lines.push(Line {
            id: 1,
            select_type: "SIMPLE",
            scan: None,
            keys: None,
            merged: None,
            rows: 0.0,
            extra: vec!["No tables used".into()],
        });
    }
    lines.iter().map(|line| values(line, has_subplan)).collect()
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
    let access = Access::of(line, scan);
    let uses_key = access.name != "ALL";
    let (key, key_len) = match &line.merged {
        Some((_, scans)) => {
            let names: Vec<&str> = scans.iter().map(|s| s.table.indexes[s.index].name.as_str()).collect();
            let lens: Vec<String> = scans.iter().map(|s| key_bytes(s, constrained_parts(s)).to_string()).collect();
            (names.join(","), lens.join(","))
        }
        None if uses_key => (scan.table.indexes[scan.index].name.clone(), key_bytes(scan, access.parts).to_string()),
        None => (String::new(), String::new()),
    };
    let mut extra: Vec<String> = Vec::new();
    if let Some((word, _)) = &line.merged {
        extra.push(format!("Using {word}({key})"));
    }
    if !scan.index_condition.is_empty() {
        extra.push("Using index condition".into());
    }
    if !scan.filter.is_empty() {
        extra.push("Using where".into());
    }
    extra.extend(line.extra.iter().cloned());
    let covering = scan.is_covering();
    if scan.distinct_prefix.is_some() {
        extra.push("Using index for group-by".into());
    } else if skips(scan) {
        extra.push("Using index for skip scan".into());
    } else if uses_key && scan.index != 0 && covering {
        extra.push("Using index".into());
    }
    if uses_key && !covering && scan.fetch == RowFetch::KeyOrder {
        extra.push("Using MRR".into());
    }
    if scan.reverse {
        extra.push("Backward index scan".into());
    }
    row.extend([
        Value::Text(scan.alias.clone()),
        Value::Null,
        Value::Text(access.name.into()),
        text(if access.name == "index" { String::new() } else { key.clone() }),
        text(key),
        text(key_len),
        text(access.values.join(",")),
        Value::UInt(line.rows.round().max(1.0) as u64),
        Value::Double(100.0),
        text(extra.join("; ")),
    ]);
    row
}

/// How a table is read, in MySQL's words (manual 10.8.2).
struct Access {
    name: &'static str,
    /// Parts of the key that are used.
    parts: usize,
    /// What the key is compared with.
    values: Vec<String>,
}

impl Access {
    fn of(line: &Line, scan: &Scan) -> Access {
        let index = &scan.table.indexes[scan.index];
        let complete = |parts: usize| index.unique && parts >= index.parts.len();
        if line.merged.is_some() {
            return Access { name: "index_merge", parts: 0, values: Vec::new() };
        }
        if let Some(keys) = &line.keys {
            let name = if complete(keys.len()) { "eq_ref" } else { "ref" };
            return Access { name, parts: keys.len(), values: keys.clone() };
        }
        let whole = scan.ranges.iter().all(|r| *r == KeyRange::all());
        let single = scan.ranges.len() == 1 && scan.ranges.iter().all(is_point);
        let parts = constrained_parts(scan);
        let (name, parts, values) = match () {
            () if scan.distinct_prefix.is_some() => ("range", scan.distinct_prefix.unwrap_or(0).max(parts), 0),
            () if skips(scan) => ("range", scan.steering.len(), 0),
            () if whole && scan.index == 0 => ("ALL", 0, 0),
            () if whole => ("index", index.parts.len(), 0),
            () if single && complete(parts) => ("const", parts, parts),
            () if single => ("ref", parts, parts),
            () if is_value_or_null(&scan.ranges) => ("ref_or_null", parts, parts),
            () => ("range", parts, 0),
        };
        Access { name, parts, values: vec!["const".into(); values] }
    }
}

/// Whether the ranges are the keys with some values, the last of which may also be NULL.
fn is_value_or_null(ranges: &[KeyRange]) -> bool {
    let [a, b] = ranges else { return false };
    let (Bound::Included(x), Bound::Included(y)) = (&a.lower, &b.lower) else { return false };
    let (Some((last_x, rest_x)), Some((last_y, rest_y))) = (x.split_last(), y.split_last()) else { return false };
    is_point(a) && is_point(b) && rest_x == rest_y && (last_x.is_null() || last_y.is_null())
}

/// Whether a scan goes from value to value of the first parts, with conditions on later ones only.
fn skips(scan: &Scan) -> bool {
    !scan.steering.is_empty() && scan.ranges == [KeyRange::all()]
}

/// Parts of the key that ranges speak of.
fn constrained_parts(scan: &Scan) -> usize {
    scan.ranges.iter().map(used_parts).max().unwrap_or(0)
}

/// Bytes of so many parts of a scan's key, by MySQL's reckoning: one for NULL, two for a length that varies.
fn key_bytes(scan: &Scan, parts: usize) -> u64 {
    let bytes = |p: &KeyPart| {
        let column = &scan.table.columns[p.column];
        let varies = match column.ty {
            SqlType::Text { kind, .. } => kind != TextKind::Char,
            SqlType::Bytes { kind, .. } => kind != BytesKind::Binary,
            _ => false,
        };
        column.ty.key_bytes(p.prefix) + u64::from(column.nullable) + 2 * u64::from(varies)
    };
    scan.table.key_parts(scan.index).iter().take(parts).map(bytes).sum()
}

fn used_parts(range: &KeyRange) -> usize {
    let parts = |b: &Bound<Vec<Value>>| match b {
        Bound::Included(v) | Bound::Excluded(v) => v.len(),
        Bound::Unbounded => 0,
    };
    parts(&range.lower).max(parts(&range.upper))
}

/// Adds the scans below a node; whether there are subplans among them. `notes`: what the nodes above do.
fn collect<'a>(
    plan: &'a Plan,
    columns: &Columns,
    id: u64,
    select_type: &'static str,
    notes: &mut Vec<String>,
    lines: &mut Vec<Line<'a>>,
) -> bool {
    let rows = plan.estimate.rows;
    if let PlanOp::LookupJoin { left, lookup, .. } = &plan.op
        && let Some(merged) = merged_indexes(left, lookup)
    {
        let (extra, merged) = (std::mem::take(notes), Some(merged));
        lines.push(Line { id, select_type, scan: Some(lookup), keys: None, merged, rows, extra });
        return false;
    }
    match &plan.op {
        PlanOp::Scan(scan) => {
            let extra = std::mem::take(notes);
            lines.push(Line { id, select_type, scan: Some(scan), keys: None, merged: None, rows, extra });
        }
        PlanOp::HashAggregate { group, .. } if !group.is_empty() => notes.push("Using temporary".into()),
        PlanOp::Sort { .. } => notes.push("Using filesort".into()),
        PlanOp::Shared { id, .. } => notes.push(format!("Using shared rows #{id}")),
        _ => {}
    }
    let mut found = false;
    for (i, input) in plan.inputs().into_iter().enumerate() {
        let before = lines.len();
        found |= collect(input, columns, id, select_type, notes, lines);
        // Every table after the first one is joined to those before it.
        if i > 0
            && let (PlanOp::HashJoin { .. }, Some(line)) = (&plan.op, lines.get_mut(before))
        {
            line.extra.push("Using join buffer (hash join)".into());
        }
    }
    if let PlanOp::LookupJoin { left, lookup, keys, entry_condition, batched, key_ordered, incremental, .. } = &plan.op
    {
        let keys = keys.iter().map(|key| match key {
            Expr::Literal { .. } => "const".into(),
            Expr::Column(id) if !columns.get(*id).name.is_empty() => expr_text::outermost(key, columns),
            _ => "func".into(),
        });
        let by_row_id = lookup.index != 0 && !lookup.is_covering();
        let order = match (key_ordered, by_row_id) {
            (true, true) => "; Key-ordered Rowid-ordered scan",
            (true, false) => "; Key-ordered scan",
            (false, true) => "; Rowid-ordered scan",
            (false, false) => "",
        };
        let mut extra = Vec::new();
        if !entry_condition.is_empty() && lookup.index_condition.is_empty() {
            extra.push("Using index condition".to_string());
        }
        if *batched {
            let incremental = if *incremental { "incremental, " } else { "" };
            extra.push(format!("Using join buffer ({incremental}Batched Key Access){order}"));
        }
        // Rows found for one row of the tables before.
        let rows = (plan.estimate.rows / left.estimate.rows.max(1.0)).max(1.0);
        let keys = Some(keys.collect());
        lines.push(Line { id, select_type, scan: Some(lookup), keys, merged: None, rows, extra });
    }
    for subplan in subplans(plan) {
        let select_type = if subplan.params.is_empty() { "SUBQUERY" } else { "DEPENDENT SUBQUERY" };
        collect(&subplan.plan, columns, id + 1, select_type, &mut Vec::new(), lines);
        found = true;
    }
    found
}

/// The scans that give a lookup its primary keys, if they are of the same table: an index merge.
fn merged_indexes<'a>(keys: &'a Plan, lookup: &Scan) -> Option<(&'static str, Vec<&'a Scan>)> {
    fn scans<'a>(plan: &'a Plan, lookup: &Scan, found: &mut Vec<&'a Scan>) -> bool {
        match &plan.op {
            PlanOp::Scan(scan) => {
                found.push(scan);
                scan.table.id == lookup.table.id && scan.alias == lookup.alias
            }
            PlanOp::HashAggregate { .. } | PlanOp::UnionAll { .. } | PlanOp::HashJoin { .. } => {
                plan.inputs().into_iter().all(|input| scans(input, lookup, found))
            }
            _ => false,
        }
    }
    let word = match &keys.op {
        PlanOp::HashAggregate { .. } => "union",
        PlanOp::HashJoin { .. } => "intersect",
        _ => return None,
    };
    let mut found = Vec::new();
    (lookup.index == 0 && scans(keys, lookup, &mut found) && found.len() > 1).then_some((word, found))
}
