//! Statements that change rows.
//!
//! ```text
//!   insert, update, delete   one file for each kind of statement
//!     row_insert   one row after the other into a table               row_insert.rs
//!     generated    values of the AUTO_INCREMENT column                generated.rs
//!     duplicate    what a row does whose key is there already         duplicate.rs
//!     search       the rows that UPDATE and DELETE change             search.rs
//!     safe_updates keys that sql_safe_updates asks of it              safe_updates.rs
//!     same_table   an UPDATE of a table under several names           same_table.rs
//!     assign       the new values of a row, from left to right        assign.rs
//!   in_place     all of them on the short path                       in_place.rs
//!     short_source the rows of an INSERT .. SELECT there              short_source.rs
//!   create_select   CREATE TABLE .. SELECT                         create_select.rs
//!   load         LOAD DATA row by row                              load.rs
//!   binding      names, locks of tables, privileges                   binding.rs
//!   target       the table that is changed, defaults of its columns   target.rs
//!   evaluation   expressions for one row                              evaluation.rs
//!   subqueries   those of values, which no search computes            subqueries.rs
//!   rules        what a table's definition says of a row             rules.rs
//!   foreign_keys  parents that rows need, children that change with them  foreign_keys/
//!   convert      a value as a column stores it, MySQL's warnings      convert.rs
//!   lost_parts   notes of what a column does not hold of a value     lost_parts.rs
//!   attempts     once more, if a row was changed before it was locked  attempts.rs
//!   write        the calls to storage                                 write.rs
//! ```

mod assign;
mod attempts;
pub mod binding;
mod convert;
mod create_select;
mod delete;
mod duplicate;
mod evaluation;
mod foreign_keys;
mod generated;
mod in_place;
mod insert;
mod load;
mod lost_parts;
mod row_insert;
mod rules;
mod safe_updates;
mod same_table;
mod search;
mod short_source;
mod subqueries;
mod target;
mod update;
mod write;

pub use convert::Conversion;
pub use create_select::create_table_select;
pub use delete::{check_delete, delete};
pub use evaluation::Evaluation;
pub use foreign_keys::missing_parent;
pub use in_place::{InPlace, change_in_place};
pub use insert::{check_insert, insert};
pub use load::{LoadParts, TakeRows, load_rows, set_variables};
pub use row_insert::LoadCounts;
pub use rules::Rules;
pub use search::plan as plan_search;
pub use update::{check_update, update};
