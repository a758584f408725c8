//! Character sets: text is UTF-8 inside; these turn it into the bytes of a character set and back.
//!
//! ```text
//!   definitions.rs  the character sets, one line each
//!   fuzz.rs         any bytes in any of them, for tests
//!   maps.rs         those that are not Unicode, by their tables
//!   wide.rs         UCS-2, UTF-16, UTF-32
//! ```

mod definitions;
pub mod fuzz;
mod maps;
mod wide;

pub use definitions::Charset;

use crate::Collation;
use maps::CharsetMap;
use std::borrow::Cow;

use Charset::*;

/// How characters become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// UTF-8: of `utf8mb3` the part without the characters beyond U+FFFF; `binary` is read so.
    Utf8,
    Ascii,
    Ucs2,
    Utf16,
    Utf16Le,
    Utf32,
    /// By a table of `maps.rs`.
    Mapped,
}

impl Charset {
    /// All character sets, in the order of their names.
    pub fn all() -> &'static [Charset] {
        definitions::ALL
    }

    /// Finds a character set by MySQL's name, in any case. `utf8` is `utf8mb3`.
    pub fn from_name(name: &str) -> Option<Charset> {
        let name = name.to_ascii_lowercase();
        let name = if name == "utf8" { "utf8mb3" } else { &name };
        let all = Charset::all();
        all.binary_search_by(|charset| charset.name().cmp(name)).ok().map(|at| all[at])
    }

    /// The character set of a client by MySQL's number of a collation, as the protocol has it; also of some collations
    /// that are not in [`crate::Collation`]. `None` for character sets that Muster does not have, and for those that no
    /// client may speak.
    pub fn of_collation_id(id: u16) -> Option<Charset> {
        let charset = match id {
            2 => Some(Latin2),
            34 => Some(Cp1250),
            256..=323 => Some(Utf8mb4),
            _ => Collation::from_id(id).map(Collation::character_set),
        };
        charset.filter(|charset| charset.min_bytes() == 1)
    }

    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// MySQL's description.
    pub fn description(self) -> &'static str {
        self.definition().description
    }

    /// The collation that texts have when none is named.
    pub fn default_collation(self) -> Collation {
        self.definition().default_collation
    }

    /// MySQL's number of the character set's default collation, which stands for it in the protocol.
    pub fn default_collation_id(self) -> u16 {
        self.default_collation().id()
    }

    /// Most bytes that one character takes.
    pub fn max_bytes(self) -> u32 {
        self.definition().max_bytes
    }

    /// Fewest bytes that one character takes. No client may speak a character set in which that is more than one.
    pub fn min_bytes(self) -> u32 {
        match self.definition().encoding {
            Encoding::Ucs2 | Encoding::Utf16 | Encoding::Utf16Le => 2,
            Encoding::Utf32 => 4,
            Encoding::Utf8 | Encoding::Ascii | Encoding::Mapped => 1,
        }
    }

    /// Returns true for the encodings of Unicode.
    pub fn is_unicode(self) -> bool {
        matches!(self, Utf8mb4 | Utf8mb3 | Ucs2 | Utf16 | Utf16le | Utf32)
    }

    /// Returns true if the character set has all characters that the other has.
    pub fn contains(self, other: Charset) -> bool {
        let reaches_beyond_u_ffff = |charset| matches!(charset, Utf8mb4 | Utf16 | Utf16le | Utf32 | Gb18030 | Binary);
        match self {
            _ if self == other => true,
            Utf8mb4 | Utf16 | Utf16le | Utf32 | Binary => true,
            Utf8mb3 | Ucs2 => !reaches_beyond_u_ffff(other),
            _ => other == Ascii && self != Swe7,
        }
    }

    /// Returns true if the character set has the character.
    pub fn has(self, c: char) -> bool {
        match self.definition().encoding {
            Encoding::Utf8 if self == Utf8mb3 => c <= '\u{FFFF}',
            Encoding::Ucs2 => c <= '\u{FFFF}',
            Encoding::Utf8 | Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf32 => true,
            Encoding::Ascii => c.is_ascii(),
            Encoding::Mapped => CharsetMap::of(self).has(c),
        }
    }

    /// Returns true if the character set has all characters of the text.
    pub fn has_all(self, text: &str) -> bool {
        match self {
            Utf8mb4 | Binary => true,
            // Lead bytes of characters beyond U+FFFF.
            Utf8mb3 => text.bytes().all(|b| b < 0xF0),
            Swe7 => text.chars().all(|c| self.has(c)),
            _ => text.is_ascii() || text.chars().all(|c| self.has(c)),
        }
    }

    /// The text with `?` in place of the characters that the character set does not have.
    pub fn kept(self, text: &str) -> Cow<'_, str> {
        match self.has_all(text) {
            true => Cow::Borrowed(text),
            false => text.chars().map(|c| if self.has(c) { c } else { '?' }).collect(),
        }
    }
}

/// The bytes of `text`; a character that the character set does not have becomes `?`.
pub fn encode(charset: Charset, text: &str) -> Cow<'_, [u8]> {
    let encoding = charset.definition().encoding;
    match encoding {
        Encoding::Utf8 | Encoding::Ascii => match charset.kept(text) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        Encoding::Mapped => {
            let map = CharsetMap::of(charset);
            if map.writes_ascii && text.is_ascii() {
                return Cow::Borrowed(text.as_bytes());
            }
            let mut out = Vec::with_capacity(text.len());
            for c in text.chars() {
                if !map.encode(c, &mut out) {
                    out.push(b'?');
                }
            }
            Cow::Owned(out)
        }
        Encoding::Ucs2 | Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf32 => {
            let mut out = Vec::with_capacity(2 * text.len());
            text.chars().for_each(|c| wide::encode(encoding, if charset.has(c) { c } else { '?' }, &mut out));
            Cow::Owned(out)
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

/// The text that `bytes` mean; `None` if they are not of the character set (`binary` is read as UTF-8).
pub fn decode(charset: Charset, bytes: &[u8]) -> Option<Cow<'_, str>> {
    let encoding = charset.definition().encoding;
    match encoding {
        Encoding::Utf8 | Encoding::Ascii => {
            let text = std::str::from_utf8(bytes).ok()?;
            charset.has_all(text).then_some(Cow::Borrowed(text))
        }
        Encoding::Mapped if bytes.is_ascii() && CharsetMap::of(charset).reads_ascii => {
            std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
        }
        _ => {
            let (text, read) = decode_characters(charset, bytes);
            (read == bytes.len()).then_some(Cow::Owned(text))
        }
    }
}

/// Bytes in front of the first one that is not of the character set.
pub fn valid_up_to(charset: Charset, bytes: &[u8]) -> usize {
    let first = |wrong: fn(&u8) -> bool| bytes.iter().position(wrong).unwrap_or(bytes.len());
    let utf8 = || std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    match charset.definition().encoding {
        Encoding::Ascii => first(|b| !b.is_ascii()),
        Encoding::Utf8 if charset == Utf8mb3 => utf8().min(first(|b| *b >= 0xF0)),
        Encoding::Utf8 => utf8(),
        _ => decode_characters(charset, bytes).1,
    }
}

/// The text of the bytes up to the first that are not of the character set, and where that is.
fn decode_characters(charset: Charset, bytes: &[u8]) -> (String, usize) {
    let encoding = charset.definition().encoding;
    let map = (encoding == Encoding::Mapped).then(|| CharsetMap::of(charset));
    let (mut text, mut at) = (String::with_capacity(bytes.len()), 0);
    let decode_one = |rest: &[u8]| map.map_or_else(|| wide::decode(encoding, rest), |map| map.decode(rest));
    while let Some((c, length)) = bytes.get(at..).and_then(decode_one) {
        text.push(c);
        at += length;
    }
    (text, at)
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
        for charset in Charset::all().iter().copied() {
            let is_spoken = !matches!(charset, Ucs2 | Utf16 | Utf16le | Utf32);
            assert_eq!(Charset::of_collation_id(charset.default_collation_id()), is_spoken.then_some(charset));
            assert_eq!(Charset::from_name(&charset.name().to_uppercase()), Some(charset));
            assert_eq!(charset.default_collation().character_set(), charset);
        }
        assert_eq!(Charset::from_name("utf8"), Some(Utf8mb3));
    }

    #[test]
    fn bytes_and_characters_of_many_character_sets() {
        for (charset, text, bytes) in [
            (Cp1251, "Я", &b"\xDF"[..]),
            (Koi8r, "я", b"\xD1"),
            (Greek, "ω", b"\xF9"),
            (Gbk, "中", b"\xD6\xD0"),
            (Big5, "中", b"\xA4\xA4"),
            (Sjis, "日ｱ", b"\x93\xFA\xB1"),
            (Ujis, "日丂", b"\xC6\xFC\x8F\xB0\xA1"),
            (Euckr, "한", b"\xC7\xD1"),
            (Gb18030, "中é😀㐂", b"\xD6\xD0\xA8\xA6\x94\x39\xFC\x36\x81\x39\xEF\x31"),
            (Swe7, "ÄÖ", b"[\\"),
            (Ucs2, "aé", b"\0a\0\xE9"),
            (Utf16, "a😀", b"\0a\xD8\x3D\xDE\0"),
            (Utf16le, "a😀", b"a\0\x3D\xD8\0\xDE"),
            (Utf32, "😀", b"\0\x01\xF6\0"),
        ] {
            assert_eq!(encode(charset, text).as_ref(), bytes, "{charset:?}");
            assert_eq!(decode(charset, bytes).as_deref(), Some(text), "{charset:?}");
        }
        assert_eq!(encode(Koi8r, "é日").as_ref(), b"??");
        assert_eq!(encode(Ucs2, "😀").as_ref(), b"\0?");
        for (charset, bytes) in
            [(Greek, &b"a\xFF"[..]), (Gbk, b"a\xD6"), (Utf16, b"\0a\xD8\x3D"), (Utf32, b"\0\0\0a\0\x11\0\0")]
        {
            assert_eq!(decode(charset, bytes), None, "{charset:?}");
        }
        assert_eq!(valid_up_to(Gbk, b"a\xD6\xD0\xD6"), 3);
    }

    #[test]
    fn every_character_of_a_character_set_comes_back() {
        for charset in Charset::all().iter().copied().filter(|c| *c != Binary) {
            let mut out = Vec::new();
            for c in (0..0x1_1000).filter_map(char::from_u32).filter(|c| charset.has(*c)) {
                let bytes = encode(charset, c.encode_utf8(&mut [0; 4])).into_owned();
                assert!(bytes.len() as u32 <= charset.max_bytes(), "{charset:?} {c:?}");
                let back = decode(charset, &bytes);
                // MySQL reads the backslash of sjis as one and writes it as the wide one.
                assert!(
                    back.as_deref() == Some(c.encode_utf8(&mut [0; 4]))
                        || matches!((charset, c), (Sjis, '\\') | (Cp932, '晡')),
                    "{charset:?} {c:?} {bytes:X?}"
                );
                out.extend(bytes);
            }
            assert_eq!(valid_up_to(charset, &out), out.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_text_or_refused(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..12)) {
            for charset in Charset::all().iter().copied() {
                let valid = valid_up_to(charset, &bytes);
                proptest::prop_assert!(valid <= bytes.len());
                match decode(charset, &bytes) {
                    Some(text) => {
                        proptest::prop_assert_eq!(valid, bytes.len());
                        proptest::prop_assert!(text.chars().count() * charset.min_bytes() as usize <= bytes.len());
                        // Written again, the text is the same; the bytes may be others that mean it.
                        let again = encode(charset, &text).into_owned();
                        let is_same = decode(charset, &again).is_some_and(|again| again == charset.kept(&text));
                        proptest::prop_assert!(charset == Sjis || is_same);
                    }
                    None => {
                        proptest::prop_assert!(valid < bytes.len());
                        proptest::prop_assert!(decode(charset, &bytes[..valid]).is_some());
                    }
                }
            }
        }
    }
}
