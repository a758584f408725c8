//! The physical algebra: how a query runs. Plain data, so that EXPLAIN prints it, a cache keeps it, tests compare it.

use crate::{
    AggregateCall, AggregateFunction, ColId, Cost, Expr, JoinKind, JsonTable, Recursion, Rollup, SortKey, TableDef,
    Window,
};
use muster_types::{KeyInterval, KeyRange};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The optimizer's estimate for a node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct Estimate {
    pub rows: f64,
    /// The cost of this node and all below it.
    pub cost: Cost,
}

/// Names a node of a finished plan, in EXPLAIN, profiles and traces. Nodes are numbered from 1 in the order of EXPLAIN;
/// nodes that stand for the same rows ([`PlanOp::Shared`]) have the same numbers. Zero: the plan is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct NodeId(pub u32);

/// How an exchange hands rows from the partitions of its input to its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ExchangeKind {
    /// Rows whose keys are equal (for texts: under their collation) come into the same partition.
    Hash { keys: Vec<Expr> },
    /// All rows come into one partition, in any order.
    Gather,
    /// All rows come into one partition, those of a partition before those of the next. Each runs when the one before
    /// it has ended.
    Concatenate,
}

/// How the rows of secondary entries are fetched from the clustered index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RowFetch {
    /// Multi-Range Read: primary keys are collected in a buffer, sorted, and fetched page by page.
    #[default]
    KeyOrder,
    /// One by one, as the entries come.
    EntryOrder,
}

/// Reads one table through one index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    pub table: Arc<TableDef>,
    pub alias: String,
    /// Position in [`TableDef::indexes`]; 0 is the clustered index.
    pub index: usize,
    /// Disjoint and ascending; `[KeyRange::all()]` reads everything.
    pub ranges: Vec<KeyRange>,
    /// Per part of the key, as in [`TableDef::key_parts`], the values that entries need to have, disjoint and ascending
    /// in the key's order; `None`, and parts behind the last entry: any. Entries between are skipped over. Conditions
    /// that this comes from are checked all the same.
    pub steering: Vec<Option<Vec<KeyInterval>>>,
    /// Loose index scan: of the entries that ranges and steering admit, at least the first one of each combination of
    /// values of so many leading parts (the last one if `reverse`) is delivered, and others may be left out.
    pub distinct_prefix: Option<usize>,
    /// Columns delivered: query column and position in [`TableDef::columns`]. A secondary index that holds all of
    /// them (and those of `filter`) is read alone; otherwise rows are fetched by primary key.
    pub columns: Vec<(ColId, usize)>,
    /// Columns that only `index_condition` and `filter` need.
    pub filter_columns: Vec<(ColId, usize)>,
    /// Index condition pushdown: over columns of the index only, checked on its entries before rows are fetched.
    pub index_condition: Vec<Expr>,
    /// Only rows for which all are TRUE. No subqueries.
    pub filter: Vec<Expr>,
    /// How rows are fetched when the index is not covering.
    pub fetch: RowFetch,
    /// True if rows must come in key order (`reverse`: descending). Otherwise any order, in parallel.
    pub ordered: bool,
    pub reverse: bool,
    /// Stop after this many rows.
    pub limit: Option<u64>,
    /// The conditions that ranges and steering were made of, if they have parameters.
    #[serde(skip)]
    pub conditions: Option<Arc<ScanConditions>>,
}

/// All conditions on one table, and the columns that these have: query column and position in [`TableDef::columns`].
#[derive(Debug, Clone, PartialEq)]
pub struct ScanConditions {
    pub columns: Vec<(ColId, usize)>,
    pub conjuncts: Vec<Expr>,
}

impl Scan {
    /// Returns true if the index alone has everything the scan needs (a covering index, or the clustered one).
    pub fn is_covering(&self) -> bool {
        let needed = self.columns.iter().chain(&self.filter_columns).map(|(_, c)| *c);
        self.index == 0 || needed.into_iter().all(|c| self.table.index_has_column(self.index, c))
    }
}

/// What an ordered scan may spend before another plan takes over. Prices are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScanBudget {
    pub cost_ms: f64,
    /// Price of an entry that is read.
    pub entry_ms: f64,
    /// Price of a row that is fetched for an entry.
    pub fetch_ms: f64,
    /// Price of a page that was not in memory.
    pub page_ms: f64,
}

impl ScanBudget {
    /// Milliseconds that reading so much costs.
    pub fn spent_ms(&self, entries: u64, fetches: u64, pages: u64) -> f64 {
        entries as f64 * self.entry_ms + fetches as f64 * self.fetch_ms + pages as f64 * self.page_ms
    }
}

/// One of a join's two inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    Left,
    Right,
}

/// A physical operator with its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PlanOp {
    Scan(Scan),
    Values {
        rows: Vec<Vec<Expr>>,
    },
    /// Predicates may hold [`crate::Subplan`]s.
    Filter {
        input: Box<Plan>,
        predicates: Vec<Expr>,
    },
    Project {
        input: Box<Plan>,
        exprs: Vec<(ColId, Expr)>,
    },
    /// Equi-join. `keys`: pairs (over left, over right) of one type. `residual`: further conditions of the join.
    HashJoin {
        kind: JoinKind,
        left: Box<Plan>,
        right: Box<Plan>,
        keys: Vec<(Expr, Expr)>,
        residual: Vec<Expr>,
        build: Side,
    },
    /// The left input's rows give keys into an index of one table: an index nested loop join, and with `batched` a
    /// Batched Key Access join.
    LookupJoin {
        kind: JoinKind,
        left: Box<Plan>,
        /// The table on the right. Its `ranges` are not used; it has no order and no limit.
        lookup: Box<Scan>,
        /// Values for the index's leading parts, over the left input's columns; each has its part's type.
        keys: Vec<Expr>,
        /// Further conditions of the join.
        residual: Vec<Expr>,
        /// The part of `residual` that an index entry and the left row whose key found it decide, before rows are
        /// fetched. Empty if the index has all columns, or conditions may not be checked on its entries.
        entry_condition: Vec<Expr>,
        /// True if keys are collected in a buffer and looked up together.
        batched: bool,
        /// True if the keys of a buffer are sorted; else they are looked up as they come. False if not batched.
        key_ordered: bool,
        /// True if the left rows, which come from another such join, stay in its buffer. False if not batched.
        incremental: bool,
    },
    /// Any condition; the right input is kept in memory.
    NestedLoopJoin {
        kind: JoinKind,
        left: Box<Plan>,
        right: Box<Plan>,
        on: Vec<Expr>,
    },
    /// Both inputs ordered by the keys, ascending.
    MergeJoin {
        kind: JoinKind,
        left: Box<Plan>,
        right: Box<Plan>,
        keys: Vec<(Expr, Expr)>,
        residual: Vec<Expr>,
    },
    /// Each partition is aggregated by itself: all rows of a group are in one partition.
    HashAggregate {
        input: Box<Plan>,
        group: Vec<ColId>,
        aggregates: Vec<(ColId, AggregateCall)>,
    },
    /// Each partition is aggregated by itself, though a group may have rows in several. The columns of the aggregates
    /// hold what was accumulated so far, for a `FinalAggregate` above it, from which only an `Exchange` may part it.
    PartialAggregate {
        input: Box<Plan>,
        group: Vec<ColId>,
        aggregates: Vec<(ColId, AggregateCall)>,
    },
    /// Puts together what partial aggregations have accumulated, and finishes it. The same `group` and `aggregates` as
    /// theirs.
    FinalAggregate {
        input: Box<Plan>,
        group: Vec<ColId>,
        aggregates: Vec<(ColId, AggregateCall)>,
    },
    /// The input is ordered by the group columns.
    StreamAggregate {
        input: Box<Plan>,
        group: Vec<ColId>,
        aggregates: Vec<(ColId, AggregateCall)>,
    },
    /// Each partition by itself.
    Rollup {
        input: Box<Plan>,
        rollup: Rollup,
    },
    /// One partition. The steps are [`crate::Subplan`]s.
    Recursive {
        input: Box<Plan>,
        recursion: Box<Recursion>,
    },
    /// The rows of a recursive table's round before, in one partition.
    Working {
        table: usize,
        name: String,
    },
    /// The input is in the order of [`Window::sort_keys`].
    Window {
        input: Box<Plan>,
        window: Window,
    },
    /// One partition, whatever the input has. `fetch`: only the first rows are wanted (top-N).
    Sort {
        input: Box<Plan>,
        keys: Vec<SortKey>,
        fetch: Option<u64>,
    },
    /// Limits each partition; an offset needs a single one.
    Limit {
        input: Box<Plan>,
        offset: u64,
        count: Option<u64>,
    },
    /// The first rows in the order of an index: from a scan that stops early, as long as it keeps to its budget. What
    /// is left then comes from the other plan, which has the same rows in the same order: it is total, so that the rows
    /// delivered so far are the first ones of both. Both have the same columns.
    EarlyStop {
        /// An ordered scan with a limit.
        input: Box<Plan>,
        /// Delivers as many rows at most as `input`.
        fallback: Box<Plan>,
        budget: ScanBudget,
    },
    /// For each row of the input the rows that a subquery has for it, which runs once for each combination of the
    /// values that it depends on. `rows`: an [`Expr::Subplan`] of the kind [`crate::SubqueryKind::Rows`].
    Lateral {
        input: Box<Plan>,
        rows: Box<Expr>,
        /// All rows of the input stay, with NULLs where the subquery has no row.
        keeps: bool,
    },
    /// For each row of the input the rows that a document has.
    JsonTable {
        input: Box<Plan>,
        table: Box<JsonTable>,
        /// All rows of the input stay, with NULLs where the document has no row.
        keeps: bool,
    },
    /// Hands rows from the partitions of the input to those of the node.
    Exchange {
        input: Box<Plan>,
        kind: ExchangeKind,
    },
    /// The partitions of all inputs. `columns[k][i]` of input k becomes output i.
    UnionAll {
        inputs: Vec<Plan>,
        columns: Vec<Vec<ColId>>,
    },
    /// Rows that a statement wants in several places: the first place that is read computes and keeps them. All nodes
    /// of one `id` have the same input. `columns[i]` of the input becomes output i.
    Shared {
        id: usize,
        input: Box<Plan>,
        columns: Vec<ColId>,
        /// True if the rows are kept for one run of the subquery around the node, on whose parameters they may depend;
        /// otherwise for the whole statement.
        per_run: bool,
    },
}

/// A node of a physical plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub id: NodeId,
    pub op: PlanOp,
    /// The columns delivered, in order. A join or a filter may deliver fewer than its inputs have (only those that are
    /// wanted above it); all others deliver what their own lists say.
    pub output: Vec<ColId>,
    pub estimate: Estimate,
    /// The order the rows come in; empty when none is promised. Ordered rows are in one partition.
    pub order: Vec<SortKey>,
    /// Number of partitions the rows come in.
    pub partitions: usize,
}

impl Plan {
    /// A node without a number, in one partition.
    pub fn new(op: PlanOp, output: Vec<ColId>, estimate: Estimate, order: Vec<SortKey>) -> Plan {
        Plan { id: NodeId::default(), op, output, estimate, order, partitions: 1 }
    }

    pub fn inputs(&self) -> Vec<&Plan> {
        match &self.op {
            PlanOp::Scan(_) | PlanOp::Values { .. } | PlanOp::Working { .. } => Vec::new(),
            PlanOp::Filter { input, .. }
            | PlanOp::Project { input, .. }
            | PlanOp::HashAggregate { input, .. }
            | PlanOp::PartialAggregate { input, .. }
            | PlanOp::FinalAggregate { input, .. }
            | PlanOp::StreamAggregate { input, .. }
            | PlanOp::Rollup { input, .. }
            | PlanOp::Window { input, .. }
            | PlanOp::Recursive { input, .. }
            | PlanOp::Sort { input, .. }
            | PlanOp::Limit { input, .. }
            | PlanOp::Lateral { input, .. }
            | PlanOp::JsonTable { input, .. }
            | PlanOp::Exchange { input, .. }
            | PlanOp::Shared { input, .. } => vec![input],
            PlanOp::LookupJoin { left, .. } => vec![left],
            PlanOp::HashJoin { left, right, .. }
            | PlanOp::NestedLoopJoin { left, right, .. }
            | PlanOp::MergeJoin { left, right, .. } => vec![left, right],
            PlanOp::EarlyStop { input, fallback, .. } => vec![input, fallback],
            PlanOp::UnionAll { inputs, .. } => inputs.iter().collect(),
        }
    }

    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match &mut self.op {
            PlanOp::Scan(_) | PlanOp::Values { .. } | PlanOp::Working { .. } => Vec::new(),
            PlanOp::Filter { input, .. }
            | PlanOp::Project { input, .. }
            | PlanOp::HashAggregate { input, .. }
            | PlanOp::PartialAggregate { input, .. }
            | PlanOp::FinalAggregate { input, .. }
            | PlanOp::StreamAggregate { input, .. }
            | PlanOp::Rollup { input, .. }
            | PlanOp::Window { input, .. }
            | PlanOp::Recursive { input, .. }
            | PlanOp::Sort { input, .. }
            | PlanOp::Limit { input, .. }
            | PlanOp::Lateral { input, .. }
            | PlanOp::JsonTable { input, .. }
            | PlanOp::Exchange { input, .. }
            | PlanOp::Shared { input, .. } => vec![input],
            PlanOp::LookupJoin { left, .. } => vec![left],
            PlanOp::HashJoin { left, right, .. }
            | PlanOp::NestedLoopJoin { left, right, .. }
            | PlanOp::MergeJoin { left, right, .. } => vec![left, right],
            PlanOp::EarlyStop { input, fallback, .. } => vec![input, fallback],
            PlanOp::UnionAll { inputs, .. } => inputs.iter_mut().collect(),
        }
    }

    /// The expressions that the node itself computes: those of scans and lookups, keys, conditions, columns, arguments.
    pub fn exprs(&self) -> Vec<&Expr> {
        fn pairs(keys: &[(Expr, Expr)]) -> impl Iterator<Item = &Expr> {
            keys.iter().flat_map(|(a, b)| [a, b])
        }
        fn of_call((_, call): &(ColId, AggregateCall)) -> impl Iterator<Item = &Expr> {
            let order = match &call.function {
                AggregateFunction::GroupConcat { order, .. } => order.as_slice(),
                _ => &[],
            };
            call.args.iter().chain(order.iter().map(|k| &k.expr))
        }
        match &self.op {
            PlanOp::Scan(scan) => scan.index_condition.iter().chain(&scan.filter).collect(),
            PlanOp::Values { rows } => rows.iter().flatten().collect(),
            PlanOp::Filter { predicates: exprs, .. } | PlanOp::NestedLoopJoin { on: exprs, .. } => {
                exprs.iter().collect()
            }
            PlanOp::HashJoin { keys, residual, .. } | PlanOp::MergeJoin { keys, residual, .. } => {
                pairs(keys).chain(residual).collect()
            }
            PlanOp::LookupJoin { lookup, keys, residual, entry_condition, .. } => {
                let scanned = lookup.index_condition.iter().chain(&lookup.filter);
                keys.iter().chain(residual).chain(entry_condition).chain(scanned).collect()
            }
            PlanOp::Lateral { rows, .. } => vec![rows],
            PlanOp::JsonTable { table, .. } => vec![&table.document],
            PlanOp::Project { exprs, .. } => exprs.iter().map(|(_, e)| e).collect(),
            PlanOp::HashAggregate { aggregates, .. }
            | PlanOp::PartialAggregate { aggregates, .. }
            | PlanOp::StreamAggregate { aggregates, .. } => aggregates.iter().flat_map(of_call).collect(),
            PlanOp::Recursive { recursion, .. } => recursion.steps.iter().collect(),
            PlanOp::Window { window, .. } => window.exprs(),
            PlanOp::Sort { keys, .. } => keys.iter().map(|k| &k.expr).collect(),
            PlanOp::Exchange { kind: ExchangeKind::Hash { keys }, .. } => keys.iter().collect(),
            PlanOp::Exchange { kind: ExchangeKind::Gather | ExchangeKind::Concatenate, .. }
            | PlanOp::FinalAggregate { .. }
            | PlanOp::Working { .. }
            | PlanOp::Rollup { .. }
            | PlanOp::Limit { .. }
            | PlanOp::EarlyStop { .. }
            | PlanOp::UnionAll { .. }
            | PlanOp::Shared { .. } => Vec::new(),
        }
    }

    /// Returns the expressions of the node so that they can be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        fn pairs(keys: &mut [(Expr, Expr)]) -> impl Iterator<Item = &mut Expr> {
            keys.iter_mut().flat_map(|(a, b)| [a, b])
        }
        fn of_call((_, call): &mut (ColId, AggregateCall)) -> impl Iterator<Item = &mut Expr> {
            let order = match &mut call.function {
                AggregateFunction::GroupConcat { order, .. } => order.as_mut_slice(),
                _ => &mut [],
            };
            call.args.iter_mut().chain(order.iter_mut().map(|k| &mut k.expr))
        }
        match &mut self.op {
            PlanOp::Scan(scan) => scan.index_condition.iter_mut().chain(&mut scan.filter).collect(),
            PlanOp::Values { rows } => rows.iter_mut().flatten().collect(),
            PlanOp::Filter { predicates: exprs, .. } | PlanOp::NestedLoopJoin { on: exprs, .. } => {
                exprs.iter_mut().collect()
            }
            PlanOp::HashJoin { keys, residual, .. } | PlanOp::MergeJoin { keys, residual, .. } => {
                pairs(keys).chain(residual).collect()
            }
            PlanOp::LookupJoin { lookup, keys, residual, entry_condition, .. } => {
                let scanned = lookup.index_condition.iter_mut().chain(&mut lookup.filter);
                keys.iter_mut().chain(residual).chain(entry_condition).chain(scanned).collect()
            }
            PlanOp::Lateral { rows, .. } => vec![rows],
            PlanOp::JsonTable { table, .. } => vec![&mut table.document],
            PlanOp::Project { exprs, .. } => exprs.iter_mut().map(|(_, e)| e).collect(),
            PlanOp::HashAggregate { aggregates, .. }
            | PlanOp::PartialAggregate { aggregates, .. }
            | PlanOp::StreamAggregate { aggregates, .. } => aggregates.iter_mut().flat_map(of_call).collect(),
            PlanOp::Recursive { recursion, .. } => recursion.steps.iter_mut().collect(),
            PlanOp::Window { window, .. } => window.exprs_mut(),
            PlanOp::Sort { keys, .. } => keys.iter_mut().map(|k| &mut k.expr).collect(),
            PlanOp::Exchange { kind: ExchangeKind::Hash { keys }, .. } => keys.iter_mut().collect(),
            PlanOp::Exchange { kind: ExchangeKind::Gather | ExchangeKind::Concatenate, .. }
            | PlanOp::FinalAggregate { .. }
            | PlanOp::Working { .. }
            | PlanOp::Rollup { .. }
            | PlanOp::Limit { .. }
            | PlanOp::EarlyStop { .. }
            | PlanOp::UnionAll { .. }
            | PlanOp::Shared { .. } => Vec::new(),
        }
    }
}
