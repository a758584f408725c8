//! Columns that come, go and move while rows stay: the table gets a new row layout, and its leaves have several.

use super::{compare::Verdict, draw, history::History, model::Row};
use crate::{
    ColumnSchema, Counters, IndexSchema, TableSchema, TableStatistics,
    page::{PageHeader, PageType},
    schema::ColumnOrigin,
};
use muster_types::KeyPart;
use std::{collections::BTreeSet, sync::Arc};

/// Columns that a table has at most.
const COLUMNS_MAX: usize = 10;

impl History {
    /// Adds, drops or moves a column, and opens the table anew. Nothing is written.
    pub(super) fn change_layout(&mut self) -> Verdict {
        let before = self.model.schema.clone();
        let mut columns: Vec<(ColumnSchema, ColumnOrigin)> =
            before.columns.iter().cloned().zip((0..).map(ColumnOrigin::Column)).collect();
        let what = self.change_columns(&before, &mut columns);
        let origins: Vec<ColumnOrigin> = columns.iter().map(|(_, origin)| origin.clone()).collect();
        let place = |column: usize| origins.iter().position(|origin| *origin == ColumnOrigin::Column(column));
        let part = |part: &KeyPart| KeyPart { column: place(part.column).expect("it is kept"), ..part.clone() };
        let index =
            |index: &IndexSchema| IndexSchema { parts: index.parts.iter().map(part).collect(), ..index.clone() };
        let Some(layouts) = before.layouts.next(&before.columns, &origins) else { return Ok(()) };
        assert!(layouts.is_sound(columns.len()));
        let schema = TableSchema {
            layouts: Arc::new(layouts),
            columns: columns.into_iter().map(|(column, _)| column).collect(),
            indexes: before.indexes.iter().map(index).collect(),
        };
        let store = self.table().store();
        if !store.rows_fit(&schema) {
            self.hit("layouts that rows do not fit", 1);
            return Ok(());
        }
        let opened = store.open_table(schema.clone(), self.files.clone(), TableStatistics::default());
        self.table = Some(opened.map_err(|e| e.to_string())?);
        let altered = |row: &mut Row| {
            let values = origins.iter().map(|origin| match origin {
                ColumnOrigin::Column(at) => row.values[*at].clone(),
                ColumnOrigin::New(value) => value.clone(),
            });
            row.values = values.collect();
        };
        self.model.rows.values_mut().for_each(altered);
        self.marked_rows.iter_mut().for_each(altered);
        self.model.schema = schema;
        self.hit(what, 1);
        self.count_layouts()?;
        if self.draw.one_in(3) { self.compare() } else { Ok(()) }
    }

    /// Changes a list of columns. Returns what was done.
    fn change_columns(
        &mut self,
        before: &TableSchema,
        columns: &mut Vec<(ColumnSchema, ColumnOrigin)>,
    ) -> &'static str {
        let is_key = |column: usize| before.indexes.iter().flat_map(|i| &i.parts).any(|part| part.column == column);
        let free: Vec<usize> = (0..before.columns.len()).filter(|column| !is_key(*column)).collect();
        match self.draw.below(3) {
            0 if !free.is_empty() => {
                columns.remove(*self.draw.pick(&free));
                "columns dropped"
            }
            1 if columns.len() > 1 => {
                let moved = columns.remove(self.draw.below(columns.len()));
                let to = self.draw.below(columns.len() + 1);
                columns.insert(to, moved);
                "columns moved"
            }
            _ if columns.len() < COLUMNS_MAX => {
                let column = draw::added_column(&mut self.draw);
                let value = draw::value(&mut self.draw, &column);
                let to = self.draw.below(columns.len() + 1);
                columns.insert(to, (column, ColumnOrigin::New(value)));
                "columns added"
            }
            _ => "the same columns again",
        }
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
