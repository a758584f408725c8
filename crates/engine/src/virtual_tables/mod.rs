//! Tables whose rows are made when they are asked for.
//!
//! ```text
//!   information_schema   the schema's tables        information_schema/
//!   show                 SHOW, DESCRIBE             show/
//!   status, variables    SHOW STATUS, SHOW VARIABLES   status.rs, variables.rs
//! ```

mod information_schema;
pub mod show;
pub mod status;
mod variables;

pub use information_schema::InformationSchema;
