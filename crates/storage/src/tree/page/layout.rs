//! The columns that a tree's leaves hold and the parts of its key, derived from the table's schema.

use super::{block::cut_value, former_layout::FormerLayout, leaf::record::RecordLayout};
use crate::{
    ColumnSchema, TableSchema,
    key::{KeyCodec, KeyKind, KeyPartCodec, KeyWords, enum_bytes, int_bytes},
};
use muster_types::{
    SqlType, Value,
    sql_type::{DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION},
};
use std::borrow::Cow;

/// How a value lies in a page. See "Stored columns" in `docs/format.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Physical {
    /// Integers of 1, 2, 4 or 8 bytes, and what is kept as such.
    Int { width: usize, signed: bool },
    /// 16-byte integers.
    Wide,
    /// 32-byte integers.
    Wide256,
    /// Strings; `text`: UTF-8.
    Bytes { text: bool },
}

impl Physical {
    pub fn of(ty: &SqlType) -> Physical {
        let int = |width, signed| Physical::Int { width, signed };
        match *ty {
            SqlType::Null | SqlType::Bool => int(1, true),
            SqlType::Int { width, unsigned } => int(int_bytes(width), !unsigned),
            SqlType::Decimal { precision, .. } if precision <= DECIMAL64_MAX_PRECISION => int(8, true),
            SqlType::Decimal { precision, .. } if precision <= DECIMAL128_MAX_PRECISION => Physical::Wide,
            SqlType::Decimal { .. } => Physical::Wide256,
            SqlType::Float => int(4, false),
            SqlType::Double => int(8, false),
            SqlType::Date => int(4, true),
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => int(8, true),
            SqlType::Enum(members) => int(enum_bytes(members), false),
            SqlType::Year => int(2, false),
            SqlType::Unsigned(number) => Physical::of(&number.plain()),
            SqlType::Set(_) | SqlType::Bit { .. } => int(8, false),
            SqlType::Text { .. } => Physical::Bytes { text: true },
            SqlType::Bytes { .. } | SqlType::Json => Physical::Bytes { text: false },
        }
    }
}

/// The source of a stored column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// A table column, cut to its first `prefix` characters (bytes of byte strings).
    Table { column: usize, prefix: Option<u32> },
    /// The hidden row number of tables without a primary key: an Int64.
    RowNumber,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StoredColumn {
    pub source: ColumnSource,
    pub ty: SqlType,
    pub nullable: bool,
    pub physical: Physical,
}

/// A tree's stored columns and key.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeLayout {
    /// Position among the table's indexes; 0 is the clustered tree.
    pub index: usize,
    /// Number of the table's columns.
    pub table_columns: usize,
    /// The index's number, in every page of the tree.
    pub index_id: u32,
    pub columns: Vec<StoredColumn>,
    /// Declared parts, then what makes entries unique.
    pub key: KeyCodec,
    /// Whole keys as numbers, if all are short and of one length.
    pub key_words: Option<KeyWords>,
    /// Declared parts of the key. 0 in a clustered tree ordered by the hidden row number.
    pub declared_parts: usize,
    pub unique: bool,
    /// Makes the clustered tree's key from this tree's stored columns.
    pub clustered_key: KeyCodec,
    /// The layout of the columns in records.
    pub record: RecordLayout,
    /// Of each stored column of a clustered tree, whether entries of the table's trees are made of it.
    pub in_entries: Vec<bool>,
    /// The number of the row layout of a clustered tree; 0 in other trees.
    pub number: u32,
    /// Layouts that rows of a clustered tree may have that were written before.
    pub former: Vec<FormerLayout>,
}

impl TreeLayout {
    /// The layout of `schema.indexes[index]`.
    pub fn new(schema: &TableSchema, index: usize) -> TreeLayout {
        let clustered_parts = &schema.indexes[0].parts;
        let spec = &schema.indexes[index];
        let mut layout = TreeLayout {
            index,
            table_columns: schema.columns.len(),
            index_id: spec.id,
            columns: Vec::new(),
            key: KeyCodec { parts: Vec::new() },
            key_words: None,
            declared_parts: spec.parts.len(),
            unique: spec.unique || index == 0,
            clustered_key: KeyCodec { parts: Vec::new() },
            record: RecordLayout::default(),
            in_entries: Vec::new(),
            number: if index == 0 { schema.layouts.number } else { 0 },
            former: Vec::new(),
        };
        if index == 0 {
            for (column, c) in schema.columns.iter().enumerate() {
                layout.add(ColumnSource::Table { column, prefix: None }, c);
            }
        }
        let part = |layout: &mut TreeLayout, p: &muster_types::KeyPart| {
            let c = &schema.columns[p.column];
            // A prefix that no value can exceed is none.
            let prefix = p.prefix.filter(|n| match c.ty {
                SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => *n < length,
                _ => false,
            });
            let whole = layout.column_of(p.column);
            let column = match whole {
                Some(column) => column,
                None => layout.add(ColumnSource::Table { column: p.column, prefix }, c),
            };
            let kind = KeyKind::of(&c.ty);
            KeyPartCodec { column, kind, nullable: c.nullable, descending: p.descending, prefix }
        };
        for p in &spec.parts {
            let codec = part(&mut layout, p);
            layout.key.parts.push(codec);
        }
        for p in clustered_parts {
            let codec = part(&mut layout, p);
            let held = layout
                .key
                .parts
                .iter()
                .any(|k| k.column == codec.column && (k.prefix.is_none() || k.prefix == codec.prefix));
            if !held {
                layout.key.parts.push(codec.clone());
            }
            layout.clustered_key.parts.push(codec);
        }
        if clustered_parts.is_empty() {
            let c = ColumnSchema { ty: SqlType::BIGINT, nullable: false };
            let column = layout.add(ColumnSource::RowNumber, &c);
            let kind = KeyKind::of(&c.ty);
            let codec = KeyPartCodec { column, kind, nullable: false, descending: false, prefix: None };
            layout.key.parts.push(codec.clone());
            layout.clustered_key.parts.push(codec);
        }
        layout.key_words = KeyWords::of_whole_keys(&layout.key);
        layout.record = RecordLayout::new(&layout.columns);
        if index == 0 {
            layout.in_entries = layout.columns_in_entries(schema);
            layout.former = FormerLayout::all_of(schema, &layout);
        }
        layout
    }

    /// Of each stored column of a clustered tree, whether entries of the table's trees are made of it.
    fn columns_in_entries(&self, schema: &TableSchema) -> Vec<bool> {
        let in_entries = |column: usize| {
            let mut parts = schema.indexes[1..].iter().flat_map(|index| &index.parts);
            self.is_key_column(column) || parts.any(|part| part.column == column)
        };
        (0..self.columns.len()).map(in_entries).collect()
    }

    /// The stored column with this source, added if it is new.
    fn add(&mut self, source: ColumnSource, column: &ColumnSchema) -> usize {
        self.columns.iter().position(|c| c.source == source).unwrap_or_else(|| {
            let physical = Physical::of(&column.ty);
            self.columns.push(StoredColumn {
                source,
                ty: column.ty.stored_type(),
                nullable: column.nullable,
                physical,
            });
            self.columns.len() - 1
        })
    }

    /// The stored column that holds a column of the table wholly; the hidden row number stands behind the declared
    /// ones.
    pub fn column_of(&self, table_column: usize) -> Option<usize> {
        if table_column == self.table_columns {
            return self.row_number();
        }
        let wanted = ColumnSource::Table { column: table_column, prefix: None };
        self.columns.iter().position(|c| c.source == wanted)
    }

    /// Returns true if the tree holds all of these table columns wholly.
    pub fn covers(&self, table_columns: &[usize]) -> bool {
        table_columns.iter().all(|c| self.column_of(*c).is_some())
    }

    /// A table row as the tree stores it; `row_number` is the hidden one, where there is one.
    pub fn stored_values<'r>(&self, row: &'r [Value], row_number: i64) -> Cow<'r, [Value]> {
        let is_where_it_was =
            |(at, c): (usize, &StoredColumn)| c.source == ColumnSource::Table { column: at, prefix: None };
        if self.columns.len() == row.len() && self.columns.iter().enumerate().all(is_where_it_was) {
            return Cow::Borrowed(row);
        }
        let value = |c: &StoredColumn| match c.source {
            ColumnSource::Table { column, prefix } => row.get(column).map_or(Value::Null, |v| cut_value(v, prefix)),
            ColumnSource::RowNumber => Value::Int(row_number),
        };
        self.columns.iter().map(value).collect()
    }

    /// The stored column of the hidden row number, in tables without a primary key.
    pub fn row_number(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.source == ColumnSource::RowNumber)
    }

    /// Returns true if values of a stored column are parts of a key and so must stay in the leaf.
    pub fn is_key_column(&self, column: usize) -> bool {
        self.key.parts.iter().chain(&self.clustered_key.parts).any(|p| p.column == column)
    }
}
