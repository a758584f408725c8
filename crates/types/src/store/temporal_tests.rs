use super::*;
use StoreFault::{BeyondTimes, Incorrect, NoSuchDate};

fn unfit<N>(fault: StoreFault, instead: impl Into<Option<N>>) -> Result<N, Unfit<N>> {
    Err(Unfit { fault, instead: instead.into() })
}

#[test]
fn dates_and_times() {
    let day = temporal::date_code;
    let date = |text: &[u8]| date(text, DateModes::DEFAULT);
    assert_eq!(date(b"1998-09-02"), Ok(day(1998, 9, 2)));
    assert_eq!(date(b"2000-02-29"), Ok(day(2000, 2, 29)));
    assert_eq!(date(b"98/9/2"), Ok(day(1998, 9, 2)));
    assert_eq!(date(b"1998-02-28 23:59:59.5"), Ok(day(1998, 3, 1)));
    for text in ["1998-02-29", "0000-00-00", "1998-04-31", "1998-04-00", "1998-00-01", "000000"] {
        assert_eq!(date(text.as_bytes()), unfit(NoSuchDate("date"), ZERO_DATE), "{text}");
    }
    for text in ["1998-13-01", "1998-01-32", "", "x", "1998-0a-01", "\u{ff}"] {
        assert_eq!(date(text.as_bytes()), unfit(Incorrect("date"), ZERO_DATE), "{text}");
    }
    assert_eq!(date(b"1998-09-02x"), unfit(Incorrect("date"), day(1998, 9, 2)));
    let second = temporal::MICROS_PER_SECOND;
    let at = |text: &str| temporal::parse_datetime(text).unwrap();
    let time = |text: &[u8], fsp| time(text, fsp, DateModes::DEFAULT);
    let datetime = |text: &[u8], fsp| datetime(text, fsp, DateModes::DEFAULT);
    let timestamp = |text: &[u8], fsp, zone| timestamp(text, fsp, zone, DateModes::DEFAULT);
    assert_eq!(datetime(b"1970-01-01 00:00:01.6", 0), Ok(at("1970-01-01 00:00:02")));
    assert_eq!(datetime(b"1970-01-01 00:00:01.6", 1), Ok(at("1970-01-01 00:00:01.6")));
    assert_eq!(datetime(b"1969-12-31 23:59:59.5", 0), Ok(at("1970-01-01")));
    assert_eq!(datetime(b"1970-01-01 25:00:00", 0), unfit(Incorrect("datetime"), ZERO));
    assert_eq!(timestamp(b"2038-01-19 03:14:07", 0, TimeZone::UTC), Ok(at("2038-01-19 03:14:07")));
    assert_eq!(timestamp(b"2038-01-19 03:14:08", 0, TimeZone::UTC), unfit(NoSuchDate("datetime"), ZERO));
    assert_eq!(timestamp(b"1970-01-01 00:00:00", 0, TimeZone::UTC), unfit(NoSuchDate("datetime"), ZERO));
    assert_eq!(timestamp(b"1970-01-01 02:00:10", 0, TimeZone::Fixed(7200)), Ok(at("1970-01-01 00:00:10")));
    assert_eq!(timestamp(b"1970-01-01 01:59:59", 0, TimeZone::Fixed(7200)), unfit(NoSuchDate("datetime"), ZERO));
    let berlin = TimeZone::from_name("Europe/Berlin").unwrap();
    assert_eq!(
        timestamp(b"2021-03-28 02:30:00", 0, berlin),
        unfit(Incorrect("datetime"), Some(at("2021-03-28 01:00:00")))
    );
    assert_eq!(time(b"-00:00:00.5", 0), Ok(-second));
    assert_eq!(time(b"12:61:00", 0), unfit(BeyondTimes, 0));
    assert_eq!(time(b"2001-02-30 10:11:12", 0), unfit(BeyondTimes, 0));
    assert_eq!(time(b"+12:11:00", 0), unfit(Incorrect("time"), 0));
    for text in ["", "-", "1e3"] {
        assert_eq!(time(text.as_bytes(), 0), Ok(0), "{text}");
    }
}

#[test]
fn dates_that_the_calendar_does_not_have() {
    let day = temporal::date_code;
    let none = DateModes::of_sql_mode("");
    assert_eq!(date(b"0000-00-00", none), Ok(ZERO_DATE));
    assert_eq!(date(b"1998-00-01", none), Ok(day(1998, 0, 1)));
    assert_eq!(date(b"1998-04-31", none), unfit(NoSuchDate("date"), ZERO_DATE));
    assert_eq!(date(b"1998-04-31", DateModes::of_sql_mode("ALLOW_INVALID_DATES")), Ok(day(1998, 4, 31)));
    assert_eq!(date(b"1998-00-01", DateModes::of_sql_mode("NO_ZERO_DATE")), Ok(day(1998, 0, 1)));
    assert_eq!(date(b"0000-00-00", DateModes::of_sql_mode("NO_ZERO_IN_DATE")), Ok(ZERO_DATE));
    // The zero date is so in all time zones; no other date with a part that is zero is a TIMESTAMP.
    for zone in [TimeZone::UTC, TimeZone::Fixed(7200)] {
        assert_eq!(timestamp(b"0000-00-00 00:00:00", 0, zone, none), Ok(ZERO));
        for text in ["0000-00-00 00:00:01", "2001-00-10", "2001-02-31"] {
            let modes = DateModes { allows_invalid: true, ..none };
            assert_eq!(timestamp(text.as_bytes(), 0, zone, modes), unfit(NoSuchDate("datetime"), ZERO), "{text}");
        }
    }
}
