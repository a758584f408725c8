//! `muster lab regret`: how far the plan that the optimizer chooses is from the best one that hints can force.
//!
//! ```text
//!   DataSetName   a database and its queries                    subjects.rs
//!   blocks        the tables of each query block                blocks.rs
//!   candidates    hints that force plans                        forced.rs
//!   Plans         those that are followed and differ            plans.rs
//!   Regime        how much memory, and what is in it            regime.rs
//!   Race          who runs how often, and who is cut            race.rs
//!   Lab::regret   runs them all and compares their rows         run.rs
//!   RegretReport  worst first, as table, JSON and chart         report/
//! ```

pub mod blocks;
pub mod forced;
pub mod plans;
pub mod race;
pub mod regime;
pub mod report;
pub mod run;
pub mod subjects;

pub use regime::Regime;
pub use report::RegretReport;
pub use run::{RegretObserver, RegretOptions};
pub use subjects::Subject;
