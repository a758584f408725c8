use super::*;
use crate::{Collation, Decimal};
use StoreFault::{Incorrect, OutOfRange, TooLong, Truncated};

fn unfit(fault: StoreFault, instead: u64) -> Result<u64, Unfit<u64>> {
    Err(Unfit::new(fault, instead))
}

fn members(names: &[&str]) -> MemberList {
    MemberList::new(names.iter().map(|n| n.to_string()).collect(), Collation::DEFAULT)
}

#[test]
fn enum_values() {
    let list = members(&["b", "a", "C", "x y"]);
    for (text, want) in [("A  ", 2), ("x y", 4), ("3", 3), ("0", 0)] {
        assert_eq!(enum_text(text.as_bytes(), list), Ok(want), "{text}");
    }
    for text in ["", " a", "z", "2a", "5", "-1"] {
        assert_eq!(enum_text(text.as_bytes(), list), unfit(Truncated, 0), "{text}");
    }
    assert_eq!(enum_number(&Value::Decimal(Decimal::new(15, 1)), list), Ok(1));
    for number in [0, -1, 5] {
        assert_eq!(enum_number(&Value::Int(number), list), unfit(Truncated, 0), "{number}");
    }
}

#[test]
fn set_values() {
    let list = members(&["p", "q", "r"]);
    for (text, want) in [("", 0), ("r,p,P", 5), ("p ", 1), ("7", 7)] {
        assert_eq!(set_text(text.as_bytes(), list), Ok(want), "{text}");
    }
    for (text, kept) in [("p,", 1), ("q,z,r", 6), (" p", 0), ("8", 0)] {
        assert_eq!(set_text(text.as_bytes(), list), unfit(Truncated, kept), "{text}");
    }
    assert_eq!(set_number(&Value::Int(99), list), unfit(Truncated, 3));
    assert_eq!(set_number(&Value::Int(-1), list), unfit(Truncated, 7));
    assert_eq!(set_number(&Value::Int(5), list), Ok(5));
}

#[test]
fn years() {
    for (text, want) in [("2001", 2001), ("69", 2069), ("70", 1970), ("0", 2000), ("000", 2000), ("0000", 0)] {
        assert_eq!(year_text(text.as_bytes()), Ok(want), "{text}");
    }
    for (text, fault, instead) in [
        ("1900", OutOfRange, 0),
        ("-1", OutOfRange, 0),
        ("100", OutOfRange, 0),
        ("", Incorrect("integer"), 0),
        ("20a", Truncated, 2020),
        ("2001a", Truncated, 2001),
    ] {
        assert_eq!(year_text(text.as_bytes()), unfit(fault, instead), "{text}");
    }
    assert_eq!(year_value(&Value::Int(0)), Ok(0));
    assert_eq!(year_value(&Value::Int(99)), Ok(1999));
    assert_eq!(year_value(&Value::Decimal(Decimal::new(19996, 1))), Ok(2000));
    assert_eq!(year_value(&Value::Date(crate::temporal::date_code(1970, 1, 1))), Ok(1970));
    assert_eq!(year_value(&Value::Int(2156)), unfit(OutOfRange, 0));
}

#[test]
fn bits() {
    assert_eq!(bit_text(b"\0\0a", 8), Ok(97));
    assert_eq!(bit_text(b"ab", 8), unfit(TooLong, 255));
    assert_eq!(bit_text(b"123456789", 64), unfit(TooLong, u64::MAX));
    assert_eq!(bit_number(&Value::Int(-1), 64), Ok(u64::MAX));
    assert_eq!(bit_number(&Value::Int(-1), 10), unfit(TooLong, 1023));
    assert_eq!(bit_number(&Value::Decimal(Decimal::new(15, 1)), 8), Ok(2));
    assert_eq!(bit_number(&Value::Double(1.6), 8), Ok(1));
    assert_eq!(bit_number(&Value::Decimal(Decimal::new(10i128.pow(22), 0)), 64), unfit(OutOfRange, u64::MAX));
}
