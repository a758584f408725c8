//! Numbers in other bases: CONV, BIN, OCT.

use crate::{Call, ResultType, Typing, call::int};
use muster_types::{ErrorCode, Result, Value};
use std::borrow::Cow;

/// A sign and the digits of 64 bits in base 2.
const LENGTH: u64 = 65;

pub fn returns(_: &Typing) -> ResultType {
    ResultType::ConnectionText(LENGTH)
}

/// `CONV(number, from base, to base)`. A negative base is one of signed numbers.
pub fn conv(call: &mut Call, args: &[Value]) -> Result<Value> {
    converted(call, args, int(args, 1), int(args, 2))
}

pub fn bin(call: &mut Call, args: &[Value]) -> Result<Value> {
    converted(call, args, 10, 2)
}

pub fn oct(call: &mut Call, args: &[Value]) -> Result<Value> {
    converted(call, args, 10, 8)
}

fn converted(call: &mut Call, args: &[Value], from: i64, to: i64) -> Result<Value> {
    let bases = 2..=36;
    if !bases.contains(&from.unsigned_abs()) || !bases.contains(&to.unsigned_abs()) {
        return Ok(Value::Null);
    }
    let text = match &args[0] {
        // A number that is written and read in base 10 is that of its 64 bits.
        Value::Int(number) if from == 10 && *number >= 0 => return Ok(in_base(*number as u64, to)),
        Value::Text(text) => Cow::Borrowed(text.as_str()),
        _ => Cow::Owned(call.text(args, 0).unwrap_or_default()),
    };
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let (bits, is_whole) = bits(&text, from.unsigned_abs() as u32, from < 0);
    if !is_whole {
        call.warn(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect DECIMAL value: '{text}'"));
    }
    Ok(in_base(bits, to))
}

/// The digits of 64 bits, which a negative base takes for a signed number.
fn in_base(bits: u64, to: i64) -> Value {
    let base = to.unsigned_abs();
    Value::Text(match to {
        ..0 if (bits as i64) < 0 => format!("-{}", written((bits as i64).unsigned_abs(), base)),
        _ => written(bits, base),
    })
}

/// The 64 bits of the number that a text begins with; false if there are no digits or it is too large.
fn bits(text: &str, base: u32, is_signed: bool) -> (u64, bool) {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0B', '\x0C']);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut magnitude = 0u128;
    let mut count = 0;
    for digit in digits.chars().map_while(|c| c.to_digit(base)) {
        magnitude = (magnitude * u128::from(base) + u128::from(digit)).min(1 << 65);
        count += 1;
    }
    let most = match (is_signed, is_negative) {
        (true, true) => 1 << 63,
        (true, false) => (1 << 63) - 1,
        (false, _) => u128::from(u64::MAX),
    };
    let kept = magnitude.min(most) as u64;
    let bits = match (is_negative, is_signed || magnitude <= most) {
        (true, true) => kept.wrapping_neg(),
        (true, false) => 0,
        (false, _) => kept,
    };
    (bits, count > 0 && magnitude <= most)
}

fn written(mut number: u64, base: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    // As many as 64 bits have in base 2.
    let (mut digits, mut start) = ([0; 64], 64);
    loop {
        start -= 1;
        digits[start] = match base {
            2 => b'0' + (number & 1) as u8,
            _ => DIGITS[(number % base) as usize],
        };
        number = if base == 2 { number >> 1 } else { number / base };
        if number == 0 {
            return String::from_utf8_lossy(&digits[start..]).into_owned();
        }
    }
}
