//! Texts and byte strings: how much of one a column holds, and the form in which it is stored.

use super::{StoreFault, Unfit};
use crate::{
    BytesKind, TextKind,
    charset::{self, Charset},
};
use std::borrow::Cow;

/// Most bytes of a value in a message (MySQL prints `%-.128s`).
const SHOWN_BYTES_MAX: usize = 128;

/// The part of a text that the column stores: CHAR without the spaces at its end, at most `length` characters of CHAR
/// and VARCHAR and as many bytes of the other types. Spaces that do not fit are dropped silently (manual 13.3.2).
#[inline]
pub fn fitted(bytes: &[u8], kind: TextKind, length: u32) -> Result<&[u8], Unfit<&[u8]>> {
    // MySQL takes the padding of CHAR off when it is read.
    let bytes = if kind == TextKind::Char { without_padding(bytes) } else { bytes };
    if bytes.len() <= length as usize || !is_too_long(bytes, kind, length) {
        return Ok(bytes);
    }
    let (kept, rest) = bytes.split_at(cut(bytes, kind, length));
    match rest.iter().all(|b| *b == b' ') {
        true => Ok(kept),
        // What is cut off may have been behind more spaces.
        false if kind == TextKind::Char => Err(Unfit::new(StoreFault::TooLong, without_padding(kept))),
        false => Err(Unfit::new(StoreFault::TooLong, kept)),
    }
}

/// The text of the bytes; what stands in front of the first wrong one if they are not UTF-8.
pub fn valid(bytes: &[u8]) -> Result<&str, Unfit<&str>> {
    std::str::from_utf8(bytes).map_err(|e| {
        let valid = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
        Unfit::new(StoreFault::Incorrect("string"), valid)
    })
}

/// A text in the character set of the column: cut as [`fitted`] does, where the lengths of the TEXT types count the
/// bytes of the character set, and with `?` in place of characters that it does not have.
pub fn fitted_in_charset(
    bytes: &[u8],
    kind: TextKind,
    length: u32,
    charset: Charset,
) -> Result<Cow<'_, str>, Unfit<Cow<'_, str>>> {
    let fit = match kind {
        TextKind::Char | TextKind::VarChar => fitted(bytes, kind, length),
        _ => fitted_encoded(bytes, length, charset),
    };
    let (bytes, too_long) = match fit {
        Ok(bytes) => (bytes, None),
        Err(unfit) => (unfit.instead.unwrap_or_default(), Some(unfit.fault)),
    };
    let (text, incorrect) = match valid(bytes) {
        Ok(text) => (text, None),
        Err(unfit) => (unfit.instead.unwrap_or_default(), Some(unfit.fault)),
    };
    match (charset.kept(text), incorrect) {
        (Cow::Owned(text), _) => Err(Unfit::new(StoreFault::Incorrect("string"), Cow::Owned(text))),
        (Cow::Borrowed(text), incorrect) => match too_long.or(incorrect) {
            None => Ok(Cow::Borrowed(text)),
            Some(fault) => Err(Unfit::new(fault, Cow::Borrowed(text))),
        },
    }
}

/// The part of a text that takes at most `length` bytes in the character set.
fn fitted_encoded(bytes: &[u8], length: u32, charset: Charset) -> Result<&[u8], Unfit<&[u8]>> {
    let length = length as usize;
    let most = charset.max_bytes() as usize * bytes.iter().filter(|b| starts_character(b)).count();
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|_| most > length) else { return Ok(bytes) };
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += charset::encode(charset, c.encode_utf8(&mut [0; 4])).len();
        taken > length
    });
    match end {
        None => Ok(bytes),
        Some((end, _)) if bytes[end..].iter().all(|b| *b == b' ') => Ok(&bytes[..end]),
        Some((end, _)) => Err(Unfit::new(StoreFault::TooLong, &bytes[..end])),
    }
}

/// The beginning of what cannot be stored in a column of the character set, for the message of error 1366: up to six
/// bytes from the first character on that the character set does not have. `None`: it has all of them.
pub fn incorrect_part(value: &[u8], charset: Charset) -> Option<String> {
    const SHOWN: usize = 6;
    let rest = value.get(first_incorrect(value, charset)..).filter(|rest| !rest.is_empty())?;
    let mut shown = String::new();
    for byte in &rest[..rest.len().min(SHOWN)] {
        match byte {
            0x20..0x7F => shown.push(*byte as char),
            _ => shown.push_str(&format!("\\x{byte:02X}")),
        }
    }
    if rest.len() > SHOWN {
        shown.push_str("...");
    }
    Some(shown)
}

/// Bytes in front of the first that are not UTF-8, or are a character that the character set does not have.
pub fn first_incorrect(value: &[u8], charset: Charset) -> usize {
    let valid = valid(value).unwrap_or_else(|unfit| unfit.instead.unwrap_or_default());
    valid.char_indices().find(|(_, c)| !charset.has(*c)).map_or(valid.len(), |(at, _)| at)
}

/// The part of a byte string that the column stores.
#[inline]
pub fn fitted_bytes(bytes: &[u8], length: u32) -> Result<&[u8], Unfit<&[u8]>> {
    match bytes.get(..length as usize) {
        Some(kept) if kept.len() < bytes.len() => Err(Unfit::new(StoreFault::TooLong, kept)),
        _ => Ok(bytes),
    }
}

/// Zeros that a byte string gets behind it: BINARY is filled up to its length.
pub fn padding(bytes: &[u8], kind: BytesKind, length: u32) -> usize {
    match kind {
        BytesKind::Binary => (length as usize).saturating_sub(bytes.len()),
        _ => 0,
    }
}

/// The beginning of a value for a message; bytes that are not text as `\xHH`.
pub fn printable(value: &[u8]) -> String {
    let cut = &value[..value.len().min(SHOWN_BYTES_MAX)];
    let mut text = String::with_capacity(cut.len());
    for chunk in cut.utf8_chunks() {
        text.push_str(chunk.valid());
        // A character that the cut went through is dropped, not shown as bytes.
        let cut_through =
            cut.len() < value.len() && std::ptr::eq(chunk.invalid().as_ptr_range().end, cut.as_ptr_range().end);
        if !cut_through {
            chunk.invalid().iter().for_each(|b| text.push_str(&format!("\\x{b:02X}")));
        }
    }
    text
}

/// The text without the spaces at its end.
pub(super) fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    &bytes[..end]
}

/// Returns true if a text that has more than `length` bytes is too long.
fn is_too_long(bytes: &[u8], kind: TextKind, length: u32) -> bool {
    match kind {
        // Lengths of the TEXT types are bytes.
        TextKind::Char | TextKind::VarChar => bytes.iter().filter(|b| starts_character(b)).count() > length as usize,
        _ => true,
    }
}

/// The byte position at which a text that is too long is cut.
fn cut(bytes: &[u8], kind: TextKind, length: u32) -> usize {
    let length = length as usize;
    match kind {
        TextKind::Char | TextKind::VarChar => {
            let mut starts = bytes.iter().enumerate().filter(|(_, b)| starts_character(b));
            starts.nth(length).map_or(bytes.len(), |(at, _)| at)
        }
        _ => (0..=length).rev().find(|&at| starts_character(&bytes[at])).unwrap_or(0),
    }
}

/// Returns true if the byte of UTF-8 text does not continue a character.
fn starts_character(byte: &u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let long = |kept: &'static str| Err(Unfit::new(StoreFault::TooLong, kept.as_bytes()));
        let varchar = |text: &'static str| fitted(text.as_bytes(), TextKind::VarChar, 3);
        assert_eq!(varchar("äöü"), Ok("äöü".as_bytes()));
        assert_eq!(varchar("äöüß"), long("äöü"));
        assert_eq!(varchar("abc  "), Ok(&b"abc"[..]));
        assert_eq!(fitted(b"ab ", TextKind::Char, 3), Ok(&b"ab"[..]));
        assert_eq!(fitted(b"ab  c", TextKind::Char, 3), long("ab"));
        assert_eq!(fitted("äöü".as_bytes(), TextKind::TinyText, 5), long("äö"));
        assert_eq!(valid(b"a\xFFb"), Err(Unfit::new(StoreFault::Incorrect("string"), "a")));
        assert_eq!(fitted_bytes(b"abcd", 3), Err(Unfit::new(StoreFault::TooLong, &b"abc"[..])));
        assert_eq!(padding(b"a", BytesKind::Binary, 3), 2);
        assert_eq!(printable(b"a\xFF"), "a\\xFF");
    }

    #[test]
    fn columns_hold_what_their_character_set_has() {
        let latin1 = |text: &'static str| fitted_in_charset(text.as_bytes(), TextKind::VarChar, 3, Charset::Latin1);
        let unfit = |fault, kept: &'static str| Err(Unfit::new(fault, Cow::Borrowed(kept)));
        assert_eq!(latin1("aé€"), Ok("aé€".into()));
        assert_eq!(latin1("a日"), unfit(StoreFault::Incorrect("string"), "a?"));
        assert_eq!(latin1("aéé日"), unfit(StoreFault::TooLong, "aéé"));
        let tiny = |text: &'static str, charset| fitted_in_charset(text.as_bytes(), TextKind::TinyText, 4, charset);
        assert_eq!(tiny("éééé", Charset::Latin1), Ok("éééé".into()));
        assert_eq!(tiny("aaa", Charset::Ucs2), unfit(StoreFault::TooLong, "aa"));
        assert_eq!(tiny("aa  ", Charset::Ucs2), Ok("aa".into()));
        assert_eq!(
            incorrect_part("a日本é".as_bytes(), Charset::Latin1).as_deref(),
            Some("\\xE6\\x97\\xA5\\xE6\\x9C\\xAC...")
        );
        assert_eq!(incorrect_part(b"a\xFFb", Charset::Utf8mb4).as_deref(), Some("\\xFFb"));
        assert_eq!(incorrect_part("é".as_bytes(), Charset::Latin1), None);
    }
}
