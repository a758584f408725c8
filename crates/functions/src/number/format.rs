//! FORMAT: numbers with groups of digits.

use crate::{Call, ResultType, Typing, call::int, locale::Locale};
use muster_types::{Decimal, ErrorCode, IntWidth, Result, SqlType, Value, cast::to_double, value::format_fixed};

/// Most digits behind the point.
const DECIMALS_MAX: i64 = 30;
/// The digits, what separates their groups, and room for all digits behind the point.
pub fn returns(typing: &Typing) -> ResultType {
    let digits = match typing.args[0].given {
        SqlType::Int { width: IntWidth::Big, .. } => u64::from(typing.args[0].given_characters).min(20),
        SqlType::Double => 22,
        _ => u64::from(typing.args[0].given_characters),
    };
    ResultType::ConnectionText(digits + digits / 3 + DECIMALS_MAX as u64 + 2)
}

/// `FORMAT(number, decimals)`, `FORMAT(number, decimals, language)`.
pub fn format(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    // As in MySQL the lower 32 bits count.
    let decimals = i64::from(int(args, 1) as i32).clamp(0, DECIMALS_MAX) as u8;
    let locale = match args.get(2) {
        None => Locale::english(),
        Some(name) => {
            let name = name.to_text(0).unwrap_or_else(|| "NULL".into());
            Locale::by_name(&name).unwrap_or_else(|| {
                call.warn(ErrorCode::UnknownLocale, format!("Unknown locale: '{name}'"));
                Locale::english()
            })
        }
    };
    let digits = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Double(_) | Value::Float(_) => double_digits(to_double(&args[0]).0, decimals),
        exact => decimal_digits(exact, decimals),
    };
    Ok(Value::Text(grouped(&digits, locale)))
}

fn decimal_digits(value: &Value, decimals: u8) -> String {
    let number = match value {
        Value::Decimal(d) => *d,
        Value::UInt(n) => Decimal::new(i128::from(*n), 0),
        other => Decimal::new(i128::from(int(std::slice::from_ref(other), 0)), 0),
    };
    let rounded = number.rounded(decimals);
    let scale = rounded.scale;
    let zeros = usize::from(decimals - scale);
    let point = if scale == 0 && decimals > 0 { "." } else { "" };
    format!("{}{point}{:0<zeros$}", rounded, "")
}

/// Rounded as MySQL's `my_double_round` does, halves of what the double holds to even.
fn double_digits(x: f64, decimals: u8) -> String {
    // Powers beyond 1e22 are exact only when they are read from text.
    let unit: f64 = format!("1e{decimals}").parse().unwrap_or(f64::INFINITY);
    let scaled = x * unit;
    let rounded = if scaled.is_finite() { scaled.round_ties_even() / unit } else { x };
    format_fixed(rounded, decimals)
}

/// Digits with or without a sign and a point, in groups.
fn grouped(digits: &str, locale: &Locale) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = Vec::new();
    let mut rest = whole;
    let mut size = locale.last_group;
    while size > 0 && rest.len() > size {
        let (front, group) = rest.split_at(rest.len() - size);
        groups.push(group);
        (rest, size) = (front, locale.other_groups);
    }
    groups.push(rest);
    groups.reverse();
    let point = if fraction.is_empty() { "" } else { locale.decimal_point };
    format!("{sign}{}{point}{fraction}", groups.join(locale.separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_the_language() {
        for (digits, name, want) in [
            ("1234567.89", "en_US", "1,234,567.89"),
            ("-123", "en_US", "-123"),
            ("123456789.00", "en_IN", "12,34,56,789.00"),
            ("1234567.89", "fr_FR", "1234567,89"),
            ("1234567.89", "de_CH", "1'234'567.89"),
        ] {
            assert_eq!(grouped(digits, Locale::by_name(name).unwrap()), want);
        }
    }

    #[test]
    fn numbers_are_rounded() {
        assert_eq!(double_digits(2.5, 0), "2");
        assert_eq!(double_digits(1e20, 2), "100000000000000000000.00");
        assert_eq!(decimal_digits(&Value::Decimal(Decimal::parse("12332.1").unwrap()), 4), "12332.1000");
        assert_eq!(decimal_digits(&Value::Decimal(Decimal::parse("2.5").unwrap()), 0), "3");
        assert_eq!(decimal_digits(&Value::Int(5), 2), "5.00");
    }
}
