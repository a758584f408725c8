//! EXPLAIN of INSERT, REPLACE, UPDATE and DELETE: what changes, and the plan that finds the rows.

use crate::{json, traditional, tree};
use muster_algebra::{Columns, Plan};
use muster_types::Value;
use serde_json::{Value as Json, json};

/// The kind of a statement that changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Insert,
    Replace,
    Update,
    Delete,
}

impl ChangeKind {
    /// MySQL's `select_type` of the tables that change.
    fn select_type(self) -> &'static str {
        match self {
            ChangeKind::Insert => "INSERT",
            ChangeKind::Replace => "REPLACE",
            ChangeKind::Update => "UPDATE",
            ChangeKind::Delete => "DELETE",
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
}

/// A statement that changes rows.
pub struct ChangePlan<'a> {
    pub kind: ChangeKind,
    /// The tables that change, by their names in the statement.
    pub targets: Vec<&'a str>,
    /// The plan that finds the rows; `None` for rows of values.
    pub plan: Option<(&'a Plan, &'a Columns)>,
}

impl ChangePlan<'_> {
    fn head(&self) -> String {
        format!("{} {}", self.kind.verb(), self.targets.join(", "))
    }

    /// `FORMAT=TREE`.
    pub fn tree(&self) -> String {
        let mut out = format!("-> {}\n", self.head());
        if let Some((plan, columns)) = self.plan {
            for line in tree::tree(plan, columns).lines() {
                out.push_str(&format!("    {line}\n"));
            }
        }
        out
    }

    /// `FORMAT=JSON`.
    pub fn json(&self) -> serde_json::Result<String> {
        let mut root = json!({ "operation": self.head() });
        if let Some((plan, columns)) = self.plan {
            let mut below: Json = serde_json::from_str(&json::json(plan, columns)?)?;
            root["inputs"] = Json::Array(vec![below["query_plan"].take()]);
        }
        serde_json::to_string_pretty(&json!({ "query_plan": root }))
    }

    /// The rows of `FORMAT=TRADITIONAL`. A table that gets rows has a line of its own, the first; those that lose or
    /// change rows are where they are read.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let select_type = Value::Text(self.kind.select_type().into());
        let mut rows = match self.plan {
            Some((plan, columns)) => traditional::rows(plan, columns),
            None => Vec::new(),
        };
        if matches!(self.kind, ChangeKind::Insert | ChangeKind::Replace) {
            let table = Value::Text(self.targets.join(", "));
            let mut first = vec![Value::UInt(1), select_type, table, Value::Null, Value::Text("ALL".into())];
            first.resize(12, Value::Null);
            rows.insert(0, first);
            return rows;
        }
        for row in &mut rows {
            let is_target = matches!(&row[2], Value::Text(name) if self.targets.contains(&name.as_str()));
            if is_target && row[0] == Value::UInt(1) {
                row[1] = select_type.clone();
            }
        }
        rows
    }
}
