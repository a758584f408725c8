//! Workers of a scan.

use super::{
    Scan,
    queue::Morsel,
    skip::{Skipper, further},
    steering::SteeringTarget,
};
use crate::{
    Counters, Result,
    counters::Counter,
    rows::{FIRST_BATCH_ROWS, Fetcher, LeafRows, Output, Tester, all_resident, count_delivered, max_latched},
    tree::{
        LeafSlice, Skipped,
        page::leaf::{BadPage, rows::RowSelection, visible::visible},
    },
};
use arrow_array::RecordBatch;
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// Leaves asked for ahead where entries are left out, at most.
const READ_AHEAD_LEAVES: usize = 64;

/// One worker of a scan. Blocks on I/O.
pub struct ScanCursor {
    scan: Arc<Scan>,
    current: Option<Morsel>,
    /// Taken ahead, so that its first leaves are read while the current one ends.
    ahead: Option<Morsel>,
    /// Entries to leave out.
    skipper: Option<Skipper>,
    /// The place to continue at, if that is not the next entry.
    onward: Option<SteeringTarget>,
    /// What was read of a leaf and not looked at, where entries are left out: a copied leaf may have several pages.
    slices: VecDeque<LeafSlice>,
    /// Leaves read one behind the other.
    neighbours: usize,
    /// Leaves asked for ahead and not read yet, of a scan that wants few rows.
    asked: usize,
    /// Entries that are still wanted; `None` if all are.
    left: Option<usize>,
    /// The index condition.
    index_tester: Option<Tester>,
    /// The other condition, where it must be known before entries are left out.
    row_tester: Option<Tester>,
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
            true if scan.distinct_prefix.is_some() => Output::Entries(Box::new(access.plain_collector())),
            true => Output::Entries(Box::new(access.collector(&access.tree))),
            false => Output::Rows(Box::new(Fetcher::new(access, scan.fetch, scan.ordered, scan.batch_rows))),
        };
        let header = access.tree.file().header();
        ScanCursor {
            current: None,
            ahead: None,
            skipper: Skipper::new(&access.tree, scan.steering.clone(), scan.distinct_prefix, scan.reverse),
            onward: None,
            slices: VecDeque::new(),
            neighbours: 0,
            asked: 0,
            left: scan.entries_max,
            index_tester: access.index_tester(),
            row_tester: scan.distinct_prefix.and_then(|_| access.entry_tester()),
            output,
            batch_rows: if scan.ordered { scan.batch_rows.min(FIRST_BATCH_ROWS) } else { scan.batch_rows },
            rows_per_leaf: (header.row_count / header.leaf_count.max(1)).max(1) as usize,
            max_leaves: max_latched(&access.tree),
            read_ahead: !all_resident(&access.tree),
            // Groups of entries do not end where the work of cursors does.
            ended: scan.distinct_prefix.is_some() && scan.taken.swap(true, Relaxed),
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
            if scan.until.as_ref().is_some_and(|is_due| is_due()) {
                (self.current, self.ahead, self.ended) = (None, None, true);
                continue;
            }
            let leaves = match self.skipper.is_some() {
                false => self.next_leaves(&scan, counters)?,
                true => self.next_chosen(&scan, counters)?,
            };
            let Some(leaves) = leaves else {
                self.ended = true;
                continue;
            };
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

    /// The next latched leaves with their visible rows that pass the index condition, in reading order; `None` at the
    /// end.
    fn next_leaves(&mut self, scan: &Scan, counters: &Counters) -> Result<Option<Vec<LeafRows>>> {
        let count = (self.batch_rows / self.rows_per_leaf).clamp(1, self.max_leaves);
        loop {
            if self.left == Some(0) {
                (self.current, self.ahead) = (None, None);
                return Ok(None);
            }
            if self.current.is_none() {
                self.current = match self.ahead.take() {
                    Some(morsel) => Some(morsel),
                    None => scan.queue.lock().take(&scan.access.tree, counters)?,
                };
            }
            let Some(morsel) = &mut self.current else { return Ok(None) };
            let left = morsel.run.upcoming().len();
            if self.read_ahead && left <= count && self.ahead.is_none() && !morsel.single {
                // Before leaves are latched: taking work waits for inner pages.
                self.ahead = scan.queue.lock().take(&scan.access.tree, counters)?;
            }
            let slices = scan.access.tree.next_leaves(&mut morsel.run, &scan.access.view, count, counters)?;
            if slices.is_empty() {
                self.current = None;
                continue;
            }
            if self.read_ahead && self.left.is_none_or(|left| left > slices.iter().map(|s| s.rows.len()).sum()) {
                let mut pages = morsel.run.upcoming();
                if let (true, Some(ahead)) = (pages.is_empty(), &self.ahead) {
                    pages = ahead.run.upcoming();
                }
                self.neighbours += slices.len();
                self.asked = self.asked.saturating_sub(slices.len());
                // A few rows that are hard to find: the longer none are found, the more is worth asking for.
                let ahead = if scan.is_limited { count.max(self.neighbours.min(READ_AHEAD_LEAVES)) } else { count };
                let pages = &pages[..pages.len().min(ahead)];
                if !pages.is_empty() && (ahead == count || self.asked <= ahead / 2) {
                    scan.access.tree.pool().prefetch(scan.access.tree.file(), pages, counters);
                    self.asked = pages.len();
                }
            }
            let ranges: Vec<Range<usize>> = slices.iter().map(|s| s.rows.clone()).collect();
            let mut leaves = Vec::with_capacity(slices.len());
            for slice in slices {
                leaves.push(visible_rows(scan, slice)?);
            }
            let read = match &mut self.left {
                None => ranges.iter().map(Range::len).sum(),
                Some(left) => {
                    let read = keep_first(&mut leaves, &ranges, left);
                    // The first entry of a range is counted where the range begins; only what follows comes here, with
                    // the end that is seen behind the last one.
                    if *left == 0 && !scan.whole_table { read.saturating_sub(1) } else { read }
                }
            };
            if !morsel.single {
                let counter = match (scan.whole_table, scan.reverse) {
                    (true, _) => Counter::rows_scanned,
                    (false, false) => Counter::entries_forward,
                    (false, true) => Counter::entries_backward,
                };
                counters.add(counter, read as u64);
            }
            if let Some(tester) = &mut self.index_tester {
                tester.narrow(&mut leaves, &mut Vec::new(), counters)?;
            }
            return Ok(Some(leaves));
        }
    }

    /// Returns what is to be delivered of the next leaf, where entries are left out.
    fn next_chosen(&mut self, scan: &Scan, counters: &Counters) -> Result<Option<Vec<LeafRows>>> {
        let tree = &scan.access.tree;
        if let Some(target) = self.onward.take() {
            self.go_on(scan, target, counters)?;
        }
        let Some(skipper) = &mut self.skipper else { return Ok(None) };
        let slice = loop {
            if let Some(slice) = self.slices.pop_front() {
                break slice;
            }
            if self.current.is_none() {
                self.current = scan.queue.lock().take(tree, counters)?;
            }
            let Some(morsel) = &mut self.current else { return Ok(None) };
            self.slices = tree.next_leaves(&mut morsel.run, &scan.access.view, 1, counters)?.into();
            if self.slices.is_empty() {
                self.current = None;
            }
        };
        self.neighbours += 1;
        if let Some(Morsel { run, .. }) = &self.current
            && self.read_ahead
            && self.neighbours > 1
        {
            // The longer nothing was left out, the more is worth asking for.
            let pages = run.upcoming();
            tree.pool().prefetch(
                tree.file(),
                &pages[..pages.len().min(self.neighbours).min(READ_AHEAD_LEAVES)],
                counters,
            );
        }
        let LeafSlice { page, rows } = slice;
        let corrupt = |e: BadPage| tree.decode_error(page.page_no(), e.into());
        let leaf = tree.leaf(&page)?;
        let base_rows = leaf.base_rows();
        let last_row = if scan.reverse { rows.start } else { rows.end - 1 };
        let chosen = skipper.choose(&leaf, rows).map_err(corrupt)?;
        self.onward = chosen.onward;
        let mut read = chosen.read;
        let mut leaves = vec![LeafRows { page, rows: RowSelection::of(chosen.rows, base_rows) }];
        let tested = self.index_tester.is_some() || self.row_tester.is_some();
        for tester in [&mut self.index_tester, &mut self.row_tester].into_iter().flatten() {
            tester.narrow(&mut leaves, &mut Vec::new(), counters)?;
        }
        if let (Some(_), Some(leaf)) = (scan.distinct_prefix, leaves.first_mut()) {
            let onward = skipper.keep_first(leaf, last_row)?;
            self.onward = further(self.onward.take(), onward, scan.reverse);
            if !tested && scan.steering.is_none() {
                // Nothing but the first entries had to be looked at.
                read = leaf.rows.len();
            }
        }
        if self.current.as_ref().is_some_and(|morsel| !morsel.single) {
            let counter = if scan.reverse { Counter::entries_backward } else { Counter::entries_forward };
            counters.add(counter, read as u64);
        }
        Ok(Some(leaves))
    }

    /// Leaves out what stands before the target. Holds no latch.
    fn go_on(&mut self, scan: &Scan, target: SteeringTarget, counters: &Counters) -> Result<()> {
        let SteeringTarget::Key(key) = target else {
            self.slices.clear();
            self.current = None;
            scan.queue.lock().end();
            return Ok(());
        };
        for slice in std::mem::take(&mut self.slices) {
            self.slices.extend(not_before(scan, slice, &key)?);
        }
        let skipped = self.current.as_mut().map_or(Skipped::All, |morsel| morsel.run.skip_to(&key));
        match skipped {
            Skipped::Leaves(0) => {}
            Skipped::Leaves(_) => {
                counters.add(Counter::key_lookups, 1);
                self.neighbours = 0;
            }
            Skipped::All => {
                self.current = None;
                self.neighbours = 0;
                scan.queue.lock().skip_to(&key);
            }
        }
        Ok(())
    }
}

/// The rows of a slice that do not stand before a key, in the order of reading, if there are any.
fn not_before(scan: &Scan, slice: LeafSlice, key: &[u8]) -> Result<Option<LeafSlice>> {
    let LeafSlice { page, rows } = slice;
    let tree = &scan.access.tree;
    let bound = tree.leaf(&page)?.lower_bound(tree.layout(), key).map_err(|e| tree.corrupt(page.page_no(), e))?;
    let rows = match scan.reverse {
        false => rows.start.max(bound)..rows.end,
        true => rows.start..rows.end.min(bound),
    };
    Ok((!rows.is_empty()).then_some(LeafSlice { page, rows }))
}

/// Keeps the first `left` rows of the leaves' ranges and takes them from `left`. How many entries are read until then.
fn keep_first(leaves: &mut Vec<LeafRows>, ranges: &[Range<usize>], left: &mut usize) -> usize {
    let mut read = 0;
    for (leaf, range) in leaves.iter_mut().zip(ranges) {
        if leaf.rows.len() < *left {
            read += range.len();
        } else {
            // Rows that are not seen do not count.
            leaf.rows = leaf.rows.pick(0..*left);
            read += leaf.rows.len();
        }
        *left -= leaf.rows.len();
    }
    leaves.retain(|leaf| !leaf.rows.is_empty());
    read
}

/// Rows of a leaf that the scan's view sees, in reading order.
fn visible_rows(scan: &Scan, slice: LeafSlice) -> Result<LeafRows> {
    let LeafSlice { page, rows } = slice;
    let leaf = scan.access.tree.leaf(&page)?;
    if !leaf.slots().is_empty() {
        page.note_met();
    }
    let seen = visible(&leaf, rows).map_err(|e| scan.access.tree.decode_error(page.page_no(), e.into()))?;
    let rows = match scan.reverse {
        false => seen,
        true => seen.reversed(),
    };
    Ok(LeafRows { page, rows })
}
