//! JSON_TABLE: rows made of a document for each row of an input.
//!
//! ```text
//!   document   an expression over the columns of the input and of the query around
//!   rows       a path, with a row for each value that it leads to
//!     columns  of these values: a number, a path within the value, whether there is such a path
//!     nested   further rows within each of the values
//! ```
//!
//! The rows of nested paths beside each other follow one another; columns of the others are NULL. A value without any
//! nested rows has one row by itself.

use crate::{ColId, Expr};
use muster_types::{FloatDigits, SqlType, Value};
use serde::{Deserialize, Serialize};

/// The table that a document is read as.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonTable {
    pub alias: String,
    pub document: Expr,
    pub rows: JsonTableRows,
    /// The query's columns, in the order in which the statement names them. What is said of columns elsewhere counts
    /// them in this order.
    pub outputs: Vec<ColId>,
    /// The session's modes of dates ([`muster_types::temporal::DateModes::bits`]).
    pub date_modes: i64,
    /// The list of columns as EXPLAIN shows it.
    pub columns_text: String,
}

/// Rows of one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonTableRows {
    /// A valid path.
    pub path: String,
    pub columns: Vec<JsonTableColumn>,
    pub nested: Vec<JsonTableRows>,
}

/// A column of the rows of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonTableColumn {
    /// Position in [`JsonTable::outputs`].
    pub position: usize,
    pub name: String,
    pub ty: SqlType,
    /// M and D of FLOAT(M,D) and DOUBLE(M,D).
    pub digits: Option<FloatDigits>,
    pub content: JsonTableContent,
}

/// The content of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum JsonTableContent {
    /// The number of the row among those of its parent, from 1.
    Ordinality,
    /// 1 if the path leads to a value, else 0.
    Exists { path: String },
    /// The value that the path leads to.
    Value { path: String, on_empty: JsonTableFallback, on_error: JsonTableFallback },
}

/// The value of a column that has none, or one that it does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum JsonTableFallback {
    Null,
    Error,
    /// A value of the column's type.
    Default(Value),
}

impl JsonTableRows {
    /// All columns, with those of nested paths.
    pub fn all_columns(&self) -> Vec<&JsonTableColumn> {
        let nested = self.nested.iter().flat_map(JsonTableRows::all_columns);
        self.columns.iter().chain(nested).collect()
    }
}
