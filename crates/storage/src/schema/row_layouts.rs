//! Row layouts: the columns that rows of a clustered tree have, now and when their leaves were written. Drawn in
//! `docs/format.md`, "Row layouts".
//!
//! A column has an **id**, which no other column of the table ever gets. A **layout** is a list of ids, in the order of
//! the table's columns when it was the newest one. Columns are added, dropped and moved without touching a row: the
//! table gets a new layout, and leaves keep the one that they were written in until somebody changes them.

use super::ColumnSchema;
use muster_types::{SqlType, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Former layouts that a table has at most, as many as InnoDB has versions of rows.
pub const FORMER_LAYOUTS_MAX: usize = 64;

/// The layouts that rows of a table may have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RowLayouts {
    /// The number of the newest one, which all that is written has.
    pub number: u32,
    /// Ids of the table's columns. Empty in a table that has ever had one layout only: ids are positions.
    pub ids: Vec<u32>,
    /// The least id that no column has had.
    pub next_id: u32,
    /// The values of columns in rows of layouts that do not have them, by ids: their defaults when they were added.
    pub initial: BTreeMap<u32, Value>,
    /// The types of columns that former layouts have and the newest one does not, by ids.
    pub dropped: BTreeMap<u32, SqlType>,
    /// In ascending order of their numbers.
    pub former: Vec<FormerRowLayout>,
}

/// A layout that was the newest one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormerRowLayout {
    pub number: u32,
    pub ids: Vec<u32>,
}

/// The origin of a column of a new layout.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnOrigin {
    /// The column at this position before.
    Column(usize),
    /// It is new, and rows that are there have this value.
    New(Value),
}

impl RowLayouts {
    /// The ids of a table's columns, of which there are so many.
    pub fn ids_of(&self, columns: usize) -> Vec<u32> {
        if self.ids.is_empty() { (0..columns as u32).collect() } else { self.ids.clone() }
    }

    /// The layouts of the table once its columns, which are `before`, are those of `columns`. `None` if there would be
    /// too many.
    pub fn next(&self, before: &[ColumnSchema], columns: &[ColumnOrigin]) -> Option<RowLayouts> {
        if self.former.len() >= FORMER_LAYOUTS_MAX {
            return None;
        }
        let ids_before = self.ids_of(before.len());
        let mut next = RowLayouts { ids: Vec::with_capacity(columns.len()), number: self.number + 1, ..self.clone() };
        next.next_id = self.next_id.max(ids_before.iter().max().map_or(0, |id| id + 1));
        for column in columns {
            match column {
                ColumnOrigin::Column(at) => next.ids.push(ids_before[*at]),
                ColumnOrigin::New(value) => {
                    next.initial.insert(next.next_id, value.clone());
                    next.ids.push(next.next_id);
                    next.next_id += 1;
                }
            }
        }
        for (id, column) in ids_before.iter().zip(before).filter(|(id, _)| !next.ids.contains(id)) {
            next.initial.remove(id);
            next.dropped.insert(*id, column.ty);
        }
        next.former.push(FormerRowLayout { number: self.number, ids: ids_before });
        Some(next)
    }

    /// Returns true if the layouts are sound for a table of so many columns: all that rows may have is known.
    pub fn is_sound(&self, columns: usize) -> bool {
        let ids = self.ids_of(columns);
        let is_known = |id: &u32| ids.contains(id) || self.dropped.contains_key(id);
        let given = |former: &FormerRowLayout| {
            former.number < self.number
                && former.ids.iter().all(is_known)
                && ids.iter().all(|id| former.ids.contains(id) || self.initial.contains_key(id))
        };
        ids.len() == columns && self.former.iter().all(given)
    }
}
