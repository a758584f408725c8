//! WEIGHT_STRING: the bytes by which MySQL sorts a text.
//!
//! Those of `utf8mb4_0900_ai_ci` are the primary weights of the Unicode Collation Algorithm 9.0.0 (DUCET,
//! `allkeys.txt`), two bytes each, as MySQL shows them. Muster's own sort keys are shorter; contractions of several
//! characters are left out in both. The file beside this one has the weights of all characters that have weights of
//! their own, compressed by zlib: the number of characters in 4 bytes, little-endian; the difference of each
//! character from the one before in groups of 7 bits; the number of weights of each character in a byte; the upper
//! bytes of all weights; their lower bytes. Other characters have weights that follow from their numbers.

use super::characters::Characters;
use crate::Call;
use flate2::read::ZlibDecoder;
use muster_types::{Collation, ErrorCode, Result, SqlType, Value, charset, charset::Charset};
use std::{collections::HashMap, io::Read, sync::LazyLock};

static COMPRESSED: &[u8] = include_bytes!("uca_9.0.0_primary_weights.zlib");

/// The weights of each character that has weights of its own.
static WEIGHTS: LazyLock<HashMap<char, Box<[u16]>>> = LazyLock::new(|| read(COMPRESSED).unwrap_or_default());

fn read(compressed: &[u8]) -> Option<HashMap<char, Box<[u16]>>> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(compressed).read_to_end(&mut bytes).ok()?;
    let (count, mut rest) = bytes.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (mut characters, mut code) = (Vec::with_capacity(count), 0u32);
    for _ in 0..count {
        let (mut shift, mut difference) = (0, 0);
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            difference |= u32::from(byte & 0x7F) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        code += difference;
        characters.push(char::from_u32(code)?);
    }
    let (counts, rest) = rest.split_at_checked(count)?;
    let (upper, lower) = rest.split_at_checked(rest.len() / 2)?;
    let mut weights = upper.iter().zip(lower).map(|(upper, lower)| u16::from_be_bytes([*upper, *lower]));
    let of = |count: &u8| weights.by_ref().take(usize::from(*count)).collect::<Box<[u16]>>();
    Some(characters.into_iter().zip(counts.iter().map(of)).collect())
}

/// Appends the primary weights of a character.
fn append_weights(c: char, out: &mut Vec<u8>) {
    if let Some(weights) = WEIGHTS.get(&c) {
        return weights.iter().for_each(|weight| out.extend(weight.to_be_bytes()));
    }
    let code = c as u32;
    if let Some(syllable) = code.checked_sub(0xAC00).filter(|n| *n <= 0xD7A3 - 0xAC00) {
        // A syllable of Hangul has the weights of its letters.
        let (leading, vowel, trailing) =
            (0x1100 + syllable / 588, 0x1161 + syllable % 588 / 28, 0x11A7 + syllable % 28);
        let letters = [leading, vowel, trailing].into_iter().take(if syllable % 28 == 0 { 2 } else { 3 });
        return letters.filter_map(char::from_u32).for_each(|letter| append_weights(letter, out));
    }
    // The implicit weights of the algorithm (UTS #10, section 10.1.3).
    let base: u32 = match code {
        0x4E00..=0x9FD5 | 0xFA0E..=0xFA29 => 0xFB40,
        0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 => 0xFB80,
        _ => 0xFBC0,
    };
    for weight in [base + (code >> 15), code & 0x7FFF | 0x8000] {
        out.extend((weight as u16).to_be_bytes());
    }
}

/// The bytes of a text under a collation.
fn text_weights(text: &str, collation: Collation) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * text.len());
    match collation {
        Collation::Utf8mb4_0900AiCi => text.chars().for_each(|c| append_weights(c, &mut out)),
        Collation::Utf8mb4Bin => text.chars().for_each(|c| out.extend(&(c as u32).to_be_bytes()[1..])),
        // Characters beyond U+FFFF weigh as much as the one that stands for unknown ones.
        Collation::Utf8mb4GeneralCi => text.chars().for_each(|c| {
            let folded = collation.folded(c) as u32;
            out.extend(u16::try_from(folded).unwrap_or(0xFFFD).to_be_bytes());
        }),
        Collation::Latin1SwedishCi => out.extend(text.chars().map(|c| collation.folded(c) as u8)),
        Collation::Binary => out.extend(text.bytes()),
    }
    out
}

/// The bytes of an integer, a date or a time, which compare as these do. NULL for other numbers, as in MySQL.
fn number_weights(value: &Value) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    Some(match value {
        Value::Bool(b) => SIGN + u64::from(*b),
        Value::Int(n) => *n as u64 ^ SIGN,
        Value::UInt(n) => *n,
        _ => return None,
    })
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
    Ok(Value::Bytes(text_weights(&text, call.collation)))
}

/// The bytes of the text, cut or filled up with zeros.
fn as_binary(call: &mut Call, args: &[Value], length: usize) -> Result<Value> {
    if !call.has_room(length)? {
        return Ok(Value::Null);
    }
    let text = Characters::of(args, 0).bytes.into_owned();
    let charset = call.types[0].and_then(|ty| Charset::from_name(ty.collation()?.charset()));
    let mut bytes = match (&args[0], charset) {
        (Value::Text(text), Some(charset)) => charset::encode(charset, text).into_owned(),
        _ => text,
    };
    if bytes.len() > length {
        let (_, warning) = muster_types::cast(
            &args[0],
            SqlType::Bytes { kind: muster_types::BytesKind::Binary, length: length as u32 },
        );
        match warning {
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
            let weights = text_weights(text, Collation::DEFAULT);
            assert_eq!(weights.iter().map(|b| format!("{b:02X}")).collect::<String>(), want, "{text}");
        }
        assert_eq!(WEIGHTS.len(), 36_721);
    }
}
