//! A floating-point number as the text that a column of so many characters holds (MySQL: `my_gcvt`).

use crate::{Value, cast::to_double, value::rounded_float};

/// Most characters of a double as a text: what does not fit is written with an exponent, or with fewer digits (MySQL:
/// `String::set_real`).
const DOUBLE_CHARACTERS: usize = 22;
const FLOAT_CHARACTERS: usize = 12;
/// Digits in front of the point from which on a number is written with an exponent, though there is room without one.
const PLAIN_DIGITS_MAX: i32 = 15;

/// A number as significant digits without zeros at the end, and the position of the point among them.
struct Digits {
    digits: String,
    point: i32,
}

impl Digits {
    /// The shortest digits that read back the same, at most `most` of them: then rounded.
    fn of(x: f64, most: usize) -> Digits {
        let shortest = format!("{x:e}");
        let count = shortest.bytes().take_while(|b| *b != b'e').filter(u8::is_ascii_digit).count();
        let written = if count > most.max(1) { format!("{x:.*e}", most.max(1) - 1) } else { shortest };
        let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let digits = digits.trim_end_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        Digits { digits: digits.to_owned(), point: exponent.parse().unwrap_or(0) + 1 }
    }

    /// The digits of the number rounded to so many behind the point; none of a number that rounds to zero.
    fn behind_point(x: f64, count: usize) -> Digits {
        let written = format!("{x:.count$}");
        let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let point = whole.len() as i32 - (all.len() - digits.len()) as i32;
        Digits { digits: digits.trim_end_matches('0').to_owned(), point }
    }

    fn len(&self) -> i32 {
        self.digits.len() as i32
    }
}

/// A floating-point number as a text where no column limits it.
pub fn usual_text(value: &Value) -> String {
    match value {
        Value::Float(x) => fitted_double(rounded_float(*x), FLOAT_CHARACTERS).0,
        other => fitted_double(to_double(other).0, DOUBLE_CHARACTERS).0,
    }
}

/// The number in at most `width` characters, with as many digits as there is room for; false if there is none for
/// those in front of the point.
pub fn fitted_double(x: f64, width: usize) -> (String, bool) {
    let magnitude = x.abs();
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let width = i32::try_from(width.min(1000)).unwrap_or(1000) - sign.len() as i32;
    let digits = Digits::of(magnitude, width.max(1) as usize);
    let (len, point) = (digits.len(), digits.point);
    let exponent_digits = 1 + i32::from(point >= 101 || point <= -99) + i32::from(point >= 11 || point <= -9);
    let plain_length = match point {
        ..=0 => len - point + 2,
        _ if point < len => len + 1,
        _ => point,
    };
    let has_room = plain_length <= width;
    // No digit would be left without an exponent.
    let needs_exponent = point <= 0 && width <= 2 - point && width >= 3 + exponent_digits;
    let is_plain_better = (-2..=width).contains(&point) && !needs_exponent;
    let is_plain_usual = point > -PLAIN_DIGITS_MAX && (point <= PLAIN_DIGITS_MAX || len > point);
    let (text, fits) = match (has_room || is_plain_better) && (!has_room || is_plain_usual) {
        true => plain(magnitude, digits, width),
        false => with_exponent(magnitude, digits, width, exponent_digits),
    };
    // Zero has its sign, but not what is left of another number.
    let sign = if text == "0" && x != 0.0 { "" } else { sign };
    (format!("{sign}{text}"), fits)
}

/// `123.45`.
fn plain(x: f64, mut digits: Digits, width: i32) -> (String, bool) {
    let point = digits.point;
    let mut room = width - i32::from(point < digits.len()) - if point <= 0 { 1 - point } else { 0 };
    let mut fits = true;
    if room < digits.len() {
        fits = room >= point;
        room = room.max(point);
        digits = Digits::behind_point(x, usize::try_from(room - point).unwrap_or(0));
    }
    let (text, point) = (digits.digits, digits.point);
    let text = match point {
        _ if text.is_empty() => "0".to_owned(),
        ..=0 => format!("0.{}{text}", "0".repeat(point.unsigned_abs() as usize)),
        _ if (point as usize) < text.len() => format!("{}.{}", &text[..point as usize], &text[point as usize..]),
        _ => format!("{text}{}", "0".repeat(point as usize - text.len())),
    };
    (text, fits)
}

/// `1.2345e2`.
fn with_exponent(x: f64, mut digits: Digits, width: i32, exponent_digits: i32) -> (String, bool) {
    let is_negative = digits.point - 1 < 0;
    let room = width - i32::from(is_negative) - 1 - exponent_digits - i32::from(digits.len() > 1);
    let fits = room > 0;
    if room < digits.len() {
        digits = Digits::of(x, room.max(1) as usize);
    }
    let (first, rest) = digits.digits.split_at(1);
    let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
    (format!("{first}{rest}e{}", digits.point - 1), fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_mysql() {
        for (x, width, want) in [
            (2.5e10, 8, "2.5e10"),
            (3e10, 8, "3e10"),
            (1e300, 8, "1e300"),
            (123_456_789_012.5, 8, "1.235e11"),
            (1.234_567_89, 8, "1.234568"),
            (1e-7 / 3.0, 8, "3.333e-8"),
            (1.234_567_890_123_45, 12, "1.2345678901"),
            (-1.234_567_890_123_45e-5, 12, "-1.234568e-5"),
            (1000.0, 8, "1000"),
            (0.0, 1, "0"),
            (1_234_567.891, 8, "1234568"),
            (0.001_234_567_8, 8, "0.001235"),
            (999.999_999, 5, "1000"),
            (-0.5, 3, "0"),
            (0.05, 3, "0.1"),
            (99.96, 3, "100"),
            (999.9, 3, "1e3"),
            (0.0005, 4, "5e-4"),
            (0.055, 4, "0.06"),
            (0.012_345, 5, "0.012"),
            (1e16, 8, "1e16"),
            (1e8, 8, "1e8"),
            (-0.000_123_45, 8, "-1.23e-4"),
        ] {
            assert_eq!(fitted_double(x, width), (want.to_owned(), true), "{x} in {width}");
        }
        for (x, width) in [(12_345.0, 3), (1e100, 4), (1.5e-10, 5)] {
            assert!(!fitted_double(x, width).1, "{x} in {width}");
        }
    }
}
