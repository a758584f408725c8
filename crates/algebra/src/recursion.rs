//! WITH RECURSIVE: rows that are made of rows made before (MySQL manual, section 15.2.20).

use crate::{ColId, Expr};
use serde::{Deserialize, Serialize};

/// A recursive table: its first rows, and the steps that make new rows from those of the round before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recursion {
    /// The table's name, for EXPLAIN.
    pub name: String,
    /// Numbers the recursive tables of a statement: the rows of the round before are read where this number stands.
    pub working: usize,
    /// The columns of the rows that the recursion begins with.
    pub seed: Vec<ColId>,
    /// The columns of the table.
    pub columns: Vec<ColId>,
    /// Subqueries of kind [`crate::SubqueryKind::Rows`], which read the rows of the round before. Each has a column for
    /// each of the table.
    pub steps: Vec<Expr>,
    /// UNION DISTINCT: a row that was there before is not added.
    pub distinct: bool,
    /// More rounds are an error (`cte_max_recursion_depth`).
    pub rounds_max: u64,
    /// True if a text that is longer than its column is an error, false if it is cut.
    pub strict: bool,
}
