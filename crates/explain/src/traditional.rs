//! A plan as MySQL's table: a line for each table that is read, in the order of the plan.

use crate::{
    access::{Entries, ScanMode, TableAccess},
    subplans::subplans,
};
use muster_algebra::{Columns, Expr, Plan, PlanOp, RowFetch, Scan, expr_text};
use muster_types::Value;

/// One line of EXPLAIN.
struct Line<'a> {
    id: u64,
    select_type: &'static str,
    scan: Option<&'a Scan>,
    /// The values that the key of a table is compared with if its rows are looked up, and those values in MySQL's
    /// words.
    keys: Option<(&'a [Expr], Vec<String>)>,
    /// Indexes that are merged to find its rows: `union` or `intersect`.
    merged: Option<(&'static str, Vec<&'a Scan>)>,
    rows: f64,
    extra: Vec<String>,
}

/// The rows of `EXPLAIN FORMAT=TRADITIONAL`: id, select_type, table, partitions, type, possible_keys, key, key_len,
/// ref, rows, filtered, Extra.
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
    let access = match &line.keys {
        Some((keys, _)) => TableAccess::of_lookup(scan, keys),
        None => TableAccess::of_scan(scan),
    };
    let (name, key, key_len) = match &line.merged {
        Some((_, scans)) => {
            let scans: Vec<TableAccess<'_>> = scans.iter().copied().map(TableAccess::of_scan).collect();
            let names: Vec<&str> = scans.iter().filter_map(TableAccess::index_name).collect();
            let lens: Vec<String> = scans.iter().map(|scan| scan.key_bytes().to_string()).collect();
            ("index_merge", names.join(","), lens.join(","))
        }
        None => match access.index_name() {
            Some(index) => (access.mysql_type(), index.to_string(), access.key_bytes().to_string()),
            None => (access.mysql_type(), String::new(), String::new()),
        },
    };
    let uses_key = name != "ALL";
    let compared = match (&line.keys, access.entries) {
        _ if line.merged.is_some() => Vec::new(),
        (Some((_, names)), _) => names.clone(),
        (None, Entries::Row | Entries::Lookup | Entries::LookupOrNull) if access.way == ScanMode::Sequential => {
            vec!["const".to_string(); access.parts]
        }
        _ => Vec::new(),
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
    match access.way {
        ScanMode::Loose => extra.push("Using index for group-by".into()),
        ScanMode::Skip => extra.push("Using index for skip scan".into()),
        ScanMode::Sequential if access.is_index_only() => extra.push("Using index".into()),
        ScanMode::Sequential => {}
    }
    if uses_key && !scan.is_covering() && scan.fetch == RowFetch::KeyOrder {
        extra.push("Using MRR".into());
    }
    if scan.reverse {
        extra.push("Backward index scan".into());
    }
    row.extend([
        Value::Text(scan.alias.clone()),
        Value::Null,
        Value::Text(name.into()),
        text(if name == "index" { String::new() } else { key.clone() }),
        text(key),
        text(key_len),
        text(compared.join(",")),
        Value::UInt(line.rows.round().max(1.0) as u64),
        Value::Double(100.0),
        text(extra.join("; ")),
    ]);
    row
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
        PlanOp::HashAggregate { group, .. } | PlanOp::FinalAggregate { group, .. } if !group.is_empty() => {
            notes.push("Using temporary".into());
        }
        PlanOp::Sort { .. } if notes.iter().all(|note| note != "Using filesort") => notes.push("Using filesort".into()),
        PlanOp::EarlyStop { input, fallback, .. } => {
            notes.push(using_fallback(fallback, columns));
            return collect(input, columns, id, select_type, notes, lines);
        }
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
        let names = keys.iter().map(|key| match key {
            Expr::Literal { .. } | Expr::Parameter { .. } => "const".into(),
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
        let keys = Some((&**keys, names.collect()));
        lines.push(Line { id, select_type, scan: Some(lookup), keys, merged: None, rows, extra });
    }
    for subplan in subplans(plan) {
        let select_type = if subplan.params.is_empty() { "SUBQUERY" } else { "DEPENDENT SUBQUERY" };
        collect(&subplan.plan, columns, id + 1, select_type, &mut Vec::new(), lines);
        found = true;
    }
    found
}

/// The key of the fallback of a scan that stops early; `ALL` if it reads the whole table.
fn using_fallback(fallback: &Plan, columns: &Columns) -> String {
    let mut lines = Vec::new();
    collect(fallback, columns, 1, "SIMPLE", &mut Vec::new(), &mut lines);
    let key = |line: &Line<'_>| match &line.merged {
        Some((_, scans)) => {
            scans.iter().filter_map(|scan| TableAccess::of_scan(scan).index_name()).collect::<Vec<_>>().join(",")
        }
        None => line.scan.and_then(|scan| TableAccess::of_scan(scan).index_name()).unwrap_or("ALL").to_string(),
    };
    format!("Using fallback ({})", lines.first().map(key).unwrap_or_default())
}

/// The scans that give a lookup its primary keys, if they are of the same table: an index merge.
fn merged_indexes<'a>(keys: &'a Plan, lookup: &Scan) -> Option<(&'static str, Vec<&'a Scan>)> {
    fn scans<'a>(plan: &'a Plan, lookup: &Scan, found: &mut Vec<&'a Scan>) -> bool {
        match &plan.op {
            PlanOp::Scan(scan) => {
                found.push(scan);
                scan.table.id == lookup.table.id && scan.alias == lookup.alias
            }
            PlanOp::HashAggregate { .. }
            | PlanOp::PartialAggregate { .. }
            | PlanOp::FinalAggregate { .. }
            | PlanOp::Exchange { .. }
            | PlanOp::UnionAll { .. }
            | PlanOp::HashJoin { .. } => plan.inputs().into_iter().all(|input| scans(input, lookup, found)),
            _ => false,
        }
    }
    let keys = match &keys.op {
        PlanOp::Exchange { input, .. } => &**input,
        _ => keys,
    };
    let word = match &keys.op {
        PlanOp::HashAggregate { .. } | PlanOp::FinalAggregate { .. } => "union",
        PlanOp::HashJoin { .. } => "intersect",
        _ => return None,
    };
    let mut found = Vec::new();
    (lookup.index == 0 && scans(keys, lookup, &mut found) && found.len() > 1).then_some((word, found))
}
