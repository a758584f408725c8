//! What settings of the log bring and what they lose: the mix under each variant of an experiment, on a data directory
//! or a server, and crashes in the middle of it.
//!
//! ```text
//!   Variant            settings by MySQL's names, options of tables    variant.rs
//!   Host               where variants run, and how they are set        host.rs
//!   compare            all variants in turn, round by round            compare.rs
//!     killed           a server that is killed, and started again      killed.rs
//!     simulated        a simulated machine that loses its power        simulated.rs
//!   SettingsReport     results; as text, as JSON                       report.rs, text.rs
//! ```

mod compare;
mod host;
mod killed;
mod report;
mod simulated;
mod text;
mod variant;

pub use compare::{SettingsOptions, compare};
pub use host::{Host, RunningHost};
pub use report::{CrashKind, CrashReport, SettingsReport, VariantReport};
pub use simulated::{LoadedDisk, SimulatedCrashes};
pub use text::text;
pub use variant::{Comparison, Variant};
