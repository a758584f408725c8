//! One statement: what it sees of its session, and the way of a query.
//!
//! ```text
//!   Context           the session as it was when the statement began    context.rs
//!   StatementTables   databases, tables and views by name               names.rs
//!   query             bind, optimize, execute; rows on their way out    query.rs
//! ```

mod context;
pub mod names;
pub mod query;

pub use context::{Context, Done};
