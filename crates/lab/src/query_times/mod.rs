//! The queries of a workload on a data directory or on any server with MySQL's protocol, each from cold and from warm
//! memory, until its times agree.
//!
//! ```text
//!   prepare          loads the data unless they are there, and lets writes settle    prepare.rs
//!   measure          each query: cold runs, warm-up, warm runs                       measure.rs
//!   measure_experiment   each strategy of an experiment, as if it were a query       strategies.rs
//!     MeasuredHost   goes cold: empties the pool, or starts the server again         measured_host.rs
//!   QueriesReport    results; as text, as JSON, as a chart                           report.rs, text.rs, chart.rs
//! ```

pub mod chart;
mod measure;
mod measured_host;
mod prepare;
mod report;
mod strategies;
mod text;

pub use measure::{QueryOptions, measure};
pub use prepare::prepare;
pub use report::{Digest, QueriesReport, QueryReport};
pub use strategies::measure_experiment;
pub use text::text;
