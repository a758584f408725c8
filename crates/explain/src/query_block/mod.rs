//! A plan as MySQL tells it: query blocks, each with a line for every table that it reads (MySQL manual 10.8.2).
//!
//! ```text
//!   describe   the walk over a plan that makes the blocks      describe.rs
//!     clauses  which operators are whose ORDER BY, GROUP BY     clauses.rs
//!     joins    what a join makes of its right input             joins.rs
//!     merged   scans that are one line: index merge, late fetch merged.rs
//!     constants  tables of one row, which come first            constants.rs
//!   computed   names of rows that blocks inside compute         computed.rs
//!   table      one table: key, conditions, Extra               table.rs
//!   extra      the words of Extra                              extra.rs
//! ```
//!
//! The traditional table and the first JSON format print these blocks.

mod clauses;
mod computed;
mod constants;
mod describe;
mod extra;
mod joins;
mod merged;
mod table;

pub use computed::{computed_name, shown_name};
pub use describe::describe;
pub use extra::Extra;
pub use table::{KeyUse, TableLine, TableName, row_bytes};

use muster_algebra::{BlockId, Columns, Expr, Plan, Statistics, TableDef, Window};
use std::collections::{BTreeMap, BTreeSet};

/// What the optimizer knew of a table while it chose how to read it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableFacts {
    /// Positions of the indexes that a path was made for.
    pub possible_keys: BTreeSet<usize>,
    /// Those that might be skipped through.
    pub skipped_keys: BTreeSet<usize>,
    /// Rows that the optimizer expected to read of an index within its ranges; true: by skipping.
    pub rows_read: BTreeMap<(usize, bool), f64>,
    /// All conditions on the table alone, those included that key ranges enforce.
    pub conjuncts: Vec<Expr>,
}

/// The facts of the tables of a statement, by database, name and alias.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatementFacts(pub BTreeMap<(String, String, String), TableFacts>);

impl StatementFacts {
    /// The facts of a table under its name in the statement.
    pub fn of(&self, table: &TableDef, alias: &str) -> Option<&TableFacts> {
        self.0.get(&(table.database.clone(), table.name.clone(), alias.to_string()))
    }

    /// The facts of a table, to add some.
    pub fn entry(&mut self, database: &str, name: &str, alias: &str) -> &mut TableFacts {
        self.0.entry((database.into(), name.into(), alias.into())).or_default()
    }
}

/// A plan with all that its description needs.
pub struct PlanSource<'a> {
    pub plan: &'a Plan,
    pub columns: &'a Columns,
    pub statistics: &'a dyn Statistics,
    pub facts: &'a StatementFacts,
    /// True if conditions may be checked on entries of indexes (`index_condition_pushdown`).
    pub checks_entries: bool,
    /// Reads a table of one row, by the operator that would: MySQL does so before it explains anything.
    pub constant_row: &'a dyn Fn(&Plan) -> ConstantRow,
}

/// MySQL's `select_type`, but for the names of dependent blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockRole {
    /// The statement's own block, or the first operand of its set operation.
    Outermost,
    Derived,
    Subquery,
    Materialized,
    /// A further operand of a set operation.
    Union,
}

/// Why a block reads no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockMessage {
    NoTables,
    ImpossibleWhere,
    ImpossibleHaving,
    ZeroLimit,
    OptimizedAway,
    NoMatchingRow,
    ImpossibleAfterReading,
}

/// What was found of a table that is read by one whole key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantRow {
    Found,
    /// There is no row with this key.
    Missing,
    /// There is one, but conditions drop it.
    Dropped,
}

impl BlockMessage {
    /// MySQL's words for it.
    pub fn text(self) -> &'static str {
        match self {
            BlockMessage::NoTables => "No tables used",
            BlockMessage::ImpossibleWhere => "Impossible WHERE",
            BlockMessage::ImpossibleHaving => "Impossible HAVING",
            BlockMessage::ZeroLimit => "Zero limit",
            BlockMessage::OptimizedAway => "Select tables optimized away",
            BlockMessage::NoMatchingRow => "no matching row in const table",
            BlockMessage::ImpossibleAfterReading => "Impossible WHERE noticed after reading const tables",
        }
    }
}

/// How the rows of a block are grouped, made distinct or sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowClause {
    pub temporary_table: bool,
    pub filesort: bool,
}

/// A window whose functions a block computes.
#[derive(Debug, Clone, Copy)]
pub struct WindowLine<'a> {
    pub window: &'a Window,
    /// True if the rows are sorted for it.
    pub filesort: bool,
    /// The cost of that sort in milliseconds.
    pub sort_ms: f64,
}

/// Where a subquery that runs by itself stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryPlace {
    SelectList,
    Having,
    /// The conditions of the table at this position in [`QueryBlock::tables`].
    Table(usize),
}

/// A subquery that runs by itself.
pub struct SubqueryPlan<'a> {
    pub place: SubqueryPlace,
    pub expression: QueryExpression<'a>,
}

/// One SELECT.
pub struct QueryBlock<'a> {
    /// MySQL's number of it.
    pub number: u32,
    pub role: BlockRole,
    /// True if it runs for each row of a block around it.
    pub dependent: bool,
    /// `None` if it reads tables.
    pub message: Option<BlockMessage>,
    /// In the order in which they are joined.
    pub tables: Vec<TableLine<'a>>,
    pub grouping: Option<RowClause>,
    pub distinct: Option<RowClause>,
    pub ordering: Option<RowClause>,
    /// The windows in the order in which they are computed.
    pub windows: Vec<WindowLine<'a>>,
    pub subqueries: Vec<SubqueryPlan<'a>>,
    /// Milliseconds of the block with all below it.
    pub cost_ms: f64,
    /// The blocks whose rows it reads under a name, with that name.
    pub computed: Vec<(BlockId, String)>,
    pub id: Option<BlockId>,
    /// What a statement does to the rows of its table: `update`, `delete`.
    pub change: Option<&'static str>,
}

impl QueryBlock<'_> {
    /// Returns true if there are subqueries or derived tables in it, those aside that semi joins keep.
    pub fn has_parts(&self) -> bool {
        let is_part = |line: &TableLine<'_>| {
            let role = line.below.as_ref().map(|below| below.first().role);
            role.is_some_and(|role| role != BlockRole::Materialized) || line.is_computed_elsewhere
        };
        !self.subqueries.is_empty() || self.tables.iter().any(is_part)
    }
}

/// Several SELECTs whose rows are put together.
pub struct UnionPlan<'a> {
    pub operands: Vec<QueryBlock<'a>>,
    /// What becomes of the rows of all; `None` if they are delivered as they come.
    pub result: Option<RowClause>,
    /// The number of the result.
    pub number: u32,
    pub cost_ms: f64,
}

/// A SELECT, or a set operation.
pub enum QueryExpression<'a> {
    Block(Box<QueryBlock<'a>>),
    Union(UnionPlan<'a>),
}

impl<'a> QueryExpression<'a> {
    /// The first SELECT.
    pub fn first(&self) -> &QueryBlock<'a> {
        match self {
            QueryExpression::Block(block) => block,
            QueryExpression::Union(union) => &union.operands[0],
        }
    }

    /// All SELECTs.
    pub fn blocks(&self) -> &[QueryBlock<'a>] {
        match self {
            QueryExpression::Block(block) => std::slice::from_ref(block),
            QueryExpression::Union(union) => &union.operands,
        }
    }
}
