//! Statements that change rows, with the search that the optimizer has made of theirs.

use super::{Select, Writer, bare, joined_conditions, with_tail};
use crate::change::ChangeKind;
use muster_algebra::{ColId, Columns, Expr, Rel};
use std::cell::RefCell;

/// A value that a statement gives a column. `None`: the column's default.
pub type GivenValue = Option<Expr>;

/// A statement that changes rows, as SHOW WARNINGS tells it.
pub struct ChangeText<'a> {
    pub kind: ChangeKind,
    pub ignore: bool,
    /// The tables that change, as FROM names them if no row of them can be found.
    pub tables: String,
    pub columns: &'a Columns,
    /// The rows that change or are inserted, as the optimizer has rewritten their search.
    pub search: Option<&'a Rel>,
    /// Subqueries that were taken out of the statement, one row of which its expressions mention.
    pub constants: Option<&'a Rel>,
    /// Subqueries of single columns that its expressions mention.
    pub dependent: &'a [(ColId, Expr)],
}

impl ChangeText<'_> {
    /// UPDATE. `assignments`: columns and their new values.
    pub fn update(&self, assignments: &[(String, GivenValue)]) -> String {
        let (writer, select) = self.begin();
        let set = self.assignments(&writer, assignments);
        let text = format!("{} {} set {set}{}", self.verb("update"), select.from, conditions(&select));
        with_tail(text, &select)
    }

    /// DELETE. `targets`: the tables whose rows go, if the statement names them apart from its tables.
    pub fn delete(&self, targets: &[String]) -> String {
        let (_, select) = self.begin();
        let targets = if targets.is_empty() { String::new() } else { format!("{} ", targets.join(", ")) };
        let text = format!("{} {targets}from {}{}", self.verb("delete"), select.from, conditions(&select));
        with_tail(text, &select)
    }

    /// INSERT and REPLACE of rows of values, or of a query whose columns have the names of `outputs`. `list`: the
    /// columns that the statement names; `duplicates`: the assignments of ON DUPLICATE KEY UPDATE, in which columns
    /// stand for what `named` says.
    pub fn insert(
        &self,
        (table, list): (&str, &[String]),
        (rows, outputs): (&[Vec<GivenValue>], &[(ColId, String)]),
        (duplicates, named): (&[(String, GivenValue)], &[(ColId, String)]),
    ) -> String {
        let writer = self.writer();
        let list = if list.is_empty() { String::new() } else { format!(" ({})", list.join(",")) };
        let source = match self.search {
            Some(search) => writer.query(search, Some(outputs), 1),
            None => {
                let row = |row: &Vec<GivenValue>| {
                    let values: Vec<String> = row.iter().map(|value| self.value(&writer, value)).collect();
                    format!("({})", values.join(","))
                };
                format!("values {}", rows.iter().map(row).collect::<Vec<_>>().join(","))
            }
        };
        for (id, text) in named {
            writer.define(*id, text.clone());
        }
        let duplicates = match duplicates {
            [] => String::new(),
            some => format!(" on duplicate key update {}", self.assignments(&writer, some)),
        };
        let verb = self.verb(if self.kind == ChangeKind::Replace { "replace" } else { "insert" });
        format!("{verb} into {table}{list} {source}{duplicates}")
    }

    fn writer(&self) -> Writer<'_> {
        let writer = Writer { columns: self.columns, computed: RefCell::default() };
        if let Some(constants) = self.constants {
            writer.select(constants);
        }
        for (id, expr) in self.dependent {
            writer.define(*id, writer.expr(expr));
        }
        writer
    }

    fn begin(&self) -> (Writer<'_>, Select) {
        let writer = self.writer();
        let mut select = self.search.map(|search| writer.select(search)).unwrap_or_default();
        if select.from.is_empty() {
            select.from.clone_from(&self.tables);
        }
        (writer, select)
    }

    fn verb(&self, word: &str) -> String {
        format!("{word}{}", if self.ignore { " ignore" } else { "" })
    }

    fn assignments(&self, writer: &Writer<'_>, assignments: &[(String, GivenValue)]) -> String {
        let texts = assignments.iter().map(|(column, value)| format!("{column} = {}", self.value(writer, value)));
        texts.collect::<Vec<_>>().join(",")
    }

    fn value(&self, writer: &Writer<'_>, value: &GivenValue) -> String {
        match value {
            None => "default".into(),
            Some(column @ Expr::Column(_)) => bare(writer.expr(column)),
            Some(expr) => writer.expr(expr),
        }
    }
}

fn conditions(select: &Select) -> String {
    joined_conditions(" where ", &select.conditions)
}
