//! The short path: statements that touch few rows of one table by key run where they arrive, from a plan that is made
//! once.
//!
//! ```text
//!   text -> parameterize -> key of the cache          parameters.rs
//!        -> PlanCache: a plan, or "not here"          cache.rs
//!   first time: bound statement -> Shape -> ShortPlan plan.rs
//!                               -> KeyAccess          key_access.rs
//!   values -> range of keys -> rows on their pages -> conditions     run.rs
//!          -> sums and extremes                       totals.rs
//!          -> sorted and distinct rows                ordered.rs
//!          -> RowSink: bytes of a packet, a batch     sink.rs
//!   a change of one row by its key: ShortWrite        write.rs
//! ```
//!
//! Who asks for it, and what a statement counts, is the session's: `session/short_path.rs`. `docs/short-path.md` tells
//! the whole.

mod cache;
mod key_access;
mod ordered;
mod parameters;
mod plan;
mod run;
mod sink;
mod totals;
mod write;

pub use cache::{CacheFigures, Epoch, Known, PlanCache};
pub use key_access::KeyAccess;
pub use parameters::{is_small, parameterize};
pub use plan::{General, Shape, ShortPlan};
pub use run::{RunEnd, RunFigures, Stop, Surroundings, run};
pub use sink::{CollectedRows, RowSink};
pub use write::{ShortChange, ShortWrite, is_resident};
