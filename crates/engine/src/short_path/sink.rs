//! Where rows go: a packet, or a batch.

use super::plan::ShortPlan;
use crate::ColumnInfo;
use muster_types::{Value, ValueRef};
use parking_lot::RwLock;
use std::{any::Any, sync::Arc};

/// Takes the rows of a statement, value by value. What it took counts once the statement has ended well.
pub trait RowSink {
    /// Begins a result. What a sink took before is forgotten.
    fn begin(&mut self, plan: &ShortPlan);
    fn begin_row(&mut self);
    /// The next value of the row, of the type of its column.
    fn value(&mut self, value: ValueRef<'_>);
    fn end_row(&mut self);
}

/// Rows as values.
#[derive(Default)]
pub struct CollectedRows {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<Value>>,
}

impl RowSink for CollectedRows {
    fn begin(&mut self, plan: &ShortPlan) {
        self.columns = plan.columns().to_vec();
        self.rows.clear();
    }

    fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    fn value(&mut self, value: ValueRef<'_>) {
        self.rows.last_mut().expect("a row has begun").push(value.to_value());
    }

    fn end_row(&mut self) {}
}

/// What sinks keep with a plan from one execution to the next, such as the bytes of column definitions.
#[derive(Default)]
pub struct Kept(RwLock<Vec<Arc<dyn Any + Send + Sync>>>);

/// More are not kept: results are asked for in few shapes.
pub const KEPT_MAX: usize = 4;

impl Kept {
    /// The thing of this type that `fits`, made if there is none.
    pub fn get_or_make<T: Any + Send + Sync>(&self, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Arc<T> {
        let typed = |kept: &Arc<dyn Any + Send + Sync>| Arc::clone(kept).downcast::<T>().ok().filter(|t| fits(t));
        if let Some(found) = self.0.read().iter().find_map(typed) {
            return found;
        }
        let made = Arc::new(make());
        let mut kept = self.0.write();
        if kept.len() < KEPT_MAX {
            kept.push(made.clone());
        }
        made
    }
}
