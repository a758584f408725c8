//! Workloads: DBT-3 and the Star Schema Benchmark. A client of the engine: schemas, data, queries.
//!
//! ```text
//!   Workload       schema, tables, queries    workload.rs, queries.rs, ../queries/*.sql
//!   dbt3, ssb      the data                   dbt3/, ssb/
//!   load           schema and data into a database   load.rs
//! ```

mod batch;
pub mod dbt3;
pub mod load;
pub mod queries;
pub mod ssb;
pub mod workload;

pub use workload::{Query, Workload, WorkloadTable};
