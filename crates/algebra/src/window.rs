//! Window functions: values of a row that are computed from the rows around it (MySQL manual, section 14.20).

use crate::{AggregateCall, ColId, Expr, SortKey};
use muster_types::SqlType;
use serde::{Deserialize, Serialize};

/// Calls of window functions over one division of the rows into partitions, and one order of the rows in these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Rows whose values of these are equal (for texts: under their collation) are one partition; NULLs are equal.
    pub partition: Vec<Expr>,
    /// The order of the rows within a partition. Rows with equal keys are peers.
    pub order: Vec<SortKey>,
    pub calls: Vec<(ColId, WindowCall)>,
    /// Only rows are wanted whose number or rank, the result of this call, is no greater.
    pub limit: Option<(ColId, u64)>,
}

/// One call of a window function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub frame: Frame,
    pub ty: SqlType,
    pub over: WindowDefinition,
}

/// The window of a call as the statement defines it. Windows that divide and order the rows alike are one
/// [`Window`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WindowDefinition {
    /// Its name in the WINDOW clause; `None` if it is defined where it is used.
    pub name: Option<String>,
    /// Its number in the query block, counted from 1: those without a name come before the WINDOW clause.
    pub position: u32,
}

/// A window function with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    /// The number of the row's bucket, of so many.
    Ntile {
        buckets: u64,
    },
    /// The value at another row of the partition, so many rows before or after; `default` where there is none.
    Shifted {
        value: Expr,
        offset: u64,
        /// True for LEAD, false for LAG.
        forward: bool,
        default: Option<Expr>,
    },
    /// The value at the frame's first row.
    FirstValue(Expr),
    /// The value at the frame's last row.
    LastValue(Expr),
    /// The value at the frame's row of this number, counted from 1.
    NthValue {
        value: Expr,
        number: u64,
    },
    /// An aggregate over the rows of the frame. Its `distinct` is false.
    Aggregate(AggregateCall),
}

/// The rows of the partition that a function sees, from one bound to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub units: FrameUnits,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// The meaning of a frame's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FrameUnits {
    /// Bounds are rows.
    Rows,
    /// Bounds are values of the sort key; the current row stands for all its peers.
    Range,
}

/// A bound of a frame. The rows are bounds themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FrameBound {
    UnboundedPreceding,
    /// ROWS: so many rows before the current one.
    RowsBefore(u64),
    /// RANGE: a value that comes before the current row's key in the order.
    Before(ValueBound),
    CurrentRow,
    /// RANGE: a value that comes after the current row's key in the order.
    After(ValueBound),
    /// ROWS: so many rows after the current one.
    RowsAfter(u64),
    UnboundedFollowing,
}

/// A bound that is a value, computed for each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueBound {
    /// The sort key, as the type of `value`.
    pub key: Expr,
    /// The value with which the keys of other rows are compared. NULL beside a key that is not NULL: the value is
    /// beyond what its type holds, and the bound is the end of the partition.
    pub value: Expr,
}

impl Frame {
    /// All rows of the partition.
    pub fn whole() -> Frame {
        let (start, end) = (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
        Frame { units: FrameUnits::Rows, start, end }
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().flat_map(FrameBound::exprs)
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        [&mut self.start, &mut self.end].into_iter().flat_map(FrameBound::exprs_mut)
    }
}

impl FrameBound {
    fn exprs(&self) -> Vec<&Expr> {
        match self {
            FrameBound::Before(ValueBound { key, value }) | FrameBound::After(ValueBound { key, value }) => {
                vec![key, value]
            }
            _ => Vec::new(),
        }
    }

    fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            FrameBound::Before(ValueBound { key, value }) | FrameBound::After(ValueBound { key, value }) => {
                vec![key, value]
            }
            _ => Vec::new(),
        }
    }
}

impl WindowFunction {
    /// Returns true for a function that sees its frame only, not the whole partition.
    pub fn uses_frame(&self) -> bool {
        use WindowFunction::*;
        matches!(self, FirstValue(_) | LastValue(_) | NthValue { .. } | Aggregate(_))
    }

    /// Returns true for a place in the partition that depends on the rows before only.
    pub fn is_running_place(&self) -> bool {
        matches!(self, WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank)
    }

    fn exprs(&self) -> Vec<&Expr> {
        use WindowFunction::*;
        match self {
            RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile { .. } => Vec::new(),
            Shifted { value, default, .. } => std::iter::once(value).chain(default).collect(),
            FirstValue(value) | LastValue(value) | NthValue { value, .. } => vec![value],
            Aggregate(call) => call.args.iter().collect(),
        }
    }

    fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        use WindowFunction::*;
        match self {
            RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile { .. } => Vec::new(),
            Shifted { value, default, .. } => std::iter::once(value).chain(default).collect(),
            FirstValue(value) | LastValue(value) | NthValue { value, .. } => vec![value],
            Aggregate(call) => call.args.iter_mut().collect(),
        }
    }
}

impl WindowCall {
    /// All expressions: arguments and bounds.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        self.function.exprs_mut().into_iter().chain(self.frame.exprs_mut()).collect()
    }
}

impl Window {
    /// The order that the rows have to come in: that of the partitions, and of the rows in them.
    pub fn sort_keys(&self) -> Vec<SortKey> {
        let partition = self.partition.iter().map(|expr| SortKey { expr: expr.clone(), descending: false });
        let mut keys: Vec<SortKey> = Vec::new();
        for key in partition.chain(self.order.iter().cloned()) {
            let is_new = |known: &SortKey| known.expr != key.expr;
            if !matches!(key.expr, Expr::Literal { .. }) && keys.iter().all(is_new) {
                keys.push(key);
            }
        }
        keys
    }

    /// All expressions: of partitions, of the order, arguments, bounds.
    pub fn exprs(&self) -> Vec<&Expr> {
        let calls = self.calls.iter().flat_map(|(_, call)| call.function.exprs().into_iter().chain(call.frame.exprs()));
        self.partition.iter().chain(self.order.iter().map(|key| &key.expr)).chain(calls).collect()
    }

    /// The same, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let calls = self
            .calls
            .iter_mut()
            .flat_map(|(_, call)| call.function.exprs_mut().into_iter().chain(call.frame.exprs_mut()));
        self.partition.iter_mut().chain(self.order.iter_mut().map(|key| &mut key.expr)).chain(calls).collect()
    }
}
