//! NOT IN over several columns, or with further conditions: a left row stays if its comparison with every right row is
//! FALSE.
//!
//! ```text
//!   left  --> anti join with all right rows, keys found by hash --> anti join with the right rows that have a NULL key
//!         --> those without a NULL key ---------------------------------------+--> result
//!         --> those with one --> anti join with all right rows ---------------+
//! ```
//!
//! Only the rows with NULL keys, few as a rule, are compared with more than their partners: by those of the keys that
//! cannot be NULL, if there are any, else one by one.

use super::{Lowerer, Node, df};
use crate::expr::Physical;
use datafusion_physical_plan::union::UnionExec;
use muster_algebra::{Expr, JoinKind, LogicOp, Side};
use muster_types::{Result, collation::TextTraits};
use std::sync::Arc;

/// The sides of a NOT IN and what it compares.
pub(super) struct NotIn<'a> {
    pub left: Node,
    pub right: Node,
    /// By estimate.
    pub right_rows: f64,
    pub keys: &'a [(Expr, Expr)],
    /// The keys as operators compare them.
    pub pairs: Vec<(Physical, Physical)>,
    pub residual: Vec<Expr>,
    /// The side for a hash table, and its rows by estimate.
    pub build: (Side, f64),
}

/// What is compared where one of the keys is NULL.
struct Perhaps {
    /// Keys that are not NULL on either side.
    keys: Vec<(Expr, Expr)>,
    /// The other keys and all further conditions.
    rest: Vec<Expr>,
}

impl Lowerer<'_> {
    pub(super) fn not_in(&mut self, not_in: NotIn) -> Result<Node> {
        let NotIn { left, right, right_rows, keys, pairs, residual, build } = not_in;
        let nullable = |key: &Physical, node: &Node| key.nullable(&node.scope.schema).unwrap_or(true);
        let nullable: Vec<(bool, bool)> =
            pairs.iter().map(|(l, r)| (nullable(l, &left), nullable(r, &right))).collect();
        let (left_nullable, right_nullable) = (nullable.iter().any(|n| n.0), nullable.iter().any(|n| n.1));
        let is_null = |expr: &Expr| Expr::IsNull { arg: Box::new(expr.clone()), negated: false };
        let outputs = left.scope.columns.clone();
        let (mut known, mut perhaps) = (Vec::new(), residual.clone());
        for (key, nullable) in keys.iter().zip(&nullable) {
            match nullable {
                (false, false) => known.push(key.clone()),
                _ => perhaps.push(Expr::eq(key.0.clone(), key.1.clone())),
            }
        }
        let perhaps = Perhaps { keys: known, rest: perhaps };

        let right = if left_nullable || right_nullable { self.computed_once(right, Arc::default()) } else { right };
        // Equal keys whose conditions are UNKNOWN reject as those do whose conditions are TRUE.
        let found: Vec<Expr> = if residual.is_empty() { Vec::new() } else { vec![not_false(residual)] };
        let sides = (left, right.clone());
        let mut node = self.hash_join_nodes(JoinKind::Anti, sides, pairs, &found, build, false, &outputs)?;
        if right_nullable {
            let has_null = any(keys.iter().map(|(_, key)| is_null(key)).collect());
            let with_null = self.filter_node(right.clone(), &[has_null], None)?;
            node = self.not_perhaps_in(node, with_null, 0.0, &perhaps)?;
        }
        if left_nullable {
            let has_null = any(keys.iter().map(|(key, _)| is_null(key)).collect());
            let all = self.computed_once(node, Arc::default());
            let with = self.filter_node(all.clone(), std::slice::from_ref(&has_null), None)?;
            let with = self.not_perhaps_in(with, right, right_rows, &perhaps)?.select(&outputs)?;
            let without = self.filter_node(all, &[Expr::Not(Box::new(has_null))], None)?.select(&outputs)?;
            let both = df(UnionExec::try_new(vec![with.exec, without.exec]))?;
            node = Node::new(both, outputs.clone(), with.scope.traits);
        }
        node.select(&outputs)
    }

    /// The left rows whose comparison with each of the right rows, some `right_rows`, is FALSE.
    fn not_perhaps_in(&mut self, left: Node, right: Node, right_rows: f64, perhaps: &Perhaps) -> Result<Node> {
        let Perhaps { keys, rest } = perhaps;
        if keys.is_empty() {
            return self.nested_loop_nodes(JoinKind::NullAwareAnti, left, right, right_rows, rest);
        }
        let pairs = self.join_keys(&left.scope, &right.scope, keys, TextTraits::bytes_decide_equality)?;
        let outputs = left.scope.columns.clone();
        let (sides, build, rest) = ((left, right), (Side::Right, right_rows), [not_false(rest.clone())]);
        self.hash_join_nodes(JoinKind::Anti, sides, pairs, &rest, build, false, &outputs)
    }
}

fn not_false(all: Vec<Expr>) -> Expr {
    Expr::IsTruth { arg: Box::new(Expr::and(all)), truth: false, negated: true }
}

fn any(mut tests: Vec<Expr>) -> Expr {
    match tests.len() {
        1 => tests.remove(0),
        _ => Expr::Logic { op: LogicOp::Or, args: tests },
    }
}
