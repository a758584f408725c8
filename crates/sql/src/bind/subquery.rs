//! Subqueries in expressions.

use super::{
    binder::{Binder, BoundQuery},
    declared::as_operand,
    expr::ExprContext,
    scope::{Clause, Offered, Scope},
};
use crate::typing::{Item, collation, comparison};
use muster_algebra::{BlockPlace, ColId, CompareOp, Expr, Quantifier, Rel, Subquery, SubqueryKind, lateral_outputs};
use muster_types::{ErrorCode, Result, SqlError, SqlType};
use sqlparser::ast;
use std::collections::HashSet;

impl ExprContext<'_> {
    /// The parts of the query that a subquery at this place may use.
    fn offered(&self) -> Offered<'_> {
        let selected = if self.selected.is_empty() { self.listed.0 } else { self.selected };
        let aggregates = self.aggregates.filter(|_| !self.in_aggregate);
        Offered { aggregates, is_aggregated: self.in_aggregate, selected, unbound: self.listed.1 }
    }
}

impl Binder<'_> {
    fn inner_query(&mut self, query: &ast::Query, cx: &ExprContext, ordered: bool) -> Result<BoundQuery> {
        let scope = Scope { offered: cx.offered(), ..*cx.scope };
        let names = cx.names.inside(Some(&scope));
        let begun = self.begin_expression(BlockPlace::Expression, None);
        let bound = self.query(query, &names, ordered);
        self.expressions.end(begun);
        bound
    }

    pub fn scalar_subquery(&mut self, query: &ast::Query, cx: &ExprContext) -> Result<Item> {
        let bound = self.inner_query(query, cx, true)?;
        if bound.outputs.len() != 1 {
            return Err(operand_columns(1));
        }
        Ok(self.scalar(bound, 0))
    }

    /// One of the `of` columns of a subquery that yields a row. Each column is a subquery of its own.
    pub fn column_of_row(&mut self, query: &ast::Query, at: usize, of: usize, cx: &ExprContext) -> Result<Item> {
        let bound = self.inner_query(query, cx, true)?;
        if bound.outputs.len() != of {
            return Err(operand_columns(of));
        }
        Ok(self.scalar(bound, at))
    }

    /// The rows of a subquery that yields a row of `width` columns, and these; error 1241.
    pub(super) fn row_of_subquery(
        &mut self,
        query: &ast::Query,
        width: usize,
        cx: &ExprContext,
    ) -> Result<(Rel, Vec<Item>)> {
        let bound = self.inner_query(query, cx, true)?;
        if bound.outputs.len() != width {
            return Err(operand_columns(width));
        }
        let items = bound.outputs.iter().map(|output| self.output_item(output)).collect();
        Ok((bound.rel, items))
    }

    /// The value of an expression over the row of a subquery; NULL without a row, error 1242 with several.
    pub(super) fn over_row(&mut self, rel: Rel, item: Item) -> Item {
        if let Expr::Column(id) = item.expr
            && rel.output().contains(&id)
        {
            return Item { expr: subquery(SubqueryKind::Scalar, rel, vec![id]), ..item };
        }
        let id = self.new_column("", &item.expr, item.ty);
        let rel = Rel::Project { input: Box::new(rel), exprs: vec![(id, item.expr.clone())] };
        Item { expr: subquery(SubqueryKind::Scalar, rel, vec![id]), ..item }
    }

    fn scalar(&self, bound: BoundQuery, at: usize) -> Item {
        let output = &bound.outputs[at];
        let (item, ids) = (self.output_item(output), vec![output.id]);
        let expr = subquery(SubqueryKind::Scalar, bound.rel, ids);
        match self.columns.ty(output.id) {
            ty if ty == item.ty => Item { expr, ..item },
            // The text of an ENUM is no longer a number.
            ty @ (SqlType::Enum(_) | SqlType::Set(_)) => self.no_operand(as_operand(Item::new(expr, ty))),
            ty => as_operand(Item::new(expr, ty)),
        }
    }

    pub fn exists(&mut self, query: &ast::Query, negated: bool, cx: &ExprContext) -> Result<Item> {
        let bound = self.inner_query(query, cx, false)?;
        Ok(Item::bool(subquery(SubqueryKind::Exists { negated }, bound.rel, Vec::new())))
    }

    /// `left [NOT] IN (SELECT ..)`; `left` has one entry per column.
    pub fn in_subquery(
        &mut self,
        left: Vec<Item>,
        query: &ast::Query,
        negated: bool,
        cx: &ExprContext,
    ) -> Result<Item> {
        refuse_limit(query)?;
        let bound = self.inner_query(query, cx, false)?;
        if bound.outputs.len() != left.len() {
            return Err(operand_columns(left.len()));
        }
        // A semi-join compares as the operator does.
        let joins = matches!(cx.clause, Clause::Where | Clause::On) && !cx.in_alternative && may_join(&bound.rel);
        let (left, rel, ids) = self.matched(left, bound, "=", joins)?;
        Ok(Item::bool(subquery(SubqueryKind::In { left, negated }, rel, ids)))
    }

    /// `left op ANY|ALL (SELECT ..)`.
    pub fn quantified(
        &mut self,
        left: Item,
        op: CompareOp,
        quantifier: Quantifier,
        query: &ast::Query,
        cx: &ExprContext,
    ) -> Result<Item> {
        match (op, quantifier) {
            (CompareOp::Eq, Quantifier::Any) => return self.in_subquery(vec![left], query, false, cx),
            (CompareOp::NotEq, Quantifier::All) => return self.in_subquery(vec![left], query, true, cx),
            _ => {}
        }
        refuse_limit(query)?;
        let bound = self.inner_query(query, cx, false)?;
        if bound.outputs.len() != 1 {
            return Err(operand_columns(1));
        }
        let (mut left, rel, ids) = self.matched(vec![left], bound, "ANY", false)?;
        let left = Box::new(left.remove(0));
        Ok(Item::bool(subquery(SubqueryKind::Compare { left, op, quantifier }, rel, ids)))
    }

    /// Both sides with the types they are compared in. `joins`: as comparison operators compare them.
    fn matched(
        &mut self,
        left: Vec<Item>,
        bound: BoundQuery,
        operation: &str,
        joins: bool,
    ) -> Result<(Vec<Expr>, Rel, Vec<ColId>)> {
        let mut exprs = Vec::with_capacity(left.len());
        let mut lefts = Vec::with_capacity(left.len());
        let mut changed = false;
        for (l, output) in left.into_iter().zip(&bound.outputs) {
            let r = self.output_item(output);
            let (l, r) = if joins { self.beside_date(l, r) } else { (l, r) };
            let (l, r) = self.comparable_sides(l, r, operation)?;
            lefts.push(l.expr);
            if r.expr == Expr::Column(output.id) {
                exprs.push((output.id, r.expr));
            } else {
                changed = true;
                exprs.push((self.new_column(&output.name, &r.expr, r.ty), r.expr));
            }
        }
        let ids = exprs.iter().map(|(id, _)| *id).collect();
        let rel = if changed { Rel::Project { input: Box::new(bound.rel), exprs } } else { bound.rel };
        Ok((lefts, rel, ids))
    }

    /// Converts both sides as for a comparison, but the right side is a column of many values.
    fn comparable_sides(&mut self, l: Item, r: Item, operation: &str) -> Result<(Item, Item)> {
        if comparison::adapts(&l) || r.ty == l.ty {
            return self.comparable(l, r, operation);
        }
        if l.ty.is_text() && r.ty.is_text() {
            let (c, _) = collation::aggregate(&[&l, &r], self.default_collation(), operation)?;
            return Ok((self.convert_to_text(l, c), self.convert_to_text(r, c)));
        }
        let ty = comparison::comparison_type(l.ty, r.ty);
        Ok((self.compared_as(l, ty), self.compared_as(r, ty)))
    }
}

/// Returns true if MySQL makes a semi-join of a subquery with these rows: it has no set operation and no aggregate.
fn may_join(rel: &Rel) -> bool {
    match rel {
        Rel::Union { .. } => false,
        Rel::Aggregate { aggregates, .. } if !aggregates.is_empty() => false,
        _ => rel.inputs().into_iter().all(may_join),
    }
}

/// Returns true if the rows are some of several, and may be others the next time.
pub(super) fn picks_rows(rel: &Rel) -> bool {
    matches!(rel, Rel::Limit { .. }) || rel.inputs().into_iter().any(picks_rows)
}

pub(super) fn subquery(kind: SubqueryKind, rel: Rel, outputs: Vec<ColId>) -> Expr {
    let outer = free_columns(&rel);
    Expr::Subquery(Box::new(Subquery { kind, rel: Box::new(rel), outputs, outer }))
}

/// Columns that a relation mentions but does not make.
fn free_columns(rel: &Rel) -> Vec<ColId> {
    let (mut made, mut mentioned) = (HashSet::new(), Vec::new());
    walk(rel, &mut made, &mut mentioned);
    let mut free = Vec::new();
    for id in mentioned {
        if !made.contains(&id) && !free.contains(&id) {
            free.push(id);
        }
    }
    free
}

fn walk(rel: &Rel, made: &mut HashSet<ColId>, mentioned: &mut Vec<ColId>) {
    match rel {
        Rel::Get { columns, .. } => made.extend(columns.iter().map(|(id, _)| *id)),
        Rel::Values { columns, .. } | Rel::Union { columns, .. } => made.extend(columns),
        Rel::Project { exprs, .. } => made.extend(exprs.iter().map(|(id, _)| *id)),
        Rel::Lateral { rows, .. } => made.extend(lateral_outputs(rows)),
        Rel::JsonTable { table, .. } => made.extend(&table.outputs),
        Rel::Aggregate { aggregates, .. } => made.extend(aggregates.iter().map(|(id, _)| *id)),
        _ => {}
    }
    rel.exprs().into_iter().for_each(|e| mentioned.extend(e.columns()));
    rel.inputs().into_iter().for_each(|r| walk(r, made, mentioned));
}

pub(crate) fn operand_columns(n: usize) -> SqlError {
    SqlError::new(ErrorCode::OperandColumns, format!("Operand should contain {n} column(s)"))
}

fn refuse_limit(query: &ast::Query) -> Result<()> {
    if query.limit_clause.is_some() {
        return Err(SqlError::unsupported("LIMIT & IN/ALL/ANY/SOME subquery"));
    }
    Ok(())
}
