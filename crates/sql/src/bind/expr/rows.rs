//! Rows of several columns: constructors `(a, b)` and subqueries, in comparisons and in front of IN.
//!
//! A row is compared column by column. A subquery as a row is bound once for each column, so that each of them can
//! become a join; one that picks any of several rows (LIMIT) must find the same row for all of them, so it is bound
//! once, and the comparison is computed over its row: `(1, 2) = (SELECT a, b .. LIMIT 1)` is `(SELECT (1, 2) = (x.a,
//! x.b) FROM (..) x)`.

use super::{
    ExprContext,
    compare::{Comparing, is_string},
    not, row_parts,
};
use crate::{
    bind::{
        binder::Binder,
        subquery::{operand_columns, picks_rows},
    },
    typing::Item,
};
use muster_algebra::{CompareOp, Expr, LogicOp, Rel, ScalarFunction};
use muster_types::{Result, SqlType};
use sqlparser::ast;
use std::cell::Cell;

impl<'a> Binder<'a> {
    /// Compares two operands, one of which is a row at least.
    pub(super) fn row_comparison(
        &mut self,
        op: CompareOp,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        // The row says how many columns the subquery beside it has to have.
        let width = match (row_parts(left), row_parts(right)) {
            (Some(parts), _) => parts.len(),
            (None, Some(parts)) if subquery(left).is_some() => parts.len(),
            _ => row_width(left).unwrap_or(1),
        };
        let (l, r) = (self.row_operand(left, width, cx)?, self.row_operand(right, width, cx)?);
        if l.rel.is_some() || r.rel.is_some() {
            let compared = self.compare_rows(op, &l.parts(), &r.parts(), cx)?;
            let found = [r.rel, l.rel].into_iter().flatten().fold(compared, |item, rel| self.over_row(rel, item));
            return Ok(match op {
                CompareOp::NullSafeEq => Item::bool(false_without_row(found.expr)),
                _ => found,
            });
        }
        let compared = self.compare_rows(op, &l.parts(), &r.parts(), cx)?;
        if op != CompareOp::NullSafeEq || width == 1 {
            return Ok(compared);
        }
        // A subquery without rows is no row of NULLs.
        let mut args = vec![compared.expr];
        for query in [left, right].into_iter().filter_map(subquery) {
            args.push(self.exists(query, false, cx)?.expr);
        }
        Ok(if args.len() == 1 {
            Item::bool(args.remove(0))
        } else {
            Item::bool(Expr::Logic { op: LogicOp::And, args })
        })
    }

    /// An operand that must have `width` columns; error 1241.
    fn row_operand<'q>(&mut self, operand: &'q ast::Expr, width: usize, cx: &ExprContext) -> Result<Operand<'q>> {
        if let Some(query) = subquery(operand) {
            let (rel, items) = self.row_of_subquery(query, width, cx)?;
            if picks_rows(&rel) {
                return Ok(Operand { operand, width, items, rel: Some(rel), first: Cell::default() });
            }
            let first = Cell::new(items.into_iter().next().map(|item| self.over_row(rel, item)));
            return Ok(Operand { operand, width, items: Vec::new(), rel: None, first });
        }
        match row_parts(operand) {
            Some(parts) if parts.len() == width => {
                Ok(Operand { operand, width, items: Vec::new(), rel: None, first: Cell::default() })
            }
            _ => Err(operand_columns(width)),
        }
    }

    /// `(a, b) < (c, d)` and so on, column by column.
    fn compare_rows(&mut self, op: CompareOp, l: &[Part], r: &[Part], cx: &mut ExprContext) -> Result<Item> {
        let (Some((l0, l_rest)), Some((r0, r_rest))) = (l.split_first(), r.split_first()) else {
            return Err(operand_columns(1));
        };
        if l_rest.is_empty() {
            let comparing: Comparing<'a> = if orders(op) { Binder::compare_with_clock } else { Binder::compare };
            return self.compare_parts(comparing, op, *l0, *r0, cx);
        }
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::NotEq => {
                let mut parts = Vec::with_capacity(l.len());
                for (a, b) in l.iter().zip(r) {
                    parts.push(self.compare_parts(Binder::compare, op, *a, *b, cx)?.expr);
                }
                let logic = if op == CompareOp::NotEq { LogicOp::Or } else { LogicOp::And };
                Ok(Item::bool(Expr::Logic { op: logic, args: parts }))
            }
            _ => {
                // a < c OR (a = c AND the rest)
                let strict = match op {
                    CompareOp::Lt | CompareOp::LtEq => CompareOp::Lt,
                    _ => CompareOp::Gt,
                };
                let comparing = Binder::compare_with_clock;
                let first = self.compare_parts(comparing, strict, *l0, *r0, cx)?.expr;
                let equal = self.compare_parts(comparing, CompareOp::Eq, *l0, *r0, cx)?.expr;
                let rest = self.compare_rows(op, l_rest, r_rest, cx)?.expr;
                let both = Expr::Logic { op: LogicOp::And, args: vec![equal, rest] };
                Ok(Item::bool(Expr::Logic { op: LogicOp::Or, args: vec![first, both] }))
            }
        }
    }

    fn compare_parts(
        &mut self,
        comparing: Comparing<'a>,
        op: CompareOp,
        l: Part,
        r: Part,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        if let (Part::Expr(l), Part::Expr(r)) = (l, r) {
            return self.comparison_by(comparing, op, l, r, cx);
        }
        let (l, r) = (self.part(l, cx)?, self.part(r, cx)?);
        comparing(self, op, l, r)
    }

    fn part(&mut self, part: Part, cx: &mut ExprContext) -> Result<Item> {
        match part {
            Part::Expr(expr) => self.expr(expr, cx),
            Part::Bound(item) => Ok(item.clone()),
            Part::Column { query, at, of, first } => match first.and_then(Cell::take) {
                Some(item) => Ok(item),
                None => self.column_of_row(query, at, of, cx),
            },
        }
    }

    /// `(a, b) IN ((1, 2), (3, 4))`.
    pub(super) fn in_rows(
        &mut self,
        left: &[&ast::Expr],
        list: &[ast::Expr],
        negated: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let comparing: Comparing<'a> = match list {
            [_] => Binder::compare_with_clock,
            _ => Binder::compare_in_list,
        };
        let mut args = Vec::with_capacity(list.len());
        for row in list {
            match row_parts(row) {
                Some(parts) if parts.len() == left.len() => args.push(self.equals_member(comparing, left, &parts, cx)?),
                _ => return Err(operand_columns(left.len())),
            }
        }
        let any = if args.len() == 1 { args.remove(0) } else { Expr::Logic { op: LogicOp::Or, args } };
        Ok(Item::bool(if negated { not(any) } else { any }))
    }

    /// The comparison of a row with one of a list. A text next to a date is compared as in a list: it keeps its time of
    /// day, and the offset of a time zone in it does not count.
    fn equals_member(
        &mut self,
        comparing: Comparing<'a>,
        left: &[&ast::Expr],
        right: &[&ast::Expr],
        cx: &mut ExprContext,
    ) -> Result<Expr> {
        let mut parts = Vec::with_capacity(left.len());
        for (l, r) in left.iter().zip(right) {
            parts.push(match (row_parts(l), row_parts(r)) {
                (Some(l), Some(r)) if l.len() == r.len() => self.equals_member(comparing, &l, &r, cx)?,
                _ => self.comparison_by(comparing, CompareOp::Eq, l, r, cx)?.expr,
            });
        }
        let only = if parts.len() == 1 { parts.pop() } else { None };
        Ok(only.unwrap_or(Expr::Logic { op: LogicOp::And, args: parts }))
    }

    /// Compares a column of a row with that of one of several rows: the left side decides whether texts are compared.
    fn compare_in_list(&mut self, op: CompareOp, l: Item, r: Item) -> Result<Item> {
        let r = match is_string(&l) && r.ty.is_temporal() {
            true => self.convert_to_text(r, self.default_collation()),
            false => r,
        };
        self.compare_with_clock(op, l, r)
    }

    /// `row IN (SELECT ..)`, where the row is a constructor or a subquery.
    pub(super) fn row_in_subquery(
        &mut self,
        left: &ast::Expr,
        query: &ast::Query,
        negated: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let Some((row, width)) = subquery(left).zip(row_width(left)) else {
            let left = self.row(left, cx)?;
            return self.in_subquery(left, query, negated, cx);
        };
        let (rel, items) = self.row_of_subquery(row, width, cx)?;
        let found = self.in_subquery(items, query, negated, cx)?;
        Ok(self.over_row(rel, found))
    }
}

/// An operand of a comparison of rows.
struct Operand<'q> {
    operand: &'q ast::Expr,
    width: usize,
    /// The columns of a subquery.
    items: Vec<Item>,
    /// The rows of a subquery that picks one.
    rel: Option<Rel>,
    /// The first column of any other subquery, which is bound already. Who takes it must be the only one.
    first: Cell<Option<Item>>,
}

impl Operand<'_> {
    fn parts(&self) -> Vec<Part<'_>> {
        match (&self.rel, subquery(self.operand)) {
            (Some(_), _) => self.items.iter().map(Part::Bound).collect(),
            (None, Some(query)) => self.columns_of(query),
            (None, None) => row_parts(self.operand).unwrap_or_default().into_iter().map(Part::Expr).collect(),
        }
    }
}

impl Operand<'_> {
    fn columns_of<'p>(&'p self, query: &'p ast::Query) -> Vec<Part<'p>> {
        let first = |at: usize| Some(&self.first).filter(|_| at == 0);
        (0..self.width).map(|at| Part::Column { query, at, of: self.width, first: first(at) }).collect()
    }
}

fn orders(op: CompareOp) -> bool {
    !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::NotEq)
}

/// The truth value of a subquery, FALSE if that has no row.
fn false_without_row(expr: Expr) -> Expr {
    Expr::Call { function: ScalarFunction::Coalesce, args: vec![expr, Expr::bool(false)], ty: SqlType::Bool }
}

/// One column of a row that is compared.
#[derive(Clone, Copy)]
enum Part<'a> {
    Expr(&'a ast::Expr),
    /// A column of a subquery that is bound.
    Bound(&'a Item),
    /// A column of the row of a subquery that has `of` columns.
    Column {
        query: &'a ast::Query,
        at: usize,
        of: usize,
        first: Option<&'a Cell<Option<Item>>>,
    },
}

/// How many columns an operand has, if it is a row; a subquery that does not name its columns may be one as well.
pub(super) fn row_width(operand: &ast::Expr) -> Option<usize> {
    let named = |query: &ast::Query| match &*query.body {
        ast::SetExpr::Select(select) => select.projection.len(),
        _ => 1,
    };
    let parts = row_parts(operand).map(|parts| parts.len());
    parts.or_else(|| subquery(operand).map(named).filter(|width| *width > 1))
}

pub(super) fn subquery(operand: &ast::Expr) -> Option<&ast::Query> {
    match operand {
        ast::Expr::Subquery(query) => Some(query),
        ast::Expr::Nested(inner) => subquery(inner),
        _ => None,
    }
}
