//! Arithmetic and bits.

use super::{ExprContext, beside_number::beside_operand};
use crate::{
    bind::binder::Binder,
    typing::{
        Item,
        arithmetic::{self, ArithmeticRules},
        bytes_of_length, display_length, fold,
    },
};
use muster_algebra::{ArithmeticOp, Expr, LogicOp, ScalarFunction};
use muster_types::{
    ErrorCode, Result, SqlModes, SqlType, Value, cast::cast, decimal::DIV_INCREMENT, sql_type::DECIMAL_MAX_PRECISION,
};
use sqlparser::ast;

impl Binder<'_> {
    /// `+` and `-`: of numbers, or of a date and an interval.
    pub fn add(&mut self, left: &ast::Expr, right: &ast::Expr, subtract: bool, cx: &mut ExprContext) -> Result<Item> {
        match (left, right) {
            (_, ast::Expr::Interval(interval)) => self.date_add(left, interval, subtract, cx),
            (ast::Expr::Interval(interval), _) if !subtract => self.date_add(right, interval, false, cx),
            _ => {
                let op = if subtract { ArithmeticOp::Sub } else { ArithmeticOp::Add };
                self.arithmetic_of(op, left, right, cx)
            }
        }
    }

    pub fn arithmetic_of(
        &mut self,
        op: ArithmeticOp,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let sides = self.sides(left, right, cx)?;
        Ok(self.arithmetic_of_sides(op, left, right, sides))
    }

    /// `left op right` of operands that are bound. Its frame is no part of those that deep expressions need for each
    /// level.
    #[inline(never)]
    fn arithmetic_of_sides(
        &mut self,
        op: ArithmeticOp,
        left: &ast::Expr,
        right: &ast::Expr,
        (l, r): (Item, Item),
    ) -> Item {
        let besides = (beside_operand(&r), beside_operand(&l));
        let (l, r) = (self.beside_number(left, l, besides.0), self.beside_number(right, r, besides.1));
        self.arithmetic(op, l, r)
    }

    /// Both sides of an operator that sees all digits which an average keeps.
    pub fn sides(&mut self, left: &ast::Expr, right: &ast::Expr, cx: &mut ExprContext) -> Result<(Item, Item)> {
        let outside = std::mem::replace(&mut cx.in_arithmetic, true);
        let sides = self.expr(left, cx).and_then(|l| Ok((l, self.expr(right, cx)?)));
        cx.in_arithmetic = outside;
        sides
    }

    /// What the session decides of arithmetic.
    pub fn arithmetic_rules(&self) -> ArithmeticRules {
        let session = self.env.session;
        let increment = match session.kept_variable("div_precision_increment") {
            Value::Int(digits) => u32::try_from(digits).unwrap_or(0),
            _ => DIV_INCREMENT,
        };
        let signed_differences = session.sql_modes().has(SqlModes::NO_UNSIGNED_SUBTRACTION);
        ArithmeticRules { increment, signed_differences }
    }

    pub fn arithmetic(&mut self, op: ArithmeticOp, l: Item, r: Item) -> Item {
        let (l, r) = (self.number_of_bytes(l), self.number_of_bytes(r));
        let (l, r) = (self.measured(l), self.measured(r));
        let rules = self.arithmetic_rules();
        let mut types = arithmetic::arithmetic(op, &l, &r, rules);
        let is_unsigned = |item: &Item| matches!(self.declared_type(item), Some(SqlType::Unsigned(_)));
        if op == ArithmeticOp::IntDiv && (is_unsigned(&l) || is_unsigned(&r)) {
            types.result = SqlType::BIGINT_UNSIGNED;
        }
        let decimals = arithmetic::decimals(op, &l, &r, rules).filter(|_| types.result == SqlType::Double);
        // DIV reads texts as decimals, and constants that are too large for a decimal as the largest.
        let (l, r) = match op {
            ArithmeticOp::IntDiv => {
                let (l, r) = (self.within_decimals(l), self.within_decimals(r));
                (types.left, types.right) = (divided_type(&l, types.left), divided_type(&r, types.right));
                (self.double_read_as_decimal(l), self.double_read_as_decimal(r))
            }
            _ => (l, r),
        };
        let has_fraction = |item: &Item| item.ty.is_temporal() && item.ty.fsp() > 0;
        let fractions = [has_fraction(&l), has_fraction(&r)];
        let (l, r) = (self.operand(l, types.left), self.operand(r, types.right));
        if let (ArithmeticOp::Div, [true, _] | [_, true], Some(kept)) = (op, fractions, types.kept) {
            return self.quotient_of_moments([l, r], fractions, types.result, kept);
        }
        let folded = match (l.as_literal(), r.as_literal()) {
            (Some(a), Some(b)) => fold::arithmetic(op, a, b, types.result),
            _ => None,
        };
        let item = match folded {
            Some(value) => Item::literal(value, types.result),
            None => {
                let (left, right) = (Box::new(l.expr), Box::new(r.expr));
                Item::new(Expr::Arithmetic { op, left, right, ty: types.result }, types.result)
            }
        };
        Item { kept: types.kept, decimals, ..item }
    }

    /// A quotient of dates or times with fractions of a second, in decimals with `kept` digits behind the point. A
    /// moment without a fraction is a decimal without digits behind the point, whatever its type is, so that its
    /// quotient has fewer (MySQL: `lldiv_t2my_decimal`).
    fn quotient_of_moments(&mut self, sides: [Item; 2], fractions: [bool; 2], shown: SqlType, kept: u32) -> Item {
        let rules = self.arithmetic_rules();
        let scales = [&sides[0], &sides[1]].map(|side| side.decimal_digits().map_or(0, |(_, scale)| scale));
        let cut = |places: u32, of: Expr, ty: SqlType| {
            let places = Expr::literal(Value::Int(places.into()), SqlType::BIGINT);
            Expr::Call { function: ScalarFunction::Truncate, args: vec![of, places], ty }
        };
        let is_whole = [0, 1].map(|i: usize| {
            let side: &Item = &sides[i];
            fractions[i].then(|| Expr::eq(side.expr.clone(), cut(0, side.expr.clone(), side.ty)))
        });
        let ty = arithmetic::widened(kept, shown);
        let [left, right] = sides.map(|side| Box::new(side.expr));
        let quotient = Expr::Arithmetic { op: ArithmeticOp::Div, left, right, ty };
        let digits = |whole: [bool; 2]| {
            let of = |i: usize| if whole[i] { 0 } else { scales[i] };
            arithmetic::quotient_scale(of(0), of(1), rules.increment)
        };
        let both = match &is_whole {
            [Some(l), Some(r)] => Some(Expr::Logic { op: LogicOp::And, args: vec![l.clone(), r.clone()] }),
            _ => None,
        };
        let [left, right] = is_whole;
        let cases = [(both, [true, true]), (left, [true, false]), (right, [false, true])];
        let branches = cases.into_iter().filter_map(|(test, whole)| {
            let digits = digits(whole);
            test.map(|test| (test, if digits < kept { cut(digits, quotient.clone(), ty) } else { quotient.clone() }))
        });
        let branches = branches.collect();
        let quotient = Expr::Case { branches, otherwise: Some(Box::new(quotient)), ty };
        self.shown_as(Item::new(quotient, ty), shown)
    }

    /// A floating-point constant beyond all decimals as the largest decimal, with warning 1292; other values as they
    /// are.
    fn within_decimals(&mut self, item: Item) -> Item {
        let ty = SqlType::decimal(DECIMAL_MAX_PRECISION.into(), 0);
        let Some(value @ Value::Double(_)) = item.as_literal() else { return item };
        let (largest, warnings) = cast(value, ty);
        let mut beyond = warnings.into_iter().filter(|warning| warning.code == ErrorCode::TruncatedWrongValue);
        match beyond.next() {
            Some(warning) => {
                self.warn(warning.code, warning.message);
                Item::literal(largest, ty)
            }
            None => item,
        }
    }

    /// A decimal of more digits behind the point than it shows, as what it shows.
    pub fn shown_as(&mut self, item: Item, ty: SqlType) -> Item {
        let kept = match item.ty {
            SqlType::Decimal { scale, .. } if item.ty != ty => Some(scale as u32),
            _ => None,
        };
        Item { kept, ..self.convert(item, ty) }
    }

    /// The value as an operand of this type; a number is not rounded before.
    pub fn operand(&mut self, item: Item, ty: SqlType) -> Item {
        let item = match ty {
            SqlType::Decimal { scale, .. } => item.unrounded(scale as u32),
            _ => item,
        };
        self.convert(item, ty)
    }

    pub fn negate(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        // The sign belongs to the number: -9223372036854775808 is an integer.
        if let ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(digits, _), .. }) = expr {
            return Ok(match crate::parse::number(digits, true)? {
                // As an integer it is out of range, which a constant is not.
                Value::Double(x) if x < i64::MIN as f64 => {
                    let arg = Box::new(Expr::literal(Value::Double(-x), SqlType::Double));
                    Item::new(Expr::Negate { arg, ty: SqlType::Double }, SqlType::Double)
                }
                number => self.number_as_written(digits, number),
            });
        }
        let item = self.expr(expr, cx)?;
        // The negative of a hexadecimal literal is a floating-point number, that of other constants may be a decimal.
        let decimal_digits = digits_of_negative(expr, &item);
        let is_hexadecimal = item.hexadecimal;
        let item = match is_hexadecimal {
            true => {
                let number = self.number_of_bytes(item);
                self.convert(number, SqlType::Double)
            }
            false => match decimal_digits {
                Some(digits) => self.convert(item, SqlType::decimal(digits, 0)),
                None => self.number_of_bytes(item),
            },
        };
        let has_negative = |value: &Value| matches!(value, Value::UInt(n) if i64::try_from(*n).is_ok());
        if item.ty == SqlType::BIGINT_UNSIGNED && !item.as_literal().is_some_and(has_negative) {
            return Ok(self.negative_of_unsigned(item));
        }
        let ty = arithmetic::negation(&item);
        let decimals = match item.ty {
            moment if moment.is_temporal() => Some(moment.fsp()),
            SqlType::Null => Some(0),
            // The floating-point number of a hexadecimal literal is an integer.
            _ if is_hexadecimal => Some(0),
            _ => item.decimals,
        };
        let kept = item.kept;
        let item = match kept {
            Some(digits) => item.unrounded(digits),
            None => self.convert(item, ty),
        };
        let folded = match item.as_literal() {
            Some(Value::Null) => Some(Value::Null),
            Some(Value::Int(i)) => i.checked_neg().map(Value::Int),
            Some(Value::Decimal(d)) => Some(Value::Decimal(d.negated())),
            Some(Value::Double(x)) => Some(Value::Double(-x)),
            _ => None,
        };
        Ok(match folded {
            Some(value) => Item { decimals, ..Item::literal(value, ty) },
            None => Item { kept, decimals, ..Item::new(Expr::Negate { arg: Box::new(item.expr), ty }, ty) },
        })
    }

    /// A signed integer; error 1690 for a number that has no negative one.
    fn negative_of_unsigned(&mut self, item: Item) -> Item {
        let wide = SqlType::decimal(20, 0);
        let zero = Expr::literal(Value::Decimal(muster_types::Decimal::new(0, 0)), wide);
        let (left, right) = (Box::new(zero), Box::new(self.convert(item, wide).expr));
        Item::new(Expr::Arithmetic { op: ArithmeticOp::Sub, left, right, ty: SqlType::BIGINT }, SqlType::BIGINT)
    }

    /// Bit operations work on BIGINT UNSIGNED, and on byte strings that are more than hexadecimal literals.
    pub fn bits(&mut self, function: ScalarFunction, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let mut warnings = self.warnings.len();
        let mut items = Vec::with_capacity(args.len());
        for arg in args {
            items.push(self.expr(arg, cx)?);
            if items.len() == 1 {
                // Those of the first operand stay.
                warnings = self.warnings.len();
            }
        }
        let is_null = items.first().is_some_and(Item::is_null_literal);
        let shifts = matches!(function, ScalarFunction::ShiftLeft | ScalarFunction::ShiftRight);
        let strings = if shifts { &items[..1] } else { &items[..] };
        let are_strings = strings.iter().all(|item| item.ty.is_bytes() || item.is_null_literal())
            && strings.iter().any(|item| item.ty.is_bytes() && !item.hexadecimal);
        if are_strings {
            return Ok(self.bit_string(function, items));
        }
        let ty = SqlType::BIGINT_UNSIGNED;
        let mut exprs = Vec::with_capacity(args.len());
        for item in items {
            let item = self.number_of_bytes(item);
            exprs.push(self.bits_of(item));
        }
        if is_null && !exprs.iter().any(Expr::has_subquery) {
            // The other operand is not asked for.
            self.forget_conversions(warnings);
            exprs.iter_mut().for_each(|expr| *expr = Expr::null(ty));
        }
        Ok(Item::new(Expr::Call { function, args: exprs, ty }, ty))
    }

    /// An operation on the bits of byte strings; the places of a shift are a number.
    fn bit_string(&mut self, function: ScalarFunction, items: Vec<Item>) -> Item {
        let shifts = matches!(function, ScalarFunction::ShiftLeft | ScalarFunction::ShiftRight);
        let length = items.iter().filter(|item| item.ty.is_bytes()).map(|item| display_length(item.ty)).max();
        let length = length.unwrap_or(0);
        let ty = bytes_of_length(length.into());
        let mut args = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            args.push(match shifts && i == 1 {
                true => {
                    let item = self.number_of_bytes(item);
                    self.bits_of(item)
                }
                false => item.expr,
            });
        }
        Item::new(Expr::Call { function, args, ty }, ty)
    }

    /// The bits of a number; a negative one has those of its two's complement. A decimal is rounded to a signed integer
    /// first, as in MySQL, also one that only an unsigned integer would hold.
    pub fn bits_of(&mut self, item: Item) -> Expr {
        let is_decimal = matches!(item.ty, SqlType::Decimal { .. });
        let item = if is_decimal { self.convert(item, SqlType::BIGINT) } else { item };
        let ty = SqlType::BIGINT_UNSIGNED;
        // The text of a result that says nothing of itself: see `numbers`.
        let number = self.number_of_text(&item, ty);
        let is_text = (item.ty.is_text() || item.ty.is_bytes()) && self.declared_type(&item).is_none();
        if number.is_none() && is_text && !item.is_null_literal() {
            return self.bits_of_text(item);
        }
        number.unwrap_or_else(|| self.convert(item, ty)).expr
    }
}

/// The type of an operand of DIV: its own if it is a decimal, else that of the operation.
fn divided_type(item: &Item, of_operation: SqlType) -> SqlType {
    if matches!(item.ty, SqlType::Decimal { .. }) && of_operation == SqlType::Double { item.ty } else { of_operation }
}

/// Digits of the decimal that the negative of an integer is: of a constant that is negative, or has no negative BIGINT.
/// Where MySQL computes the constant it has the digits of BIGINT UNSIGNED with a sign, whatever its value. `None`: a
/// BIGINT, or error 1690.
fn digits_of_negative(expr: &ast::Expr, item: &Item) -> Option<u32> {
    const COMPUTED_DIGITS: u32 = 21;
    const FIRST_WITHOUT: u64 = i64::MIN.unsigned_abs();
    if !matches!(item.ty, SqlType::Int { .. }) {
        return None;
    }
    let mut inner = expr;
    let mut is_computed = false;
    while let ast::Expr::Nested(operand) | ast::Expr::Cast { expr: operand, .. } = inner {
        is_computed |= matches!(inner, ast::Expr::Cast { .. });
        inner = operand;
    }
    match inner {
        // It may be another number in the next execution.
        ast::Expr::Identifier(name) if name.quote_style.is_none() && name.value.starts_with('@') => return None,
        ast::Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => return None,
        ast::Expr::Value(_) => {}
        _ => is_computed = true,
    }
    match fold::constant(&item.expr)? {
        Value::Int(n @ ..0) => Some(n.unsigned_abs().ilog10() + 1),
        Value::UInt(n) if is_computed && n >= FIRST_WITHOUT => Some(COMPUTED_DIGITS),
        Value::UInt(n) if n > FIRST_WITHOUT => Some(n.ilog10() + 1),
        _ => None,
    }
}
