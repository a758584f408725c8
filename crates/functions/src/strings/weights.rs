//! WEIGHT_STRING: the bytes by which MySQL sorts a text. Muster's own sort keys are shorter.

use super::characters::Characters;
use crate::Call;
use muster_types::{
    Collation, ErrorCode, Result, SqlType, Value, charset,
    temporal::{MICROS_PER_SECOND, datetime_parts},
};

/// The bytes of an integer, a date or a time, which compare as these do. NULL for other numbers, as in MySQL.
fn number_weights(value: &Value) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    Some(match value {
        Value::Bool(b) => SIGN + u64::from(*b),
        Value::Int(n) => *n as u64 ^ SIGN,
        Value::UInt(n) => *n,
        Value::Date(date) => packed_date(*date, 0) ^ SIGN,
        Value::DateTime(datetime) => {
            let (date, clock) = datetime_parts(*datetime);
            packed_date(date, clock) ^ SIGN
        }
        Value::Time(time) if *time < 0 => packed_clock(-time).wrapping_neg() ^ SIGN,
        Value::Time(time) => packed_clock(*time) ^ SIGN,
        _ => return None,
    })
}

/// A date and a time of day as MySQL packs them (`TIME_to_longlong_datetime_packed`).
fn packed_date(date: i32, clock: i64) -> u64 {
    // The code of a date has the same fields.
    ((date as u64) << 41) + packed_clock(clock)
}

/// Hours, minutes and seconds in 12, 6 and 6 bits, in front of 24 bits of microseconds.
fn packed_clock(micros: i64) -> u64 {
    let (seconds, micros) = ((micros / MICROS_PER_SECOND) as u64, (micros % MICROS_PER_SECOND) as u64);
    let clock = ((seconds / 3600) << 12) | ((seconds / 60 % 60) << 6) | (seconds % 60);
    (clock << 24) | micros
}

/// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n)])`; the parser gives the words as arguments.
pub fn weight_string(call: &mut Call, args: &[Value]) -> Result<Value> {
    let length = usize::try_from(crate::call::int(args, 2)).unwrap_or(0);
    match (&args[0], args.get(1)) {
        (Value::Null, _) => return Ok(Value::Null),
        (_, Some(Value::Text(kind))) if kind == "BINARY" => return as_binary(call, args, length),
        _ => {}
    }
    let text = match &args[0] {
        Value::Bytes(bytes) => {
            let kept = if args.len() > 1 { &bytes[..bytes.len().min(length)] } else { bytes };
            return Ok(Value::Bytes(kept.to_vec()));
        }
        Value::Text(text) => text,
        number => return Ok(number_weights(number).map_or(Value::Null, |n| Value::Bytes(n.to_be_bytes().to_vec()))),
    };
    if !call.has_room(text.len().max(length).saturating_mul(4))? {
        return Ok(Value::Null);
    }
    let mut text = text.clone();
    if args.len() > 1 {
        let characters = text.chars().count();
        text.truncate(muster_types::collation::prefix(&text, length).len());
        if call.collation.pad_space() {
            text.extend(std::iter::repeat_n(' ', length.saturating_sub(characters)));
        }
    }
    Ok(Value::Bytes(call.collation.weight_string(&text)))
}

/// The bytes of the text, cut or filled up with zeros.
fn as_binary(call: &mut Call, args: &[Value], length: usize) -> Result<Value> {
    if !call.has_room(length)? {
        return Ok(Value::Null);
    }
    let text = Characters::of(args, 0).bytes.into_owned();
    let charset = call.types[0].and_then(|ty| ty.collation()).map(Collation::character_set);
    let mut bytes = match (&args[0], charset) {
        (Value::Text(text), Some(charset)) => charset::encode(charset, text).into_owned(),
        _ => text,
    };
    if bytes.len() > length {
        let (_, warning) = muster_types::cast(
            &args[0],
            SqlType::Bytes { kind: muster_types::BytesKind::Binary, length: length as u32 },
        );
        match warning.of_value() {
            Some(warning) => (call.warnings)(warning),
            None => call.warn(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect BINARY({length}) value")),
        }
    }
    bytes.resize(length, 0);
    Ok(Value::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_mysql() {
        for (text, want) in [
            ("ÄÖ", "1C471DDD"),
            ("abc", "1C471C601C7A"),
            ("日本", "FB40E5E5FB40E72C"),
            ("a b-c!", "1C4702091C60020D1C7A0260"),
            ("ß", "1E711E71"),
            ("😀", "15FB"),
            ("ก", "2D73"),
            ("\0a", "1C47"),
            ("썏", "3BFF3C763CD3"),
            ("\u{1196F}", "FBC2996F"),
        ] {
            let weights = Collation::DEFAULT.weight_string(text);
            assert_eq!(weights.iter().map(|b| format!("{b:02X}")).collect::<String>(), want, "{text}");
        }
    }
}
