//! Batches that hold on to no more memory than their values take.
//!
//! An array keeps whole buffers alive, however few of their bytes it refers to: a slice those of the array it was cut
//! from, gathered texts those of every batch they came from. Who keeps batches keeps copies, and accounts for what is
//! really held.

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, cast::AsArray};
use arrow_schema::DataType;
use arrow_select::take::take;
use datafusion_common::Result;
use std::sync::Arc;

/// Arrays that hold more than this beside twice what they use are copied.
const SLACK_BYTES: usize = 4096;

/// Bytes that the values of a batch take.
pub fn used_bytes(batch: &RecordBatch) -> Result<usize> {
    batch.columns().iter().map(|array| used(array.as_ref())).sum()
}

/// Bytes that a batch keeps allocated; buffers that arrays share count for each of them.
pub fn held_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|array| array.get_buffer_memory_size()).sum()
}

/// Returns the same rows; arrays that hold much more memory than they use are copied.
pub fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(compact_array).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

fn compact_array(array: &ArrayRef) -> Result<ArrayRef> {
    if array.get_buffer_memory_size() <= 2 * used(array.as_ref())? + SLACK_BYTES {
        return Ok(array.clone());
    }
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => take(array.as_ref(), &UInt32Array::from_iter_values(0..array.len() as u32), None)?,
    })
}

fn used(array: &dyn Array) -> Result<usize> {
    let texts = match array.data_type() {
        DataType::Utf8View => array.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => array.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    };
    Ok(array.to_data().get_slice_memory_size()? + texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringViewArray};

    #[test]
    fn a_small_part_of_a_large_batch_lets_the_rest_go() {
        let texts: StringViewArray = (0..10_000).map(|i| (i % 3 > 0).then(|| format!("{i:0>100}"))).collect();
        let numbers = Int64Array::from_iter_values(0..10_000);
        let columns: [(&str, ArrayRef); 2] = [("t", Arc::new(texts)), ("n", Arc::new(numbers))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let part = batch.slice(500, 10);
        assert!(held_bytes(&part) > 700_000);
        assert!(used_bytes(&part).unwrap() < 2_000);
        let copy = compact(&part).unwrap();
        assert_eq!(copy, part);
        assert!(held_bytes(&copy) < 4_000, "{}", held_bytes(&copy));
        let whole = compact(&copy).unwrap();
        assert!(Arc::ptr_eq(whole.column(0), copy.column(0)), "nothing to gain");
    }
}
