//! One worker of a scan.

use super::{
    Scan,
    decode::{BatchSink, keep_matching},
    fetch::clustered_keys,
};
use crate::{
    Result,
    buffer_pool::AccessHint,
    counters::Counter,
    key::Keys,
    tree::{LeafRows, LeafRun, Tree, leaf::visible::Rows, leaf::visible::visible},
};
use arrow_array::RecordBatch;
use std::sync::Arc;

/// Leaves that all cursors together may keep latched: a share of the pool's frames.
const LATCHED_SHARE: usize = 16;
/// Leaves read ahead of those being decoded.
const AHEAD_LEAVES: usize = 64;

/// One worker of a scan. Blocks on I/O.
pub struct ScanCursor {
    scan: Arc<Scan>,
    state: Option<State>,
    failed: bool,
}

/// Set up at the first batch, so that making a cursor cannot fail.
struct State {
    run: Option<LeafRun>,
    max_leaves: usize,
    /// The filter over entries of the scanned tree, before rows are fetched.
    entry_filter: Option<BatchSink>,
    /// The filter over rows of the tree that delivers.
    row_filter: Option<BatchSink>,
    output: BatchSink,
    /// Clustered keys whose rows are still to be fetched, and the first of them.
    pending: (Keys, usize),
    covering: bool,
}

impl ScanCursor {
    pub(super) fn new(scan: Arc<Scan>) -> ScanCursor {
        ScanCursor { scan, state: None, failed: false }
    }

    /// The next rows, columns in the order of [`super::ScanRequest::columns`] with the Arrow types that
    /// [`muster_types::SqlType`] documents. `None` at the end. Never an empty batch.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.failed {
            return Ok(None);
        }
        let batch = self.advance();
        self.failed = batch.is_err();
        batch
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        let scan = Arc::clone(&self.scan);
        let state = match &mut self.state {
            Some(state) => state,
            none => none.insert(State::new(&scan)?),
        };
        let target = scan.request.batch_rows.max(1);
        while state.output.rows() < target.div_ceil(2) {
            if !state.step(&scan)? {
                break;
            }
        }
        if state.output.rows() == 0 {
            return Ok(None);
        }
        scan.request.counters.add(Counter::rows_read, state.output.rows() as u64);
        state.output.take(scan.table.tree(if state.covering { scan.request.index } else { 0 })).map(Some)
    }
}

impl State {
    fn new(scan: &Scan) -> Result<State> {
        let request = &scan.request;
        let entries = scan.table.tree(request.index);
        let filter_columns = request.filter.as_ref().map(|f| f.columns());
        let held = filter_columns.is_none_or(|c| entries.layout().covers(c));
        let covering = held && entries.layout().covers(&request.columns);
        let rows = scan.table.tree(if covering { request.index } else { 0 });
        let sink = |tree: &Tree, columns: &[usize]| BatchSink::new(tree, columns, request.batch_rows);
        // A filter on columns of the index alone is checked before rows are fetched.
        let on_entries = !covering && held;
        let header = entries.file().header();
        let rows_per_leaf = (header.row_count / u64::from(header.leaf_count.max(1)).max(1)).max(1) as usize;
        let frames = entries.pool().frame_count();
        Ok(State {
            run: None,
            max_leaves: (request.batch_rows / rows_per_leaf).clamp(1, (frames / LATCHED_SHARE).max(1)),
            entry_filter: filter_columns.filter(|_| on_entries).map(|c| sink(entries, c)).transpose()?,
            row_filter: filter_columns.filter(|_| !on_entries).map(|c| sink(rows, c)).transpose()?,
            output: sink(rows, &request.columns)?,
            pending: (Keys::default(), 0),
            covering,
        })
    }

    /// Reads some leaves; false at the end.
    fn step(&mut self, scan: &Scan) -> Result<bool> {
        if self.pending.1 < self.pending.0.len() {
            self.fetch(scan)?;
            return Ok(true);
        }
        let request = &scan.request;
        let tree = scan.table.tree(request.index);
        let Some(mut entries) = self.next_entries(scan, tree)? else { return Ok(false) };
        if self.covering {
            self.collect(scan, tree, entries)?;
            return Ok(true);
        }
        if let (Some(filter), Some(sink)) = (&request.filter, &mut self.entry_filter) {
            keep_matching(tree, &mut entries, &**filter, sink, &request.counters)?;
        }
        // The entries' latches are let go before the clustered tree is entered.
        self.pending = (clustered_keys(tree, &entries, !request.ordered)?, 0);
        Ok(true)
    }

    /// The next latched leaves and their visible rows, in reading order.
    fn next_entries(&mut self, scan: &Scan, tree: &Tree) -> Result<Option<Vec<LeafRows>>> {
        let request = &scan.request;
        loop {
            let run = match &mut self.run {
                Some(run) => run,
                none => match scan.take()? {
                    Some(run) => none.insert(run),
                    None => return Ok(None),
                },
            };
            let ahead = run.upcoming();
            let ahead = &ahead[..ahead.len().min(self.max_leaves + AHEAD_LEAVES)];
            if ahead.len() > 1 {
                tree.pool().prefetch(tree.file(), ahead, &request.counters);
            }
            let hint = if scan.point { AccessHint::Point } else { AccessHint::Scan };
            let leaves = tree.next_leaves(run, self.max_leaves, hint, &request.counters)?;
            if leaves.is_empty() {
                self.run = None;
                continue;
            }
            let mut parts = Vec::with_capacity(leaves.len());
            for slice in leaves {
                let leaf = tree.leaf(&slice.page)?;
                let rows = visible(&leaf, slice.rows, &request.view)
                    .map_err(|e| tree.decode_error(slice.page.page_no(), e.into()))?;
                scan.count_entries(rows.len() as u64);
                let rows = if request.reverse { reversed(&rows) } else { rows };
                parts.push(LeafRows { page: slice.page, rows });
            }
            return Ok(Some(parts));
        }
    }

    /// Fetches rows of the pending keys.
    fn fetch(&mut self, scan: &Scan) -> Result<()> {
        let request = &scan.request;
        let tree = scan.table.tree(0);
        let (keys, from) = &self.pending;
        let frames = tree.pool().frame_count();
        let max_leaves = (frames / LATCHED_SHARE).clamp(1, request.batch_rows.max(1));
        let (rows, done) = tree.lookup(keys, *from, max_leaves, &request.view, &request.counters)?;
        request.counters.add(Counter::handler_read_rnd, done as u64);
        self.pending.1 += done;
        self.collect(scan, tree, rows)
    }

    /// Filters rows and decodes what is left.
    fn collect(&mut self, scan: &Scan, tree: &Tree, mut rows: Vec<LeafRows>) -> Result<()> {
        let request = &scan.request;
        if let (Some(filter), Some(sink)) = (&request.filter, &mut self.row_filter) {
            keep_matching(tree, &mut rows, &**filter, sink, &request.counters)?;
        }
        self.output.append(tree, &rows, &request.counters)
    }
}

fn reversed(rows: &Rows) -> Rows {
    Rows::List(rows.iter().rev().map(|row| row as u16).collect())
}
