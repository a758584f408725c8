//! Statements that change rows.
//!
//! ```text
//!   insert      INSERT and REPLACE: rows of values, and of queries         insert.rs
//!     rows        one row after the other into the table                   row_insert.rs
//!     generated   values of the AUTO_INCREMENT column                      generated.rs
//!     duplicate   what a row does that is there already                    duplicate.rs
//!   target      the table that is changed, and defaults of its columns     target.rs
//!   convert     a value as a column stores it, with MySQL's warnings       convert.rs
//!   write       the calls to storage                                       write.rs
//! ```

mod convert;
mod duplicate;
mod generated;
mod insert;
mod row_insert;
mod target;
mod write;

pub use insert::insert;
