//! One value's bytes in a key. Drawn in `docs/format.md`, "Keys".

use arrow_buffer::i256;
use muster_types::Collation;

/// The last `width` bytes of the value, big-endian.
#[inline]
pub fn int(value: i64, width: usize, signed: bool, out: &mut Vec<u8>) {
    let flipped = value as u64 ^ if signed { 1 << (8 * width - 1) } else { 0 };
    out.extend_from_slice(&flipped.to_be_bytes()[8 - width..]);
}

#[inline]
pub fn wide(value: i128, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u128 ^ (1 << 127)).to_be_bytes());
}

#[inline]
pub fn wide256(value: i256, out: &mut Vec<u8>) {
    let mut bytes = value.to_be_bytes();
    bytes[0] ^= 0x80;
    out.extend_from_slice(&bytes);
}

#[inline]
pub fn float(value: f32, out: &mut Vec<u8>) {
    // Adding zero turns -0 into 0: they are equal, so their keys must be.
    let bits = (value + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

#[inline]
pub fn double(value: f64, out: &mut Vec<u8>) {
    let bits = (value + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

pub fn text(value: &str, collation: Collation, out: &mut Vec<u8>) {
    let start = out.len();
    collation.append_sort_key(value, out);
    escape_from(start, out);
}

pub fn bytes(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(value);
    escape_from(start, out);
}

/// Escapes the zeros behind `start` and ends the part.
fn escape_from(start: usize, out: &mut Vec<u8>) {
    let zeros = out[start..].iter().filter(|b| **b == 0).count();
    if zeros > 0 {
        // Moves bytes from the end, so that each is moved once.
        let mut from = out.len();
        out.resize(from + zeros, 0);
        let mut to = out.len();
        while to > from {
            from -= 1;
            to -= 1;
            if out[from] == 0 {
                out[to] = 0xFF;
                to -= 1;
            }
            out[to] = out[from];
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The first `prefix` characters.
pub fn cut_text(text: &str, prefix: Option<u32>) -> &str {
    match prefix {
        Some(n) if text.len() > n as usize => match text.char_indices().nth(n as usize) {
            Some((end, _)) => &text[..end],
            None => text,
        },
        _ => text,
    }
}

/// The first `prefix` bytes.
pub fn cut_bytes(bytes: &[u8], prefix: Option<u32>) -> &[u8] {
    match prefix {
        Some(n) if bytes.len() > n as usize => &bytes[..n as usize],
        _ => bytes,
    }
}
