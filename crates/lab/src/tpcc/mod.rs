//! TPC-C without think times: data, transactions and consistency conditions of the TPC Benchmark C standard
//! specification, revision 5.11, on any [`TargetSession`](crate::target::TargetSession). Clauses named here are of that
//! document.
//!
//! ```text
//!   Scale          warehouses, and a reduced size for tests      scale.rs
//!   random         NURand, last names, random strings            random.rs
//!   Table          columns and rows of the nine tables           tables.rs, rows.rs
//!   Statements     every statement, prepared                     statements.rs
//!   transactions   the five transactions and their inputs        transactions/
//!   Deck           the mix                                       deck.rs
//!   Terminal       one client: draws, runs, repeats, counts      terminal.rs
//!   run            all terminals for a time                      run.rs
//!   conditions     consistency conditions 1 to 12                conditions.rs
//!   missing        acknowledged orders that a crash has taken    missing.rs
//!   Tally          what terminals have counted                   tally.rs
//!   Histogram      latencies                                     histogram.rs
//!   prepare        loads the data unless they are there          prepare.rs
//!   TpccReport     results; as text, as JSON, as a chart         report.rs, text.rs, chart.rs
//!   LogCost        bytes and syncs of the log by kind            log_cost.rs
//!   settings       what settings bring, and what crashes take      settings/
//!   measure        run, log costs, conditions, report            measure.rs
//! ```

pub mod chart;
pub mod conditions;
mod deck;
#[cfg(test)]
mod fixture;
pub mod histogram;
mod log_cost;
mod measure;
mod missing;
mod prepare;
pub mod random;
pub mod report;
mod rows;
mod run;
mod scale;
pub mod settings;
mod statements;
mod tables;
mod tally;
mod terminal;
mod text;
pub mod transactions;

pub use log_cost::LogCost;
pub use measure::{Measured, check, measure};
pub use missing::missing_orders;
pub use prepare::prepare;
pub use report::TpccReport;
pub use run::{RunOptions, RunResult, run};
pub use scale::{NoSuchScale, Scale};
pub use statements::Statements;
pub use tables::Table;
pub use tally::{Acknowledged, ConflictCounts, KindTally, Tally};
pub use text::text;
pub use transactions::Kind;

use crate::data_set::{DataSet, DataTable, RowSource};

/// The database that holds the tables if nothing names another one.
pub const DATABASE: &str = "tpcc";

/// Schema and rows of the initial population (clause 4.3.3).
pub fn data_set(scale: Scale) -> DataSet {
    let table = |table: Table| DataTable {
        name: table.name().into(),
        rows: table.rows(scale),
        source: RowSource::Tpcc(table, scale),
    };
    let tables = Table::ALL.into_iter().map(table).collect();
    DataSet { name: DATABASE, schema: include_str!("schema.sql").into(), tables }
}
