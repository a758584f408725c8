//! Time zones: TIMESTAMP is stored in UTC and read in the zone of the session (manual 13.2.2, 7.1.15).

use crate::temporal::{EpochMicros, MICROS_PER_SECOND, ZERO_DATE, date_code, datetime_of, moved_datetime};
use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeZone as _};
use chrono_tz::Tz;
use std::{fmt, sync::LazyLock};

/// `+14:00` and `-13:59`, in minutes (manual 7.1.15).
const OFFSET_MINUTES: std::ops::RangeInclusive<i32> = -839..=840;
/// How far a gap of the clock can reach: some zones have skipped a day.
const GAP_MINUTES_MAX: i64 = 25 * 60;
/// The range of TIMESTAMP, as datetimes: 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 UTC (manual 13.2.2).
const TIMESTAMPS: std::ops::Range<i64> = datetime_of(date_code(1970, 1, 1), MICROS_PER_SECOND)
    ..datetime_of(date_code(2038, 1, 19), ((3 * 60 + 14) * 60 + 8) * MICROS_PER_SECOND);
/// The range of times that CONVERT_TZ changes: up to 3001-01-18 23:59:59.999999 UTC (manual 14.7).
const CONVERTED_SECONDS: std::ops::Range<i64> = 0..32_536_771_200;

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeZone {
    /// That of the machine.
    System,
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(Tz),
}

/// The machine's zone: by its name, or else with the offset that it has now.
static SYSTEM: LazyLock<TimeZone> = LazyLock::new(|| {
    let set = std::env::var("TZ").ok().map(|tz| tz.trim_start_matches(':').to_owned());
    let name = set.or_else(|| iana_time_zone::get_timezone().ok());
    match name.and_then(|name| name.parse().ok()) {
        Some(tz) => TimeZone::Named(tz),
        None => TimeZone::Fixed(chrono::Local::now().offset().fix().local_minus_utc()),
    }
});

impl TimeZone {
    pub const UTC: TimeZone = TimeZone::Fixed(0);

    /// `SYSTEM`, an offset such as `+02:00`, or a name such as `Europe/Berlin` in any case. `None` for an unknown one.
    pub fn from_name(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::System);
        }
        if name.starts_with(['+', '-']) {
            return offset(name).map(TimeZone::Fixed);
        }
        let tz = name.parse().ok().or_else(|| {
            let same = |tz: &&Tz| tz.name().eq_ignore_ascii_case(name);
            chrono_tz::TZ_VARIANTS.iter().find(same).copied()
        });
        tz.map(TimeZone::Named)
    }

    /// The zone as a number, which a plan carries in a literal. UTC is 0.
    pub fn code(self) -> i64 {
        match self {
            TimeZone::Fixed(seconds) => i64::from(seconds) << 2,
            TimeZone::Named(tz) => (tz as i64) << 2 | 1,
            TimeZone::System => 2,
        }
    }

    /// The zone of a number that [`TimeZone::code`] has made.
    pub fn from_code(code: i64) -> TimeZone {
        let number = code >> 2;
        match code & 3 {
            0 => TimeZone::Fixed(number as i32),
            1 => chrono_tz::TZ_VARIANTS.get(number as usize).map_or(TimeZone::UTC, |tz| TimeZone::Named(*tz)),
            _ => TimeZone::System,
        }
    }

    /// The zone, as its offset if that never changes.
    pub fn simplified(self) -> TimeZone {
        self.fixed_seconds().map_or(self, TimeZone::Fixed)
    }

    /// SYSTEM as what it is.
    fn resolved(self) -> TimeZone {
        if self == TimeZone::System { *SYSTEM } else { self }
    }

    /// Seconds that the zone is always east of Greenwich; `None` for one that changes.
    pub fn fixed_seconds(self) -> Option<i32> {
        match self.resolved() {
            TimeZone::Fixed(seconds) => Some(seconds),
            TimeZone::Named(Tz::UTC | Tz::Etc__UTC | Tz::GMT | Tz::Etc__GMT) => Some(0),
            _ => None,
        }
    }

    /// The local datetime at a moment.
    pub fn local_datetime(self, at: EpochMicros) -> i64 {
        EpochMicros(at.0 + self.offset_seconds(at) * MICROS_PER_SECOND).datetime()
    }

    /// The local datetime at a datetime of UTC, as TIMESTAMP columns hold them; the zero date is so in all zones.
    pub fn from_utc(self, utc: i64) -> i64 {
        if utc == datetime_of(ZERO_DATE, 0) {
            return utc;
        }
        let seconds = match self.fixed_seconds() {
            Some(seconds) => seconds.into(),
            None => self.offset_seconds(EpochMicros::of_datetime(utc)),
        };
        moved_datetime(utc, seconds * MICROS_PER_SECOND)
    }

    fn offset_seconds(self, at: EpochMicros) -> i64 {
        match self.resolved() {
            TimeZone::Fixed(seconds) => seconds.into(),
            TimeZone::Named(tz) => {
                naive(at).map_or(0, |t| tz.offset_from_utc_datetime(&t).fix().local_minus_utc()).into()
            }
            TimeZone::System => 0,
        }
    }

    /// The datetime of UTC at a local datetime; one that comes twice is the first of them. Error: the datetime of UTC
    /// when the clock went on, for a local datetime that it left out.
    pub fn to_utc(self, local: i64) -> Result<i64, i64> {
        let tz = match self.resolved() {
            TimeZone::Named(tz) => tz,
            TimeZone::Fixed(seconds) => return Ok(moved_datetime(local, -i64::from(seconds) * MICROS_PER_SECOND)),
            TimeZone::System => return Ok(local),
        };
        let offset_at = |local: NaiveDateTime| match tz.offset_from_local_datetime(&local) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => Some(offset.fix().local_minus_utc()),
            LocalResult::None => None,
        };
        // The local time as if it were one of UTC, on the calendar's line of time.
        let line = EpochMicros::of_datetime(local);
        let Some(local_time) = naive(line) else { return Ok(local) };
        if let Some(seconds) = offset_at(local_time) {
            return Ok(moved_datetime(local, -i64::from(seconds) * MICROS_PER_SECOND));
        }
        // Clocks change at whole minutes: the first one that there is.
        let minute = line.0.div_euclid(60 * MICROS_PER_SECOND);
        let after = (1..=GAP_MINUTES_MAX).find_map(|n| {
            let micros = (minute + n) * 60 * MICROS_PER_SECOND;
            let seconds = offset_at(naive(EpochMicros(micros))?)?;
            Some(EpochMicros(micros - i64::from(seconds) * MICROS_PER_SECOND).datetime())
        });
        Err(after.unwrap_or(local))
    }
}

/// Writes the zone as `@@time_zone` shows it.
impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::System => f.write_str("SYSTEM"),
            TimeZone::Named(tz) => f.write_str(tz.name()),
            TimeZone::Fixed(seconds) => {
                let (sign, minutes) = (if *seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

/// CONVERT_TZ: a local datetime of one zone in another; what is out of range stays as it is (manual 14.7).
pub fn convert(local: i64, from: TimeZone, to: TimeZone) -> i64 {
    let utc = from.to_utc(local).unwrap_or_else(|after| after);
    match CONVERTED_SECONDS.contains(&EpochMicros::of_datetime(utc).0.div_euclid(MICROS_PER_SECOND)) {
        true => to.from_utc(utc),
        false => local,
    }
}

/// Returns true if TIMESTAMP holds the datetime of UTC.
pub fn is_timestamp(utc: i64) -> bool {
    TIMESTAMPS.contains(&utc)
}

fn naive(at: EpochMicros) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(at.0).map(|t| t.naive_utc())
}

/// `+h:mm` or `-hh:mm`, as seconds.
fn offset(text: &str) -> Option<i32> {
    let (sign, clock) = text.split_at_checked(1)?;
    let (hours, minutes) = clock.split_once(':')?;
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !(1..=2).contains(&hours.len()) || minutes.len() != 2 || !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let all = (hours * 60 + minutes) * if sign == "-" { -1 } else { 1 };
    (minutes < 60 && OFFSET_MINUTES.contains(&all)).then_some(all * 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::{Days, format_datetime, parse_datetime};

    fn at(text: &str) -> i64 {
        parse_datetime(text).unwrap()
    }

    fn zone(name: &str) -> TimeZone {
        TimeZone::from_name(name).unwrap()
    }

    #[test]
    fn names_and_offsets() {
        for (name, shown) in [
            ("system", "SYSTEM"),
            ("+2:00", "+02:00"),
            ("-13:59", "-13:59"),
            ("+14:00", "+14:00"),
            ("-00:30", "-00:30"),
            ("europe/berlin", "Europe/Berlin"),
            ("UTC", "UTC"),
        ] {
            assert_eq!(zone(name).to_string(), shown);
        }
        for wrong in ["", "+", "+1", "+14:01", "-14:00", "+1:0", "+-1:00", "+01:60", "Mars/Olympus", "02:00"] {
            assert_eq!(TimeZone::from_name(wrong), None, "{wrong}");
        }
        assert_eq!(zone("-00:30").fixed_seconds(), Some(-1800));
        assert_eq!(zone("UTC").fixed_seconds(), Some(0));
        assert_eq!(zone("Europe/Berlin").fixed_seconds(), None);
    }

    #[test]
    fn zones_are_numbers() {
        for tz in chrono_tz::TZ_VARIANTS {
            assert_eq!(TimeZone::from_code(TimeZone::Named(tz).code()), TimeZone::Named(tz));
        }
        for zone in [TimeZone::System, TimeZone::UTC, zone("-13:59"), zone("+14:00")] {
            assert_eq!(TimeZone::from_code(zone.code()), zone);
        }
        assert_eq!((TimeZone::UTC.code(), zone("UTC").simplified()), (0, TimeZone::UTC));
    }

    /// As MySQL and MariaDB answer with named zones.
    #[test]
    fn summer_time() {
        let berlin = zone("Europe/Berlin");
        assert_eq!(berlin.from_utc(at("2021-07-01 10:00:00")), at("2021-07-01 12:00:00"));
        assert_eq!(berlin.from_utc(at("2021-01-01 10:00:00.5")), at("2021-01-01 11:00:00.5"));
        assert_eq!(berlin.to_utc(at("2021-07-01 12:00:00")), Ok(at("2021-07-01 10:00:00")));
        // Twice, and never.
        assert_eq!(berlin.to_utc(at("2021-10-31 02:30:00")), Ok(at("2021-10-31 00:30:00")));
        assert_eq!(berlin.to_utc(at("2021-03-28 02:30:00")), Err(at("2021-03-28 01:00:00")));
    }

    #[test]
    fn conversions() {
        let shown = |t: &str, from: &str, to: &str| format_datetime(convert(at(t), zone(from), zone(to)), 0);
        assert_eq!(shown("2004-01-01 12:00:00", "GMT", "MET"), "2004-01-01 13:00:00");
        assert_eq!(shown("2004-01-01 12:00:00", "+00:00", "+10:00"), "2004-01-01 22:00:00");
        assert_eq!(shown("2021-03-28 02:30:00", "Europe/Berlin", "+00:00"), "2021-03-28 01:00:00");
        assert_eq!(shown("1960-01-01 00:00:00", "+00:00", "+05:00"), "1960-01-01 00:00:00");
        assert_eq!(shown("2040-01-01 00:00:00", "+00:00", "+05:00"), "2040-01-01 05:00:00");
        assert!(!is_timestamp(at("1970-01-01")) && is_timestamp(at("2038-01-19 03:14:07.999999")));
        assert!(!is_timestamp(at("2038-01-19 03:14:08")));
        assert_eq!(zone("+05:00").from_utc(0), 0);
        assert_eq!(CONVERTED_SECONDS.end, i64::from(Days::from_civil(3001, 1, 19).0) * 86_400);
    }
}
