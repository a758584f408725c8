//! Character sets: text is UTF-8 inside; these turn it into the bytes of a character set and back.

use std::borrow::Cow;

/// The characters of Windows-1252 at 0x80 to 0x9F. The five bytes it leaves free stand for themselves, as in MySQL's
/// `latin1`.
const CP1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The character sets Muster knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    Utf8mb4,
    /// UTF-8 without the characters beyond U+FFFF, also known as `utf8`.
    Utf8mb3,
    /// Windows-1252.
    Latin1,
    Ascii,
    Binary,
}

use Charset::*;

impl Charset {
    /// Finds a character set by MySQL's name, in any case.
    pub fn from_name(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Utf8mb4,
            "utf8" | "utf8mb3" => Utf8mb3,
            "latin1" => Latin1,
            "ascii" => Ascii,
            "binary" => Binary,
            _ => return None,
        })
    }

    /// The character set of a collation by MySQL's number, as the protocol has it; also of collations that are not in
    /// [`crate::Collation`]. `None` for character sets that Muster does not have.
    pub fn of_collation_id(id: u16) -> Option<Charset> {
        Some(match id {
            45 | 46 | 224..=247 | 255..=323 => Utf8mb4,
            33 | 76 | 83 | 192..=215 | 223 => Utf8mb3,
            5 | 8 | 15 | 31 | 47..=49 | 94 => Latin1,
            11 | 65 => Ascii,
            63 => Binary,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Utf8mb4 => "utf8mb4",
            Utf8mb3 => "utf8mb3",
            Latin1 => "latin1",
            Ascii => "ascii",
            Binary => "binary",
        }
    }

    /// MySQL's number of the character set's default collation, which stands for it in the protocol.
    pub fn default_collation_id(self) -> u16 {
        match self {
            Utf8mb4 => 255,
            Utf8mb3 => 33,
            Latin1 => 8,
            Ascii => 11,
            Binary => 63,
        }
    }

    /// Most bytes that one character takes.
    pub fn max_bytes(self) -> u32 {
        match self {
            Utf8mb4 => 4,
            Utf8mb3 => 3,
            Latin1 | Ascii | Binary => 1,
        }
    }

    fn has(self, c: char) -> bool {
        match self {
            Utf8mb4 | Binary => true,
            Utf8mb3 => c <= '\u{FFFF}',
            Latin1 => latin1_byte(c).is_some(),
            Ascii => c.is_ascii(),
        }
    }
}

/// The bytes of `text`; a character that the character set does not have becomes `?`.
pub fn encode(charset: Charset, text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    match charset {
        Utf8mb4 | Binary => Cow::Borrowed(bytes),
        // Lead bytes of characters beyond U+FFFF.
        Utf8mb3 if bytes.iter().all(|b| *b < 0xF0) => Cow::Borrowed(bytes),
        Latin1 | Ascii if text.is_ascii() => Cow::Borrowed(bytes),
        Latin1 => text.chars().map(|c| latin1_byte(c).unwrap_or(b'?')).collect(),
        Utf8mb3 | Ascii => {
            let kept: String = text.chars().map(|c| if charset.has(c) { c } else { '?' }).collect();
            Cow::Owned(kept.into_bytes())
        }
    }
}

/// Encodes a message as [`encode`] does, but shows characters that the character set does not have by their numbers,
/// `\6F22` or `\+01F600`, as MySQL does.
pub fn encode_message(charset: Charset, text: &str) -> Vec<u8> {
    if text.chars().all(|c| charset.has(c)) {
        return encode(charset, text).into_owned();
    }
    let mut shown = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match c as u32 {
            _ if charset.has(c) => shown.push(c),
            code @ ..=0xFFFF => shown.push_str(&format!("\\{code:04X}")),
            code => shown.push_str(&format!("\\+{code:06X}")),
        }
    }
    encode(charset, &shown).into_owned()
}

/// The text that `bytes` mean; `None` if they are not of the character set (every byte is of `latin1`; `binary` is read
/// as UTF-8).
pub fn decode(charset: Charset, bytes: &[u8]) -> Option<Cow<'_, str>> {
    match charset {
        Latin1 if !bytes.is_ascii() => Some(bytes.iter().map(|b| latin1_char(*b)).collect()),
        _ if valid_up_to(charset, bytes) < bytes.len() => None,
        _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    }
}

/// Bytes in front of the first one that is not of the character set.
pub fn valid_up_to(charset: Charset, bytes: &[u8]) -> usize {
    let first = |wrong: fn(&u8) -> bool| bytes.iter().position(wrong).unwrap_or(bytes.len());
    let utf8 = || std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    match charset {
        Latin1 => bytes.len(),
        Ascii => first(|b| !b.is_ascii()),
        Utf8mb3 => utf8().min(first(|b| *b >= 0xF0)),
        Utf8mb4 | Binary => utf8(),
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
        assert_eq!(decode(Charset::Utf8mb3, "é漢".as_bytes()).as_deref(), Some("é漢"));
        assert_eq!(decode(Charset::Utf8mb3, "é😀".as_bytes()), None);
        assert_eq!(decode(Charset::Ascii, "é".as_bytes()), None);
        assert_eq!(valid_up_to(Charset::Utf8mb3, "é😀".as_bytes()), 2);
        assert_eq!(valid_up_to(Charset::Binary, b"ab\xFF"), 2);
    }

    #[test]
    fn what_a_character_set_does_not_have() {
        let text = "aé漢😀";
        assert_eq!(encode(Charset::Utf8mb3, text).as_ref(), "aé漢?".as_bytes());
        assert_eq!(encode(Charset::Ascii, text).as_ref(), b"a???");
        assert_eq!(encode(Charset::Latin1, text).as_ref(), b"a\xE9??");
        assert_eq!(encode(Charset::Binary, text).as_ref(), text.as_bytes());
        assert_eq!(encode_message(Charset::Latin1, text), b"a\xE9\\6F22\\+01F600");
        assert_eq!(encode_message(Charset::Utf8mb4, text), text.as_bytes());
    }

    #[test]
    fn numbers_of_default_collations_lead_back() {
        for charset in [Utf8mb4, Utf8mb3, Latin1, Ascii, Binary] {
            assert_eq!(Charset::of_collation_id(charset.default_collation_id()), Some(charset));
            assert_eq!(Charset::from_name(charset.name()), Some(charset));
        }
    }
}
