//! What `sql_mode` says about dates that the calendar does not have (manual 7.1.11).

use super::Moment;

/// The modes of `sql_mode` that decide which dates are taken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateModes {
    /// NO_ZERO_DATE: `0000-00-00` is no date.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: a date whose month or day alone is zero is none.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: each month has 31 days.
    pub allows_invalid: bool,
}

impl DateModes {
    /// The modes of MySQL's default `sql_mode`.
    pub const DEFAULT: DateModes = DateModes { no_zero_date: true, no_zero_in_date: true, allows_invalid: false };

    /// The modes that a value of `sql_mode` has.
    pub fn of_sql_mode(modes: &str) -> DateModes {
        let has = |wanted: &str| modes.split(',').any(|mode| mode == wanted);
        DateModes {
            no_zero_date: has("NO_ZERO_DATE"),
            no_zero_in_date: has("NO_ZERO_IN_DATE"),
            allows_invalid: has("ALLOW_INVALID_DATES"),
        }
    }

    /// The modes as a number, which a plan carries as a literal.
    pub fn bits(self) -> i64 {
        i64::from(self.no_zero_date) | i64::from(self.no_zero_in_date) << 1 | i64::from(self.allows_invalid) << 2
    }

    /// The modes of a number that [`DateModes::bits`] has made.
    pub fn from_bits(bits: i64) -> DateModes {
        DateModes { no_zero_date: bits & 1 != 0, no_zero_in_date: bits & 2 != 0, allows_invalid: bits & 4 != 0 }
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
        for bits in 0..8 {
            assert_eq!(DateModes::from_bits(bits).bits(), bits);
        }
    }
}
