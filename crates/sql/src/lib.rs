//! MySQL's SQL: text to [`Statement`], and queries to the algebra's `Rel`.
//!
//! ```text
//!   split      several statements in one text                       split.rs
//!   parse      one statement: our own grammar on top of sqlparser   parse/
//!   Statement  what was said                                        statement/
//!   bind       names, types, implicit casts: Query -> Rel           bind/
//!   typing     MySQL's type rules                                   typing/
//!   hints      /*+ optimizer hints */                               hints.rs
//! ```
//!
//! sqlparser reads queries and expressions, under a dialect of ours that gives MySQL's precedences (`parse/dialect.rs`).
//! All other statements are read by our own grammar over the same tokens. Nothing here knows cost or storage.

pub mod bind;
pub mod hints;
pub mod parse;
pub mod statement;
mod typing;

pub use bind::{BindEnv, Bound, SessionValues};
pub use hints::OptimizerHint;
pub use parse::{parse, parse_expression, split};
pub use statement::*;

use muster_types::{Result, SqlError, SqlType, Value};

/// Looks up all names of a query and types it.
pub fn bind_query(query: &Query, _env: &BindEnv) -> Result<Bound> {
    Err(SqlError::unsupported(&query.text))
}

/// Binds an expression without columns (SET, DO, KILL, LIMIT): it may hold subqueries of no tables only.
pub fn bind_constant(expr: &ScalarExpr, _env: &BindEnv) -> Result<muster_algebra::Expr> {
    Err(SqlError::unsupported(&expr.text))
}

/// Rows that the engine has made (SHOW) as a relation, with `WHERE` or `LIKE` (on the first column) applied.
pub fn bind_rows(
    _columns: &[(&str, SqlType)],
    _rows: Vec<Vec<Value>>,
    _filter: Option<&ShowFilter>,
    _env: &BindEnv,
) -> Result<Bound> {
    Err(SqlError::unsupported("SHOW"))
}
