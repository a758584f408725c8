//! The histogram of a column, of all rows of a table (MySQL manual, "ANALYZE TABLE Statement", Histogram Statistics
//! Analysis).

use super::{
    hyper_log_log::hash_u64,
    reader::{LoadSource, TreeReader},
};
use crate::{Result, StorageError, Table, tree::ColumnSource, value_at};
use muster_types::{SqlType, Value, distribution::Histogram, order};
use std::{cmp::Ordering, collections::HashMap, sync::Arc};

/// Characters of a text that count, as in MySQL.
const TEXT_CHARACTERS: usize = 42;
/// Values that are kept for one histogram; of a column with more of them only a share of the rows is counted
/// (`histogram_generation_max_mem_size` is 20,000,000 bytes by default).
const VALUES_MAX: f64 = 400_000.0;

/// What tells one value from another.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Word(u64),
    Bytes(Vec<u8>),
}

impl Identity {
    fn of(value: &Value) -> Identity {
        match value {
            Value::Int(i) => Identity::Word(*i as u64),
            Value::UInt(u) => Identity::Word(*u),
            Value::Date(d) => Identity::Word(*d as u64),
            Value::DateTime(t) | Value::Time(t) => Identity::Word(*t as u64),
            // Adding zero turns -0 into 0.
            Value::Double(x) => Identity::Word((x + 0.0).to_bits()),
            Value::Float(x) => Identity::Word(u64::from((x + 0.0).to_bits())),
            Value::Text(text) => Identity::Bytes(text.as_bytes().to_vec()),
            Value::Bytes(bytes) => Identity::Bytes(bytes.clone()),
            other => Identity::Bytes(other.to_text(0).unwrap_or_default().into_bytes()),
        }
    }
}

/// Reads a column of all rows. `distinct`: values that it has, about; `stop` is asked now and then. `None` if the table
/// has no such column. Errors: reading pages; `Interrupted` after `stop` has said so.
pub fn histogram(
    table: &Arc<Table>,
    column: usize,
    distinct: f64,
    buckets: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Histogram>> {
    let source = LoadSource::Table { table: Arc::clone(table), index: 0 };
    let is_wanted = |source: &ColumnSource| matches!(source, ColumnSource::Table { column: c, .. } if *c == column);
    let Some(position) = source.layout().columns.iter().position(|stored| is_wanted(&stored.source)) else {
        return Ok(None);
    };
    let ty = source.layout().columns[position].ty;
    let mut reader = TreeReader::new(source, vec![position], Arc::clone(table.counters()))?;
    let rate = (VALUES_MAX / distinct.max(1.0)).min(1.0);
    let threshold = (rate * u64::MAX as f64) as u64;
    let (mut counts, mut nulls, mut row_number) = (HashMap::new(), 0_u64, 0_u64);
    while let Some(batch) = reader.next_batch()? {
        if stop() {
            return Err(StorageError::Interrupted);
        }
        for row in 0..batch[0].len() {
            row_number += 1;
            if hash_u64(row_number) > threshold {
                continue;
            }
            match shortened(value_at(batch[0].as_ref(), row).unwrap_or(Value::Null)) {
                Value::Null => nulls += 1,
                value => counts.entry(Identity::of(&value)).or_insert((value, 0_u64)).1 += 1,
            }
        }
    }
    let specified = Some(buckets);
    let empty = Histogram { ty, buckets: Vec::new(), null_share: 0.0, sampling_rate: 1.0, specified, updated: 0 };
    let found = Histogram::new(ty, &in_order(counts.into_values().collect(), ty), nulls, buckets).unwrap_or(empty);
    let all = Histogram { sampling_rate: rate, specified, ..found };
    Ok(Some(if rate < 1.0 { all.with_distinct(distinct, row_number as f64 * rate) } else { all }))
}

/// Values ascending; those that are equal under a collation are one.
fn in_order(mut counts: Vec<(Value, u64)>, ty: SqlType) -> Vec<(Value, u64)> {
    let compare = |a: &Value, b: &Value| order::compare(a, b, ty).unwrap_or(Ordering::Equal);
    counts.sort_by(|(a, _), (b, _)| {
        compare(a, b).then_with(|| match (a, b) {
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            _ => Ordering::Equal,
        })
    });
    counts.dedup_by(|(value, count), (kept, sum)| {
        let is_same = compare(value, kept) == Ordering::Equal;
        if is_same {
            *sum += *count;
        }
        is_same
    });
    counts
}

fn shortened(value: Value) -> Value {
    match value {
        Value::Text(mut text) => {
            let end = text.char_indices().nth(TEXT_CHARACTERS).map_or(text.len(), |(at, _)| at);
            text.truncate(end);
            Value::Text(text)
        }
        Value::Bytes(mut bytes) => {
            bytes.truncate(TEXT_CHARACTERS);
            Value::Bytes(bytes)
        }
        other => other,
    }
}
