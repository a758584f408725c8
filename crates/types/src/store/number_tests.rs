use super::*;
use StoreFault::{CutDecimal, Incorrect, OutOfRange, Truncated};

fn unfit<N>(fault: StoreFault, instead: impl Into<Option<N>>) -> Result<N, Unfit<N>> {
    Err(Unfit { fault, instead: instead.into() })
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
        assert_eq!(int(text), unfit(Incorrect("integer"), 0), "{text}");
    }
    for (text, fault, instead) in [
        ("12abc", Truncated, 12),
        ("1 2", Truncated, 1),
        ("0x10", Truncated, 0),
        ("2147483648", OutOfRange, 2147483647),
        ("-2147483649", OutOfRange, -2147483648),
        ("1e99", OutOfRange, 2147483647),
        ("99999999999999999999999999999999999999999999", OutOfRange, 2147483647),
        ("12:", Truncated, 12),
    ] {
        assert_eq!(int(text), unfit(fault, instead), "{text}");
    }
    let unsigned = |text: &str| integer(text.as_bytes(), 0, u64::MAX as i128);
    assert_eq!(unsigned("18446744073709551615"), Ok(u64::MAX as i128));
    assert_eq!(unsigned("18446744073709551616"), unfit(OutOfRange, u64::MAX as i128));
    assert_eq!(unsigned("-1"), unfit(OutOfRange, 0));
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
        assert_eq!(dec(text), unfit(Incorrect("decimal"), 0), "{text}");
    }
    assert_eq!(dec("1.25x"), unfit(CutDecimal, 125));
    assert_eq!(dec("1..25"), unfit(CutDecimal, 100));
    assert_eq!(dec("1000.00"), unfit(OutOfRange, 99_999));
    assert_eq!(dec("-999.995"), unfit(OutOfRange, -99_999));
    assert_eq!(dec("1e400"), unfit(OutOfRange, 99_999));
    let wide = decimal(b"12345678901234567890123456789012345678", 0, pow10(38).unwrap() - 1);
    assert_eq!(wide, Ok(12345678901234567890123456789012345678));
}

#[test]
fn floats() {
    assert_eq!(float(b" -1.5e3 ", f64::MAX, None), Ok(-1500.0));
    assert_eq!(float(b"1e400", f64::MAX, None), unfit(OutOfRange, f64::MAX));
    assert_eq!(float(b"-1e39", f32::MAX as f64, None), unfit(OutOfRange, -(f32::MAX as f64)));
    assert_eq!(float(b"1.5x", f64::MAX, None), unfit(Truncated, 1.5));
    assert_eq!(float(b"1e", f64::MAX, None), unfit(Truncated, 1.0));
    for text in ["", "abc", "inf", "nan", "-"] {
        assert_eq!(float(text.as_bytes(), f64::MAX, None), unfit(Truncated, 0.0), "{text}");
    }
    let digits = Some(FloatDigits { precision: 5, scale: 2 });
    for (text, want) in [("1.005", Ok(1.0)), ("-1.5", Ok(-1.5)), ("9.999", Ok(10.0)), ("999.99", Ok(999.99))] {
        assert_eq!(float(text.as_bytes(), f64::MAX, digits), want, "{text}");
    }
    assert_eq!(float(b"999.995", f64::MAX, digits), unfit(OutOfRange, 999.99));
    assert_eq!(float(b"-1e400", f64::MAX, digits), unfit(OutOfRange, -999.99));
    assert_eq!(float(b"1.239x", f64::MAX, digits), unfit(Truncated, 1.24));
}
