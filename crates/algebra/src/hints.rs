//! Optimizer hints with their names resolved: a table is known by its columns, which no other table has.

use crate::{ColId, Switch};
use std::collections::BTreeSet;

/// The kind of object that a hint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintTarget {
    /// All tables of a query block: also how the block itself, as a subquery, is joined.
    Block,
    /// A derived table or view, by the columns it delivers.
    Derived,
    /// A base table.
    Table,
}

/// A switch set for some tables: `NO_ICP(t idx)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchHint {
    pub switch: Switch,
    pub on: bool,
    pub target: HintTarget,
    pub columns: BTreeSet<ColId>,
    /// Positions in the table's list of indexes; `None` for all.
    pub indexes: Option<Vec<usize>>,
}

/// The place that a list of tables has in the join order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// One after the other, others between them or not: `JOIN_ORDER`, `JOIN_FIXED_ORDER`.
    Order,
    /// Before all others.
    Prefix,
    /// The tables come after all others.
    Suffix,
}

/// `JOIN_ORDER(t1, t2)` and its like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderHint {
    pub kind: OrderKind,
    /// Each by the columns of the base tables it is made of.
    pub tables: Vec<BTreeSet<ColId>>,
    /// The text of the hint, as a warning shows it.
    pub text: String,
}

/// All hints of a statement. Of several for one table the later ones count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    pub switches: Vec<SwitchHint>,
    pub orders: Vec<OrderHint>,
}
