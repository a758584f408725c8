//! Dates and times with the digits of the fraction of a second cut that a column does not hold
//! (TIME_TRUNCATE_FRACTIONAL).

use super::value::{StoredType, store};
use crate::{SqlType, Value};
use std::borrow::Cow;

/// Most digits of the fraction of a second.
const MAX_FSP: u8 = 6;

/// The value for a column of dates or times with the digits cut that it does not hold, and the moment that it is of.
/// `None` for other columns, and for what is no date or time.
pub fn fraction_cut(value: &Value, column: StoredType) -> Option<(Value, Value)> {
    let finest = match column.ty {
        SqlType::Date | SqlType::DateTime { .. } => SqlType::DateTime { fsp: MAX_FSP },
        SqlType::Timestamp { .. } => SqlType::Timestamp { fsp: MAX_FSP },
        SqlType::Time { .. } => SqlType::Time { fsp: MAX_FSP },
        _ => return None,
    };
    let unit = 10i64.pow(u32::from(MAX_FSP - column.ty.fsp().min(MAX_FSP)));
    let moment = store(&microseconds_of(value), StoredType { ty: finest, ..column }).ok()?;
    let cut = match moment {
        Value::DateTime(micros) => Value::DateTime(micros.div_euclid(unit) * unit),
        // A time before zero is cut towards it.
        Value::Time(micros) => Value::Time(micros / unit * unit),
        _ => return None,
    };
    match column.ty {
        SqlType::Date => store(&cut, column).ok().map(|date| (date, cut)),
        _ => Some((cut, moment)),
    }
}

/// A text or decimal without the digits behind its last point that no date or time holds.
fn microseconds_of(value: &Value) -> Cow<'_, Value> {
    if let Value::Decimal(number) = value
        && number.scale > MAX_FSP
    {
        return Cow::Owned(Value::Decimal(number.cut(MAX_FSP)));
    }
    let Value::Text(text) = value else { return Cow::Borrowed(value) };
    let Some((whole, fraction)) = text.rsplit_once('.') else { return Cow::Borrowed(value) };
    match fraction.len() > usize::from(MAX_FSP) && fraction.bytes().all(|b| b.is_ascii_digit()) {
        true => Cow::Owned(Value::Text(format!("{whole}.{}", &fraction[..usize::from(MAX_FSP)]))),
        false => Cow::Borrowed(value),
    }
}
