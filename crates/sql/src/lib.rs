//! MySQL's SQL: text to [`Statement`], and queries to the algebra's `Rel`.
//!
//! ```text
//!   split      several statements in one text                       split.rs
//!   parse      one statement: our own grammar on top of sqlparser   parse/
//!   Statement  what was said                                        statement/
//!   canonical  expressions of definitions, as MySQL prints them     canonical/
//!   digest     a statement without its values                       digest/
//!   bind       names, types, implicit casts: Query -> Rel           bind/
//!   typing     MySQL's type rules                                   typing/
//!   hints      /*+ optimizer hints */                               hints.rs
//! ```
//!
//! sqlparser reads queries and expressions, under a dialect of ours that gives MySQL's precedences
//! (`parse/dialect.rs`). All other statements are read by our own grammar over the same tokens. Nothing here knows cost
//! or storage.

pub mod bind;
pub mod canonical;
pub mod digest;
#[doc(hidden)]
pub mod fuzz;
pub mod hints;
pub mod parse;
pub mod statement;
mod typing;

pub use bind::{
    BesideNumber, BindEnv, Bound, BoundAssignment, BoundDelete, BoundInsert, BoundUpdate, ChangeTarget, MomentValue,
    NewRows, NewValue, OnDuplicateUpdate, Parameters, RowSource, Search, SessionValues, Star, Surroundings,
    TableSearch, ViewCheck, bind_constant, bind_delete, bind_insert, bind_query, bind_result, bind_rows, bind_update,
    updatable_tables, without_stars,
};
pub use canonical::canonical;
pub use hints::{OptimizerHint, max_execution_time, set_variables};
pub use parse::{
    footprint, is_reserved, literal_text, parse, parse_expression, parse_under, split, split_under, statement_text,
};
pub use statement::*;
pub use typing::comparison::date_of_text;
