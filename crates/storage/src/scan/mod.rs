//! Reading a table: what is asked, and cursors that deliver batches.
//!
//! ```text
//!   ScanRequest -> Scan -> queue.rs    key ranges, cut into runs of leaves that cursors take
//!                  ScanCursor          cursor.rs: leaves -> batches, by crate::rows
//! ```

mod cursor;
mod queue;
#[cfg(test)]
mod scan_bench;
#[cfg(test)]
mod tests;

pub use cursor::ScanCursor;

use crate::{
    Counters, ReadView, Result, Table,
    counters::Counter,
    rows::{Access, BatchFilter, Fetch},
};
use arrow_schema::SchemaRef;
use muster_types::KeyRange;
use parking_lot::Mutex;
use queue::Queue;
use std::sync::Arc;

/// What a reader wants.
pub struct ScanRequest {
    pub view: ReadView,
    /// Position in the schema's indexes; 0 is the clustered tree.
    pub index: usize,
    /// Disjoint and ascending; `[KeyRange::all()]` for everything. An empty list yields nothing.
    pub ranges: Vec<KeyRange>,
    /// Table column positions to deliver. When the index does not hold all of them (and the filter's), rows are
    /// fetched from the clustered tree by primary key.
    pub columns: Vec<usize>,
    /// Index condition: checked on entries of the index before rows are fetched for them. The index holds its columns.
    pub index_filter: Option<Arc<dyn BatchFilter>>,
    /// Checked on rows; on entries if the index holds all that is asked for.
    pub filter: Option<Arc<dyn BatchFilter>>,
    /// How rows are fetched, if they must be.
    pub fetch: Fetch,
    /// Rows in key order, from one cursor. Otherwise cursors share the work and the order is free.
    pub ordered: bool,
    pub reverse: bool,
    /// Target size of a batch, in rows.
    pub batch_rows: usize,
    pub counters: Arc<Counters>,
}

/// A scan that is under way: a queue of key ranges that its cursors share.
pub struct Scan {
    access: Access,
    fetch: Fetch,
    ordered: bool,
    reverse: bool,
    batch_rows: usize,
    counters: Arc<Counters>,
    /// Every row of the clustered tree, in no order: MySQL counts it another way.
    whole_table: bool,
    queue: Mutex<Queue>,
}

impl Scan {
    /// Starts a scan; reads no page yet. Errors: `WrongType` for bounds that do not have their columns' types, for
    /// columns and indexes that the table does not have, and for an index filter on columns that the index does not
    /// hold.
    pub fn new(table: Arc<Table>, request: ScanRequest) -> Result<Arc<Scan>> {
        let ScanRequest { view, index, ranges, columns, index_filter, filter, fetch, ordered, reverse, .. } = request;
        let access = Access::new(table, view, index, columns, index_filter, filter)?;
        let whole_table = index == 0 && !ordered && ranges == [KeyRange::all()];
        let queue = Queue::new(&access.tree, &ranges, reverse, whole_table)?;
        if !access.covering && fetch != Fetch::EntryOrder {
            request.counters.add(Counter::handler_mrr_init, 1);
        }
        Ok(Arc::new(Scan {
            access,
            fetch,
            ordered,
            reverse,
            batch_rows: request.batch_rows.max(1),
            counters: request.counters,
            whole_table,
            queue: Mutex::new(queue),
        }))
    }

    /// Another worker on this scan. With `ordered` there must be only one.
    pub fn cursor(self: &Arc<Self>) -> ScanCursor {
        ScanCursor::new(Arc::clone(self))
    }

    /// What batches look like. Columns have no names of their own here.
    pub fn schema(&self) -> &SchemaRef {
        &self.access.output.schema
    }
}
