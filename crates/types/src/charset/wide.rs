//! UCS-2, UTF-16 in both orders of bytes, UTF-32.

use super::Encoding;

/// Appends the bytes of a character that the encoding has.
pub(super) fn encode(encoding: Encoding, c: char, out: &mut Vec<u8>) {
    let mut units = [0; 2];
    match encoding {
        Encoding::Utf32 => out.extend((c as u32).to_be_bytes()),
        Encoding::Utf16Le => c.encode_utf16(&mut units).iter().for_each(|unit| out.extend(unit.to_le_bytes())),
        _ => c.encode_utf16(&mut units).iter().for_each(|unit| out.extend(unit.to_be_bytes())),
    }
}

/// The character that the bytes begin with, and how many bytes it has.
pub(super) fn decode(encoding: Encoding, bytes: &[u8]) -> Option<(char, usize)> {
    if encoding == Encoding::Utf32 {
        return char::from_u32(u32::from_be_bytes(*bytes.first_chunk()?)).map(|c| (c, 4));
    }
    let unit = |at: usize| {
        let unit = *bytes.get(at..)?.first_chunk()?;
        Some(if encoding == Encoding::Utf16Le { u16::from_le_bytes(unit) } else { u16::from_be_bytes(unit) })
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first.into()) {
        return Some((c, 2));
    }
    let pair = [first, unit(2).filter(|_| encoding != Encoding::Ucs2)?];
    char::decode_utf16(pair).next()?.ok().map(|c| (c, 4))
}
