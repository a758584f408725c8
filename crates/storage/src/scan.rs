//! Reading a table: what is asked, and cursors that deliver batches.

use crate::{Counters, ReadView, Result, Table};
use arrow_array::{BooleanArray, RecordBatch};
use muster_types::KeyRange;
use std::sync::Arc;

/// A condition evaluated inside a scan, on the columns it names, before others are decoded.
pub trait BatchFilter: Send + Sync {
    /// Table column positions, in the order [`BatchFilter::evaluate`] gets them.
    fn columns(&self) -> &[usize];
    /// TRUE keeps the row; FALSE and NULL drop it.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray>;
}

/// What a reader wants.
pub struct ScanRequest {
    pub view: ReadView,
    /// Position in the schema's indexes; 0 is the clustered tree.
    pub index: usize,
    /// Disjoint and ascending; `[KeyRange::all()]` for everything. An empty list yields nothing.
    pub ranges: Vec<KeyRange>,
    /// Table column positions to deliver. When the index does not hold all of them (and the filter's), rows are
    /// fetched from the clustered tree by primary key, a batch at a time.
    pub columns: Vec<usize>,
    pub filter: Option<Arc<dyn BatchFilter>>,
    /// Rows in key order, from one cursor. Otherwise cursors share the work and the order is free.
    pub ordered: bool,
    pub reverse: bool,
    /// Target size of a batch, in rows.
    pub batch_rows: usize,
    pub counters: Arc<Counters>,
}

/// A scan that is under way: a queue of key ranges that its cursors share.
pub struct Scan {
    _table: Arc<Table>,
}

impl Scan {
    /// Starts a scan. Descends the tree to split the ranges; reads no leaf yet.
    pub fn new(_table: Arc<Table>, _request: ScanRequest) -> Result<Arc<Scan>> {
        todo!()
    }

    /// Another worker on this scan. With `ordered` there must be only one.
    pub fn cursor(self: &Arc<Self>) -> ScanCursor {
        todo!()
    }
}

/// One worker of a scan. Blocks on I/O.
pub struct ScanCursor {
    _scan: Arc<Scan>,
}

impl ScanCursor {
    /// The next rows, columns in the order of [`ScanRequest::columns`] with the Arrow types that
    /// [`muster_types::SqlType`] documents. `None` at the end. Never an empty batch.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        todo!()
    }
}
