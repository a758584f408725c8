//! Dates and times as counts of days and seconds.

use super::{
    read::{self, day_number},
    week::SECONDS_PER_DAY,
};
use crate::Call;
use muster_types::{Result, Value, temporal::MICROS_PER_SECOND};

/// Days since the year 0.
pub fn to_days(call: &mut Call, args: &[Value]) -> Result<Value> {
    let moment = read::whole_moment(call, &args[0]);
    Ok(moment.map_or(Value::Null, |m| Value::Int(day_number(m.year, m.month, m.day))))
}

/// Seconds since the year 0, without the fraction.
pub fn to_seconds(call: &mut Call, args: &[Value]) -> Result<Value> {
    let moment = read::whole_moment(call, &args[0]);
    Ok(moment.map_or(Value::Null, |m| {
        Value::Int(day_number(m.year, m.month, m.day) * SECONDS_PER_DAY + m.clock / MICROS_PER_SECOND)
    }))
}

/// The seconds of a TIME, without the fraction.
pub fn time_to_sec(call: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(read::time(call, &args[0]).map_or(Value::Null, |t| Value::Int(t / MICROS_PER_SECOND)))
}
