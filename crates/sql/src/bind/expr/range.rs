//! BETWEEN and IN: one value next to several others.
//!
//! ```text
//!   BETWEEN   one comparison over the value and both bounds (MySQL: `Item_func_between::resolve_type`)
//!   IN        one comparison for each kind of pairs (`Item_func_in::resolve_type`), as the operand of CASE has it
//! ```

use super::{
    ExprContext, beside_number::beside_compared, compare::is_string, json::truth_beside_json, not, row_parts,
    rows::subquery,
};
use crate::{
    bind::{binder::Binder, declared::stored_year},
    typing::{Item, fold},
};
use muster_algebra::{CompareOp, Expr, LogicOp};
use muster_types::{
    Result, SqlError, SqlType, Value,
    temporal::{FSP_MAX, TIME_MAX_MICROS},
};
use sqlparser::ast;

const DATETIME: SqlType = SqlType::DateTime { fsp: FSP_MAX };
/// A time that none is equal to, for a text that is no time.
const NO_TIME: i64 = TIME_MAX_MICROS + 1;

/// Returns true for what MySQL compares as a string unless a number is next to it: texts, and dates and times.
fn is_string_or_moment(item: &Item) -> bool {
    is_string(item) || item.ty.is_temporal() || item.ty == SqlType::Null
}

fn is_time(item: &Item) -> bool {
    matches!(item.ty, SqlType::Time { .. })
}

fn has_date(item: &Item) -> bool {
    item.ty.is_temporal() && !is_time(item)
}

fn is_constant(item: &Item) -> bool {
    matches!(item.expr, Expr::Literal { .. })
}

/// Returns true for constants of one kind which MySQL stores in the column beside IN before it compares them: all
/// strings and moments, all decimals, or all floating-point numbers. Integers it compares as they are.
fn is_converted_list(members: &[Item]) -> bool {
    let is_exact = |item: &Item| matches!(item.ty, SqlType::Decimal { .. } | SqlType::Null);
    let is_floating = |item: &Item| matches!(item.ty, SqlType::Float | SqlType::Double | SqlType::Null);
    members.iter().all(is_string_or_moment) || members.iter().all(is_exact) || members.iter().all(is_floating)
}

impl Binder<'_> {
    pub fn between(
        &mut self,
        expr: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let first = self.expr(expr, cx)?;
        // Beside NULL the bounds are not asked for.
        let warnings = self.warnings.len();
        let is_null = first.is_null_literal() || fold::is_null(&first.expr);
        let second = if first.expr.has_subquery() { self.expr(expr, cx)? } else { first.clone() };
        let bounds = [low, high];
        let (low, high) = (self.expr(low, cx)?, self.expr(high, cx)?);
        let beside = beside_compared(&first);
        let (low, high) = (self.beside_number(bounds[0], low, beside), self.beside_number(bounds[1], high, beside));
        if !negated && low == high && low.as_literal().is_some_and(|value| !value.is_null()) {
            return self.compare(CompareOp::Eq, first, low);
        }
        let is_constant_text = is_string(&first) && is_constant(&first);
        let before = self.warnings.len();
        let [first, second, low, high] = self.bounds_alike([first, second, low, high])?;
        let (at_least, at_most) =
            if negated { (CompareOp::Lt, CompareOp::Gt) } else { (CompareOp::GtEq, CompareOp::LtEq) };
        let args =
            vec![self.compare_exactly(at_least, first, low)?.expr, self.compare_exactly(at_most, second, high)?.expr];
        // The constant has been read twice, and once is enough.
        if is_constant_text && matches!(self.warnings.get(before..), Some([once, again, ..]) if once == again) {
            self.warnings.remove(before + 1);
        }
        if is_null {
            self.forget_conversions(warnings);
        }
        Ok(Item::bool(Expr::Logic { op: if negated { LogicOp::Or } else { LogicOp::And }, args }))
    }

    /// A tested value (twice) and its two bounds, in the type in which all are compared.
    fn bounds_alike(&mut self, items: [Item; 4]) -> Result<[Item; 4]> {
        let types: Vec<SqlType> = items.iter().map(|item| item.ty).collect();
        let items = items.map(|item| self.compared_value(item));
        let items = items.map(|item| self.json_as_native(item, &types));
        let are_strings = items.iter().all(is_string_or_moment);
        if are_strings && items.iter().any(has_date) {
            let are_moments = items.iter().all(|item| item.ty.is_temporal());
            return Ok(match are_moments {
                true => items,
                // A text that is a date of its own type leaves the column bare.
                false => self.bounds_as_dates(items)?,
            });
        }
        let items = self.bounds_beside_column(items);
        let items = self.bounds_beside_year(items);
        if items.iter().all(|item| item.ty.is_temporal()) {
            return Ok(items);
        }
        if are_strings {
            let texts = items.map(|item| match is_time(&item) {
                true => self.convert_to_text(item, self.default_collation()),
                false => item,
            });
            let alike = self.strings_alike(texts.into(), "between")?;
            return alike.try_into().map_err(|_| SqlError::internal("bounds"));
        }
        let is_real = |item: &Item| is_string_or_moment(item) || matches!(item.ty, SqlType::Float | SqlType::Double);
        let is_real = items.iter().any(|item| item.ty != SqlType::Null && is_real(item));
        Ok(items.map(|item| match is_real {
            true => {
                let item = self.number_of_bytes(item);
                self.convert(item, SqlType::Double)
            }
            false => item,
        }))
    }

    /// Dates and texts as dates. The tested value stays as it is where the bounds are dates of its type.
    fn bounds_as_dates(&mut self, items: [Item; 4]) -> Result<[Item; 4]> {
        let [first, second, low, high] = items;
        if !has_date(&first) {
            return Ok([first, second, low, high].map(|item| self.compared_as(item, DATETIME)));
        }
        let (first, low) = self.comparable(first, low, "between")?;
        let (second, high) = self.comparable(second, high, "between")?;
        Ok([first, second, low, high])
    }

    /// Constant bounds next to a column of dates or times as what the column would store, if it would store both.
    fn bounds_beside_column(&mut self, items: [Item; 4]) -> [Item; 4] {
        let [first, second, low, high] = items;
        // Beside a number a text is stored, too.
        let is_mixed = first.ty.is_temporal() && low.ty.is_numeric() != high.ty.is_numeric();
        let [stored_low, stored_high] = [&low, &high].map(|bound| match is_mixed {
            true => self.stored_constant(&first, bound),
            false => self.constant_beside_column(&first, bound),
        });
        let keeps = |stored: &Option<Item>, bound: &Item| stored.is_some() || bound.ty.is_temporal();
        match keeps(&stored_low, &low) && keeps(&stored_high, &high) {
            true => [first, second, stored_low.unwrap_or(low), stored_high.unwrap_or(high)],
            false => [first, second, low, high],
        }
    }

    /// Constant bounds next to a YEAR column as what the column would store. If it would store one of them, the other
    /// is an integer, too.
    fn bounds_beside_year(&mut self, items: [Item; 4]) -> [Item; 4] {
        let [first, second, low, high] = items;
        let is_year = self.declared_type(&first) == Some(SqlType::Year);
        let [stored_low, stored_high] = [&low, &high].map(|bound| match is_year {
            true => stored_year(bound, first.ty),
            false => None,
        });
        if stored_low.is_none() && stored_high.is_none() {
            return [first, second, low, high];
        }
        let mut integer = |stored: Option<Item>, bound: Item| match stored {
            Some(stored) => stored,
            None => self.cast_to(bound, SqlType::BIGINT),
        };
        let (low, high) = (integer(stored_low, low), integer(stored_high, high));
        [first, second, low, high]
    }

    pub fn in_list(
        &mut self,
        expr: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        if let Some(parts) = row_parts(expr) {
            return self.in_rows(&parts, list, negated, cx);
        }
        // A list of one value is a comparison (MySQL: `handle_sql2003_note184_exception`).
        if let [only] = list
            && subquery(only).is_none()
        {
            let op = if negated { CompareOp::NotEq } else { CompareOp::Eq };
            return self.comparison(op, expr, only, cx);
        }
        let first = self.expr(expr, cx)?;
        let mut items = vec![self.compared_value(first)];
        let beside = beside_compared(&items[0]);
        for e in list {
            let item = self.expr(e, cx)?;
            let item = self.compared_value(truth_beside_json(e, &items[0]).unwrap_or(item));
            items.push(self.beside_number(e, item, beside));
        }
        // A number of the list is compared with what the left side is, whatever text that is beside others.
        let given = items[0].clone();
        let mut items = self.members_alike(items)?;
        let arg = items.remove(0);
        let is_given = |item: &Item| item.ty.is_numeric() && is_string(&given) && !given.hexadecimal;
        // Each is compared with the left side by itself; if all comparisons have the same type, one node does.
        let mut left: Option<Item> = None;
        let mut rights = Vec::with_capacity(items.len());
        let mut uniform = true;
        let mut first = None;
        let warnings = self.warnings.len();
        for item in items.iter().cloned() {
            let left_side = if is_given(&item) { given.clone() } else { arg.clone() };
            let before = self.warnings.len();
            let (l, r) = self.member(left_side, item, " IN ")?;
            self.forget_repeated(first.get_or_insert(before..self.warnings.len()), before);
            // Documents are equal that differ in their bytes, as 1 and 1.0 do.
            uniform &= l.ty != SqlType::Json && left.as_ref().is_none_or(|known| *known == l);
            left.get_or_insert(l);
            rights.push(r.expr);
        }
        if let (true, Some(left)) = (uniform, left) {
            return Ok(Item::bool(Expr::InList { arg: Box::new(left.expr), list: rights, negated }));
        }
        // The comparisons are made once more, and warn again.
        self.warnings.truncate(warnings);
        let mut first = None;
        let mut args = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            let left = match i > 0 && arg.expr.has_subquery() {
                true => {
                    let again = self.expr(expr, cx)?;
                    self.convert(again, arg.ty)
                }
                false if is_given(&item) => given.clone(),
                false => arg.clone(),
            };
            let before = self.warnings.len();
            args.push(self.compare_member(left, item, " IN ")?.expr);
            self.forget_repeated(first.get_or_insert(before..self.warnings.len()), before);
        }
        let any = Expr::Logic { op: LogicOp::Or, args };
        Ok(Item::bool(if negated { not(any) } else { any }))
    }

    /// The left side of IN and its list, where one comparison is for all of them.
    fn members_alike(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        let are_strings = items.iter().all(is_string_or_moment);
        if are_strings && items.iter().any(has_date) {
            return Ok(match has_date(&items[0]) {
                true => items,
                false => items.into_iter().map(|item| self.compared_as(item, DATETIME)).collect(),
            });
        }
        let is_of_one_kind = are_strings || items[1..].iter().all(|item| item.ty.is_numeric());
        let are_constants = items[1..].iter().all(is_constant);
        if are_constants && self.declared_type(&items[0]) == Some(SqlType::Year) && is_converted_list(&items[1..]) {
            let operand = items[0].ty;
            let (first, members) = items.split_at(1);
            let stored = members.iter().map(|item| stored_year(item, operand).unwrap_or_else(|| item.clone()));
            return Ok(first.iter().cloned().chain(stored).collect());
        }
        if items[0].ty.is_temporal() && is_of_one_kind && are_constants {
            return self.constants_beside_moment(items);
        }
        // A hexadecimal literal is a number for the numbers of the list.
        let is_number_too = items[0].hexadecimal && items.iter().any(|item| item.ty.is_numeric());
        match is_string(&items[0]) && !is_number_too {
            true => self.strings_alike(items, " IN "),
            false => Ok(items),
        }
    }

    /// A date or time and constants of one kind: as what a column would store, if it would store all of them, else as
    /// numbers or as texts.
    fn constants_beside_moment(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        let column = items[0].clone();
        let are_numbers = items[1..].iter().any(|item| item.ty.is_numeric());
        if items.iter().all(|item| item.ty.is_temporal() || item.ty == SqlType::Null) {
            return Ok(items);
        }
        let mut stored = vec![Some(column.clone())];
        for item in &items[1..] {
            let keeps = item.ty == column.ty || item.ty == SqlType::Null;
            stored.push(if keeps { Some(item.clone()) } else { self.constant_beside_column(&column, item) });
        }
        if let Some(stored) = stored.into_iter().collect::<Option<Vec<Item>>>() {
            return Ok(stored);
        }
        if are_numbers {
            return Ok(items.into_iter().map(|item| self.convert(item, SqlType::Double)).collect());
        }
        let collation = self.default_collation();
        let texts = items.into_iter().map(|item| match item.ty.is_temporal() {
            true => self.convert_to_text(item, collation),
            false => item,
        });
        let texts = texts.collect();
        self.strings_alike(texts, " IN ")
    }

    /// Whether a value is equal to one of those behind IN, or behind WHEN.
    pub(super) fn compare_member(&mut self, left: Item, item: Item, operation: &str) -> Result<Item> {
        let (left, item) = (self.compared_value(left), self.compared_value(item));
        let (left, item) = self.member(left, item, operation)?;
        Ok(Item::bool(Expr::compare(CompareOp::Eq, left.expr, item.expr)))
    }

    /// Both sides in the type in which they are compared. The left side decides whether a text is a date or time.
    fn member(&mut self, left: Item, item: Item, operation: &str) -> Result<(Item, Item)> {
        if let Some(documents) = self.json_alike(left.clone(), item.clone()) {
            return Ok(documents);
        }
        match (left.ty, item.ty) {
            (SqlType::Time { fsp }, _) if is_string(&item) => {
                let ty = SqlType::Time { fsp: FSP_MAX.max(fsp) };
                let item = self.moment_or(item, ty, Value::Time(NO_TIME));
                Ok((self.convert(left, ty), item))
            }
            (_, moment) if is_string(&left) && moment.is_temporal() => {
                let item = self.convert_to_text(item, self.default_collation());
                self.comparable_as_it_is(left, item, operation, false)
            }
            _ if left.ty.is_temporal() && item.ty.is_numeric() => Ok((self.convert(left, SqlType::Double), {
                let item = self.number_of_bytes(item);
                self.convert(item, SqlType::Double)
            })),
            _ => self.comparable_as_it_is(left, item, operation, false),
        }
    }
}
