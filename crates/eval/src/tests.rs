use super::*;
use muster_algebra::{ArithmeticOp, CompareOp, IntervalUnit, ScalarFunction};
use muster_types::{Decimal, ErrorCode, temporal};

const BIG: SqlType = SqlType::BIGINT;
const UBIG: SqlType = SqlType::BIGINT_UNSIGNED;
const DOUBLE: SqlType = SqlType::Double;
const DATE: SqlType = SqlType::Date;
const DATETIME: SqlType = SqlType::DateTime { fsp: 0 };
const TEXT: SqlType = SqlType::varchar(100, Collation::DEFAULT);

fn dec_type(precision: u8, scale: u8) -> SqlType {
    SqlType::Decimal { precision, scale }
}

fn int(i: i64) -> Expr {
    Expr::int(i)
}

fn dec(s: &str) -> Expr {
    let d = Decimal::parse(s).unwrap();
    Expr::literal(Value::Decimal(d), dec_type(d.precision(), d.scale))
}

fn double(x: f64) -> Expr {
    Expr::literal(Value::Double(x), DOUBLE)
}

fn text(s: &str) -> Expr {
    Expr::literal(Value::Text(s.into()), TEXT)
}

fn text_in(s: &str, c: Collation) -> Expr {
    Expr::literal(Value::Text(s.into()), SqlType::varchar(100, c))
}

fn bytes(s: &[u8]) -> Expr {
    let ty = SqlType::Bytes { kind: muster_types::BytesKind::VarBinary, length: 100 };
    Expr::literal(Value::Bytes(s.to_vec()), ty)
}

fn date(s: &str) -> Expr {
    Expr::literal(Value::Date(temporal::parse_date(s).unwrap()), DATE)
}

fn datetime(s: &str) -> Expr {
    Expr::literal(Value::DateTime(temporal::parse_datetime(s).unwrap()), DATETIME)
}

fn time(s: &str) -> Expr {
    Expr::literal(Value::Time(temporal::parse_time(s).unwrap()), SqlType::Time { fsp: 0 })
}

fn null() -> Expr {
    Expr::null(BIG)
}

fn op(op: ArithmeticOp, left: Expr, right: Expr, ty: SqlType) -> Expr {
    Expr::Arithmetic { op, left: Box::new(left), right: Box::new(right), ty }
}

fn call(function: ScalarFunction, args: Vec<Expr>, ty: SqlType) -> Expr {
    Expr::Call { function, args, ty }
}

fn no_columns(_: ColId) -> Option<Value> {
    None
}

/// The value's text, `NULL`, or the error.
fn show(expr: &Expr) -> String {
    match eval(expr, &no_columns).expect("constant") {
        Ok(value) => value.to_text(0).unwrap_or_else(|| "NULL".into()),
        Err(e) => format!("{}: {}", e.code.number(), e.message),
    }
}

#[track_caller]
fn check(expr: Expr, want: &str) {
    assert_eq!(show(&expr), want, "{expr:?}");
}

fn warnings(expr: &Expr) -> Vec<ErrorCode> {
    let mut codes = Vec::new();
    Evaluator {
        value: &no_columns,
        ty: &|_| None,
        parameters: &[],
        warn: &mut |w| codes.push(w.code),
        text_bytes_max: 1 << 20,
        reserve: &mut |_| Ok(()),
        last_insert_id: None,
        states: None,
    }
    .eval(expr);
    codes
}

/// A parameter has the value that is given, as its type; without a value nothing is known.
#[test]
fn parameters_have_the_values_that_are_given() {
    let sum = Expr::Arithmetic {
        op: ArithmeticOp::Add,
        left: Box::new(int(1)),
        right: Box::new(Expr::parameter(0, BIG)),
        ty: BIG,
    };
    let evaluate = |parameters: &[Value]| {
        let mut evaluator = Evaluator {
            value: &no_columns,
            ty: &|_| None,
            parameters,
            warn: &mut |_| {},
            text_bytes_max: 1000,
            reserve: &mut |_| Ok(()),
            last_insert_id: None,
            states: None,
        };
        evaluator.eval(&sum).map(|value| value.unwrap())
    };
    assert_eq!(evaluate(&[Value::Int(4)]), Some(Value::Int(5)));
    assert_eq!(evaluate(&[Value::Text("41".into())]), Some(Value::Int(42)));
    assert_eq!(evaluate(&[Value::Null]), Some(Value::Null));
    assert_eq!(evaluate(&[]), None);
}

#[test]
fn texts_are_no_longer_than_allowed() {
    use ScalarFunction::*;
    let t = |function, args: Vec<Expr>| call(function, args, TEXT);
    let long = |n: i64| t(Repeat, vec![text("ab"), int(n)]);
    let evaluate = |expr: &Expr| {
        let (mut messages, mut asked) = (Vec::new(), Vec::new());
        let value = Evaluator {
            value: &no_columns,
            ty: &|_| None,
            parameters: &[],
            warn: &mut |w| messages.push(w.message),
            text_bytes_max: 1000,
            reserve: &mut |bytes| {
                asked.push(bytes);
                Ok(())
            },
            last_insert_id: None,
            states: None,
        }
        .eval(expr);
        (value.unwrap().unwrap(), messages, asked)
    };
    let (value, messages, asked) = evaluate(&long(500));
    assert_eq!((value, messages, asked), (Value::Text("ab".repeat(500)), vec![], vec![1000]));
    let message = |name: &str| format!("Result of {name}() was larger than max_allowed_packet (1000) - truncated");
    let comma = text(",");
    for (expr, name) in [
        (long(501), "repeat"),
        (long(i64::MAX), "repeat"),
        (t(Concat, vec![long(500), comma.clone()]), "concat"),
        (t(ConcatWs, vec![comma.clone(), long(250), long(250)]), "concat_ws"),
        // As many bytes as so many characters may have.
        (t(LPad, vec![comma.clone(), int(251), text("x")]), "lpad"),
        (t(RPad, vec![comma.clone(), int(i64::MAX), text("x")]), "rpad"),
        (t(Replace, vec![long(500), text("a"), text("xx")]), "replace"),
    ] {
        let (value, messages, asked) = evaluate(&expr);
        assert_eq!((value, messages), (Value::Null, vec![message(name)]), "{expr:?}");
        assert!(asked.iter().all(|bytes| *bytes <= 1000));
    }
    // While a statement is planned there is no telling yet.
    assert_eq!(eval(&t(Length, vec![long(513)]), &no_columns), None);
    assert_eq!(eval(&call(Length, vec![long(512)], BIG), &no_columns), Some(Ok(Value::Int(1024))));
}

#[test]
fn integers_never_wrap() {
    use ArithmeticOp::*;
    check(op(Add, int(2), int(3), BIG), "5");
    check(op(Add, int(i64::MAX), int(1), BIG), "1690: BIGINT value is out of range in '(9223372036854775807 + 1)'");
    check(op(Mul, int(i64::MIN), int(-1), BIG), "1690: BIGINT value is out of range in '(-9223372036854775808 * -1)'");
    check(op(Sub, int(1), int(2), UBIG), "1690: BIGINT UNSIGNED value is out of range in '(1 - 2)'");
    check(op(IntDiv, int(-7), int(2), BIG), "-3");
    check(
        op(IntDiv, int(i64::MIN), int(-1), BIG),
        "1690: BIGINT value is out of range in '(-9223372036854775808 DIV -1)'",
    );
    check(op(IntDiv, dec("7.9"), dec("2.0"), BIG), "3");
    check(op(Mod, int(-7), int(3), BIG), "-1");
    check(op(Mod, int(i64::MIN), int(-1), BIG), "0");
    check(op(Add, int(1), null(), BIG), "NULL");
    check(
        Expr::Negate { arg: Box::new(int(i64::MIN)), ty: BIG },
        "1690: BIGINT value is out of range in '-(-9223372036854775808)'",
    );
}

#[test]
fn division_by_zero_is_null_with_a_warning() {
    for e in [
        op(ArithmeticOp::Div, dec("1"), dec("0.0"), dec_type(10, 4)),
        op(ArithmeticOp::Div, double(1.0), double(0.0), DOUBLE),
        op(ArithmeticOp::IntDiv, int(1), int(0), BIG),
        op(ArithmeticOp::Mod, int(1), int(0), BIG),
    ] {
        check(e.clone(), "NULL");
        assert_eq!(warnings(&e), [ErrorCode::DivisionByZero]);
    }
}

#[test]
fn decimals_are_exact() {
    use ArithmeticOp::*;
    check(op(Add, dec("0.1"), dec("0.20"), dec_type(4, 2)), "0.30");
    check(op(Mul, dec("1.5"), dec("-1.5"), dec_type(4, 2)), "-2.25");
    check(op(Mul, dec("1.55"), dec("1.1"), dec_type(4, 1)), "1.7");
    check(op(Div, dec("2"), dec("3"), dec_type(5, 4)), "0.6667");
    check(op(Div, dec("-2"), dec("3"), dec_type(5, 4)), "-0.6667");
    check(op(Div, dec("1.0000000000"), dec("8"), dec_type(5, 2)), "0.13");
    check(op(Mod, dec("5.5"), dec("-2"), dec_type(4, 1)), "1.5");
    let big = "99999999999999999999999999999999999999";
    check(op(Div, dec(big), dec("1.0000"), dec_type(65, 0)), big);
    check(op(Add, dec(big), dec("1"), dec_type(39, 0)), "100000000000000000000000000000000000000");
    let (largest, longer) =
        ("9".repeat(76), format!("1690: DECIMAL value is out of range in '({} + 1)'", "9".repeat(76)));
    check(op(Add, dec(&largest), dec("-1"), dec_type(65, 0)), &format!("{}8", "9".repeat(75)));
    check(op(Add, dec(&largest), dec("1"), dec_type(65, 0)), &longer);
}

#[test]
fn doubles_are_finite() {
    check(
        op(ArithmeticOp::Mul, double(1e200), double(1e200), DOUBLE),
        "1690: DOUBLE value is out of range in '(1e200 * 1e200)'",
    );
    check(call(ScalarFunction::Exp, vec![int(1000)], DOUBLE), "1690: DOUBLE value is out of range in 'exp(1000)'");
    check(op(ArithmeticOp::Mod, double(5.5), double(2.0), DOUBLE), "1.5");
}

#[test]
fn three_valued_logic() {
    let (t, f, n) = (|| Expr::bool(true), || Expr::bool(false), null);
    let logic = |op, args: Vec<Expr>| Expr::Logic { op, args };
    check(logic(LogicOp::And, vec![t(), n()]), "NULL");
    check(logic(LogicOp::And, vec![n(), f()]), "0");
    check(logic(LogicOp::Or, vec![n(), t()]), "1");
    check(logic(LogicOp::Or, vec![n(), f()]), "NULL");
    check(logic(LogicOp::Or, vec![f(), f()]), "0");
    check(logic(LogicOp::Xor, vec![t(), f()]), "1");
    check(logic(LogicOp::Xor, vec![t(), n()]), "NULL");
    check(Expr::Not(Box::new(n())), "NULL");
    check(Expr::Not(Box::new(text("0.0x"))), "1");
    check(Expr::IsNull { arg: Box::new(n()), negated: true }, "0");
    check(Expr::IsTruth { arg: Box::new(n()), truth: true, negated: true }, "1");
    check(Expr::IsTruth { arg: Box::new(int(0)), truth: false, negated: false }, "1");
    // A column is not known, but it does not matter.
    let unknown = Expr::Column(ColId(0));
    check(logic(LogicOp::And, vec![unknown.clone(), f()]), "0");
    assert!(eval(&logic(LogicOp::And, vec![unknown.clone(), t()]), &no_columns).is_none());
    assert!(eval(&logic(LogicOp::Or, vec![unknown.clone(), n()]), &no_columns).is_none());
    let seven = |_| Some(Value::Int(7));
    assert_eq!(eval(&op(ArithmeticOp::Add, unknown, int(1), BIG), &seven), Some(Ok(Value::Int(8))));
}

#[test]
fn comparisons() {
    let cmp = |op, a, b| Expr::compare(op, a, b);
    check(cmp(CompareOp::Eq, text("É"), text("e")), "1");
    check(cmp(CompareOp::Eq, text("a"), text("a ")), "0");
    check(cmp(CompareOp::Eq, text_in("a", Collation::Utf8mb4Bin), text_in("a ", Collation::Utf8mb4Bin)), "1");
    check(cmp(CompareOp::Lt, text_in("B", Collation::Utf8mb4Bin), text_in("a", Collation::Utf8mb4Bin)), "1");
    check(cmp(CompareOp::Eq, bytes(b"a"), text("A")), "0");
    check(cmp(CompareOp::NullSafeEq, null(), null()), "1");
    check(cmp(CompareOp::NullSafeEq, null(), int(1)), "0");
    check(cmp(CompareOp::NotEq, null(), int(1)), "NULL");
    check(cmp(CompareOp::Gt, Expr::literal(Value::UInt(u64::MAX), UBIG), int(-1)), "1");
    check(cmp(CompareOp::GtEq, dec("1.10"), dec("1.1")), "1");
    check(cmp(CompareOp::Lt, date("2024-01-31"), datetime("2024-01-31 00:00:01")), "1");
    check(cmp(CompareOp::Eq, date("2024-01-31"), text("2024-01-31")), "1");
    let list = |arg, list, negated| Expr::InList { arg: Box::new(arg), list, negated };
    check(list(int(1), vec![int(2), int(1)], false), "1");
    check(list(int(1), vec![int(2), null()], false), "NULL");
    check(list(int(1), vec![int(2), null()], true), "NULL");
    check(list(int(1), vec![int(1), null()], true), "0");
    check(list(text("AIR"), vec![text("air")], false), "1");
    check(list(null(), vec![int(1)], false), "NULL");
}

#[test]
fn like_follows_the_collation() {
    let like = |a, p, negated| Expr::Like { arg: Box::new(a), pattern: Box::new(p), escape: Some('\\'), negated };
    check(like(text("PROMO x"), text("promo%"), false), "1");
    check(like(text_in("PROMO", Collation::Utf8mb4Bin), text("promo%"), false), "0");
    check(like(int(123), text("12_"), false), "1");
    check(like(text("a"), text("b%"), true), "1");
    check(like(null(), text("%"), false), "NULL");
    check(like(text("a"), Expr::null(TEXT), true), "NULL");
}

#[test]
fn case_and_casts() {
    let case = |branches, otherwise: Option<Expr>| Expr::Case {
        branches,
        otherwise: otherwise.map(Box::new),
        ty: dec_type(5, 2),
    };
    check(case(vec![(null(), int(1)), (int(3), dec("2.5"))], Some(int(9))), "2.50");
    check(case(vec![(int(0), int(1))], Some(int(9))), "9.00");
    check(case(vec![(int(0), int(1))], None), "NULL");
    let cast = Expr::Cast { arg: Box::new(text("12abc")), ty: BIG };
    check(cast.clone(), "12");
    assert_eq!(warnings(&cast), [ErrorCode::TruncatedWrongValue]);
    check(call(ScalarFunction::Coalesce, vec![null(), int(2), int(3)], dec_type(3, 1)), "2.0");
    check(call(ScalarFunction::NullIf, vec![text("a"), text("A")], TEXT), "NULL");
    check(call(ScalarFunction::NullIf, vec![int(1), null()], BIG), "1");
    check(call(ScalarFunction::Greatest, vec![int(1), int(3), int(2)], BIG), "3");
    check(call(ScalarFunction::Least, vec![text("b"), text("A"), text("c")], TEXT), "A");
    check(call(ScalarFunction::Least, vec![int(1), null()], BIG), "NULL");
}

#[test]
fn date_arithmetic() {
    use IntervalUnit::*;
    let add = |d, n: i64, unit, ty| call(ScalarFunction::DateAdd(unit), vec![d, int(n)], ty);
    check(add(date("1998-12-01"), -90, Day, DATE), "1998-09-02");
    check(add(date("2024-01-31"), 1, Month, DATE), "2024-02-29");
    check(add(date("2024-02-29"), -1, Year, DATE), "2023-02-28");
    check(add(date("2024-01-31"), 1, Quarter, DATE), "2024-04-30");
    check(add(date("2024-01-31"), 1, Hour, DATETIME), "2024-01-31 01:00:00");
    check(add(datetime("2024-12-31 23:59:59"), 1, Second, DATETIME), "2025-01-01 00:00:00");
    check(add(datetime("2024-01-31 10:00:00"), 1, Month, DATETIME), "2024-02-29 10:00:00");
    check(add(text("2024-01-31"), 1, Day, TEXT), "2024-02-01");
    check(add(text("2024-01-31 10:00:00"), 1, Day, TEXT), "2024-02-01 10:00:00");
    check(add(time("10:00:00"), 90, Minute, SqlType::Time { fsp: 0 }), "11:30:00");
    let half = call(ScalarFunction::DateAdd(Second), vec![datetime("2024-01-01 00:00:00"), dec("1.5")], TEXT);
    check(half, "2024-01-01 00:00:01.500000");
    for far in [add(date("9999-12-31"), 1, Day, DATE), add(date("2024-01-01"), i64::MAX, Year, DATE)] {
        check(far.clone(), "NULL");
        assert_eq!(warnings(&far), [ErrorCode::DatetimeFunctionOverflow]);
    }
    check(add(text("nonsense"), 1, Day, DATETIME), "NULL");
}

#[test]
fn parts_of_dates() {
    use IntervalUnit::*;
    let part = |unit, d| call(ScalarFunction::Extract(unit), vec![d], BIG);
    let at = || datetime("2008-02-20 22:23:24.000125");
    for (unit, want) in [
        (Year, "2008"),
        (Quarter, "1"),
        (Month, "2"),
        (Week, "7"),
        (Day, "20"),
        (Hour, "22"),
        (Minute, "23"),
        (Second, "24"),
        (Microsecond, "125"),
    ] {
        check(part(unit, at()), want);
    }
    check(part(Year, text("1995-03-15")), "1995");
    check(part(Hour, date("1995-03-15")), "0");
    check(part(Hour, time("-100:11:12")), "-100");
    check(part(Year, text("x")), "NULL");
    let f = |function, d| call(function, vec![d], BIG);
    check(f(ScalarFunction::DayOfWeek, date("2007-02-03")), "7");
    check(f(ScalarFunction::Weekday, datetime("2008-02-03 22:23:00")), "6");
    check(f(ScalarFunction::DayOfYear, date("2007-02-03")), "34");
    check(call(ScalarFunction::LastDay, vec![date("2004-02-05")], DATE), "2004-02-29");
    let diff = vec![datetime("2007-12-31 23:59:59"), date("2007-12-30")];
    check(call(ScalarFunction::DateDiff, diff, BIG), "1");
}

#[test]
fn text_functions() {
    use ScalarFunction::*;
    let t = |function, args: Vec<Expr>| call(function, args, TEXT);
    check(t(Substring, vec![text("Quadratisch"), int(5), int(4)]), "rati");
    check(t(Substring, vec![text("Sakila"), int(-5), int(3)]), "aki");
    check(t(Substring, vec![text("Säkilä"), int(-1)]), "ä");
    check(t(Substring, vec![text("abc"), int(0), int(2)]), "");
    check(t(Substring, vec![text("abc"), int(-4), int(2)]), "");
    check(t(Substring, vec![text("abc"), int(i64::MIN)]), "");
    check(t(Substring, vec![text("abc"), int(2), int(-1)]), "");
    check(t(Substring, vec![bytes("äb".as_bytes()), int(3)]), "b");
    check(t(Concat, vec![text("a"), int(1), dec("1.50")]), "a11.50");
    check(t(Concat, vec![text("a"), null()]), "NULL");
    check(t(ConcatWs, vec![text(","), text("a"), null(), text("b")]), "a,b");
    check(t(ConcatWs, vec![null(), text("a")]), "NULL");
    check(t(Upper, vec![text("straße é")]), "STRAßE É");
    check(t(Lower, vec![text("ÀB")]), "àb");
    check(t(Trim, vec![text("  bar ")]), "bar");
    check(t(Trim, vec![text("xxbarxx"), text("x")]), "bar");
    check(t(LTrim, vec![text("  bar ")]), "bar ");
    check(t(RTrim, vec![text(" bar  ")]), " bar");
    check(t(Left, vec![text("äöü"), int(2)]), "äö");
    check(t(Left, vec![text("abc"), int(-2)]), "");
    check(t(Right, vec![text("äöü"), int(2)]), "öü");
    check(t(Right, vec![text("abc"), int(i64::MAX)]), "abc");
    check(t(LPad, vec![text("hi"), int(5), text("?!")]), "?!?hi");
    check(t(RPad, vec![text("hi"), int(1), text("?")]), "h");
    check(t(LPad, vec![text("hi"), int(-1), text("?")]), "NULL");
    check(t(Replace, vec![text("www.Ww"), text("w"), text("Xy")]), "XyXyXy.WXy");
    check(t(Replace, vec![text("abc"), text(""), text("x")]), "abc");
    check(t(Repeat, vec![text("ab"), int(3)]), "ababab");
    check(t(Reverse, vec![text("äb")]), "bä");
    let n = |function, args: Vec<Expr>| call(function, args, BIG);
    check(n(CharLength, vec![text("äöü")]), "3");
    check(n(Length, vec![text("äöü")]), "6");
    check(n(Length, vec![text_in("äöü", Collation::Latin1SwedishCi)]), "3");
    check(n(Locate, vec![text("BAR"), text("foobarbar")]), "4");
    check(n(Locate, vec![text("bar"), text("foobarbar"), int(5)]), "7");
    check(n(Locate, vec![text("x"), text("foobar")]), "0");
    check(n(Locate, vec![bytes(b"B"), text("abc")]), "2");
    check(n(Locate, vec![text("B"), bytes(b"abc")]), "0");
    check(n(Ascii, vec![text("2")]), "50");
    check(n(Ascii, vec![text("")]), "0");
    check(n(Locate, vec![text("e"), text("é")]), "0");
    check(n(Locate, vec![text("ss"), text("aß")]), "2");
}

#[test]
fn number_functions() {
    use ScalarFunction::*;
    let d = |s: &str| dec(s);
    check(call(Round, vec![d("1.298"), int(1)], dec_type(5, 1)), "1.3");
    check(call(Round, vec![d("-1.58")], dec_type(5, 0)), "-2");
    check(call(Round, vec![d("23.298"), int(-1)], dec_type(5, 0)), "20");
    check(call(Round, vec![int(125), int(-1)], BIG), "130");
    check(
        call(Round, vec![int(i64::MAX), int(-1)], BIG),
        "1690: BIGINT value is out of range in 'round(9223372036854775807,-1)'",
    );
    check(call(Round, vec![int(5), int(-30)], BIG), "0");
    check(call(Round, vec![double(2.5)], DOUBLE), "2");
    check(call(Round, vec![double(1.298), int(2)], DOUBLE), "1.3");
    check(call(Truncate, vec![d("1.999"), int(1)], dec_type(5, 1)), "1.9");
    check(call(Truncate, vec![d("-1.999"), int(1)], dec_type(5, 1)), "-1.9");
    check(call(Truncate, vec![int(122), int(-2)], BIG), "100");
    check(call(Truncate, vec![double(10.28 * 100.0), int(0)], DOUBLE), "1028");
    check(call(Ceil, vec![d("-1.23")], BIG), "-1");
    check(call(Ceil, vec![d("1.23")], BIG), "2");
    check(call(Floor, vec![d("-1.23")], BIG), "-2");
    check(call(Floor, vec![double(1.9)], DOUBLE), "1");
    check(call(Abs, vec![int(i64::MIN)], BIG), "1690: BIGINT value is out of range in 'abs(-9223372036854775808)'");
    check(call(Abs, vec![d("-1.5")], dec_type(3, 1)), "1.5");
    check(call(Sign, vec![d("-0.5")], BIG), "-1");
    check(call(Sqrt, vec![double(-1.0)], DOUBLE), "NULL");
    check(call(Pow, vec![int(2), int(-2)], DOUBLE), "0.25");
    check(call(Log10, vec![int(100)], DOUBLE), "2");
    let ln = call(Ln, vec![int(0)], DOUBLE);
    check(ln.clone(), "NULL");
    assert_eq!(warnings(&ln), [ErrorCode::InvalidArgumentForLogarithm]);
    check(call(BitAnd, vec![int(29), int(15)], UBIG), "13");
    check(call(BitNot, vec![int(0)], UBIG), "18446744073709551615");
    check(call(BitCount, vec![int(-1)], BIG), "64");
    check(call(BitCount, vec![bytes(&[255; 9])], BIG), "72");
    check(call(ShiftLeft, vec![int(1), int(64)], UBIG), "0");
    check(call(ShiftRight, vec![int(4), int(2)], UBIG), "1");
    check(call(BitOr, vec![int(1), null()], UBIG), "NULL");
}

#[test]
fn nothing_waits_or_guesses() {
    assert!(eval(&call(ScalarFunction::Sleep, vec![int(1)], BIG), &no_columns).is_none());
    assert!(eval(&call(ScalarFunction::LastInsertId, vec![int(1)], UBIG), &no_columns).is_none());
    assert!(eval(&Expr::Column(ColId(3)), &no_columns).is_none());
}

/// Every function, every pair of awkward values, every type of result: a value or an error, never a panic.
#[test]
fn nothing_panics() {
    let functions = ScalarFunction::all();
    let values = [
        null(),
        Expr::bool(true),
        int(i64::MIN),
        int(-1),
        int(0),
        int(3),
        int(i64::MAX),
        Expr::literal(Value::UInt(u64::MAX), UBIG),
        dec("99999999999999999999999999999999999999"),
        dec("-0.99999999999999999999999999999999999999"),
        dec("0.0"),
        double(f64::MAX),
        double(-1e-300),
        date("9999-12-31"),
        date("0000-01-01"),
        datetime("2024-02-29 23:59:59.999999"),
        time("-838:59:59"),
        text(""),
        text("äöü%d %Y"),
        text("1e999"),
        text("2024-02-30"),
        bytes(b"\xFF\x00"),
    ];
    let types = [BIG, UBIG, DOUBLE, dec_type(38, 30), dec_type(5, 2), DATE, DATETIME, SqlType::Time { fsp: 3 }, TEXT];
    let mut evaluated = 0;
    for a in &values {
        for b in &values {
            for (i, function) in functions.iter().enumerate() {
                let ty = types[(i + evaluated) % types.len()];
                for args in [vec![a.clone()], vec![a.clone(), b.clone()], vec![a.clone(), b.clone(), a.clone()]] {
                    evaluated += eval(&call(*function, args, ty), &no_columns).is_some() as usize;
                }
            }
            for ty in types {
                use ArithmeticOp::*;
                for o in [Add, Sub, Mul, Div, IntDiv, Mod] {
                    evaluated += eval(&op(o, a.clone(), b.clone(), ty), &no_columns).is_some() as usize;
                }
                let negated = Expr::Negate { arg: Box::new(a.clone()), ty };
                evaluated += eval(&negated, &no_columns).is_some() as usize;
            }
            for o in [CompareOp::Eq, CompareOp::NullSafeEq] {
                evaluated += eval(&Expr::compare(o, a.clone(), b.clone()), &no_columns).is_some() as usize;
            }
        }
    }
    assert!(evaluated > 100_000, "{evaluated}");
}
