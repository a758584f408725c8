//! Rights on columns: what a statement may read and write of tables that its account has rights on some columns of.
//!
//! A column of such a table has a guard. What a guard refuses is noted where the column is named, and becomes the
//! statement's error when all names are known. A column that a view only hands on is refused where somebody asks the
//! view for it, as in MySQL, with error 1356.

use super::{
    binder::Binder,
    scope::{FromClause, Names},
};
use crate::typing::Item;
use muster_algebra::{ColId, ColumnAccess, ColumnUse, Definer};
use muster_types::{Result, SqlError};
use std::{collections::HashMap, sync::Arc};

/// The rights on one column.
#[derive(Debug)]
struct Guard {
    access: Arc<ColumnAccess>,
    /// The column's name in the table or view that the rights are on.
    name: String,
    /// The error inside a view.
    refusal: Option<SqlError>,
}

/// A use of a column that was refused.
#[derive(Debug)]
pub(super) struct Denied {
    /// Of several uses the one with the smallest number is told.
    stage: u8,
    /// `None` if it stands for all columns of a table.
    column: Option<ColId>,
    error: SqlError,
}

/// A table or view that a view uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beneath {
    pub database: String,
    pub name: String,
    /// Whose rights count there; `None`: the user's own.
    pub definer: Option<Definer>,
}

/// A table or view inside a view, with its columns.
#[derive(Debug)]
struct InView {
    columns: Vec<ColId>,
    beneath: Beneath,
}

/// The guards of a statement's columns.
#[derive(Debug, Default)]
pub(crate) struct ColumnRights {
    guards: HashMap<ColId, Vec<Guard>>,
    denied: Vec<Denied>,
    in_views: Vec<InView>,
    /// The part of an UPDATE that is being bound: [`Denied::stage`].
    pub stage: u8,
}

impl ColumnRights {
    /// Takes the error of the first use that was refused.
    pub fn take_error(&mut self) -> Option<SqlError> {
        let denied = std::mem::take(&mut self.denied);
        denied.into_iter().min_by_key(|denied| denied.stage).map(|denied| denied.error)
    }

    /// Sets aside what was refused so far, while a view is bound.
    pub fn set_aside(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.denied)
    }

    /// Goes on behind a view with these output columns. Returns false if the view itself uses a column that its account
    /// may not read, other than to hand it on. `refusal`: the error of who asks for such a column.
    pub fn leave_view(&mut self, outside: Vec<Denied>, outputs: &[ColId], is_merged: bool, refusal: &SqlError) -> bool {
        let inside = std::mem::replace(&mut self.denied, outside);
        for id in outputs {
            for guard in self.guards.get_mut(id).into_iter().flatten() {
                guard.refusal = Some(refusal.clone());
            }
        }
        let is_handed_on = |denied: &Denied| {
            let uses = inside.iter().filter(|other| other.column == denied.column).count();
            denied.column.is_some_and(|id| outputs.iter().filter(|output| **output == id).count() == uses)
        };
        inside.iter().all(|denied| is_merged && is_handed_on(denied))
    }
}

impl Binder<'_> {
    /// Puts guards on the columns of a table or view that FROM names.
    pub(in crate::bind) fn guard_columns(
        &mut self,
        database: &str,
        name: &str,
        from: &FromClause,
        names: &Names,
    ) -> Result<()> {
        if names.view_depth > 0 {
            let beneath = Beneath { database: database.into(), name: name.into(), definer: names.definer.cloned() };
            let columns = from.columns.iter().map(|column| column.id).collect();
            self.column_rights.in_views.push(InView { columns, beneath });
        }
        let Some(access) = self.env.catalog.column_access(database, name, names.definer)? else { return Ok(()) };
        for column in &from.columns {
            let guard = Guard { access: Arc::clone(&access), name: column.name.clone(), refusal: None };
            self.column_rights.guards.entry(column.id).or_default().push(guard);
        }
        Ok(())
    }

    /// A column that an expression names.
    pub(in crate::bind) fn read_column(&mut self, id: ColId) -> Item {
        self.use_column(id, ColumnUse::Select);
        self.column_item(id)
    }

    /// Notes what a statement does with a column.
    pub(in crate::bind) fn use_column(&mut self, id: ColId, column_use: ColumnUse) {
        let ColumnRights { guards, denied, stage, .. } = &mut self.column_rights;
        let Some(guards) = guards.get(&id) else { return };
        // The outermost one speaks first.
        let refused = guards.iter().rev().find(|guard| !guard.access.allows(column_use, &guard.name));
        if let Some(Guard { access, name, refusal }) = refused {
            let error = refusal.clone().unwrap_or_else(|| access.denied(column_use, name));
            denied.push(Denied { stage: *stage, column: Some(id), error });
        }
    }

    /// Notes that a statement means all these columns of FROM without naming them.
    pub(in crate::bind) fn use_unnamed<'c>(&mut self, columns: impl Iterator<Item = &'c ColId>, column_use: ColumnUse) {
        let ColumnRights { guards, denied, stage, .. } = &mut self.column_rights;
        for guard in columns.filter_map(|id| guards.get(id)).flatten() {
            if !guard.access.allows(column_use, &guard.name) {
                let error = guard.refusal.clone().unwrap_or_else(|| guard.access.denied_table(column_use));
                denied.push(Denied { stage: *stage, column: None, error });
                return;
            }
        }
    }

    /// Error 1054 for a name that no table of FROM has; 1143 if the first table may not be read as a whole, of which
    /// nobody shall learn so which columns it has.
    pub(in crate::bind) fn no_such_column(
        &self,
        parts: &[&str],
        from: &FromClause,
        column_use: ColumnUse,
        clause: &str,
    ) -> SqlError {
        let guards = from.columns.first().and_then(|first| self.column_rights.guards.get(&first.id));
        let guard = guards.and_then(|guards| guards.iter().find(|guard| !guard.access.allows_all(column_use)));
        match (guard, parts) {
            (Some(guard), [.., name]) => guard.access.denied(column_use, name),
            _ => SqlError::unknown_column(parts.join("."), clause),
        }
    }

    /// The tables and views through which views lead to a table with one of these columns.
    pub(in crate::bind) fn beneath_views(&self, columns: &[(ColId, usize)]) -> Vec<Beneath> {
        let leads = |in_view: &&InView| {
            let stored = in_view.columns.iter().map(|id| self.stored_column(*id));
            stored.into_iter().any(|id| columns.iter().any(|(column, _)| *column == id))
        };
        self.column_rights.in_views.iter().filter(leads).map(|in_view| in_view.beneath.clone()).collect()
    }
}
