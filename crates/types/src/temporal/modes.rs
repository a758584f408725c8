//! What a session decides of reading dates: `sql_mode` says which dates that the calendar does not have are taken for
//! one (manual 7.1.11), and the time zone where a text with an offset is moved to (manual 11.2.2).

use super::{
    DateTimeText, Moment, TimeText,
    code::{date_code, datetime_of},
    read_datetime, read_time,
};
use crate::time_zone::TimeZone;

/// The modes of `sql_mode` that decide which dates are taken for one, and the session's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateModes {
    /// NO_ZERO_DATE: `0000-00-00` is no date.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: a date whose month or day alone is zero is none.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: each month has 31 days.
    pub allows_invalid: bool,
    /// No mode of the session: the offset of a time zone in a text does not count, as in most comparisons (MySQL:
    /// `get_mysql_time_from_str`).
    pub ignores_offset: bool,
    /// The time zone of the session.
    pub zone: TimeZone,
}

/// Bits of [`DateModes::bits`] that are modes; behind them stands the time zone.
const MODE_BITS: u32 = 4;

impl DateModes {
    /// The modes of MySQL's default `sql_mode`, in UTC.
    pub const DEFAULT: DateModes = DateModes {
        no_zero_date: true,
        no_zero_in_date: true,
        allows_invalid: false,
        ignores_offset: false,
        zone: TimeZone::UTC,
    };

    /// The modes that a value of `sql_mode` has, in UTC.
    pub fn of_sql_mode(modes: &str) -> DateModes {
        let has = |wanted: &str| modes.split(',').any(|mode| mode == wanted);
        DateModes {
            no_zero_date: has("NO_ZERO_DATE"),
            no_zero_in_date: has("NO_ZERO_IN_DATE"),
            allows_invalid: has("ALLOW_INVALID_DATES"),
            ignores_offset: false,
            zone: TimeZone::UTC,
        }
    }

    /// The same modes in another time zone.
    pub fn in_zone(self, zone: TimeZone) -> DateModes {
        DateModes { zone: zone.simplified(), ..self }
    }

    /// The modes as a number, which a plan carries as a literal.
    pub fn bits(self) -> i64 {
        let modes = [self.no_zero_date, self.no_zero_in_date, self.allows_invalid, self.ignores_offset];
        let modes = modes.into_iter().rev().fold(0, |bits, mode| bits << 1 | i64::from(mode));
        modes | self.zone.code() << MODE_BITS
    }

    /// The modes of a number that [`DateModes::bits`] has made.
    pub fn from_bits(bits: i64) -> DateModes {
        DateModes {
            no_zero_date: bits & 1 != 0,
            no_zero_in_date: bits & 2 != 0,
            allows_invalid: bits & 4 != 0,
            ignores_offset: bits & 8 != 0,
            zone: TimeZone::from_code(bits >> MODE_BITS),
        }
    }

    /// Reads a text as [`read_datetime`] does; a moment with an offset is moved into the session's time zone. `None`
    /// also for a moment that the modes do not read, and for one that has no place in the zone.
    pub fn read_text(self, text: &str) -> Option<DateTimeText> {
        let read = read_datetime(text).filter(|read| self.read(&read.moment))?;
        self.moved(read)
    }

    /// Reads a text as [`read_time`] does; of a datetime with an offset it is the time of day in the session's time
    /// zone.
    pub fn read_time(self, text: &str) -> Option<TimeText> {
        let read = read_time(text)?;
        match read.datetime {
            Some(datetime) if datetime.offset.is_some() => {
                let datetime = self.moved(datetime)?;
                Some(TimeText { micros: datetime.moment.clock, datetime: Some(datetime), ..read })
            }
            _ => Some(read),
        }
    }

    /// The moment that was read, moved into the session's time zone.
    fn moved(self, read: DateTimeText) -> Option<DateTimeText> {
        let Some(seconds) = read.offset.filter(|_| !self.ignores_offset) else {
            return Some(DateTimeText { offset: None, ..read });
        };
        if !read.moment.is_calendar_day() {
            return None;
        }
        let utc = TimeZone::Fixed(seconds).to_utc(read.moment.datetime()?).ok()?;
        let local = self.zone.from_utc(utc);
        let is_in_calendar = (0..datetime_of(date_code(10_000, 0, 0), 0)).contains(&local);
        is_in_calendar.then(|| DateTimeText { moment: Moment::of_datetime(local), offset: None, ..read })
    }

    /// Returns true if a function that takes parts of dates reads a text or number that is this moment.
    pub fn read(self, moment: &Moment) -> bool {
        (!self.no_zero_date || !moment.is_zero()) && (self.allows_invalid || moment.is_within_month())
    }

    /// Returns true if the moment becomes a value of type DATE or DATETIME: a column's, a cast's, a literal's.
    pub fn keep(self, moment: &Moment) -> bool {
        self.read(moment) && !(self.no_zero_in_date && moment.has_zero_part() && !moment.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::read_datetime;

    #[test]
    fn each_mode_refuses_its_dates() {
        let none = DateModes::of_sql_mode("");
        let cases = [
            ("0000-00-00", [true, true], [false, false], [true, true]),
            ("2001-00-10", [true, true], [true, true], [true, false]),
            ("0000-00-00 00:00:01", [true, true], [true, true], [true, false]),
            ("2001-02-31", [false, false], [false, false], [false, false]),
            ("2001-02-28", [true, true], [true, true], [true, true]),
        ];
        for (text, without, no_zero, no_zero_in) in cases {
            let moment = read_datetime(text).unwrap().moment;
            let asked = |modes: &str| {
                let modes = DateModes::of_sql_mode(modes);
                [modes.read(&moment), modes.keep(&moment)]
            };
            assert_eq!([none.read(&moment), none.keep(&moment)], without, "{text}");
            assert_eq!(asked("NO_ZERO_DATE"), no_zero, "{text}");
            assert_eq!(asked("NO_ZERO_IN_DATE"), no_zero_in, "{text}");
            assert_eq!(asked("ALLOW_INVALID_DATES"), [true, true], "{text}");
        }
        for bits in 0..16 {
            let modes = DateModes::from_bits(bits);
            assert_eq!(modes.bits(), bits);
            let berlin = modes.in_zone(TimeZone::from_name("Europe/Berlin").unwrap());
            assert_eq!(DateModes::from_bits(berlin.bits()), berlin);
        }
    }

    #[test]
    fn offsets_are_moved_into_the_zone() {
        let in_zone = |name: &str| DateModes::DEFAULT.in_zone(TimeZone::from_name(name).unwrap());
        let read = |text: &str, zone: &str| {
            let read = in_zone(zone).read_text(text)?;
            Some(crate::temporal::format_datetime(read.moment.datetime()?, 1))
        };
        for (text, zone, want) in [
            ("2020-01-01 10:10:10+05:30", "+00:00", "2020-01-01 04:40:10.0"),
            ("2020-01-01 10:10:10.5-14:00", "+00:00", "2020-01-02 00:10:10.5"),
            ("2020-07-01T10:10:10+00:00", "Europe/Berlin", "2020-07-01 12:10:10.0"),
            ("2020-01-01 10:10:10", "Europe/Berlin", "2020-01-01 10:10:10.0"),
        ] {
            assert_eq!(read(text, zone).as_deref(), Some(want), "{text}");
        }
        for text in ["0000-01-01 00:00:00+14:00", "9999-12-31 23:59:59-14:00", "2020-00-01 10:10:10+05:30"] {
            assert_eq!(read(text, "+00:00"), None, "{text}");
        }
        let time = in_zone("+00:00").read_time("2020-01-01 10:10:10+05:30").unwrap();
        assert_eq!(crate::temporal::format_time(time.micros, 0), "04:40:10");
    }
}
