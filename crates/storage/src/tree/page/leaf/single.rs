//! Single rows of a leaf. Only what is read of the page is checked, so that one row costs the same however many rows
//! the page has.

use super::{
    BadPage, Leaf,
    bound::lower_bound,
    column::{Column, Data},
};
use crate::{
    key::{KeyCodec, KeyRow},
    tree::page::layout::{Physical, TreeLayout},
};
use arrow_buffer::i256;
use muster_types::{Decimal, SqlType, ValueRef};
use std::cell::Cell;

impl<'a> Leaf<'a> {
    /// The value of stored column `column` in the row with this number; `None` if it lies outside of the page or is no
    /// valid text.
    pub fn value(&self, layout: &TreeLayout, column: usize, row: usize) -> Result<Option<ValueRef<'a>>, BadPage> {
        let stored = layout.columns.get(column).ok_or(BadPage("no such column"))?;
        if row >= self.base_rows() + self.slots().len() {
            return Err(BadPage("no such row"));
        }
        let cells = self.column_by_row(column, stored.physical)?;
        cells.check_row(row)?;
        if cells.is_null(row) {
            return Ok(Some(ValueRef::Null));
        }
        let int = || cells.int(row);
        Ok(Some(match stored.ty.stored_type() {
            // Numbers are stored alike with UNSIGNED and without.
            SqlType::Null | SqlType::Unsigned(_) => ValueRef::Null,
            SqlType::Bool => ValueRef::Bool(int() != 0),
            SqlType::Int { unsigned: false, .. } => ValueRef::Int(int()),
            SqlType::Int { unsigned: true, .. }
            | SqlType::Enum(_)
            | SqlType::Set(_)
            | SqlType::Year
            | SqlType::Bit { .. } => ValueRef::UInt(int() as u64),
            SqlType::Decimal { scale, .. } => match stored.physical {
                Physical::Wide => ValueRef::Decimal(Decimal::new(cells.wide(row), scale)),
                Physical::Wide256 => ValueRef::Decimal(Decimal::wide(cells.wide256(row), scale)),
                _ => ValueRef::Decimal(Decimal::new(int().into(), scale)),
            },
            SqlType::Float => ValueRef::Float(f32::from_bits(int() as u32)),
            SqlType::Double => ValueRef::Double(f64::from_bits(int() as u64)),
            SqlType::Date => ValueRef::Date(int() as i32),
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => ValueRef::DateTime(int()),
            SqlType::Time { .. } => ValueRef::Time(int()),
            SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Json if cells.is_overflow(row) => return Ok(None),
            SqlType::Text { .. } => match std::str::from_utf8(cells.checked_bytes(row)?) {
                Ok(text) => ValueRef::Text(text),
                Err(_) => return Ok(None),
            },
            SqlType::Bytes { .. } => ValueRef::Bytes(cells.checked_bytes(row)?),
            SqlType::Json => ValueRef::Json(cells.checked_bytes(row)?),
        }))
    }

    /// The columns that `codec` makes keys from.
    pub fn single_keys(&self, layout: &TreeLayout, codec: &KeyCodec) -> Result<SingleKeys<'a>, BadPage> {
        // Keys mostly begin a row, so this is short.
        let mut columns = vec![None; codec.parts.iter().map(|part| part.column + 1).max().unwrap_or(0)];
        for part in &codec.parts {
            let column = self.column_by_row(part.column, layout.columns[part.column].physical)?;
            if column.overflow.is_some() {
                return Err(BadPage("overflow values in a key"));
            }
            columns[part.column] = Some(column);
        }
        Ok(SingleKeys { leaf: *self, columns, bad: Cell::new(None) })
    }
}

/// Keys of single rows.
pub struct SingleKeys<'a> {
    leaf: Leaf<'a>,
    columns: Vec<Option<Column<'a>>>,
    /// The damage that was met when a key was made.
    bad: Cell<Option<BadPage>>,
}

impl SingleKeys<'_> {
    /// Appends the key of the row with this number.
    pub fn append(&self, codec: &KeyCodec, row: usize, key: &mut Vec<u8>) -> Result<(), BadPage> {
        self.check_row(codec, row)?;
        codec.append_row(&SingleRow { keys: self, row }, key);
        self.bad.get().map_or(Ok(()), Err)
    }

    fn check_row(&self, codec: &KeyCodec, row: usize) -> Result<(), BadPage> {
        let mut columns = codec.parts.iter().filter_map(|part| self.columns[part.column].as_ref());
        columns.try_for_each(|column| column.check_row(row))
    }

    /// The position of the first row from `from` on whose key of the tree is not less than `key`; the number of rows if
    /// there is none. The columns are those of the tree's whole key.
    pub fn lower_bound(
        &self,
        layout: &TreeLayout,
        key: &[u8],
        from: usize,
        scratch: &mut Vec<u8>,
    ) -> Result<usize, BadPage> {
        if let Some(words) = &layout.key_words {
            let bound = words.bound(key);
            return lower_bound(&self.leaf, from, |row| {
                if row >= self.leaf.base_rows() {
                    self.check_row(&layout.key, row)?;
                }
                Ok(bound.is_above(words.of_row(&SingleRow { keys: self, row })))
            });
        }
        lower_bound(&self.leaf, from, |row| {
            scratch.clear();
            self.append(&layout.key, row, scratch)?;
            Ok(scratch.as_slice() < key)
        })
    }
}

struct SingleRow<'k, 'a> {
    keys: &'k SingleKeys<'a>,
    row: usize,
}

impl SingleRow<'_, '_> {
    fn column(&self, column: usize) -> Option<&Column<'_>> {
        self.keys.columns[column].as_ref()
    }
}

impl KeyRow for SingleRow<'_, '_> {
    #[inline]
    fn is_null(&self, column: usize) -> bool {
        self.column(column).is_some_and(|c| c.is_null(self.row))
    }
    #[inline]
    fn int(&self, column: usize) -> i64 {
        self.column(column).map_or(0, |c| c.int(self.row))
    }
    #[inline]
    fn wide(&self, column: usize) -> i128 {
        self.column(column).map_or(0, |c| c.wide(self.row))
    }
    #[inline]
    fn wide256(&self, column: usize) -> i256 {
        self.column(column).map_or(i256::ZERO, |c| c.wide256(self.row))
    }
    #[inline]
    fn bytes(&self, column: usize) -> &[u8] {
        let Some(column) = self.column(column) else { return &[] };
        if matches!(column.data, Data::Bytes(_) | Data::Dictionary { .. }) || self.row >= self.keys.leaf.base_rows() {
            return column.checked_bytes(self.row).unwrap_or_else(|bad| {
                self.keys.bad.set(Some(bad));
                &[]
            });
        }
        column.bytes(self.row)
    }
}
