use super::*;
use ProblemKind::{Incorrect, OutOfRange, Truncated};

fn bad<N>(kind: ProblemKind, instead: impl Into<Option<N>>) -> Result<N, Bad<N>> {
    Err(Bad { kind, instead: instead.into() })
}

#[test]
fn integers() {
    let int = |text: &str| integer(text.as_bytes(), i32::MIN as i128, i32::MAX as i128);
    for (text, want) in [
        ("0", 0),
        ("-2147483648", -2147483648),
        ("2147483647", 2147483647),
        ("+7", 7),
        (" 7 ", 7),
        ("007", 7),
        ("1.5", 2),
        ("-1.5", -2),
        ("1.4999", 1),
        ("1e3", 1000),
        ("25e-1", 3),
        ("00000000000000000000000000001", 1),
        (".5", 1),
    ] {
        assert_eq!(int(text), Ok(want), "{text}");
    }
    for text in ["", "-", "abc", "--1", ".", "-a", " "] {
        assert_eq!(int(text), bad(Incorrect("integer"), 0), "{text}");
    }
    for (text, kind, instead) in [
        ("12abc", Truncated, 12),
        ("1 2", Truncated, 1),
        ("0x10", Truncated, 0),
        ("2147483648", OutOfRange, 2147483647),
        ("-2147483649", OutOfRange, -2147483648),
        ("1e99", OutOfRange, 2147483647),
        ("99999999999999999999999999999999999999999999", OutOfRange, 2147483647),
        ("12:", Truncated, 12),
    ] {
        assert_eq!(int(text), bad(kind, instead), "{text}");
    }
    let unsigned = |text: &str| integer(text.as_bytes(), 0, u64::MAX as i128);
    assert_eq!(unsigned("18446744073709551615"), Ok(u64::MAX as i128));
    assert_eq!(unsigned("18446744073709551616"), bad(OutOfRange, u64::MAX as i128));
    assert_eq!(unsigned("-1"), bad(OutOfRange, 0));
    assert_eq!(unsigned("-0"), Ok(0));
}

#[test]
fn decimals() {
    let dec = |text: &str| decimal(text.as_bytes(), 2, 99_999);
    for (text, want) in [
        ("1.25", 125),
        ("-1.25", -125),
        ("1", 100),
        ("1.", 100),
        (".5", 50),
        ("1.2", 120),
        ("1.005", 101),
        ("-1.005", -101),
        ("1.0049999", 100),
        ("999.99", 99_999),
        ("1e2", 10_000),
        ("125e-2", 125),
        (" 1.25 ", 125),
        ("000000000000000000000001.25", 125),
        ("1e-9999", 0),
    ] {
        assert_eq!(dec(text), Ok(want), "{text}");
    }
    for text in ["", "abc", "-", "."] {
        assert_eq!(dec(text), bad(Incorrect("decimal"), 0), "{text}");
    }
    assert_eq!(dec("1.25x"), bad(Incorrect("decimal"), 125));
    assert_eq!(dec("1..25"), bad(Incorrect("decimal"), 100));
    assert_eq!(dec("1000.00"), bad(OutOfRange, 99_999));
    assert_eq!(dec("-999.995"), bad(OutOfRange, -99_999));
    assert_eq!(dec("1e400"), bad(OutOfRange, 99_999));
    let wide = decimal(b"12345678901234567890123456789012345678", 0, pow10(38).unwrap() - 1);
    assert_eq!(wide, Ok(12345678901234567890123456789012345678));
}

#[test]
fn floats() {
    assert_eq!(float(b" -1.5e3 ", f64::MAX), Ok(-1500.0));
    assert_eq!(float(b"1e400", f64::MAX), bad(OutOfRange, f64::MAX));
    assert_eq!(float(b"-1e39", f32::MAX as f64), bad(OutOfRange, -(f32::MAX as f64)));
    assert_eq!(float(b"1.5x", f64::MAX), bad(Truncated, 1.5));
    assert_eq!(float(b"1e", f64::MAX), bad(Truncated, 1.0));
    for text in ["", "abc", "inf", "nan", "-"] {
        assert_eq!(float(text.as_bytes(), f64::MAX), bad(Truncated, 0.0), "{text}");
    }
}

#[test]
fn dates_and_times() {
    let day = temporal::days_from_civil;
    assert_eq!(date(b"1998-09-02"), Ok(day(1998, 9, 2)));
    assert_eq!(date(b"2000-02-29"), Ok(day(2000, 2, 29)));
    assert_eq!(date(b"98/9/2"), Ok(day(1998, 9, 2)));
    for text in ["1998-02-29", "0000-00-00", "1998-13-01", "1998-04-31", "", "x", "1998-0a-01", "\u{ff}"] {
        assert_eq!(date(text.as_bytes()), bad(Incorrect("date"), None), "{text}");
    }
    let second = temporal::MICROS_PER_SECOND;
    assert_eq!(datetime(b"1970-01-01 00:00:01.6", 0), Ok(2 * second));
    assert_eq!(datetime(b"1970-01-01 00:00:01.6", 1), Ok(1_600_000));
    assert_eq!(datetime(b"1969-12-31 23:59:59.5", 0), Ok(0));
    assert_eq!(datetime(b"1970-01-01 25:00:00", 0), bad(Incorrect("datetime"), None));
    assert_eq!(timestamp(b"2038-01-19 03:14:07", 0, TimeZone::UTC), Ok(((1 << 31) - 1) * second));
    assert_eq!(timestamp(b"2038-01-19 03:14:08", 0, TimeZone::UTC), bad(Incorrect("datetime"), None));
    assert_eq!(timestamp(b"1970-01-01 00:00:00", 0, TimeZone::UTC), bad(Incorrect("datetime"), None));
    assert_eq!(timestamp(b"1970-01-01 02:00:10", 0, TimeZone::Fixed(7200)), Ok(10 * second));
    assert_eq!(timestamp(b"1970-01-01 01:59:59", 0, TimeZone::Fixed(7200)), bad(Incorrect("datetime"), None));
    let berlin = TimeZone::from_name("Europe/Berlin").unwrap();
    assert_eq!(
        timestamp(b"2021-03-28 02:30:00", 0, berlin),
        bad(Incorrect("datetime"), Some(datetime(b"2021-03-28 01:00:00", 0).unwrap()))
    );
    assert_eq!(time(b"-00:00:00.5", 0), Ok(-second));
    assert_eq!(time(b"12:61:00", 0), bad(Incorrect("time"), 0));
}
