use super::*;
use StoreFault::Incorrect;

fn unfit<N>(fault: StoreFault, instead: impl Into<Option<N>>) -> Result<N, Unfit<N>> {
    Err(Unfit { fault, instead: instead.into() })
}

#[test]
fn dates_and_times() {
    let day = temporal::date_code;
    assert_eq!(date(b"1998-09-02"), Ok(day(1998, 9, 2)));
    assert_eq!(date(b"2000-02-29"), Ok(day(2000, 2, 29)));
    assert_eq!(date(b"98/9/2"), Ok(day(1998, 9, 2)));
    for text in ["1998-02-29", "0000-00-00", "1998-13-01", "1998-04-31", "", "x", "1998-0a-01", "\u{ff}"] {
        assert_eq!(date(text.as_bytes()), unfit(Incorrect("date"), None), "{text}");
    }
    let second = temporal::MICROS_PER_SECOND;
    let at = |text: &str| temporal::parse_datetime(text).unwrap();
    assert_eq!(datetime(b"1970-01-01 00:00:01.6", 0), Ok(at("1970-01-01 00:00:02")));
    assert_eq!(datetime(b"1970-01-01 00:00:01.6", 1), Ok(at("1970-01-01 00:00:01.6")));
    assert_eq!(datetime(b"1969-12-31 23:59:59.5", 0), Ok(at("1970-01-01")));
    assert_eq!(datetime(b"1970-01-01 25:00:00", 0), unfit(Incorrect("datetime"), None));
    assert_eq!(timestamp(b"2038-01-19 03:14:07", 0, TimeZone::UTC), Ok(at("2038-01-19 03:14:07")));
    assert_eq!(timestamp(b"2038-01-19 03:14:08", 0, TimeZone::UTC), unfit(Incorrect("datetime"), None));
    assert_eq!(timestamp(b"1970-01-01 00:00:00", 0, TimeZone::UTC), unfit(Incorrect("datetime"), None));
    assert_eq!(timestamp(b"1970-01-01 02:00:10", 0, TimeZone::Fixed(7200)), Ok(at("1970-01-01 00:00:10")));
    assert_eq!(timestamp(b"1970-01-01 01:59:59", 0, TimeZone::Fixed(7200)), unfit(Incorrect("datetime"), None));
    let berlin = TimeZone::from_name("Europe/Berlin").unwrap();
    assert_eq!(
        timestamp(b"2021-03-28 02:30:00", 0, berlin),
        unfit(Incorrect("datetime"), Some(at("2021-03-28 01:00:00")))
    );
    assert_eq!(time(b"-00:00:00.5", 0), Ok(-second));
    assert_eq!(time(b"12:61:00", 0), unfit(Incorrect("time"), 0));
}
