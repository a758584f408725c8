//! In which type two values are compared (manual 14.3 "Type Conversion in Expression Evaluation").

use super::{Item, decimal_digits, numeric_type};
use muster_algebra::Expr;
use muster_types::{
    BytesKind, Decimal, ErrorCode, IntWidth, Result, SqlError, SqlType, Value, cast,
    temporal::{self, DateModes, FSP_MAX, TIME_MAX_MICROS, datetime_of, datetime_parts},
};

/// The common type of two that are not text both; each side is converted to it. Text next to a date becomes a date,
/// next to a number both become doubles.
pub(crate) fn comparison_type(l: SqlType, r: SqlType) -> SqlType {
    use SqlType::*;
    match (l, r) {
        (a, b) if a == b => a,
        (Null, other) | (other, Null) => other,
        (Bytes { length: a, .. }, Bytes { length: b, .. }) => Bytes { kind: BytesKind::VarBinary, length: a.max(b) },
        (Bytes { length: a, .. }, Text { length: b, .. }) | (Text { length: b, .. }, Bytes { length: a, .. }) => {
            Bytes { kind: BytesKind::VarBinary, length: a.max(b.saturating_mul(4)) }
        }
        (a, b) if a.is_temporal() && b.is_temporal() => temporal_pair(a, b),
        (t, Text { .. } | Bytes { .. }) | (Text { .. } | Bytes { .. }, t) if t.is_temporal() => match t {
            // A text may have a time of day, which the date must not lose.
            Date => DateTime { fsp: 6 },
            Time { .. } => Time { fsp: 6 },
            _ => DateTime { fsp: 6 },
        },
        (a, b) => numeric_pair(numeric_type(a), numeric_type(b)),
    }
}

fn temporal_pair(a: SqlType, b: SqlType) -> SqlType {
    let fsp = a.fsp().max(b.fsp());
    match (a, b) {
        (SqlType::Time { .. }, SqlType::Time { .. }) => SqlType::Time { fsp },
        (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => SqlType::Timestamp { fsp },
        _ => SqlType::DateTime { fsp },
    }
}

fn numeric_pair(a: SqlType, b: SqlType) -> SqlType {
    use SqlType::*;
    match (a, b) {
        (Int { width: w1, unsigned: u1 }, Int { width: w2, unsigned: u2 }) => {
            let unsigned_width = if u1 { w1 } else { w2 };
            match (u1 == u2, unsigned_width) {
                (true, _) => Int { width: w1.max(w2), unsigned: u1 },
                // Room for both: the widest signed type, or decimals beyond it.
                (false, IntWidth::Big) => SqlType::decimal(20, 0),
                (false, _) => SqlType::BIGINT,
            }
        }
        (Double, _) | (_, Double) => Double,
        _ => match (decimal_digits(a), decimal_digits(b)) {
            (Some((p1, s1)), Some((p2, s2))) => SqlType::compared_decimal((p1 as u8, s1 as u8), (p2 as u8, s2 as u8)),
            _ => Double,
        },
    }
}

/// The literal as a value of type `to` with exactly the same meaning; `None` when there is none, so that the other side
/// has to be converted. Error 1525 for text that is no date next to a date.
pub(crate) fn exact_literal(value: &Value, to: SqlType, modes: DateModes) -> Result<Option<Value>> {
    Ok(match to {
        SqlType::Int { width, unsigned } => exact_integer(value).filter(|i| in_range(*i, width, unsigned)).map(|i| {
            match (u64::try_from(i), i64::try_from(i)) {
                (Ok(u), _) if unsigned => Value::UInt(u),
                (_, Ok(i)) => Value::Int(i),
                (Ok(u), _) => Value::UInt(u),
                _ => Value::Null,
            }
        }),
        SqlType::Bool => match exact_integer(value) {
            Some(i @ 0..=1) => Some(Value::Bool(i == 1)),
            _ => None,
        },
        SqlType::Decimal { precision, scale } => exact_decimal(value, precision, scale).map(Value::Decimal),
        SqlType::Date => match datetime(value, "DATE", modes)? {
            Some(t) if datetime_parts(t).1 == 0 => Some(Value::Date(datetime_parts(t).0)),
            _ => None,
        },
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => match datetime(value, "DATETIME", modes)? {
            Some(t) if t % 10i64.pow(6 - fsp.min(6) as u32) == 0 => Some(Value::DateTime(t)),
            _ => None,
        },
        SqlType::Bytes { .. } => match value {
            Value::Bytes(_) => Some(value.clone()),
            Value::Text(text) => Some(Value::Bytes(text.clone().into_bytes())),
            _ => None,
        },
        _ => None,
    })
}

/// What a column of dates or times would store for a constant that it is compared with.
pub(crate) struct StoredConstant {
    /// `None` for what it would not store.
    pub value: Option<Value>,
    /// Warning 1292: nothing is stored, or less than the constant has.
    pub warns: bool,
    /// It is a note: a date has lost its time of day, or a time its date.
    pub is_note: bool,
}

/// The value that a column of dates (`value` is a number) or of times would store. Dates that the calendar does not
/// have are stored here, and the zero date (MySQL: `convert_constant_item`).
pub(crate) fn stored_constant(value: &Value, ty: SqlType, modes: DateModes) -> StoredConstant {
    let modes = DateModes { no_zero_date: false, allows_invalid: true, ..modes };
    match ty {
        SqlType::Time { fsp } => stored_time(value, fsp, modes),
        _ => stored_date(value, ty, modes),
    }
}

const REFUSED: StoredConstant = StoredConstant { value: None, warns: true, is_note: false };

fn stored_date(value: &Value, ty: SqlType, modes: DateModes) -> StoredConstant {
    let Some(of) = cast::moment(value, modes).filter(|of| modes.keep(&of.moment)) else { return REFUSED };
    let has_fraction = match value {
        Value::Decimal(d) => d.rescale(0).is_none_or(|whole| whole != *d),
        Value::Double(x) => x.fract() != 0.0,
        _ => false,
    };
    match (ty, of.moment.date(), of.moment.datetime()) {
        (SqlType::Date, Some(date), _) => {
            let warns = of.moment.clock != 0 || has_fraction;
            StoredConstant { value: Some(Value::Date(date)), warns, is_note: !has_fraction }
        }
        (SqlType::Timestamp { .. }, ..) if has_fraction && !of.has_clock => REFUSED,
        (SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }, _, Some(t)) => {
            let value = Some(Value::DateTime(temporal::round_datetime(t, fsp)));
            StoredConstant { value, warns: has_fraction && !of.has_clock, is_note: false }
        }
        _ => REFUSED,
    }
}

fn stored_time(value: &Value, fsp: u8, modes: DateModes) -> StoredConstant {
    let stored = |t: i64, warns: bool| match temporal::round_fraction(t, fsp) {
        t if t.abs() <= TIME_MAX_MICROS => StoredConstant { value: Some(Value::Time(t)), warns, is_note: true },
        _ => REFUSED,
    };
    let text = match value {
        Value::Text(text) => text,
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return REFUSED,
        },
        Value::Time(t) => return stored(*t, false),
        Value::Date(_) => return stored(0, false),
        Value::DateTime(t) => return stored(datetime_parts(*t).1, false),
        Value::UInt(number) if i64::try_from(*number).is_err() => return REFUSED,
        number => {
            let is_datetime = cast::to_double(number).0.abs() >= DATETIME_NUMBER_MIN;
            return match cast::cast(number, SqlType::Time { fsp: FSP_MAX }) {
                (Value::Time(t), warnings) if warnings.is_empty() => stored(t, is_datetime),
                _ => REFUSED,
            };
        }
    };
    match modes.read_time(text) {
        None if text.is_empty() => StoredConstant { value: None, warns: false, is_note: false },
        Some(read) if !read.is_cut && !read.is_clamped => stored(read.micros, read.is_datetime()),
        _ => REFUSED,
    }
}

/// The zero date as a value of a type of dates; `None` for other types.
pub(crate) fn zero_moment(ty: SqlType) -> Option<Value> {
    match ty {
        SqlType::Date => Some(Value::Date(temporal::ZERO_DATE)),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
            Some(Value::DateTime(datetime_of(temporal::ZERO_DATE, 0)))
        }
        _ => None,
    }
}

/// MySQL's name of a type of dates or times in warnings.
pub(crate) fn moment_name(ty: SqlType) -> &'static str {
    match ty {
        SqlType::Date => "date",
        SqlType::Time { .. } => "time",
        _ => "datetime",
    }
}

/// Numbers from this one on are datetimes where a TIME is wanted.
const DATETIME_NUMBER_MIN: f64 = 1e10;

fn exact_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(b) => Some(*b as i128),
        Value::Int(i) => Some(*i as i128),
        Value::UInt(u) => Some(*u as i128),
        Value::Decimal(d) => d.rescale(0).filter(|whole| whole == d)?.narrow(),
        Value::Text(text) => text.trim().parse::<i64>().ok().map(i128::from),
        _ => None,
    }
}

fn in_range(i: i128, width: IntWidth, unsigned: bool) -> bool {
    let bits = match width {
        IntWidth::Tiny => 8,
        IntWidth::Small => 16,
        IntWidth::Medium => 24,
        IntWidth::Int => 32,
        IntWidth::Big => 64,
    };
    if unsigned { (0..1i128 << bits).contains(&i) } else { (-(1i128 << (bits - 1))..1i128 << (bits - 1)).contains(&i) }
}

fn exact_decimal(value: &Value, precision: u8, scale: u8) -> Option<Decimal> {
    let d = match value {
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) => Decimal::new(exact_integer(value)?, 0),
        Value::Decimal(d) => *d,
        Value::Text(text) => Decimal::parse(text.trim())?,
        _ => return None,
    };
    d.rescale(scale).filter(|same| *same == d && same.precision() <= precision)
}

/// The datetime of a literal next to a date.
fn datetime(value: &Value, what: &str, modes: DateModes) -> Result<Option<i64>> {
    Ok(match value {
        Value::Date(d) => Some(datetime_of(*d, 0)),
        Value::DateTime(t) => Some(*t),
        Value::Text(text) => match kept_datetime(text, modes) {
            Some(t) => Some(t),
            None => return Err(wrong_value(what, text)),
        },
        _ => None,
    })
}

/// The datetime that a text begins with, under the session's modes of dates. The offset of a time zone behind it does
/// not count (MySQL: `get_mysql_time_from_str`).
fn kept_datetime(text: &str, modes: DateModes) -> Option<i64> {
    temporal::read_datetime(text).filter(|read| modes.keep(&read.moment))?.moment.datetime()
}

/// The text of a literal next to a date that goes on with something else behind its date: it counts as the date, with
/// a warning.
pub(crate) fn cut_date(value: &Value, to: SqlType, modes: DateModes) -> Option<&str> {
    match value {
        Value::Text(text) if to.is_temporal() && !matches!(to, SqlType::Time { .. }) => {
            let read = temporal::read_datetime(text)?;
            (read.is_cut && kept_datetime(text, modes).is_some()).then_some(text)
        }
        _ => None,
    }
}

fn wrong_value(what: &str, text: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongValue, format!("Incorrect {what} value: '{text}'"))
}

/// The value of a column of dates or datetimes that a text next to it stands for. `None` for a text that the column
/// does not hold exactly, or that warns.
pub fn date_of_text(text: &Value, column: SqlType, modes: DateModes) -> Option<Value> {
    let is_exact = matches!(text, Value::Text(_)) && cut_date(text, column, modes).is_none();
    exact_literal(text, column, modes).ok()?.filter(|_| is_exact)
}

/// The parameter as a value of a column of dates or datetimes that it stands next to, if it is a text.
pub(crate) fn date_parameter(item: &Item, column: SqlType) -> Option<Item> {
    let is_date = matches!(column, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
    match item.expr {
        Expr::Parameter { index, ty, .. } if is_date && ty.is_text() => {
            Some(Item::new(Expr::parameter(index, column), column))
        }
        _ => None,
    }
}

/// Returns true if the side has a value written in the statement that may take the other side's type.
pub(crate) fn adapts(item: &Item) -> bool {
    item.as_literal().is_some_and(|v| !v.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Collation;

    fn pair(l: SqlType, r: SqlType) -> String {
        let both = comparison_type(l, r);
        assert_eq!(both, comparison_type(r, l));
        both.to_string()
    }

    #[test]
    fn common_types() {
        let text = SqlType::varchar(5, Collation::DEFAULT);
        let small = SqlType::Int { width: IntWidth::Small, unsigned: true };
        for (l, r, want) in [
            (SqlType::INT, SqlType::BIGINT, "bigint"),
            (SqlType::INT, small, "bigint"),
            (SqlType::BIGINT, SqlType::BIGINT_UNSIGNED, "decimal(20,0)"),
            (SqlType::INT, SqlType::decimal(15, 2), "decimal(15,2)"),
            (SqlType::decimal(15, 2), SqlType::decimal(10, 6), "decimal(19,6)"),
            (SqlType::decimal(15, 2), SqlType::Double, "double"),
            (SqlType::Float, SqlType::Float, "float"),
            (SqlType::Float, SqlType::INT, "double"),
            (text, SqlType::INT, "double"),
            (text, SqlType::Date, "datetime(6)"),
            (SqlType::Date, SqlType::DateTime { fsp: 3 }, "datetime(3)"),
            (SqlType::Date, SqlType::INT, "bigint"),
            (SqlType::Null, SqlType::Date, "date"),
            (SqlType::Bool, SqlType::BIGINT, "bigint"),
        ] {
            assert_eq!(pair(l, r), want);
        }
    }

    #[test]
    fn literals_adapt_only_exactly() {
        let dec = |s: &str| Value::Decimal(Decimal::parse(s).unwrap());
        let text = |s: &str| Value::Text(s.into());
        let day = temporal::parse_date("1995-03-15").unwrap();
        for (value, to, want) in [
            (Value::Int(5), SqlType::INT, Some(Value::Int(5))),
            (Value::Int(3_000_000_000), SqlType::INT, None),
            (Value::Int(-1), SqlType::BIGINT_UNSIGNED, None),
            (dec("5.00"), SqlType::INT, Some(Value::Int(5))),
            (dec("5.50"), SqlType::INT, None),
            (text("7"), SqlType::INT, Some(Value::Int(7))),
            (text("7x"), SqlType::INT, None),
            (Value::Int(24), SqlType::decimal(15, 2), Some(dec("24.00"))),
            (dec("0.05"), SqlType::decimal(15, 2), Some(dec("0.05"))),
            (dec("0.055"), SqlType::decimal(15, 2), None),
            (Value::Int(100), SqlType::decimal(3, 2), None),
            (text("1995-03-15"), SqlType::Date, Some(Value::Date(day))),
            (text("1995-03-15 00:00:01"), SqlType::Date, None),
            (Value::DateTime(datetime_of(day, 0)), SqlType::Date, Some(Value::Date(day))),
            (Value::Int(1), SqlType::Bool, Some(Value::Bool(true))),
            (Value::Int(2), SqlType::Bool, None),
        ] {
            assert_eq!(exact_literal(&value, to, DateModes::DEFAULT), Ok(want), "{value} {to}");
        }
        let refused = |text: Value| exact_literal(&text, SqlType::Date, DateModes::DEFAULT).unwrap_err();
        assert_eq!(refused(text("abc")).code.number(), 1525);
    }
}
