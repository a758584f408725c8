//! Layouts that rows of a clustered tree had before columns were added, dropped or moved, as readers of the newest
//! layout see them. Drawn in `docs/format.md`, "Row layouts".
//!
//! A leaf has one layout, which its header names: that of its base, its records and its patches. Readers ask a leaf for
//! columns of the newest layout; [`super::leaf::Leaf`] finds them where they are in its own, or gives all rows the
//! value that the column had when it was added. Who changes a leaf first writes it in the newest layout
//! ([`crate::tree::Tree`], `change/renew.rs`).

use super::{
    block::{Cell, cell},
    layout::{Physical, StoredColumn, TreeLayout},
    leaf::BadPage,
};
use crate::{
    ColumnSchema, IndexSchema, TableSchema,
    schema::{FormerRowLayout, RowLayouts},
};
use arrow_buffer::i256;
use muster_types::{KeyPart, Value};
use std::{collections::HashMap, sync::Arc};

/// The place of a column of the newest layout in a former one.
#[derive(Debug, Clone, PartialEq)]
pub enum FormerColumn {
    /// The stored column at this position.
    Stored(usize),
    /// It came later: all rows have this value.
    Initial(InitialValue),
}

/// The value of a column in all rows that were there when it was added, as it would lie in a page.
#[derive(Debug, Clone, PartialEq)]
pub enum InitialValue {
    Null,
    Int(i64),
    Wide(i128),
    Wide256(i256),
    Bytes(Box<[u8]>),
}

impl InitialValue {
    /// `None` for a value that the column cannot have.
    fn new(column: &StoredColumn, value: &Value) -> Option<InitialValue> {
        Some(match cell(column, value).ok()? {
            Cell::Null => InitialValue::Null,
            Cell::Int(x) => InitialValue::Int(x),
            Cell::Wide(x) => InitialValue::Wide(x),
            Cell::Wide256(x) => InitialValue::Wide256(x),
            Cell::Bytes(bytes) => InitialValue::Bytes(bytes.into()),
        })
    }

    pub fn cell(&self) -> Cell<'_> {
        match self {
            InitialValue::Null => Cell::Null,
            InitialValue::Int(x) => Cell::Int(*x),
            InitialValue::Wide(x) => Cell::Wide(*x),
            InitialValue::Wide256(x) => Cell::Wide256(*x),
            InitialValue::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }
}

/// A layout that is not the newest one any more.
#[derive(Debug, Clone, PartialEq)]
pub struct FormerLayout {
    pub layout: TreeLayout,
    /// For each stored column of the newest layout.
    pub columns: Vec<FormerColumn>,
    /// Stored columns whose values may have pages of their own and that the newest layout does not have.
    pub gone: Vec<usize>,
}

/// A page or a record of a layout that this opening of the table does not know: the table was defined anew since.
pub const LATER_LAYOUT: BadPage = BadPage("rows of another layout");

impl FormerLayout {
    /// The former layouts of a table's clustered tree, of which `newest` is the layout now. What the catalog does not
    /// know is left out, so that pages of such a layout cannot be read.
    pub fn all_of(schema: &TableSchema, newest: &TreeLayout) -> Vec<FormerLayout> {
        let RowLayouts { former, .. } = &*schema.layouts;
        former.iter().filter_map(|former| FormerLayout::new(schema, newest, former)).collect()
    }

    fn new(schema: &TableSchema, newest: &TreeLayout, former: &FormerRowLayout) -> Option<FormerLayout> {
        let layouts = &*schema.layouts;
        let ids = layouts.ids_of(schema.columns.len());
        let positions: HashMap<u32, usize> = former.ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let column = |id: &u32| match ids.iter().position(|known| known == id) {
            Some(at) => schema.columns.get(at).cloned(),
            None => layouts.dropped.get(id).map(|ty| ColumnSchema { ty: *ty, nullable: true }),
        };
        let part = |part: &KeyPart| {
            let column = *positions.get(ids.get(part.column)?)?;
            Some(KeyPart { column, ..part.clone() })
        };
        let clustered = schema.indexes.first()?;
        let parts = clustered.parts.iter().map(part).collect::<Option<Vec<_>>>()?;
        let schema_then = TableSchema {
            columns: former.ids.iter().map(column).collect::<Option<Vec<_>>>()?,
            indexes: vec![IndexSchema { parts, ..clustered.clone() }],
            layouts: Arc::new(RowLayouts { number: former.number, ..RowLayouts::default() }),
        };
        let layout = TreeLayout::new(&schema_then, 0);
        let place = |(id, column): (&u32, &StoredColumn)| match positions.get(id) {
            Some(at) => Some(FormerColumn::Stored(*at)),
            None => InitialValue::new(column, layouts.initial.get(id)?).map(FormerColumn::Initial),
        };
        let mut columns = ids.iter().zip(&newest.columns).map(place).collect::<Option<Vec<_>>>()?;
        // The hidden row number stands behind all columns.
        columns.extend(layout.row_number().map(FormerColumn::Stored));
        if columns.len() != newest.columns.len() {
            return None;
        }
        let is_gone = |at: &usize| {
            matches!(layout.columns[*at].physical, Physical::Bytes { .. })
                && !columns.contains(&FormerColumn::Stored(*at))
        };
        let gone = (0..layout.columns.len()).filter(is_gone).collect();
        Some(FormerLayout { layout, columns, gone })
    }

    /// The record of the newest layout that a record of this one is.
    pub fn record_in(&self, newest: &TreeLayout, record: &[u8]) -> Result<Vec<u8>, BadPage> {
        let mut converted = newest.record.begin(record.len() + newest.record.fixed_bytes());
        for (number, column) in self.columns.iter().enumerate() {
            match column {
                FormerColumn::Stored(from) => {
                    self.layout.record.copy_value(record, *from, &newest.record, &mut converted, number)?;
                }
                FormerColumn::Initial(value) => newest.record.put(&mut converted, number, value.cell()),
            }
        }
        if converted.len() > usize::from(u16::MAX) {
            return Err(BadPage("a record that is too long in the newest layout"));
        }
        newest.record.end(&mut converted);
        Ok(converted)
    }
}

impl TreeLayout {
    /// The layout of this number, which is not the newest one. Error: it is not known.
    pub fn former(&self, number: u32) -> Result<&FormerLayout, BadPage> {
        self.former.iter().find(|former| former.layout.number == number).ok_or(LATER_LAYOUT)
    }

    /// The layout of this number, which may be the newest one. Error: it is not known.
    pub fn numbered(&self, number: u32) -> Result<&TreeLayout, BadPage> {
        if number == self.number { Ok(self) } else { self.former(number).map(|former| &former.layout) }
    }

    /// The record of the newest layout that a record, or a patch of which nothing else is known, of some layout is.
    pub fn newest_record(&self, number: u32, record: Vec<u8>) -> Result<Vec<u8>, BadPage> {
        match number == self.number {
            true => Ok(record),
            false => self.former(number)?.record_in(self, &record),
        }
    }
}

/// Returns true if each row of the layouts of a table fits one leaf, between the longest fences, once it is one of the
/// newest layout.
pub fn rows_fit(schema: &TableSchema, page_size: usize) -> bool {
    use super::{inner::max_key, leaf, overflow};
    let newest = TreeLayout::new(schema, 0);
    let initial = |value: &Value| match value {
        Value::Text(text) => text.len() + 2,
        Value::Bytes(bytes) => bytes.len() + 2,
        _ => size_of::<[u64; 4]>(),
    };
    // One more bit for NULL, and one for a long value.
    let added: usize = schema.layouts.initial.values().map(|value| initial(value) + 1).sum();
    let longest = |layout: &TreeLayout| overflow::longest_row(layout, page_size);
    let rows = newest.former.iter().map(|former| longest(&former.layout)).chain([longest(&newest)]).max();
    let room = leaf::room(page_size).saturating_sub(2 * max_key(page_size));
    newest.former.len() == schema.layouts.former.len() && rows.unwrap_or(0) + added + leaf::SLOT <= room
}
