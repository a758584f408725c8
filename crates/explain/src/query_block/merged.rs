//! Operators that read one table in two steps, and are one line of EXPLAIN: primary keys from indexes, then rows.

use muster_algebra::{Plan, PlanOp, Scan};

/// The scans that deliver the primary keys of a lookup in the same table.
pub enum TwoSteps<'a> {
    /// Several indexes are merged: `union` or `intersect`.
    Merged(&'static str, Vec<&'a Scan>),
    /// The first entries of one index; the operator that delivers them.
    LateFetch(&'a Scan, &'a Plan),
}

/// How the keys of a lookup are found, if it is the second step of reading its table.
pub fn two_steps<'a>(keys: &'a Plan, lookup: &Scan) -> Option<TwoSteps<'a>> {
    if lookup.index != 0 {
        return None;
    }
    if let Some((word, scans)) = merged_indexes(keys, lookup) {
        return Some(TwoSteps::Merged(word, scans));
    }
    let mut plan = keys;
    let mut limits = false;
    loop {
        match &plan.op {
            PlanOp::Limit { input, .. } | PlanOp::Sort { input, fetch: Some(_), .. } => {
                limits = true;
                plan = input;
            }
            PlanOp::Sort { input, .. } | PlanOp::Project { input, .. } | PlanOp::Exchange { input, .. } => plan = input,
            PlanOp::Scan(scan) if (limits || scan.limit.is_some()) && is_same_table(scan, lookup) => {
                return Some(TwoSteps::LateFetch(scan, keys));
            }
            _ => return None,
        }
    }
}

fn is_same_table(scan: &Scan, lookup: &Scan) -> bool {
    scan.table.id == lookup.table.id && scan.alias == lookup.alias
}

fn merged_indexes<'a>(keys: &'a Plan, lookup: &Scan) -> Option<(&'static str, Vec<&'a Scan>)> {
    fn scans<'a>(plan: &'a Plan, lookup: &Scan, found: &mut Vec<&'a Scan>) -> bool {
        match &plan.op {
            PlanOp::Scan(scan) => {
                found.push(scan);
                is_same_table(scan, lookup)
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
    (scans(keys, lookup, &mut found) && found.len() > 1).then_some((word, found))
}

/// Returns true if rows are the first or last entries of an index, one of each: the input of MIN and MAX.
pub fn are_index_ends(plan: &Plan) -> bool {
    match &plan.op {
        PlanOp::Project { input, .. } | PlanOp::Exchange { input, .. } | PlanOp::PartialAggregate { input, .. } => {
            are_index_ends(input)
        }
        PlanOp::Limit { input, count: Some(1), .. } => is_ordered_scan(input),
        PlanOp::UnionAll { inputs, .. } => !inputs.is_empty() && inputs.iter().all(are_index_ends),
        PlanOp::Scan(scan) => scan.limit == Some(1) && scan.ordered && scan.filter.is_empty(),
        _ => false,
    }
}

fn is_ordered_scan(plan: &Plan) -> bool {
    match &plan.op {
        PlanOp::Project { input, .. } | PlanOp::Exchange { input, .. } => is_ordered_scan(input),
        PlanOp::Scan(scan) => scan.ordered && scan.filter.is_empty(),
        _ => false,
    }
}

/// The key of a plan that reads one table; `ALL` if it reads it whole.
pub fn key_of(plan: &Plan) -> String {
    let name = |scan: &Scan| crate::TableAccess::of_scan(scan).index_name().unwrap_or("ALL").to_string();
    match &plan.op {
        PlanOp::Scan(scan) => name(scan),
        PlanOp::LookupJoin { left, lookup, .. } => match two_steps(left, lookup) {
            Some(TwoSteps::Merged(_, scans)) => scans.into_iter().map(name).collect::<Vec<_>>().join(","),
            Some(TwoSteps::LateFetch(scan, _)) => name(scan),
            None => key_of(left),
        },
        _ => plan.inputs().first().map(|input| key_of(input)).unwrap_or_default(),
    }
}
