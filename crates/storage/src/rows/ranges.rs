//! Conditions that stored values are tested for, without decoding them.

use super::LeafRows;
use crate::{
    Result, StorageError, TableSchema,
    tree::{
        Tree, TreeLayout,
        page::{layout::Physical, leaf::within::keep_within},
    },
};
use arrow_buffer::BooleanBuffer;
use muster_types::SqlType;

/// The condition that the value of a column lies between two others, which belong to the range. NULL does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRange {
    /// The position of the table column. Its type is one that [`ColumnRange::holds`].
    pub column: usize,
    /// The bounds as the integers that the column's Arrow values are; no value is in the range if `least > most`.
    pub least: i64,
    pub most: i64,
}

impl ColumnRange {
    /// Returns true for types whose values are kept as signed integers of at most 64 bits that have the order of the
    /// values: integers, decimals of up to 18 digits, dates and times.
    pub fn holds(ty: &SqlType) -> bool {
        match ty {
            SqlType::Unsigned(number) => Self::holds(&number.plain()),
            SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Enum(_) | SqlType::Year => {
                match Physical::of(ty) {
                    Physical::Int { width, signed } => signed || width < 8,
                    _ => false,
                }
            }
            SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => true,
            _ => false,
        }
    }
}

/// The ranges of a condition, over rows in leaves of one tree.
pub(super) struct RangeTests {
    tests: Vec<Test>,
    /// One for each row: 1, or 0 if a range leaves the row out.
    marks: Vec<u8>,
}

struct Test {
    stored: usize,
    physical: Physical,
    range: ColumnRange,
}

impl RangeTests {
    /// `layout` holds the columns, which [`check`] has seen.
    pub fn new(schema: &TableSchema, layout: &TreeLayout, ranges: &[ColumnRange]) -> RangeTests {
        let test = |range: &ColumnRange| Test {
            stored: layout.column_of(range.column).unwrap_or(usize::MAX),
            physical: Physical::of(&schema.columns[range.column].ty),
            range: *range,
        };
        RangeTests { tests: ranges.iter().map(test).collect(), marks: Vec::new() }
    }

    /// The rows of the leaves that are in all ranges; `None` if there are no ranges.
    pub fn test(&mut self, tree: &Tree, leaves: &[LeafRows]) -> Result<Option<BooleanBuffer>> {
        if self.tests.is_empty() {
            return Ok(None);
        }
        self.marks.clear();
        for (i, LeafRows { page, rows }) in leaves.iter().enumerate() {
            if let Some(next) = leaves.get(i + 1) {
                let next_leaf = tree.leaf(&next.page)?;
                self.tests.iter().for_each(|test| next_leaf.load_ahead(test.stored, next.rows.len()));
            }
            let leaf = tree.leaf(page)?;
            let start = self.marks.len();
            self.marks.resize(start + rows.len(), 1);
            let marks = &mut self.marks[start..];
            for (done, Test { stored, physical, range }) in self.tests.iter().enumerate() {
                if done > 0 && !marks.contains(&1) {
                    break;
                }
                let column = leaf.column_of(*stored, *physical, rows).map_err(|e| tree.corrupt(page.page_no(), e))?;
                keep_within(&column, rows, range.least, range.most, marks);
            }
        }
        Ok(Some(bits(&self.marks)))
    }
}

/// Errors: `WrongType` for a column of another type.
pub(super) fn check(schema: &TableSchema, ranges: &[ColumnRange]) -> Result<()> {
    match ranges.iter().map(|range| &schema.columns[range.column].ty).find(|ty| !ColumnRange::holds(ty)) {
        Some(ty) => Err(StorageError::WrongType { value: format!("a range of integers for a column of {ty:?}") }),
        None => Ok(()),
    }
}

/// A bit for each mark.
fn bits(marks: &[u8]) -> BooleanBuffer {
    let mut bytes = Vec::with_capacity(marks.len().div_ceil(8));
    let (eights, rest) = marks.as_chunks::<8>();
    // The factor moves the lowest bit of each byte into the highest byte, in order.
    bytes.extend(
        eights.iter().map(|eight| (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8),
    );
    if !rest.is_empty() {
        bytes.push(rest.iter().enumerate().fold(0, |byte, (i, mark)| byte | mark << i));
    }
    BooleanBuffer::new(bytes.into(), 0, marks.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_a_bit() {
        for rows in 0..40usize {
            let marks: Vec<u8> = (0..rows).map(|i| u8::from(i * i % 7 < 3)).collect();
            let bits = bits(&marks);
            assert_eq!(bits.len(), rows);
            assert!((0..rows).all(|i| bits.value(i) == (marks[i] == 1)), "{rows}");
        }
    }
}
