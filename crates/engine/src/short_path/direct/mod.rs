//! One table, read by key, whose values go out as they lie on their pages.
//!
//! ```text
//!   bound statement -> Shape                                          shape.rs
//!   values -> ranges of keys -> rows on their pages -> conditions     run.rs
//!          -> sorted and distinct rows                                ordered.rs
//! ```

mod ordered;
mod run;
mod shape;

pub use run::{Surroundings, run};
pub use shape::Shape;

use super::key_access::{KeyAccess, KeyConstant, KeyValues};
use muster_algebra::Expr;
use muster_storage::{
    Table,
    key::{KeyCodec, KeyKind, KeyPartCodec},
};
use shape::Body;
use std::sync::{Arc, Weak};

/// A plan over one table.
pub struct DirectPlan {
    table: Weak<Table>,
    shape: Shape,
    access: KeyAccess,
    /// Conditions that the range of keys does not imply.
    filter: Vec<Expr>,
    /// For each column of the table: where the tree that is read stores it.
    stored: Vec<Option<usize>>,
    /// Makes the keys that rows are ordered by.
    order: Option<KeyCodec>,
}

impl DirectPlan {
    /// `None` if the tree lacks something.
    pub fn new(shape: Shape, access: KeyAccess, table: &Arc<Table>) -> Option<DirectPlan> {
        let read = if access.whole_rows { 0 } else { access.index };
        let layout = table.trees().get(read)?.layout();
        let stored: Vec<Option<usize>> = (0..shape.table.columns.len()).map(|c| layout.column_of(c)).collect();
        let mut filter = shape.filter.clone();
        let mut implied = access.implied.iter();
        filter.retain(|_| implied.next() != Some(&true));
        let order = match &shape.body {
            Body::Distinct(columns) => {
                let rest = columns.iter().filter(|c| !shape.order.iter().any(|(o, _)| o == *c)).map(|c| (*c, false));
                Some(shape.order.iter().copied().chain(rest).collect())
            }
            _ if shape.order.is_empty() => None,
            _ => Some(shape.order.clone()),
        };
        let part = |(column, descending): (usize, bool)| {
            let definition = &shape.table.columns[column];
            // The bytes of documents have no order.
            if definition.ty == muster_types::SqlType::Json {
                return None;
            }
            let kind = KeyKind::of(&definition.ty);
            Some(KeyPartCodec {
                column: stored[column]?,
                kind,
                nullable: definition.nullable,
                descending,
                prefix: None,
            })
        };
        let order = match order {
            None => None,
            Some(order) => {
                let order: Vec<(usize, bool)> = order;
                Some(KeyCodec { parts: order.into_iter().map(part).collect::<Option<_>>()? })
            }
        };
        let mut needed = shape.columns();
        filter.iter().flat_map(Expr::columns).for_each(|id| needed.push(id.0 as usize));
        if needed.iter().any(|c| stored[*c].is_none()) {
            return None;
        }
        Some(DirectPlan { table: Arc::downgrade(table), shape, access, filter, stored, order })
    }

    /// Returns true if a parameter that is a list is one part of the keys and nothing else, so that each member stands
    /// for rows of its own.
    pub fn reads_by_list(&self, list: usize) -> bool {
        let is_list = |expr: &Expr| matches!(expr, Expr::Parameter { index, .. } if *index == list);
        let lists: Vec<&[KeyConstant]> = (self.access.equal.iter())
            .filter_map(|values| match values {
                KeyValues::AnyOf(list) => Some(list.as_slice()),
                KeyValues::One(_) => None,
            })
            .collect();
        let mut found = false;
        self.filter.iter().for_each(|expr| expr.visit(&mut |e| found |= is_list(e)));
        !found && matches!(lists.as_slice(), [[member]] if is_list(&member.expr))
    }

    /// The table, as long as it is there.
    pub fn table(&self) -> Option<Arc<Table>> {
        self.table.upgrade()
    }

    pub fn footprint(&self) -> usize {
        size_of_val(&*self.stored)
    }
}
