//! The amount by which an INTERVAL moves a date (manual 11.5 "Expressions", Temporal Intervals).

use muster_algebra::IntervalUnit;
use muster_types::{
    Value,
    temporal::{MICROS_PER_DAY, MICROS_PER_SECOND},
};

/// A span of time: months, which differ in length, and microseconds. One of the two is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interval {
    pub months: i128,
    pub micros: i128,
}

impl Interval {
    /// `count` of a unit that has one part.
    fn of(count: i64, unit: IntervalUnit) -> Interval {
        let count = i128::from(count);
        let micros = |each: i64| Interval { months: 0, micros: count * i128::from(each) };
        let months = |each: i128| Interval { months: count * each, micros: 0 };
        match unit {
            IntervalUnit::Second => micros(MICROS_PER_SECOND),
            IntervalUnit::Minute => micros(60 * MICROS_PER_SECOND),
            IntervalUnit::Hour => micros(3600 * MICROS_PER_SECOND),
            IntervalUnit::Day => micros(MICROS_PER_DAY),
            IntervalUnit::Week => micros(7 * MICROS_PER_DAY),
            IntervalUnit::Month => months(1),
            IntervalUnit::Quarter => months(3),
            IntervalUnit::Year => months(12),
            _ => micros(1),
        }
    }

    fn plus(self, other: Interval) -> Interval {
        Interval { months: self.months + other.months, micros: self.micros + other.micros }
    }

    pub fn negated(self) -> Interval {
        Interval { months: -self.months, micros: -self.micros }
    }
}

/// The interval of so many units. `None` if the count is not a number, or a text with more numbers than the unit has
/// parts.
pub fn interval(count: &Value, unit: IntervalUnit) -> Option<Interval> {
    match (unit.parts(), count) {
        // The least number has no positive one.
        ([], Value::Int(i64::MIN)) => None,
        ([], Value::Int(n)) => Some(Interval::of(*n, unit)),
        ([], Value::UInt(n)) => Some(Interval::of(i64::try_from(*n).ok()?, unit)),
        // Seconds have a fraction, which is cut behind the microseconds.
        ([], Value::Decimal(d)) if unit == IntervalUnit::Second => {
            let micros = d.cut(6).rescale(6)?.narrow()?;
            Some(Interval { months: 0, micros })
        }
        ([], _) => None,
        (parts, Value::Text(text)) => compound(text, parts),
        (parts, other) => compound(&other.to_text(6)?, parts),
    }
}

/// Numbers with anything but digits between them. When there are fewer numbers than parts, the largest parts are not
/// given. A sign in front is that of the whole interval. Digits of microseconds are those of a fraction: 5 is .500000.
fn compound(text: &str, parts: &[IntervalUnit]) -> Option<Interval> {
    let negative = text.trim_start().starts_with('-');
    let numbers: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).collect();
    // Without any number all parts are zero.
    let given = parts.len().checked_sub(numbers.len())?;
    let mut sum = Interval::default();
    for (digits, unit) in numbers.iter().zip(&parts[given..]) {
        let mut count: i64 = digits.parse().ok()?;
        if *unit == IntervalUnit::Microsecond && digits.len() < 6 {
            count *= 10i64.pow(6 - digits.len() as u32);
        }
        sum = sum.plus(Interval::of(count, *unit));
    }
    Some(if negative { sum.negated() } else { sum })
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Decimal;

    fn micros(text: &str, unit: IntervalUnit) -> Option<i128> {
        interval(&Value::Text(text.into()), unit).map(|i| i.micros)
    }

    #[test]
    fn parts_are_read_from_the_right() {
        let second = i128::from(MICROS_PER_SECOND);
        for (text, unit, want) in [
            ("1.5", IntervalUnit::SecondMicrosecond, Some(1_500_000)),
            ("5", IntervalUnit::SecondMicrosecond, Some(500_000)),
            ("1.1234567", IntervalUnit::SecondMicrosecond, Some(2_234_567)),
            ("1.1", IntervalUnit::DayMicrosecond, Some(1_100_000)),
            ("1:30", IntervalUnit::MinuteSecond, Some(90 * second)),
            (" -1 2:3:4", IntervalUnit::DaySecond, Some(-(((26 * 60 + 3) * 60 + 4) * second))),
            ("1:2:3", IntervalUnit::MinuteSecond, None),
            ("99999999999999999999", IntervalUnit::MinuteSecond, None),
            ("x", IntervalUnit::MinuteSecond, Some(0)),
        ] {
            assert_eq!(micros(text, unit), want, "{text}");
        }
    }

    #[test]
    fn seconds_have_fractions_that_are_cut() {
        let count = Value::Decimal(Decimal::parse("-1.1234569").unwrap());
        assert_eq!(interval(&count, IntervalUnit::Second).unwrap().micros, -1_123_456);
    }
}
