use super::*;
use crate::{BytesKind, Collation, Decimal, IntWidth, TextKind, temporal};

fn text(s: &str) -> Value {
    Value::Text(s.into())
}

fn dec(s: &str) -> Value {
    Value::Decimal(Decimal::parse(s).unwrap())
}

fn int(width: IntWidth, unsigned: bool) -> SqlType {
    SqlType::Int { width, unsigned }
}

/// Casts and compares value (also its kind) and warning number.
#[track_caller]
fn check(value: Value, to: SqlType, want: Value, warning: Option<u16>) {
    let (got, w) = cast(&value, to);
    let told = w.clone().into_iter().next().map(|w| w.code.number());
    assert_eq!((&got, told), (&want, warning), "{value} to {to}: {w:?}");
    if let (Value::Decimal(a), Value::Decimal(b)) = (&got, &want) {
        assert_eq!(a.scale, b.scale);
    }
}

#[test]
fn text_to_integers_takes_the_front() {
    let big = SqlType::BIGINT;
    check(text("42"), big, Value::Int(42), None);
    check(text("  -42 "), big, Value::Int(-42), None);
    check(text("42abc"), big, Value::Int(42), Some(1292));
    check(text("1.9"), big, Value::Int(1), Some(1292));
    check(text(""), big, Value::Int(0), Some(1292));
    check(text("é"), big, Value::Int(0), Some(1292));
    check(text("99999999999999999999999"), big, Value::Int(-1), Some(1292));
    check(text("-1"), SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX), Some(1105));
    check(text("18446744073709551615"), SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX), None);
    check(text("18446744073709551615"), big, Value::Int(-1), Some(1105));
}

#[test]
fn numbers_to_integers_round() {
    let big = SqlType::BIGINT;
    check(dec("1.5"), big, Value::Int(2), None);
    check(dec("-1.5"), big, Value::Int(-2), None);
    check(dec("2.5"), big, Value::Int(3), None);
    check(Value::Double(2.5), big, Value::Int(2), None);
    check(Value::Double(1e20), big, Value::Int(i64::MAX), Some(1292));
    check(Value::Double(f64::MIN), big, Value::Int(i64::MIN), Some(1292));
    check(Value::Int(-1), SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX), None);
    check(Value::UInt(u64::MAX), big, Value::Int(-1), None);
    check(dec("-1.0"), SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX), None);
    check(Value::Int(300), int(IntWidth::Tiny, false), Value::Int(127), Some(1264));
    check(Value::Int(-1), int(IntWidth::Int, true), Value::UInt(0), Some(1264));
    check(Value::Int(1 << 23), int(IntWidth::Medium, false), Value::Int((1 << 23) - 1), Some(1264));
    check(Value::Bool(true), big, Value::Int(1), None);
    check(Value::Null, big, Value::Null, None);
}

#[test]
fn to_decimals() {
    let d = |p, s| SqlType::Decimal { precision: p, scale: s };
    check(text("12.345"), d(10, 2), dec("12.35"), None);
    check(text("-12.345"), d(10, 2), dec("-12.35"), None);
    check(text("1e2x"), d(10, 0), dec("100"), Some(1292));
    check(text(".5"), d(10, 1), dec("0.5"), None);
    check(text("5."), d(10, 1), dec("5.0"), None);
    check(text("."), d(10, 1), dec("0.0"), Some(1292));
    check(text("1e-3"), d(10, 4), dec("0.0010"), None);
    check(text("1e999999999999"), d(10, 0), dec("9999999999"), Some(1264));
    check(text("1e-999999999999"), d(10, 0), dec("0"), None);
    check(text("0.00000000000000000000000000000000000000000000001"), d(10, 2), dec("0.00"), None);
    check(text("123456789.123456789012345678901234567890123456789"), d(20, 3), dec("123456789.123"), None);
    check(dec("999.95"), d(4, 1), dec("999.9"), Some(1264));
    check(dec("-1000"), d(4, 1), dec("-999.9"), Some(1264));
    check(Value::Double(0.1), d(10, 3), dec("0.100"), None);
    // A number beyond all decimals has two warnings, of which this is the first.
    check(Value::Double(1e300), d(5, 2), dec("999.99"), Some(1292));
    check(Value::Int(7), d(5, 2), dec("7.00"), None);
}

#[test]
fn to_doubles() {
    check(text("1.5e3"), SqlType::Double, Value::Double(1500.0), None);
    check(text("1.5e"), SqlType::Double, Value::Double(1.5), Some(1292));
    check(text("abc"), SqlType::Double, Value::Double(0.0), Some(1292));
    check(text("1e999"), SqlType::Double, Value::Double(f64::MAX), Some(1292));
    check(text("inf"), SqlType::Double, Value::Double(0.0), Some(1292));
    check(dec("0.1"), SqlType::Double, Value::Double(0.1), None);
    check(text("0.4"), SqlType::Bool, Value::Bool(true), None);
}

#[test]
fn dates_from_text_and_numbers() {
    let day = |s: &str| Value::Date(temporal::parse_date(s).unwrap());
    check(text("2024-01-31"), SqlType::Date, day("2024-01-31"), None);
    check(text("20240131"), SqlType::Date, day("2024-01-31"), None);
    check(text("2024-01-31 10:11:12"), SqlType::Date, day("2024-01-31"), None);
    check(text("2024-01-31abc"), SqlType::Date, day("2024-01-31"), Some(1292));
    check(text("2024-02-30"), SqlType::Date, Value::Null, Some(1292));
    check(text("abc"), SqlType::Date, Value::Null, Some(1292));
    check(text("0000-00-00"), SqlType::Date, Value::Null, Some(1292));
    check(Value::Int(20240131), SqlType::Date, day("2024-01-31"), None);
    check(Value::Int(240131), SqlType::Date, day("2024-01-31"), None);
    check(Value::Int(990131), SqlType::Date, day("1999-01-31"), None);
    check(Value::Int(20240131101112), SqlType::Date, day("2024-01-31"), None);
    check(Value::Int(20241301), SqlType::Date, Value::Null, Some(1292));
    check(Value::Int(i64::MIN), SqlType::Date, Value::Null, Some(1292));
    check(Value::Double(1e300), SqlType::Date, Value::Null, Some(1292));
}

#[test]
fn datetimes_round_and_times_are_cut() {
    let at = |s: &str| Value::DateTime(temporal::parse_datetime(s).unwrap());
    let time = |s: &str| Value::Time(temporal::parse_time(s).unwrap());
    let seconds = SqlType::DateTime { fsp: 0 };
    check(text("2024-01-31 23:59:59.5"), seconds, at("2024-02-01 00:00:00"), None);
    check(text("9999-12-31 23:59:59.9"), seconds, Value::Null, Some(1292));
    check(text("2024-01-31T10:11"), seconds, at("2024-01-31 10:11:00"), None);
    check(text("2024-01-31 24:00:00"), seconds, Value::Null, Some(1292));
    let fsp3 = SqlType::DateTime { fsp: 3 };
    check(dec("20240131101112.1236"), fsp3, at("2024-01-31 10:11:12.124"), None);
    check(Value::Date(temporal::date_code(2024, 2, 29)), seconds, at("2024-02-29"), None);
    let t0 = SqlType::Time { fsp: 0 };
    check(text("10:11:12.5"), t0, time("10:11:13"), None);
    check(text("-10:11"), t0, time("-10:11:00"), None);
    check(text("900:00:00"), t0, time("838:59:59"), Some(1292));
    check(text("-900:00:00"), t0, time("-838:59:59"), Some(1292));
    check(text("2024-01-31 10:11:12"), t0, time("10:11:12"), None);
    check(Value::Int(101112), t0, time("10:11:12"), None);
    check(Value::Int(-101112), t0, time("-10:11:12"), None);
    check(Value::Int(9000000), t0, Value::Null, Some(1292));
    check(Value::Int(106099), t0, Value::Null, Some(1292));
    check(at("2024-01-31 10:11:12"), t0, time("10:11:12"), None);
    check(text("x"), t0, Value::Null, Some(1292));
}

#[test]
fn temporal_to_numbers_and_text() {
    let at = Value::DateTime(temporal::parse_datetime("2024-01-31 10:11:12.5").unwrap());
    let day = Value::Date(temporal::parse_date("2024-01-31").unwrap());
    let vc = SqlType::varchar(30, Collation::DEFAULT);
    check(day.clone(), SqlType::BIGINT, Value::Int(20240131), None);
    check(at.clone(), SqlType::BIGINT, Value::Int(20240131101113), None);
    check(at.clone(), SqlType::Decimal { precision: 20, scale: 1 }, dec("20240131101112.5"), None);
    check(at.clone(), SqlType::Date, day.clone(), None);
    check(day, vc, text("2024-01-31"), None);
    check(at.clone(), vc, text("2024-01-31 10:11:12.500000"), None);
    let (got, _) = cast_from(&at, Some(SqlType::DateTime { fsp: 1 }), vc);
    assert_eq!(got, text("2024-01-31 10:11:12.5"));
    check(Value::Time(-1_000_000), SqlType::BIGINT, Value::Int(-1), None);
}

#[test]
fn text_and_bytes_are_cut_and_padded() {
    let vc = |n| SqlType::varchar(n, Collation::DEFAULT);
    check(text("äöü"), vc(2), text("äö"), Some(1292));
    check(text("ab  "), vc(2), text("ab"), Some(1292));
    check(Value::Double(1.5), vc(10), text("1.5"), None);
    check(dec("1.50"), vc(10), text("1.50"), None);
    check(Value::Bytes(vec![0xFF]), vc(10), Value::Null, Some(1300));
    check(text("a漢é"), SqlType::varchar(9, Collation::Latin1SwedishCi), text("a?é"), None);
    let binary = SqlType::Bytes { kind: BytesKind::Binary, length: 3 };
    check(text("a"), binary, Value::Bytes(b"a\0\0".to_vec()), None);
    check(text("abcd"), binary, Value::Bytes(b"abc".to_vec()), Some(1292));
    let c = SqlType::Text { kind: TextKind::Char, length: 3, collation: Collation::DEFAULT };
    check(text("a "), c, text("a "), None);
}

/// Any value to any type: the type's own kind of value or NULL, never a panic; and cast again it stays the same.
#[test]
fn everything_casts_to_everything() {
    let values = [
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::Int(-1),
        Value::Int(i64::MAX),
        Value::UInt(u64::MAX),
        dec("99999999999999999999999999999999999999"),
        dec("-0.99999999999999999999999999999999999999"),
        Value::Double(f64::MAX),
        Value::Double(-1e-300),
        Value::Float(f32::MIN),
        Value::Date(temporal::date_code(0, 1, 1)),
        Value::DateTime(temporal::datetime_of(temporal::date_code(9999, 12, 31), temporal::MICROS_PER_DAY - 1)),
        Value::Time(-temporal::TIME_MAX_MICROS),
        text(""),
        text("-838:59:59.9999999"),
        text("2024-02-29 23:59:59.9999999"),
        text("ä1e400"),
        text("1e-400"),
        Value::Bytes(vec![0xFF, 0]),
    ];
    let types = [
        SqlType::Bool,
        int(IntWidth::Tiny, false),
        int(IntWidth::Medium, true),
        SqlType::BIGINT,
        SqlType::BIGINT_UNSIGNED,
        SqlType::Decimal { precision: 65, scale: 30 },
        SqlType::Decimal { precision: 5, scale: 5 },
        SqlType::Float,
        SqlType::Double,
        SqlType::Date,
        SqlType::DateTime { fsp: 0 },
        SqlType::Timestamp { fsp: 6 },
        SqlType::Time { fsp: 3 },
        SqlType::varchar(4, Collation::DEFAULT),
        SqlType::Bytes { kind: BytesKind::Binary, length: 4 },
    ];
    for value in &values {
        for ty in types {
            let (once, _) = cast(value, ty);
            let (twice, warning) = cast(&once, ty);
            assert_eq!((&twice, warning.is_empty()), (&once, true), "{value} to {ty}");
        }
    }
}
