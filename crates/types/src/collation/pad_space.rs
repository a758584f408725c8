//! PAD SPACE: texts compare as if the shorter one went on with spaces.
//!
//! So 'a' = 'a  ', and 'a' > "a\t" because a tab is less than a space. Sort keys are compared as bytes, with the end of
//! the shorter one first, so a run of spaces is written together with what follows it. At each point of a key stands
//! one of these, in this order:
//!
//! ```text
//!   01 n  w...   n >= 0 spaces, then a character w below space; fewer spaces first
//!   02           nothing but spaces up to the end
//!   03 ~n w...   n >= 1 spaces, then a character w above space; more spaces first
//!   w            a character above space
//! ```
//!
//! `n` is one byte per 254 spaces: 255 means that more follow.

use std::cmp::Ordering;

const BELOW: u8 = 1;
const END: u8 = 2;
const ABOVE: u8 = 3;
const SPACE: u32 = 0x20;

/// The weight of each character. A space weighs 0x20 and nothing else does; what is above it in ASCII stays above.
pub(super) trait Weights {
    fn ascii(byte: u8) -> u8;
    fn of(c: char) -> u32;
    /// Writes a weight so that bytes compare as weights do; the first byte of weights above space is above 0x20.
    fn push(weight: u32, out: &mut Vec<u8>);
}

/// A weight that is a code point, as UTF-8.
pub(super) fn push_utf8(weight: u32, out: &mut Vec<u8>) {
    let c = char::from_u32(weight).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

pub(super) fn append_sort_key<W: Weights>(text: &str, out: &mut Vec<u8>) {
    let text = text.trim_end_matches(' ');
    out.reserve(text.len() + 1);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte > 0x20 && byte < 0x80 {
            out.push(W::ascii(byte));
            at += 1;
        } else if byte >= 0x80 {
            let c = char_at(text, at);
            W::push(W::of(c), out);
            at += c.len_utf8();
        } else {
            let spaces = bytes[at..].iter().take_while(|b| **b == b' ').count();
            at += spaces;
            // Spaces at the end are cut off, so a byte follows.
            if bytes[at] < b' ' {
                out.push(BELOW);
                push_count(spaces, 0x00, out);
                out.push(W::ascii(bytes[at]));
                at += 1;
            } else {
                out.push(ABOVE);
                push_count(spaces, 0xFF, out);
            }
        }
    }
    out.push(END);
}

/// Takes the end mark from a sort key: what remains begins the keys of all texts that begin with this one.
pub(super) fn pop_end(key: &mut Vec<u8>) {
    debug_assert_eq!(key.last(), Some(&END));
    key.pop();
}

/// `flip` 0xFF turns the order round.
fn push_count(mut n: usize, flip: u8, out: &mut Vec<u8>) {
    while n >= 255 {
        out.push(255 ^ flip);
        n -= 254;
    }
    out.push(n as u8 ^ flip);
}

fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or(' ')
}

pub(super) fn compare<W: Weights>(a: &str, b: &str) -> Ordering {
    let same = super::common_prefix(a, b);
    let (mut a, mut b) = (a[same..].chars(), b[same..].chars());
    let weight = |c: char| if c.is_ascii() { W::ascii(c as u8) as u32 } else { W::of(c) };
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (Some(x), Some(y)) => (weight(x), weight(y)),
            (Some(x), None) => (weight(x), SPACE),
            (None, Some(y)) => (SPACE, weight(y)),
            (None, None) => return Ordering::Equal,
        };
        match x.cmp(&y) {
            Ordering::Equal => {}
            decided => return decided,
        }
    }
}
