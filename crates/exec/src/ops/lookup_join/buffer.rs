//! A join buffer: outer rows with the keys they are looked up by.

use super::{LookupJoinSpec, links, storage};
use crate::ops::compact::held_bytes;
use arrow_array::{Array, ArrayRef, BooleanArray, LargeBinaryArray, RecordBatch, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_physical_expr::utils::collect_columns;
use muster_storage::Keys;
use std::ops::Range;

/// Outer rows, grouped by equal keys.
pub struct JoinBuffer {
    /// May have links into other buffers: see [`links`].
    pub outer: RecordBatch,
    /// Per group its key: ascending and distinct if key-ordered, else as the rows come.
    keys: Keys,
    /// Outer rows, those of one group next to each other. Rows with NULL in their key are in none.
    rows: Vec<u32>,
    /// The end of each group in `rows`.
    ends: Vec<u32>,
}

impl JoinBuffer {
    pub fn new(spec: &LookupJoinSpec, outer: RecordBatch) -> Result<JoinBuffer> {
        let mentioned = spec.keys.iter().flat_map(collect_columns).map(|c| c.index());
        let followed = links::follow(&outer, mentioned)?;
        let arrays: Vec<ArrayRef> =
            spec.keys.iter().map(|e| e.evaluate(&followed)?.into_array(outer.num_rows())).collect::<Result<_>>()?;
        // NULL is equal to nothing.
        let nulls = arrays.iter().fold(None, |all, a| NullBuffer::union(all.as_ref(), a.logical_nulls().as_ref()));
        let (arrays, mut rows): (Vec<ArrayRef>, Vec<u32>) = match nulls.filter(|n| n.null_count() > 0) {
            None => (arrays, (0..outer.num_rows() as u32).collect()),
            Some(nulls) => {
                let mask = BooleanArray::new(nulls.inner().clone(), None);
                let kept = arrays.iter().map(|a| arrow_select::filter::filter(a, &mask));
                (kept.collect::<std::result::Result<_, _>>()?, nulls.valid_indices().map(|i| i as u32).collect())
            }
        };
        let all = spec.table.lookup_keys(spec.index, &arrays).map_err(storage)?;
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        if spec.key_ordered && !(1..all.len()).all(|i| all.get(i - 1) <= all.get(i)) {
            sort_by_key(&mut order, &all);
        }
        let (mut keys, mut ends) = (Keys::default(), Vec::new());
        for (place, i) in order.iter().enumerate() {
            let key = all.get(*i as usize);
            if keys.is_empty() || keys.get(keys.len() - 1) != key {
                if place > 0 {
                    ends.push(place as u32);
                }
                keys.push(key);
            }
        }
        if !order.is_empty() {
            ends.push(order.len() as u32);
        }
        rows = order.into_iter().map(|i| rows[i as usize]).collect();
        Ok(JoinBuffer { outer, keys, rows, ends })
    }

    pub fn groups(&self) -> usize {
        self.ends.len()
    }

    pub fn all_keys(&self) -> Keys {
        self.keys.clone()
    }

    pub fn key(&self, group: usize) -> Keys {
        let mut one = Keys::default();
        one.push(self.keys.get(group));
        one
    }

    /// Bytes that the buffer keeps allocated.
    pub fn memory_bytes(&self) -> usize {
        let keys = self.keys.byte_len() + self.keys.len() * size_of::<usize>();
        held_bytes(&self.outer) + keys + (self.rows.capacity() + self.ends.capacity()) * size_of::<u32>()
    }

    /// The outer rows of a group.
    pub fn rows_of(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        let Range { start, end } = start..self.ends[group];
        &self.rows[start as usize..end as usize]
    }
}

/// Sorts places of keys by the keys. Short ones compare as numbers.
fn sort_by_key(order: &mut Vec<u32>, keys: &Keys) {
    let width = keys.get(0).len();
    if width <= 8 && keys.iter().all(|k| k.len() == width) {
        let number = |key: &[u8]| key.iter().fold(0u64, |n, byte| n << 8 | *byte as u64);
        let mut numbered: Vec<(u64, u32)> = order.iter().map(|i| (number(keys.get(*i as usize)), *i)).collect();
        numbered.sort_unstable();
        *order = numbered.into_iter().map(|(_, i)| i).collect();
        return;
    }
    order.sort_unstable_by(|a, b| keys.get(*a as usize).cmp(keys.get(*b as usize)).then(a.cmp(b)));
}

/// Bytes of a batch's rows, each value counted once: shared buffers of texts are not.
pub fn row_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(column_bytes).sum()
}

fn column_bytes(column: &ArrayRef) -> usize {
    let long = match column.data_type() {
        DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
        DataType::LargeBinary => document_bytes(column.as_binary::<i64>()),
        _ => 0,
    };
    let width = match column.data_type() {
        DataType::Utf8View | DataType::BinaryView => 16,
        DataType::Dictionary(..) => links::LINK_BYTES,
        ty => ty.primitive_width().unwrap_or(1),
    };
    column.len() * width + long
}

/// Bytes of the documents of a column.
fn document_bytes(documents: &LargeBinaryArray) -> usize {
    let offsets = documents.value_offsets();
    offsets.last().zip(offsets.first()).map_or(0, |(end, start)| (end - start) as usize)
}

/// The first rows of a batch, as many as fit in `room` bytes, and the rest. `at_least_one`: even if none fits.
pub fn split(batch: RecordBatch, room: usize, at_least_one: bool) -> (Option<RecordBatch>, Option<RecordBatch>) {
    let rows = batch.num_rows();
    let bytes = row_bytes(&batch).max(1);
    if bytes <= room {
        return (Some(batch), None);
    }
    // Rows are taken to be alike.
    let fit = ((room as u128 * rows as u128 / bytes as u128) as usize).max(at_least_one as usize).min(rows);
    match fit {
        0 => (None, Some(batch)),
        n if n == rows => (Some(batch), None),
        n => (Some(batch.slice(0, n)), Some(batch.slice(n, rows - n))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringViewArray};
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    #[test]
    fn a_buffer_takes_what_fits_and_one_row_at_least() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let batch = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from_iter_values(0..10))]).unwrap();
        assert_eq!(row_bytes(&batch), 80);
        let rows = |(a, b): (Option<RecordBatch>, Option<RecordBatch>)| {
            (a.map_or(0, |b| b.num_rows()), b.map_or(0, |b| b.num_rows()))
        };
        assert_eq!(rows(split(batch.clone(), 80, true)), (10, 0));
        assert_eq!(rows(split(batch.clone(), 41, true)), (5, 5));
        assert_eq!(rows(split(batch.clone(), 0, true)), (1, 9));
        assert_eq!(rows(split(batch, 7, false)), (0, 10));
    }

    #[test]
    fn shared_texts_count_where_they_are_used() {
        let long = "a text that is longer than a view";
        let array = StringViewArray::from(vec![long; 100]);
        let column: ArrayRef = Arc::new(array.slice(0, 2));
        assert_eq!(column_bytes(&column), 2 * (16 + long.len()));
    }

    #[test]
    fn keys_sort_as_bytes() {
        for texts in [vec!["b", "a", "c", "a"], vec!["bb", "a", "", "abcdefghijk"]] {
            let mut keys = Keys::default();
            texts.iter().for_each(|t| keys.push(t.as_bytes()));
            let mut order: Vec<u32> = (0..4).collect();
            sort_by_key(&mut order, &keys);
            let mut expected: Vec<u32> = (0..4).collect();
            expected.sort_by_key(|i| texts[*i as usize]);
            assert_eq!(order, expected);
        }
    }
}
