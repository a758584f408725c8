//! The short path: statements that touch few rows by key run where they arrive, from a plan that is made once.
//!
//! ```text
//!   text -> parameterize -> key of the cache                          parameters.rs
//!        -> a prepared one with the numbers of its LIMIT              limit_places.rs
//!        -> with the values of system variables: `@@x`                text_variables.rs
//!        -> texts as dates and numbers, values of the moment: NOW()   values.rs, text_numbers.rs
//!        -> PlanCache: a plan, or "not here"                          cache.rs
//!   first time: bound statement -> ShortPlan                          plan.rs
//!               conditions -> KeyAccess: ranges of an index           key_access.rs
//!   one table whose values go out as they lie on their pages          direct/
//!   up to four tables, each reached from those before it by a key;
//!     locking reads, computed columns, groups                         nested/
//!   rows -> RowSink: bytes of a packet, a batch                       sink.rs
//!   values whose rows are too many for it                             too_many.rs
//!   a change of rows by a key or a short range: ShortWrite            write.rs
//!          the rows that it changes: RowSearch                        search.rs
//! ```
//!
//! A query that does not take it is kept for the general path: kept_query.rs.
//!
//! Who asks for it, and what a statement counts, is the session's: `session/short_path`. `docs/short-path.md` tells
//! the whole.

mod cache;
mod constant;
mod direct;
mod kept_query;
mod key_access;
mod limit_places;
mod nested;
mod parameter_places;
mod parameters;
mod plan;
mod run_end;
mod search;
mod sink;
mod text_numbers;
mod text_variables;
mod too_many;
mod totals;
mod values;
mod write;

pub use cache::{CacheFigures, Epoch, Known, PlanCache};
pub use direct::{DirectPlan, Shape, Surroundings, run as run_direct};
pub use kept_query::{KeptQuery, LastPlan};
pub use key_access::KeyAccess;
pub use limit_places::with_limits;
pub use nested::{LockingReads, LockingStatement, NestedPlan, RowReads, TableQuery, run as run_nested};
pub use parameter_places::{has_comparisons_only, with_list, with_values};
pub use parameters::{ValueList, add_class, is_small, parameterize, type_of};
pub use plan::{General, ShortPlan, Way};
pub use run_end::{RunEnd, RunFigures, Stop, entries_max};
pub use search::{RowSearch, scan_of};
pub use sink::{CollectedRows, RowSink};
pub use text_numbers::{TextNumbers, TextsOf, plain_number};
pub use text_variables::{TextVariable, variables_of};
pub use values::{FIRST_MOMENT, Moment, ValueRules};
pub use write::{ShortChange, ShortWrite};
