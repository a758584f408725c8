//! The two algebras of a query, and what the optimizer may ask about tables.
//!
//! ```text
//!   sql::bind -> Rel  (logical: what)      rel.rs, expr.rs
//!   optimizer -> Plan (physical: how)      plan.rs
//!   ScalarFunction                         function.rs: functions, and the units of intervals
//!   Actual                                 profile.rs: what a node of a plan did when it ran
//!   Catalog, Statistics                    catalog.rs, statistics.rs: traits that the engine implements
//!   ColumnAccess                           access.rs: the columns that an account may read and write
//!   Columns                                columns.rs: every column of one query has its own number
//!   Cost                                   cost.rs: what a plan costs, in parts
//!   expr_text                              expr_text.rs: expressions as text
//!   Expr::visit, children                  children.rs: the parts of an expression, walks over them
//!   Expr::is_movable                       movable.rs: what may be moved, folded or kept
//!   Plan::set_parameters                   parameters.rs: values in the places of parameters
//!   JsonTable                              json_table.rs: JSON_TABLE
//!   Hints                                  hints.rs: what /*+ .. */ says
//!   QueryBlocks                            query_block.rs: the SELECTs of a statement by MySQL's numbers
//!   Recursion                              recursion.rs: WITH RECURSIVE
//!   Rollup                                 rollup.rs: GROUP BY .. WITH ROLLUP
//!   Window                                 window.rs: window functions
//!   Switch, Switches                       switch.rs: what the optimizer may do, by name
//! ```
//!
//! Both algebras are plain data: cloned, compared, serialised, printed. Neither knows how anything runs.

mod access;
pub mod catalog;
mod children;
pub mod columns;
mod cost;
pub mod expr;
pub mod expr_text;
pub mod function;
pub mod hints;
mod json_table;
mod movable;
mod parameters;
pub mod plan;
pub mod profile;
mod query_block;
mod recursion;
pub mod rel;
mod rollup;
pub mod statistics;
pub mod switch;
mod window;

pub use access::{ColumnAccess, ColumnUse, GrantedColumns};
pub use catalog::{
    Catalog, CheckConstraint, CheckOption, ColumnDef, DefaultValue, Definer, ForeignKey, Generated, IndexDef,
    ReferentialAction, TableDef, TableId, ViewAlgorithm, ViewDef, Visibility,
};
pub use columns::{ColId, ColumnMeta, ColumnOrigin, Columns, DeclaredColumn, ResultShape};
pub use cost::Cost;
pub use expr::{
    AggregateCall, AggregateFunction, ArithmeticOp, CompareOp, Expr, LogicOp, Quantifier, Subplan, Subquery,
    SubqueryKind,
};
pub use function::{Decoding, IntervalUnit, NumberReading, ScalarFunction, SessionFunction};
pub use hints::{HintTarget, Hints, OrderHint, OrderKind, SwitchHint};
pub use json_table::{JsonTable, JsonTableColumn, JsonTableContent, JsonTableFallback, JsonTableRows};
pub use muster_types::{Collation, Decimal, KeyInterval, KeyPart, KeyRange, SqlType, Value};
pub use plan::{Estimate, ExchangeKind, NodeId, Plan, PlanOp, RowFetch, Scan, ScanBudget, ScanConditions, Side};
pub use profile::Actual;
pub use query_block::{BlockClauses, BlockId, BlockPlace, QueryBlock, QueryBlocks};
pub use recursion::Recursion;
pub use rel::{IndexHint, IndexHintKind, IndexHintScope, JoinKind, Rel, SortKey, lateral_outputs};
pub use rollup::{ROLLED_UP, Rollup, RollupKey};
pub use statistics::{ColumnStatistics, IndexStatistics, Statistics};
pub use switch::{Switch, Switches};
pub use window::{Frame, FrameBound, FrameUnits, ValueBound, Window, WindowCall, WindowDefinition, WindowFunction};
