//! `utf8mb4_bin`: code points, which UTF-8 orders as bytes do.

use super::pad_space::Weights;

pub(super) struct CodePoints;

impl Weights for CodePoints {
    fn ascii(byte: u8) -> u8 {
        byte
    }

    fn of(c: char) -> u32 {
        c as u32
    }

    fn push(weight: u32, out: &mut Vec<u8>) {
        super::pad_space::push_utf8(weight, out);
    }
}
