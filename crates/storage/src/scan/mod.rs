//! Reading a table: what is asked, and cursors that deliver batches.
//!
//! ```text
//!   ScanRequest -> Scan -> queue.rs    key ranges, cut into runs of leaves that cursors take
//!                          steering.rs what parts of the key may be
//!                  ScanCursor          cursor.rs: leaves -> batches, by crate::rows
//!                    skip.rs           entries that a cursor leaves out, and where it goes on
//! ```

mod cursor;
mod queue;
#[cfg(test)]
pub(crate) mod scan_bench;
mod skip;
mod steering;
#[cfg(test)]
mod steering_tests;
#[cfg(test)]
mod tests;

pub use cursor::ScanCursor;
pub use steering::Steering;

use crate::{
    Counters, ReadView, Result, StorageError, Table,
    counters::Counter,
    rows::{BatchFilter, Fetch, RowAccess},
};
use arrow_schema::SchemaRef;
use muster_types::KeyRange;
use parking_lot::Mutex;
use queue::Queue;
use std::sync::{Arc, atomic::AtomicBool};
use steering::Sets;

/// Rows of a batch where nobody says how many.
const BATCH_ROWS: usize = 4096;

/// The description of a scan.
#[derive(Clone)]
pub struct ScanRequest {
    pub view: Arc<ReadView>,
    /// Position in the schema's indexes; 0 is the clustered tree.
    pub index: usize,
    /// Disjoint and ascending; `[KeyRange::all()]` for everything. An empty list yields nothing.
    pub ranges: Vec<KeyRange>,
    /// The values that parts of the key may have. Leaves out entries within the ranges, without reading them where it
    /// can.
    pub steering: Steering,
    /// Deliver only the first row, in reading order, of each combination of so many leading key parts that passes the
    /// filters (loose index scan). The index must hold all that is asked for. The first cursor does all the work.
    pub distinct_prefix: Option<usize>,
    /// Table column positions to deliver. When the index does not hold all of them (and the filter's), rows are
    /// fetched from the clustered tree by primary key.
    pub columns: Vec<usize>,
    /// Positions in `columns` of texts and byte strings that are delivered as dictionaries
    /// ([`crate::dictionary_type`]): for columns with few values.
    pub coded: Vec<usize>,
    /// Index condition: checked on entries of the index before rows are fetched for them. The index holds its columns.
    pub index_filter: Option<Arc<dyn BatchFilter>>,
    /// Checked on rows; on entries if the index holds all that is asked for.
    pub filter: Option<Arc<dyn BatchFilter>>,
    /// How rows are fetched, if they must be.
    pub fetch: Fetch,
    /// Rows in key order, from one cursor. Otherwise cursors share the work and the order is free.
    pub ordered: bool,
    pub reverse: bool,
    /// Rows that are wanted; there may come more. Without conditions, no cursor reads more entries than that.
    pub limit: Option<u64>,
    /// Asked before a cursor reads on; if it returns true, the scan ends as if there were no more entries.
    pub until: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Target size of a batch, in rows.
    pub batch_rows: usize,
    pub counters: Arc<Counters>,
}

impl ScanRequest {
    /// All rows with these columns by an index, in any order and without conditions, each fetched as its entry comes.
    pub fn all(view: Arc<ReadView>, index: usize, columns: Vec<usize>, counters: Arc<Counters>) -> ScanRequest {
        ScanRequest {
            view,
            index,
            ranges: vec![KeyRange::all()],
            steering: Steering::default(),
            distinct_prefix: None,
            columns,
            coded: Vec::new(),
            index_filter: None,
            filter: None,
            fetch: Fetch::EntryOrder,
            ordered: false,
            reverse: false,
            limit: None,
            until: None,
            batch_rows: BATCH_ROWS,
            counters,
        }
    }
}

/// A scan that is under way: a queue of key ranges that its cursors share.
pub struct Scan {
    access: RowAccess,
    fetch: Fetch,
    ordered: bool,
    reverse: bool,
    batch_rows: usize,
    counters: Arc<Counters>,
    steering: Option<Arc<Sets>>,
    distinct_prefix: Option<usize>,
    /// True if a cursor has begun, where there must be one only.
    taken: AtomicBool,
    /// Entries that are read at most.
    entries_max: Option<usize>,
    /// True if a number of rows is wanted that may be smaller than what there is.
    is_limited: bool,
    until: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Every row of the clustered tree, in no order: MySQL counts it another way.
    whole_table: bool,
    queue: Mutex<Queue>,
}

impl Scan {
    /// Starts a scan; reads no page yet. Errors: `WrongType` for bounds that do not have their columns' types, for
    /// columns and indexes that the table does not have, for an index filter on columns that the index does not hold,
    /// for steering of parts that the key does not have, and for a distinct prefix where rows must be fetched.
    pub fn new(table: Arc<Table>, request: ScanRequest) -> Result<Arc<Scan>> {
        let ScanRequest { view, index, ranges, columns, index_filter, filter, fetch, ordered, reverse, .. } = request;
        let access = RowAccess::new(table, view, index, columns, &request.coded, index_filter, filter)?;
        let (mut ranges, layout) = (ranges, access.tree.layout());
        let steering = Sets::new(layout, &request.steering)?;
        if let Some(parts) = request.distinct_prefix
            && (parts == 0 || parts > layout.key.parts.len() || !access.covering)
        {
            let value = format!("a scan for distinct {parts} of {} key parts", layout.key.parts.len());
            return Err(StorageError::WrongType { value });
        }
        if steering.as_ref().is_some_and(Sets::is_empty) {
            ranges.clear();
        }
        let partial = steering.is_some() || request.distinct_prefix.is_some();
        let whole_table = index == 0 && !ordered && !partial && ranges == [KeyRange::all()];
        let queue = Queue::new(&access.tree, &ranges, reverse, whole_table)?;
        if !access.covering && fetch != Fetch::EntryOrder {
            request.counters.add(Counter::key_order_fetches, 1);
        }
        let unconditional = access.condition.is_none() && access.index_condition.is_none() && !partial;
        let entries_max = request.limit.filter(|_| unconditional).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        Ok(Arc::new(Scan {
            entries_max,
            is_limited: request.limit.is_some(),
            access,
            fetch,
            ordered,
            reverse,
            batch_rows: request.batch_rows.max(1),
            counters: request.counters,
            steering: steering.map(Arc::new),
            distinct_prefix: request.distinct_prefix,
            taken: AtomicBool::new(false),
            until: request.until,
            whole_table,
            queue: Mutex::new(queue),
        }))
    }

    /// Leaves out what is not in `range`, of what no cursor has taken yet: for what becomes known only while a query
    /// runs.
    /// `None`: no row is wanted any more. Errors: `WrongType` for bounds that do not have their columns' types.
    pub fn narrow(&self, range: Option<&KeyRange>) -> Result<()> {
        let range = match range {
            Some(range) => self.access.tree.layout().key.byte_range(range)?,
            None => None,
        };
        let mut queue = self.queue.lock();
        match range {
            Some(range) => queue.narrow(&range),
            None => queue.end(),
        }
        Ok(())
    }

    /// Another worker on this scan. With `ordered` there must be only one.
    pub fn cursor(self: &Arc<Self>) -> ScanCursor {
        ScanCursor::new(Arc::clone(self))
    }

    /// The schema of batches. Columns have no names of their own here.
    pub fn schema(&self) -> &SchemaRef {
        &self.access.output.schema
    }
}
