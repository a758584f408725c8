//! `utf8mb4_general_ci`: each character weighs as its simple upper case without accents.
//!
//! One character never equals two ('ß' = 's', not 'ss'), and characters beyond the Basic Multilingual Plane all weigh
//! the same. MySQL has case and accents for some blocks only; the others stand for themselves.

use super::pad_space::Weights;
use icu_normalizer::DecomposingNormalizerBorrowed;
use std::sync::OnceLock;

pub(super) struct Folded;

impl Weights for Folded {
    fn ascii(byte: u8) -> u8 {
        byte.to_ascii_uppercase()
    }

    fn of(c: char) -> u32 {
        fold(c) as u32
    }

    fn push(weight: u32, out: &mut Vec<u8>) {
        super::pad_space::push_utf8(weight, out);
    }
}

/// The weight, as a character.
pub(super) fn fold(c: char) -> char {
    static PAGES: [OnceLock<Box<[char; 256]>>; 256] = [const { OnceLock::new() }; 256];
    let code = c as u32;
    if code < 0x80 {
        return c.to_ascii_uppercase();
    }
    if code > 0xFFFF {
        return char::REPLACEMENT_CHARACTER;
    }
    let page = code >> 8;
    if !matches!(page, 0x00..=0x05 | 0x1E | 0x1F | 0x21 | 0x24 | 0xFF) {
        return c;
    }
    let page = PAGES[page as usize].get_or_init(|| {
        Box::new(std::array::from_fn(|low| char::from_u32(page << 8 | low as u32).map_or('\u{FFFD}', compute)))
    });
    page[code as usize & 0xFF]
}

fn compute(c: char) -> char {
    match c {
        'ß' => return 'S',
        // Letters of their own in MySQL's table, though Unicode takes them apart.
        'й' | 'Й' => return 'Й',
        _ => {}
    }
    let text = c.to_string();
    let parts = DecomposingNormalizerBorrowed::new_nfd().normalize(&text);
    let base = parts.chars().next().unwrap_or(c);
    let mut upper = base.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) if (single as u32) <= 0xFFFF => single,
        _ => base,
    }
}
