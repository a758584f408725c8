//! Columns that come, go and move while rows stay: the table gets a new row layout, and its leaves have several.

use super::{
    compare::Verdict,
    draw,
    history::History,
    model::{Model, Row},
};
use crate::{
    ColumnSchema, Counters, IndexSchema, TableSchema, TableStatistics,
    page::{PageHeader, PageType},
    schema::ColumnOrigin,
    testing::random::Random,
};
use muster_types::KeyPart;
use std::{collections::BTreeSet, sync::Arc};

/// Columns that a table has at most.
const COLUMNS_MAX: usize = 10;

/// Another layout of a table's rows.
pub(crate) struct OtherLayout {
    pub schema: TableSchema,
    /// The origins of its columns.
    origins: Vec<ColumnOrigin>,
    /// The change, as tests count it.
    pub what: &'static str,
}

impl OtherLayout {
    /// Draws a change of a table's columns: one is added, dropped or moved. `None` if there would be too many layouts.
    pub fn draw(draw: &mut Random, before: &TableSchema) -> Option<OtherLayout> {
        let mut columns: Vec<(ColumnSchema, ColumnOrigin)> =
            before.columns.iter().cloned().zip((0..).map(ColumnOrigin::Column)).collect();
        let what = change_columns(draw, before, &mut columns);
        let origins: Vec<ColumnOrigin> = columns.iter().map(|(_, origin)| origin.clone()).collect();
        let place = |column: usize| origins.iter().position(|origin| *origin == ColumnOrigin::Column(column));
        let part = |part: &KeyPart| KeyPart { column: place(part.column).expect("it is kept"), ..part.clone() };
        let index =
            |index: &IndexSchema| IndexSchema { parts: index.parts.iter().map(part).collect(), ..index.clone() };
        let layouts = before.layouts.next(&before.columns, &origins)?;
        assert!(layouts.is_sound(columns.len()));
        let schema = TableSchema {
            layouts: Arc::new(layouts),
            columns: columns.into_iter().map(|(column, _)| column).collect(),
            indexes: before.indexes.iter().map(index).collect(),
        };
        Some(OtherLayout { schema, origins, what })
    }

    /// Makes a row of the table before one of this layout.
    pub fn alter(&self, row: &mut Row) {
        let values = self.origins.iter().map(|origin| match origin {
            ColumnOrigin::Column(at) => row.values[*at].clone(),
            ColumnOrigin::New(value) => value.clone(),
        });
        row.values = values.collect();
    }

    /// Makes a table one of this layout.
    pub fn alter_all(&self, model: &mut Model) {
        model.rows.values_mut().for_each(|row| self.alter(row));
        model.schema = self.schema.clone();
    }
}

/// Changes a list of columns. Returns what was done.
fn change_columns(
    draw: &mut Random,
    before: &TableSchema,
    columns: &mut Vec<(ColumnSchema, ColumnOrigin)>,
) -> &'static str {
    let is_key = |column: usize| before.indexes.iter().flat_map(|i| &i.parts).any(|part| part.column == column);
    let free: Vec<usize> = (0..before.columns.len()).filter(|column| !is_key(*column)).collect();
    match draw.below(3) {
        0 if !free.is_empty() && columns.len() > 2 => {
            columns.remove(*draw.pick(&free));
            "columns dropped"
        }
        1 if columns.len() > 1 => {
            let moved = columns.remove(draw.below(columns.len()));
            let to = draw.below(columns.len() + 1);
            columns.insert(to, moved);
            "columns moved"
        }
        _ if columns.len() < COLUMNS_MAX => {
            let column = draw::added_column(draw);
            let value = draw::value(draw, &column);
            let to = draw.below(columns.len() + 1);
            columns.insert(to, (column, ColumnOrigin::New(value)));
            "columns added"
        }
        _ => "the same columns again",
    }
}

impl History {
    /// Adds, drops or moves a column, and opens the table anew. Nothing is written.
    pub(super) fn change_layout(&mut self) -> Verdict {
        let Some(other) = OtherLayout::draw(&mut self.draw, &self.model.schema) else { return Ok(()) };
        let store = self.table().store();
        if !store.rows_fit(&other.schema) {
            self.hit("layouts that rows do not fit", 1);
            return Ok(());
        }
        self.count_events();
        let opened = store.open_table(other.schema.clone(), self.files.clone(), TableStatistics::default());
        self.table = Some(opened.map_err(|e| e.to_string())?);
        self.marked_rows.iter_mut().for_each(|row| other.alter(row));
        other.alter_all(&mut self.model);
        self.hit(other.what, 1);
        self.count_layouts()?;
        if self.draw.one_in(3) { self.compare() } else { Ok(()) }
    }

    /// Counts the layouts that leaves have.
    fn count_layouts(&mut self) -> Verdict {
        let table = Arc::clone(self.table());
        let (tree, newest) = (table.tree(0), table.schema().layouts.number);
        let (mut layouts, mut former) = (BTreeSet::new(), 0);
        for page_no in 1..tree.file().page_count() {
            let page = tree.pool().fetch(tree.file(), page_no, &Counters::default());
            let page = page.map_err(|e| e.to_string())?;
            if PageHeader(&page).page_type() == Some(PageType::Leaf) {
                layouts.insert(PageHeader(&page).row_layout());
                former += u64::from(PageHeader(&page).row_layout() != newest);
            }
        }
        self.hit("leaves of former layouts", former);
        self.hit("leaves of three layouts", u64::from(layouts.len() >= 3));
        Ok(())
    }
}
