//! Workloads and experiments: DBT-3, the Star Schema Benchmark, sysbench, TPC-C, and what access strategies do to their
//! queries. A client of the engine, and of any server with MySQL's protocol.
//!
//! ```text
//!   Workload       data at a scale, queries          workload.rs, queries.rs, ../queries/*.sql
//!   DataSet        schema and tables of rows         data_set.rs
//!   generators     what makes the rows               dbt3/, ssb/, sysbench/, tpcc/, pages/, functions/, forum/
//!   TargetSession  the database under test           target/
//!   load           schema and data into a database   load.rs
//!   Experiment     strategies side by side, as data  experiment.rs
//!   Lab            runs them, cold and warm          runner.rs, statistics.rs
//!   Device         replays their reads               device/
//!   regret         chosen against forced plans       regret/
//!   estimates      expected rows and costs, and found    estimates/
//!   tpcc           transactions and their report     tpcc/
//!   query_times    queries on any database           query_times/
//!   InTurn         databases beside each other        in_turn.rs
//!   pages          pages of applications, in turn    pages/
//!   functions      functions over a table, in turn   functions/
//!   calibrate      constants of the cost model        calibrate/
//!   Environment    version, settings, machine        environment.rs
//!   Report         table, JSON, SVG chart            report/
//! ```

mod batch;
pub mod calibrate;
pub mod data_set;
pub mod dbt3;
pub mod device;
pub mod environment;
pub mod estimates;
pub mod experiment;
pub mod forum;
pub mod functions;
mod in_turn;
pub mod load;
pub mod pages;
pub mod queries;
pub mod query_times;
mod random;
pub mod regret;
pub mod report;
pub mod runner;
pub mod ssb;
pub mod statistics;
pub mod sysbench;
pub mod target;
pub mod tpcc;
pub mod workload;

pub use data_set::{DataSet, DataTable};
pub use experiment::{EXPERIMENTS, Experiment};
pub use report::Report;
pub use runner::{Lab, LabObserver, Options};
pub use workload::{NoSuchScale, Query, Workload};
