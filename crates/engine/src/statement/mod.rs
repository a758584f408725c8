//! One statement: what it runs with, and the way of a query.
//!
//! ```text
//!   StatementContext  what a statement runs with; its parts           context.rs
//!     Diagnostics     its warnings, notes and error                   diagnostics.rs
//!     @@name          system variables as it reads them               system_variable.rs
//!   StatementTables   databases, tables and views by name             names.rs
//!     statistics      what the optimizer asks about them              statistics.rs
//!     table_source    rows of them for operators                      table_source.rs
//!     VirtualTables   tables whose rows are made when they are read   virtual_tables.rs
//!     table_locks     locks of whole tables                           table_locks.rs
//!     row_locking     locks of rows that a statement reads            row_locking/
//!   BindEnvironment   what binding asks the session                   bind_environment.rs
//!   query             bind, optimize, execute; rows on their way out  query.rs, rows.rs
//!     kept_run        one that was bound before                       kept_run.rs
//!     admitted        heavy queries wait for admission               admitted.rs, gate.rs
//!     plan_counters   status variables that a plan fills              plan_counters.rs
//!   execution         what the operators of a query run with          execution.rs
//!     estimate_notes  where its estimates are far off                 estimate_notes.rs
//!   evaluate          the value of an expression outside queries      evaluate.rs
//! ```

mod admitted;
mod bind_environment;
mod context;
mod diagnostics;
pub mod estimate_notes;
mod evaluate;
mod execution;
pub mod found_rows;
mod gate;
mod kept_run;
mod names;
pub mod plan_counters;
pub mod query;
mod row_locking;
mod rows;
mod statistics;
mod system_variable;
mod table_locks;
mod table_source;
mod virtual_tables;

pub use bind_environment::BindEnvironment;
pub use context::{Clock, Done, SessionSnapshot, StatementContext};
pub use diagnostics::{Diagnostics, Level};
pub use evaluate::{evaluate, evaluate_typed};
pub use gate::enter_to_build;
pub use kept_run::KeptRun;
pub use names::StatementTables;
pub use row_locking::RowLocks;
pub use rows::first_values;
pub use virtual_tables::VirtualTables;
