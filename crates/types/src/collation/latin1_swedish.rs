//! `latin1_swedish_ci`: bytes of Windows-1252 in Swedish order without case: A-Z, then Å, then Ä and Æ, then Ö.
//!
//! A character that the character set does not have weighs as `?`, which a conversion makes of it.

use super::pad_space::Weights;
use crate::charset;

/// Weights of the bytes 0xC0 to 0xFF (MySQL, `latin1_swedish_ci`); bytes below stand for themselves, letters in
/// upper case.
const ACCENTED: [u8; 64] = *b"AAAA\x5C\x5B\x5CCEEEEIIIIDNOOOO\x5D\xD7\xD8UUUYY\xDE\xDF\
AAAA\x5C\x5B\x5CCEEEEIIIIDNOOOO\x5D\xF7\xD8UUUYY\xDE\xFF";

pub(super) struct Swedish;

impl Weights for Swedish {
    fn ascii(byte: u8) -> u8 {
        byte.to_ascii_uppercase()
    }

    fn of(c: char) -> u32 {
        weight(c) as u32
    }

    fn push(weight: u32, out: &mut Vec<u8>) {
        out.push(weight as u8);
    }
}

pub(super) fn weight(c: char) -> u8 {
    match charset::latin1_byte(c).unwrap_or(b'?') {
        byte @ 0xC0.. => ACCENTED[byte as usize - 0xC0],
        byte => byte.to_ascii_uppercase(),
    }
}
