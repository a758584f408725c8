//! Statements that change rows: which rows, and their new values.
//!
//! ```text
//!   target   base tables by the names of a statement, through views too
//!   insert   INSERT, REPLACE            search   the rows of UPDATE and DELETE
//!   values   values and assignments     update, delete
//!   column_value   the form in which a column takes a value
//!   assigned what subqueries in assignments see      replace  expressions for columns
//!   rules    the expressions of a table's definition
//! ```
//!
//! A row's values are columns of the statement ([`ChangeTarget::columns`]): the values as they are stored, so that
//! TIMESTAMP columns are UTC there, and what an expression says of them is in terms of that. Values for columns are
//! those of the expressions; converting them to the columns' types is left to who stores them.

mod assigned;
mod column_value;
mod delete;
mod insert;
mod replace;
mod rules;
mod search;
mod target;
mod update;
mod values;

pub use delete::bind_delete;
pub use insert::bind_insert;
pub use replace::replace_columns;
pub use rules::{BoundRow, RowCheck, RowRules, bind_row, type_of_expression};
pub(super) use target::{RelationSource, base_tables};
pub use update::bind_update;

use super::{Beneath, Bound};
use muster_algebra::{ColId, Columns, Expr, Hints, IndexHint, Rel, SortKey, TableDef};
use muster_types::{SqlError, Value};
use std::{collections::BTreeMap, sync::Arc};

/// A base table whose rows a statement changes.
#[derive(Debug, Clone)]
pub struct ChangeTarget {
    pub table: Arc<TableDef>,
    /// Its name in the statement, or that of the view through which it is changed.
    pub alias: String,
    /// The values of a row, in the order of the table's columns.
    pub columns: Vec<ColId>,
    /// The hidden row number, of a table without a primary key.
    pub row_number: Option<ColId>,
    /// `WITH CHECK OPTION` of the view through which it is changed.
    pub check: Option<ViewCheck>,
    /// What the table's definition says of the row, in terms of `columns`.
    pub rules: RowRules,
    /// The table or view that the statement names, as (database, name): for privileges.
    pub named: (String, String),
    /// True if rows are inserted through a view without the AUTO_INCREMENT column, which does not tell its numbers.
    pub hides_number: bool,
    /// The tables and views between that view and the rows, for privileges.
    pub beneath: Vec<Beneath>,
}

impl ChangeTarget {
    /// The columns that identify a row: those of the primary key, or the hidden row number.
    pub fn key(&self) -> Vec<ColId> {
        match self.row_number {
            Some(number) => vec![number],
            None => self.table.indexes[0].parts.iter().map(|part| self.columns[part.column]).collect(),
        }
    }
}

/// The conditions that a row written through a view has to meet. One that is not TRUE is error 1369.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewCheck {
    pub database: String,
    pub view: String,
    pub conditions: Vec<Expr>,
}

impl ViewCheck {
    /// Error 1369.
    pub fn failed(&self) -> SqlError {
        let message = format!("CHECK OPTION failed '{}.{}'", self.database, self.view);
        SqlError::new(muster_types::ErrorCode::ViewCheckFailed, message)
    }
}

/// A value for a column.
#[derive(Debug, Clone, PartialEq)]
pub enum NewValue {
    Value(Value),
    /// The column's default.
    Default,
    /// Has no subquery; mentions columns that the statement says are there.
    Expr(Expr),
}

/// `column = value`. Assignments are made one after the other, and those to one table see what those before them have
/// stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Position among the statement's targets.
    pub target: usize,
    /// Position among the table's columns.
    pub column: usize,
    pub value: NewValue,
}

/// What a bound statement that changes rows has beside its clauses.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    pub columns: Columns,
    /// Base tables and views mentioned, as (database, name), each once: for privileges. The targets are among them.
    pub tables: Vec<(String, String)>,
    /// Those of them that are mentioned more than once: a target that is also read.
    pub tables_again: Vec<(String, String)>,
    /// Number and wording.
    pub warnings: Vec<SqlError>,
    pub hints: Hints,
    /// One row of subqueries that look at no row of the statement's, to be computed before it; expressions mention its
    /// columns.
    pub constants: Option<Rel>,
    /// Subqueries that look at the row which an INSERT brings or meets, each to be computed when its column's value is
    /// asked for.
    pub dependent: Vec<(ColId, Expr)>,
    /// Error 1142 or 1143 of a column that the account may not use. Those of whole tables come before it.
    pub denied: Option<SqlError>,
}

impl Surroundings {
    /// A relation of the statement as a query of all its columns.
    pub fn bound(&self, rel: Rel) -> Bound {
        Bound {
            outputs: rel.output().into_iter().map(|id| (id, String::new())).collect(),
            rel,
            columns: self.columns.clone(),
            tables: Vec::new(),
            stars: Vec::new(),
            generated_names: Vec::new(),
            written_names: Vec::new(),
            made: BTreeMap::new(),
            uses_variables: false,
            aggregated: false,
            first_table_again: false,
            warnings: Vec::new(),
            notes: Vec::new(),
            hints: self.hints.clone(),
        }
    }
}

/// INSERT and REPLACE. The columns of `target` are those of the row that is to be inserted: values see those before
/// them, and the defaults of the others. `VALUES(column)` is that column, too.
#[derive(Debug, Clone)]
pub struct BoundInsert {
    pub target: ChangeTarget,
    pub replace: bool,
    pub ignore: bool,
    /// Positions of the columns that values are given for, in their order.
    pub given: Vec<usize>,
    pub source: RowSource,
    pub on_duplicate: Option<OnDuplicateUpdate>,
    pub surroundings: Surroundings,
}

#[derive(Debug, Clone)]
pub enum RowSource {
    Rows(NewRows),
    /// The first outputs are the values given; `on_duplicate` mentions those behind them.
    Query(Box<Bound>),
}

/// Rows of values, one behind the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewRows {
    pub values: Vec<NewValue>,
    pub rows: usize,
}

/// `ON DUPLICATE KEY UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct OnDuplicateUpdate {
    /// The values of the row that is there.
    pub old: Vec<ColId>,
    pub assignments: Vec<Assignment>,
    /// Columns that the assignments mention of the query whose rows are inserted, besides those that are.
    pub mentioned: Vec<ColId>,
    /// The check of the target's view, in terms of `old`.
    pub check: Option<ViewCheck>,
    /// The rules of the target's table, in terms of `old`.
    pub rules: RowRules,
}

#[derive(Debug, Clone)]
pub struct BoundUpdate {
    pub ignore: bool,
    pub targets: Vec<ChangeTarget>,
    /// Expressions mention the columns of the targets, and others of the search's rows.
    pub assignments: Vec<Assignment>,
    pub search: Search,
    pub surroundings: Surroundings,
}

#[derive(Debug, Clone)]
pub struct BoundDelete {
    pub ignore: bool,
    /// True if it names its targets apart from its tables.
    pub of_several: bool,
    pub targets: Vec<ChangeTarget>,
    pub search: Search,
    pub surroundings: Surroundings,
}

/// How the rows of an UPDATE or DELETE are found.
#[derive(Debug, Clone)]
pub enum Search {
    /// In the only target, by conditions on its columns.
    Table(TableSearch),
    /// By a query, whose rows have the columns and row numbers of all targets; for a DELETE the keys suffice. The
    /// columns of a target that an outer join has not found are NULL, key included.
    Query(Rel),
}

/// Conditions, order and number of the rows of one table. No expression has a subquery.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSearch {
    pub conditions: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub limit: Option<u64>,
    pub hints: Vec<IndexHint>,
}

impl TableSearch {
    /// The search as a query: the optimizer finds the access path.
    pub fn rel(&self, target: &ChangeTarget) -> Rel {
        let mut rel = search::get(target, self.hints.clone());
        if !self.conditions.is_empty() {
            rel = Rel::Filter { input: Box::new(rel), predicates: self.conditions.clone() };
        }
        if !self.order.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: self.order.clone() };
        }
        match self.limit {
            Some(count) => Rel::Limit { input: Box::new(rel), offset: 0, count: Some(count) },
            None => rel,
        }
    }
}
