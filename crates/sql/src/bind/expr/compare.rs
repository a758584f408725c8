//! Comparisons: both sides get one type.

use super::{
    ExprContext,
    beside_number::{beside_compared, is_parameter},
    compare_op,
    json::truth_beside_json,
    rows::row_width,
};
use crate::{
    bind::{binder::Binder, subquery::operand_columns},
    typing::{Item, arithmetic::KEPT_DIGITS, collation, comparison, fold},
};
use muster_algebra::{ArithmeticOp, Columns, CompareOp, Expr, Quantifier, Rel, ScalarFunction, SubqueryKind};
use muster_types::{
    Collation, ErrorCode, Result, SqlError, SqlType, Value,
    cast::{cast_dated, deprecation},
    sql_type::DECIMAL128_MAX_PRECISION,
    store::{StoreFault, text::printable},
    temporal::{self, DateModes, FSP_MAX, ZERO_DATE, datetime_of},
};
use sqlparser::ast;

/// How two values are compared.
pub(super) type Comparing<'a> = fn(&mut Binder<'a>, CompareOp, Item, Item) -> Result<Item>;

/// How a value becomes one of another type.
type Converting<'a> = fn(&mut Binder<'a>, Item, SqlType) -> Item;

impl<'a> Binder<'a> {
    pub fn comparison(
        &mut self,
        op: CompareOp,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        self.comparison_by(Binder::compare, op, left, right, cx)
    }

    /// `left op right`, compared by `compare` unless they are rows.
    pub(super) fn comparison_by(
        &mut self,
        compare: Comparing<'a>,
        op: CompareOp,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let (l, r) = (row_width(left), row_width(right));
        if l.is_none() && r.is_none() {
            let (l, r) = self.sides(left, right, cx)?;
            let (left_truth, right_truth) = (truth_beside_json(left, &r), truth_beside_json(right, &l));
            let (l, r) = (left_truth.unwrap_or(l), right_truth.unwrap_or(r));
            let besides = (beside_compared(&r), beside_compared(&l));
            let (l, r) = (self.beside_number(left, l, besides.0), self.beside_number(right, r, besides.1));
            if !is_parameter(left) && !is_parameter(right) {
                return compare(self, op, l, r);
            }
            return match compare(self, op, l.clone(), r.clone()) {
                Err(e) if e.code == ErrorCode::WrongValue => self.compare_with_no_date(op, (left, l), (right, r)),
                compared => compared,
            };
        }
        self.row_comparison(op, left, right, cx)
    }

    /// Compares a date with a `?` whose text is no date of the calendar: a day that its month lacks is one for
    /// parameters, and what is no date at all is NULL, with a warning, and no NULL for `<=>` (MySQL 8 takes the type of
    /// a parameter from what stands next to it).
    fn compare_with_no_date(
        &mut self,
        op: CompareOp,
        (left, l): (&ast::Expr, Item),
        (right, r): (&ast::Expr, Item),
    ) -> Result<Item> {
        const MOMENT: SqlType = SqlType::DateTime { fsp: FSP_MAX };
        let modes = DateModes { allows_invalid: true, ..self.env.session.date_modes() };
        let mut is_date = true;
        let mut known = |expr: &ast::Expr, item: Item| match item.as_literal() {
            Some(value) if is_parameter(expr) => {
                let (moment, _) = cast_dated(value, MOMENT, modes);
                if moment.is_null() {
                    is_date = false;
                    let shown = value.to_text(FSP_MAX).unwrap_or_default();
                    self.warn(ErrorCode::TruncatedWrongValue, format!("Incorrect datetime value: '{shown}'"));
                }
                Item::literal(moment, MOMENT)
            }
            _ => item,
        };
        let (l, r) = (known(left, l), known(right, r));
        match (op, is_date) {
            (CompareOp::NullSafeEq, false) => Ok(Item::bool(Expr::bool(false))),
            _ => self.compare(op, l, r),
        }
    }

    pub fn compare(&mut self, op: CompareOp, l: Item, r: Item) -> Result<Item> {
        let (l, r) = (self.decimal_beside(l.clone(), &r), self.decimal_beside(r, &l));
        let (l, r) = (self.compared_value(l), self.compared_value(r));
        let (l, r) = self.beside_date(l, r);
        let (l, r) = self.beside_datetime(l, r);
        self.compare_with_clock(op, l, r)
    }

    /// Compares as NULLIF and STRCMP do: a text next to a DATE keeps its time of day.
    pub(super) fn compare_with_clock(&mut self, op: CompareOp, l: Item, r: Item) -> Result<Item> {
        let (l, r) = (self.compared_value(l), self.compared_value(r));
        let (l, r) = self.beside_column(op, l, r);
        match self.tolerance(op, &l, &r) {
            Some(tolerance) => Ok(self.compare_within(op, l, r, tolerance)),
            None => self.compare_refusing(op, l, r, true),
        }
    }

    /// Compares as BETWEEN, IN, CASE and INTERVAL do, which have no tolerance.
    pub fn compare_exactly(&mut self, op: CompareOp, l: Item, r: Item) -> Result<Item> {
        self.compare_refusing(op, l, r, false)
    }

    fn compare_refusing(&mut self, op: CompareOp, l: Item, r: Item, refuses: bool) -> Result<Item> {
        let (l, r) = self.comparable_refusing(l, r, symbol(op), refuses)?;
        Ok(Item::bool(Expr::compare(op, l.expr, r.expr)))
    }

    /// Both sides in the type they are compared in. Text has the same collation on both, and may differ in length.
    pub fn comparable(&mut self, l: Item, r: Item, operation: &str) -> Result<(Item, Item)> {
        self.comparable_refusing(l, r, operation, false)
    }

    /// The same. `refuses`: a text that is no date next to a date is error 1525, as comparison operators have it; for
    /// BETWEEN, IN and CASE it is a value like others.
    fn comparable_refusing(&mut self, l: Item, r: Item, operation: &str, refuses: bool) -> Result<(Item, Item)> {
        let (l, r) = (self.compared_value(l), self.compared_value(r));
        if let Some(both) = self.json_alike(l.clone(), r.clone()) {
            return Ok(both);
        }
        if let Some(constant) = self.constant_beside_column(&l, &r) {
            return Ok((l, constant));
        }
        if let Some(constant) = self.constant_beside_column(&r, &l) {
            return Ok((constant, r));
        }
        self.comparable_as_it_is(l, r, operation, refuses)
    }

    /// The same for a constant that is not first stored in the column next to it.
    pub(super) fn comparable_as_it_is(
        &mut self,
        l: Item,
        r: Item,
        operation: &str,
        refuses: bool,
    ) -> Result<(Item, Item)> {
        let r = self.time_as_text(r, &l);
        let l = self.time_as_text(l, &r);
        if is_string(&l) && is_string(&r) && (l.ty.is_text() || r.ty.is_text()) {
            let (collation, _) = collation::aggregate(&[&l, &r], self.default_collation(), operation)?;
            if collation != Collation::Binary {
                return Ok((self.text_or_bytes(l, collation)?, self.text_or_bytes(r, collation)?));
            }
        }
        let types = (l.ty, r.ty);
        let (l, r) = (bytes_as_text(l, types.1), bytes_as_text(r, types.0));
        let (l, r) = match (l.ty.is_numeric(), r.ty.is_numeric()) {
            (true, _) => (l, self.number_of_bytes(r)),
            (_, true) => (self.number_of_bytes(l), r),
            _ => (l, r),
        };
        // A constant takes the column's type where it means the same there, so that the column stays bare.
        if let Some(literal) = self.adapted(&r, l.ty, &l, refuses)? {
            return Ok((l, literal));
        }
        if let Some(literal) = self.adapted(&l, r.ty, &r, refuses)? {
            return Ok((literal, r));
        }
        let (l, r) = (self.with_real_digits(l), self.with_real_digits(r));
        let ty = comparison::comparison_type(l.ty, r.ty);
        Ok((self.compared_as(l, ty), self.compared_as(r, ty)))
    }

    /// A product with a literal, which may be the value of a subquery, in the type of the digits that it can have. Its
    /// own type counts the zero in front of the literal's point as a digit, and may need 256 bits for that.
    fn with_real_digits(&mut self, mut item: Item) -> Item {
        if !matches!(item.ty, SqlType::Decimal { precision, .. } if precision > DECIMAL128_MAX_PRECISION) {
            return item;
        }
        let product = match &mut item.expr {
            Expr::Subquery(subquery) => match (&subquery.kind, &mut *subquery.rel, &subquery.outputs[..]) {
                (SubqueryKind::Scalar, Rel::Project { exprs, .. }, [output]) => {
                    exprs.iter_mut().find(|(id, _)| id == output).map(|(_, expr)| expr)
                }
                _ => None,
            },
            expr => Some(expr),
        };
        let Some(narrow) = product.and_then(|product| narrow_product(product, &self.columns)) else { return item };
        if let Expr::Subquery(subquery) = &item.expr {
            subquery.outputs.iter().for_each(|output| self.columns.set_type(*output, narrow));
        }
        Item { ty: narrow, ..item }
    }

    /// A text next to a DATE, both from the row, without its time of day, as comparison operators have it (MySQL:
    /// `get_date_from_str`). A constant on either side keeps it.
    pub(in crate::bind) fn beside_date(&mut self, l: Item, r: Item) -> (Item, Item) {
        let zero = Value::Date(ZERO_DATE);
        match (l.ty, r.ty) {
            (SqlType::Date, _) if is_string(&r) && is_of_row(&l) && is_of_row(&r) => {
                let r = self.moment_or(r, SqlType::Date, zero);
                (l, r)
            }
            (_, SqlType::Date) if is_string(&l) && is_of_row(&l) && is_of_row(&r) => {
                let l = self.moment_or(l, SqlType::Date, zero);
                (l, r)
            }
            _ => (l, r),
        }
    }

    /// A text next to a DATETIME, both from the row, as the moment in the session's time zone, as comparison operators
    /// have it (MySQL: `get_date_from_str`). Elsewhere the offset of a time zone in a text does not count.
    fn beside_datetime(&mut self, l: Item, r: Item) -> (Item, Item) {
        let has_clock = |item: &Item| matches!(item.ty, SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        let ty = SqlType::DateTime { fsp: FSP_MAX };
        let zero = Value::DateTime(datetime_of(ZERO_DATE, 0));
        let are_of_row = is_of_row(&l) && is_of_row(&r);
        match (has_clock(&l) && is_string(&r), is_string(&l) && has_clock(&r)) {
            (true, _) if are_of_row => {
                let r = self.moment_or_by(Binder::convert, r, ty, zero);
                (l, r)
            }
            (_, true) if are_of_row => {
                let l = self.moment_or_by(Binder::convert, l, ty, zero);
                (l, r)
            }
            _ => (l, r),
        }
    }

    /// A TIME next to a text is compared as a text.
    pub(super) fn time_as_text(&mut self, item: Item, other: &Item) -> Item {
        match (item.ty, is_string(other)) {
            (SqlType::Time { .. }, true) => self.convert_to_text(item, self.default_collation()),
            _ => item,
        }
    }

    /// A constant next to a column of dates or times as the value that the column would store (MySQL:
    /// `convert_constant_item`): a number next to dates, anything next to times. `None`, with warning 1292, for what it
    /// would not store, which is compared in another way.
    pub(super) fn constant_beside_column(&mut self, column: &Item, constant: &Item) -> Option<Item> {
        let Expr::Column(id) = column.expr else { return None };
        // An aggregate of the same query is no column that stores.
        self.columns.get(id).origin.as_ref()?;
        constant.as_literal().filter(|value| !value.is_null() && constant.ty != column.ty)?;
        let is_time = matches!(column.ty, SqlType::Time { .. });
        let is_stored = is_time || column.ty.is_temporal() && constant.ty.is_numeric();
        if !is_stored {
            return None;
        }
        self.stored_constant(column, constant)
    }

    /// A constant next to a column of dates or times as the value that the column would store, whatever it is.
    pub(super) fn stored_constant(&mut self, column: &Item, constant: &Item) -> Option<Item> {
        let Expr::Column(id) = column.expr else { return None };
        self.columns.get(id).origin.as_ref()?;
        let value = constant.as_literal().filter(|value| !value.is_null() && constant.ty != column.ty)?;
        let cut = self.cut_for_column(value, column.ty);
        let taken = cut.as_ref().unwrap_or(value);
        let stored = comparison::stored_constant(taken, column.ty, self.env.session.date_modes());
        // What is lost in a column is a note for a statement that changes rows, and no error.
        if stored.warns && !(self.changes_strictly && stored.value.is_some()) {
            let name = &self.columns.get(id).name;
            let shown = printable(value.to_text(constant.ty.fsp()).unwrap_or_default().as_bytes());
            let what = comparison::moment_name(column.ty);
            let message = format!("Incorrect {what} value: '{shown}' for column '{name}' at row 1");
            match stored.is_note {
                true => self.notes.push(SqlError::new(ErrorCode::TruncatedWrongValue, message)),
                false => self.warn(ErrorCode::TruncatedWrongValue, message),
            }
        }
        stored.value.map(|value| Item::literal(value, column.ty))
    }

    /// The value in the type that it is compared in. A text that is no date is the zero date.
    pub(in crate::bind) fn compared_as(&mut self, item: Item, ty: SqlType) -> Item {
        self.moment_or(item, ty, Value::DateTime(datetime_of(ZERO_DATE, 0)))
    }

    /// The value in the type that it is compared in, or another moment for a value that is none. The offset of a time
    /// zone in a text does not count.
    pub(super) fn moment_or(&mut self, item: Item, ty: SqlType, instead: Value) -> Item {
        self.moment_or_by(Binder::convert_without_offset, item, ty, instead)
    }

    fn moment_or_by(&mut self, convert: Converting<'a>, item: Item, ty: SqlType, instead: Value) -> Item {
        let zero = || Expr::literal(instead.clone(), ty);
        let is_moment = matches!(
            (ty, &instead),
            (SqlType::DateTime { .. }, Value::DateTime(_))
                | (SqlType::Time { .. }, Value::Time(_))
                | (SqlType::Date, Value::Date(_))
        );
        if item.ty.is_temporal() || item.ty == SqlType::Null || !is_moment || item.expr.has_subquery() {
            return self.convert(item, ty);
        }
        if let Some(value) = item.as_literal() {
            let is_null = value.is_null();
            let date = self.convert(without_offset(item), ty);
            return if date.is_null_literal() && !is_null { Item::new(zero(), ty) } else { date };
        }
        let is_null = Expr::IsNull { arg: Box::new(item.expr.clone()), negated: false };
        let args = vec![convert(self, item, ty).expr, zero()];
        let date = Expr::Call { function: ScalarFunction::Coalesce, args, ty };
        let branches = vec![(is_null, Expr::null(ty))];
        Item::new(Expr::Case { branches, otherwise: Some(Box::new(date)), ty }, ty)
    }

    /// The text of a row as a date or datetime; the offset of a time zone in it does not count.
    fn convert_without_offset(&mut self, item: Item, ty: SqlType) -> Item {
        if !is_string(&item) || matches!(ty, SqlType::Time { .. }) {
            return self.convert(item, ty);
        }
        let modes = DateModes { ignores_offset: true, ..self.env.session.date_modes() };
        let args = vec![item.expr, Expr::literal(Value::Int(modes.bits()), SqlType::BIGINT)];
        Item::new(Expr::Call { function: ScalarFunction::ReadDate, args, ty }, ty)
    }

    /// The literal `item` as an exact value of the other side's type. Of two literals only text next to a date adapts.
    fn adapted(&mut self, item: &Item, ty: SqlType, other: &Item, refuses: bool) -> Result<Option<Item>> {
        if let Some(date) = comparison::date_parameter(item, ty) {
            return Ok(Some(date));
        }
        let item =
            &if ty.is_temporal() && item.ty.is_text() { self.cut_beyond_micros(item.clone()) } else { item.clone() };
        let Some(value) = item.as_literal().filter(|_| comparison::adapts(item) && item.ty != ty) else {
            return Ok(None);
        };
        // A number next to a date that is no column is compared as a number.
        if ty.is_temporal() && !item.ty.is_text() && !item.ty.is_temporal() {
            return Ok(None);
        }
        if comparison::adapts(other) && !(ty.is_temporal() && item.ty.is_text()) {
            return Ok(None);
        }
        if let Some(shown) = comparison::cut_date(value, ty, self.env.session.date_modes()) {
            self.warn_of_constant(shown, ty, other);
        }
        match comparison::exact_literal(value, ty, self.env.session.date_modes()) {
            Ok(exact) => {
                if let (Some(_), Value::Text(text), true) = (&exact, value, ty.is_temporal()) {
                    deprecation(text).into_iter().for_each(|w| self.warn(w.code, w.message));
                }
                Ok(exact.map(|v| Item::literal(v, ty)))
            }
            // Next to a date it is the zero date.
            Err(_) if !refuses => Ok(match (value, comparison::zero_moment(ty)) {
                (Value::Text(text), Some(zero)) => {
                    self.warn_of_constant(text, ty, other);
                    Some(Item::literal(zero, ty))
                }
                _ => None,
            }),
            Err(error) => match self.refused_date(value, ty, other) {
                Some(refused) => Err(refused),
                None if matches!(ty, SqlType::Time { .. }) => Ok(None),
                None => Err(error),
            },
        }
    }

    /// Warning 1292 for a text of the statement that is no date next to one, or goes on behind it.
    fn warn_of_constant(&mut self, text: &str, ty: SqlType, other: &Item) {
        let what = comparison::moment_name(ty);
        let message = match &other.expr {
            Expr::Column(id) if self.columns.get(*id).origin.is_some() => {
                StoreFault::Incorrect(what).message(&self.columns.get(*id).name, &printable(text.as_bytes()), 1)
            }
            _ => format!("Truncated incorrect {what} value: '{text}'"),
        };
        self.warn(ErrorCode::TruncatedWrongValue, message);
    }

    /// The error of a text that is no date or time next to a column, in a statement that changes rows in a strict
    /// `sql_mode`: 1292, as if the column were to store it (MySQL: `convert_constant_arg_to_field`).
    fn refused_date(&self, value: &Value, ty: SqlType, other: &Item) -> Option<SqlError> {
        let Value::Text(text) = value else { return None };
        if !self.changes_strictly {
            return None;
        }
        let what = match ty {
            SqlType::Date => "date",
            SqlType::Time { .. } => "time",
            _ => "datetime",
        };
        let message = match &other.expr {
            Expr::Column(id) => {
                StoreFault::Incorrect(what).message(&self.columns.get(*id).name, &printable(text.as_bytes()), 1)
            }
            _ if what == "time" => return None,
            _ => format!("Truncated incorrect {what} value: '{text}'"),
        };
        Some(SqlError::new(ErrorCode::TruncatedWrongValue, message))
    }

    /// The strings among the items under the collation that decides over them, or as byte strings if that is `binary`.
    /// Errors: 1267 when none does; 3854 for a constant byte string that becomes a text and is none.
    pub(super) fn strings_alike(&mut self, items: Vec<Item>, operation: &str) -> Result<Vec<Item>> {
        let strings: Vec<&Item> = items.iter().filter(|i| is_string(i)).collect();
        // The value that BETWEEN tests is there twice.
        let mut deciding = strings.clone();
        deciding.dedup();
        let (collation, _) = collation::aggregate(&deciding, self.default_collation(), operation)?;
        let alike = |item: Item| if is_string(&item) { self.text_or_bytes(item, collation) } else { Ok(item) };
        items.into_iter().map(alike).collect()
    }

    pub fn any_all(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        quantifier: Quantifier,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let (Some(op), ast::Expr::Subquery(query)) = (compare_op(op), right) else {
            return Err(SqlError::syntax(right, 1));
        };
        if row_width(left).is_some() {
            let negated = match (op, quantifier) {
                (CompareOp::Eq, Quantifier::Any) => false,
                (CompareOp::NotEq, Quantifier::All) => true,
                _ => return Err(operand_columns(1)),
            };
            return self.row_in_subquery(left, query, negated, cx);
        }
        let left = self.expr(left, cx)?;
        self.quantified(left, op, quantifier, query, cx)
    }

    /// A value as comparisons see it: with all digits that it keeps, and a constant expression as its value, with its
    /// warnings. What gives NULL waits for execution, which can warn.
    pub(super) fn compared_value(&mut self, item: Item) -> Item {
        let item = item.unrounded(KEPT_DIGITS);
        if matches!(item.expr, Expr::Literal { .. }) || has_number_of_its_own(&item.expr) || self.is_of_moment(&item) {
            return item;
        }
        match fold::constant_and_warnings(&item.expr) {
            Some((value, warnings)) => {
                warnings.into_iter().for_each(|warning| self.warn(warning.code, warning.message));
                Item { expr: Expr::literal(value, item.ty), kept: None, ..item }
            }
            None => item,
        }
    }

    /// Returns true for a text that CASE has made of a date or time, whose number is that of the moment.
    fn is_of_moment(&self, item: &Item) -> bool {
        let Expr::Case { branches, otherwise, ty: SqlType::Text { .. } } = &item.expr else { return false };
        let is_moment = |result: &Expr| match result {
            Expr::Cast { arg, .. } => self.type_of(arg).is_temporal(),
            _ => false,
        };
        branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()).any(is_moment)
    }

    pub fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let escape = match escape {
            None => Some('\\'),
            Some(e) => {
                let item = self.expr(e, cx)?;
                let wrong = || SqlError::wrong_arguments("ESCAPE");
                let text = match item.as_literal() {
                    Some(Value::Null) => "\\".to_string(),
                    Some(value) => value.to_text(0).unwrap_or_default(),
                    None => return Err(wrong()),
                };
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (escape, None) => escape,
                    _ => return Err(wrong()),
                }
            }
        };
        let (arg, pattern) = (self.expr(expr, cx)?, self.expr(pattern, cx)?);
        let [arg, pattern] = [arg, pattern].map(|item| self.bits_as_bytes(item));
        let (arg, pattern) = (self.json_as_text(arg), self.json_as_text(pattern));
        let (collation, _) = collation::aggregate(&[&arg, &pattern], self.default_collation(), "like")?;
        let (arg, pattern) = (self.text_or_bytes(arg, collation)?, self.text_or_bytes(pattern, collation)?);
        let (arg, pattern) = (Box::new(arg.expr), Box::new(pattern.expr));
        Ok(Item::bool(Expr::Like { arg, pattern, escape, negated }))
    }
}

/// Returns true for the name of a day, whose number is not that of its text.
fn has_number_of_its_own(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function: ScalarFunction::Library(function), .. } if function.name == "DAYNAME")
}

/// Returns true for a value that depends on the row and not on a subquery.
fn is_of_row(item: &Item) -> bool {
    !item.expr.has_subquery() && !item.expr.columns().is_empty()
}

pub(super) fn is_string(item: &Item) -> bool {
    item.ty.is_text() || item.ty.is_bytes()
}

/// A constant byte string next to a date is a text.
fn bytes_as_text(item: Item, other: SqlType) -> Item {
    let Some(Value::Bytes(bytes)) = item.as_literal().filter(|_| other.is_temporal()) else { return item };
    let text = String::from_utf8_lossy(bytes).replace(char::REPLACEMENT_CHARACTER, "?");
    let ty = SqlType::varchar(text.chars().count() as u32, Collation::DEFAULT);
    Item::literal(Value::Text(text), ty)
}

/// A text literal without the offset of a time zone behind its moment, which does not count where moments are compared
/// (MySQL: `get_mysql_time_from_str`).
fn without_offset(item: Item) -> Item {
    let Some(Value::Text(text)) = item.as_literal() else { return item };
    match temporal::read_datetime(text).and_then(|read| read.offset) {
        Some(_) => {
            let moment = text.trim_end().rsplit_once(['+', '-']).map_or(text.as_str(), |(moment, _)| moment);
            Item::literal(Value::Text(moment.to_owned()), item.ty)
        }
        None => item,
    }
}

fn symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Lt => "<",
        CompareOp::LtEq => "<=",
        CompareOp::Gt => ">",
        CompareOp::GtEq => ">=",
        CompareOp::NullSafeEq => "<=>",
    }
}

/// Gives a product of a literal and another decimal the digits that it can have, if it is one and 128 bits hold them;
/// returns the type.
fn narrow_product(product: &mut Expr, columns: &Columns) -> Option<SqlType> {
    let Expr::Arithmetic { op: ArithmeticOp::Mul, left, right, ty } = product else { return None };
    let SqlType::Decimal { scale, .. } = *ty else { return None };
    let digits = |expr: &Expr| match expr {
        Expr::Literal { value: Value::Decimal(number), .. } => {
            number.narrow().map(|unscaled| unscaled.unsigned_abs().max(1).ilog10() + 1)
        }
        Expr::Column(id) => columns.ty(*id).decimal_digits().map(|(precision, _)| precision.into()),
        _ => None,
    };
    let precision = digits(left)? + digits(right)?;
    let is_narrow = (u32::from(scale)..=DECIMAL128_MAX_PRECISION.into()).contains(&precision);
    is_narrow.then(|| {
        *ty = SqlType::decimal(precision, scale.into());
        *ty
    })
}
