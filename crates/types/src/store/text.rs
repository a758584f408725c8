//! Texts and byte strings: how much of one a column holds, and the form in which it is stored.

use super::{StoreFault, Unfit};
use crate::{BytesKind, TextKind};

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
        assert_eq!(fitted("äöü".as_bytes(), TextKind::TinyText, 5), long("äö"));
        assert_eq!(valid(b"a\xFFb"), Err(Unfit::new(StoreFault::Incorrect("string"), "a")));
        assert_eq!(fitted_bytes(b"abcd", 3), Err(Unfit::new(StoreFault::TooLong, &b"abc"[..])));
        assert_eq!(padding(b"a", BytesKind::Binary, 3), 2);
        assert_eq!(printable(b"a\xFF"), "a\\xFF");
    }
}
