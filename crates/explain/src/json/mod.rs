//! `EXPLAIN FORMAT=JSON` (MySQL manual 15.8.2): two formats, which `explain_json_format_version` chooses from.
//!
//! ```text
//!   first    query blocks with their tables, as tools for MySQL 8.0 read them    first.rs
//!   windows  the windows of a block                                             windows.rs
//!   second   one object per operator, as the lines of FORMAT=TREE                second.rs
//! ```

pub mod first;
mod second;
mod windows;

pub use second::json;
pub(crate) use second::{plan_document, print};
