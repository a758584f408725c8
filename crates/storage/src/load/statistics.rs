//! The statistics of each column that a load collects from the rows as they are written.
//!
//! Must cost little beside the load itself: arrays are hashed a column at a time, and short texts seen lately are
//! recognised by their view alone.

use super::{
    hyper_log_log::{HyperLogLog, hash_bytes, hash_u64, hash_u128},
    row_sampler::RowSampler,
};
use crate::{ColumnStats, Result, value_at};
use arrow_array::{
    Array, ArrayRef, GenericByteViewArray, PrimitiveArray,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, ByteViewType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type,
        DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use muster_types::{SqlType, Value, collation::TextTraits, distribution::RowSample};
use std::{
    sync::mpsc::{SyncSender, sync_channel},
    thread::JoinHandle,
};

/// Most bytes of a text bound.
const BOUND_BYTES_MAX: usize = 64;
/// Texts up to this length stand in the view itself (Arrow, "Variable-size Binary View Layout").
const INLINE_BYTES_MAX: u32 = 12;
/// Slots for short texts seen lately.
const RECENT: usize = 256;

/// Statistics of all columns, batch after batch.
pub(super) struct StatisticsCollector {
    rows: u64,
    columns: Vec<Collector>,
    sampler: RowSampler,
}

/// What a load has learned of the rows.
pub(super) struct Collected {
    pub rows: u64,
    pub columns: Vec<ColumnStats>,
    pub sample: RowSample,
}

/// Collects on a thread of its own, beside the one that writes the rows.
pub(super) struct StatisticsThread {
    batches: SyncSender<Vec<ArrayRef>>,
    thread: JoinHandle<StatisticsCollector>,
}

/// A value that a column reaches; the Arrow type is one that is collected.
fn bound(array: &dyn Array, row: usize) -> Value {
    value_at(array, row).unwrap_or(Value::Null)
}

impl StatisticsThread {
    /// Starts a thread for a table of so many columns; batches may have more columns behind them.
    pub fn start(columns: usize) -> StatisticsThread {
        let (batches, incoming) = sync_channel::<Vec<ArrayRef>>(4);
        let thread = std::thread::spawn(move || {
            let mut collector = StatisticsCollector::new(columns);
            incoming.iter().for_each(|batch| collector.add(&batch));
            collector
        });
        StatisticsThread { batches, thread }
    }

    pub fn add(&self, columns: &[ArrayRef]) {
        // When the thread has died, `finish` says so.
        let _ = self.batches.send(columns.to_vec());
    }

    /// `types`: of the columns.
    pub fn finish(self, types: &[SqlType]) -> Result<Collected> {
        drop(self.batches);
        self.thread.join().map(|collector| collector.finish(types)).map_err(|_| super::thread_died())
    }
}

struct Collector {
    counter: HyperLogLog,
    null_count: u64,
    bounds: Option<(Value, Value)>,
    traits: TextTraits,
    /// Views of short texts that were added; 0 is the empty text's.
    recent: Vec<Option<u128>>,
}

impl StatisticsCollector {
    pub fn new(columns: usize) -> StatisticsCollector {
        let collector = || Collector {
            counter: HyperLogLog::new(),
            null_count: 0,
            bounds: None,
            traits: TextTraits::default(),
            recent: Vec::new(),
        };
        StatisticsCollector {
            rows: 0,
            columns: (0..columns).map(|_| collector()).collect(),
            sampler: RowSampler::new(),
        }
    }

    pub fn add(&mut self, columns: &[ArrayRef]) {
        let rows = columns.first().map_or(0, |c| c.len());
        self.rows += rows as u64;
        let sampled = &columns[..columns.len().min(self.columns.len())];
        // Documents are not kept.
        let kept = |value: &Value| !matches!(value, Value::Json(_));
        let of_row = |row| sampled.iter().map(|array| value_at(array.as_ref(), row).ok().filter(kept)).collect();
        self.sampler.pass(rows, of_row);
        for (collector, array) in self.columns.iter_mut().zip(columns) {
            collector.add(array);
        }
    }

    pub fn finish(self, types: &[SqlType]) -> Collected {
        let rows = self.rows;
        let stats = self.columns.into_iter().map(|c| {
            let (min, max) = c.bounds.map_or((None, None), |(min, max)| (Some(cut_bound(min)), Some(cut_bound(max))));
            let distinct = c.counter.estimate().min((rows - c.null_count) as f64);
            ColumnStats { distinct, null_count: c.null_count, min, max, text: c.traits }
        });
        Collected { rows, columns: stats.collect(), sample: self.sampler.finish(types, rows) }
    }
}

impl Collector {
    fn add(&mut self, array: &ArrayRef) {
        let array = array.as_ref();
        self.null_count += array.null_count() as u64;
        let bounds = match array.data_type() {
            DataType::Int8 => self.add_primitive::<Int8Type>(array, |v| v as u64),
            DataType::Int16 => self.add_primitive::<Int16Type>(array, |v| v as u64),
            DataType::Int32 => self.add_primitive::<Int32Type>(array, |v| v as u64),
            DataType::Int64 => self.add_primitive::<Int64Type>(array, |v| v as u64),
            DataType::UInt8 => self.add_primitive::<UInt8Type>(array, u64::from),
            DataType::UInt16 => self.add_primitive::<UInt16Type>(array, u64::from),
            DataType::UInt32 => self.add_primitive::<UInt32Type>(array, u64::from),
            DataType::UInt64 => self.add_primitive::<UInt64Type>(array, |v| v),
            DataType::Date32 => self.add_primitive::<Date32Type>(array, |v| v as u64),
            DataType::Timestamp(..) => self.add_primitive::<TimestampMicrosecondType>(array, |v| v as u64),
            DataType::Duration(..) => self.add_primitive::<DurationMicrosecondType>(array, |v| v as u64),
            // Adding zero turns -0 into 0.
            DataType::Float32 => self.add_primitive::<Float32Type>(array, |v| u64::from((v + 0.0).to_bits())),
            DataType::Float64 => self.add_primitive::<Float64Type>(array, |v| (v + 0.0).to_bits()),
            DataType::Decimal64(..) => self.add_primitive::<Decimal64Type>(array, |v| v as u64),
            DataType::Decimal128(..) => self.add_primitive::<Decimal128Type>(array, |v| hash_u128(v as u128)),
            DataType::Decimal256(..) => self.add_primitive::<Decimal256Type>(array, |v| hash_bytes(&v.to_le_bytes())),
            DataType::Utf8View => self.add_views(array.as_string_view()),
            DataType::BinaryView => self.add_views(array.as_binary_view()),
            _ => None,
        };
        if let Some((least, greatest)) = bounds {
            self.widen(bound(array, least), bound(array, greatest));
        }
    }

    /// Adds all values; says where the least and the greatest stand.
    fn add_primitive<T: ArrowPrimitiveType>(
        &mut self,
        array: &dyn Array,
        bits: impl Fn(T::Native) -> u64,
    ) -> Option<(usize, usize)>
    where
        T::Native: PartialOrd,
    {
        let array: &PrimitiveArray<T> = array.as_primitive();
        let values = array.values();
        let first = (0..values.len()).find(|&i| array.is_valid(i))?;
        let (mut least, mut greatest) = (first, first);
        let (mut min, mut max) = (values[first], values[first]);
        let mut previous = None;
        let mut add = |i: usize, v: T::Native| {
            if previous != Some(v) {
                previous = Some(v);
                self.counter.add(hash_u64(bits(v)));
                if v < min {
                    (min, least) = (v, i);
                } else if v > max {
                    (max, greatest) = (v, i);
                }
            }
        };
        match array.nulls() {
            Some(nulls) if nulls.null_count() > 0 => nulls.valid_indices().for_each(|i| add(i, values[i])),
            _ => values.iter().enumerate().for_each(|(i, v)| add(i, *v)),
        }
        Some((least, greatest))
    }

    fn add_views<T: ByteViewType + ?Sized>(&mut self, array: &GenericByteViewArray<T>) -> Option<(usize, usize)>
    where
        T::Native: AsRef<[u8]>,
    {
        if self.recent.is_empty() {
            self.recent = vec![None; RECENT];
        }
        let bytes_at = |i: usize| -> &[u8] { array.value(i).as_ref() };
        let mut bounds: Option<(usize, usize)> = None;
        let mut add = |i: usize| {
            let view = array.views()[i];
            let hash = if view as u32 <= INLINE_BYTES_MAX {
                let hash = hash_u128(view);
                let slot = &mut self.recent[hash as usize % RECENT];
                // Seen in an earlier batch or this one: it can change nothing, unless the batch has no bounds yet.
                if *slot == Some(view) {
                    return;
                }
                *slot = Some(view);
                hash
            } else {
                hash_bytes(bytes_at(i))
            };
            self.counter.add(hash);
            let bytes = bytes_at(i);
            self.traits.add(bytes);
            bounds = Some(match bounds {
                None => (i, i),
                Some((least, greatest)) if bytes < bytes_at(least) => (i, greatest),
                Some((least, greatest)) if bytes > bytes_at(greatest) => (least, i),
                Some(same) => same,
            });
        };
        match array.nulls() {
            Some(nulls) if nulls.null_count() > 0 => nulls.valid_indices().for_each(&mut add),
            _ => (0..array.len()).for_each(&mut add),
        }
        bounds
    }

    fn widen(&mut self, least: Value, greatest: Value) {
        match &mut self.bounds {
            None => self.bounds = Some((least, greatest)),
            Some((min, max)) => {
                if less(&least, min) {
                    *min = least;
                }
                if less(max, &greatest) {
                    *max = greatest;
                }
            }
        }
    }
}

/// Compares values of one column; text by its bytes, which is near enough for an estimate in any collation.
pub(super) fn less(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a < b,
        (Value::UInt(a), Value::UInt(b)) => a < b,
        (Value::Decimal(a), Value::Decimal(b)) => a < b,
        (Value::Float(a), Value::Float(b)) => a < b,
        (Value::Double(a), Value::Double(b)) => a < b,
        (Value::Date(a), Value::Date(b)) => a < b,
        (Value::DateTime(a), Value::DateTime(b)) | (Value::Time(a), Value::Time(b)) => a < b,
        (Value::Text(a), Value::Text(b)) => a < b,
        (Value::Bytes(a), Value::Bytes(b)) => a < b,
        _ => false,
    }
}

/// A bound of a column's values as statistics keep it.
pub(super) fn cut_bound(value: Value) -> Value {
    cut(value, BOUND_BYTES_MAX)
}

/// The beginning of a text or a byte string, of so many bytes at most; other values as they are.
pub(super) fn cut(value: Value, bytes_max: usize) -> Value {
    match value {
        Value::Text(mut text) => {
            text.truncate(text.floor_char_boundary(bytes_max));
            Value::Text(text)
        }
        Value::Bytes(mut bytes) => {
            bytes.truncate(bytes_max);
            Value::Bytes(bytes)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal64Array, Float64Array, Int32Array, StringViewArray};
    use muster_types::Decimal;
    use std::sync::Arc;

    #[test]
    fn columns_of_two_batches() {
        let long = "é".repeat(40);
        let decimal = |v: Vec<i64>| Decimal64Array::from(v).with_precision_and_scale(15, 2).unwrap();
        let batches: [Vec<ArrayRef>; 2] = [
            vec![
                Arc::new(Int32Array::from(vec![Some(3), None, Some(3)])),
                Arc::new(StringViewArray::from(vec!["b", "AB", "b"])),
                Arc::new(decimal(vec![5, -7, 5])),
                Arc::new(Float64Array::from(vec![0.0, -0.0, 2.5])),
                Arc::new(Int32Array::from(vec![None::<i32>; 3])),
            ],
            vec![
                Arc::new(Int32Array::from(vec![Some(-2), Some(7)])),
                Arc::new(StringViewArray::from(vec![Some(long.as_str()), None])),
                Arc::new(decimal(vec![100, 0])),
                Arc::new(Float64Array::from(vec![1.0, 1.0])),
                Arc::new(Int32Array::from(vec![None::<i32>; 2])),
            ],
        ];
        let mut collector = StatisticsCollector::new(5);
        batches.iter().for_each(|b| collector.add(b));
        let types = [
            SqlType::INT,
            SqlType::varchar(40, muster_types::Collation::DEFAULT),
            SqlType::decimal(15, 2),
            SqlType::Double,
            SqlType::INT,
        ];
        let Collected { rows, columns, sample } = collector.finish(&types);
        assert_eq!((rows, sample.rows()), (5, 5));
        assert_eq!(sample.column(0).unwrap().values, [-2, 3, 7].map(Value::Int));
        let distinct: Vec<f64> = columns.iter().map(|c| c.distinct.round()).collect();
        assert_eq!(distinct, [3.0, 3.0, 4.0, 3.0, 0.0]);
        let nulls: Vec<u64> = columns.iter().map(|c| c.null_count).collect();
        assert_eq!(nulls, [1, 1, 0, 0, 5]);
        let bounds: Vec<_> = columns.iter().map(|c| c.min.clone().zip(c.max.clone())).collect();
        assert_eq!(bounds[0], Some((Value::Int(-2), Value::Int(7))));
        assert_eq!(bounds[1], Some((Value::Text("AB".into()), Value::Text("é".repeat(32)))));
        assert_eq!(bounds[2], Some((Value::Decimal(Decimal::new(-7, 2)), Value::Decimal(Decimal::new(100, 2)))));
        assert_eq!(bounds[3], Some((Value::Double(0.0), Value::Double(2.5))));
        assert_eq!(bounds[4], None);
        let traits = columns[1].text;
        assert_eq!((traits.ascii, traits.upper, traits.lower), (false, 0b11, 0b10));
    }
}
