//! PAD SPACE: texts compare as if the shorter one went on with spaces.
//!
//! So 'a' = 'a  ', and 'a' > "a\t" because a tab is less than a space. Sort keys are compared as bytes, with the end of
//! the shorter one first, so a run of spaces is written together with what follows it. At each point of a key stands
//! one of these, in this order:
//!
//! ```text
//!   01 n  w...   n >= 0 spaces, then a weight w below that of a space; fewer spaces first
//!   02           nothing but spaces up to the end
//!   03 ~n w...   n >= 1 spaces, then a weight w above that of a space; more spaces first
//!   w            a weight above that of a space
//! ```
//!
//! `n` is one byte per 254 spaces: 255 means that more follow. What weighs as much as a space is one.

use std::cmp::Ordering;

const BELOW: u8 = 1;
const END: u8 = 2;
const ABOVE: u8 = 3;

/// Appends the sort key of the weights of a text. `push` writes a weight so that bytes compare as weights do; the first
/// byte of weights above a space is above 3.
#[inline]
pub(super) fn append_sort_key(
    weights: impl Iterator<Item = u32>,
    space: u32,
    push: impl Fn(u32, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    let mut spaces = 0;
    for weight in weights {
        match weight.cmp(&space) {
            Ordering::Equal => {
                spaces += 1;
                continue;
            }
            Ordering::Less => {
                out.push(BELOW);
                push_count(spaces, 0x00, out);
            }
            Ordering::Greater if spaces > 0 => {
                out.push(ABOVE);
                push_count(spaces, 0xFF, out);
            }
            Ordering::Greater => {}
        }
        spaces = 0;
        push(weight, out);
    }
    out.push(END);
}

/// Takes the end mark from a sort key: what remains begins the keys of all texts that begin with this one. How a run of
/// spaces is written depends on what follows it, so spaces at the end are not in it.
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

/// Compares the weights of two texts.
#[inline]
pub(super) fn compare(
    mut a: impl Iterator<Item = u32>,
    mut b: impl Iterator<Item = u32>,
    space: u32,
    order: impl Fn(u32, u32) -> Ordering,
) -> Ordering {
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (Some(x), Some(y)) => (x, y),
            (Some(x), None) => (x, space),
            (None, Some(y)) => (space, y),
            (None, None) => return Ordering::Equal,
        };
        match order(x, y) {
            Ordering::Equal => {}
            decided => return decided,
        }
    }
}
