//! The Unicode Collation Algorithm, by tables: of each character the weights at up to three levels (what it is, its
//! accents, its case), and of some texts of several characters (contractions) weights of their own.
//!
//! ```text
//!   table.rs     the weights of one collation, read from the files of `crate::tables`
//!   computed.rs  weights that follow from the number of a character
//!   weights.rs   the weights of a text, one after another
//!   ranks.rs     weights as bytes of sort keys
//! ```
//!
//! A sort key of several levels is the weights of the first level, a zero, those of the second, and so on. At the first
//! level it has one byte for each ASCII character:
//!
//! ```text
//!   a weight that an ASCII character has   its rank: 2, 4, 6, ... in the order of the weights
//!   any other                              the odd number between the ranks of its neighbours, then two bytes
//! ```
//!
//! So under `utf8mb4_0900_ai_ci` letters of both cases share a rank, é, ﬁ and Ａ have the ranks of e, of f and i, and of
//! a, and combining marks and most control characters add nothing. Collations of MySQL's before 8.0 have one level and
//! PAD SPACE; those of UCA 9.0.0 have NO PAD.

mod computed;
mod ranks;
mod table;
mod weights;

pub(super) use table::WeightTable;

use super::{Collation, pad_space};
use std::cmp::Ordering;
use weights::Weights;

/// A collation of the Unicode Collation Algorithm.
#[derive(Clone, Copy)]
pub(super) struct Uca {
    pub table: &'static WeightTable,
    pub levels: usize,
    pub pads: bool,
}

impl Uca {
    pub fn of(collation: Collation, name: &str, levels: u8) -> Uca {
        Uca { table: WeightTable::of(collation, name), levels: levels.into(), pads: collation.pad_space() }
    }

    fn weights(self, text: &str, level: usize) -> Weights<'_> {
        Weights::new(self.table, level, text)
    }

    fn padded(self, text: &str) -> impl Iterator<Item = u32> {
        self.weights(text, 0).map(u32::from)
    }

    pub fn append_sort_key(self, text: &str, out: &mut Vec<u8>) {
        let ranks = &self.table.ranks;
        if self.pads {
            let push = |weight: u32, out: &mut Vec<u8>| ranks.push(weight as u16, out);
            return pad_space::append_sort_key(self.padded(text), self.space(), push, out);
        }
        self.weights(text, 0).for_each(|weight| ranks.push(weight, out));
        for level in 1..self.levels {
            out.push(0);
            self.weights(text, level).for_each(|weight| ranks::push_lower_level(weight, out));
        }
    }

    /// Appends the bytes that the keys of all texts beginning with `start` begin with; also of those that begin with
    /// characters that LIKE finds equal to these. What may be part of a contraction ends them.
    pub fn append_common_sort_key(self, start: &str, out: &mut Vec<u8>) {
        let may_contract = |c: char| self.table.contraction_starts().any(|first| self.chars_equal(c, first));
        let end = match self.table.has_contractions() {
            true => start.char_indices().find(|(_, c)| may_contract(*c)).map_or(start.len(), |(at, _)| at),
            false => start.len(),
        };
        Uca { levels: 1, ..self }.append_sort_key(&start[..end], out);
        if self.pads {
            pad_space::pop_end(out);
        }
    }

    pub fn compare(self, a: &str, b: &str) -> Ordering {
        // Weights are per character where there are no contractions.
        let same = if self.table.has_contractions() { 0 } else { super::common_prefix(a, b) };
        let (a, b) = (&a[same..], &b[same..]);
        if self.pads {
            return pad_space::compare(self.padded(a), self.padded(b), self.space(), |x, y| x.cmp(&y));
        }
        let at_level = |level| self.weights(a, level).cmp(self.weights(b, level));
        (0..self.levels).map(at_level).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The weights of a character that stands alone, level by level.
    pub fn weights_of_character(self, c: char) -> Vec<Vec<u32>> {
        let mut buffer = [0; 4];
        let text = &*c.encode_utf8(&mut buffer);
        (0..self.levels).map(|level| self.weights(text, level).map(u32::from).collect()).collect()
    }

    pub fn chars_equal(self, a: char, b: char) -> bool {
        let (mut x, mut y) = ([0; 4], [0; 4]);
        let (x, y) = (&*a.encode_utf8(&mut x), &*b.encode_utf8(&mut y));
        a == b || (0..self.levels).all(|level| self.weights(x, level).eq(self.weights(y, level)))
    }

    /// Appends the bytes that WEIGHT_STRING shows: all weights, with a zero between two levels.
    pub fn append_weights(self, text: &str, out: &mut Vec<u8>) {
        for level in 0..self.levels {
            if level > 0 {
                out.extend([0, 0]);
            }
            let unused = if self.table.has_weights_of_one_byte() { 1 } else { 0 };
            self.weights(text, level).for_each(|weight| out.extend(&weight.to_be_bytes()[unused..]));
        }
    }

    fn space(self) -> u32 {
        self.table.space.into()
    }
}

/// The sort key of an ASCII text under `utf8mb4_0900_ai_ci`, without the table.
pub(super) fn append_ascii_sort_key(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(text.bytes().map(ranks::ascii));
    if memchr::memchr(0, &out[start..]).is_some() {
        let kept: Vec<u8> = out.drain(start..).filter(|r| *r != 0).collect();
        out.extend(kept);
    }
}

/// Compares ASCII texts under `utf8mb4_0900_ai_ci`, without the table.
pub(super) fn compare_ascii(a: &str, b: &str) -> Ordering {
    let [a, b] = [a, b].map(|text| text.bytes().map(ranks::ascii).filter(|rank| *rank != 0));
    a.cmp(b)
}
