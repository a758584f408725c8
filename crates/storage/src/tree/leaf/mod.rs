//! Leaf pages: rows of a tree, one minipage per column (PAX). Drawn in `docs/format.md`, "Type 2: leaf page".
//!
//! ```text
//!   extent.rs   what encoding fits rows best, and how large they then are
//!   write.rs    rows -> page
//!   read.rs     page -> minipages -> values, keys, search
//!   search.rs   rows whose keys begin with given bytes
//!   decode.rs   page -> Arrow, many rows at once; codes.rs: texts as codes
//!   single.rs   single rows of a page
//!   visible.rs  which rows of a page a read view sees
//!   within.rs   which rows have a value in a range
//! ```

mod codes;
pub mod decode;
mod extent;
pub mod read;
pub mod search;
mod single;
pub mod visible;
pub mod within;
mod write;

#[cfg(test)]
mod tests;

pub use extent::{Fit, RowExtents};
pub use read::{Column, Leaf};
pub use write::write_leaf;

use crate::page::{PAGE_HEADER, TYPE_FIELDS};

/// The offset of the field that holds the end of the last minipage.
const USED_END: usize = TYPE_FIELDS;
/// Bytes of a directory entry.
const ENTRY: usize = 16;

const FLAG_NULLS: u8 = 1;
const FLAG_ALL_NULL: u8 = 2;
const FLAG_OVERFLOW: u8 = 4;

/// How a minipage's values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    Plain = 0,
    Constant = 1,
    Delta = 2,
    Fixed = 3,
    Dictionary = 4,
}

/// A page whose content is impossible; the file and page are added by who read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadPage(pub &'static str);

/// Bytes that rows may take in a leaf, the directory included.
pub fn room(page_size: usize) -> usize {
    // Minipages' ends are 16-bit numbers.
    page_size.min(u16::MAX as usize) - PAGE_HEADER
}

/// Most rows of a leaf. Keeps the rows of a leaf that is nearly all constants at a size one can work with.
pub fn max_rows(page_size: usize) -> usize {
    page_size / 4
}

/// Longest value that a leaf holds itself, unless a key needs it.
pub fn max_value(page_size: usize) -> usize {
    room(page_size) / 4
}

/// Largest row: two of them fit a page.
pub fn max_row(page_size: usize, columns: usize) -> usize {
    (room(page_size).saturating_sub(columns * ENTRY)) / 2
}

fn bitmap_bytes(rows: usize) -> usize {
    rows.div_ceil(8)
}
