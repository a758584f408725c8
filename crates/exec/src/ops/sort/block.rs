//! Rows with their sort keys.

use crate::ops::compact::held_bytes;
use arrow_array::{Array, BinaryArray, RecordBatch, cast::AsArray};
use arrow_schema::DataType;

/// Longest text whose bytes stand in the view itself.
const INLINE_BYTES: u32 = 12;

/// See the module.
pub struct Block {
    pub batch: RecordBatch,
    /// One for each row; they compare as bytes.
    pub keys: BinaryArray,
    /// Bytes that any row takes in columns of fixed width.
    fixed_bytes: usize,
    /// Bytes of each row's texts, without columns of texts empty.
    text_bytes: Vec<u32>,
}

impl Block {
    pub fn new(batch: RecordBatch, keys: BinaryArray) -> Block {
        let width = |ty: &DataType| ty.primitive_width().unwrap_or(size_of::<u128>());
        let fixed_bytes = batch.columns().iter().map(|c| width(c.data_type())).sum();
        let mut text_bytes = Vec::new();
        for column in batch.columns() {
            let views = match column.data_type() {
                DataType::Utf8View => column.as_string_view().views(),
                DataType::BinaryView => column.as_binary_view().views(),
                DataType::LargeBinary => {
                    text_bytes.resize(batch.num_rows(), 0u32);
                    for (sum, offsets) in
                        text_bytes.iter_mut().zip(column.as_binary::<i64>().value_offsets().windows(2))
                    {
                        *sum = sum.saturating_add(u32::try_from(offsets[1] - offsets[0]).unwrap_or(u32::MAX));
                    }
                    continue;
                }
                _ => continue,
            };
            text_bytes.resize(batch.num_rows(), 0u32);
            for (sum, view) in text_bytes.iter_mut().zip(views.iter()) {
                let length = *view as u32;
                *sum = sum.saturating_add(if length > INLINE_BYTES { length } else { 0 });
            }
        }
        Block { batch, keys, fixed_bytes, text_bytes }
    }

    pub fn rows(&self) -> usize {
        self.keys.len()
    }

    pub fn key(&self, row: usize) -> &[u8] {
        self.keys.value(row)
    }

    /// Bytes of a row and its key.
    pub fn row_bytes(&self, row: usize) -> usize {
        let texts = self.text_bytes.get(row).map_or(0, |n| *n as usize);
        self.fixed_bytes + texts + self.key(row).len() + size_of::<i32>()
    }

    /// Bytes that the block keeps allocated; its arrays share no buffers.
    pub fn memory_bytes(&self) -> usize {
        held_bytes(&self.batch) + self.keys.get_buffer_memory_size() + self.text_bytes.capacity() * size_of::<u32>()
    }
}
