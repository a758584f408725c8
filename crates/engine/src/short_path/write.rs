//! A statement that changes one row of one table by its key, bound once for all values.

use super::{
    key_access::{KeyAccess, KeyValue},
    plan::{DEPTH_MAX, Shape, is_plain},
    run::constant_value,
};
use crate::{command_counters::Command, tables::TableSet};
use muster_algebra::{Expr, Hints, TableDef, TableId};
use muster_sql::bind::{
    BoundDelete, BoundInsert, BoundUpdate, ChangeTarget, NewValue, RowSource, Search, Surroundings, TableSearch,
};
use muster_storage::{Pages, ReadView, RowVisit, Table, VisitCounts, VisitEnd};
use muster_types::{KeyRange, Value};
use std::{
    cell::Cell,
    ops::ControlFlow,
    sync::{Arc, Weak},
};

/// The change that a statement makes. Values that differ from execution to execution are [`Expr::Parameter`]s.
pub enum ShortChange {
    /// One row of VALUES or SET.
    Insert(BoundInsert),
    /// The row with the primary key that the access gives.
    Update {
        bound: BoundUpdate,
        key: KeyAccess,
    },
    Delete {
        bound: BoundDelete,
        key: KeyAccess,
    },
}

/// A statement that changes a row, for all values.
pub struct ShortWrite {
    change: ShortChange,
    /// The tables that it was bound with. Held weakly, so that it keeps no files of tables that are gone.
    tables: Weak<TableSet>,
    /// What it is counted as.
    command: Command,
}

impl ShortWrite {
    pub fn new(change: ShortChange, tables: &Arc<TableSet>, command: Command) -> ShortWrite {
        ShortWrite { change, tables: Arc::downgrade(tables), command }
    }

    pub fn change(&self) -> &ShortChange {
        &self.change
    }

    pub fn command(&self) -> Command {
        self.command
    }

    /// Returns true if these are the tables that it was bound with.
    pub fn is_of(&self, tables: &Arc<TableSet>) -> bool {
        self.tables.as_ptr() == Arc::as_ptr(tables)
    }

    pub fn target(&self) -> &ChangeTarget {
        match &self.change {
            ShortChange::Insert(bound) => &bound.target,
            ShortChange::Update { bound, .. } => &bound.targets[0],
            ShortChange::Delete { bound, .. } => &bound.targets[0],
        }
    }

    pub fn table(&self) -> TableId {
        self.target().table.id
    }

    /// The primary key of the row that is changed, or of the new one if the statement gives it wholly. `None` if it is
    /// not known, or not what its columns hold.
    pub fn key(&self, parameters: &[Value]) -> Option<Vec<Value>> {
        match &self.change {
            ShortChange::Insert(bound) => new_key(bound, parameters),
            ShortChange::Update { key, .. } | ShortChange::Delete { key, .. } => {
                let value = |constant: &super::key_access::KeyConstant| match constant
                    .key_value(&constant_value(&constant.expr, parameters)?)
                {
                    KeyValue::Value(value) => Some(value),
                    KeyValue::Null | KeyValue::Unknown => None,
                };
                key.equal.iter().map(value).collect()
            }
        }
    }

    /// About how many bytes the statement has besides its text, which its expressions are as small as.
    pub fn footprint(&self) -> usize {
        const COLUMN_BYTES: usize = 200;
        size_of::<ShortWrite>() + self.target().columns.len() * COLUMN_BYTES
    }
}

impl ShortChange {
    /// `None` for an UPDATE that does not take the short path.
    pub fn of_update(bound: BoundUpdate) -> Option<ShortChange> {
        let [target] = bound.targets.as_slice() else { return None };
        let values = bound.assignments.iter().map(|assignment| &assignment.value);
        if !is_one_table(target, &bound.surroundings) || !values.into_iter().all(is_short_value) {
            return None;
        }
        let key = key_of(target, &bound.search)?;
        Some(ShortChange::Update { bound, key })
    }

    /// `None` for a DELETE that does not take the short path.
    pub fn of_delete(bound: BoundDelete) -> Option<ShortChange> {
        let [target] = bound.targets.as_slice() else { return None };
        if !is_one_table(target, &bound.surroundings) {
            return None;
        }
        let key = key_of(target, &bound.search)?;
        Some(ShortChange::Delete { bound, key })
    }

    /// `None` for an INSERT that does not take the short path.
    pub fn of_insert(bound: BoundInsert) -> Option<ShortChange> {
        let RowSource::Rows(rows) = &bound.source else { return None };
        let is_short = rows.rows == 1
            && !bound.replace
            && bound.on_duplicate.is_none()
            && is_one_table(&bound.target, &bound.surroundings)
            && rows.values.iter().all(is_short_value);
        is_short.then_some(ShortChange::Insert(bound))
    }
}

/// Returns true if a statement is of its target only, a base table, and has nothing else to be looked at.
fn is_one_table(target: &ChangeTarget, surroundings: &Surroundings) -> bool {
    let def: &TableDef = &target.table;
    !def.id.is_virtual()
        && target.check.is_none()
        && surroundings.tables == [(def.database.clone(), def.name.clone())]
        && target.named == surroundings.tables[0]
        && surroundings.warnings.is_empty()
        && surroundings.hints == Hints::default()
        && surroundings.constants.is_none()
        && surroundings.dependent.is_empty()
}

/// Returns true for a value that serves for all parameters: one that is a parameter, or has none.
fn is_short_value(value: &NewValue) -> bool {
    match value {
        NewValue::Value(_) | NewValue::Default | NewValue::Expr(Expr::Parameter { .. }) => true,
        NewValue::Expr(expr) => {
            let mut has_parameter = false;
            expr.visit(&mut |e| has_parameter |= matches!(e, Expr::Parameter { .. }));
            !has_parameter && is_plain(expr, DEPTH_MAX)
        }
    }
}

/// The access to the one row that a search finds, by all columns of the primary key and nothing else.
fn key_of(target: &ChangeTarget, search: &Search) -> Option<KeyAccess> {
    let Search::Table(search @ TableSearch { order, limit: None, hints, .. }) = search else { return None };
    if !order.is_empty() || !hints.is_empty() || target.row_number.is_some() {
        return None;
    }
    let shape = Shape::of_search(&search.rel(target))?;
    let key = KeyAccess::of(&shape, 0)?;
    (key.single && key.implied.iter().all(|implied| *implied)).then_some(key)
}

/// The primary key that an INSERT gives a row, as far as it is known before it runs.
fn new_key(bound: &BoundInsert, parameters: &[Value]) -> Option<Vec<Value>> {
    let RowSource::Rows(rows) = &bound.source else { return None };
    let def = &bound.target.table;
    let parts = def.indexes.first().filter(|_| def.has_primary_key())?.parts.iter();
    let value = |column: usize| {
        let value = match &rows.values[bound.given.iter().position(|given| *given == column)?] {
            NewValue::Value(value) => value,
            NewValue::Expr(Expr::Parameter { index, .. }) => parameters.get(*index)?,
            NewValue::Default | NewValue::Expr(_) => return None,
        };
        let is_integer = matches!(value, Value::Int(_) | Value::UInt(_)) && def.columns[column].ty.is_integer();
        // The zero stands for the next number, mostly.
        let is_next = def.columns[column].auto_increment && matches!(value, Value::Int(0) | Value::UInt(0));
        (is_integer && !is_next).then(|| value.clone())
    };
    parts.map(|part| value(part.column)).collect()
}

/// Returns true if the place of a key in the primary key's tree is in memory, and nobody is in the way of reading it.
pub fn is_resident(table: &Table, key: &[Value]) -> bool {
    let Ok(Some(range)) = table.tree(0).layout().key.byte_range(&KeyRange::prefix(key.to_vec())) else { return false };
    let request = RowVisit {
        index: 0,
        range: &range,
        whole_rows: false,
        view: ReadView::latest(),
        pages: Pages::Resident { requests: Cell::new(0) },
        entries_max: 1,
    };
    let end = table.visit_rows(&request, &mut VisitCounts::default(), &mut |_| ControlFlow::Break(()));
    matches!(end, Ok(end) if end != VisitEnd::MustWait)
}
