//! CASE, IF, NULLIF, COALESCE: several values, one type.

use super::ExprContext;
use crate::{
    bind::binder::Binder,
    typing::{Item, arithmetic, collation, result},
};
use muster_algebra::{CompareOp, Expr, ScalarFunction};
use muster_types::{
    Result, SqlType, Value,
    temporal::{MICROS_PER_DAY, ZERO_DATE, date_code, datetime_of},
};
use sqlparser::ast;

/// 9999-12-31 23:59:59.999999.
const LATEST_MOMENT: i64 = datetime_of(date_code(9999, 12, 31), MICROS_PER_DAY - 1);

impl Binder<'_> {
    pub fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            tests.push(match operand {
                None => {
                    let item = self.expr(&when.condition, cx)?;
                    self.condition(item)
                }
                // The operand is bound for each comparison: a subquery in it may be in a statement only once.
                Some(operand) => {
                    let (operand, value) = (self.expr(operand, cx)?, self.expr(&when.condition, cx)?);
                    self.compare_member(operand, value, "case")?.expr
                }
            });
            results.push(self.expr(&when.result, cx)?);
        }
        if let Some(e) = otherwise {
            results.push(self.expr(e, cx)?);
        }
        self.choice(tests, results, "case")
    }

    /// A searched CASE; one result more than tests is the ELSE.
    pub fn choice(&mut self, tests: Vec<Expr>, results: Vec<Item>, operation: &str) -> Result<Item> {
        let (mut results, model, shown) = self.unified(results, operation)?;
        let otherwise = if results.len() > tests.len() { results.pop().map(Box::new) } else { None };
        let branches = tests.into_iter().zip(results).collect();
        let item = Item { expr: Expr::Case { branches, otherwise, ty: model.ty }, ..model };
        Ok(self.shown_as(item, shown))
    }

    pub fn if_call(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let item = self.expr(args[0], cx)?;
        let test = self.condition(item);
        let results = vec![self.expr(args[1], cx)?, self.expr(args[2], cx)?];
        self.choice(vec![test], results, "if")
    }

    /// `NULLIF(a, b)`: NULL if they are equal, else a with its own type; a date or time is a text.
    pub fn null_if(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let test = self.comparison(CompareOp::Eq, args[0], args[1], cx)?.expr;
        let value = self.expr(args[0], cx)?;
        let value = match value.ty.is_temporal() {
            true => self.convert_to_text(value, self.default_collation()),
            false => value,
        };
        self.choice(vec![test], vec![Item::null(), value], "nullif")
    }

    /// COALESCE, IFNULL, GREATEST, LEAST.
    pub fn unify_call(
        &mut self,
        function: ScalarFunction,
        name: &str,
        args: &[&ast::Expr],
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let items = args.iter().map(|a| self.expr(a, cx)).collect::<Result<Vec<_>>>()?;
        if function != ScalarFunction::Coalesce && compared_as_dates(&items) {
            return Ok(self.extreme_date(function, items));
        }
        let (args, model, shown) = self.unified(items, name)?;
        let item = Item { expr: Expr::Call { function, args, ty: model.ty }, ..model };
        Ok(self.shown_as(item, shown))
    }

    /// GREATEST and LEAST of dates and other values: all are compared as moments, and the result is the text of a date,
    /// or of a moment if one of them has a time of day (MySQL: `Item_func_min_max::cmp_datetimes`).
    fn extreme_date(&mut self, function: ScalarFunction, items: Vec<Item>) -> Item {
        let moments = || items.iter().map(|item| item.ty).filter(|ty| ty.is_temporal());
        let shown = match moments().all(|ty| ty == SqlType::Date) {
            true => SqlType::Date,
            false => SqlType::DateTime { fsp: moments().map(|ty| ty.fsp()).max().unwrap_or(0) },
        };
        let ty = SqlType::DateTime { fsp: 6 };
        // A value that is no date is passed by.
        let instead = match function {
            ScalarFunction::Least => Value::DateTime(LATEST_MOMENT),
            _ => Value::DateTime(datetime_of(ZERO_DATE, 0)),
        };
        let args = items.into_iter().map(|item| self.moment_or(item, ty, instead.clone()).expr).collect();
        let extreme = Item::new(Expr::Call { function, args, ty }, ty);
        let extreme = self.convert(extreme, shown);
        let collation = self.default_collation();
        self.convert_to_text(extreme, collation)
    }

    /// All converted to their common type, an item that has that type, and the type it shows: less than that of
    /// decimals that keep digits.
    fn unified(&mut self, items: Vec<Item>, operation: &str) -> Result<(Vec<Expr>, Item, SqlType)> {
        let refs: Vec<&Item> = items.iter().collect();
        let operation = &operation.to_ascii_lowercase();
        let shown = result::result_type(&refs, self.default_collation(), operation)?;
        let ty = match refs.iter().filter_map(|i| i.kept).max() {
            Some(digits) => arithmetic::widened(digits, shown),
            None => shown,
        };
        let (_, derivation) = collation::aggregate_result(&refs, self.default_collation(), operation)?;
        let mut model = Item::new(Expr::null(ty), ty);
        if matches!(ty, SqlType::Float | SqlType::Double | SqlType::Text { .. } | SqlType::Bytes { .. }) {
            model.decimals = result::decimals(&refs);
        }
        if ty.collation().is_some() {
            model.derivation = derivation;
        }
        Ok((items.into_iter().map(|i| self.operand(i, ty).expr).collect(), model, shown))
    }
}

/// Returns true if GREATEST and LEAST compare these values as dates and give one of them as text.
fn compared_as_dates(items: &[Item]) -> bool {
    let is_date = |i: &Item| i.ty.is_temporal() && !matches!(i.ty, SqlType::Time { .. });
    items.iter().any(is_date) && items.iter().any(|i| !i.ty.is_temporal() && i.ty != SqlType::Null)
}
