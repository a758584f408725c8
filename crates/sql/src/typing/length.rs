//! How many characters MySQL declares for the integers of an expression (`Item::max_length`). Clients lay out columns
//! by it, and CREATE TABLE .. SELECT chooses between INT and BIGINT.

use muster_algebra::{ArithmeticOp, Columns, Expr, IntervalUnit, ScalarFunction};
use muster_types::{IntWidth, SqlType, Value};

/// The length of a 64-bit integer of which nothing is known.
const LONGEST: u32 = 21;
/// Digits of a number that arithmetic gives, which are those of the longest decimal.
const MOST_DIGITS: u32 = 65;
/// Digits of a FLOAT.
const FLOAT: u32 = 12;

/// The length of an expression whose type is an integer; `None` for other types.
pub(crate) fn of_integer(expr: &Expr, columns: &Columns) -> Option<u32> {
    let ty = match expr.ty(columns) {
        SqlType::Unsigned(number) => number.plain(),
        ty => ty,
    };
    ty.is_integer().then(|| length(expr, ty, columns))
}

/// Characters of an integer as text; `None` where MySQL declares fewer than there can be, or that may be so: for the
/// position in a long list, and a computed column of another query.
pub(crate) fn of_text(expr: &Expr, columns: &Columns) -> Option<u32> {
    let mut is_sure = true;
    expr.visit(&mut |e| {
        is_sure &= match e {
            Expr::Column(id) => columns.get(*id).origin.is_some(),
            Expr::Call { function: ScalarFunction::Library(function), .. } => {
                !matches!(function.name, "FIELD" | "FIND_IN_SET")
            }
            // A negative number has twenty digits then.
            Expr::Cast { arg, ty } if ty.is_unsigned() => {
                let from = arg.ty(columns);
                from.is_unsigned() || !matches!(from, SqlType::Int { .. } | SqlType::Time { .. })
            }
            _ => true,
        }
    });
    of_integer(expr, columns).filter(|_| is_sure)
}

/// Characters of an integer as a number or text that others are made of, whose values all fit; `None` where MySQL
/// declares fewer: ASCII() is declared with two digits, and so may a subquery be. One that has lost that it has no
/// sign, as a YEAR has, would count one digit less.
pub(crate) fn of_operand(expr: &Expr, columns: &Columns) -> Option<u32> {
    use ScalarFunction::{Ascii, CharLength, Length, Library};
    let mut is_sure = true;
    expr.visit(&mut |e| {
        is_sure &= match e {
            Expr::Call { function: Ascii | CharLength | Length | Library(_), .. } | Expr::Subquery(_) => false,
            Expr::Cast { arg, ty } => {
                let from = arg.ty(columns);
                let is_unsigned = from == SqlType::Year || from.is_unsigned() || is_of_unsigned(arg, columns);
                ty.is_unsigned() || !is_unsigned || matches!(ty, SqlType::Decimal { .. })
            }
            _ => true,
        };
    });
    of_text(expr, columns).filter(|_| is_sure)
}

/// The length of the integers of a column.
pub(crate) fn of_column(ty: SqlType) -> u32 {
    match ty {
        SqlType::Int { width, unsigned } => match width {
            IntWidth::Tiny => 4 - unsigned as u32,
            IntWidth::Small => 6 - unsigned as u32,
            IntWidth::Medium => 9 - unsigned as u32,
            IntWidth::Int => 11 - unsigned as u32,
            IntWidth::Big => 20,
        },
        SqlType::Date => 9,
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => 15,
        SqlType::Time { .. } => 8,
        SqlType::Bool => 1,
        SqlType::Year => 4,
        SqlType::Bit { width } => width.into(),
        _ => LONGEST,
    }
}

fn length(expr: &Expr, ty: SqlType, columns: &Columns) -> u32 {
    let of = |expr: &Expr| length(expr, expr.ty(columns), columns);
    // Digits of an operand, which is a date's number, too.
    let digits = |expr: &Expr| match expr {
        Expr::Literal { value: Value::UInt(u), .. } => (*u).max(1).ilog10() + 1,
        _ => of(expr).saturating_sub(!is_of_unsigned(expr, columns) as u32).max(1),
    };
    let signed = |digits: u32| digits.min(MOST_DIGITS) + !ty.is_unsigned() as u32;
    match expr {
        expr if ty == SqlType::Bool && !matches!(expr, Expr::Literal { .. }) => 1,
        Expr::Column(id) => columns.length(*id).unwrap_or_else(|| of_column(ty)),
        Expr::Literal { value: Value::Int(i), .. } => i.unsigned_abs().max(1).ilog10() + 2,
        Expr::Literal { value: Value::UInt(u), .. } => (*u).max(1).ilog10() + 2,
        // An integer beside one without a sign.
        Expr::Literal { value: Value::Decimal(number), .. } if number.scale == 0 => u32::from(number.precision()) + 1,
        // The casts that arithmetic makes of its operands keep their digits.
        Expr::Cast { arg, .. } => match arg.ty(columns) {
            SqlType::Int { .. } | SqlType::Bool => of(arg),
            SqlType::Date | SqlType::DateTime { .. } | SqlType::Time { .. } => of_column(arg.ty(columns)),
            SqlType::Year | SqlType::Bit { .. } => of_column(arg.ty(columns)),
            // ZEROFILL may have more digits than any value.
            SqlType::Unsigned(number) => of_column(number.plain()).max(number.zerofill.unwrap_or(0).into()),
            _ => LONGEST,
        },
        // The negative of a number without a sign.
        Expr::Arithmetic { op: ArithmeticOp::Sub, left, right, .. } if is_zero_decimal(left) => of(right) + 1,
        Expr::Arithmetic { op, left, right, .. } => match op {
            ArithmeticOp::Add | ArithmeticOp::Sub => signed(digits(left).max(digits(right)) + 1),
            ArithmeticOp::Mul => signed(digits(left) + digits(right)),
            // What divides may be a fraction, which makes it longer.
            ArithmeticOp::IntDiv => {
                (whole_digits(left, columns) + fraction_digits(right, columns)).min(LONGEST) + !ty.is_unsigned() as u32
            }
            ArithmeticOp::Mod => of(left).max(of(right)),
            ArithmeticOp::Div => LONGEST,
        },
        Expr::Negate { arg, .. } => (of(arg) + is_of_unsigned(arg, columns) as u32).min(LONGEST),
        Expr::Subquery(query) => match query.outputs[..] {
            [output] => of(&Expr::Column(output)),
            _ => LONGEST,
        },
        Expr::Case { branches, otherwise, .. } => {
            let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
            results.filter(|result| !is_null(result)).map(of).max().unwrap_or(1)
        }
        Expr::Call { function, args, .. } => match function {
            ScalarFunction::MomentNumber => args.first().map_or(LONGEST, |arg| of_column(arg.ty(columns))),
            ScalarFunction::Coalesce | ScalarFunction::Greatest | ScalarFunction::Least => {
                args.iter().filter(|arg| !is_null(arg)).map(of).max().unwrap_or(1)
            }
            ScalarFunction::Abs | ScalarFunction::NullIf => args.first().map_or(LONGEST, of),
            function => of_function(*function),
        },
        _ => LONGEST,
    }
}

/// Returns true if an integer, or what has been made one, has no sign.
fn is_of_unsigned(expr: &Expr, columns: &Columns) -> bool {
    match expr {
        Expr::Cast { arg, .. } => is_of_unsigned(arg, columns),
        _ => {
            let ty = expr.ty(columns);
            ty.is_unsigned() || matches!(ty, SqlType::Bit { .. } | SqlType::Unsigned(_) | SqlType::Year)
        }
    }
}

/// Digits in front of the point of what DIV divides; a text counts with all its characters.
fn whole_digits(expr: &Expr, columns: &Columns) -> u32 {
    let ty = expr.ty(columns);
    match (given_text(expr, columns), ty) {
        _ if is_null(expr) => 0,
        (Some(length), _) => length,
        (None, SqlType::Decimal { .. }) if is_of_integer(expr, columns) => {
            length(expr, ty, columns).saturating_sub(!is_of_unsigned(expr, columns) as u32).max(1)
        }
        (None, SqlType::Decimal { precision, scale }) if !is_of_moment(expr, columns) => (precision - scale).into(),
        (None, SqlType::Double) if matches!(expr, Expr::Cast { arg, .. } if arg.ty(columns) == SqlType::Float) => FLOAT,
        (None, SqlType::Double) if !is_of_moment(expr, columns) => LONGEST,
        _ => length(expr, ty, columns).saturating_sub(!ty.is_unsigned() as u32).max(1),
    }
}

/// Digits behind the point of what DIV divides by; a text counts with all its characters.
fn fraction_digits(expr: &Expr, columns: &Columns) -> u32 {
    match (given_text(expr, columns), expr.ty(columns)) {
        _ if is_null(expr) => 0,
        (Some(length), _) => length,
        (None, SqlType::Float | SqlType::Double) => LONGEST,
        (None, ty) => ty.decimal_digits().map_or(0, |(_, scale)| scale.into()),
    }
}

/// Characters of the text or byte string that an operand has been made of.
fn given_text(expr: &Expr, columns: &Columns) -> Option<u32> {
    let Expr::Cast { arg, .. } = expr else { return None };
    match arg.ty(columns) {
        SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => Some(length),
        _ => None,
    }
}

fn is_of_integer(expr: &Expr, columns: &Columns) -> bool {
    matches!(expr, Expr::Cast { arg, .. } if matches!(arg.ty(columns), SqlType::Int { .. } | SqlType::Bool))
}

fn is_of_moment(expr: &Expr, columns: &Columns) -> bool {
    matches!(expr, Expr::Cast { arg, .. } if arg.ty(columns).is_temporal())
}

fn is_zero_decimal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { value: Value::Decimal(number), .. } if number.scale == 0 && number.is_zero())
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { value: Value::Null, .. })
}

fn of_function(function: ScalarFunction) -> u32 {
    use ScalarFunction::*;
    match function {
        CharLength | Length => 10,
        Locate => 11,
        Ascii => 3,
        Extract(IntervalUnit::Year) => 5,
        Extract(IntervalUnit::Month | IntervalUnit::Day | IntervalUnit::Minute | IntervalUnit::Second) => 3,
        Extract(IntervalUnit::Week) => 3,
        Extract(IntervalUnit::Hour) => 4,
        Extract(IntervalUnit::Quarter) => 2,
        Extract(IntervalUnit::YearMonth | IntervalUnit::Microsecond) => 7,
        Extract(IntervalUnit::DayHour | IntervalUnit::SecondMicrosecond) => 9,
        Extract(IntervalUnit::DayMinute | IntervalUnit::MinuteMicrosecond) => 11,
        Extract(IntervalUnit::DaySecond) => 13,
        Extract(IntervalUnit::DayMicrosecond) => 20,
        Extract(IntervalUnit::HourMinute) => 6,
        Extract(IntervalUnit::HourSecond) => 8,
        Extract(IntervalUnit::HourMicrosecond) => 14,
        Extract(IntervalUnit::MinuteSecond) => 5,
        DayOfWeek | Weekday => 2,
        DayOfYear => 4,
        Week => 3,
        YearWeek => 7,
        DateDiff => 9,
        Crc32 => 10,
        Library(function) => match function.name {
            "FIELD" | "FIND_IN_SET" => 3,
            "TO_DAYS" => 8,
            "TIME_TO_SEC" | "COERCIBILITY" | "UNCOMPRESSED_LENGTH" => 10,
            _ => LONGEST,
        },
        _ => LONGEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_mysqls() {
        let mut columns = Columns::default();
        let mut column = |ty| Expr::Column(columns.add_computed("c", ty, true));
        let (int, tiny) = (column(SqlType::INT), column(SqlType::Int { width: IntWidth::Tiny, unsigned: false }));
        let (big, date) = (column(SqlType::BIGINT_UNSIGNED), column(SqlType::Date));
        let literal = |i: i64| Expr::literal(Value::Int(i), SqlType::BIGINT);
        let op = |op, l: &Expr, r: &Expr, ty| Expr::Arithmetic {
            op,
            left: Box::new(l.clone()),
            right: Box::new(r.clone()),
            ty,
        };
        let number = Expr::Cast { arg: Box::new(date), ty: SqlType::BIGINT };
        for (expr, want) in [
            (literal(1), 2),
            (literal(-1), 2),
            (literal(12_345_678_901), 12),
            (op(ArithmeticOp::Add, &int, &literal(1), SqlType::BIGINT), 12),
            (op(ArithmeticOp::Add, &tiny, &literal(1), SqlType::BIGINT), 5),
            (op(ArithmeticOp::Add, &big, &literal(1), SqlType::BIGINT_UNSIGNED), 21),
            (op(ArithmeticOp::Add, &number, &literal(1), SqlType::BIGINT), 10),
            (op(ArithmeticOp::Mul, &int, &int, SqlType::BIGINT), 21),
            (op(ArithmeticOp::IntDiv, &int, &literal(2), SqlType::BIGINT), 11),
            (Expr::Negate { arg: Box::new(int.clone()), ty: SqlType::BIGINT }, 11),
        ] {
            assert_eq!(of_integer(&expr, &columns), Some(want), "{expr:?}");
        }
    }
}
