//! Character sets: text is UTF-8 inside; these turn it into the bytes of a character set and back.

use std::borrow::Cow;

/// What Windows-1252 has at 0x80 to 0x9F. The five bytes it leaves free stand for themselves, as in MySQL's `latin1`.
const CP1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The character sets Muster knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Also answers to `utf8` and `utf8mb3`.
    Utf8mb4,
    /// Windows-1252.
    Latin1,
    Binary,
}

impl Charset {
    /// By MySQL's name, in any case.
    pub fn from_name(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8mb4" | "utf8" | "utf8mb3" => Charset::Utf8mb4,
            "latin1" => Charset::Latin1,
            "binary" => Charset::Binary,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Latin1 => "latin1",
            Charset::Binary => "binary",
        }
    }
}

/// The bytes of `text`; a character that the character set does not have becomes `?`.
pub fn encode(charset: Charset, text: &str) -> Cow<'_, [u8]> {
    match charset {
        Charset::Latin1 if !text.is_ascii() => text.chars().map(|c| latin1_byte(c).unwrap_or(b'?')).collect(),
        _ => Cow::Borrowed(text.as_bytes()),
    }
}

/// The text that `bytes` mean; `None` if they are not of the character set (only UTF-8 can be wrong; `binary` is read
/// as UTF-8).
pub fn decode(charset: Charset, bytes: &[u8]) -> Option<Cow<'_, str>> {
    match charset {
        Charset::Latin1 if !bytes.is_ascii() => Some(bytes.iter().map(|b| latin1_char(*b)).collect()),
        _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    }
}

pub(crate) fn latin1_byte(c: char) -> Option<u8> {
    match c as u32 {
        code @ (0..=0x7F | 0xA0..=0xFF) => Some(code as u8),
        _ => CP1252.iter().position(|x| *x == c).map(|i| 0x80 + i as u8),
    }
}

fn latin1_char(byte: u8) -> char {
    match byte {
        0x80..=0x9F => CP1252[byte as usize - 0x80],
        _ => byte as char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_goes_both_ways_for_every_byte() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = decode(Charset::Latin1, &bytes).unwrap();
        assert_eq!(text.chars().count(), 256);
        assert_eq!(encode(Charset::Latin1, &text).as_ref(), bytes);
        assert_eq!(encode(Charset::Latin1, "€ 5 漢").as_ref(), b"\x80 5 ?");
    }

    #[test]
    fn utf8_is_checked() {
        assert_eq!(decode(Charset::Utf8mb4, b"\xFF"), None);
        assert_eq!(decode(Charset::Utf8mb4, "é".as_bytes()).as_deref(), Some("é"));
    }
}
