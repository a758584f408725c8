//! The first JSON format: `query_block`, `nested_loop`, `table`, as MySQL Workbench and others draw it.
//!
//! Costs are milliseconds, where MySQL has units of its own.

use crate::{
    document::Document,
    names::Named,
    query_block::{
        BlockRole, Extra, PlanSource, QueryBlock, QueryExpression, RowClause, SubqueryPlace, TableLine, TableName,
        UnionPlan, describe, row_bytes,
    },
    traditional::union_name,
};
use muster_algebra::{Actual, Columns, NodeId};

/// Prints a plan. `actual`: what a node did, if the plan has run.
pub fn print(source: &PlanSource<'_>, actual: Option<&dyn Fn(NodeId) -> Actual>) -> String {
    document(&describe(source), source.columns, actual).pretty()
}

/// The whole document of a plan that has been described.
pub fn document(root: &QueryExpression<'_>, columns: &Columns, actual: Option<&dyn Fn(NodeId) -> Actual>) -> Document {
    let mut out = Document::object();
    out.add("query_block", Printer { columns, actual }.expression(root));
    out
}

struct Printer<'a> {
    columns: &'a Columns,
    actual: Option<&'a dyn Fn(NodeId) -> Actual>,
}

impl Printer<'_> {
    /// What stands behind `query_block`.
    fn expression(&self, expression: &QueryExpression<'_>) -> Document {
        match expression {
            QueryExpression::Block(block) => self.block(block),
            QueryExpression::Union(union) => {
                let mut out = Document::object();
                out.add("union_result", self.union(union));
                out
            }
        }
    }

    fn union(&self, union: &UnionPlan<'_>) -> Document {
        let mut out = Document::object();
        match union.result {
            Some(result) => {
                out.add("using_temporary_table", true);
                out.add("select_id", union.number);
                out.add("table_name", union_name(union));
                out.add("access_type", "ALL");
                if result.filesort {
                    out.add("using_filesort", true);
                }
            }
            None => out.add("using_temporary_table", false),
        }
        let operands = union.operands.iter().map(|operand| {
            let mut one = Document::object();
            one.add("dependent", operand.dependent);
            one.add("cacheable", !operand.dependent);
            one.add("query_block", self.block(operand));
            one
        });
        out.add("query_specifications", operands.collect::<Vec<_>>());
        out
    }

    fn block(&self, block: &QueryBlock<'_>) -> Document {
        let mut out = Document::object();
        if block.role != BlockRole::Materialized {
            out.add("select_id", block.number);
        }
        if let Some(message) = block.message {
            out.add("message", message.text());
            self.add_subqueries(block, |_| true, "optimized_away_subqueries", &mut out);
            return out;
        }
        if block.role != BlockRole::Materialized && block.change.is_none() {
            let mut cost = Document::object();
            cost.add("query_cost", figure(block.cost_ms));
            out.add("cost_info", cost);
        }
        self.clauses(block, &mut out);
        self.add_subqueries(block, |place| place == SubqueryPlace::Having, "having_subqueries", &mut out);
        self.add_subqueries(block, |place| place == SubqueryPlace::SelectList, "select_list_subqueries", &mut out);
        out
    }

    /// The tables inside of what is done with their rows.
    fn clauses(&self, block: &QueryBlock<'_>, out: &mut Document) {
        let clauses = [
            ("ordering_operation", block.ordering),
            ("duplicates_removal", block.distinct),
            ("grouping_operation", block.grouping),
        ];
        let mut present: Vec<(&str, RowClause)> =
            clauses.into_iter().filter_map(|(name, clause)| Some((name, clause?))).collect();
        present.reverse();
        let mut inner = Document::object();
        self.tables(block, &mut inner);
        if !block.windows.is_empty() {
            let grouping = present.iter().position(|(name, _)| *name == "grouping_operation");
            let (grouping, others) = present.split_at(grouping.map_or(0, |at| at + 1));
            self.wrap(block, grouping, &mut inner);
            let sorts_after = block.ordering.is_some() || block.distinct.is_some();
            let mut windowing = super::windows::document(&block.windows, sorts_after, self.columns);
            if let Document::Object(members) = std::mem::replace(&mut inner, Document::object()) {
                members.into_iter().for_each(|(name, value)| windowing.add(&name, value));
            }
            inner.add("windowing", windowing);
            self.wrap(block, others, &mut inner);
        } else {
            self.wrap(block, &present, &mut inner);
        }
        if let Document::Object(members) = inner {
            members.into_iter().for_each(|(name, value)| out.add(&name, value));
        }
    }

    /// Puts what there is into these clauses, the first one innermost.
    fn wrap(&self, block: &QueryBlock<'_>, clauses: &[(&str, RowClause)], inner: &mut Document) {
        for (name, clause) in clauses {
            let mut operation = Document::object();
            if clause.temporary_table {
                operation.add("using_temporary_table", true);
            }
            operation.add("using_filesort", clause.filesort);
            // MySQL has a cost of the sort where it sorts the rows of the tables themselves.
            let sorts_rows = block.grouping.is_none() && block.change.is_none();
            if clause.filesort && sorts_rows {
                let before_ms = block.tables.last().map_or(0.0, |line| line.cost.total_ms());
                let mut cost = Document::object();
                cost.add("sort_cost", figure((block.cost_ms - before_ms).max(0.0)));
                operation.add("cost_info", cost);
            }
            let Document::Object(members) = std::mem::replace(inner, Document::object()) else { break };
            members.into_iter().for_each(|(name, value)| operation.add(&name, value));
            inner.add(name, operation);
        }
    }

    fn tables(&self, block: &QueryBlock<'_>, out: &mut Document) {
        let tables = block.tables.iter().enumerate().map(|(at, line)| self.table(block, at, line));
        let mut tables: Vec<Document> = tables.collect();
        match tables.len() {
            1 => out.add("table", tables.remove(0)),
            _ => {
                let in_loop = tables.into_iter().map(|table| {
                    let mut one = Document::object();
                    one.add("table", table);
                    one
                });
                out.add("nested_loop", in_loop.collect::<Vec<_>>());
            }
        }
    }

    fn table(&self, block: &QueryBlock<'_>, at: usize, line: &TableLine<'_>) -> Document {
        let mut out = Document::object();
        let name = match (&line.name, &line.alias) {
            (TableName::Computed(_), Some(alias)) => alias,
            (name, _) => &name.shown().to_string(),
        };
        if let Some(change) = line.change {
            out.add(change, true);
        }
        out.add("table_name", name.as_str());
        out.add("access_type", line.access_type);
        out.add_texts("possible_keys", &line.possible_keys);
        let names: Vec<&str> = line.keys.iter().map(|key| key.name.as_str()).collect();
        let bytes: Vec<String> = line.keys.iter().map(|key| key.bytes.to_string()).collect();
        let merged = line.extras.iter().find_map(|extra| match extra {
            Extra::MergedIndexes(word, names) => Some(format!("{word}({names})")),
            _ => None,
        });
        if !names.is_empty() {
            out.add("key", merged.unwrap_or_else(|| names.join(",")));
        }
        if let [key] = line.keys.as_slice() {
            out.add_texts("used_key_parts", &key.parts);
        }
        if !bytes.is_empty() {
            out.add("key_length", bytes.join(","));
        }
        out.add_texts("ref", &line.compared);
        if !line.is_materialized() {
            self.estimates(block, line, &mut out);
        }
        let named = Named { columns: self.columns, block: Some(block) };
        self.extras(line, &named, &mut out);
        if !line.is_materialized() && block.change.is_none() {
            out.add("cost_info", costs(line));
        }
        self.add_actual(line, &mut out);
        if block.change.is_none() && !line.is_materialized() {
            out.add_texts("used_columns", &line.used_columns(self.columns));
        }
        if let Some(condition) = attached(line, &named) {
            out.add("attached_condition", condition);
        }
        self.add_subqueries(block, |place| place == SubqueryPlace::Table(at), "attached_subqueries", &mut out);
        if let Some(below) = &line.below {
            out.add("materialized_from_subquery", self.materialized(below));
        } else if line.is_computed_elsewhere {
            let mut shared = Document::object();
            let mut with = Document::object();
            let digits: String = line.name.shown().chars().filter(char::is_ascii_digit).collect();
            with.add("select_id", digits.parse::<u32>().unwrap_or_default());
            shared.add("sharing_temporary_table_with", with);
            out.add("materialized_from_subquery", shared);
        }
        out
    }

    fn estimates(&self, block: &QueryBlock<'_>, line: &TableLine<'_>, out: &mut Document) {
        out.add("rows_examined_per_scan", line.examined.round().max(1.0));
        if block.change.is_none() {
            out.add("rows_produced_per_join", line.joined.round().max(if line.joined > 0.0 { 1.0 } else { 0.0 }));
        }
        out.add("filtered", format!("{:.2}", line.filtered()));
    }

    fn materialized(&self, below: &QueryExpression<'_>) -> Document {
        let mut out = Document::object();
        out.add("using_temporary_table", true);
        if below.first().role != BlockRole::Materialized {
            out.add("dependent", below.first().dependent);
            out.add("cacheable", !below.first().dependent);
        }
        out.add("query_block", self.expression(below));
        out
    }

    fn add_subqueries(
        &self,
        block: &QueryBlock<'_>,
        is_place: impl Fn(SubqueryPlace) -> bool,
        name: &str,
        out: &mut Document,
    ) {
        let found = block.subqueries.iter().rev().filter(|subquery| is_place(subquery.place)).map(|subquery| {
            let mut one = Document::object();
            let dependent = subquery.expression.first().dependent;
            one.add("dependent", dependent);
            one.add("cacheable", !dependent);
            one.add("query_block", self.expression(&subquery.expression));
            one
        });
        let found: Vec<Document> = found.collect();
        if !found.is_empty() {
            out.add(name, found);
        }
    }

    fn extras(&self, line: &TableLine<'_>, named: &Named<'_>, out: &mut Document) {
        for extra in line.all_extras() {
            match extra {
                Extra::IndexCondition => out.add("index_condition", named.conditions(&line.index_condition)),
                Extra::Mrr => out.add("using_MRR", true),
                Extra::Index => out.add("using_index", true),
                Extra::IndexForGroupBy => out.add("using_index_for_group_by", true),
                Extra::IndexForSkipScan => out.add("using_index_for_skip_scan", true),
                Extra::BackwardScan => out.add("backward_index_scan", true),
                Extra::NotExists => out.add("not_exists", true),
                Extra::FirstMatch(table) => out.add("first_match", table.unwrap_or_default()),
                Extra::JoinBuffer(kind, _) => out.add("using_join_buffer", kind),
                Extra::MergeJoin => out.add("using_merge_join", true),
                Extra::StartTemporary => out.add("start_temporary", true),
                Extra::EndTemporary => out.add("end_temporary", true),
                Extra::Fallback(key) => out.add("fallback", key),
                Extra::LateFetch => out.add("using_late_row_fetch", true),
                Extra::SharedRows(id) => out.add("shared_rows", id as f64),
                // The key says it, a condition, the members of the query block.
                Extra::Rematerialize(name) => out.add("rematerialize", name),
                Extra::TableFunction(name) => {
                    out.add("table_function", name);
                    out.add("using_temporary_table", true);
                }
                Extra::MergedIndexes(..) | Extra::Where | Extra::Temporary | Extra::Filesort => {}
            }
        }
    }

    fn add_actual(&self, line: &TableLine<'_>, out: &mut Document) {
        let Some((actual, node)) = self.actual.zip(line.node) else { return };
        let actual = actual(node);
        out.add("actual_loops", actual.loops as f64);
        if actual.loops > 0 {
            out.add("actual_rows", actual.rows as f64 / actual.loops as f64);
            out.add("actual_first_row_ms", actual.first_ms);
            out.add("actual_last_row_ms", actual.last_ms);
        }
    }
}

/// The conditions that are checked on rows of a table. Those of outer joins stand in MySQL's guards: they count only if
/// the row is none that the join has made of NULLs, or has found a match.
fn attached(line: &TableLine<'_>, named: &Named<'_>) -> Option<String> {
    let table = line.alias.as_deref().unwrap_or(line.name.shown());
    if line.extras.contains(&Extra::NotExists) {
        return Some(format!("<if>(is_not_null_compl({table}), <if>(found_match({table}), false, true), true)"));
    }
    let mut parts = Vec::new();
    if !line.condition.is_empty() {
        let text = named.conditions(&line.condition);
        let is_outer = line.is_inner && !line.extras.iter().any(|extra| matches!(extra, Extra::FirstMatch(_)));
        parts.push(if is_outer { format!("<if>(found_match({table}), {text}, true)") } else { text });
    }
    if !line.join_condition.is_empty() {
        let text = named.conditions(&line.join_condition);
        parts.push(format!("<if>(is_not_null_compl({table}), {text}, true)"));
    }
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(format!("({})", parts.join(" and "))),
    }
}

/// A cost as MySQL shows one.
pub(super) fn figure(ms: f64) -> String {
    format!("{ms:.2}")
}

/// The costs of a table: waiting for the device (`read_cost`), work on its rows (`eval_cost`), and all up to here.
fn costs(line: &TableLine<'_>) -> Document {
    let mut out = Document::object();
    out.add("read_cost", figure((line.cost.io_ms - line.cost_before.io_ms).max(0.0)));
    out.add("eval_cost", figure((line.cost.cpu_ms - line.cost_before.cpu_ms).max(0.0)));
    out.add("prefix_cost", figure(line.cost.total_ms()));
    out.add("data_read_per_join", bytes_text(line.joined * row_bytes(line)));
    out
}

/// A number of bytes as MySQL shows it: `1K`, `12M`.
fn bytes_text(bytes: f64) -> String {
    let (mut value, mut unit) = (bytes, "");
    for next in ["K", "M", "G", "T"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    format!("{}{unit}", value.floor())
}
