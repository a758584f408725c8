//! GROUP BY .. WITH ROLLUP and GROUPING(): super-aggregate rows are groups of copies of the rows, one for each level.
//!
//! ```text
//!   Rollup(keys) -> Aggregate(keys of the rollup, level) -> Project(.., which keys are rolled up, GROUPING(..))
//! ```
//!
//! Without ORDER BY the groups come as MySQL makes them: in the order of the keys, each super-aggregate row behind the
//! rows that it sums up. With ORDER BY that is the order of rows that are equal in its keys.

use super::{
    aggregate::rename,
    binder::Binder,
    expr::{ExprContext, invalid_use, plain_args},
    output::Key,
    select::Selected,
};
use crate::typing::Item;
use muster_algebra::{
    AggregateCall, AggregateFunction, ArithmeticOp, ColId, ColumnMeta, CompareOp, Expr, Frame, ROLLED_UP, Rel, Rollup,
    RollupKey, SortKey, Window, WindowCall, WindowDefinition, WindowFunction,
};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};
use sqlparser::ast::{self, GroupByExpr, GroupByWithModifier};
use std::collections::HashMap;

/// Most arguments of GROUPING(): the bits of its result.
const GROUPING_ARGS_MAX: usize = 64;
/// Characters of a result of GROUPING().
const GROUPING_LENGTH: u32 = 21;

/// A call of GROUPING().
#[derive(Debug)]
pub(crate) struct GroupingCall {
    /// The column of its results.
    pub id: ColId,
    pub args: Vec<Expr>,
}

/// The keys of a rollup, as the rows above the aggregate have them.
pub(super) struct RolledUp {
    pub rollup: Rollup,
    /// For each key a column that is 1 where it is rolled up and 0 elsewhere.
    flags: Vec<ColId>,
    /// Columns of texts, which expressions see in place of keys that are ENUM or SET.
    texts: Vec<(RollupKey, ColId)>,
}

/// How the rows of a SELECT with a rollup are put in order.
pub(super) struct RollupOrder {
    /// The columns that the groups are ordered by.
    pub columns: Vec<ColId>,
    /// True if the order of the rows, or which of them are the first, matters.
    pub is_wanted: bool,
    pub distinct: bool,
}

/// Returns true for GROUP BY .. WITH ROLLUP.
pub(super) fn is_rollup(group_by: &GroupByExpr) -> Result<bool> {
    match group_by {
        GroupByExpr::Expressions(_, modifiers) => match modifiers.as_slice() {
            [] => Ok(false),
            [GroupByWithModifier::Rollup] => Ok(true),
            [other, ..] => Err(SqlError::syntax(other, 1)),
        },
        GroupByExpr::All(_) => Ok(false),
    }
}

/// Has constants of the select list stay what they are where a key of a rollup is an expression of the same value: `1`
/// is not the key `1 + 0`. A key means an item that it names, or that is written as it is.
pub(super) fn keep_constants_apart(selected: &mut [Selected], select: &ast::Select, is_rollup: bool) {
    let GroupByExpr::Expressions(keys, _) = &select.group_by else { return };
    let is_computed = |key: &&ast::Expr| !matches!(key, ast::Expr::Value(_) | ast::Expr::Identifier(_));
    let computed: Vec<&ast::Expr> = keys.iter().filter(is_computed).collect();
    if !is_rollup || computed.len() < keys.len() {
        return;
    }
    for Selected { item, ast, .. } in selected {
        let is_key = ast.is_some_and(|ast| computed.contains(&ast));
        if item.as_literal().is_some() && !is_key {
            let arg = Box::new(item.expr.clone());
            item.expr = Expr::Cast { arg, ty: item.ty };
        }
    }
}

/// Error 1111 for GROUPING() in a query without a rollup.
pub(super) fn check_groupings(groupings: &[GroupingCall], is_rollup: bool) -> Result<()> {
    if is_rollup || groupings.is_empty() { Ok(()) } else { Err(invalid_use()) }
}

impl RolledUp {
    /// Replaces the columns that are grouped by, which are NULL where they are rolled up.
    pub fn replace_keys(&self, expr: &mut Expr) {
        let mut names = HashMap::new();
        for key in &self.rollup.keys {
            let text = self.texts.iter().find(|(own, _)| own == key).map(|(_, text)| *text);
            names.entry(key.source).or_insert(text.unwrap_or(key.id));
        }
        rename(expr, &names);
    }

    /// The columns in whose order the groups come.
    fn order(&self) -> Vec<ColId> {
        self.flags.iter().zip(&self.rollup.keys).flat_map(|(flag, key)| [*flag, key.id]).collect()
    }

    /// A number that is `value` where the key at this position is rolled up, and 0 elsewhere.
    fn bit(&self, position: usize, value: i64) -> Expr {
        let number = |value| Expr::literal(Value::Int(value), SqlType::BIGINT);
        let is_rolled_up = Expr::compare(CompareOp::LtEq, Expr::Column(self.rollup.level), number(position as i64));
        let (branches, otherwise) = (vec![(is_rolled_up, number(value))], Some(Box::new(number(0))));
        Expr::Case { branches, otherwise, ty: SqlType::BIGINT }
    }

    /// The result of GROUPING() of the keys at these positions: the last one has the lowest bit.
    fn grouping(&self, positions: &[usize]) -> Expr {
        let bits = positions.iter().rev().enumerate().map(|(bit, position)| self.bit(*position, 1 << bit));
        let sum = bits.reduce(|left, right| Expr::Arithmetic {
            op: ArithmeticOp::Add,
            left: Box::new(left),
            right: Box::new(right),
            ty: SqlType::BIGINT,
        });
        sum.unwrap_or_else(|| Expr::literal(Value::Int(0), SqlType::BIGINT))
    }
}

impl Binder<'_> {
    /// A call of GROUPING(). Errors: 1064 without arguments, 1111 where no aggregate function may stand. Within an
    /// aggregate function, whose rows are not grouped yet, it is 0.
    pub(super) fn grouping_call(&mut self, function: &ast::Function, cx: &mut ExprContext) -> Result<Item> {
        let written = plain_args(function)?;
        if written.is_empty() {
            return Err(SqlError::syntax(")", 1));
        }
        if written.len() > GROUPING_ARGS_MAX {
            let message = format!(
                "Too many arguments for function GROUPING: {}; maximum allowed is {GROUPING_ARGS_MAX}.",
                written.len()
            );
            return Err(SqlError::new(ErrorCode::InvalidNumberOfArgs, message));
        }
        let place = cx.aggregates.ok_or_else(invalid_use)?;
        let mut args = Vec::with_capacity(written.len());
        for expr in written {
            let item = self.expr(expr, cx)?;
            args.push(self.bare(item).expr);
        }
        let known = place.borrow().groupings.iter().find(|call| call.args == args).map(|call| call.id);
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.columns.add_computed(function.to_string(), SqlType::BIGINT, true);
                self.columns.set_length(id, Some(GROUPING_LENGTH));
                place.borrow_mut().groupings.push(GroupingCall { id, args });
                id
            }
        };
        Ok(match cx.in_aggregate {
            true => Item::literal(Value::Int(0), SqlType::BIGINT),
            false => self.column_item(id),
        })
    }

    /// The rows of a grouped query, once for each level of a rollup by these columns.
    pub(super) fn roll_up(&mut self, rel: Rel, sources: &[ColId]) -> (Rel, RolledUp) {
        let keys: Vec<RollupKey> =
            sources.iter().map(|source| RollupKey { id: self.rollup_key(*source), source: *source }).collect();
        let mut texts = Vec::new();
        for key in &keys {
            let (name, ty) = (self.columns.get(key.id).name.clone(), self.columns.ty(key.id));
            if matches!(ty, SqlType::Enum(_) | SqlType::Set(_)) {
                texts.push((*key, self.columns.add_computed(name, ty.operand_type(), true)));
            }
        }
        let columns = keys.iter().map(|key| key.id).chain(texts.iter().map(|(_, text)| *text));
        self.rolled_up.extend(columns);
        let level = self.columns.add_computed("rollup level", SqlType::BIGINT, false);
        let rollup = Rollup { keys, level };
        let flags = sources.iter().map(|_| self.columns.add_computed(ROLLED_UP, SqlType::BIGINT, false)).collect();
        let rel = Rel::Rollup { input: Box::new(rel), rollup: rollup.clone() };
        (rel, RolledUp { rollup, flags, texts })
    }

    /// A column with the values of another one, and NULL. For clients it is computed.
    fn rollup_key(&mut self, source: ColId) -> ColId {
        let meta = self.columns.get(source).clone();
        let (ty, length, shape) = (meta.ty, self.columns.length(source), self.columns.shape(source));
        let id = self.columns.add(ColumnMeta { nullable: true, origin: None, ..meta });
        self.columns.set_length(id, length);
        self.columns.set_shape(id, shape);
        if ty.is_temporal() {
            self.columns.set_chosen(id);
        }
        id
    }

    /// Computes above the groups which keys are rolled up, and the results of GROUPING(). `computed`: the columns of
    /// keys that are no columns of tables. Returns the columns in whose order the groups come. Error 3602 for an
    /// argument that is not grouped by.
    pub(super) fn flag_rolled_up(
        &mut self,
        rel: Rel,
        rolled_up: &RolledUp,
        groupings: Vec<GroupingCall>,
        computed: &[(ColId, Expr)],
    ) -> Result<(Rel, Vec<ColId>)> {
        let mut exprs: Vec<(ColId, Expr)> = rel.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
        let flags = rolled_up.flags.iter().enumerate();
        exprs.extend(flags.map(|(position, flag)| (*flag, rolled_up.bit(position, 1))));
        let as_text = |(key, id): &(RollupKey, ColId)| {
            (*id, Expr::Cast { arg: Box::new(Expr::Column(key.id)), ty: self.columns.ty(*id) })
        };
        exprs.extend(rolled_up.texts.iter().map(as_text));
        for GroupingCall { id, args } in groupings {
            let position = |(number, arg): (usize, &Expr)| {
                let of = |source: ColId| rolled_up.rollup.sources().position(|key| key == source);
                let column = match arg {
                    Expr::Column(id) => Some(*id),
                    arg => computed.iter().find(|(_, expr)| expr == arg).map(|(id, _)| *id),
                };
                column.and_then(of).ok_or_else(|| {
                    let number = number + 1;
                    let message = format!("Argument #{number} of GROUPING function is not in GROUP BY");
                    SqlError::new(ErrorCode::FieldInGroupingNotGroupBy, message)
                })
            };
            let positions = args.iter().enumerate().map(position).collect::<Result<Vec<usize>>>()?;
            exprs.push((id, rolled_up.grouping(&positions)));
        }
        Ok((Rel::Project { input: Box::new(rel), exprs }, rolled_up.order()))
    }

    /// Has the groups of a rollup come in their order: to window functions, or by further keys behind those of ORDER
    /// BY. Returns the column by which distinct rows are ordered: the place of the first group that makes the row.
    pub(super) fn in_rollup_order(
        &mut self,
        rel: Rel,
        order: RollupOrder,
        has_windows: bool,
        keys: &mut Vec<Key>,
    ) -> (Rel, Option<(ColId, AggregateCall)>) {
        let RollupOrder { columns, is_wanted, distinct } = order;
        let sorted = |rel: Rel, columns: Vec<ColId>| {
            let keys = columns.into_iter().map(|id| SortKey { expr: Expr::Column(id), descending: false }).collect();
            Rel::Sort { input: Box::new(rel), keys }
        };
        if columns.is_empty() || !has_windows && !is_wanted {
            return (rel, None);
        }
        if has_windows {
            return (sorted(rel, columns), None);
        }
        if !distinct {
            let key = |id: ColId| Key { expr: Expr::Column(id), descending: false, number: 0 };
            keys.extend(columns.into_iter().map(key));
            return (rel, None);
        }
        let ty = SqlType::BIGINT_UNSIGNED;
        let place = self.columns.add_computed("place", ty, false);
        let call = WindowCall {
            function: WindowFunction::RowNumber,
            frame: Frame::whole(),
            ty,
            over: WindowDefinition::default(),
        };
        let window = Window { partition: Vec::new(), order: Vec::new(), calls: vec![(place, call)], limit: None };
        let rel = Rel::Window { input: Box::new(sorted(rel, columns)), window };
        let args = vec![Expr::Column(place)];
        let first = AggregateCall { function: AggregateFunction::Min, args, distinct: false, ty };
        (rel, Some((place, first)))
    }
}
