//! Types of arithmetic (MySQL: `Item_num_op`; manual 14.6.1, 14.24.3).

use super::{Item, numeric_type};
use muster_algebra::ArithmeticOp;
use muster_types::decimal::DIGITS_MAX;
pub(crate) use muster_types::decimal::quotient_scale;
use muster_types::{SqlType, sql_type::DECIMAL_MAX_SCALE};

/// What the session decides of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArithmeticRules {
    /// Digits that `/` and AVG add behind the point: `div_precision_increment`.
    pub increment: u32,
    /// NO_UNSIGNED_SUBTRACTION: a difference of integers is signed.
    pub signed_differences: bool,
}

/// The conversions of the operands and the result of `l op r`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ArithmeticType {
    /// Types the two sides are converted to.
    pub left: SqlType,
    pub right: SqlType,
    /// Integers of different sign are computed as decimals; a result that does not fit this type is error 1690.
    pub result: SqlType,
    /// [`Item::kept`] of the result.
    pub kept: Option<u32>,
}

/// Most digits behind the point that a value keeps beyond those it shows: two of MySQL's words of nine, which leaves
/// twenty in front of it. Types often declare more (SUM adds 22 to its argument's); a value that has them is out of
/// range.
pub(crate) const KEPT_DIGITS: u32 = 18;

/// The type with `scale` digits behind the point, as far as [`kept`] allows.
pub(crate) fn widened(scale: u32, shown: SqlType) -> SqlType {
    match (kept(scale, shown), shown) {
        (Some(kept), SqlType::Decimal { precision, scale }) => unclamped((precision - scale) as u32 + kept, kept),
        _ => shown,
    }
}

/// How many of `scale` digits a value of the type keeps behind the point. `None` if no more than it shows.
pub(crate) fn kept(scale: u32, shown: SqlType) -> Option<u32> {
    let SqlType::Decimal { precision, scale: least } = shown else { return None };
    let room = DIGITS_MAX - (precision - least) as u32;
    Some(scale.min(KEPT_DIGITS).min(room)).filter(|s| *s > least as u32)
}

/// The type of a value in between, which may have more digits than a result.
fn unclamped(precision: u32, scale: u32) -> SqlType {
    SqlType::Decimal { precision: precision.clamp(1, DIGITS_MAX) as u8, scale: scale as u8 }
}

/// Digits behind the point that floating-point arithmetic over these shows; `None`: as many as it takes.
pub(crate) fn decimals(op: ArithmeticOp, l: &Item, r: &Item, rules: ArithmeticRules) -> Option<u8> {
    let most = l.shown_decimals()?.max(r.shown_decimals()?);
    match op {
        ArithmeticOp::Div => Some(more_decimals(most, rules)),
        _ => Some(most),
    }
}

/// Digits behind the point of a floating-point quotient or average.
pub(crate) fn more_decimals(decimals: u8, rules: ArithmeticRules) -> u8 {
    (decimals + rules.increment as u8).min(DECIMAL_MAX_SCALE)
}

pub(crate) fn arithmetic(op: ArithmeticOp, l: &Item, r: &Item, rules: ArithmeticRules) -> ArithmeticType {
    // A bare NULL is a floating-point number without digits.
    let number = |ty| if ty == SqlType::Null { SqlType::Double } else { numeric_type(ty) };
    let (lt, rt) = (number(l.ty), number(r.ty));
    let same = |ty, result| ArithmeticType { left: ty, right: ty, result, kept: None };
    let quotient = match lt.is_unsigned() || rt.is_unsigned() {
        true => SqlType::BIGINT_UNSIGNED,
        false => SqlType::BIGINT,
    };
    if lt == SqlType::Double || rt == SqlType::Double {
        return match op {
            // DIV divides decimals: a side that is exact stays so.
            ArithmeticOp::IntDiv => ArithmeticType { left: lt, right: rt, result: quotient, kept: None },
            _ => same(SqlType::Double, SqlType::Double),
        };
    }
    if lt.is_integer() && rt.is_integer() && op != ArithmeticOp::Div {
        return integer(op, (l, lt.is_unsigned()), (r, rt.is_unsigned()), rules);
    }
    let (p1, s1) = l.decimal_digits().unwrap_or((1, 0));
    let (p2, s2) = r.decimal_digits().unwrap_or((1, 0));
    let whole = (p1 - s1).max(p2 - s2);
    let scale = s1.max(s2);
    let result = match op {
        ArithmeticOp::Add | ArithmeticOp::Sub => SqlType::decimal(whole + scale + 1, scale),
        ArithmeticOp::Mul => SqlType::decimal(p1 + p2, s1 + s2),
        ArithmeticOp::Div => SqlType::decimal(p1 + s2 + rules.increment, s1 + rules.increment),
        ArithmeticOp::Mod => SqlType::decimal(p1.max(p2), scale),
        ArithmeticOp::IntDiv => quotient,
    };
    let (k1, k2) = (l.kept_scale(s1).min(KEPT_DIGITS).max(s1), r.kept_scale(s2).min(KEPT_DIGITS).max(s2));
    let kept = match op {
        // What divides must leave room for a longer dividend.
        ArithmeticOp::Mul => kept(k1 + k2, result),
        ArithmeticOp::Div => {
            kept(quotient_scale(k1, k2, rules.increment).min((DIGITS_MAX + k1).saturating_sub(k2)), result)
        }
        _ => kept(k1.max(k2), result),
    };
    let (left, right) = (unclamped(p1 - s1 + k1, k1), unclamped(p2 - s2 + k2, k2));
    ArithmeticType { left, right, result, kept }
}

fn integer(
    op: ArithmeticOp,
    (l, left_unsigned): (&Item, bool),
    (r, right_unsigned): (&Item, bool),
    rules: ArithmeticRules,
) -> ArithmeticType {
    let big = |unsigned| if unsigned { SqlType::BIGINT_UNSIGNED } else { SqlType::BIGINT };
    // Only decimals hold what is negative and what is beyond the largest signed.
    let wide = SqlType::decimal(20, 0);
    if op == ArithmeticOp::Sub && rules.signed_differences && (left_unsigned || right_unsigned) {
        return ArithmeticType { left: wide, right: wide, result: SqlType::BIGINT, kept: None };
    }
    let result = match op {
        // The sign of a remainder is the dividend's.
        ArithmeticOp::Mod => big(left_unsigned),
        _ => big(left_unsigned || right_unsigned),
    };
    let same = ArithmeticType { left: result, right: result, result, kept: None };
    if left_unsigned == right_unsigned || is_unsigned_literal(if left_unsigned { r } else { l }) {
        let unsigned = left_unsigned || right_unsigned;
        return ArithmeticType { left: big(unsigned), right: big(unsigned), ..same };
    }
    ArithmeticType { left: wide, right: wide, result, kept: None }
}

fn is_unsigned_literal(item: &Item) -> bool {
    matches!(item.as_literal(), Some(muster_types::Value::Int(0..)))
}

/// Type of `- x`; `x` is converted to it. A date or time is a floating-point number.
pub(crate) fn negation(item: &Item) -> SqlType {
    match numeric_type(item.ty) {
        SqlType::Null => SqlType::Double,
        _ if item.ty.is_temporal() => SqlType::Double,
        SqlType::Int { .. } => SqlType::BIGINT,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ArithmeticOp::*;
    use muster_algebra::{ColId, Expr};
    use muster_types::{Collation, Value};

    fn column(ty: SqlType) -> Item {
        Item::new(Expr::Column(ColId(0)), ty)
    }

    fn dec(p: u32, s: u32) -> Item {
        column(SqlType::decimal(p, s))
    }

    fn int(i: i64) -> Item {
        Item::literal(Value::Int(i), SqlType::BIGINT)
    }

    const RULES: ArithmeticRules = ArithmeticRules { increment: 4, signed_differences: false };

    fn result(op: ArithmeticOp, l: Item, r: Item) -> String {
        arithmetic(op, &l, &r, RULES).result.to_string()
    }

    #[test]
    fn sessions_have_rules() {
        let u = || column(SqlType::BIGINT_UNSIGNED);
        let rules = ArithmeticRules { increment: 10, signed_differences: true };
        for (op, l, r, want) in [
            (Sub, u(), int(1), "bigint"),
            (Sub, int(1), u(), "bigint"),
            (Sub, u(), u(), "bigint"),
            (Add, u(), u(), "bigint unsigned"),
            (Div, int(7), int(2), "decimal(11,10)"),
            (Div, dec(15, 2), dec(10, 3), "decimal(28,12)"),
        ] {
            assert_eq!(arithmetic(op, &l, &r, rules).result.to_string(), want, "{op:?}");
        }
    }

    #[test]
    fn results_are_mysqls() {
        let i = || column(SqlType::INT);
        let u = || column(SqlType::BIGINT_UNSIGNED);
        let text = || column(SqlType::varchar(5, Collation::DEFAULT));
        for (op, l, r, want) in [
            (Add, i(), i(), "bigint"),
            (Add, i(), u(), "bigint unsigned"),
            (Sub, u(), int(1), "bigint unsigned"),
            (Mod, i(), u(), "bigint"),
            (Mod, u(), i(), "bigint unsigned"),
            (Add, dec(15, 2), dec(10, 4), "decimal(18,4)"),
            (Sub, int(1), dec(15, 2), "decimal(16,2)"),
            (Mul, dec(15, 2), dec(16, 2), "decimal(31,4)"),
            (Div, dec(15, 2), dec(10, 3), "decimal(22,6)"),
            (Div, i(), i(), "decimal(14,4)"),
            (Div, int(7), int(2), "decimal(5,4)"),
            (Mod, dec(10, 2), dec(5, 3), "decimal(10,3)"),
            (IntDiv, dec(10, 2), i(), "bigint"),
            (Add, dec(10, 2), column(SqlType::Double), "double"),
            (Add, i(), text(), "double"),
            (Add, column(SqlType::Float), i(), "double"),
            (Add, column(SqlType::Date), i(), "bigint"),
            (Add, column(SqlType::DateTime { fsp: 3 }), i(), "decimal(18,3)"),
            (Mul, dec(40, 20), dec(40, 20), "decimal(65,30)"),
            (Add, Item::null(), i(), "double"),
            (Div, Item::null(), dec(5, 2), "double"),
            (IntDiv, Item::null(), i(), "bigint"),
        ] {
            assert_eq!(result(op, l, r), want, "{op:?}");
        }
    }

    #[test]
    fn quotients_keep_words_of_nine_digits() {
        for (dividend, divisor, want) in [(0, 0, 9), (2, 0, 9), (6, 0, 18), (2, 3, 18), (9, 0, 18), (5, 9, 18)] {
            assert_eq!(quotient_scale(dividend, divisor, 4), want, "{dividend} / {divisor}");
        }
        let third = |p, s| Item { kept: Some(9), ..dec(p, s) };
        for (op, l, r, want) in [
            (Div, int(1), int(3), ("decimal(5,4)", Some(9))),
            (Mul, third(5, 4), int(3), ("decimal(6,4)", Some(9))),
            (Add, third(5, 4), dec(4, 2), ("decimal(7,4)", Some(9))),
            (Mul, third(5, 4), third(5, 4), ("decimal(10,8)", Some(18))),
            (Mul, dec(5, 2), dec(5, 2), ("decimal(10,4)", None)),
            // Declared digits in front of the point beyond twenty take no room.
            (Add, third(34, 4), dec(32, 0), ("decimal(37,4)", Some(9))),
            (Add, third(40, 4), dec(32, 0), ("decimal(41,4)", Some(9))),
        ] {
            let t = arithmetic(op, &l, &r, RULES);
            assert_eq!((&*t.result.to_string(), t.kept), want, "{op:?} {l:?} {r:?}");
        }
    }

    #[test]
    fn integers_of_different_sign_meet_as_decimals() {
        let t = arithmetic(Add, &column(SqlType::BIGINT_UNSIGNED), &column(SqlType::BIGINT), RULES);
        assert_eq!((t.left, t.result), (SqlType::decimal(20, 0), SqlType::BIGINT_UNSIGNED));
        let t = arithmetic(Add, &column(SqlType::BIGINT_UNSIGNED), &int(5), RULES);
        assert_eq!(t.right, SqlType::BIGINT_UNSIGNED);
    }
}
