//! A row that comes to a tree: its values as the record that a leaf will hold, made at once, and its key.

use crate::tree::{
    btree::Tree,
    page::{
        block::{Cell, RowBlock, cell},
        inner,
        leaf::{self, record::RecordRow},
    },
};
use crate::{Result, StorageError, key::KeyRow};
use arrow_buffer::i256;
use muster_types::Value;

/// A row of a tree, as values of the stored columns and in the form that its leaf needs.
pub(in crate::tree) struct NewRow<'v> {
    pub values: &'v [Value],
    pub form: Form,
}

pub(in crate::tree) enum Form {
    Record(Vec<u8>),
    /// A row so long that some of its values may leave the leaf.
    Long(RowBlock),
}

impl Tree {
    /// A row given as values of the stored columns. Error: `WrongType`.
    pub(in crate::tree) fn one_row<'v>(&self, values: &'v [Value]) -> Result<NewRow<'v>> {
        self.check_width(values)?;
        let form = match self.record_of_values(values)? {
            Some(record) => Form::Record(record),
            None => Form::Long(self.block_of(values)?),
        };
        Ok(NewRow { values, form })
    }

    pub(in crate::tree) fn block_of(&self, values: &[Value]) -> Result<RowBlock> {
        let mut block = RowBlock::new(&self.layout);
        block.push_values(&self.layout, values)?;
        Ok(block)
    }

    /// The record of a row; `None` if it may be too long for that.
    fn record_of_values(&self, values: &[Value]) -> Result<Option<Vec<u8>>> {
        let (layout, page_size) = (&self.layout, self.file.page_size());
        let strings = values.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
            _ => 0,
        });
        let strings: usize = strings.sum();
        let bytes = layout.record.fixed_bytes() + strings + 2 * values.len();
        // A row that is short as a whole has no long value.
        if strings > leaf::max_value(page_size) || bytes + leaf::SLOT > leaf::max_row(page_size, values.len()) {
            return Ok(None);
        }
        let mut record = layout.record.begin(bytes);
        for ((column, value), at) in layout.columns.iter().zip(values).zip(0..) {
            layout.record.put(&mut record, at, cell(column, value)?);
        }
        layout.record.end(&mut record);
        Ok(Some(record))
    }

    /// The key of a row given as values of the stored columns.
    pub fn key_of_values(&self, values: &[Value]) -> Result<Vec<u8>> {
        self.check_width(values)?;
        let cells = self.layout.columns.iter().zip(values).map(|(column, value)| cell(column, value));
        let row = CellRow(cells.collect::<Result<Vec<_>>>()?);
        self.key_with(|key| self.layout.key.append_row(&row, key))
    }

    pub(in crate::tree) fn key_of(&self, row: &NewRow<'_>) -> Result<Vec<u8>> {
        self.key_with(|key| row.append_key(self, self.layout.key.parts.len(), key))
    }

    fn key_with(&self, append: impl FnOnce(&mut Vec<u8>)) -> Result<Vec<u8>> {
        let limit = inner::max_key(self.file.page_size());
        let mut key = Vec::with_capacity(KEY_BYTES);
        append(&mut key);
        if key.len() > limit { Err(StorageError::RowTooLarge { bytes: key.len(), limit }) } else { Ok(key) }
    }

    fn check_width(&self, values: &[Value]) -> Result<()> {
        if values.len() != self.layout.columns.len() {
            let value = format!("{} values for {} columns", values.len(), self.layout.columns.len());
            return Err(StorageError::WrongType { value });
        }
        Ok(())
    }
}

/// The values of the stored columns of a row, where they are.
struct CellRow<'v>(Vec<Cell<'v>>);

impl KeyRow for CellRow<'_> {
    fn is_null(&self, column: usize) -> bool {
        matches!(self.0[column], Cell::Null)
    }
    fn int(&self, column: usize) -> i64 {
        if let Cell::Int(value) = self.0[column] { value } else { 0 }
    }
    fn wide(&self, column: usize) -> i128 {
        if let Cell::Wide(value) = self.0[column] { value } else { 0 }
    }
    fn wide256(&self, column: usize) -> i256 {
        if let Cell::Wide256(value) = self.0[column] { value } else { i256::ZERO }
    }
    fn bytes(&self, column: usize) -> &[u8] {
        if let Cell::Bytes(value) = self.0[column] { value } else { &[] }
    }
}

/// Most keys are not longer.
const KEY_BYTES: usize = 32;

impl NewRow<'_> {
    /// Appends the first parts of the row's key.
    pub fn append_key(&self, tree: &Tree, parts: usize, key: &mut Vec<u8>) {
        let (codec, layout) = (&tree.layout.key, &tree.layout.record);
        match &self.form {
            Form::Record(record) => codec.append_row_parts(&RecordRow { layout, record }, parts, key),
            Form::Long(block) => codec.append_row_parts(&block.row(0), parts, key),
        }
    }

    /// Returns true if values of the row may have to leave its leaf.
    pub fn is_long(&self) -> bool {
        matches!(self.form, Form::Long(_))
    }

    pub fn is_null(&self, column: usize) -> bool {
        self.values[column] == Value::Null
    }
}
