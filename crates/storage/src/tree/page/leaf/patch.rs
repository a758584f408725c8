//! Patches: what a row has in other columns than the row of the base that it stands for. Drawn in `docs/format.md`,
//! "Patch".
//!
//! An UPDATE changes a few columns. A patch has their values only, so that a leaf takes many of them before its base
//! has to be written anew, and the log is told no more than what has changed.

use super::{
    BadPage, Leaf, bitmap_bytes,
    record::{RecordColumn, RecordLayout, int_of},
};
use crate::tree::page::{block::Cell, layout::Physical};
use arrow_buffer::i256;

/// Bytes of a patch's length.
const LENGTH: usize = 2;

/// A column's value in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PatchedValue<'a> {
    pub physical: Physical,
    pub is_null: bool,
    pub is_overflow: bool,
    /// The number in its own width, or the bytes; empty for NULL.
    pub bytes: &'a [u8],
}

impl PatchedValue<'_> {
    /// 0 for columns of another class, and for NULL.
    pub fn int(&self) -> i64 {
        match self.physical {
            Physical::Int { width, signed } if self.bytes.len() == width => int_of(self.bytes, width, signed),
            _ => 0,
        }
    }

    /// 0 for columns of another class, and for NULL.
    pub fn wide(&self) -> i128 {
        match self.physical {
            Physical::Wide => self.bytes.try_into().map_or(0, i128::from_le_bytes),
            _ => 0,
        }
    }

    /// 0 for columns of another class, and for NULL.
    pub fn wide256(&self) -> i256 {
        match self.physical {
            Physical::Wide256 => self.bytes.try_into().map_or(i256::ZERO, i256::from_le_bytes),
            _ => i256::ZERO,
        }
    }
}

/// The values of a patch, in the order of their columns.
struct Values<'p> {
    has: &'p [u8],
    valid: &'p [u8],
    overflow: &'p [u8],
    /// Those that are still to be read.
    rest: &'p [u8],
}

impl<'p> Values<'p> {
    fn of(layout: &RecordLayout, patch: &'p [u8]) -> Result<Values<'p>, BadPage> {
        let (bits, all_strings) = (bitmap_bytes(layout.columns().len()), bitmap_bytes(layout.strings()));
        let (head, rest) = patch.split_at_checked(LENGTH + 2 * bits + all_strings).ok_or(TOO_SHORT)?;
        let (has, behind) = head[LENGTH..].split_at(bits);
        let (valid, overflow) = behind.split_at(bits);
        Ok(Values { has, valid, overflow, rest })
    }

    /// The value of a column, of which those before it have been read; `None` if the patch does not have it.
    fn next(&mut self, column: RecordColumn) -> Result<Option<PatchedValue<'p>>, BadPage> {
        let (number, physical) = (column.number(), column.physical());
        if !bit(self.has, number) {
            return Ok(None);
        }
        if !bit(self.valid, number) {
            return Ok(Some(PatchedValue { physical, is_null: true, is_overflow: false, bytes: &[] }));
        }
        let length = match physical {
            Physical::Int { width, .. } => width,
            Physical::Wide => 16,
            Physical::Wide256 => 32,
            Physical::Bytes { .. } => {
                let (length, behind) = self.rest.split_first_chunk::<2>().ok_or(TOO_SHORT)?;
                self.rest = behind;
                u16::from_le_bytes(*length).into()
            }
        };
        let (bytes, behind) = self.rest.split_at_checked(length).ok_or(TOO_SHORT)?;
        self.rest = behind;
        let is_overflow = column.string().is_some_and(|string| bit(self.overflow, string));
        Ok(Some(PatchedValue { physical, is_null: false, is_overflow, bytes }))
    }
}

const TOO_SHORT: BadPage = BadPage("patch too short");

fn bit(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}

/// The value of a column in a patch; `None` if the patch leaves it as it is in the base.
pub(super) fn value<'a>(
    layout: &RecordLayout,
    patch: &'a [u8],
    column: RecordColumn,
) -> Result<Option<PatchedValue<'a>>, BadPage> {
    let mut values = Values::of(layout, patch)?;
    if !bit(values.has, column.number()) {
        return Ok(None);
    }
    for before in &layout.columns()[..column.number()] {
        values.next(*before)?;
    }
    values.next(column)
}

/// The patch that makes a row of a leaf's base the row of a record; empty if they are the same. `None` if it would not
/// be shorter than the record.
pub(super) fn of(
    leaf: &Leaf<'_>,
    layout: &RecordLayout,
    row: usize,
    record: &[u8],
) -> Result<Option<Vec<u8>>, BadPage> {
    let mut is_same = true;
    let patch = build(layout, record, |column| {
        let base = leaf.column_by_row(column.number(), column.physical())?;
        let same = match column.physical() {
            _ if column.is_null(record) || base.is_null(row) => column.is_null(record) && base.is_null(row),
            Physical::Int { .. } => base.int(row) == column.int(record),
            Physical::Wide => base.wide(row) == column.wide(record),
            Physical::Wide256 => base.wide256(row) == column.wide256(record),
            Physical::Bytes { .. } => {
                base.is_overflow(row) == column.is_overflow(record)
                    && base.checked_bytes(row)? == column.checked_bytes(record)?
            }
        };
        is_same &= same;
        Ok(!same)
    })?;
    Ok(if is_same { Some(Vec::new()) } else { patch })
}

/// A patch with the values that a record has in some columns. `None` if it would not be shorter than the record.
fn build(
    layout: &RecordLayout,
    record: &[u8],
    mut is_in: impl FnMut(RecordColumn) -> Result<bool, BadPage>,
) -> Result<Option<Vec<u8>>, BadPage> {
    let (bits, all_strings) = (bitmap_bytes(layout.columns().len()), bitmap_bytes(layout.strings()));
    let (valid_at, overflow_at) = (LENGTH + bits, LENGTH + 2 * bits);
    let mut patch = vec![0; overflow_at + all_strings];
    let set = |patch: &mut Vec<u8>, at: usize, bit: usize| patch[at + bit / 8] |= 1 << (bit % 8);
    for column in layout.columns() {
        column.check(record)?;
        if !is_in(*column)? {
            continue;
        }
        set(&mut patch, LENGTH, column.number());
        if column.is_null(record) {
            continue;
        }
        set(&mut patch, valid_at, column.number());
        if let (true, Some(string)) = (column.is_overflow(record), column.string()) {
            set(&mut patch, overflow_at, string);
        }
        match column.physical() {
            Physical::Int { width, .. } => patch.extend_from_slice(&column.int(record).to_le_bytes()[..width]),
            Physical::Wide => patch.extend_from_slice(&column.wide(record).to_le_bytes()),
            Physical::Wide256 => patch.extend_from_slice(&column.wide256(record).to_le_bytes()),
            Physical::Bytes { .. } => {
                let bytes = column.checked_bytes(record)?;
                patch.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
                patch.extend_from_slice(bytes);
            }
        }
        if patch.len() >= record.len() {
            return Ok(None);
        }
    }
    let length = patch.len() as u16;
    patch[..LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok((patch.len() < record.len()).then_some(patch))
}

impl RecordLayout {
    /// The patch that makes the row of one record that of another, which has the values of the other in all columns of
    /// `always`. `None` if it would not be shorter than the other record.
    pub fn patch(&self, from: &[u8], to: &[u8], always: impl Fn(usize) -> bool) -> Result<Option<Vec<u8>>, BadPage> {
        build(self, to, |column| {
            column.check(from)?;
            let same = match column.physical() {
                _ if column.is_null(from) || column.is_null(to) => column.is_null(from) && column.is_null(to),
                Physical::Int { .. } => column.int(from) == column.int(to),
                Physical::Wide => column.wide(from) == column.wide(to),
                Physical::Wide256 => column.wide256(from) == column.wide256(to),
                Physical::Bytes { .. } => {
                    column.is_overflow(from) == column.is_overflow(to)
                        && column.checked_bytes(from)? == column.checked_bytes(to)?
                }
            };
            Ok(!same || always(column.number()))
        })
    }

    /// The record of a row with the values of a patch in the place of its own. Without a row, all other values are
    /// NULL.
    pub fn patched(&self, patch: &[u8], row: Option<&[u8]>) -> Result<Vec<u8>, BadPage> {
        let mut values = Values::of(self, patch)?;
        let mut record = self.begin(row.map_or(self.fixed_bytes(), <[u8]>::len) + patch.len());
        for column in self.columns() {
            let value = match (values.next(*column)?, row) {
                (Some(value), _) => value,
                (None, None) => {
                    PatchedValue { physical: column.physical(), is_null: true, is_overflow: false, bytes: &[] }
                }
                (None, Some(row)) => {
                    column.check(row)?;
                    let (physical, bytes) = (column.physical(), column.stored(row));
                    PatchedValue { physical, is_null: column.is_null(row), is_overflow: column.is_overflow(row), bytes }
                }
            };
            let cell = match value.physical {
                _ if value.is_null => Cell::Null,
                Physical::Int { .. } => Cell::Int(value.int()),
                Physical::Wide => Cell::Wide(value.wide()),
                Physical::Wide256 => Cell::Wide256(value.wide256()),
                Physical::Bytes { .. } => Cell::Bytes(value.bytes),
            };
            self.put(&mut record, column.number(), cell);
            if value.is_overflow {
                self.set_overflow(&mut record, column.number());
            }
        }
        if record.len() > usize::from(u16::MAX) {
            return Err(BadPage("a patch makes a row too long"));
        }
        self.end(&mut record);
        Ok(record)
    }
}
