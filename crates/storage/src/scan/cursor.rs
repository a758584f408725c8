//! Workers of a scan.

use super::{
    Scan,
    collect::{Collector, LeafRows, Tester},
    fetch::Fetcher,
    queue::Morsel,
};
use crate::{
    Counters, Result,
    buffer_pool::AccessHint,
    counters::Counter,
    tree::{
        LeafSlice, Tree,
        leaf::visible::{Rows, visible},
    },
};
use arrow_array::RecordBatch;
use std::sync::Arc;

/// A cursor holds at most this share of the pool's frames.
pub(super) const PINNED_SHARE: usize = 16;
/// Runs of so few leaves are lookups: their pages are wanted again.
const LOOKUP_LEAVES: usize = 4;
/// Rows of an ordered scan's first batch. Whoever wants the first rows in order often wants no more; later batches
/// double up to the size asked for.
const FIRST_BATCH_ROWS: usize = 128;

/// One worker of a scan. Blocks on I/O.
pub struct ScanCursor {
    scan: Arc<Scan>,
    current: Option<Morsel>,
    /// Taken ahead, so that its first leaves are read while the current one ends.
    ahead: Option<Morsel>,
    collector: Collector,
    fetcher: Option<Fetcher>,
    /// The filter over entries of a secondary tree that holds its columns: rows it drops are not fetched.
    entry_tester: Option<Tester>,
    batch_rows: usize,
    rows_per_leaf: usize,
    /// Leaves that may be latched at once.
    max_leaves: usize,
    read_ahead: bool,
    /// All leaves were read.
    ended: bool,
}

impl ScanCursor {
    pub(super) fn new(scan: Arc<Scan>) -> ScanCursor {
        let tree = if scan.covering { &scan.tree } else { &scan.table.trees()[0] };
        let on_entries = !scan.covering && scan.tested.as_ref().is_some_and(|t| scan.tree.layout().covers(&t.columns));
        let entry_tester = if on_entries { Tester::new(&scan, &scan.tree) } else { None };
        let row_tester = if on_entries { None } else { Tester::new(&scan, tree) };
        let collector = Collector::new(&scan, tree, row_tester);
        let fetcher = (!scan.covering).then(|| Fetcher::new(&scan));
        let header = scan.tree.file().header();
        let batch_rows = scan.request.batch_rows.max(1);
        ScanCursor {
            current: None,
            ahead: None,
            collector,
            fetcher,
            entry_tester,
            batch_rows: if scan.request.ordered { batch_rows.min(FIRST_BATCH_ROWS) } else { batch_rows },
            rows_per_leaf: (header.row_count / header.leaf_count.max(1)).max(1) as usize,
            max_leaves: (scan.tree.pool().frame_count() / PINNED_SHARE).max(1),
            read_ahead: !all_resident(&scan.tree),
            ended: false,
            scan,
        }
    }

    /// The next rows, columns in the order of [`super::ScanRequest::columns`] with the Arrow types that
    /// [`muster_types::SqlType`] documents. `None` at the end. Never an empty batch.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let scan = Arc::clone(&self.scan);
        let counters = &*scan.request.counters;
        let batch = loop {
            if self.collector.rows() >= self.batch_rows {
                break self.collector.take(&scan)?;
            }
            if let Some(fetcher) = &mut self.fetcher
                && (fetcher.entries() >= self.batch_rows || self.ended && fetcher.entries() > 0)
            {
                match fetcher.fetch(&scan, self.batch_rows, &mut self.collector, counters)? {
                    Some(batch) => break batch,
                    None => continue,
                }
            }
            if self.ended {
                match self.collector.rows() {
                    0 => return Ok(None),
                    _ => break self.collector.take(&scan)?,
                }
            }
            let Some(mut leaves) = self.next_leaves(&scan, counters)? else {
                self.ended = true;
                continue;
            };
            match &mut self.fetcher {
                None => self.collector.add(&scan, &scan.tree, &leaves, None, counters)?,
                Some(fetcher) => {
                    if let Some(tester) = &mut self.entry_tester {
                        tester.narrow(&scan, &scan.tree, &mut leaves, counters)?;
                    }
                    for LeafRows { page, rows } in leaves {
                        fetcher.add_entries(&scan.tree, &page, &rows)?;
                    }
                }
            }
        };
        self.batch_rows = (2 * self.batch_rows).min(scan.request.batch_rows.max(1));
        counters.add(Counter::rows_read, batch.num_rows() as u64);
        Ok(Some(batch))
    }

    /// The next latched leaves with their visible rows, in reading order; `None` at the end.
    fn next_leaves(&mut self, scan: &Scan, counters: &Counters) -> Result<Option<Vec<LeafRows>>> {
        let count = (self.batch_rows / self.rows_per_leaf).clamp(1, self.max_leaves);
        loop {
            if self.current.is_none() {
                self.current = match self.ahead.take() {
                    Some(morsel) => Some(morsel),
                    None => scan.queue.lock().take(&scan.tree, counters)?,
                };
            }
            let Some(morsel) = &mut self.current else { return Ok(None) };
            let left = morsel.run.upcoming().len();
            if self.read_ahead && left <= count && self.ahead.is_none() && !morsel.single {
                // Before leaves are latched: taking work asks for the tree's shape.
                self.ahead = scan.queue.lock().take(&scan.tree, counters)?;
            }
            let hint = if left <= LOOKUP_LEAVES && !scan.whole_table { AccessHint::Point } else { AccessHint::Scan };
            let slices = scan.tree.next_leaves(&mut morsel.run, count, hint, counters)?;
            if slices.is_empty() {
                self.current = None;
                continue;
            }
            if !morsel.single {
                let counter = match (scan.whole_table, scan.request.reverse) {
                    (true, _) => Counter::handler_read_rnd_next,
                    (false, false) => Counter::handler_read_next,
                    (false, true) => Counter::handler_read_prev,
                };
                counters.add(counter, slices.iter().map(|s| s.rows.len() as u64).sum());
            }
            if self.read_ahead {
                let mut pages = morsel.run.upcoming();
                if let (true, Some(ahead)) = (pages.is_empty(), &self.ahead) {
                    pages = ahead.run.upcoming();
                }
                let pages = &pages[..pages.len().min(count)];
                if !pages.is_empty() {
                    scan.tree.pool().prefetch(scan.tree.file(), pages, counters);
                }
            }
            return slices.into_iter().map(|slice| visible_rows(scan, slice)).collect::<Result<_>>().map(Some);
        }
    }
}

/// Rows of a leaf that the scan's view sees, in reading order.
fn visible_rows(scan: &Scan, slice: LeafSlice) -> Result<LeafRows> {
    let LeafSlice { page, rows } = slice;
    let seen = visible(&scan.tree.leaf(&page)?, rows, &scan.request.view)
        .map_err(|e| scan.tree.decode_error(page.page_no(), e.into()))?;
    let rows = match scan.request.reverse {
        false => seen,
        true => Rows::List(seen.iter().rev().map(|row| row as u16).collect()),
    };
    Ok(LeafRows { page, rows })
}

/// Whether a tree is in memory wholly, so that reading ahead has nothing to do.
pub(super) fn all_resident(tree: &Tree) -> bool {
    tree.file().resident_pages() + 1 >= u64::from(tree.file().page_count())
}
