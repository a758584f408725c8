//! From entries of a secondary tree to rows of the clustered tree: the primary keys of many entries are sorted, so that
//! each leaf is read once and neighbours are read together.

use super::{
    Scan,
    collect::{Collector, LeafRows, batch},
    cursor::{PINNED_SHARE, all_resident},
};
use crate::{
    Counters, Result, StorageError,
    buffer_pool::PageGuard,
    counters::Counter,
    key::Keys,
    tree::{
        Tree,
        leaf::{
            BadPage,
            visible::{Rows, visible},
        },
    },
};
use arrow_array::{RecordBatch, UInt32Array};
use std::sync::Arc;

/// Collects entries, then fetches their rows.
pub(super) struct Fetcher {
    clustered: Arc<Tree>,
    /// Per entry, the key of its row.
    keys: Keys,
    /// Entries whose rows were fetched.
    done: usize,
    /// Leaves that may be latched at once.
    max_leaves: usize,
    scratch: Vec<u8>,
}

impl Fetcher {
    pub fn new(scan: &Scan) -> Fetcher {
        let clustered = Arc::clone(&scan.table.trees()[0]);
        let max_leaves = (clustered.pool().frame_count() / PINNED_SHARE).max(1);
        Fetcher { clustered, keys: Keys::default(), done: 0, max_leaves, scratch: Vec::new() }
    }

    /// Entries whose rows are still to be fetched.
    pub fn entries(&self) -> usize {
        self.keys.len() - self.done
    }

    /// Takes in entries of a secondary leaf.
    pub fn add_entries(&mut self, secondary: &Tree, page: &PageGuard, rows: &Rows) -> Result<()> {
        let codec = &secondary.layout().clustered_key;
        let columns = secondary.leaf(page)?.key_rows(secondary.layout(), codec);
        let columns = columns.map_err(|e| secondary.decode_error(page.page_no(), e.into()))?;
        for row in rows.iter() {
            self.scratch.clear();
            codec.append_row(&columns.row(row), &mut self.scratch);
            self.keys.push(&self.scratch);
        }
        Ok(())
    }

    /// Fetches the rows of the next entries, at most `limit`, into the collector. When the scan is ordered, returns them as a batch in the
    /// entries' order (`None` if the filter kept none); otherwise leaves them in the collector.
    pub fn fetch(
        &mut self,
        scan: &Scan,
        limit: usize,
        collector: &mut Collector,
        counters: &Counters,
    ) -> Result<Option<RecordBatch>> {
        let ordered = scan.request.ordered;
        let end = self.keys.len().min(self.done + limit);
        let mut order: Vec<u32> = (self.done as u32..end as u32).collect();
        order.sort_unstable_by(|a, b| self.keys.get(*a as usize).cmp(self.keys.get(*b as usize)));
        let read_ahead = !all_resident(&self.clustered);
        // Entry of each row in the collector.
        let mut entries = Vec::new();
        let mut next = 0;
        while next < order.len() {
            let keys = order[next..].iter().map(|i| self.keys.get(*i as usize));
            let found = self.clustered.find_leaves(keys, self.max_leaves, read_ahead, counters)?;
            let (mut leaves, mut positions) = (Vec::with_capacity(found.len()), Vec::new());
            for (page, count) in found {
                let wanted = &order[next..next + count];
                next += count;
                leaves.push(self.rows_of(scan, page, wanted, &mut positions)?);
            }
            counters.add(Counter::handler_read_rnd, positions.len() as u64);
            let mut kept = Vec::new();
            collector.add(scan, &self.clustered, &leaves, ordered.then_some(&mut kept), counters)?;
            entries.extend(kept.into_iter().map(|place| positions[place]));
        }
        self.done = end;
        if self.done == self.keys.len() {
            self.keys.clear();
            self.done = 0;
        }
        if !ordered || collector.rows() == 0 {
            return Ok(None);
        }
        let fetched = collector.take(scan)?;
        let mut back: Vec<u32> = (0..entries.len() as u32).collect();
        back.sort_unstable_by_key(|place| entries[*place as usize]);
        let back = UInt32Array::from(back);
        let arrays = fetched.columns().iter().map(|c| arrow_select::take::take(c, &back, None));
        let arrays = arrays.collect::<std::result::Result<_, _>>();
        let arrays = arrays.map_err(|e| StorageError::WrongType { value: format!("a fetched row ({e})") })?;
        batch(&scan.output, arrays, entries.len()).map(Some)
    }

    /// The rows of these entries in a latched leaf; the entry of each goes to `positions`.
    fn rows_of(&self, scan: &Scan, page: PageGuard, wanted: &[u32], positions: &mut Vec<u32>) -> Result<LeafRows> {
        let (tree, view) = (&self.clustered, &scan.request.view);
        let corrupt = |e: BadPage| tree.decode_error(page.page_no(), e.into());
        let codec = &tree.layout().key;
        let leaf = tree.leaf(&page)?;
        let columns = leaf.key_rows(tree.layout(), codec).map_err(corrupt)?;
        let all_seen = view.sees_all_of(leaf.max_trx_id());
        let mut rows = Vec::with_capacity(wanted.len());
        let (mut scratch, mut from) = (Vec::new(), 0);
        for entry in wanted {
            let key = self.keys.get(*entry as usize);
            from = columns.lower_bound(codec, key, from, &mut scratch);
            if from == leaf.rows() {
                break;
            }
            scratch.clear();
            codec.append_row(&columns.row(from), &mut scratch);
            // A row that is gone or not seen has no place in the answer.
            if scratch == key && (all_seen || !visible(&leaf, from..from + 1, view).map_err(corrupt)?.is_empty()) {
                rows.push(from as u16);
                positions.push(*entry);
            }
        }
        Ok(LeafRows { page, rows: Rows::List(rows) })
    }
}
