//! The order of joins: regions taken apart into a query graph, and the cheapest tree of its units. `plan::joins` makes
//! plans of it.
//!
//! ```text
//!   Rel -> semi joins turned, if that is cheaper          semi_scan.rs
//!       -> graph (units, classes, edges, predicates)      graph.rs
//!       -> order of units that is given                   precedence.rs
//!       -> orders of join columns                         orders.rs
//!       -> tree                                           enumerator.rs or greedy.rs, asking model.rs and lookup.rs
//!            rows of joins: equal_columns.rs, partners.rs
//!            conditions on entries of an index: entry_condition.rs
//! ```

mod entry_condition;
pub mod enumerator;
mod equal_columns;
pub mod graph;
mod greedy;
pub mod lookup;
pub mod model;
pub mod orders;
mod partners;
pub mod precedence;
pub mod semi_scan;
