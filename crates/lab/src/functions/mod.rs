//! The functions of MySQL, each over all rows of one table, on one database or on two in turn.
//!
//! ```text
//!   Call             a function with a typical call, as data      calls.rs
//!   schema.sql, rows the table of its arguments                   rows.rs
//!   measure          runs of each call, in turn                   measure.rs
//!   FunctionsReport  medians, ratios, and which are below target  report.rs
//! ```

mod calls;
mod measure;
mod report;
mod rows;

pub use calls::{CALLS, Call, Fold, NOT_MEASURED, OPERATORS};
pub use measure::{FunctionOptions, measure};
pub use report::{CallReport, FunctionsReport, text};

use crate::data_set::{DataSet, DataTable, RowSource};

/// The database that is used when no other is named.
pub const DATABASE: &str = "functions";

/// The table of the arguments, with `rows` rows.
pub fn data_set(rows: u64) -> DataSet {
    let table = DataTable { name: "operands".into(), rows, source: RowSource::Operands(rows) };
    DataSet { name: DATABASE, schema: include_str!("schema.sql").into(), tables: vec![table] }
}

pub(crate) use rows::{columns, pieces};
