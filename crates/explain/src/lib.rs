//! EXPLAIN: a plan, and what its nodes did when it ran, in the forms that MySQL has.
//!
//! ```text
//!   access.rs       how a table is read: what all forms below print
//!   tree.rs         FORMAT=TREE: one line per operator
//!   json.rs         FORMAT=JSON: one object per line of the tree
//!   traditional.rs  FORMAT=TRADITIONAL: one line per table
//!   change.rs       the same three for statements that change rows
//!   analyze.rs      EXPLAIN ANALYZE: what each operator did, behind its line
//!   counters.rs     the status variables that a plan counts up when it starts
//!   subplans.rs     subqueries that run by themselves
//!   key_range.rs    ranges of an index as text
//! ```
//!
//! The crate knows neither how a plan was made nor how it runs: it gets a plan, the names of its columns, and what its
//! nodes did.

mod access;
pub mod analyze;
mod change;
pub mod counters;
mod json;
mod key_range;
mod subplans;
pub mod traditional;
mod tree;

pub use access::{Entries, ScanMode, TableAccess};
pub use change::{ChangeKind, ChangePlan};
pub use json::json;
pub use tree::{ExplainLine, figure, lines, tree, tree_with};
