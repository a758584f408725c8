//! One table of a query block: how it is read, what is checked on it.

use super::{BlockRole, Extra, PlanSource, QueryExpression, TableFacts};
use crate::access::{Entries, ScanMode, TableAccess};
use muster_algebra::{
    ColId, Columns, CompareOp, Cost, Expr, NodeId, Plan, RowFetch, Scan, SqlType, TableDef, Value, expr_text,
};
use std::collections::BTreeSet;

/// The table, or the rows of a query, that a line of EXPLAIN reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableName {
    /// A table under its name in the statement.
    Base(String),
    /// Rows that are computed: `<derived2>`, `<subquery2>`.
    Computed(String),
}

impl TableName {
    /// The name as EXPLAIN shows it.
    pub fn shown(&self) -> &str {
        match self {
            TableName::Base(name) | TableName::Computed(name) => name,
        }
    }
}

/// One index that a table is read through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    pub name: String,
    /// The columns of the parts that are used.
    pub parts: Vec<String>,
    /// Bytes of these parts, by MySQL's reckoning.
    pub bytes: u64,
}

/// One line of EXPLAIN.
pub struct TableLine<'a> {
    pub name: TableName,
    /// The name of computed rows in FROM.
    pub alias: Option<String>,
    /// `None` for rows that are computed.
    pub scan: Option<&'a Scan>,
    /// The operator that reads it.
    pub node: Option<NodeId>,
    /// The columns of rows that are computed.
    pub computed_columns: Vec<String>,
    /// The query whose rows the line reads.
    pub below: Option<Box<QueryExpression<'a>>>,
    /// True if another line, which reads the same rows, says what computes them.
    pub is_computed_elsewhere: bool,
    pub access_type: &'static str,
    pub possible_keys: Vec<String>,
    pub keys: Vec<KeyUse>,
    /// What the parts of the key are compared with.
    pub compared: Vec<String>,
    /// Rows read for each combination of rows of the tables before.
    pub examined: f64,
    /// Rows of the join up to this table.
    pub joined: f64,
    /// Rows of the join before this table.
    pub joined_before: f64,
    /// The cost up to this table, and without it.
    pub cost: Cost,
    pub cost_before: Cost,
    pub index_condition: Vec<Expr>,
    pub condition: Vec<Expr>,
    /// Conditions of an outer join, which decide whether its inner table has a match.
    pub join_condition: Vec<Expr>,
    pub extras: Vec<Extra>,
    /// True on the inner side of an outer, semi or anti join.
    pub is_inner: bool,
    /// What a statement does to its rows: `update`, `delete`.
    pub change: Option<&'static str>,
}

/// The values that a table's rows are looked up by.
#[derive(Clone, Copy)]
pub struct LookupKeys<'a> {
    pub keys: &'a [Expr],
    pub entry_condition: &'a [Expr],
}

impl<'a> TableLine<'a> {
    /// Rows that are computed, by themselves.
    pub fn computed(name: String, plan: &'a Plan) -> TableLine<'a> {
        let estimate = plan.estimate;
        TableLine {
            name: TableName::Computed(name),
            alias: None,
            scan: None,
            node: Some(plan.id),
            computed_columns: Vec::new(),
            below: None,
            is_computed_elsewhere: false,
            access_type: "ALL",
            possible_keys: Vec::new(),
            keys: Vec::new(),
            compared: Vec::new(),
            examined: estimate.rows,
            joined: estimate.rows,
            joined_before: 1.0,
            cost: estimate.cost,
            cost_before: Cost::ZERO,
            index_condition: Vec::new(),
            condition: Vec::new(),
            join_condition: Vec::new(),
            extras: Vec::new(),
            is_inner: false,
            change: None,
        }
    }

    /// A table that is read by itself or, with `lookup`, for each row of the tables before. `plan`: the operator that
    /// reads it.
    pub fn of_scan(
        scan: &'a Scan,
        lookup: Option<LookupKeys<'a>>,
        plan: &'a Plan,
        source: &PlanSource<'a>,
    ) -> TableLine<'a> {
        let access = match lookup {
            Some(lookup) => TableAccess::of_lookup(scan, lookup.keys),
            None => TableAccess::of_scan(scan),
        };
        let facts = source.facts.of(&scan.table, &scan.alias);
        let access_type = access.mysql_type();
        let key = access.index_name().map(|name| KeyUse {
            name: name.to_string(),
            parts: part_names(scan, access.parts),
            bytes: access.key_bytes(),
        });
        let (index_condition, condition) = match access_type {
            // MySQL has read the row, and what it checks on it.
            "const" => (Vec::new(), Vec::new()),
            _ => conditions(scan, &access, lookup, facts, source.checks_entries),
        };
        let mut extras = Vec::new();
        match access.way {
            ScanMode::Loose => extras.push(Extra::IndexForGroupBy),
            ScanMode::Skip => extras.push(Extra::IndexForSkipScan),
            ScanMode::Sequential if access.reads_keys_only() => extras.push(Extra::Index),
            ScanMode::Sequential => {}
        }
        let one_row = access_type == "const";
        if key.is_some() && !scan.is_covering() && scan.fetch == RowFetch::KeyOrder && !one_row {
            extras.push(Extra::Mrr);
        }
        if scan.reverse && access.way != ScanMode::Loose {
            extras.push(Extra::BackwardScan);
        }
        let mut line = TableLine {
            name: TableName::Base(scan.alias.clone()),
            scan: Some(scan),
            access_type,
            possible_keys: possible_keys(scan, &access, facts),
            keys: key.into_iter().collect(),
            compared: compared(&access, lookup, source.columns),
            examined: examined(scan, &access, plan, source),
            index_condition,
            condition,
            extras,
            ..TableLine::computed(String::new(), plan)
        };
        if scan.limit.is_some() {
            line.examined = line.examined.min(plan.estimate.rows.max(1.0));
        }
        line
    }

    /// Returns true for the rows of a subquery that a semi join keeps.
    pub fn is_materialized(&self) -> bool {
        self.below.as_ref().is_some_and(|below| below.first().role == BlockRole::Materialized)
    }

    /// Share of the rows examined that are left, in per cent.
    pub fn filtered(&self) -> f64 {
        let read = self.examined.max(1.0) * self.joined_before.max(1.0);
        (100.0 * self.joined / read).clamp(0.0, 100.0)
    }

    /// All of Extra, in MySQL's order.
    pub fn all_extras(&self) -> Vec<Extra> {
        let mut extras = self.extras.clone();
        if !self.index_condition.is_empty() {
            extras.push(Extra::IndexCondition);
        }
        let is_anti = extras.contains(&Extra::NotExists);
        if is_anti || !self.condition.is_empty() || !self.join_condition.is_empty() {
            extras.push(Extra::Where);
        }
        extras.sort_by_key(Extra::rank);
        extras
    }

    /// Columns of the table that the statement needs, by name in the order of the table.
    pub fn used_columns(&self, columns: &Columns) -> Vec<String> {
        let Some(scan) = self.scan else { return self.computed_columns.clone() };
        let mut used: BTreeSet<usize> =
            scan.columns.iter().chain(&scan.filter_columns).map(|(_, position)| *position).collect();
        let conditions = self.condition.iter().chain(&self.index_condition).chain(&self.join_condition);
        for id in conditions.flat_map(Expr::columns) {
            let origin = columns.get(id).origin.as_ref();
            if let Some(origin) = origin.filter(|o| o.alias == scan.alias && o.table == scan.table.name) {
                used.extend(scan.table.column(&origin.column));
            }
        }
        let parts = scan.table.key_parts(scan.index);
        if self.access_type != "ALL" && self.access_type != "index" {
            let used_parts = self.keys.first().map_or(0, |key| key.parts.len());
            used.extend(parts.iter().take(used_parts).map(|part| part.column));
        }
        used.into_iter().filter_map(|at| scan.table.columns.get(at)).map(|column| column.name.clone()).collect()
    }
}

fn part_names(scan: &Scan, count: usize) -> Vec<String> {
    let parts = scan.table.key_parts(scan.index);
    parts.iter().take(count).map(|part| scan.table.columns[part.column].name.clone()).collect()
}

fn possible_keys(scan: &Scan, access: &TableAccess<'_>, facts: Option<&TableFacts>) -> Vec<String> {
    let mut positions = facts.map(|facts| facts.possible_keys.clone()).unwrap_or_default();
    if access.mysql_type() != "const" {
        positions.extend(facts.map(|facts| facts.skipped_keys.clone()).unwrap_or_default());
    }
    if !matches!(access.mysql_type(), "ALL" | "index") || access.way != ScanMode::Sequential {
        positions.insert(scan.index);
    }
    names_in_order(&scan.table, positions)
}

/// The names of indexes in MySQL's order: the primary key, unique keys, those that hold NULLs last, other keys.
pub fn names_in_order(table: &TableDef, positions: BTreeSet<usize>) -> Vec<String> {
    // A primary key that the table does not have cannot be possible.
    let mut positions: Vec<usize> = positions.into_iter().filter(|at| *at > 0 || table.has_primary_key()).collect();
    let may_be_null = |at: usize| table.indexes[at].parts.iter().any(|part| table.columns[part.column].nullable);
    positions
        .sort_by_key(|at| (*at > 0, !table.indexes[*at].unique, table.indexes[*at].unique && may_be_null(*at), *at));
    positions.into_iter().map(|at| table.indexes[at].name.clone()).collect()
}

/// What the parts of the key are compared with, as the column `ref` says it.
fn compared(access: &TableAccess<'_>, lookup: Option<LookupKeys<'_>>, columns: &Columns) -> Vec<String> {
    if let Some(lookup) = lookup {
        return lookup.keys.iter().map(|key| compared_key(key, columns)).collect();
    }
    let is_fixed = matches!(access.entries, Entries::Row | Entries::Lookup | Entries::LookupOrNull);
    match is_fixed && access.way == ScanMode::Sequential {
        true => vec!["const".to_string(); access.parts],
        false => Vec::new(),
    }
}

fn compared_key(key: &Expr, columns: &Columns) -> String {
    match key {
        Expr::Literal { .. } | Expr::Parameter { .. } => "const".into(),
        Expr::Column(id) => match &columns.get(*id).origin {
            Some(origin) => format!("{}.{}.{}", origin.database, origin.alias, origin.column),
            None if columns.get(*id).name.is_empty() => "func".into(),
            None => expr_text::outermost(key, columns),
        },
        _ => "func".into(),
    }
}

/// The conditions that are checked on entries of the index, and those that are checked on rows. What ranges enforce
/// counts, too: MySQL checks it again.
fn conditions(
    scan: &Scan,
    access: &TableAccess<'_>,
    lookup: Option<LookupKeys<'_>>,
    facts: Option<&TableFacts>,
    checks_entries: bool,
) -> (Vec<Expr>, Vec<Expr>) {
    let finds_null = access.entries == Entries::LookupOrNull || reads_null(scan);
    let ranged = lookup.is_none()
        && (access.mysql_type() == "range" || finds_null && !access.is_index_only())
        && access.way != ScanMode::Loose;
    let all = facts.map(|facts| facts.conjuncts.as_slice()).unwrap_or_default();
    if !ranged || all.is_empty() {
        let is_key = |expr: &&Expr| {
            lookup.is_none_or(|lookup| !is_of_key(expr, scan, access.parts) && !is_on_key(expr, scan, lookup.keys))
        };
        let mut on_entries: Vec<Expr> = scan.index_condition.iter().filter(is_key).cloned().collect();
        on_entries.extend(lookup.map(|lookup| lookup.entry_condition).unwrap_or_default().iter().cloned());
        return (on_entries, scan.filter.iter().filter(is_key).cloned().collect());
    }
    let in_index = |id: &ColId| {
        let known = scan.columns.iter().chain(&scan.filter_columns).find(|(own, _)| own == id);
        known.is_none_or(|(_, column)| scan.table.index_has_column(scan.index, *column))
    };
    let on_entries = |expr: &&Expr| checks_entries && !scan.is_covering() && expr.columns().iter().all(in_index);
    let (entries, rows): (Vec<&Expr>, Vec<&Expr>) = all.iter().partition(on_entries);
    (entries.into_iter().cloned().collect(), rows.into_iter().cloned().collect())
}

/// Returns true if a condition says no more than that a part of the key is equal to something.
fn is_of_key(expr: &Expr, scan: &Scan, parts: usize) -> bool {
    let Expr::Compare { op: CompareOp::Eq, left, right } = expr else { return false };
    let key = scan.table.key_parts(scan.index);
    let is_part = |side: &Expr| {
        let Expr::Column(id) = side else { return false };
        let column = scan.columns.iter().chain(&scan.filter_columns).find(|(own, _)| own == id);
        column.is_some_and(|(_, column)| key.iter().take(parts).any(|part| part.column == *column))
    };
    is_part(left) && matches!(**right, Expr::Literal { .. }) || is_part(right) && matches!(**left, Expr::Literal { .. })
}

/// Returns true if a condition is on parts of the key alone that are looked up by columns of other tables: MySQL checks
/// it on those.
fn is_on_key(expr: &Expr, scan: &Scan, keys: &[Expr]) -> bool {
    let key = scan.table.key_parts(scan.index);
    let is_part = |id: &ColId| {
        let column =
            scan.columns.iter().chain(&scan.filter_columns).find(|(own, _)| own == id).map(|(_, column)| *column);
        let looked_up = key.iter().zip(keys).filter(|(_, value)| matches!(value, Expr::Column(_)));
        looked_up.into_iter().any(|(part, _)| Some(part.column) == column)
    };
    let columns = expr.columns();
    !columns.is_empty() && columns.iter().all(is_part)
}

/// Returns true if a lookup is of NULL.
fn reads_null(scan: &Scan) -> bool {
    let [range] = scan.ranges.as_slice() else { return false };
    match (&range.lower, &range.upper) {
        (std::ops::Bound::Included(a), std::ops::Bound::Included(b)) => a == b && a.contains(&Value::Null),
        _ => false,
    }
}

/// Rows that are read for each combination of rows of the tables before: as the optimizer expected, or from statistics.
fn examined(scan: &Scan, access: &TableAccess<'_>, plan: &Plan, source: &PlanSource<'_>) -> f64 {
    let (table, statistics) = (&scan.table, source.statistics);
    let total = || statistics.row_count(table).unwrap_or(1.0);
    if access.keys.is_some() {
        if access.entries == Entries::Row {
            return 1.0;
        }
        let distinct =
            statistics.index(table, scan.index).and_then(|i| i.distinct.get(access.parts.max(1) - 1).copied());
        return total() / distinct.unwrap_or(1.0).max(1.0);
    }
    let facts = source.facts.of(table, &scan.alias);
    let expected = facts.and_then(|facts| facts.rows_read.get(&(scan.index, access.way == ScanMode::Skip)).copied());
    match (access.way, expected) {
        (ScanMode::Loose, _) => return plan.estimate.rows,
        (ScanMode::Skip, Some(rows)) => return rows,
        _ => {}
    }
    match access.entries {
        Entries::None => 0.0,
        Entries::Row => 1.0,
        Entries::All => total(),
        Entries::Lookup | Entries::LookupOrNull | Entries::Ranges => {
            expected.or_else(|| statistics.range_rows(table, scan.index, &scan.ranges)).unwrap_or_else(total)
        }
    }
}

/// Bytes of one row of the columns that are read, roughly: half of the length that texts may have.
pub fn row_bytes(line: &TableLine<'_>) -> f64 {
    let Some(scan) = line.scan else { return 8.0 };
    let bytes = |ty: SqlType| match ty {
        SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => f64::from(length.min(1024)) / 2.0 + 2.0,
        other => other.key_bytes(None) as f64,
    };
    scan.table.columns.iter().map(|column| bytes(column.ty)).sum()
}
