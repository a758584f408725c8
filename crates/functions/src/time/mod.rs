//! Functions of dates and times.
//!
//! ```text
//!   read.rs         arguments as moments and times; numbers of days
//!   format.rs       DATE_FORMAT, TIME_FORMAT
//!   week.rs         days of weeks, numbering of weeks
//!   names.rs        DAYNAME, MONTHNAME, GET_FORMAT
//!   text.rs         STR_TO_DATE
//!   difference.rs   ADDTIME, SUBTIME, TIMEDIFF, TIMESTAMP of two arguments, TIMESTAMPDIFF
//!   make.rs         MAKEDATE, MAKETIME, SEC_TO_TIME, FROM_DAYS
//!   count.rs        TO_DAYS, TO_SECONDS, TIME_TO_SEC
//!   period.rs       PERIOD_ADD, PERIOD_DIFF
//!   epoch.rs        UNIX_TIMESTAMP, FROM_UNIXTIME, SYSDATE
//! ```

mod count;
mod difference;
mod epoch;
mod format;
mod make;
mod names;
mod period;
mod read;
mod text;
pub mod week;

use crate::{
    Function,
    SessionValue::{DateModes, MovedArguments, TimeZone, Variable},
    Takes::{AsIs, Bits, Clock, Exact, Int, Keyword, Moment, Temporal, Text},
    result,
};

/// The language of names of months and days.
const TIME_NAMES: crate::SessionValue = Variable("lc_time_names");

/// Units of TIMESTAMPDIFF.
const UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "SQL_TSI_SECOND",
    "SQL_TSI_MINUTE",
    "SQL_TSI_HOUR",
    "SQL_TSI_DAY",
    "SQL_TSI_WEEK",
    "SQL_TSI_MONTH",
    "SQL_TSI_QUARTER",
    "SQL_TSI_YEAR",
];

pub const FUNCTIONS: &[Function] = &[
    Function::new("DATE_FORMAT", &[Moment, Text], format::returns, format::date_format).asks(&[DateModes, TIME_NAMES]),
    Function::new("TIME_FORMAT", &[Temporal, Text], format::returns, format::time_format).asks(&[DateModes]),
    Function::new("DAYNAME", &[Moment], names::returns_day, names::day_name).asks(&[DateModes, TIME_NAMES]),
    Function::new("MONTHNAME", &[Moment], names::returns_month, names::month_name).asks(&[DateModes, TIME_NAMES]),
    Function::new(
        "GET_FORMAT",
        &[Keyword(&["DATE", "TIME", "DATETIME", "TIMESTAMP"]), Text],
        names::returns_format,
        names::get_format,
    ),
    Function::new("STR_TO_DATE", &[Text, Text], text::returns, text::str_to_date).asks(&[DateModes]),
    Function::new("ADDTIME", &[Temporal, Clock], difference::returns_sum, difference::add_time)
        .asks(&[DateModes, MovedArguments]),
    Function::new("SUBTIME", &[Temporal, Clock], difference::returns_sum, difference::sub_time)
        .asks(&[DateModes, MovedArguments]),
    Function::new("TIMEDIFF", &[Temporal, Temporal], difference::returns_difference, difference::time_diff)
        .asks(&[DateModes, MovedArguments]),
    Function::new("TIMESTAMP", &[Moment, Clock], difference::returns_timestamp, difference::timestamp)
        .optional(1)
        .asks(&[DateModes, MovedArguments]),
    Function::new("TIMESTAMPDIFF", &[Keyword(UNITS), Moment, Moment], result::bigint, difference::timestamp_diff)
        .takes_null()
        .asks(&[DateModes]),
    Function::new("MAKEDATE", &[Int, Int], result::date, make::make_date),
    Function::new("MAKETIME", &[Int, Int, Exact], make::returns_time_of_third, make::make_time),
    Function::new("SEC_TO_TIME", &[Exact], make::returns_time, make::sec_to_time),
    Function::new("FROM_DAYS", &[Int], result::date, make::from_days),
    Function::new("TO_DAYS", &[Moment], result::bigint, count::to_days).asks(&[DateModes]),
    Function::new("TO_SECONDS", &[Moment], result::bigint, count::to_seconds).asks(&[DateModes]),
    Function::new("TIME_TO_SEC", &[Temporal], result::bigint, count::time_to_sec).asks(&[DateModes]),
    Function::new("PERIOD_ADD", &[Bits, Bits], result::bigint, period::period_add).null_of_null(),
    Function::new("PERIOD_DIFF", &[Bits, Bits], result::bigint, period::period_diff).null_of_null(),
    Function::new("UNIX_TIMESTAMP", &[Moment], epoch::returns_seconds, epoch::unix_timestamp)
        .null_of_null()
        .asks(&[DateModes, TimeZone]),
    Function::new("FROM_UNIXTIME", &[Exact, Text], epoch::returns_datetime, epoch::from_unixtime)
        .optional(1)
        .asks(&[TimeZone, TIME_NAMES]),
    Function::new("SYSDATE", &[AsIs], epoch::returns_sysdate, epoch::sysdate)
        .optional(1)
        .volatile()
        .never_null()
        .asks(&[TimeZone]),
];
