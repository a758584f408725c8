//! Formats of dates: what DATE_FORMAT writes is what the model writes, and STR_TO_DATE reads it.

use super::{
    Choices, TEXT_BYTES_MAX, TriedCall,
    calendar::{ModelMoment, days_of_month},
    call, two_texts,
};
use muster_types::{
    ErrorCode, SqlType, Value,
    temporal::{DateModes, MICROS_PER_SECOND, date_code, datetime_of},
};

const SPECIFIERS: &[char] = &[
    'a', 'b', 'c', 'D', 'd', 'e', 'f', 'H', 'h', 'I', 'i', 'j', 'k', 'l', 'M', 'm', 'p', 'r', 'S', 's', 'T', 'U', 'u',
    'V', 'v', 'W', 'w', 'X', 'x', 'Y', 'y', '%', 'q', 'Z', 'ä',
];
const LITERALS: &[&str] = &["", "-", ":", " ", "/", "T", "ä", "\u{1F600}", "."];
/// Characters between fields that are read.
const SEPARATORS: &[&str] = &["-", "/", ":", ".", " ", ","];
/// Specifiers of a date and of a time, each complete, with those of the fraction of a second.
const DATES: &[&[&str]] =
    &[&["%Y", "%m", "%d"], &["%Y", "%M", "%e"], &["%Y", "%b", "%D"], &["%Y", "%j"], &["%Y", "%c", "%d"]];
const TIMES: &[&[&str]] =
    &[&["%H", "%i", "%s"], &["%k", "%i", "%S"], &["%T"], &["%r"], &["%h", "%p", "%i", "%s"], &["%l", "%p", "%i", "%s"]];
const REGIONS: &[&str] = &["USA", "JIS", "ISO", "EUR", "INTERNAL"];

/// Reads a text by a format, and writes what it is, by the same format; then formats that the bytes decide on, of a
/// moment that they decide on.
pub fn date_formats(bytes: &[u8]) {
    any_texts(bytes);
    let mut choices = Choices::new(bytes);
    let moment = moment(&mut choices);
    as_the_model_writes(&moment, &mut choices);
    read_again(&moment, &mut choices);
    of_regions(&moment, &mut choices);
}

fn modes() -> Value {
    Value::Int(DateModes::DEFAULT.bits())
}

fn date_format(moment: &Value, format: &str) -> Option<Value> {
    call("DATE_FORMAT", &[modes(), Value::Text("en_US".into())], &[moment.clone(), Value::Text(format.into())])
}

/// The value as a datetime, and the warnings.
fn str_to_date(text: &str, format: &str) -> (Value, usize) {
    let args = [Value::Text(text.into()), Value::Text(format.into())];
    let ty = SqlType::DateTime { fsp: 6 };
    let read = TriedCall { name: "STR_TO_DATE", ty, session: &[modes()], args: &args }.run();
    let (value, warnings) = read.expect("STR_TO_DATE has no errors");
    let is_refused = warnings.iter().any(|w| w.code == ErrorCode::WrongValueForType);
    assert_eq!(value.is_null(), is_refused, "'{text}' by '{format}' is {value:?} with {warnings:?}");
    (value, warnings.len())
}

/// Two texts, of which one is the format of the other.
fn any_texts(bytes: &[u8]) {
    let (format, text) = two_texts(bytes);
    let (read, _) = str_to_date(&text, &format);
    if let Value::DateTime(_) = read {
        // A datetime is one in the format that has all its parts.
        let whole = "%Y-%m-%d %H:%i:%s.%f";
        let Some(Value::Text(written)) = date_format(&read, whole) else { panic!("{read:?} is not written") };
        assert_eq!(str_to_date(&written, whole), (read.clone(), 0), "{written}");
    }
    for moment in [read, Value::Text(text)] {
        if let Some(Value::Text(written)) = date_format(&moment, &format) {
            assert!(written.len() <= TEXT_BYTES_MAX);
        }
        call("TIME_FORMAT", &[], &[moment, Value::Text(format.clone())]);
    }
}

fn moment(choices: &mut Choices) -> ModelMoment {
    let number = choices.number();
    let year = match choices.below(4) {
        0 => 1 + number % 9999,
        1 => 1970 + number % 130,
        2 => [1, 2, 4, 100, 400, 1900, 2000, 9999][number as usize % 8],
        _ => 1582 + number % 500,
    };
    // Half of all are near the ends of a year, where weeks are of two years.
    let month = if choices.below(2) == 0 { [1, 12][choices.below(2)] } else { 1 + choices.below(12) as u32 };
    let days = days_of_month(year, month);
    let day = if choices.below(2) == 0 {
        [1, 2, 3, 4, days - 3, days - 2, days - 1, days][choices.below(8)]
    } else {
        1 + number / 7 % days
    };
    let (hour, minute, second) = (choices.below(24) as u32, choices.below(60) as u32, choices.below(60) as u32);
    ModelMoment { year, month, day, hour, minute, second, micros: choices.number() % 1_000_000 }
}

fn value_of(moment: &ModelMoment) -> Value {
    let ModelMoment { year, month, day, hour, minute, second, micros } = *moment;
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    let clock = seconds * MICROS_PER_SECOND + i64::from(micros);
    Value::DateTime(datetime_of(date_code(year as i32, month, day), clock))
}

fn as_the_model_writes(moment: &ModelMoment, choices: &mut Choices) {
    let mut format = String::new();
    for _ in 0..choices.below(8) {
        format.extend(['%', choices.one_of(SPECIFIERS)]);
        format.push_str(choices.one_of(LITERALS));
    }
    if choices.below(16) == 0 {
        format.push('%');
    }
    let written = match date_format(&value_of(moment), &format) {
        Some(Value::Text(written)) => Some(written),
        _ => None,
    };
    assert_eq!(written, moment.formatted(&format), "{moment:?} by '{format}'");
}

/// Writes a moment by a format that has all its parts, in any order, and reads it.
fn read_again(moment: &ModelMoment, choices: &mut Choices) {
    let mut parts: Vec<&str> = [choices.one_of(DATES), choices.one_of(TIMES), &["%f"]].concat();
    let mut ordered: Vec<&str> = Vec::new();
    while !parts.is_empty() {
        ordered.push(parts.remove(choices.below(parts.len())));
    }
    // AM and PM are read behind an hour only.
    let place = |wanted: &[&str]| ordered.iter().position(|part| wanted.contains(part));
    if let (Some(hour), Some(half)) = (place(&["%h", "%l"]), place(&["%p"]))
        && half < hour
    {
        ordered.swap(half, hour);
    }
    let format: String = ordered.iter().flat_map(|part| [*part, choices.one_of(SEPARATORS)]).collect();
    let Some(Value::Text(written)) = date_format(&value_of(moment), &format) else {
        panic!("'{format}' writes nothing")
    };
    assert_eq!(str_to_date(&written, &format), (value_of(moment), 0), "'{written}' by '{format}'");
}

/// The formats of GET_FORMAT write what they read, as far as a format has the parts of a datetime.
fn of_regions(moment: &ModelMoment, choices: &mut Choices) {
    let args = [Value::Text("DATETIME".into()), Value::Text(choices.one_of(REGIONS).into())];
    let Some(Value::Text(format)) = call("GET_FORMAT", &[], &args) else { panic!("no format of {args:?}") };
    let whole = ModelMoment { micros: 0, ..*moment };
    let Some(Value::Text(written)) = date_format(&value_of(&whole), &format) else {
        panic!("'{format}' writes nothing")
    };
    assert_eq!(str_to_date(&written, &format), (value_of(&whole), 0), "'{written}' by '{format}'");
}
