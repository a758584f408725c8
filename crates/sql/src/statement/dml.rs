//! INSERT, REPLACE, UPDATE, DELETE.

use super::{LoadData, OnDuplicate, Query, ScalarExpr, TableName};
use muster_types::Value;
use sqlparser::ast;

/// What every statement that changes rows has beside its clauses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Written {
    /// The statement's own `/*+ .. */`, without the signs.
    pub hints: Option<String>,
    /// The texts of the select items of its queries, by the place of each SELECT (line, column).
    pub items: Vec<((u64, u64), Vec<String>)>,
    /// Number of `?`.
    pub parameters: usize,
    /// True if the statement assigns to user variables within expressions.
    pub assigns: bool,
    /// The user variables that LOAD DATA reads fields into, in lower case. They are texts whatever they were before.
    pub field_variables: Vec<String>,
    /// True if they are bytes of the file, not texts.
    pub fields_are_bytes: bool,
    /// True for a load, whose assignments are to the row that comes in.
    pub is_load: bool,
}

/// `INSERT` and `REPLACE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub table: TableName,
    /// True for REPLACE.
    pub replace: bool,
    pub ignore: bool,
    /// The columns that values are given for, each as `[[database.]table.]column`; `None`: no list was written.
    pub columns: Option<Vec<Vec<String>>>,
    pub source: InsertSource,
    /// `AS new [(a, b)]`: the name of the row to insert in ON DUPLICATE KEY UPDATE.
    pub row_alias: Option<RowAlias>,
    /// `ON DUPLICATE KEY UPDATE`; empty without the clause.
    pub on_duplicate: Vec<Assignment>,
    pub(crate) written: Written,
}

impl Insert {
    /// An INSERT of a row without values, which looks names up, locks and checks as a load into the table does.
    /// `load`: the LOAD DATA whose assignments stand in the place of ON DUPLICATE KEY UPDATE. They see the row that the
    /// fields have filled, and read user variables row by row. `reads_bytes`: the file has no character set.
    pub fn for_load(database: &str, table: &str, load: Option<&LoadData>, reads_bytes: bool) -> Insert {
        let mut rows = InsertRows::default();
        rows.end_row(0);
        let written = load.map(|load| {
            let field_variables: Vec<String> = load.variables().map(str::to_lowercase).collect();
            let assigns = load.written.assigns || !field_variables.is_empty();
            Written { assigns, field_variables, fields_are_bytes: reads_bytes, is_load: true, ..load.written.clone() }
        });
        Insert {
            table: TableName { database: Some(database.to_owned()), name: table.to_owned() },
            replace: false,
            ignore: load.is_some_and(|load| load.on_duplicate == OnDuplicate::Ignore),
            columns: None,
            source: InsertSource::Rows(rows),
            row_alias: None,
            on_duplicate: load.map(|load| load.assignments.clone()).unwrap_or_default(),
            written: written.unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    Rows(InsertRows),
    Query(Box<Query>),
}

/// The rows of VALUES, one behind the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InsertRows {
    pub values: Vec<InsertValue>,
    pub rows: usize,
    /// Values of the first row.
    pub width: usize,
    /// Number, from 1, of the first row that has another number of values.
    pub uneven: Option<usize>,
}

impl InsertRows {
    /// Adds the end of a row that began at `start` in `values`.
    pub(crate) fn end_row(&mut self, start: usize) {
        let width = self.values.len() - start;
        if self.rows == 0 {
            self.width = width;
        }
        self.rows += 1;
        if width != self.width && self.uneven.is_none() {
            self.uneven = Some(self.rows);
        }
    }
}

/// A value of VALUES, or the right side of an assignment.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertValue {
    Literal(Value),
    /// `x'0f'`, `0x0f`: a byte string, and a number where one is wanted.
    Hexadecimal(Vec<u8>),
    /// `?`, by its position in the statement.
    Parameter(usize),
    /// `DEFAULT`.
    Default,
    Expr(Box<ScalarExpr>),
}

/// `AS new [(a, b)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    pub name: String,
    /// Names of the columns; empty: those of the table.
    pub columns: Vec<String>,
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// `[[database.]table.]column`.
    pub column: Vec<String>,
    pub value: InsertValue,
}

/// `UPDATE`, of one table or of several.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub ignore: bool,
    pub(crate) with: Option<ast::With>,
    pub(crate) tables: Vec<ast::TableWithJoins>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) condition: Option<ScalarExpr>,
    pub(crate) order_by: Vec<ast::OrderByExpr>,
    pub(crate) limit: Option<ScalarExpr>,
    pub(crate) written: Written,
}

/// `DELETE`, from one table or from several.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub ignore: bool,
    pub(crate) with: Option<ast::With>,
    /// The tables that lose rows, by the names that they have in `tables`; `None`: `DELETE FROM t`, where it is that
    /// one.
    pub(crate) targets: Option<Vec<TableName>>,
    pub(crate) tables: Vec<ast::TableWithJoins>,
    pub(crate) condition: Option<ScalarExpr>,
    pub(crate) order_by: Vec<ast::OrderByExpr>,
    pub(crate) limit: Option<ScalarExpr>,
    pub(crate) written: Written,
}

impl Insert {
    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.written.parameters
    }
}

impl Update {
    /// Returns true if the statement names one table and no more.
    pub fn has_one_table(&self) -> bool {
        is_one_table(&self.tables)
    }

    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.written.parameters
    }
}

impl Delete {
    /// Returns true for `DELETE FROM t`.
    pub fn has_one_table(&self) -> bool {
        self.targets.is_none()
    }

    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.written.parameters
    }
}

fn is_one_table(tables: &[ast::TableWithJoins]) -> bool {
    matches!(tables, [table] if table.joins.is_empty() && matches!(table.relation, ast::TableFactor::Table { .. }))
}
