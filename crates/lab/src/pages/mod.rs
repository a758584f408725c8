//! Pages of applications: the statements that a shop, a forum and a ticket system send for one page each, with other
//! values every time, on one database or on two in turn.
//!
//! ```text
//!   Table          what a page shows: users, products, orders    tables.rs
//!   PAGES          the statements, as data                       statements.rs
//!     Values       what is put into a statement                  values.rs
//!   measure        rounds of runs, in turn                       measure.rs
//!   PagesReport    medians and ratios                            report.rs
//! ```

mod measure;
mod report;
mod statements;
mod tables;
mod values;

pub use measure::{PageOptions, measure};
pub use report::{PageReport, PageTimes, PagesReport, text};
pub use statements::{PAGES, Page};
pub use tables::Table;
pub(crate) use values::Random;

use crate::{
    NoSuchScale,
    data_set::{DataSet, RowSource},
};

/// The database that is used when no other is named.
pub const DATABASE: &str = "pages";

/// The tables at a scale (0 < scale <= 100): 1 is 50,000 users with 150,000 orders.
pub fn data_set(scale: f64) -> Result<DataSet, NoSuchScale> {
    let tables = Table::ALL.map(|table| (table.name(), table.rows(scale), RowSource::Pages(table, scale)));
    DataSet::at_scale(DATABASE, include_str!("schema.sql"), scale, tables)
}
