//! Tables of character sets and collations, as files of numbers that `generate.py` makes. The layout of each file is in
//! `README.md`.

use flate2::read::ZlibDecoder;
use std::io::Read;

/// The characters of the character sets that are not Unicode.
pub(crate) static CHARSETS: &[u8] = include_bytes!("charsets.zlib");
/// Weights of collations whose characters have one weight each.
pub(crate) static ORDERS: &[u8] = include_bytes!("orders.zlib");
/// Weights of the Unicode Collation Algorithm, by version.
pub(crate) static UCA_9_0_0: &[u8] = include_bytes!("uca_9.0.0.zlib");
pub(crate) static UCA_5_2_0: &[u8] = include_bytes!("uca_5.2.0.zlib");
pub(crate) static UCA_4_0_0: &[u8] = include_bytes!("uca_4.0.0.zlib");
/// What languages change of them.
pub(crate) static UCA_TAILORINGS: &[u8] = include_bytes!("uca_tailorings.zlib");

/// The numbers of a file, from the front. The files are part of the program, so what would be a damaged one is a
/// programming error, and reading past the end panics.
pub(crate) struct TableReader {
    bytes: Vec<u8>,
    at: usize,
}

impl TableReader {
    pub fn new(compressed: &[u8]) -> TableReader {
        let mut bytes = Vec::new();
        ZlibDecoder::new(compressed).read_to_end(&mut bytes).expect("the table was compressed by zlib");
        TableReader { bytes, at: 0 }
    }

    pub fn bytes(&mut self, n: usize) -> &[u8] {
        self.at += n;
        &self.bytes[self.at - n..self.at]
    }

    /// A number in groups of seven bits, the lowest first.
    pub fn unsigned(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.bytes(1)[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }

    /// A number whose lowest bit says that it is negative.
    pub fn signed(&mut self) -> i64 {
        let number = self.unsigned();
        if number & 1 == 0 { (number >> 1) as i64 } else { -1 - (number >> 1) as i64 }
    }

    pub fn text(&mut self) -> String {
        let length = self.unsigned() as usize;
        String::from_utf8(self.bytes(length).to_vec()).expect("names of tables are ASCII")
    }

    /// A number that is given as its difference from the one before.
    pub fn next_after(&mut self, before: &mut u32) -> u32 {
        *before = u32::try_from(i64::from(*before) + self.signed()).expect("the table has numbers of 32 bits");
        *before
    }
}

/// The character of a number in a table.
pub(crate) fn character(code: u32) -> char {
    char::from_u32(code).expect("the table has characters")
}

/// Values of characters in blocks of 256; most blocks of the code space have none.
pub(crate) struct CharacterMap<T> {
    blocks: Vec<Option<Box<[T; 256]>>>,
}

impl<T: Copy> CharacterMap<T> {
    pub fn new() -> CharacterMap<T> {
        CharacterMap { blocks: (0..0x1100).map(|_| None).collect() }
    }

    pub fn get(&self, c: char) -> Option<T> {
        let code = c as usize;
        self.blocks[code >> 8].as_ref().map(|block| block[code & 0xFF])
    }

    /// `absent`: what the other characters of the block have until they are set.
    pub fn set(&mut self, c: char, value: T, absent: impl Fn(u32) -> T) {
        let code = c as u32;
        let block = self.blocks[code as usize >> 8]
            .get_or_insert_with(|| Box::new(std::array::from_fn(|low| absent(code & !0xFF | low as u32))));
        block[code as usize & 0xFF] = value;
    }
}
