//! Eight threads work on the rows of one table by key, and each key's history must be linearizable: every operation
//! seems to happen in one moment between its start and its end (Herlihy and Wing, 1990).
//!
//! ```text
//!   operation.rs  operations on a row, and what each may come to
//!   search.rs     looks for an order of the operations on one key (Wing and Gong, 1993)
//!   workload.rs   threads, their operations on a drawn table, and faults that are planted
//!   tests.rs      many tables, what they met, and the faults found
//! ```
//!
//! Keys are independent of each other, so that each one's history is searched for itself. Tables and rows are drawn as
//! for the tests in [`super::table_model`]. Other indexes are compared with the rows when all threads have ended.

mod operation;
mod search;
mod tests;
mod workload;
