//! Collations whose characters have one weight each, by their tables: `utf8mb4_general_ci` and its like, and those of
//! the character sets that are not Unicode.
//!
//! One character never equals two ('ß' = 's', not 'ss'). Under `utf8mb4_general_ci` the weight of a character is
//! another character, and characters beyond the Basic Multilingual Plane all weigh the same. Under the others it is up
//! to four bytes, usually those of the character in its character set; a character that the character set does not
//! have weighs as `?`, which a conversion makes of it.

use super::{Algorithm, Collation, definitions, pad_space};
use crate::{
    charset::{self, Charset},
    tables::{self, CharacterMap, TableReader, character},
};
use std::{cmp::Ordering, sync::OnceLock};

/// The weights of one collation.
pub(super) struct OrderTable {
    usual: UsualWeight,
    ascii: [u32; 128],
    /// Weights of the other characters that the file has.
    others: CharacterMap<u32>,
    unknown: u32,
    /// Texts of ASCII are equal exactly if they are so but for the case of letters.
    pub ascii_folds_case: bool,
    /// ASCII characters weigh what their upper case does in ASCII.
    pub ascii_weighs_upper_case: bool,
}

/// What all characters beyond U+FFFF weigh.
const SUPPLEMENTARY: u32 = 0xFFFD;

impl OrderTable {
    /// The table of a collation whose algorithm is [`Algorithm::Order`] or [`Algorithm::Encoded`].
    pub fn of(collation: Collation) -> &'static OrderTable {
        static TABLES: [OnceLock<Box<OrderTable>>; definitions::ALL.len()] =
            [const { OnceLock::new() }; definitions::ALL.len()];
        TABLES[collation as usize].get_or_init(|| {
            let charset = collation.character_set();
            let charset = (!charset.is_unicode()).then_some(charset);
            let (usual, entries) = match (charset, collation.definition().algorithm) {
                (None, Algorithm::Order(name)) => (UsualWeight::Character, read(name)),
                (Some(Charset::Gb18030), Algorithm::Order(name)) => (UsualWeight::Gb18030Place, read(name)),
                (Some(charset), Algorithm::Order(name)) => (UsualWeight::Bytes(charset), read(name)),
                (charset, _) => (UsualWeight::Bytes(charset.unwrap_or(Charset::Utf8mb4)), Vec::new()),
            };
            Box::new(OrderTable::new(usual, entries))
        })
    }

    fn new(usual: UsualWeight, entries: Vec<(char, u32)>) -> OrderTable {
        let mut table = OrderTable {
            usual,
            ascii: [0; 128],
            others: CharacterMap::new(),
            unknown: 0,
            ascii_folds_case: false,
            ascii_weighs_upper_case: false,
        };
        table.unknown = match usual {
            UsualWeight::Character => SUPPLEMENTARY,
            _ => usual.of('?').unwrap_or(SUPPLEMENTARY),
        };
        for code in 0..128 {
            table.ascii[code as usize] = usual.of(character(code)).unwrap_or(table.unknown);
        }
        let unknown = table.unknown;
        for (c, weight) in entries {
            match table.ascii.get_mut(c as usize) {
                Some(ascii) => *ascii = weight,
                None => table
                    .others
                    .set(c, weight, |code| char::from_u32(code).and_then(|c| usual.of(c)).unwrap_or(unknown)),
            }
        }
        let weighs = |b: u8| table.ascii[b as usize];
        table.ascii_folds_case =
            (0..128).all(|a: u8| (0..128).all(|b: u8| (weighs(a) == weighs(b)) == a.eq_ignore_ascii_case(&b)));
        table.ascii_weighs_upper_case = (0..128).all(|b: u8| weighs(b) == u32::from(b.to_ascii_uppercase()));
        table
    }

    #[inline]
    pub fn weight(&self, c: char) -> u32 {
        match self.ascii.get(c as usize) {
            Some(weight) => *weight,
            None => self.weight_beyond_ascii(c),
        }
    }

    fn weight_beyond_ascii(&self, c: char) -> u32 {
        self.others.get(c).unwrap_or_else(|| self.usual.of(c).unwrap_or(self.unknown))
    }

    pub fn space(&self) -> u32 {
        self.ascii[b' ' as usize]
    }

    pub fn append_sort_key(&self, text: &str, out: &mut Vec<u8>) {
        out.reserve(text.len() + 1);
        let weights = text.chars().map(|c| self.weight(c));
        match self.usual {
            UsualWeight::Character => pad_space::append_sort_key(weights, self.space(), push_character, out),
            _ => pad_space::append_sort_key(weights, self.space(), push_bytes, out),
        }
    }

    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        let [a, b] = [a, b].map(|text| text.chars().map(|c| self.weight(c)));
        let order: fn(u32, u32) -> Ordering = match self.usual {
            UsualWeight::Character => |x, y| x.cmp(&y),
            _ => |x, y| first_bytes_first(x).cmp(&first_bytes_first(y)),
        };
        pad_space::compare(a, b, self.space(), order)
    }

    /// Appends the bytes that WEIGHT_STRING shows.
    pub fn append_weights(&self, text: &str, out: &mut Vec<u8>) {
        for c in text.chars() {
            match self.usual {
                UsualWeight::Character => out.extend((self.weight(c) as u16).to_be_bytes()),
                _ => push_bytes(self.weight(c), out),
            }
        }
    }
}

/// The weights of characters that the table has none for.
#[derive(Debug, Clone, Copy)]
enum UsualWeight {
    /// The character itself.
    Character,
    /// The bytes of the character.
    Bytes(Charset),
    /// The bytes of the character in `gb18030`; of four bytes its place among all characters that have four.
    Gb18030Place,
}

/// The first weight of characters of four bytes in `gb18030`.
const FIRST_PLACE: u32 = 0xFF00_0000;

impl UsualWeight {
    /// `None` if the character set does not have the character.
    fn of(self, c: char) -> Option<u32> {
        let charset = match self {
            UsualWeight::Character => return u16::try_from(c as u32).ok().map(u32::from),
            UsualWeight::Bytes(charset) => charset,
            UsualWeight::Gb18030Place => Charset::Gb18030,
        };
        if !charset.has(c) {
            return None;
        }
        let bytes = charset::encode(charset, c.encode_utf8(&mut [0; 4])).into_owned();
        Some(match (self, bytes.as_slice()) {
            (UsualWeight::Gb18030Place, [a, b, c, d]) => {
                let digit = |byte: u8, first: u8| u32::from(byte - first);
                let place = (digit(*a, 0x81) * 10 + digit(*b, 0x30)) * 126 + digit(*c, 0x81);
                FIRST_PLACE + place * 10 + digit(*d, 0x30)
            }
            _ => bytes.iter().fold(0, |weight, b| weight << 8 | u32::from(*b)),
        })
    }
}

/// A weight that is a character, as UTF-8.
#[inline]
fn push_character(weight: u32, out: &mut Vec<u8>) {
    if weight < 0x80 {
        return out.push(weight as u8);
    }
    let c = char::from_u32(weight).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// A weight of up to four bytes.
fn push_bytes(weight: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&weight.to_be_bytes()[(weight.leading_zeros() as usize / 8).min(3)..]);
}

/// The bytes of a weight at the upper end of the number, so that numbers compare as bytes do.
fn first_bytes_first(weight: u32) -> u32 {
    weight.wrapping_shl(weight.leading_zeros() & !7)
}

fn read(name: &str) -> Vec<(char, u32)> {
    let mut reader = TableReader::new(tables::ORDERS);
    loop {
        let is_wanted = reader.text() == name;
        let _base = reader.text();
        let count = reader.unsigned() as usize;
        let (mut code, mut weight) = (0, 0);
        let codes: Vec<u32> = (0..count)
            .map(|_| {
                code += reader.unsigned() as u32;
                code
            })
            .collect();
        let weights: Vec<u32> = (0..count).map(|_| reader.next_after(&mut weight)).collect();
        if is_wanted {
            return codes.into_iter().map(character).zip(weights).collect();
        }
    }
}
