//! Workloads and experiments: DBT-3, the Star Schema Benchmark, and what access strategies do to their queries. A client
//! of the engine.
//!
//! ```text
//!   Workload       schema, tables, queries           workload.rs, queries.rs, ../queries/*.sql
//!   dbt3, ssb      the data                          dbt3/, ssb/
//!   load           schema and data into a database   load.rs
//!   Experiment     strategies side by side, as data  experiment.rs
//!   Lab            runs them, cold and warm          runner.rs, statistics.rs
//!   Device         replays their reads               device/
//!   Report         table, JSON, SVG chart            report/
//! ```

mod batch;
pub mod dbt3;
pub mod device;
pub mod experiment;
pub mod load;
pub mod queries;
pub mod report;
pub mod runner;
pub mod ssb;
pub mod statistics;
pub mod workload;

pub use experiment::{EXPERIMENTS, Experiment};
pub use report::Report;
pub use runner::{Lab, LabObserver, Options};
pub use workload::{Query, Workload, WorkloadTable};
