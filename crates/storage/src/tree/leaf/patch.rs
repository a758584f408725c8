//! Patches: what a row has in other columns than the row of the base that it stands for. Drawn in `docs/format.md`, "Patch".
//!
//! An UPDATE changes a few columns. A patch has their values only, so that a leaf takes many of them before its base has to be
//! written anew, and the log is told no more than what has changed.

use super::{
    BadPage, Leaf, bitmap_bytes,
    record::{RecordColumn, RecordLayout, int_of},
};
use crate::tree::layout::Physical;

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
}

/// The value of a column in a patch; `None` if the patch leaves it as it is in the base.
pub(super) fn value<'a>(
    layout: &RecordLayout,
    patch: &'a [u8],
    column: RecordColumn,
) -> Result<Option<PatchedValue<'a>>, BadPage> {
    let columns = layout.columns();
    let (bits, all_strings) = (bitmap_bytes(columns.len()), bitmap_bytes(layout.strings()));
    let bad = BadPage("patch too short");
    let (head, mut values) = patch.split_at_checked(LENGTH + 2 * bits + all_strings).ok_or(bad)?;
    let (has, rest) = head[LENGTH..].split_at(bits);
    let (valid, overflow) = rest.split_at(bits);
    let bit = |bits: &[u8], at: usize| bits[at / 8] >> (at % 8) & 1 == 1;
    let number = column.number();
    if !bit(has, number) {
        return Ok(None);
    }
    if !bit(valid, number) {
        return Ok(Some(PatchedValue { physical: column.physical(), is_null: true, is_overflow: false, bytes: &[] }));
    }
    let mut take = |physical: Physical| {
        let bytes = match physical {
            Physical::Int { width, .. } => width,
            Physical::Wide => 16,
            Physical::Bytes { .. } => {
                let (length, behind) = values.split_first_chunk::<2>().ok_or(bad)?;
                values = behind;
                u16::from_le_bytes(*length).into()
            }
        };
        let (value, behind) = values.split_at_checked(bytes).ok_or(bad)?;
        values = behind;
        Ok(value)
    };
    for before in &columns[..number] {
        if bit(has, before.number()) && bit(valid, before.number()) {
            take(before.physical())?;
        }
    }
    let (physical, bytes) = (column.physical(), take(column.physical())?);
    let is_overflow = column.string().is_some_and(|string| bit(overflow, string));
    Ok(Some(PatchedValue { physical, is_null: false, is_overflow, bytes }))
}

/// The patch that makes a row of a leaf's base the row of a record; empty if they are the same. `None` if it would not be shorter
/// than the record.
pub(super) fn of(
    leaf: &Leaf<'_>,
    layout: &RecordLayout,
    row: usize,
    record: &[u8],
) -> Result<Option<Vec<u8>>, BadPage> {
    let columns = layout.columns();
    let (bits, all_strings) = (bitmap_bytes(columns.len()), bitmap_bytes(layout.strings()));
    let (valid_at, overflow_at) = (LENGTH + bits, LENGTH + 2 * bits);
    let mut patch = vec![0; overflow_at + all_strings];
    let mut is_same = true;
    for column in columns {
        column.check(record)?;
        let (number, physical) = (column.number(), column.physical());
        let base = leaf.column_by_row(number, physical)?;
        let (is_null, is_overflow) = (column.is_null(record), column.is_overflow(record));
        let same = match physical {
            _ if is_null || base.is_null(row) => is_null && base.is_null(row),
            Physical::Int { .. } => base.int(row) == column.int(record),
            Physical::Wide => base.wide(row) == column.wide(record),
            Physical::Bytes { .. } => {
                base.is_overflow(row) == is_overflow && base.checked_bytes(row)? == column.checked_bytes(record)?
            }
        };
        if same {
            continue;
        }
        is_same = false;
        let set = |patch: &mut Vec<u8>, at: usize, bit: usize| patch[at + bit / 8] |= 1 << (bit % 8);
        set(&mut patch, LENGTH, number);
        if is_null {
            continue;
        }
        set(&mut patch, valid_at, number);
        if let (true, Some(string)) = (is_overflow, column.string()) {
            set(&mut patch, overflow_at, string);
        }
        match physical {
            Physical::Int { width, .. } => patch.extend_from_slice(&column.int(record).to_le_bytes()[..width]),
            Physical::Wide => patch.extend_from_slice(&column.wide(record).to_le_bytes()),
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
    if is_same {
        return Ok(Some(Vec::new()));
    }
    let length = patch.len() as u16;
    patch[..LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok((patch.len() < record.len()).then_some(patch))
}
