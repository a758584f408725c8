//! The logical algebra: what a query means, with no word on how to get it.

use crate::{AggregateCall, ColId, Expr, JsonTable, Recursion, Rollup, TableDef, Window};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which rows of two inputs a join yields. `Semi` and `Anti` yield rows of the left input only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JoinKind {
    Inner,
    /// All rows of the left input; NULLs on the right where none matches.
    Left,
    Semi,
    Anti,
    /// `NOT IN`: a left row survives only if the condition is FALSE for every right row; UNKNOWN rejects it.
    NullAwareAnti,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// The use of an index that a hint is about; `All` without a FOR clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

/// `USE | FORCE | IGNORE INDEX [FOR ..] (names)`. Names are checked by the binder; `PRIMARY` is the clustered index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub scope: IndexHintScope,
    /// Positions in [`TableDef::indexes`].
    pub indexes: Vec<usize>,
}

/// One key of an ORDER BY. NULLs come first ascending and last descending, as in MySQL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

/// A logical relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Rel {
    /// A base table under a name; `columns` maps its column positions to the query's columns.
    Get {
        table: Arc<TableDef>,
        alias: String,
        columns: Vec<(ColId, usize)>,
        hints: Vec<IndexHint>,
    },
    /// Literal rows; `SELECT` without FROM is one row without columns.
    Values {
        columns: Vec<ColId>,
        rows: Vec<Vec<Expr>>,
    },
    /// Rows for which every predicate is TRUE.
    Filter {
        input: Box<Rel>,
        predicates: Vec<Expr>,
    },
    /// Exactly these columns; a pass-through is `(id, Expr::Column(id))`.
    Project {
        input: Box<Rel>,
        exprs: Vec<(ColId, Expr)>,
    },
    /// `straight`: STRAIGHT_JOIN, the left input is read before the right one.
    Join {
        kind: JoinKind,
        left: Box<Rel>,
        right: Box<Rel>,
        on: Vec<Expr>,
        straight: bool,
    },
    /// One row per distinct combination of `group` (one row in all when there is none and nothing groups).
    /// The output is the group columns, then the aggregates.
    Aggregate {
        input: Box<Rel>,
        group: Vec<ColId>,
        aggregates: Vec<(ColId, AggregateCall)>,
    },
    /// All rows, once for each level of a rollup, with the keys of the level behind their columns.
    Rollup {
        input: Box<Rel>,
        rollup: Rollup,
    },
    /// The rows of the input, and those that the steps make of them, round by round.
    Recursive {
        input: Box<Rel>,
        recursion: Box<Recursion>,
    },
    /// The rows that the round before has added to a recursive table.
    Working {
        table: usize,
        name: String,
        columns: Vec<ColId>,
    },
    /// All rows, with the results of window functions behind their columns.
    Window {
        input: Box<Rel>,
        window: Window,
    },
    Sort {
        input: Box<Rel>,
        keys: Vec<SortKey>,
    },
    Limit {
        input: Box<Rel>,
        offset: u64,
        count: Option<u64>,
    },
    /// A dependent join: for each row of the input the rows that a subquery has for it (LATERAL). `rows`: an
    /// [`Expr::Subquery`] of the kind [`crate::SubqueryKind::Rows`]. The output is that of the input and the
    /// subquery's.
    Lateral {
        input: Box<Rel>,
        rows: Box<Expr>,
        /// All rows of the input stay, with NULLs where the subquery has no row.
        keeps: bool,
    },
    /// For each row of the input the rows that a document has. The output is that of the input and the table's.
    JsonTable {
        input: Box<Rel>,
        table: Box<JsonTable>,
        /// All rows of the input stay, with NULLs where the document has no row.
        keeps: bool,
    },
    /// `columns[i]` takes the values of `inputs[k].1[i]`. UNION ALL; UNION is an Aggregate without aggregates on top.
    Union {
        inputs: Vec<(Rel, Vec<ColId>)>,
        columns: Vec<ColId>,
    },
}

impl Rel {
    /// One row without columns.
    pub fn dual() -> Rel {
        Rel::Values { columns: Vec::new(), rows: vec![Vec::new()] }
    }

    /// The columns of the result, in order.
    pub fn output(&self) -> Vec<ColId> {
        match self {
            Rel::Get { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
            Rel::Values { columns, .. } | Rel::Union { columns, .. } | Rel::Working { columns, .. } => columns.clone(),
            Rel::Recursive { recursion, .. } => recursion.columns.clone(),
            Rel::Filter { input, .. } | Rel::Sort { input, .. } | Rel::Limit { input, .. } => input.output(),
            Rel::Project { exprs, .. } => exprs.iter().map(|(id, _)| *id).collect(),
            Rel::Join { kind: JoinKind::Inner | JoinKind::Left, left, right, .. } => {
                let mut all = left.output();
                all.extend(right.output());
                all
            }
            Rel::Join { left, .. } => left.output(),
            Rel::Window { input, window } => {
                let mut all = input.output();
                all.extend(window.calls.iter().map(|(id, _)| *id));
                all
            }
            Rel::Rollup { input, rollup } => input.output().into_iter().chain(rollup.columns()).collect(),
            Rel::Lateral { input, rows, .. } => {
                let mut all = input.output();
                all.extend(lateral_outputs(rows));
                all
            }
            Rel::JsonTable { input, table, .. } => input.output().into_iter().chain(table.outputs.clone()).collect(),
            Rel::Aggregate { group, aggregates, .. } => {
                group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect()
            }
        }
    }

    pub fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::Get { .. } | Rel::Values { .. } | Rel::Working { .. } => Vec::new(),
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Rollup { input, .. }
            | Rel::Window { input, .. }
            | Rel::Recursive { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Lateral { input, .. }
            | Rel::JsonTable { input, .. }
            | Rel::Limit { input, .. } => vec![input],
            Rel::Join { left, right, .. } => vec![left, right],
            Rel::Union { inputs, .. } => inputs.iter().map(|(r, _)| r).collect(),
        }
    }

    pub fn inputs_mut(&mut self) -> Vec<&mut Rel> {
        match self {
            Rel::Get { .. } | Rel::Values { .. } | Rel::Working { .. } => Vec::new(),
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Rollup { input, .. }
            | Rel::Window { input, .. }
            | Rel::Recursive { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Lateral { input, .. }
            | Rel::JsonTable { input, .. }
            | Rel::Limit { input, .. } => vec![input],
            Rel::Join { left, right, .. } => vec![left, right],
            Rel::Union { inputs, .. } => inputs.iter_mut().map(|(r, _)| r).collect(),
        }
    }

    /// Calls `f` on this relation, on its inputs, and on the relations of all subqueries in their expressions, parents
    /// first.
    pub fn visit(&self, f: &mut dyn FnMut(&Rel)) {
        f(self);
        for expr in self.exprs() {
            expr.visit(&mut |part| {
                if let Expr::Subquery(subquery) = part {
                    subquery.rel.visit(f);
                }
            });
        }
        self.inputs().into_iter().for_each(|input| input.visit(f));
    }

    /// The expressions of this node itself.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Rel::Get { .. } | Rel::Limit { .. } | Rel::Union { .. } => Vec::new(),
            Rel::Working { .. } | Rel::Rollup { .. } => Vec::new(),
            Rel::Values { rows, .. } => rows.iter().flatten().collect(),
            Rel::Lateral { rows, .. } => vec![rows],
            Rel::JsonTable { table, .. } => vec![&table.document],
            Rel::Filter { predicates, .. } => predicates.iter().collect(),
            Rel::Project { exprs, .. } => exprs.iter().map(|(_, e)| e).collect(),
            Rel::Join { on, .. } => on.iter().collect(),
            Rel::Aggregate { aggregates, .. } => aggregates.iter().flat_map(|(_, a)| aggregate_exprs(a)).collect(),
            Rel::Recursive { recursion, .. } => recursion.steps.iter().collect(),
            Rel::Window { window, .. } => window.exprs(),
            Rel::Sort { keys, .. } => keys.iter().map(|k| &k.expr).collect(),
        }
    }

    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Rel::Get { .. } | Rel::Limit { .. } | Rel::Union { .. } => Vec::new(),
            Rel::Working { .. } | Rel::Rollup { .. } => Vec::new(),
            Rel::Values { rows, .. } => rows.iter_mut().flatten().collect(),
            Rel::Lateral { rows, .. } => vec![rows],
            Rel::JsonTable { table, .. } => vec![&mut table.document],
            Rel::Filter { predicates, .. } => predicates.iter_mut().collect(),
            Rel::Project { exprs, .. } => exprs.iter_mut().map(|(_, e)| e).collect(),
            Rel::Join { on, .. } => on.iter_mut().collect(),
            Rel::Aggregate { aggregates, .. } => {
                aggregates.iter_mut().flat_map(|(_, a)| aggregate_exprs_mut(a)).collect()
            }
            Rel::Recursive { recursion, .. } => recursion.steps.iter_mut().collect(),
            Rel::Window { window, .. } => window.exprs_mut(),
            Rel::Sort { keys, .. } => keys.iter_mut().map(|k| &mut k.expr).collect(),
        }
    }
}

/// The columns that a dependent join adds to those of its input: what its subquery, or its subplan, delivers.
pub fn lateral_outputs(rows: &Expr) -> &[ColId] {
    match rows {
        Expr::Subquery(subquery) => &subquery.outputs,
        Expr::Subplan(subplan) => &subplan.outputs,
        _ => &[],
    }
}

fn aggregate_exprs(call: &AggregateCall) -> Vec<&Expr> {
    let order = match &call.function {
        crate::AggregateFunction::GroupConcat { order, .. } => order.as_slice(),
        _ => &[],
    };
    call.args.iter().chain(order.iter().map(|k| &k.expr)).collect()
}

fn aggregate_exprs_mut(call: &mut AggregateCall) -> Vec<&mut Expr> {
    let order = match &mut call.function {
        crate::AggregateFunction::GroupConcat { order, .. } => order.as_mut_slice(),
        _ => &mut [],
    };
    call.args.iter_mut().chain(order.iter_mut().map(|k| &mut k.expr)).collect()
}
