//! Files as batches for [`muster_storage::TableLoader`].
//!
//! ```text
//!   DelimitedOptions  the FIELDS and LINES clauses, columns    format.rs
//!   read_delimited    LOAD DATA, .tbl, CSV -> batches          delimited.rs
//!     tokenize        bytes -> fields                          tokenize.rs
//!     convert         fields -> columns                        convert.rs
//!     problem         what is wrong with a row                 problem.rs
//!   read_arrow        Arrow IPC -> batches                     arrow_ipc.rs, ipc_bounds.rs
//! ```
//!
//! What a value becomes in its column, and what is wrong with one that does not fit, is said by
//! [`muster_types::store`].

mod arrow_ipc;
mod convert;
mod delimited;
mod format;
mod ipc_bounds;
mod problem;
mod tokenize;

pub use arrow_ipc::read_arrow;
pub use convert::arrow_schema;
pub use delimited::{DelimitedSummary, TakeBatch, read_delimited};
pub use format::{DelimitedFormat, DelimitedOptions, FieldTarget, TargetColumn, csv_header};
pub use problem::Severity;
