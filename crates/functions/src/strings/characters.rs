//! Texts and byte strings as sequences of characters; each byte of a byte string is one.

use crate::Call;
use muster_types::{Collation, Value, charset, charset::Charset};
use std::borrow::Cow;

/// A text or a byte string.
#[derive(Debug, Clone)]
pub struct Characters<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub is_binary: bool,
}

impl<'a> Characters<'a> {
    /// An argument that is not NULL.
    pub fn of(args: &'a [Value], i: usize) -> Characters<'a> {
        match args.get(i) {
            Some(Value::Text(text)) => Characters { bytes: Cow::Borrowed(text.as_bytes()), is_binary: false },
            Some(Value::Bytes(bytes)) => Characters { bytes: Cow::Borrowed(bytes), is_binary: true },
            other => {
                let text = other.and_then(|value| value.to_text(6)).unwrap_or_default();
                Characters { bytes: text.into_bytes().into(), is_binary: false }
            }
        }
    }

    /// The same bytes as a text or as a byte string.
    pub fn value(&self, bytes: Vec<u8>) -> Value {
        if self.is_binary {
            return Value::Bytes(bytes);
        }
        Value::Text(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
        })
    }

    /// Number of characters.
    pub fn count(&self) -> usize {
        if self.is_binary { self.bytes.len() } else { self.bytes.iter().filter(|b| begins_character(**b)).count() }
    }

    /// The byte at which a character begins, counted from 0; the end of the text if it has fewer.
    pub fn offset(&self, characters: usize) -> usize {
        if self.is_binary {
            return characters.min(self.bytes.len());
        }
        let starts = self.bytes.iter().enumerate().filter(|(_, b)| begins_character(**b));
        starts.map(|(at, _)| at).nth(characters).unwrap_or(self.bytes.len())
    }

    /// Positions of a needle that is not empty, from the front, none of which overlap.
    pub fn positions<'s>(&'s self, needle: &'s [u8]) -> impl Iterator<Item = usize> + 's {
        let mut from = 0;
        std::iter::from_fn(move || {
            while from + needle.len() <= self.bytes.len() {
                let at = from;
                if self.bytes[at..].starts_with(needle) {
                    from = at + needle.len();
                    return Some(at);
                }
                from += 1;
            }
            None
        })
    }
}

/// Returns true for the first byte of a character in UTF-8.
fn begins_character(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// The bytes of an argument in its character set; those of a number are its digits.
pub fn bytes_in_charset<'a>(call: &Call, args: &'a [Value], i: usize) -> Cow<'a, [u8]> {
    let ty = call.types.get(i).copied().flatten();
    let charset = ty.and_then(|ty| ty.collation()).map_or(Charset::Utf8mb4, Collation::character_set);
    match args.get(i) {
        Some(Value::Bytes(bytes)) => Cow::Borrowed(bytes),
        Some(Value::Text(text)) => charset::encode(charset, text),
        _ => call.text(args, i).unwrap_or_default().into_bytes().into(),
    }
}
