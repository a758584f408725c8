//! Workers of a scan.

use super::{Scan, queue::Morsel};
use crate::{
    Counters, Result,
    counters::Counter,
    rows::{FIRST_BATCH_ROWS, Fetcher, LeafRows, Output, Tester, all_resident, count_delivered, max_latched},
    tree::{
        LeafSlice,
        leaf::visible::{Rows, visible},
    },
};
use arrow_array::RecordBatch;
use std::sync::Arc;

/// One worker of a scan. Blocks on I/O.
pub struct ScanCursor {
    scan: Arc<Scan>,
    current: Option<Morsel>,
    /// Taken ahead, so that its first leaves are read while the current one ends.
    ahead: Option<Morsel>,
    /// The index condition.
    index_tester: Option<Tester>,
    output: Output,
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
        let access = &scan.access;
        let output = match access.covering {
            true => Output::Entries(Box::new(access.collector(&access.tree))),
            false => Output::Rows(Box::new(Fetcher::new(access, scan.fetch, scan.ordered, scan.batch_rows))),
        };
        let header = access.tree.file().header();
        ScanCursor {
            current: None,
            ahead: None,
            index_tester: access.index_tester(),
            output,
            batch_rows: if scan.ordered { scan.batch_rows.min(FIRST_BATCH_ROWS) } else { scan.batch_rows },
            rows_per_leaf: (header.row_count / header.leaf_count.max(1)).max(1) as usize,
            max_leaves: max_latched(&access.tree),
            read_ahead: !all_resident(&access.tree),
            ended: false,
            scan,
        }
    }

    /// The next rows, columns in the order of [`super::ScanRequest::columns`] with the Arrow types that
    /// [`muster_types::SqlType`] documents. `None` at the end. Never an empty batch. After an error there is no more.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let scan = Arc::clone(&self.scan);
        let counters = &*scan.counters;
        let batch = loop {
            match &mut self.output {
                Output::Entries(entries) => {
                    if entries.rows() >= self.batch_rows || self.ended && entries.rows() > 0 {
                        break entries.take()?.0;
                    }
                }
                Output::Rows(fetcher) => {
                    if let Some((batch, _)) = fetcher.next_batch(self.batch_rows, self.ended, counters)? {
                        break batch;
                    }
                }
            }
            if self.ended {
                return Ok(None);
            }
            let Some(mut leaves) = self.next_leaves(&scan, counters)? else {
                self.ended = true;
                continue;
            };
            if let Some(tester) = &mut self.index_tester {
                tester.narrow(&mut leaves, &mut Vec::new(), counters)?;
            }
            match &mut self.output {
                Output::Entries(entries) => entries.add(&leaves, &[], counters)?,
                Output::Rows(fetcher) => {
                    for LeafRows { page, rows } in leaves {
                        fetcher.add_entries(&scan.access.tree, &page, &rows, &[])?;
                    }
                }
            }
        };
        self.batch_rows = (2 * self.batch_rows).min(scan.batch_rows);
        count_delivered(&batch, counters);
        Ok(Some(batch))
    }

    /// The next latched leaves with their visible rows, in reading order; `None` at the end.
    fn next_leaves(&mut self, scan: &Scan, counters: &Counters) -> Result<Option<Vec<LeafRows>>> {
        let count = (self.batch_rows / self.rows_per_leaf).clamp(1, self.max_leaves);
        loop {
            if self.current.is_none() {
                self.current = match self.ahead.take() {
                    Some(morsel) => Some(morsel),
                    None => scan.queue.lock().take(&scan.access.tree, counters)?,
                };
            }
            let Some(morsel) = &mut self.current else { return Ok(None) };
            let left = morsel.run.upcoming().len();
            if self.read_ahead && left <= count && self.ahead.is_none() && !morsel.single {
                // Before leaves are latched: taking work asks for the tree's shape.
                self.ahead = scan.queue.lock().take(&scan.access.tree, counters)?;
            }
            let slices = scan.access.tree.next_leaves(&mut morsel.run, count, counters)?;
            if slices.is_empty() {
                self.current = None;
                continue;
            }
            if !morsel.single {
                let counter = match (scan.whole_table, scan.reverse) {
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
                    scan.access.tree.pool().prefetch(scan.access.tree.file(), pages, counters);
                }
            }
            return slices.into_iter().map(|slice| visible_rows(scan, slice)).collect::<Result<_>>().map(Some);
        }
    }
}

/// Rows of a leaf that the scan's view sees, in reading order.
fn visible_rows(scan: &Scan, slice: LeafSlice) -> Result<LeafRows> {
    let LeafSlice { page, rows } = slice;
    let seen = visible(&scan.access.tree.leaf(&page)?, rows, &scan.access.view)
        .map_err(|e| scan.access.tree.decode_error(page.page_no(), e.into()))?;
    let rows = match scan.reverse {
        false => seen,
        true => Rows::List(seen.iter().rev().map(|row| row as u16).collect()),
    };
    Ok(LeafRows { page, rows })
}
