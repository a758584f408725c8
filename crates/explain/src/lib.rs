//! EXPLAIN: a plan, and what its nodes did when it ran, in the forms that MySQL has.
//!
//! ```text
//!   access.rs       how a table is read: what all forms below print
//!   tree.rs         FORMAT=TREE: one line per operator
//!   query_block/    the plan as query blocks with their tables
//!     traditional.rs  FORMAT=TRADITIONAL: one line per table
//!     json/first.rs   FORMAT=JSON, the first format: one object per table
//!   json/second.rs  FORMAT=JSON, the second format: one object per line of the tree
//!   rewritten.rs    the rewritten query, as SHOW WARNINGS tells it
//!   window.rs       window functions as text
//!   change.rs       all of these for statements that change rows
//!   analyze.rs      EXPLAIN ANALYZE: what each operator did, behind its line
//!   counters.rs     the status variables that a plan counts up when it starts
//!   subplans.rs     subqueries that run by themselves
//!   picture/        the second JSON format as SVG
//!   key_range.rs    ranges of an index as text
//!   document.rs     JSON in the order and the form of MySQL's    names.rs  names in backticks
//! ```
//!
//! The crate knows neither how a plan was made nor how it runs: it gets a plan, the names of its columns, statistics of
//! its tables, and what its nodes did.

mod access;
pub mod analyze;
mod change;
pub mod counters;
pub mod document;
pub mod json;
mod key_range;
mod names;
pub mod picture;
pub mod query_block;
mod rewritten;
mod subplans;
pub mod traditional;
mod tree;
mod window;

pub use access::{Entries, ScanMode, TableAccess};
pub use change::{ChangeKind, ChangePlan};
pub use key_range::range_texts;
pub use names::{Named, column_of, from_table, table_of};
pub use query_block::{PlanSource, StatementFacts, TableFacts};
pub use rewritten::{ChangeText, GivenValue, rewritten};
pub use tree::{ExplainLine, figure, lines, tree, tree_with};
