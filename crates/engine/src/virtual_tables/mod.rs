//! Tables whose rows are made when they are asked for.
//!
//! ```text
//!   information_schema   the schema's tables        information_schema/
//!   show                 SHOW, DESCRIBE             show/
//! ```

pub mod information_schema;
pub mod show;
