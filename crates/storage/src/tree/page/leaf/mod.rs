//! Leaf pages: rows of a tree, one minipage per column (PAX). Drawn in `docs/format.md`, "Type 2: leaf page".
//!
//! ```text
//!   read.rs     page -> columns, rows by position; column.rs: one column
//!   fences.rs   the bounds of a page's keys
//!   slot.rs     what was changed since the base was written
//!   record.rs   rows that lie in a page as rows
//!   patch.rs    parts of rows
//!   edit.rs     where a key is, and a change of a row as one of its slot; changes.rs makes it in the page
//!   check.rs    whether the slots and records of a page are what they should be
//!   encode.rs   slots and base -> a new base; split.rs: one page -> two, two -> one
//!   extent.rs   what encoding fits rows best, and how large they then are
//!   write.rs    rows -> page
//!   rows.rs     some rows of a page, in the form that decodes them fastest
//!   keys.rs     keys of rows; bound.rs: search for one
//!   search.rs   rows whose keys begin with given bytes
//!   decode.rs   page -> Arrow, many rows at once; views.rs: texts as views; codes.rs: as codes
//!   single.rs   single rows of a page
//!   visible.rs  which rows of a page a read view sees
//!   within.rs   which rows have a value in a range
//! ```

mod bound;
pub mod changes;
mod check;
mod codes;
mod column;
pub mod decode;
mod edit;
pub mod encode;
mod extent;
mod fences;
mod keys;
mod patch;
pub(crate) mod planted;
mod read;
pub mod record;
pub mod rows;
pub mod search;
pub mod single;
pub mod slot;
pub mod split;
mod views;
pub mod visible;
pub mod within;
mod write;

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod leaf_bench;
#[cfg(test)]
mod tests;

pub use column::Column;
pub use edit::LeafPosition;
pub use extent::{Fit, RowExtents};
pub use fences::Fences;
pub use read::Leaf;
pub use write::write_leaf;

use super::inner::max_key;
pub use crate::page::leaf_fields::SLOT;
use crate::page::leaf_fields::{HIGH_FENCE, LOW_FENCE, MINIPAGES_END, RECORDS_DEAD, RECORDS_START, SLOT_COUNT};
use crate::page::{PAGE_HEADER, PageHeader, PageType, u16_at};

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

/// Returns true for a leaf page that has slots.
pub(crate) fn has_slots(page: &[u8]) -> bool {
    PageHeader(page).page_type() == Some(PageType::Leaf) && u16_at(page, SLOT_COUNT) > 0
}

/// Bytes that rows and fences may take in a leaf, the directory included.
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

/// Largest row: two of them fit a page, and one fits between the longest fences.
pub fn max_row(page_size: usize, columns: usize) -> usize {
    let minipages = room(page_size).saturating_sub(columns * ENTRY);
    (minipages / 2).min(minipages.saturating_sub(2 * max_key(page_size)))
}

fn bitmap_bytes(rows: usize) -> usize {
    rows.div_ceil(8)
}
