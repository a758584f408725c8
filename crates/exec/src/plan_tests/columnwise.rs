//! Calls that have functions over columns, for the comparison with the general evaluator.

use super::{
    INT, TEXT,
    expressions::{DEC, leaf},
};
use muster_algebra::{Expr, IntervalUnit, ScalarFunction, ScalarFunction::*};
use muster_functions::LibraryFunction;
use muster_types::{SqlType, Value};
use proptest::{prelude::*, sample::select};

const TEXTS: usize = 5;
const DATES: usize = 4;
const DOUBLES: usize = 3;
const DECIMALS: usize = 2;

fn call(function: ScalarFunction, args: Vec<Expr>, ty: SqlType) -> Expr {
    Expr::Call { function, args, ty }
}

fn constant(text: &str) -> Expr {
    Expr::literal(Value::Text(text.into()), TEXT)
}

fn library(name: &str) -> ScalarFunction {
    Library(LibraryFunction::by_name(name).expect("the function is there"))
}

fn some_text() -> impl Strategy<Value = Expr> {
    select(vec!["", "a", "A", "b%", "é", "x", "ab"]).prop_map(constant)
}

fn some_number() -> impl Strategy<Value = Expr> {
    (-2i64..5).prop_map(Expr::int)
}

pub fn over_columns() -> BoxedStrategy<Expr> {
    prop_oneof![of_texts(), of_numbers(), of_dates()].boxed()
}

fn of_texts() -> BoxedStrategy<Expr> {
    let changed = select(vec![Upper, Lower, Reverse, Trim, LTrim, RTrim, library("HEX")]);
    let counted = select(vec![Length, CharLength, Ascii]);
    let trimmed = select(vec![Trim, RTrim, LTrim]);
    let to_length = select(vec![Left, Right, Repeat]);
    let padded = select(vec![LPad, RPad]);
    prop_oneof![
        (changed, leaf(TEXTS)).prop_map(|(f, e)| call(f, vec![e], TEXT)),
        (counted, leaf(TEXTS)).prop_map(|(f, e)| call(f, vec![e], INT)),
        (trimmed, leaf(TEXTS), some_text()).prop_map(|(f, e, t)| call(f, vec![e, t], TEXT)),
        (to_length, leaf(TEXTS), some_number()).prop_map(|(f, e, n)| call(f, vec![e, n], TEXT)),
        (padded, leaf(TEXTS), some_number(), some_text()).prop_map(|(f, e, n, t)| call(f, vec![e, n, t], TEXT)),
        (leaf(TEXTS), some_text(), some_text()).prop_map(|(e, from, to)| call(Replace, vec![e, from, to], TEXT)),
        (leaf(TEXTS), some_text(), leaf(0)).prop_map(|(a, t, n)| call(Concat, vec![a, t, n], TEXT)),
        (some_text(), leaf(TEXTS), leaf(1), leaf(TEXTS)).prop_map(|(t, a, n, b)| call(
            ConcatWs,
            vec![t, a, n, b],
            TEXT
        )),
        (some_text(), leaf(TEXTS)).prop_map(|(t, e)| call(Locate, vec![t, e], INT)),
        (some_text(), leaf(TEXTS), some_number()).prop_map(|(t, e, n)| call(Locate, vec![t, e, n], INT)),
        (leaf(TEXTS), some_text(), some_number()).prop_map(|(e, t, n)| call(
            library("SUBSTRING_INDEX"),
            vec![e, t, n],
            TEXT
        )),
        (leaf(TEXTS), leaf(1), leaf(1)).prop_map(|(e, from, n)| call(Substring, vec![e, from, n], TEXT)),
    ]
    .boxed()
}

fn of_numbers() -> BoxedStrategy<Expr> {
    let of_double = select(vec![Sqrt, Exp, Ln, Log2, Log10, Sin, Cos, Tan, Abs, Ceil, Floor, Round]);
    let to_digits = select(vec![Round, Truncate]);
    let of_exact = select(vec![Abs, Sign, Ceil, Floor]);
    let extreme = select(vec![Greatest, Least]);
    let exact = |(function, ty): (ScalarFunction, usize)| {
        let result = if function == Abs && ty == DECIMALS { DEC } else { INT };
        leaf(ty).prop_map(move |e| call(function, vec![e], result))
    };
    let decimal = |(function, e, n): (ScalarFunction, Expr, u8)| {
        call(function, vec![e, Expr::int(n.into())], SqlType::Decimal { precision: 12, scale: n })
    };
    prop_oneof![
        (of_double, leaf(DOUBLES)).prop_map(|(f, e)| call(f, vec![e], SqlType::Double)),
        leaf(DOUBLES).prop_map(|e| call(Sign, vec![e], INT)),
        (leaf(DOUBLES), leaf(DOUBLES)).prop_map(|(a, b)| call(Pow, vec![a, b], SqlType::Double)),
        (to_digits.clone(), leaf(DOUBLES), some_number()).prop_map(|(f, e, n)| call(f, vec![e, n], SqlType::Double)),
        (to_digits, leaf(DECIMALS), 0u8..3).prop_map(decimal),
        (of_exact, 0usize..3).prop_flat_map(exact),
        (extreme.clone(), leaf(0), leaf(1), leaf(0)).prop_map(|(f, a, b, c)| call(f, vec![a, b, c], INT)),
        (extreme, leaf(DOUBLES), leaf(DOUBLES)).prop_map(|(f, a, b)| call(f, vec![a, b], SqlType::Double)),
        leaf(0).prop_map(|e| call(BitCount, vec![e], INT)),
    ]
    .boxed()
}

fn of_dates() -> BoxedStrategy<Expr> {
    let of_date = select(vec![DayOfWeek, Weekday, DayOfYear, Extract(IntervalUnit::YearMonth)]);
    let of_mode = select(vec![Week, YearWeek]);
    prop_oneof![
        (of_date, leaf(DATES)).prop_map(|(f, e)| call(f, vec![e], INT)),
        (of_mode, leaf(DATES), (0i64..9).prop_map(Expr::int)).prop_map(|(f, e, mode)| call(f, vec![e, mode], INT)),
        (leaf(DATES), leaf(DATES)).prop_map(|(a, b)| call(DateDiff, vec![a, b], INT)),
        leaf(DATES).prop_map(|e| call(LastDay, vec![e], SqlType::Date)),
    ]
    .boxed()
}
