//! Keys of a leaf's rows.

use super::{BadPage, Leaf, column::Column};
use crate::{
    key::{KeyCodec, KeyRow},
    tree::page::layout::TreeLayout,
};
use arrow_buffer::i256;

impl<'a> Leaf<'a> {
    /// Columns that a key is made from, ready for one row after the other.
    pub fn key_rows(&self, layout: &TreeLayout, codec: &KeyCodec) -> Result<KeyRows<'a>, BadPage> {
        // Keys mostly begin a row, so this is short.
        let count = codec.parts.iter().map(|part| part.column + 1).max().unwrap_or(0);
        let mut columns = vec![None; count];
        for part in &codec.parts {
            if columns[part.column].is_none() {
                let column = self.column(part.column, layout.columns[part.column].physical)?;
                if column.overflow.is_some() {
                    return Err(BadPage("overflow values in a key"));
                }
                columns[part.column] = Some(column);
            }
        }
        Ok(KeyRows { columns })
    }

    /// The position of the first row whose key is not less than `key`; the number of rows if there is none.
    pub fn lower_bound(&self, layout: &TreeLayout, key: &[u8]) -> Result<usize, BadPage> {
        match key.is_empty() {
            true => Ok(0),
            false => self.single_keys(layout, &layout.key)?.lower_bound(layout, key, 0, &mut Vec::new()),
        }
    }

    /// The key of the row at a position.
    pub fn key(&self, layout: &TreeLayout, position: usize) -> Result<Vec<u8>, BadPage> {
        let mut key = Vec::with_capacity(KEY_BYTES);
        let row = self.row_at(position)?.row;
        self.single_keys(layout, &layout.key)?.append(&layout.key, row, &mut key)?;
        Ok(key)
    }
}

/// Most keys are not longer.
const KEY_BYTES: usize = 32;

/// The columns of a leaf that keys are made from.
#[derive(Debug)]
pub struct KeyRows<'a> {
    columns: Vec<Option<Column<'a>>>,
}

impl KeyRows<'_> {
    /// The row with this number.
    pub fn row(&self, row: usize) -> LeafRow<'_> {
        LeafRow { columns: &self.columns, row }
    }
}

/// A row of a leaf, for making its key.
#[derive(Debug, Clone, Copy)]
pub struct LeafRow<'a> {
    columns: &'a [Option<Column<'a>>],
    row: usize,
}

impl KeyRow for LeafRow<'_> {
    #[inline]
    fn is_null(&self, column: usize) -> bool {
        self.columns[column].is_some_and(|c| c.is_null(self.row))
    }
    #[inline]
    fn int(&self, column: usize) -> i64 {
        self.columns[column].map_or(0, |c| c.int(self.row))
    }
    #[inline]
    fn wide(&self, column: usize) -> i128 {
        self.columns[column].map_or(0, |c| c.wide(self.row))
    }
    #[inline]
    fn wide256(&self, column: usize) -> i256 {
        self.columns[column].map_or(i256::ZERO, |c| c.wide256(self.row))
    }
    #[inline]
    fn bytes(&self, column: usize) -> &[u8] {
        self.columns[column].map_or(&[], |c| c.bytes(self.row))
    }
}
