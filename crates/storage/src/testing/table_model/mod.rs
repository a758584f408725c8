//! Tables beside a model in memory: random rows are inserted, changed, marked and removed, by all kinds of keys, on few
//! pages and few frames; then every index is read in every way and compared.
//!
//! ```text
//!   draw.rs      tables, rows and values from a seed
//!   model.rs     the table as a sorted map, with its own idea of order and of duplicates
//!   history.rs   the life of one table
//!   layouts.rs   columns that come, go and move while rows stay
//!   views.rs     transactions that interleave, and views of every age
//!   conditions.rs  scans that leave rows out
//!   concurrent.rs  readers beside writers
//!   compare.rs   scans, ranges, lookups, visits, counts
//!   tests.rs     many lives
//! ```

pub(crate) mod compare;
mod concurrent;
mod conditions;
pub(crate) mod draw;
pub(crate) mod history;
pub(crate) mod layouts;
pub(crate) mod model;
mod tests;
mod views;
