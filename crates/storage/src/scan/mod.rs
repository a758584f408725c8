//! Reading a table: what is asked, and cursors that deliver batches.
//!
//! ```text
//!   Scan         ranges of keys, cut into runs of leaves that cursors take    mod.rs
//!   ScanCursor   one worker: latches leaves, filters, decodes                cursor.rs
//!     fetch      rows of the clustered tree for secondary entries            fetch.rs
//!     decode     latched rows to Arrow, the filter's columns first           decode.rs
//! ```

mod cursor;
mod decode;
mod fetch;

pub use cursor::ScanCursor;

use crate::{Counters, ReadView, Result, Table, counters::Counter, key::ByteRange, tree::LeafRun};
use arrow_array::{BooleanArray, RecordBatch};
use muster_types::KeyRange;
use parking_lot::Mutex;
use std::{collections::VecDeque, ops::Bound, sync::Arc};

/// Leaves that a cursor takes at once.
const RUN_LEAVES: usize = 128;

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
    table: Arc<Table>,
    request: ScanRequest,
    queue: Mutex<VecDeque<ByteRange>>,
    /// Every row of the clustered tree is read.
    full: bool,
    /// Each range is one whole key of a unique index.
    point: bool,
}

impl Scan {
    /// Starts a scan; reads no page yet. Errors: `WrongType` when a range's values do not have the key's types.
    pub fn new(table: Arc<Table>, request: ScanRequest) -> Result<Arc<Scan>> {
        let layout = table.tree(request.index).layout();
        let mut queue = VecDeque::with_capacity(request.ranges.len());
        for range in &request.ranges {
            queue.extend(layout.key.byte_range(range)?);
        }
        if request.reverse {
            queue = queue.into_iter().rev().collect();
        }
        let unbounded = |r: &KeyRange| matches!((&r.lower, &r.upper), (Bound::Unbounded, Bound::Unbounded));
        let all = request.ranges.iter().any(unbounded);
        let point = layout.unique && request.ranges.iter().all(|r| is_point(r, layout.declared_parts));
        if all {
            let first = if request.reverse { Counter::handler_read_last } else { Counter::handler_read_first };
            request.counters.add(first, 1);
        } else {
            request.counters.add(Counter::handler_read_key, queue.len() as u64);
        }
        let full = all && request.index == 0;
        Ok(Arc::new(Scan { table, request, queue: Mutex::new(queue), full, point }))
    }

    /// Another worker on this scan. With `ordered` there must be only one.
    pub fn cursor(self: &Arc<Self>) -> ScanCursor {
        ScanCursor::new(Arc::clone(self))
    }

    /// The next run of leaves to read.
    fn take(&self) -> Result<Option<LeafRun>> {
        let mut queue = self.queue.lock();
        let Some(range) = queue.pop_front() else { return Ok(None) };
        let tree = self.table.tree(self.request.index);
        let (run, rest) = tree.plan(range, self.request.reverse, RUN_LEAVES, &self.request.counters)?;
        if let Some(rest) = rest {
            queue.push_front(rest);
        }
        Ok(Some(run))
    }

    /// Counts entries read in index order.
    fn count_entries(&self, entries: u64) {
        let counter = match (self.full, self.request.reverse) {
            // The first entry of a point range is the one that the descent found.
            _ if self.point => return,
            (true, false) => Counter::handler_read_rnd_next,
            (_, true) => Counter::handler_read_prev,
            (false, false) => Counter::handler_read_next,
        };
        self.request.counters.add(counter, entries);
    }
}

/// Whether a range is a single value of all declared parts of a key.
fn is_point(range: &KeyRange, parts: usize) -> bool {
    match (&range.lower, &range.upper) {
        (Bound::Included(lower), Bound::Included(upper)) => {
            parts > 0 && lower.len() == parts && lower == upper && lower.iter().all(|v| !v.is_null())
        }
        _ => false,
    }
}
