//! Tables whose rows are made when they are asked for.
//!
//! ```text
//!   information_schema   the schema's tables        information_schema/
//!   performance_schema   locks of rows              performance_schema.rs
//!   locks                locks in InnoDB's words    locks.rs
//!   transactions         all transactions at a moment, for both and for SHOW ENGINE   transactions.rs
//!   show                 SHOW, DESCRIBE             show/
//!   status, variables    SHOW STATUS, SHOW VARIABLES   status.rs, variables.rs
//! ```

mod information_schema;
mod locks;
mod performance_schema;
pub mod show;
pub mod status;
mod transactions;
mod variables;

pub use information_schema::InformationSchema;
