//! Expressions: from the algebra to physical expressions over the columns of a batch, with MySQL's meaning.
//!
//! ```text
//!   compile.rs     Expr -> PhysicalExpr, node by node
//!   compare.rs     comparisons and IN: which representation decides
//!   scope.rs       which column is where, and what is known of texts
//!   kernel.rs      the one physical expression of ours, and the trait its functions implement
//!   arithmetic.rs  decimal.rs  operand.rs  numbers.rs  text.rs  like.rs  temporal.rs  control.rs  convert.rs
//!                  column-wise functions
//!   columnwise/    functions over whole columns, where the values allow it
//!   codes.rs       texts that come as codes
//!   subexpressions.rs  what expressions have in common, computed once
//!   to_text.rs     numbers, dates and times as texts
//!   row_key.rs     several values as one
//!   row_values.rs  values of single rows, in and out of columns
//!   rowwise.rs     everything else, and what makes long texts, through the general evaluator
//!   text_memory.rs what texts may take
//! ```
//!
//! If DataFusion's own expressions mean the same as MySQL's (AND, OR, NOT, CASE, IS NULL, comparison of numbers and
//! dates) they are used.

pub mod arithmetic;
pub mod codes;
pub mod columnwise;
pub mod compare;
pub mod compile;
pub mod control;
pub mod convert;
pub mod decimal;
pub mod decimal256;
pub mod kernel;
pub mod like;
pub mod numbers;
mod operand;
pub mod row_key;
pub mod row_values;
pub mod rowwise;
pub mod scope;
pub mod subexpressions;
pub mod temporal;
pub mod text;
pub mod text_memory;
pub mod to_text;

pub use compile::Compiler;
pub use scope::Scope;

use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use std::sync::Arc;

pub type Physical = Arc<dyn PhysicalExpr>;
