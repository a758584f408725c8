//! From entries of a secondary tree to rows of the clustered tree.

use super::{
    Collector, FIRST_BATCH_ROWS, RowAccess,
    collect::reorder,
    matching::{Matcher, Reading},
    recheck::Recheck,
};
use crate::{
    Counters, Result,
    counters::Counter,
    key::{KeyList, Keys},
    tree::{LeafPage, PrefixRun, Tree, page::leaf::rows::RowSelection},
};
use arrow_array::RecordBatch;
use std::{ops::Range, sync::Arc};

/// How rows are fetched for entries of a secondary index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// In the order of the entries, each row by a descent of its own.
    EntryOrder,
    /// In the order of primary keys (multi-range read): keys are collected in a buffer, sorted, and each leaf is read
    /// once, with the reads of many under way together. Result keys of S bytes take S / `buffer_bytes` passes.
    KeyOrder {
        /// Bytes of keys that the buffer of one cursor holds; at least one key.
        buffer_bytes: usize,
    },
}

/// Collects entries, then fetches their rows.
///
/// With [`Fetch::KeyOrder`] each fill of the buffer is a pass through the clustered tree. If the entries' order is
/// wanted, the first fill is taken in parts that double, so that the first rows come soon, and a pass has no more rows
/// than fit in as many bytes as the buffer has (or in a batch).
pub(crate) struct Fetcher {
    fetch: Fetch,
    clustered: Arc<Tree>,
    collector: Collector,
    matcher: Matcher,
    /// True if rows are wanted in the order of entries.
    ordered: bool,
    /// Per entry, the key of its row; and its tag, if it has one. Those before `done` are in a pass or behind it.
    keys: Keys,
    tags: Vec<u32>,
    done: usize,
    /// The entries themselves, if rows may change before they are fetched.
    recheck: Option<Recheck>,
    /// Entries whose rows are fetched now, in the order of fetching.
    pass: Vec<u32>,
    run: PrefixRun,
    /// Bytes that are left in this fill of the buffer; `None` before the first.
    fill_left: Option<usize>,
    /// Most rows of the next pass, and of any.
    pass_rows: usize,
    pass_rows_max: usize,
    /// Rows of a pass, and the order in which they are to be delivered: those before `delivered` were.
    restored: Option<(RecordBatch, Vec<u32>)>,
    delivered: usize,
    reading: Reading,
}

impl Fetcher {
    /// `ordered`: rows are wanted in the order of the entries; these then have no tags. `batch_rows`: most rows of a
    /// batch.
    pub fn new(access: &RowAccess, fetch: Fetch, ordered: bool, batch_rows: usize) -> Fetcher {
        let clustered = Arc::clone(&access.table.trees()[0]);
        let ordered = ordered && fetch != Fetch::EntryOrder;
        let pass_rows_max = match fetch {
            Fetch::KeyOrder { buffer_bytes } if ordered => batch_rows.max(buffer_bytes / row_bytes(&clustered)),
            _ => usize::MAX,
        };
        Fetcher {
            fetch,
            collector: access.collector(&clustered),
            matcher: Matcher::new(&clustered, access.view.clone(), Some(clustered.layout().key.parts.len())),
            ordered,
            keys: Keys::default(),
            tags: Vec::new(),
            done: 0,
            recheck: Recheck::of(access),
            pass: Vec::new(),
            run: PrefixRun::default(),
            fill_left: None,
            pass_rows: if ordered { FIRST_BATCH_ROWS.min(pass_rows_max) } else { pass_rows_max },
            pass_rows_max,
            restored: None,
            delivered: 0,
            reading: Reading::of(&clustered, fetch != Fetch::EntryOrder),
            clustered,
        }
    }

    /// Begins anew, after all entries were fetched.
    pub fn restart(&mut self) {
        self.keys.clear();
        self.tags.clear();
        self.recheck.iter_mut().for_each(Recheck::clear);
        self.done = 0;
        self.fill_left = None;
        self.reading = Reading::of(&self.clustered, self.reading.is_batched());
    }

    /// Takes in entries of a secondary leaf, and their tags (one per entry, or none at all).
    pub fn add_entries(&mut self, secondary: &Tree, page: &LeafPage, rows: &RowSelection, tags: &[u32]) -> Result<()> {
        if self.done > 0 && self.pass.is_empty() {
            self.keys.drain(self.done);
            self.tags.drain(..self.done.min(self.tags.len()));
            self.recheck.iter_mut().for_each(|recheck| recheck.drain(self.done));
            self.done = 0;
        }
        let codec = &secondary.layout().clustered_key;
        let columns = secondary.leaf(page)?.key_rows(secondary.layout(), codec);
        let columns = columns.map_err(|e| secondary.corrupt(page.page_no(), e))?;
        let mut key = Vec::new();
        for row in rows.iter() {
            key.clear();
            codec.append_row(&columns.row(row), &mut key);
            self.keys.push(&key);
        }
        self.tags.extend_from_slice(tags);
        self.recheck.as_mut().map_or(Ok(()), |recheck| recheck.add(page, rows))
    }

    /// The next rows, about `want` of them, and their entries' tags. `None` if more entries must be added first or, if
    /// there are no more (`ended`), at the end.
    pub fn next_batch(
        &mut self,
        want: usize,
        ended: bool,
        counters: &Counters,
    ) -> Result<Option<(RecordBatch, Vec<u32>)>> {
        loop {
            if let Some(batch) = self.next_restored(want)? {
                return Ok(Some((batch, Vec::new())));
            }
            if !self.ordered && self.collector.rows() >= want {
                return self.collector.take().map(Some);
            }
            if !self.pass.is_empty() {
                self.fetch_some(want, counters)?;
            } else if !self.begin_pass(want, ended, counters) {
                return match ended && self.collector.rows() > 0 {
                    true => self.collector.take().map(Some),
                    false => Ok(None),
                };
            }
        }
    }

    /// Begins to fetch rows for entries, if there are enough or no more will come.
    fn begin_pass(&mut self, want: usize, ended: bool, counters: &Counters) -> bool {
        let waiting = self.keys.len() - self.done;
        if waiting == 0 {
            return false;
        }
        let Fetch::KeyOrder { buffer_bytes } = self.fetch else {
            if waiting < want && !ended {
                return false;
            }
            let end = self.keys.len().min(self.done + want.max(1));
            self.pass.extend(self.done as u32..end as u32);
            self.done = end;
            return true;
        };
        let first = self.keys.get(self.done).len();
        let refill = self.fill_left.is_none_or(|left| left < first);
        let room = if refill { buffer_bytes.max(first) } else { self.fill_left.unwrap_or(0) };
        let bytes = self.keys.bytes_of(self.done..self.keys.len());
        if waiting < self.pass_rows && bytes < room && !ended {
            return false;
        }
        if refill && self.fill_left.is_some() {
            counters.add(Counter::fetch_buffer_refills, 1);
        }
        let (mut end, mut used) = (self.done, 0);
        while end < self.keys.len() && end - self.done < self.pass_rows {
            let with = used + self.keys.get(end).len();
            if with > room {
                break;
            }
            (end, used) = (end + 1, with);
        }
        self.pass = sorted(&self.keys, self.done..end);
        self.done = end;
        // Only where a pass is bounded by rows, a fill has several.
        self.fill_left = Some(if self.ordered { room - used } else { 0 });
        self.pass_rows = self.pass_rows.saturating_mul(2).min(self.pass_rows_max);
        true
    }

    /// Fetches rows of the pass.
    fn fetch_some(&mut self, want: usize, counters: &Counters) -> Result<()> {
        let keys = KeyList::of(&self.keys, &self.pass);
        let wanted = match self.ordered {
            true => usize::MAX,
            false => want.saturating_sub(self.collector.rows()).max(1),
        };
        // An entry whose row is gone or not seen has no place in the answer.
        let (mut leaves, mut numbers) = self.matcher.next_rows(&mut self.run, keys, self.reading, wanted, counters)?;
        counters.add(Counter::rows_fetched, numbers.len() as u64);
        if let Some(recheck) = &self.recheck {
            recheck.narrow(&self.clustered, &mut leaves, &mut numbers, &self.pass, counters)?;
        }
        let entries = numbers.into_iter().map(|i| self.pass[i]);
        let tags: Vec<u32> = match (self.ordered, self.tags.is_empty()) {
            (true, _) => entries.collect(),
            (false, true) => Vec::new(),
            (false, false) => entries.map(|entry| self.tags[entry as usize]).collect(),
        };
        self.collector.add(&leaves, &tags, counters)?;
        if self.run.is_done(self.pass.len()) {
            self.pass.clear();
            self.run = PrefixRun::default();
            if self.ordered && self.collector.rows() > 0 {
                let (rows, entries) = self.collector.take()?;
                let mut back: Vec<u32> = (0..entries.len() as u32).collect();
                back.sort_unstable_by_key(|place| entries[*place as usize]);
                (self.restored, self.delivered) = (Some((rows, back)), 0);
            }
        }
        Ok(())
    }

    /// The next rows of a pass whose order was restored.
    fn next_restored(&mut self, want: usize) -> Result<Option<RecordBatch>> {
        let Some((rows, order)) = &self.restored else { return Ok(None) };
        let end = order.len().min(self.delivered + want.max(1));
        let batch = reorder(rows, self.collector.projection(), order[self.delivered..end].to_vec())?;
        self.delivered = end;
        if end == order.len() {
            self.restored = None;
        }
        Ok(Some(batch))
    }
}

/// The numbers of these keys, in the order of the keys.
fn sorted(keys: &Keys, which: Range<usize>) -> Vec<u32> {
    // Four bytes of each key, behind what all have in common, decide nearly always.
    let first = keys.get(which.start);
    let common = which.clone().fold(first.len(), |common, i| {
        let key = keys.get(i);
        let same = key.iter().zip(first).take(common).position(|(a, b)| a != b);
        same.unwrap_or(common.min(key.len()))
    });
    let four = |i: usize| {
        let mut bytes = [0; 4];
        let key = &keys.get(i)[common..];
        let len = key.len().min(4);
        bytes[..len].copy_from_slice(&key[..len]);
        u64::from(u32::from_be_bytes(bytes))
    };
    let mut order: Vec<u64> = which.map(|i| four(i) << 32 | i as u64).collect();
    order.sort_unstable();
    for equal in order.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|equal| equal.len() > 1) {
        equal.sort_unstable_by(|a, b| keys.get(*a as u32 as usize).cmp(keys.get(*b as u32 as usize)));
    }
    order.into_iter().map(|place| place as u32).collect()
}

/// About how many bytes a row has.
fn row_bytes(clustered: &Tree) -> usize {
    let header = clustered.file().header();
    let bytes = u64::from(header.page_count) * clustered.file().page_size() as u64;
    (bytes / header.row_count.max(1)).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_sorted(
            list in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..9), 1..60),
            start in 0usize..60,
        ) {
            let mut keys = Keys::default();
            list.iter().for_each(|key| keys.push(key));
            let start = start.min(list.len() - 1);
            let order = sorted(&keys, start..list.len());
            let mut numbers = order.clone();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(start as u32..list.len() as u32));
            prop_assert!(order.is_sorted_by_key(|i| &list[*i as usize]));
        }
    }
}
