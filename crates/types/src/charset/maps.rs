//! Character sets of one to four bytes a character that are not Unicode, by their tables.
//!
//! The bytes of a character are a number: its bytes in their order, or for four bytes of `gb18030` the place of the
//! character among all that have four bytes, from 0x10000 on. The characters beyond U+FFFF stand there in their order.

use super::Charset;
use crate::tables::{self, CharacterMap, TableReader, character};
use std::{collections::HashMap, sync::OnceLock};

/// The first number of four bytes of `gb18030`.
const FOUR_BYTES: u32 = 0x10000;
/// The number of U+10000 in `gb18030`.
const SUPPLEMENTARY: u32 = FOUR_BYTES + 189_000;
const NO_CHARACTER: u32 = u32::MAX;

/// The characters of one character set.
pub(super) struct CharsetMap {
    charset: Charset,
    /// The characters of one byte.
    single: [u32; 256],
    /// The characters of more.
    longer: HashMap<u32, char>,
    /// The number of each character, plus one; 0 for those that the character set does not have.
    numbers: CharacterMap<u32>,
    /// ASCII bytes mean ASCII characters.
    pub reads_ascii: bool,
    /// ASCII characters are written as ASCII bytes.
    pub writes_ascii: bool,
}

impl CharsetMap {
    pub fn of(charset: Charset) -> &'static CharsetMap {
        static MAPS: [OnceLock<Box<CharsetMap>>; super::definitions::ALL.len()] =
            [const { OnceLock::new() }; super::definitions::ALL.len()];
        MAPS[charset as usize].get_or_init(|| Box::new(CharsetMap::read(charset)))
    }

    fn read(charset: Charset) -> CharsetMap {
        let mut reader = TableReader::new(tables::CHARSETS);
        loop {
            let name = reader.text();
            let count = reader.unsigned() as usize;
            let (mut number, mut code) = (0, 0);
            let numbers: Vec<u32> = (0..count)
                .map(|_| {
                    number += reader.unsigned() as u32;
                    number
                })
                .collect();
            let characters: Vec<char> = (0..count).map(|_| character(reader.next_after(&mut code))).collect();
            let choices = reader.unsigned() as usize;
            let choices: Vec<(u32, u32)> =
                (0..choices).map(|_| (reader.unsigned() as u32, reader.unsigned() as u32)).collect();
            if name == charset.name() {
                return CharsetMap::new(charset, &numbers, &characters, &choices);
            }
        }
    }

    /// `choices`: the numbers that characters are written as where they are not the first that mean them; 0 for those
    /// that are never written.
    fn new(charset: Charset, numbers: &[u32], characters: &[char], choices: &[(u32, u32)]) -> CharsetMap {
        let mut map = CharsetMap {
            charset,
            single: [NO_CHARACTER; 256],
            longer: HashMap::new(),
            numbers: CharacterMap::new(),
            reads_ascii: true,
            writes_ascii: true,
        };
        for (number, c) in numbers.iter().zip(characters) {
            match map.single.get_mut(*number as usize) {
                Some(single) => *single = *c as u32,
                None => {
                    map.longer.insert(*number, *c);
                }
            }
            if map.number(*c).is_none() {
                map.numbers.set(*c, number + 1, |_| 0);
            }
        }
        for (code, number) in choices {
            map.numbers.set(character(*code), if *number == 0 { 0 } else { number + 1 }, |_| 0);
        }
        map.reads_ascii = (0..0x80).all(|b| map.single[b as usize] == b);
        map.writes_ascii = (0..0x80).all(|b| map.number(character(b)) == Some(b));
        map
    }

    fn number(&self, c: char) -> Option<u32> {
        match self.numbers.get(c).unwrap_or(0).checked_sub(1) {
            None if self.charset == Charset::Gb18030 && c > '\u{FFFF}' => Some(SUPPLEMENTARY + c as u32 - 0x10000),
            number => number,
        }
    }

    pub fn has(&self, c: char) -> bool {
        self.number(c).is_some()
    }

    /// Appends the bytes of a character; returns false if the character set does not have it.
    pub fn encode(&self, c: char, out: &mut Vec<u8>) -> bool {
        let Some(number) = self.number(c) else { return false };
        if self.charset == Charset::Gb18030 && number >= FOUR_BYTES {
            let place = number - FOUR_BYTES;
            let digits = [place / 12_600, place / 1_260 % 10, place / 10 % 126, place % 10];
            out.extend(digits.iter().zip([0x81, 0x30, 0x81, 0x30]).map(|(digit, first)| *digit as u8 + first));
        } else {
            let bytes = number.to_be_bytes();
            out.extend_from_slice(&bytes[(number.leading_zeros() as usize / 8).min(3)..]);
        }
        true
    }

    /// The character that the bytes begin with, and how many bytes it has.
    pub fn decode(&self, bytes: &[u8]) -> Option<(char, usize)> {
        let first = *bytes.first()?;
        if let Some(c) = char::from_u32(self.single[first as usize]) {
            return Some((c, 1));
        }
        let number = |n: usize| bytes.get(..n).map(|b| b.iter().fold(0, |number, b| number << 8 | u32::from(*b)));
        if let Some(c) = number(2).and_then(|number| self.longer.get(&number)) {
            return Some((*c, 2));
        }
        if self.charset == Charset::Gb18030 {
            return self.decode_four(bytes.get(..4)?).map(|c| (c, 4));
        }
        number(3).and_then(|number| self.longer.get(&number)).map(|c| (*c, 3))
    }

    fn decode_four(&self, bytes: &[u8]) -> Option<char> {
        let digit =
            |i: usize, first: u8, count: u8| bytes[i].checked_sub(first).filter(|digit| *digit < count).map(u32::from);
        let (a, b, c, d) = (digit(0, 0x81, 126)?, digit(1, 0x30, 10)?, digit(2, 0x81, 126)?, digit(3, 0x30, 10)?);
        let number = FOUR_BYTES + a * 12_600 + b * 1_260 + c * 10 + d;
        match number.checked_sub(SUPPLEMENTARY) {
            Some(place) => char::from_u32(0x10000 + place),
            None => self.longer.get(&number).copied(),
        }
    }
}
