//! Writing leaves.

use super::{
    ENTRY, Encoding, FLAG_ALL_NULL, FLAG_NULLS, FLAG_OVERFLOW, Fences, Fit, MINIPAGES_END, RowExtents, extent::Extent,
};
use crate::{
    page::{PAGE_HEADER, PageHeaderMut, PageType},
    tree::page::block::{BlockValues, ColumnBlock, RowBlock},
};
use std::ops::Range;

/// Writes the extents' rows as a leaf over the whole of `page`: header (without number, checksum, right link and
/// transaction), directory, minipages and fences. The rows must fit: `extents.bytes()` and the bytes of the fences
/// together are at most the page's room. `fit`: of the tree, with the bytes of each column's plain ints.
pub fn write_leaf(block: &RowBlock, extents: &RowExtents, fit: &Fit, fences: Fences<'_>, page: &mut [u8]) {
    let (rows, widths) = (extents.rows(), &fit.widths);
    let columns = block.columns.len();
    page.fill(0);
    let mut header = PageHeaderMut(page);
    header.set_page_type(PageType::Leaf);
    header.set_row_count(rows.len() as u16);
    header.set_column_count(columns as u16);
    header.set_row_layout(fit.row_layout);
    // A leaf without rows has no directory.
    let columns_with_rows = if rows.is_empty() { 0 } else { columns };
    let mut end = PAGE_HEADER + columns_with_rows * ENTRY;
    for (i, column) in block.columns.iter().enumerate().take(columns_with_rows) {
        let mut writer = Writer { page, at: end };
        let entry = writer.minipage(column, &extents.columns[i], widths[i], rows.clone());
        let start = end;
        end = writer.at;
        let at = PAGE_HEADER + i * ENTRY;
        page[at] = entry.encoding as u8;
        page[at + 1] = entry.flags;
        page[at + 2..at + 4].copy_from_slice(&(entry.width as u16).to_le_bytes());
        page[at + 4..at + 6].copy_from_slice(&(start as u16).to_le_bytes());
        page[at + 6..at + 8].copy_from_slice(&((end - start) as u16).to_le_bytes());
        page[at + 8..at + 16].copy_from_slice(&entry.base.to_le_bytes());
    }
    page[MINIPAGES_END..MINIPAGES_END + 4].copy_from_slice(&(end as u32).to_le_bytes());
    fences.write(page);
}

struct DirectoryEntry {
    encoding: Encoding,
    flags: u8,
    width: usize,
    base: i64,
}

struct Writer<'a> {
    page: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.page[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn bitmap(&mut self, rows: Range<usize>, bit: impl Fn(usize) -> bool) {
        let bytes = super::bitmap_bytes(rows.len());
        for (i, row) in rows.enumerate() {
            self.page[self.at + i / 8] |= (bit(row) as u8) << (i % 8);
        }
        self.at += bytes;
    }

    fn minipage(&mut self, column: &ColumnBlock, extent: &Extent, width: usize, rows: Range<usize>) -> DirectoryEntry {
        if extent.all_null() {
            return DirectoryEntry { encoding: Encoding::Constant, flags: FLAG_ALL_NULL, width: 0, base: 0 };
        }
        let mut flags = 0;
        if extent.nulls > 0 {
            flags |= FLAG_NULLS;
            self.bitmap(rows.clone(), |row| !column.is_null(row));
        }
        if extent.overflow > 0 {
            flags |= FLAG_OVERFLOW;
            self.bitmap(rows.clone(), |row| column.is_overflow(row));
        }
        let (encoding, width, _) = extent.choose(column, width);
        let mut base = 0;
        match (&column.values, encoding) {
            (BlockValues::Int(_), Encoding::Constant) => base = extent.min,
            (BlockValues::Int(v), Encoding::Delta) => {
                base = extent.min;
                let delta = |row: usize| if column.is_null(row) { 0 } else { v[row].wrapping_sub(base) };
                self.ints(rows.map(delta), width);
            }
            (BlockValues::Int(v), _) => self.ints(rows.map(|row| v[row]), width),
            (BlockValues::Wide(v), Encoding::Constant) => {
                self.put(&v[extent.first.unwrap_or(rows.start)].to_le_bytes());
            }
            (BlockValues::Wide(v), _) => {
                for row in rows {
                    self.put(&v[row].to_le_bytes());
                }
            }
            (BlockValues::Wide256(v), Encoding::Constant) => {
                self.put(&v[extent.first.unwrap_or(rows.start)].to_le_bytes());
            }
            (BlockValues::Wide256(v), _) => {
                for row in rows {
                    self.put(&v[row].to_le_bytes());
                }
            }
            (BlockValues::Bytes { .. }, Encoding::Constant) => {
                self.put(column.bytes(extent.first.unwrap_or(rows.start)));
            }
            (BlockValues::Bytes { .. }, Encoding::Fixed) => {
                for row in rows {
                    self.put(column.bytes(row));
                }
            }
            (BlockValues::Bytes { .. }, Encoding::Dictionary) => base = self.dictionary(column, extent),
            (BlockValues::Bytes { .. }, _) => self.strings(rows.map(|row| column.bytes(row))),
        }
        DirectoryEntry { encoding, flags, width, base }
    }

    /// The low `width` bytes of each.
    fn ints(&mut self, values: impl Iterator<Item = i64>, width: usize) {
        let out = self.page[self.at..].chunks_exact_mut(width);
        let mut count = 0;
        for (value, slot) in values.zip(out) {
            slot.copy_from_slice(&value.to_le_bytes()[..width]);
            count += 1;
        }
        self.at += count * width;
    }

    /// Offsets, then the heap.
    fn strings<'a>(&mut self, values: impl ExactSizeIterator<Item = &'a [u8]>) {
        let mut offset = self.at;
        self.at += 2 * (values.len() + 1);
        let heap = self.at;
        self.page[offset..offset + 2].fill(0);
        for value in values {
            self.put(value);
            offset += 2;
            self.page[offset..offset + 2].copy_from_slice(&((self.at - heap) as u16).to_le_bytes());
        }
    }

    /// Codes, then the entries. Returns their number.
    fn dictionary(&mut self, column: &ColumnBlock, extent: &Extent) -> i64 {
        let Some(distinct) = &extent.distinct else { return 0 };
        self.put(&distinct.codes);
        let entries = &distinct.rows;
        self.strings(entries.iter().map(|row| column.bytes(*row as usize)));
        entries.len() as i64
    }
}
