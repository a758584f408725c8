//! Long values: which values of a row leave their leaf, and the pages that hold them. Drawn in `docs/format.md`,
//! "Type 4: overflow page".

use super::{
    block::{BlockValues, ColumnBlock, OVERFLOW_POINTER, OverflowPointer, RowBlock},
    layout::{Physical, TreeLayout},
    leaf::{self, BadPage},
};
use crate::{
    Result, StorageError,
    page::{PAGE_HEADER, PageHeader, PageHeaderMut, PageType, TYPE_FIELDS, u32_at},
};
use muster_types::{BytesKind, SqlType, TextKind};
use std::ops::Range;

/// Bytes of a value that one page holds.
pub fn piece_bytes(page_size: usize) -> usize {
    page_size - PAGE_HEADER
}

/// Pages that a value takes.
pub fn pages(len: usize, page_size: usize) -> usize {
    len.div_ceil(piece_bytes(page_size))
}

/// Writes a page of a value over the whole of `page` (without number and checksum): its first bytes of `rest`. Returns
/// what is left.
pub fn write_piece<'a>(rest: &'a [u8], next: u32, page: &mut [u8]) -> &'a [u8] {
    let (piece, left) = rest.split_at(rest.len().min(page.len() - PAGE_HEADER));
    page.fill(0);
    let mut header = PageHeaderMut(page);
    header.set_page_type(PageType::Overflow);
    header.set_next(next);
    page[TYPE_FIELDS..TYPE_FIELDS + 4].copy_from_slice(&(piece.len() as u32).to_le_bytes());
    page[TYPE_FIELDS + 4..TYPE_FIELDS + 8].copy_from_slice(&(rest.len() as u32).to_le_bytes());
    page[PAGE_HEADER..PAGE_HEADER + piece.len()].copy_from_slice(piece);
    left
}

/// The bytes in a page of a value of which `rest` bytes are still to come, and the page after it.
pub fn read_piece(page: &[u8], rest: usize) -> Result<(&[u8], u32), BadPage> {
    let header = PageHeader(page);
    if header.page_type() != Some(PageType::Overflow) {
        return Err(BadPage("not an overflow page"));
    }
    let (bytes, left) = (u32_at(page, TYPE_FIELDS) as usize, u32_at(page, TYPE_FIELDS + 4) as usize);
    if left != rest || bytes != rest.min(piece_bytes(page.len())) {
        return Err(BadPage("overflow page of another value"));
    }
    Ok((&page[PAGE_HEADER..PAGE_HEADER + bytes], header.next()))
}

/// Takes long values of some rows out of a block: each is given to `keep`, and the pointer it returns put in its place.
/// Afterwards every row fits a leaf.
///
/// Errors: `RowTooLarge` if a row does not fit without values that must stay.
pub fn spill(
    block: &mut RowBlock,
    rows: Range<usize>,
    layout: &TreeLayout,
    page_size: usize,
    mut keep: impl FnMut(&[u8]) -> Result<OverflowPointer>,
) -> Result<()> {
    let limits = Limits::new(layout, page_size, block.columns.len());
    if limits.all_fit(block, rows.clone()) {
        return Ok(());
    }
    // Per column, the rows whose value goes.
    let mut going: Vec<Vec<usize>> = vec![Vec::new(); layout.columns.len()];
    for row in rows.clone() {
        limits.choose(block, row, &mut going)?;
    }
    for (column, going) in block.columns.iter_mut().zip(&going).filter(|(_, going)| !going.is_empty()) {
        let mut changed = ColumnBlock::new(Physical::Bytes { text: false });
        changed.append_block(column, 0..rows.start);
        for row in rows.start..column.len() {
            if going.binary_search(&row).is_ok() {
                let pointer = keep(column.bytes(row))?;
                changed.push_bytes(&pointer.to_bytes(), true);
            } else {
                changed.push_from(column, row);
            }
        }
        *column = changed;
    }
    Ok(())
}

/// Returns true if values of a tree may be so long that they leave their leaf, as far as their types say.
pub fn may_spill(layout: &TreeLayout, page_size: usize) -> bool {
    longest_row_of_types(layout, page_size).is_none()
}

/// Bytes that the longest row of a tree takes in its leaf.
pub fn longest_row(layout: &TreeLayout, page_size: usize) -> usize {
    longest_row_of_types(layout, page_size).unwrap_or_else(|| leaf::max_row(page_size, layout.columns.len()))
}

/// The same, as far as the types say; `None` if values may have to leave the leaf.
fn longest_row_of_types(layout: &TreeLayout, page_size: usize) -> Option<usize> {
    let limits = Limits::new(layout, page_size, layout.columns.len());
    let longest = |column: usize| match layout.columns[column].ty {
        SqlType::Text { kind: TextKind::Char | TextKind::VarChar, length, .. } => 4 * length as usize,
        SqlType::Bytes { kind: BytesKind::Binary | BytesKind::VarBinary, length } => length as usize,
        _ => usize::MAX / 2,
    };
    let mut bytes = limits.fixed;
    for (column, _) in &limits.strings {
        bytes = bytes.saturating_add(longest(*column));
        if longest(*column) > limits.max_value || bytes > limits.max_row {
            return None;
        }
    }
    Some(bytes)
}

struct Limits {
    max_value: usize,
    max_row: usize,
    /// Bytes of a row's ints and decimals, and what its strings take beside their bytes.
    fixed: usize,
    /// Stored columns of strings, and whether their values must stay.
    strings: Vec<(usize, bool)>,
}

impl Limits {
    fn new(layout: &TreeLayout, page_size: usize, columns: usize) -> Limits {
        let mut limits = Limits {
            max_value: leaf::max_value(page_size),
            max_row: leaf::max_row(page_size, columns),
            // A slot, and bits for NULL.
            fixed: leaf::SLOT + columns.div_ceil(8),
            strings: Vec::new(),
        };
        for (i, column) in layout.columns.iter().enumerate() {
            limits.fixed += match column.physical {
                Physical::Int { width, .. } => width,
                Physical::Wide => 16,
                Physical::Wide256 => 32,
                Physical::Bytes { .. } => {
                    limits.strings.push((i, layout.is_key_column(i)));
                    4
                }
            };
        }
        limits
    }

    fn row_bytes(&self, block: &RowBlock, row: usize) -> usize {
        self.fixed + self.strings.iter().map(|(c, _)| block.columns[*c].bytes(row).len()).sum::<usize>()
    }

    /// Returns true if even the longest values together fit a row.
    fn all_fit(&self, block: &RowBlock, rows: Range<usize>) -> bool {
        let mut bytes = self.fixed;
        for (c, _) in &self.strings {
            let longest = longest(&block.columns[*c], rows.clone());
            if longest > self.max_value {
                return false;
            }
            bytes += longest;
        }
        bytes <= self.max_row
    }

    fn choose(&self, block: &RowBlock, row: usize, going: &mut [Vec<usize>]) -> Result<()> {
        let mut bytes = self.row_bytes(block, row);
        let mut candidates: Vec<(usize, usize)> = self
            .strings
            .iter()
            .filter(|(c, stays)| !stays && !block.columns[*c].is_overflow(row))
            .map(|(c, _)| (block.columns[*c].bytes(row).len(), *c))
            .collect();
        candidates.sort_unstable();
        while let Some((len, column)) = candidates.pop() {
            if len <= self.max_value && bytes <= self.max_row || len <= OVERFLOW_POINTER {
                break;
            }
            going[column].push(row);
            bytes -= len - OVERFLOW_POINTER;
        }
        if bytes > self.max_row {
            return Err(StorageError::RowTooLarge { bytes, limit: self.max_row });
        }
        Ok(())
    }
}

/// Bytes of the longest value.
fn longest(column: &ColumnBlock, rows: Range<usize>) -> usize {
    let BlockValues::Bytes { ends, .. } = &column.values else { return 0 };
    let mut start = if rows.start == 0 { 0 } else { ends[rows.start - 1] };
    let mut longest = 0;
    for end in &ends[rows] {
        longest = longest.max(end - start);
        start = *end;
    }
    longest as usize
}
