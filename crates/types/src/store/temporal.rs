//! Text to the date or time that a column stores.

use super::{StoreFault, Unfit};
use crate::{
    temporal::{self, TIME_MAX_MICROS, datetime_parts, round_datetime},
    time_zone::{self, TimeZone},
};

/// The date code. There is no zero date: IGNORE stores NULL instead where the column can be NULL.
#[inline]
pub fn date(text: &[u8]) -> Result<i32, Unfit<i32>> {
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
    moment(text, "date").map(day).map_err(|unfit| unfit.map(day))
}

/// The datetime, rounded to `fsp` digits.
pub fn datetime(text: &[u8], fsp: u8) -> Result<i64, Unfit<i64>> {
    let round = |t: i64| round_datetime(t, fsp);
    moment(text, "datetime").map(round).map_err(|unfit| unfit.map(round))
}

/// The datetime. IGNORE stores the date in front of a text that goes on with something else.
fn moment(text: &[u8], what: &'static str) -> Result<i64, Unfit<i64>> {
    let read = std::str::from_utf8(text).ok().and_then(temporal::read_datetime);
    let read_datetime = read.and_then(|read| read.moment.datetime());
    match (read_datetime, read.is_some_and(|read| read.is_cut)) {
        (Some(t), false) => Ok(t),
        (instead, _) => Err(Unfit { fault: StoreFault::Incorrect(what), instead }),
    }
}

/// A TIMESTAMP: a datetime from 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 (manual 13.2.2).
/// In UTC: the text is local time of `zone`. One that the clocks left out becomes the moment when they went on.
pub fn timestamp(text: &[u8], fsp: u8, zone: TimeZone) -> Result<i64, Unfit<i64>> {
    to_utc(datetime(text, fsp)?, zone)
}

/// The datetime of UTC at a local one, for a TIMESTAMP.
pub fn to_utc(local: i64, zone: TimeZone) -> Result<i64, Unfit<i64>> {
    let unfit = |instead| Unfit { fault: StoreFault::Incorrect("datetime"), instead };
    let utc = zone.to_utc(local).map_err(|after| unfit(Some(after)))?;
    if time_zone::is_timestamp(utc) { Ok(utc) } else { Err(unfit(None)) }
}

/// Microseconds, rounded to `fsp` digits. IGNORE stores the time in front of a text that goes on with something else,
/// and the end of TIME's range for a time that is out of it.
pub fn time(text: &[u8], fsp: u8) -> Result<i64, Unfit<i64>> {
    let unfit = |instead| Err(Unfit { fault: StoreFault::Incorrect("time"), instead: Some(instead) });
    let Some(read) = std::str::from_utf8(text).ok().and_then(temporal::read_time) else { return unfit(0) };
    let rounded = temporal::round_fraction(read.micros, fsp);
    let in_range = rounded.clamp(-TIME_MAX_MICROS, TIME_MAX_MICROS);
    match (read.is_cut, read.is_clamped || in_range != rounded) {
        (false, false) => Ok(in_range),
        (false, true) => Err(Unfit { fault: StoreFault::BeyondTimes, instead: Some(in_range) }),
        (true, _) => unfit(in_range),
    }
}

#[cfg(test)]
#[path = "temporal_tests.rs"]
mod tests;
