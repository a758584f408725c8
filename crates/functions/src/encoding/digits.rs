//! HEX, UNHEX, TO_BASE64, FROM_BASE64, CHAR.

use crate::{Call, strings::characters::bytes_in_charset};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use muster_types::{Result, SqlType, Value};

/// Digits of a line of TO_BASE64.
const LINE: u64 = 76;

/// The alphabet and padding of RFC 4648. Bits behind the last byte count for nothing, as in MySQL.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Numbers as hexadecimal numbers, text as the hexadecimal digits of its bytes.
pub fn hex(call: &mut Call, args: &[Value]) -> Result<Value> {
    let number = match &args[0] {
        Value::UInt(n) => Some(*n),
        Value::Int(n) => Some(*n as u64),
        Value::Bool(b) => Some(u64::from(*b)),
        // A floating-point number that is half way becomes the even integer.
        Value::Float(_) | Value::Double(_) => {
            let x = muster_types::cast::to_double(&args[0]).0.round_ties_even();
            Some(if x >= i64::MAX as f64 { i64::MAX as u64 } else { x as i64 as u64 })
        }
        decimal @ Value::Decimal(_) => match call.cast(decimal, SqlType::BIGINT) {
            Value::Int(n) => Some(n as u64),
            _ => Some(0),
        },
        _ => None,
    };
    if let Some(number) = number {
        return Ok(Value::Text(format!("{number:X}")));
    }
    let bytes = bytes_in_charset(call, args, 0);
    if !call.has_room(2 * bytes.len())? {
        return Ok(Value::Null);
    }
    Ok(Value::Text(hexadecimal(&bytes, b"0123456789ABCDEF")))
}

/// Two digits for each byte.
pub fn hexadecimal(bytes: &[u8], digits: &[u8; 16]) -> String {
    let mut written = Vec::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|b| written.extend([digits[usize::from(b >> 4)], digits[usize::from(b & 15)]]));
    // Digits are ASCII.
    String::from_utf8(written).unwrap_or_default()
}

/// The bytes that hexadecimal digits mean, the first of which may be missing. NULL with warning 1411 for other
/// characters.
pub fn unhex(call: &mut Call, args: &[Value]) -> Result<Value> {
    let digits = bytes_in_charset(call, args, 0);
    match unhexed(&digits) {
        Some(bytes) => Ok(Value::Bytes(bytes)),
        None => {
            call.warn_wrong_value(0, "string");
            Ok(Value::Null)
        }
    }
}

fn unhexed(digits: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = digits.split_at(digits.len() % 2);
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    for pair in [first].into_iter().filter(|first| !first.is_empty()).chain(rest.chunks(2)) {
        bytes.push(byte(pair)?);
    }
    Some(bytes)
}

/// The byte that one or two digits mean.
fn byte(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |byte, digit| Some(byte << 4 | (*digit as char).to_digit(16)? as u8))
}

/// Number of characters of so many bytes in Base64, in lines.
pub fn base64_length(bytes: u64) -> u64 {
    let digits = bytes.div_ceil(3) * 4;
    digits + digits.saturating_sub(1) / LINE
}

pub fn to_base64(call: &mut Call, args: &[Value]) -> Result<Value> {
    let bytes = bytes_in_charset(call, args, 0);
    if !call.has_room(usize::try_from(base64_length(bytes.len() as u64)).unwrap_or(usize::MAX))? {
        return Ok(Value::Null);
    }
    // Three bytes are four digits.
    let lines: Vec<String> = bytes.chunks(LINE as usize / 4 * 3).map(|line| BASE64.encode(line)).collect();
    Ok(Value::Text(lines.join("\n")))
}

/// The bytes that digits of Base64 mean; spaces and line ends between them count for nothing. NULL for other text.
pub fn from_base64(_: &mut Call, args: &[Value]) -> Result<Value> {
    let text = match &args[0] {
        Value::Bytes(bytes) => bytes.clone(),
        other => other.to_text(6).unwrap_or_default().into_bytes(),
    };
    let is_space = |b: &u8| b.is_ascii_whitespace() || *b == 0x0B;
    let digits: Vec<u8> = text.into_iter().filter(|b| !is_space(b)).collect();
    Ok(BASE64.decode(digits).map_or(Value::Null, Value::Bytes))
}

/// The bytes of the 32 bits of each number, without those in front that are 0.
pub fn char(_: &mut Call, args: &[Value]) -> Result<Value> {
    let mut bytes = Vec::with_capacity(args.len());
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        // A double larger than an integer is the largest, whose lower half has all its bits.
        let number = crate::call::signed_bits(std::slice::from_ref(arg), 0) as u32;
        let all = number.to_be_bytes();
        let leading = (number.leading_zeros() as usize / 8).min(3);
        bytes.extend_from_slice(&all[leading..]);
    }
    Ok(Value::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_bytes_lead_back() {
        assert_eq!(unhexed(b"4D7953514C").as_deref(), Some(b"MySQL".as_slice()));
        assert_eq!(unhexed(b"123").as_deref(), Some([0x01, 0x23].as_slice()));
        assert_eq!(unhexed(b""), Some(Vec::new()));
        assert_eq!(unhexed(b"4g"), None);
        assert_eq!(hexadecimal(b"\x00\xFF", b"0123456789ABCDEF"), "00FF");
    }

    #[test]
    fn lines_of_base64_are_counted() {
        for (bytes, want) in [(0, 0), (12, 16), (57, 76), (58, 81), (228, 307)] {
            assert_eq!(base64_length(bytes), want, "{bytes}");
        }
    }
}
