//! CASE, IF, NULLIF, COALESCE: several values, one type.

use super::{ExprContext, mixed_moments::is_of_other_type};
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, arithmetic, collation, display_length, result},
};
use muster_algebra::{CompareOp, Expr, ScalarFunction};
use muster_types::{
    BytesKind, Result, SqlType, TextKind, Value,
    temporal::{MICROS_PER_DAY, ZERO_DATE, date_code, datetime_of},
};
use sqlparser::ast;

/// Digits of the largest BIGINT.
const BIGINT_DIGITS: u32 = 19;

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
        let mut first = None;
        for when in conditions {
            tests.push(match operand {
                None => {
                    let item = self.expr(&when.condition, cx)?;
                    self.condition(item)
                }
                // The operand is bound for each comparison: a subquery in it may be in a statement only once.
                Some(operand) => {
                    let (operand, value) = (self.expr(operand, cx)?, self.expr(&when.condition, cx)?);
                    let (operand, value) = self.json_in_case(operand, value);
                    let (operand, value) = self.integers_in_case(operand, value);
                    let before = self.warnings.len();
                    let test = self.compare_member(operand, value, "case")?.expr;
                    self.forget_repeated(first.get_or_insert(before..self.warnings.len()), before);
                    test
                }
            });
            results.push(self.expr(&when.result, cx)?);
        }
        if let Some(e) = otherwise {
            results.push(self.expr(e, cx)?);
        }
        self.choice(tests, results, "case")
    }

    /// Integers behind CASE and WHEN, one with a sign and one without, which are compared by their bits (MySQL:
    /// `cmp_item_int`).
    fn integers_in_case(&mut self, operand: Item, value: Item) -> (Item, Item) {
        let are_integers = operand.ty.is_integer() && value.ty.is_integer();
        match are_integers && operand.ty.is_unsigned() != value.ty.is_unsigned() {
            true => (self.convert(operand, SqlType::BIGINT), self.convert(value, SqlType::BIGINT)),
            false => (operand, value),
        }
    }

    /// Documents behind CASE and WHEN as texts, or as numbers beside a number (MySQL: `Item_func_case` compares values
    /// of a result type).
    fn json_in_case(&mut self, operand: Item, value: Item) -> (Item, Item) {
        if operand.ty != SqlType::Json && value.ty != SqlType::Json {
            return (operand, value);
        }
        let (operand, value) = (self.compared_value(operand), self.compared_value(value));
        let types = [operand.ty, value.ty];
        (self.json_as_native(operand, &types), self.json_as_native(value, &types))
    }

    /// A searched CASE; one result more than tests is the ELSE.
    pub fn choice(&mut self, tests: Vec<Expr>, results: Vec<Item>, operation: &str) -> Result<Item> {
        let texts = self.shown_choices(&results, operation)?.map(|(texts, ty)| case(tests.clone(), texts, ty));
        let (mut results, model, shown) = self.unified(results, operation)?;
        let otherwise = if results.len() > tests.len() { results.pop().map(Box::new) } else { None };
        let branches = tests.into_iter().zip(results).collect();
        let item = Item { expr: Expr::Case { branches, otherwise, ty: model.ty }, ..model };
        Ok(Item { shown: texts.map(Box::new), ..self.shown_as(item, shown) })
    }

    pub fn if_call(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let item = self.expr(args[0], cx)?;
        // IF reads a document as a number, where WHERE compares it with 0.
        let item = if item.ty == SqlType::Json { self.convert(item, SqlType::Double) } else { item };
        let test = self.condition(item);
        let mut results = Vec::with_capacity(2);
        for (arg, of) in args[1..].iter().zip([true, false]) {
            let warnings = self.warnings.len();
            results.push(self.expr(arg, cx)?);
            let is_needed = match &test {
                Expr::Literal { value, .. } => (*value == Value::Bool(true)) == of,
                _ => true,
            };
            if !is_needed {
                self.forget_conversions(warnings);
            }
        }
        self.choice(vec![test], results, "if")
    }

    /// `NULLIF(a, b)`: NULL if they are equal, else a with its own type; a date or time is a text.
    pub fn null_if(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let test = self.comparison_by(Binder::compare_with_clock, CompareOp::Eq, args[0], args[1], cx)?.expr;
        let value = self.expr(args[0], cx)?;
        let own = value.clone();
        let value = match self.declared_type(&value) {
            Some(SqlType::Year) => {
                let digits = SqlType::Bytes { kind: BytesKind::VarBinary, length: 4 };
                self.convert(value, digits)
            }
            // A constant, too, is a text that knows what it is made of.
            _ if value.ty.is_temporal() && value.as_literal().is_some_and(|value| !value.is_null()) => {
                let moment = value.expr.clone();
                let text = self.convert_to_text(value, self.default_collation());
                Item { expr: Expr::Cast { arg: Box::new(moment), ty: text.ty }, ..text }
            }
            _ if value.ty.is_temporal() => self.convert_to_text(value, self.default_collation()),
            _ => value,
        };
        let item = self.choice(vec![test.clone()], vec![Item::null(), value], "nullif")?;
        // The text of a number or a moment is no stronger than that.
        let derivation = match own.ty.collation() {
            None if item.ty.collation().is_some() && !own.is_null_literal() => Derivation::Numeric,
            _ => item.derivation,
        };
        if let Some(number) = self.integer_of_null_if(test, own, item.ty) {
            self.null_if_numbers.push((item.expr.clone(), number));
        }
        Ok(Item { derivation, ..item })
    }

    /// The integer of NULLIF as type `ty`, which it is asked for where a date or time is wanted. `None` if the value
    /// would be computed twice that may be computed only once, or is the same.
    fn integer_of_null_if(&mut self, test: Expr, value: Item, ty: SqlType) -> Option<Expr> {
        let is_once = test.has_subquery() || value.expr.has_subquery() || !value.expr.is_movable();
        if is_once || ty.is_integer() || value.is_null_literal() {
            return None;
        }
        let ty = match ty {
            // Rounded it may have a digit more.
            SqlType::Decimal { scale, .. } => SqlType::decimal(BIGINT_DIGITS + u32::from(scale), scale.into()),
            ty => ty,
        };
        let number = Item::new(Expr::Cast { arg: Box::new(value.expr), ty: SqlType::BIGINT }, SqlType::BIGINT);
        let number = self.cast_to(number, ty).expr;
        Some(Expr::Case { branches: vec![(test, Expr::null(ty))], otherwise: Some(Box::new(number)), ty })
    }

    /// COALESCE, IFNULL, GREATEST, LEAST.
    pub fn unify_call(
        &mut self,
        function: ScalarFunction,
        name: &str,
        args: &[&ast::Expr],
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let mut items: Vec<Item> = Vec::with_capacity(args.len());
        let mut is_decided = false;
        for arg in args {
            let warnings = self.warnings.len();
            items.push(self.expr(arg, cx)?);
            if is_decided {
                self.forget_conversions(warnings);
            }
            // COALESCE asks for no more than the first that is not NULL.
            let is_value = items.last().and_then(Item::as_literal).is_some_and(|value| !value.is_null());
            is_decided |= function == ScalarFunction::Coalesce && is_value;
        }
        if function != ScalarFunction::Coalesce {
            let types: Vec<SqlType> = items.iter().map(|item| item.ty).collect();
            items = items.into_iter().map(|item| self.json_as_native(item, &types)).collect();
        }
        if function != ScalarFunction::Coalesce && compared_as_dates(&items) {
            return Ok(self.extreme_date(function, items));
        }
        let is_extreme_time = function != ScalarFunction::Coalesce && items.iter().any(|item| item.ty.is_temporal());
        let digits = items.iter().map(|item| self.fraction_digits(item, true)).max();
        let (args, mut model, shown) = self.unified(items, name)?;
        if is_extreme_time && (model.ty.is_text() || model.ty.is_bytes()) {
            model.decimals = digits;
        }
        let item = Item { expr: Expr::Call { function, args, ty: model.ty }, ..model };
        Ok(self.shown_as(item, shown))
    }

    /// GREATEST and LEAST of dates and other values: all are compared as moments, and the result is the text of a date,
    /// or of a moment if one of them has a time of day (MySQL: `Item_func_min_max::cmp_datetimes`).
    fn extreme_date(&mut self, function: ScalarFunction, items: Vec<Item>) -> Item {
        let is_dated = |ty: &SqlType| ty.is_temporal() && !matches!(ty, SqlType::Time { .. });
        let moments = || items.iter().map(|item| item.ty).filter(is_dated);
        let shown = match moments().all(|ty| ty == SqlType::Date) {
            true => SqlType::Date,
            false => {
                SqlType::DateTime { fsp: items.iter().map(|item| self.fraction_digits(item, false)).max().unwrap_or(0) }
            }
        };
        let ty = SqlType::DateTime { fsp: 6 };
        // A value that is no date is passed by.
        let instead = match function {
            ScalarFunction::Least => Value::DateTime(LATEST_MOMENT),
            _ => Value::DateTime(datetime_of(ZERO_DATE, 0)),
        };
        // A number is read as the text that it is.
        let collation = self.default_collation();
        let result = result::result_type(&items.iter().collect::<Vec<_>>(), collation, "least").unwrap_or(shown);
        let as_text = |binder: &mut Self, item: Item| match item.ty.is_numeric() {
            true => binder.convert_to_text(item, collation),
            false => item,
        };
        let items: Vec<Item> = items.into_iter().map(|item| as_text(self, item)).collect();
        let args = items.into_iter().map(|item| self.moment_or(item, ty, instead.clone()).expr).collect();
        let extreme = Item::new(Expr::Call { function, args, ty }, ty);
        let extreme = self.convert(extreme, shown);
        let text = self.convert_to_text(extreme, collation);
        // It is declared as any of the texts, which may be a CHAR or a byte string.
        let text = match result {
            SqlType::Text { kind, length, collation } => {
                let length = length.max(display_length(text.ty));
                self.convert(text, SqlType::Text { kind, length, collation })
            }
            SqlType::Bytes { .. } => self.convert(text, result),
            _ => text,
        };
        Item { decimals: Some(shown.fsp()), derivation: text.derivation.min(Derivation::Literal), ..text }
    }

    /// All converted to their common type, an item that has that type, and the type it shows: less than that of
    /// decimals that keep digits.
    fn unified(&mut self, items: Vec<Item>, operation: &str) -> Result<(Vec<Expr>, Item, SqlType)> {
        let decimals = result::decimals(&items.iter().collect::<Vec<_>>());
        let items = self.bits_beside_text(items);
        let is_other = |item: &Item| !matches!(item.ty, SqlType::Json | SqlType::Null);
        let items = match items.iter().any(is_other) {
            true => items.into_iter().map(|item| self.json_as_text(item)).collect(),
            false => items,
        };
        let items: Vec<Item> = items.into_iter().map(|item| self.measured(item)).collect();
        let refs: Vec<&Item> = items.iter().collect();
        let operation = &operation.to_ascii_lowercase();
        let members = self.members_beside_char(&items);
        let shown = result::result_type(&members.iter().collect::<Vec<_>>(), self.default_collation(), operation)?;
        let ty = match refs.iter().filter_map(|i| i.kept).max() {
            Some(digits) => arithmetic::widened(digits, shown),
            None => shown,
        };
        let (_, derivation) = collation::aggregate_result(&refs, self.default_collation(), operation)?;
        let is_ascii = refs.iter().all(|item| item.is_ascii);
        let mut model = Item { is_ascii, ..Item::new(Expr::null(ty), ty) };
        if matches!(ty, SqlType::Float | SqlType::Double | SqlType::Text { .. } | SqlType::Bytes { .. }) {
            model.decimals = decimals;
        }
        if ty.collation().is_some() {
            // The text of numbers and moments is as strong as a literal.
            model.derivation = if derivation == Derivation::Numeric { Derivation::Literal } else { derivation };
        }
        Ok((items.into_iter().map(|item| self.chosen(item, ty)).collect(), model, shown))
    }
}

impl Binder<'_> {
    /// The texts of exact numbers that have different digits behind the point, one of which is a result, and their
    /// type. `None` if all have the digits of the result's type.
    fn shown_choices(&mut self, items: &[Item], operation: &str) -> Result<Option<(Vec<Expr>, SqlType)>> {
        let measured: Vec<Item> = items.iter().map(|item| self.measured(item.clone())).collect();
        let refs: Vec<&Item> = measured.iter().collect();
        let operation = operation.to_ascii_lowercase();
        let ty @ SqlType::Decimal { scale, .. } = result::result_type(&refs, self.default_collation(), &operation)?
        else {
            return Ok(None);
        };
        let mut is_same = true;
        for item in items.iter().filter(|item| !item.is_null_literal()) {
            is_same &= item.shown.is_none() && item.ty.decimal_digits().is_some_and(|(_, digits)| digits == scale);
            if !matches!(item.ty, SqlType::Bool | SqlType::Int { .. } | SqlType::Decimal { .. }) {
                return Ok(None);
            }
        }
        let text = SqlType::varchar(display_length(ty) + 1, self.default_collation());
        let texts = items.iter().map(|item| self.cast_to(item.clone(), text).expr);
        Ok((!is_same).then(|| (texts.collect(), text)))
    }

    /// The texts of a floating-point number that CASE has made of exact numbers, too: each value is asked for its own,
    /// which has all digits of its type (MySQL: `Item_func_case::val_str`). `None` for anything else.
    pub(in crate::bind) fn text_of_each_number(&mut self, item: &Item, ty: SqlType) -> Option<Item> {
        let Expr::Case { branches, otherwise, ty: SqlType::Float | SqlType::Double } = &item.expr else { return None };
        let given = |binder: &Self, result: &Expr| match result {
            Expr::Cast { arg, ty: SqlType::Float | SqlType::Double } => {
                let from = binder.type_of(arg);
                matches!(from, SqlType::Decimal { .. }).then(|| Item::new((**arg).clone(), from))
            }
            _ => None,
        };
        let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
        if item.decimals.is_some() || !results.clone().any(|result| given(self, result).is_some()) {
            return None;
        }
        let results: Vec<Expr> = results.cloned().collect();
        let texts = results.into_iter().map(|result| {
            let from = self.type_of(&result);
            let number = given(self, &result).unwrap_or_else(|| Item::new(result, from));
            self.cast_to(number, ty).expr
        });
        let texts = texts.collect();
        let expr = case(branches.iter().map(|(test, _)| test.clone()).collect(), texts, ty);
        Some(Item { derivation: Derivation::Numeric, ..Item::new(expr, ty) })
    }

    /// The item as the text that it is shown as, if that is not the one of its type.
    pub(in crate::bind) fn as_shown(&self, item: Item) -> Item {
        match item.shown {
            Some(text) => {
                let ty = self.type_of(&text);
                Item { derivation: item.derivation, ..Item::new(*text, ty) }
            }
            None => item,
        }
    }

    /// The items that decide on a type: columns of ENUM and SET are CHAR beside a CHAR or BINARY.
    pub(in crate::bind) fn members_beside_char(&self, items: &[Item]) -> Vec<Item> {
        let char_of = |item: &Item| match (self.declared_type(item), item.ty) {
            (Some(SqlType::Enum(_) | SqlType::Set(_)), SqlType::Text { length, collation, .. }) => {
                Some(SqlType::Text { kind: TextKind::Char, length, collation })
            }
            _ => None,
        };
        let is_char = |item: &Item| {
            matches!(
                item.ty,
                SqlType::Text { kind: TextKind::Char, .. } | SqlType::Bytes { kind: BytesKind::Binary, .. }
            )
        };
        let has_char = items.iter().any(is_char);
        let decides = |item: &Item| match char_of(item).filter(|_| has_char) {
            Some(ty) => Item { ty, ..item.clone() },
            None => item.clone(),
        };
        items.iter().map(decides).collect()
    }

    /// Values of which one is chosen: of BIT columns the bytes, if another one is a text or a date.
    fn bits_beside_text(&mut self, items: Vec<Item>) -> Vec<Item> {
        let is_no_number = |item: &Item| item.ty.is_text() || item.ty.is_bytes() || item.ty.is_temporal();
        match items.iter().any(is_no_number) {
            true => items.into_iter().map(|item| self.bits_as_bytes(item)).collect(),
            false => items,
        }
    }

    /// One of several values as their type. A constant that becomes a text is still known for what it was: it has a
    /// number of its own.
    fn chosen(&mut self, item: Item, ty: SqlType) -> Expr {
        let is_no_text = item.ty.is_temporal() || item.ty.is_numeric() && item.decimals.is_none();
        if let Some(bits) = bits_of_literal(&item).filter(|_| ty.is_text() || ty.is_bytes()) {
            return Expr::Cast { arg: Box::new(bits), ty };
        }
        // A decimal has an integer of its own, rounded in another way than that of a floating-point number.
        let is_exact = matches!((item.ty, ty), (SqlType::Decimal { .. }, SqlType::Double));
        // A date or time of another type is still known, too: see `of_each_moment`.
        if is_of_other_type(item.ty, ty) && !item.is_null_literal() && !item.expr.has_subquery() {
            return self.moment_of_other_type(item, ty);
        }
        match item.as_literal() {
            Some(value) if is_exact && !value.is_null() => Expr::Cast { arg: Box::new(item.expr), ty },
            Some(_) if is_no_text && (ty.is_text() || ty.is_bytes()) => Expr::Cast { arg: Box::new(item.expr), ty },
            _ => self.operand(item, ty).expr,
        }
    }
}

/// A hexadecimal or bit literal as a value of BIT, which is bytes as a text and has a number of its own. `None` for
/// other values, and for literals that BIT has no room for.
fn bits_of_literal(item: &Item) -> Option<Expr> {
    let Some(Value::Bytes(bytes)) = item.as_literal().filter(|_| item.hexadecimal) else { return None };
    let width = u8::try_from(bytes.len() * 8).ok().filter(|width| (8..=64).contains(width))?;
    let bits = bytes.iter().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
    Some(Expr::literal(Value::UInt(bits), SqlType::Bit { width }))
}

/// A searched CASE; one result more than tests is the ELSE.
pub(super) fn case(tests: Vec<Expr>, mut results: Vec<Expr>, ty: SqlType) -> Expr {
    let otherwise = if results.len() > tests.len() { results.pop().map(Box::new) } else { None };
    Expr::Case { branches: tests.into_iter().zip(results).collect(), otherwise, ty }
}

/// Returns true if GREATEST and LEAST compare these values as dates and give one of them as text.
fn compared_as_dates(items: &[Item]) -> bool {
    let is_date = |i: &Item| i.ty.is_temporal() && !matches!(i.ty, SqlType::Time { .. });
    items.iter().any(is_date) && items.iter().any(|i| !i.ty.is_temporal() && i.ty != SqlType::Null)
}
