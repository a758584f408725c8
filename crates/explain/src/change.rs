//! EXPLAIN of INSERT, REPLACE, UPDATE and DELETE: what changes, and the plan that finds the rows.

use crate::{
    document::Document,
    json::{self, first},
    query_block::{PlanSource, QueryBlock, QueryExpression, describe},
    traditional, tree,
};
use muster_types::Value;

/// The kind of a statement that changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Insert,
    Replace,
    Update,
    Delete,
}

impl ChangeKind {
    /// What happens to the tables that change, as the first JSON format says it; MySQL's `select_type` in upper case.
    fn word(self) -> &'static str {
        match self {
            ChangeKind::Insert => "insert",
            ChangeKind::Replace => "replace",
            ChangeKind::Update => "update",
            ChangeKind::Delete => "delete",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            ChangeKind::Insert => "Insert into",
            ChangeKind::Replace => "Replace into",
            ChangeKind::Update => "Update",
            ChangeKind::Delete => "Delete from",
        }
    }

    fn adds_rows(self) -> bool {
        matches!(self, ChangeKind::Insert | ChangeKind::Replace)
    }
}

/// A statement that changes rows.
pub struct ChangePlan<'a> {
    pub kind: ChangeKind,
    /// The tables that change, by their names in the statement.
    pub targets: Vec<&'a str>,
    /// The plan that finds the rows; `None` for rows of values.
    pub source: Option<PlanSource<'a>>,
}

impl<'a> ChangePlan<'a> {
    fn head(&self) -> String {
        format!("{} {}", self.kind.verb(), self.targets.join(", "))
    }

    /// `FORMAT=TREE`.
    pub fn tree(&self) -> String {
        let mut out = format!("-> {}\n", self.head());
        if let Some(source) = &self.source {
            for line in tree::tree(source.plan, source.columns).lines() {
                out.push_str(&format!("    {line}\n"));
            }
        }
        out
    }

    /// `FORMAT=JSON`, the second format.
    pub fn json_second(&self) -> String {
        let mut root = Document::object();
        root.add("operation", self.head());
        if let Some(source) = &self.source {
            root.add("inputs", vec![json::plan_document(source.plan, source.columns, None)]);
        }
        let mut out = Document::object();
        out.add("query_plan", root);
        out.pretty()
    }

    /// `FORMAT=JSON`, the first format.
    pub fn json_first(&self) -> String {
        let found = self.source.as_ref().map(|source| first::document(&self.described(source), source.columns, None));
        if let (false, Some(found)) = (self.kind.adds_rows(), &found) {
            return found.pretty();
        }
        let mut table = Document::object();
        table.add(self.kind.word(), true);
        table.add("table_name", self.targets.join(", "));
        table.add("access_type", "ALL");
        let mut block = Document::object();
        block.add("select_id", 1.0);
        if let Some(source) = &self.source {
            let mut cost = Document::object();
            cost.add("query_cost", format!("{:.2}", source.plan.estimate.cost.total_ms()));
            block.add("cost_info", cost);
        }
        block.add("table", table);
        if let Some(Document::Object(mut members)) = found
            && let Some((_, Document::Object(members))) = members.pop()
        {
            let without = ["select_id", "cost_info"];
            let rest = members.into_iter().filter(|(name, _)| !without.contains(&name.as_str()));
            block.add("insert_from", Document::Object(rest.collect()));
        }
        let mut out = Document::object();
        out.add("query_block", block);
        out.pretty()
    }

    /// The rows of `FORMAT=TRADITIONAL`. A table that gets rows has a line of its own, the first; those that lose or
    /// change rows are where they are read.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        if self.kind.adds_rows() {
            let (kind, table) = (self.kind.word().to_uppercase(), self.targets.join(", "));
            let mut first = vec![Value::UInt(1), Value::Text(kind), Value::Text(table), Value::Null];
            first.push(Value::Text("ALL".into()));
            first.resize(12, Value::Null);
            rows.push(first);
        }
        if let Some(source) = &self.source {
            rows.extend(traditional::rows_of(&self.described(source)));
        }
        rows
    }

    /// The blocks of the plan, with what happens to their tables.
    fn described(&self, source: &PlanSource<'a>) -> QueryExpression<'a> {
        let mut root = describe(source);
        if let (false, QueryExpression::Block(block)) = (self.kind.adds_rows(), &mut root) {
            self.mark(block);
        }
        root
    }

    /// Says of a block what happens to its tables. MySQL finds the rows of a single table by its range optimizer, and
    /// checks all conditions on rows.
    fn mark(&self, block: &mut QueryBlock<'_>) {
        let is_single = block.tables.len() <= 1;
        if is_single {
            block.change = Some(self.kind.word());
        }
        for line in &mut block.tables {
            if !self.targets.contains(&line.name.shown()) {
                continue;
            }
            line.change = Some(self.kind.word());
            let (Some(scan), Some(source), true) = (line.scan, &self.source, is_single) else { continue };
            if !matches!(line.access_type, "ALL" | "index" | "index_merge") {
                line.access_type = "range";
                let parts = line.keys.iter().map(|key| key.parts.len()).sum();
                line.compared = vec!["const".to_string(); parts];
            }
            line.condition.append(&mut line.index_condition);
            if let Some(facts) = source.facts.of(&scan.table, &scan.alias) {
                line.condition.clone_from(&facts.conjuncts);
            }
        }
    }
}
