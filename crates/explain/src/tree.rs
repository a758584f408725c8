//! A plan as a tree, in the manner of MySQL's `EXPLAIN FORMAT=TREE`: one line per operator, inputs indented by four
//! spaces.
//!
//! Projections have no line, as in MySQL. Costs are milliseconds.

use crate::{
    access::{Entries, ScanMode, TableAccess},
    key_range,
};
use muster_algebra::{
    AggregateCall, ColId, Columns, ExchangeKind, Expr, JoinKind, Plan, PlanOp, Rollup, RowFetch, Scan, ScanBudget,
    Side, SortKey, Subplan, Window,
    expr_text::{Printer, column_name},
};
use std::{borrow::Borrow, fmt::Write};

/// The plan as a tree, each line with its estimates, ending in a newline.
pub fn tree(plan: &Plan, columns: &Columns) -> String {
    tree_with(plan, columns, &|p| {
        Some(format!("(cost={} rows={})", figure(p.estimate.cost.total_ms()), figure(p.estimate.rows)))
    })
}

/// Prints a plan as [`tree`] does; `note` returns what stands behind each operator: estimates, or what really happened.
pub fn tree_with(plan: &Plan, columns: &Columns, note: &dyn Fn(&Plan) -> Option<String>) -> String {
    let mut out = String::new();
    for line in lines(plan, columns) {
        let note = line.node.and_then(note).map(|n| format!("  {n}")).unwrap_or_default();
        let _ = writeln!(out, "{:width$}-> {}{note}", "", line.text, width = line.depth * 4);
    }
    out
}

/// One line of the tree.
pub struct ExplainLine<'a> {
    /// A line's inputs follow it and are one deeper.
    pub depth: usize,
    pub text: String,
    /// The operator; `None` for a part of one (`Hash`, a lookup) and for the heads of subqueries.
    pub node: Option<&'a Plan>,
    /// How a table is read, where the line stands for one.
    pub access: Option<TableAccess<'a>>,
}

/// The lines of [`tree`], top down.
pub fn lines<'a>(plan: &'a Plan, columns: &'a Columns) -> Vec<ExplainLine<'a>> {
    let mut tree = Tree { columns, subplans: Vec::new(), shared: Vec::new(), out: Vec::new() };
    tree.plan(plan, 0);
    tree.out
}

/// A number in at most about nine characters.
pub fn figure(x: f64) -> String {
    if x != 0.0 && !(0.01..1e9).contains(&x.abs()) {
        format!("{x:.2e}")
    } else if x.fract() == 0.0 {
        format!("{x}")
    } else if x.abs() < 100.0 {
        format!("{x:.2}")
    } else {
        format!("{x:.0}")
    }
}

struct Tree<'a> {
    columns: &'a Columns,
    /// Numbered from 2 in this order.
    subplans: Vec<*const Subplan>,
    /// Shared rows whose plan is printed already.
    shared: Vec<usize>,
    out: Vec<ExplainLine<'a>>,
}

impl<'a> Tree<'a> {
    fn plan(&mut self, plan: &'a Plan, depth: usize) {
        let found = subplans_of(plan);
        self.subplans.extend(found.iter().map(|s| *s as *const Subplan));
        let below = match &plan.op {
            PlanOp::Project { input, .. } => {
                self.plan(input, depth);
                depth
            }
            op => {
                let text = self.operator(plan, op);
                let access = match op {
                    PlanOp::Scan(scan) => Some(TableAccess::of_scan(scan)),
                    _ => None,
                };
                self.out.push(ExplainLine { depth, text, node: Some(plan), access });
                self.inputs(op, depth + 1);
                depth + 1
            }
        };
        let place = match &plan.op {
            PlanOp::Project { .. } | PlanOp::Values { .. } => "projection",
            _ => "condition",
        };
        for subplan in found {
            let when = if subplan.params.is_empty() { "run only once" } else { "dependent" };
            let number = self.number(subplan);
            self.line(below, format!("Select #{number} (subquery in {place}; {when})"));
            self.plan(&subplan.plan, below + 1);
        }
    }

    fn inputs(&mut self, op: &'a PlanOp, depth: usize) {
        match op {
            PlanOp::Scan(_) | PlanOp::Values { .. } | PlanOp::Working { .. } => {}
            PlanOp::Filter { input, .. }
            | PlanOp::Project { input, .. }
            | PlanOp::HashAggregate { input, .. }
            | PlanOp::PartialAggregate { input, .. }
            | PlanOp::FinalAggregate { input, .. }
            | PlanOp::Exchange { input, .. }
            | PlanOp::StreamAggregate { input, .. }
            | PlanOp::Rollup { input, .. }
            | PlanOp::Window { input, .. }
            | PlanOp::Recursive { input, .. }
            | PlanOp::Sort { input, .. }
            | PlanOp::Lateral { input, .. }
            | PlanOp::JsonTable { input, .. }
            | PlanOp::Limit { input, .. } => self.plan(input, depth),
            PlanOp::EarlyStop { input, fallback, .. } => {
                self.plan(input, depth);
                self.line(depth, "Fallback".into());
                self.plan(fallback, depth + 1);
            }
            PlanOp::HashJoin { left, right, build, .. } => {
                let (probe, build) = if *build == Side::Left { (right, left) } else { (left, right) };
                self.plan(probe, depth);
                self.line(depth, "Hash".into());
                self.plan(build, depth + 1);
            }
            PlanOp::LookupJoin { left, lookup, keys, entry_condition, batched, .. } => {
                if *batched {
                    self.line(depth, "Batch input rows".into());
                    self.plan(left, depth + 1);
                } else {
                    self.plan(left, depth);
                }
                let text = self.lookup(lookup, keys, entry_condition, *batched);
                let access = Some(TableAccess::of_lookup(lookup, keys));
                self.out.push(ExplainLine { depth, text, node: None, access });
            }
            PlanOp::NestedLoopJoin { left, right, .. } | PlanOp::MergeJoin { left, right, .. } => {
                self.plan(left, depth);
                self.plan(right, depth);
            }
            PlanOp::UnionAll { inputs, .. } => inputs.iter().for_each(|i| self.plan(i, depth)),
            PlanOp::Shared { id, input, .. } => {
                if !self.shared.contains(id) {
                    self.shared.push(*id);
                    self.plan(input, depth);
                }
            }
        }
    }

    /// `from`, `to`: partitions below and above the exchange.
    fn exchange(&self, kind: &ExchangeKind, from: usize, to: usize) -> String {
        match kind {
            ExchangeKind::Gather => format!("Exchange: gather {from} partitions"),
            ExchangeKind::Concatenate => format!("Exchange: concatenate {from} partitions"),
            ExchangeKind::Hash { keys } => {
                let keys = self.with_printer(|p| p.list(keys));
                format!("Exchange: hash({keys}), {to} partitions")
            }
        }
    }

    fn operator(&self, plan: &Plan, op: &PlanOp) -> String {
        match op {
            PlanOp::Scan(scan) => self.scan(scan),
            PlanOp::Values { rows } => match (rows.len(), plan.output.len()) {
                (0, _) => "Zero rows".into(),
                (1, _) => "Rows fetched before execution".into(),
                (n, _) => format!("Rows fetched before execution ({n} rows)"),
            },
            PlanOp::Filter { predicates, .. } => format!("Filter: {}", self.conditions(predicates)),
            PlanOp::Project { .. } => String::new(),
            PlanOp::HashJoin { kind, keys, residual, .. } => {
                let name = match kind {
                    JoinKind::Inner => "Inner hash join",
                    JoinKind::Left => "Left hash join",
                    JoinKind::Semi => "Hash semijoin",
                    JoinKind::Anti => "Hash antijoin",
                    JoinKind::NullAwareAnti => "Hash antijoin (null-aware)",
                };
                format!("{name} {}", self.join_keys(keys, residual))
            }
            PlanOp::MergeJoin { kind, keys, residual, .. } => {
                let name = match kind {
                    JoinKind::Inner => "Inner merge join",
                    JoinKind::Left => "Left merge join",
                    JoinKind::Semi => "Merge semijoin",
                    JoinKind::Anti => "Merge antijoin",
                    JoinKind::NullAwareAnti => "Merge antijoin (null-aware)",
                };
                format!("{name} {}", self.join_keys(keys, residual))
            }
            PlanOp::LookupJoin { kind, residual, batched, key_ordered, .. } => {
                let name = match (batched, key_ordered) {
                    (true, true) => "Batched key access",
                    (true, false) => "Batched key access (unsorted)",
                    (false, _) => "Nested loop",
                };
                let kind = match kind {
                    JoinKind::Inner => "inner join",
                    JoinKind::Left => "left join",
                    JoinKind::Semi => "semijoin",
                    JoinKind::Anti => "antijoin",
                    JoinKind::NullAwareAnti => "antijoin (null-aware)",
                };
                match residual.as_slice() {
                    [] => format!("{name} {kind}"),
                    residual => format!("{name} {kind}, extra conditions: {}", self.conditions(residual)),
                }
            }
            PlanOp::NestedLoopJoin { kind, on, .. } => {
                let name = match kind {
                    JoinKind::Inner => "Nested loop inner join",
                    JoinKind::Left => "Nested loop left join",
                    JoinKind::Semi => "Nested loop semijoin",
                    JoinKind::Anti => "Nested loop antijoin",
                    JoinKind::NullAwareAnti => "Nested loop antijoin (null-aware)",
                };
                if on.is_empty() { name.into() } else { format!("{name} on {}", self.conditions(on)) }
            }
            PlanOp::HashAggregate { group, aggregates, .. } if group.is_empty() => {
                format!("Aggregate{}", self.aggregates(group, aggregates))
            }
            PlanOp::HashAggregate { group, aggregates, .. } => {
                format!("Aggregate using hash{}", self.aggregates(group, aggregates))
            }
            PlanOp::PartialAggregate { group, aggregates, .. } => {
                format!("Partial aggregate{}{}", using_hash(group), self.aggregates(group, aggregates))
            }
            PlanOp::FinalAggregate { group, aggregates, .. } => {
                format!("Final aggregate{}{}", using_hash(group), self.aggregates(group, aggregates))
            }
            PlanOp::Exchange { kind, input } => self.exchange(kind, input.partitions, plan.partitions),
            PlanOp::StreamAggregate { group, aggregates, .. } => {
                format!("Group aggregate{}", self.aggregates(group, aggregates))
            }
            PlanOp::Rollup { rollup, .. } => self.rollup(rollup),
            PlanOp::Window { window, .. } => self.window(window),
            PlanOp::Sort { keys, fetch, .. } => self.sort(keys, *fetch),
            PlanOp::Limit { offset, count, .. } => limit(*offset, *count),
            PlanOp::EarlyStop { budget, .. } => early_stop(budget),
            PlanOp::Lateral { .. } | PlanOp::JsonTable { .. } | PlanOp::UnionAll { .. } => plain_name(op),
            PlanOp::Working { .. } | PlanOp::Recursive { .. } => plain_name(op),
            PlanOp::Shared { id, .. } if self.shared.contains(id) => {
                format!("Materialize shared rows #{id} if needed (query plan printed elsewhere)")
            }
            PlanOp::Shared { id, .. } => format!("Materialize shared rows #{id} if needed"),
        }
    }

    fn sort(&self, keys: &[SortKey], fetch: Option<u64>) -> String {
        let limit = fetch.map(|n| format!(", limit input to {n} row(s) per chunk")).unwrap_or_default();
        format!("Sort: {}{limit}", self.sort_keys(keys))
    }

    fn rollup(&self, rollup: &Rollup) -> String {
        let keys: Vec<Expr> = rollup.sources().map(Expr::Column).collect();
        format!("Roll up: {}", self.with_printer(|p| p.list(&keys)))
    }

    fn window(&self, window: &Window) -> String {
        let expr = |e: &Expr| self.with_printer(|p| p.list(std::slice::from_ref(e)));
        let sort_key = |key: &SortKey| self.sort_keys(std::slice::from_ref(key));
        let calls: Vec<String> =
            crate::window::calls(window, &expr, &sort_key, true).into_iter().map(|(_, text)| text).collect();
        let limit = window.limit.map(|(_, most)| format!(", limit to place {most} of each partition"));
        format!("{}: {}{}", crate::window::operator(window), calls.join(", "), limit.unwrap_or_default())
    }

    fn scan(&self, scan: &Scan) -> String {
        let (table, index) = (&scan.alias, &scan.table.indexes[scan.index].name);
        let access = TableAccess::of_scan(scan);
        let ranges = || key_range::ranges_text(scan);
        let mut text = match (access.entries, access.way) {
            (Entries::None, _) => format!("No rows of {table}"),
            (Entries::All, ScanMode::Loose) => format!("Index skip scan for grouping on {table} using {index}"),
            (_, ScanMode::Loose) => format!("Index skip scan for grouping on {table} using {index} over {}", ranges()),
            (_, ScanMode::Skip) => {
                let over = key_range::steering_text(scan);
                format!("Index skip scan on {table} using {index} over {over}")
            }
            (Entries::All, ScanMode::Sequential) if scan.index == 0 && !scan.ordered => {
                format!("Table scan on {table}")
            }
            (Entries::All, ScanMode::Sequential) => format!("Index scan on {table} using {index}"),
            (Entries::Row, ScanMode::Sequential) => {
                format!("Single-row index lookup on {table} using {index} {}", ranges())
            }
            (Entries::Lookup, ScanMode::Sequential) => format!("Index lookup on {table} using {index} {}", ranges()),
            (Entries::LookupOrNull | Entries::Ranges, ScanMode::Sequential) => {
                format!("Index range scan on {table} using {index} over {}", ranges())
            }
        };
        if !scan.steering.is_empty() && access.way != ScanMode::Skip {
            let _ = write!(text, ", skipping to {}", key_range::steering_text(scan));
        }
        if access.is_index_only() {
            // "Covering index scan", "Single-row covering index lookup".
            text = text.replacen("index", "covering index", 1).replacen("Index", "Covering index", 1);
        }
        if scan.reverse {
            text.push_str(" (reverse)");
        }
        text.push_str(&self.pushed_conditions(scan, &[]));
        if let Some(n) = scan.limit {
            let _ = write!(text, ", limit {n} row(s)");
        }
        text
    }

    /// `joined`: further index conditions, over the rows that the lookup is for.
    fn pushed_conditions(&self, scan: &Scan, joined: &[Expr]) -> String {
        let mut text = String::new();
        let on_entries: Vec<&Expr> = scan.index_condition.iter().chain(joined).collect();
        if !on_entries.is_empty() {
            let _ = write!(text, ", with index condition: {}", self.conditions(&on_entries));
        }
        if !scan.filter.is_empty() {
            let _ = write!(text, ", with pushed condition: {}", self.conditions(&scan.filter));
        }
        if !scan.is_covering() && scan.fetch == RowFetch::KeyOrder {
            text.push_str(", with multi-range read");
        }
        text
    }

    /// The right side of a lookup join.
    fn lookup(&self, scan: &Scan, keys: &[Expr], entry_condition: &[Expr], batched: bool) -> String {
        let index = &scan.table.indexes[scan.index];
        let described = TableAccess::of_lookup(scan, keys);
        let covering = if described.is_index_only() { "covering " } else { "" };
        let access = match (batched, described.entries) {
            (true, _) => format!("Multi-range {covering}index lookup"),
            (false, Entries::Row) => format!("Single-row {covering}index lookup"),
            (false, _) if covering.is_empty() => "Index lookup".to_string(),
            (false, _) => "Covering index lookup".to_string(),
        };
        let pairs: Vec<String> = scan
            .table
            .key_parts(scan.index)
            .iter()
            .zip(keys)
            .map(|(part, key)| format!("{}={}", scan.table.columns[part.column].name, self.inner(key)))
            .collect();
        let conditions = self.pushed_conditions(scan, entry_condition);
        format!("{access} on {} using {} ({}){conditions}", scan.alias, index.name, pairs.join(", "))
    }

    fn join_keys(&self, keys: &[(Expr, Expr)], residual: &[Expr]) -> String {
        let pairs: Vec<String> = keys.iter().map(|(a, b)| format!("({} = {})", self.inner(a), self.inner(b))).collect();
        let mut text = if pairs.is_empty() { "(no condition)".into() } else { pairs.join(", ") };
        if !residual.is_empty() {
            let _ = write!(text, ", extra conditions: {}", self.conditions(residual));
        }
        text
    }

    fn aggregates(&self, group: &[ColId], aggregates: &[(ColId, AggregateCall)]) -> String {
        let mut text = String::new();
        if !group.is_empty() {
            let names: Vec<String> = group.iter().map(|id| column_name(self.columns, *id)).collect();
            let _ = write!(text, " (group by {})", names.join(", "));
        }
        if !aggregates.is_empty() {
            let calls: Vec<String> =
                aggregates.iter().map(|(_, call)| self.with_printer(|p| p.aggregate(call))).collect();
            let _ = write!(text, ": {}", calls.join(", "));
        }
        text
    }

    fn sort_keys(&self, keys: &[SortKey]) -> String {
        self.with_printer(|p| p.sort_keys(keys))
    }

    /// All together, in parentheses.
    fn conditions<E: Borrow<Expr>>(&self, conditions: &[E]) -> String {
        match conditions {
            [single] => {
                let text = self.inner(single.borrow());
                if text.starts_with('(') { text } else { format!("({text})") }
            }
            many => format!("({})", many.iter().map(|c| self.inner(c.borrow())).collect::<Vec<_>>().join(" and ")),
        }
    }

    fn inner(&self, expr: &Expr) -> String {
        self.with_printer(|p| p.expr(expr))
    }

    fn with_printer(&self, print: impl FnOnce(&Printer<'_>) -> String) -> String {
        let name = |id| column_name(self.columns, id);
        let subplan = |s: &Subplan| format!("(select #{})", self.number(s));
        print(&Printer { name: &name, subplan: &subplan, subquery: &|_| "(select)".into() })
    }

    fn number(&self, subplan: &Subplan) -> usize {
        let position = self.subplans.iter().position(|s| std::ptr::eq(*s, subplan));
        position.map_or(0, |i| i + 2)
    }

    fn line(&mut self, depth: usize, text: String) {
        self.out.push(ExplainLine { depth, text, node: None, access: None });
    }
}

/// The name of an operator of which nothing else is told.
fn limit(offset: u64, count: Option<u64>) -> String {
    match (offset, count) {
        (0, Some(n)) => format!("Limit: {n} row(s)"),
        (_, Some(n)) => format!("Limit/Offset: {n}/{offset} row(s)"),
        (_, None) => format!("Offset: {offset} row(s)"),
    }
}

fn plain_name(op: &PlanOp) -> String {
    let name = match op {
        PlanOp::Working { name, .. } => return format!("Scan new records on {name}"),
        PlanOp::Recursive { .. } => "Repeat until convergence",
        PlanOp::Lateral { keeps: false, .. } => "Nested loop inner join with a lateral derived table",
        PlanOp::Lateral { .. } => "Nested loop left join with a lateral derived table",
        PlanOp::JsonTable { input, table, keeps } => {
            let name = &table.alias;
            return match (&input.op, keeps) {
                (PlanOp::Values { .. }, _) => format!("Materialize table function {name}"),
                (_, false) => format!("Nested loop inner join with table function {name}"),
                (_, true) => format!("Nested loop left join with table function {name}"),
            };
        }
        _ => "Append",
    };
    name.into()
}

/// The budget as a cost, and as the number of entries that it is enough for if nothing else costs anything.
fn early_stop(budget: &ScanBudget) -> String {
    let entries = (budget.cost_ms / budget.entry_ms.max(f64::MIN_POSITIVE)).round();
    format!(
        "Stop early, or go over to the fallback beyond a cost of {} ({} entries)",
        figure(budget.cost_ms),
        figure(entries)
    )
}

/// The subplans in a node's own expressions; those on the left of `IN` and comparisons come first.
fn subplans_of(plan: &Plan) -> Vec<&Subplan> {
    let mut found = Vec::new();
    for expr in own_exprs(&plan.op) {
        expr.visit(&mut |e| {
            if let Expr::Subplan(s) = e {
                found.push(&**s);
            }
        });
    }
    found
}

fn using_hash(group: &[ColId]) -> &'static str {
    if group.is_empty() { "" } else { " using hash" }
}

fn own_exprs(op: &PlanOp) -> Vec<&Expr> {
    fn pairs(keys: &[(Expr, Expr)]) -> impl Iterator<Item = &Expr> {
        keys.iter().flat_map(|(a, b)| [a, b])
    }
    match op {
        PlanOp::Scan(scan) => scan.index_condition.iter().chain(&scan.filter).collect(),
        PlanOp::LookupJoin { keys, residual, .. } => keys.iter().chain(residual).collect(),
        PlanOp::Values { rows } => rows.iter().flatten().collect(),
        PlanOp::Filter { predicates, .. } => predicates.iter().collect(),
        PlanOp::Project { exprs, .. } => exprs.iter().map(|(_, e)| e).collect(),
        PlanOp::HashJoin { keys, residual, .. } | PlanOp::MergeJoin { keys, residual, .. } => {
            pairs(keys).chain(residual).collect()
        }
        PlanOp::NestedLoopJoin { on, .. } => on.iter().collect(),
        PlanOp::Lateral { rows, .. } => vec![rows],
        PlanOp::JsonTable { table, .. } => vec![&table.document],
        PlanOp::HashAggregate { aggregates, .. }
        | PlanOp::PartialAggregate { aggregates, .. }
        | PlanOp::StreamAggregate { aggregates, .. } => aggregates.iter().flat_map(|(_, a)| &a.args).collect(),
        PlanOp::Recursive { recursion, .. } => recursion.steps.iter().collect(),
        PlanOp::Window { window, .. } => window.exprs(),
        PlanOp::Sort { keys, .. } => keys.iter().map(|k| &k.expr).collect(),
        PlanOp::FinalAggregate { .. }
        | PlanOp::Working { .. }
        | PlanOp::Rollup { .. }
        | PlanOp::Exchange { .. }
        | PlanOp::Limit { .. }
        | PlanOp::EarlyStop { .. }
        | PlanOp::UnionAll { .. }
        | PlanOp::Shared { .. } => Vec::new(),
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
