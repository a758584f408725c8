//! Rows that wait for those that come before them: their keys and values, in one piece of memory.

use muster_types::ValueRef;
use std::ops::Range;

/// A value whose bytes, if it has any, are in the heap.
#[derive(Debug, Clone)]
enum Held {
    Fixed(ValueRef<'static>),
    Text(Range<usize>),
    Bytes(Range<usize>),
    Json(Range<usize>),
}

#[derive(Debug, Clone)]
struct HeldRow {
    key: Range<usize>,
    values: Range<usize>,
}

#[derive(Debug, Default)]
pub struct HeldRows {
    heap: Vec<u8>,
    values: Vec<Held>,
    rows: Vec<HeldRow>,
}

impl HeldRows {
    /// Begins a row, whose key is to be appended.
    pub fn begin_row(&mut self) -> &mut Vec<u8> {
        let (start, values) = (self.heap.len(), self.values.len());
        self.rows.push(HeldRow { key: start..start, values: values..values });
        &mut self.heap
    }

    /// Ends the key of the row.
    pub fn end_key(&mut self) {
        let end = self.heap.len();
        if let Some(row) = self.rows.last_mut() {
            row.key.end = end;
        }
    }

    /// Adds a value to the row.
    pub fn push(&mut self, value: ValueRef<'_>) {
        let start = self.heap.len();
        let held = match value {
            ValueRef::Text(text) => {
                self.heap.extend_from_slice(text.as_bytes());
                Held::Text(start..self.heap.len())
            }
            ValueRef::Bytes(bytes) => {
                self.heap.extend_from_slice(bytes);
                Held::Bytes(start..self.heap.len())
            }
            ValueRef::Json(document) => {
                self.heap.extend_from_slice(document);
                Held::Json(start..self.heap.len())
            }
            ValueRef::Null => Held::Fixed(ValueRef::Null),
            ValueRef::Bool(b) => Held::Fixed(ValueRef::Bool(b)),
            ValueRef::Int(i) => Held::Fixed(ValueRef::Int(i)),
            ValueRef::UInt(u) => Held::Fixed(ValueRef::UInt(u)),
            ValueRef::Decimal(d) => Held::Fixed(ValueRef::Decimal(d)),
            ValueRef::Float(x) => Held::Fixed(ValueRef::Float(x)),
            ValueRef::Double(x) => Held::Fixed(ValueRef::Double(x)),
            ValueRef::Date(d) => Held::Fixed(ValueRef::Date(d)),
            ValueRef::DateTime(t) => Held::Fixed(ValueRef::DateTime(t)),
            ValueRef::Time(t) => Held::Fixed(ValueRef::Time(t)),
        };
        self.values.push(held);
        if let Some(row) = self.rows.last_mut() {
            row.values.end = self.values.len();
        }
    }

    /// The rows in the order of their keys, those with equal keys as they came; `distinct`: only the first of them.
    pub fn in_order(&self, distinct: bool) -> Vec<usize> {
        let key = |row: &usize| &self.heap[self.rows[*row].key.clone()];
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|a, b| key(a).cmp(key(b)));
        if distinct {
            order.dedup_by(|a, b| key(a) == key(b));
        }
        order
    }

    /// The values of a row.
    pub fn values(&self, row: usize) -> impl Iterator<Item = ValueRef<'_>> {
        self.values[self.rows[row].values.clone()].iter().map(|value| match value {
            Held::Fixed(value) => *value,
            // The bytes were those of a text.
            Held::Text(range) => std::str::from_utf8(&self.heap[range.clone()]).map_or(ValueRef::Null, ValueRef::Text),
            Held::Bytes(range) => ValueRef::Bytes(&self.heap[range.clone()]),
            Held::Json(range) => ValueRef::Json(&self.heap[range.clone()]),
        })
    }
}
