//! Short keys as numbers that compare as their bytes do: searching a page compares one word per row.

use super::{KeyCodec, KeyKind, KeyPartCodec, KeyRow};

/// Bytes of a word.
const WORD: usize = 16;

/// Makes words from the leading parts of keys. Each part has its place in the word; NULL leaves the rest of its place
/// empty.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyWords {
    parts: Vec<WordPart>,
    /// Every key is as long as the places are, so its bytes are the word's.
    plain: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct WordPart {
    codec: KeyPartCodec,
    /// Bytes of a value.
    width: usize,
    /// Bits behind the part.
    shift: usize,
}

impl KeyWords {
    /// Makes words of the first `parts` parts of keys; `None` if some keys do not fit a word.
    pub fn new(codec: &KeyCodec, parts: usize) -> Option<KeyWords> {
        let mut words = KeyWords { parts: Vec::with_capacity(parts), plain: true };
        let mut end = 0;
        for (i, part) in codec.parts.iter().enumerate().take(parts) {
            let width = part.kind.fixed_width()?;
            end += width + part.nullable as usize;
            if end > WORD {
                return None;
            }
            words.plain &= !part.nullable || i + 1 == parts;
            words.parts.push(WordPart { codec: part.clone(), width, shift: 8 * (WORD - end) });
        }
        Some(words)
    }

    /// Words of whole keys of a tree, which all have the same length; `None` if they may differ in length or do not
    /// fit.
    pub fn of_whole_keys(codec: &KeyCodec) -> Option<KeyWords> {
        let is_fixed = codec.parts.iter().all(|part| !part.nullable);
        if is_fixed { KeyWords::new(codec, codec.parts.len()) } else { None }
    }

    /// A key, whole or not, as a bound of the words of whole keys.
    pub fn bound(&self, key: &[u8]) -> WordBound {
        let bytes = self.parts.last().map_or(0, |last| WORD - last.shift / 8);
        WordBound { word: be_word(&key[..key.len().min(bytes)]), longer: key.len() > bytes }
    }

    /// The word of a key with exactly these parts.
    pub fn of_key(&self, key: &[u8]) -> u128 {
        if self.plain {
            return be_word(key);
        }
        let (mut word, mut at) = (0, 0);
        for part in &self.parts {
            let rest = key.get(at..).unwrap_or(&[]);
            let len = part.codec.len_in(rest).unwrap_or(rest.len());
            let place = part.width + part.codec.nullable as usize;
            // The part's bytes at the front of its place.
            word |= be_word(&rest[..len.min(place)]) >> (8 * WORD - part.shift - 8 * place);
            at += len;
        }
        word
    }

    /// The word of a row's key.
    pub fn of_row(&self, row: &impl KeyRow) -> u128 {
        self.parts.iter().fold(0, |word, part| word | part.of_row(row))
    }

    /// The words of rows 0 to `count` - 1, column by column.
    pub fn of_rows<R: KeyRow>(&self, row: impl Fn(usize) -> R, count: usize, words: &mut Vec<u128>) {
        words.clear();
        words.resize(count, 0);
        for part in &self.parts {
            words.iter_mut().enumerate().for_each(|(i, word)| *word |= part.of_row(&row(i)));
        }
    }
}

/// A bound that keys are compared with as words.
#[derive(Debug, Clone, Copy)]
pub struct WordBound {
    word: u128,
    /// True if the bound goes on behind the bytes of a whole key, so that the key with these bytes is below it.
    longer: bool,
}

impl WordBound {
    /// Returns true if the key with this word is less than the bound.
    #[inline]
    pub fn is_above(&self, word: u128) -> bool {
        word < self.word || self.longer && word == self.word
    }
}

/// Makes words of eight bytes of keys that are one whole number, never NULL: words of all rows of a leaf are made as
/// fast as the column is decoded.
#[derive(Debug, Clone, Copy)]
pub struct NumberWords {
    pub column: usize,
    width: usize,
    mask: u64,
    /// The bits that make numbers compare as their keys do.
    flip: u64,
}

impl NumberWords {
    /// For the first `parts` parts; `None` if they are not such a number.
    pub fn new(codec: &KeyCodec, parts: usize) -> Option<NumberWords> {
        let (1, Some(part)) = (parts, codec.parts.first().filter(|part| !part.nullable)) else { return None };
        let (width, signed) = match part.kind {
            KeyKind::Int { width, signed } => (width, signed),
            KeyKind::Decimal64 { .. } => (8, true),
            _ => return None,
        };
        let mask = u64::MAX >> (64 - 8 * width);
        let sign = if signed { 1 << (8 * width - 1) } else { 0 };
        let flip = if part.descending { sign ^ mask } else { sign };
        Some(NumberWords { column: part.column, width, mask, flip })
    }

    /// The word of a key with exactly this part.
    pub fn of_key(&self, key: &[u8]) -> u64 {
        (be_word(key) >> (8 * (WORD - self.width))) as u64
    }

    /// The word of a row's number.
    #[inline]
    pub fn of_number(&self, number: i64) -> u64 {
        (number as u64 & self.mask) ^ self.flip
    }
}

/// The first 16 bytes as a word; what is missing is 0.
pub fn be_word(bytes: &[u8]) -> u128 {
    let mut word = [0; WORD];
    let len = bytes.len().min(WORD);
    word[..len].copy_from_slice(&bytes[..len]);
    u128::from_be_bytes(word)
}

impl WordPart {
    #[inline]
    fn of_row(&self, row: &impl KeyRow) -> u128 {
        let column = self.codec.column;
        let null = self.codec.nullable && row.is_null(column);
        let mask = u128::MAX >> (8 * (WORD - self.width));
        let sign = 1u128 << (8 * self.width - 1);
        let value = match self.codec.kind {
            _ if null => 0,
            KeyKind::Int { signed, .. } => (row.int(column) as u128 & mask) ^ if signed { sign } else { 0 },
            KeyKind::Decimal64 { .. } => (row.int(column) as u128 & mask) ^ sign,
            KeyKind::Decimal128 { .. } => row.wide(column) as u128 ^ sign,
            KeyKind::Float => {
                let bits = (f32::from_bits(row.int(column) as u32) + 0.0).to_bits();
                u128::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
            }
            KeyKind::Double => {
                let bits = (f64::from_bits(row.int(column) as u64) + 0.0).to_bits();
                u128::from(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
            }
            KeyKind::Decimal256 { .. } | KeyKind::Text(_) | KeyKind::Bytes => 0,
        };
        let value = if self.codec.descending && !null { value ^ mask } else { value };
        if !self.codec.nullable {
            return value << self.shift;
        }
        let flag = match (null, self.codec.descending) {
            (false, false) => 0x01,
            (false, true) => 0xFE,
            (true, false) => 0x00,
            (true, true) => 0xFF,
        };
        (value | flag << (8 * self.width)) << self.shift
    }
}
