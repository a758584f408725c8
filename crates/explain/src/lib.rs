//! EXPLAIN: a plan, and what its nodes did when it ran, in the forms that MySQL has.
//!
//! ```text
//!   tree.rs         FORMAT=TREE: one line per operator
//!   traditional.rs  FORMAT=TRADITIONAL: one line per table
//!   analyze.rs      EXPLAIN ANALYZE, as a tree and as JSON
//!   counters.rs     the status variables that a plan counts up when it starts
//!   scans.rs        what several of them ask about a plan
//!   key_range.rs    ranges of an index as text
//! ```
//!
//! The crate knows neither how a plan was made nor how it runs: it gets a plan, the names of its columns, and what its
//! nodes did.

pub mod analyze;
pub mod counters;
mod key_range;
mod scans;
pub mod traditional;
mod tree;

pub use tree::{ExplainLine, figure, lines, tree, tree_with};
