//! Text to the date or time that a column stores.

use super::{StoreFault, Unfit};
use crate::{
    temporal::{
        self, DateModes, NoTime, TIME_MAX_MICROS, ZERO_DATE, datetime_of, datetime_parts, is_calendar_day,
        round_datetime, rounds_beyond_last, rounds_beyond_zero_part,
    },
    time_zone::{self, TimeZone},
};

/// The zero date at midnight.
const ZERO: i64 = datetime_of(ZERO_DATE, 0);

/// The date code. IGNORE stores the zero date for what is no date.
#[inline]
pub fn date(text: &[u8], modes: DateModes) -> Result<i32, Unfit<i32>> {
    if let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text {
        let d = [y1, y2, y3, y4, m1, m2, d1, d2].map(|b| b.wrapping_sub(b'0') as u32);
        let (year, month, day) = ((d[0] * 10 + d[1]) * 100 + d[2] * 10 + d[3], d[4] * 10 + d[5], d[6] * 10 + d[7]);
        let plain = d.iter().all(|d| *d < 10) && (1..=12).contains(&month) && day >= 1;
        if plain && (day <= 28 || day <= temporal::days_in_month(year as i32, month)) {
            return Ok(temporal::date_code(year as i32, month, day));
        }
    }
    // Half a second before midnight is the next day.
    let day = |t: i64| datetime_parts(round_datetime(t, 0)).0;
    match moment(text, "date", modes) {
        Ok(t) if rounds_beyond_zero_part(t, 0) => Err(Unfit::new(StoreFault::NoSuchDate("date"), ZERO_DATE)),
        Ok(t) if rounds_beyond_last(t, 0) => Err(Unfit::new(StoreFault::BehindLast, ZERO_DATE)),
        read => read.map(day).map_err(|unfit| unfit.map(day)),
    }
}

/// The datetime, rounded to `fsp` digits. IGNORE stores the zero date for what is no datetime.
pub fn datetime(text: &[u8], fsp: u8, modes: DateModes) -> Result<i64, Unfit<i64>> {
    let round = |t: i64| round_datetime(t, fsp);
    match moment(text, "datetime", modes) {
        Ok(t) if rounds_beyond_zero_part(t, fsp) => Err(Unfit::new(StoreFault::NoSuchDate("datetime"), ZERO)),
        Ok(t) if rounds_beyond_last(t, fsp) => Err(Unfit::new(StoreFault::BehindLast, ZERO)),
        read => read.map(round).map_err(|unfit| unfit.map(round)),
    }
}

/// The datetime. IGNORE stores the date in front of a text that goes on with something else, and the zero date for
/// anything else that is none.
fn moment(text: &[u8], what: &'static str, modes: DateModes) -> Result<i64, Unfit<i64>> {
    let incorrect = |instead| Err(Unfit::new(StoreFault::Incorrect(what), instead));
    let Some(text) = std::str::from_utf8(text).ok() else { return incorrect(ZERO) };
    let Some(read) = temporal::read_datetime(text) else {
        return match is_zero(text) {
            true => Err(Unfit::new(StoreFault::NoSuchDate(what), ZERO)),
            false => incorrect(ZERO),
        };
    };
    let read = match read.offset {
        Some(_) if modes.keep(&read.moment) => match modes.read_text(text) {
            Some(moved) => moved,
            None => return incorrect(ZERO),
        },
        _ => read,
    };
    match read.moment.datetime() {
        Some(_) if !modes.keep(&read.moment) => Err(Unfit::new(StoreFault::NoSuchDate(what), ZERO)),
        Some(t) if read.is_cut => incorrect(t),
        Some(t) => Ok(t),
        None => incorrect(ZERO),
    }
}

/// Returns true for a text of zeros that are too few for a date.
fn is_zero(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('0') && text.chars().all(|c| c == '0' || c.is_ascii_punctuation())
}

/// A TIMESTAMP: a datetime from 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 (manual 13.2.2), or the zero date.
/// In UTC: the text is local time of `zone`. One that the clocks left out becomes the moment when they went on.
pub fn timestamp(text: &[u8], fsp: u8, zone: TimeZone, modes: DateModes) -> Result<i64, Unfit<i64>> {
    match datetime(text, fsp, modes) {
        Ok(local) => to_utc(local, zone),
        // What stands in front of a text that goes on with something else is local time, too.
        Err(Unfit { fault, instead: Some(local) }) => match to_utc(local, zone) {
            Ok(utc) => Err(Unfit::new(fault, utc)),
            Err(no_timestamp) => Err(no_timestamp),
        },
        Err(unfit) => Err(unfit),
    }
}

/// The datetime of UTC at a local one, for a TIMESTAMP. IGNORE stores the zero date for one that no TIMESTAMP is.
pub fn to_utc(local: i64, zone: TimeZone) -> Result<i64, Unfit<i64>> {
    if local == ZERO {
        return Ok(ZERO);
    }
    let no_timestamp = Unfit::new(StoreFault::NoSuchDate("datetime"), ZERO);
    if !is_calendar_day(datetime_parts(local).0) {
        return Err(no_timestamp);
    }
    let utc = zone.to_utc(local).map_err(|after| Unfit::new(StoreFault::Incorrect("datetime"), after))?;
    if time_zone::is_timestamp(utc) { Ok(utc) } else { Err(no_timestamp) }
}

/// Returns true for a datetime whose day the calendar has, or whose parts are zero.
fn has_day(text: &str) -> bool {
    let modes = DateModes { no_zero_date: false, no_zero_in_date: false, ..DateModes::DEFAULT };
    temporal::read_datetime(text).is_some_and(|read| modes.keep(&read.moment))
}

/// Microseconds, rounded to `fsp` digits. IGNORE stores the time in front of a text that goes on with something else,
/// and the end of TIME's range for a time that is out of it. Of the modes only the time zone counts.
pub fn time(text: &[u8], fsp: u8, modes: DateModes) -> Result<i64, Unfit<i64>> {
    let unfit = |instead| Err(Unfit::new(StoreFault::Incorrect("time"), instead));
    let beyond = |instead| Err(Unfit::new(StoreFault::BeyondTimes, instead));
    let Ok(text) = std::str::from_utf8(text) else { return unfit(0) };
    let Some(read) = modes.read_time(text) else {
        return match temporal::no_time(text) {
            NoTime::Zero => Ok(0),
            NoTime::OutOfRange => beyond(0),
            NoTime::Other => unfit(0),
        };
    };
    if read.is_datetime() && !has_day(text) {
        return beyond(0);
    }
    let rounded = temporal::round_fraction(read.micros, fsp);
    let in_range = rounded.clamp(-TIME_MAX_MICROS, TIME_MAX_MICROS);
    match (read.is_cut, read.is_clamped || in_range != rounded) {
        (false, false) => Ok(in_range),
        (false, true) => beyond(in_range),
        (true, _) => unfit(in_range),
    }
}

#[cfg(test)]
#[path = "temporal_tests.rs"]
mod tests;
