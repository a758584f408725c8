//! A table as a sorted map, with an order of its own: nothing here knows how keys become bytes.

use crate::TableSchema;
use muster_types::{KeyPart, SqlType, Value};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// A value as a part of a key, which compares as the key does.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    descending: bool,
    /// `None` is NULL.
    ranked: Option<Ranked>,
}

#[derive(Debug, Clone)]
enum Ranked {
    Number(i128),
    Double(f64),
    String(Vec<u8>),
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        let order = match (&self.ranked, &other.ranked) {
            (Some(Ranked::Number(a)), Some(Ranked::Number(b))) => a.cmp(b),
            (Some(Ranked::Double(a)), Some(Ranked::Double(b))) => a.partial_cmp(b).expect("no NaN is stored"),
            (Some(Ranked::String(a)), Some(Ranked::String(b))) => a.cmp(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if self.descending { order.reverse() } else { order }
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Part {}

pub(crate) type Parts = Vec<Part>;

/// A value as the part of a key.
pub(crate) fn part(schema: &TableSchema, part: &KeyPart, value: &Value) -> Part {
    let ranked = match (cut(value, part.prefix), schema.columns[part.column].ty) {
        (Value::Null, _) => None,
        (Value::Text(text), SqlType::Text { collation, .. }) => Some(Ranked::String(collation.sort_key(&text))),
        (Value::Bytes(bytes), _) => Some(Ranked::String(bytes)),
        (Value::Double(x), _) => Some(Ranked::Double(x)),
        (Value::Decimal(x), _) => x.narrow().map(Ranked::Number),
        (Value::UInt(x), _) => Some(Ranked::Number(i128::from(x))),
        (Value::Int(x), _) => Some(Ranked::Number(i128::from(x))),
        (Value::Date(x), _) => Some(Ranked::Number(i128::from(x))),
        (value, ty) => panic!("{value:?} in a column of {ty:?}"),
    };
    Part { descending: part.descending, ranked }
}

/// The first characters of a text, the first bytes of a byte string.
fn cut(value: &Value, prefix: Option<u32>) -> Value {
    match (value, prefix) {
        (Value::Text(text), Some(n)) => Value::Text(text.chars().take(n as usize).collect()),
        (Value::Bytes(bytes), Some(n)) => Value::Bytes(bytes[..bytes.len().min(n as usize)].to_vec()),
        (value, _) => value.clone(),
    }
}

/// A row, and the number that it has where there is no primary key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub values: Vec<Value>,
    pub number: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub schema: TableSchema,
    /// By the primary key, or by the hidden row number.
    pub rows: BTreeMap<Parts, Row>,
    /// By index, entries that are marked as deleted and still there.
    pub marked: Vec<BTreeSet<Parts>>,
}

impl Model {
    pub fn new(schema: TableSchema) -> Model {
        let marked = vec![BTreeSet::new(); schema.indexes.len()];
        Model { schema, rows: BTreeMap::new(), marked }
    }

    pub fn has_primary_key(&self) -> bool {
        !self.schema.indexes[0].parts.is_empty()
    }

    /// The declared parts of an index.
    fn declared(&self, index: usize, row: &Row) -> Parts {
        let parts = &self.schema.indexes[index].parts;
        parts.iter().map(|p| part(&self.schema, p, &row.values[p.column])).collect()
    }

    /// The row's key in the map.
    pub fn key(&self, row: &Row) -> Parts {
        match self.has_primary_key() {
            true => self.declared(0, row),
            false => vec![Part { descending: false, ranked: Some(Ranked::Number(i128::from(row.number))) }],
        }
    }

    /// The row's place in the order of an index.
    pub fn entry(&self, index: usize, row: &Row) -> Parts {
        let mut entry = if index == 0 { Vec::new() } else { self.declared(index, row) };
        entry.extend(self.key(row));
        entry
    }

    /// The values by which the product finds a row.
    pub fn key_values(&self, row: &Row) -> Vec<Value> {
        match self.has_primary_key() {
            true => self.schema.indexes[0].parts.iter().map(|p| row.values[p.column].clone()).collect(),
            false => vec![Value::Int(row.number)],
        }
    }

    /// The first index in which a row would be a duplicate of another than the one with the key `except`.
    pub fn duplicate(&self, new: &Row, except: Option<&Parts>) -> Option<usize> {
        let others = || self.rows.iter().filter(|(key, _)| Some(*key) != except).map(|(_, row)| row);
        (0..self.schema.indexes.len()).find(|&index| {
            if index == 0 {
                let key = self.key(new);
                return self.has_primary_key() && except != Some(&key) && self.rows.contains_key(&key);
            }
            let declared = self.declared(index, new);
            self.schema.indexes[index].unique
                && declared.iter().all(|part| part.ranked.is_some())
                && others().any(|row| self.declared(index, row) == declared)
        })
    }

    /// Puts a row in, in the place of the one with the key `old`.
    pub fn put(&mut self, old: Option<&Parts>, new: Row) {
        if let Some(old) = old {
            self.rows.remove(old);
        }
        for index in 0..self.marked.len() {
            let entry = self.entry(index, &new);
            self.marked[index].remove(&entry);
        }
        self.rows.insert(self.key(&new), new);
    }

    /// The rows in the order of an index, with their places in it.
    pub fn in_order(&self, index: usize) -> Vec<(Parts, &Row)> {
        let mut rows: Vec<(Parts, &Row)> = self.rows.values().map(|row| (self.entry(index, row), row)).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    }
}
