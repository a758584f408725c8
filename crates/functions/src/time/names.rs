//! Names of days and months, and the formats of regions.

use super::{read, week::weekday};
use crate::{Call, ResultType, Typing, locale::Locale};
use muster_types::{Result, Value, temporal::Days};

/// The language that the session has.
fn locale(call: &Call) -> &'static Locale {
    Locale::by_name(&call.session_text(1)).unwrap_or_else(Locale::english)
}

/// As long as the longest name of a day in any language that is in use is: MySQL asks the session's.
pub fn returns_day(typing: &Typing) -> ResultType {
    longest(typing, |locale| &locale.days)
}

pub fn returns_month(typing: &Typing) -> ResultType {
    longest(typing, |locale| &locale.months)
}

fn longest(typing: &Typing, names: fn(&Locale) -> &Vec<&'static str>) -> ResultType {
    let locale = typing.session.last().and_then(|name| name.to_text(0));
    let locale = locale.and_then(|name| Locale::by_name(&name)).unwrap_or_else(Locale::english);
    ResultType::ConnectionText(names(locale).iter().map(|name| name.chars().count() as u64).max().unwrap_or(0))
}

pub fn day_name(call: &mut Call, args: &[Value]) -> Result<Value> {
    let day = read::whole_moment(call, &args[0]).and_then(|moment| moment.days());
    let name = |day: Days| locale(call).days[weekday(day) as usize];
    Ok(day.map_or(Value::Null, |day| Value::Text(name(day).into())))
}

/// NULL for a month that is zero.
pub fn month_name(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(moment) = read::moment(call, &args[0]) else { return Ok(Value::Null) };
    let name = locale(call).months.get((moment.month as usize).wrapping_sub(1));
    Ok(name.map_or(Value::Null, |name| Value::Text((*name).into())))
}

pub fn returns_format(_: &Typing) -> ResultType {
    ResultType::ConnectionText(17)
}

/// `GET_FORMAT(DATE | TIME | DATETIME, region)`: a format for DATE_FORMAT; NULL for an unknown region.
pub fn get_format(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (kind, region) = (call.text(args, 0).unwrap_or_default(), call.text(args, 1).unwrap_or_default());
    let regions = ["USA", "JIS", "ISO", "EUR", "INTERNAL"];
    let formats = match kind.as_str() {
        "DATE" => ["%m.%d.%Y", "%Y-%m-%d", "%Y-%m-%d", "%d.%m.%Y", "%Y%m%d"],
        "TIME" => ["%h:%i:%s %p", "%H:%i:%s", "%H:%i:%s", "%H.%i.%s", "%H%i%s"],
        _ => ["%Y-%m-%d %H.%i.%s", "%Y-%m-%d %H:%i:%s", "%Y-%m-%d %H:%i:%s", "%Y-%m-%d %H.%i.%s", "%Y%m%d%H%i%s"],
    };
    let found = regions.iter().position(|name| name.eq_ignore_ascii_case(&region));
    Ok(found.map_or(Value::Null, |i| Value::Text(formats[i].into())))
}
