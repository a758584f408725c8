//! Many keys at once into one index.
//!
//! ```text
//!   Keys (ascending) -> leaves of the index (crate::tree, prefixes.rs) -> index condition -> rows -> batches
//! ```
//!
//! Batched, leaves are found from inner pages first and asked for together; each leaf is read once for all of its keys.
//! Otherwise each key is a descent of its own, as in a server that joins row by row.

#[cfg(test)]
mod lookup_bench;
#[cfg(test)]
mod tests;

use crate::{
    Counters, ReadView, Result, StorageError, Table,
    counters::Counter,
    key::{KeyList, Keys},
    rows::{BatchFilter, Fetch, Fetcher, LeafRows, Matcher, Output, Reading, RowAccess, Tester, count_delivered},
    tree::PrefixRun,
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::sync::Arc;

/// The description of lookups in one index.
pub struct LookupRequest {
    pub view: Arc<ReadView>,
    /// Position in the schema's indexes; 0 is the clustered tree.
    pub index: usize,
    /// Table column positions to deliver. When the index does not hold all of them (and the filter's), rows are
    /// fetched from the clustered tree by primary key.
    pub columns: Vec<usize>,
    /// Index condition: checked on entries of the index before rows are fetched for them. The index holds its columns.
    pub index_filter: Option<Arc<dyn BatchFilter>>,
    /// Checked on rows; on entries if the index holds all that is asked for.
    pub filter: Option<Arc<dyn BatchFilter>>,
    /// How rows are fetched, if they must be.
    pub fetch: Fetch,
    /// True if keys are looked up together.
    pub batched: bool,
    /// Target size of a batch, in rows.
    pub batch_rows: usize,
    pub counters: Arc<Counters>,
}

/// Looks up lists of keys, one list after the other. Blocks on I/O; holds no latch between calls.
pub struct Lookup {
    access: RowAccess,
    fetch: Fetch,
    batch_rows: usize,
    counters: Arc<Counters>,
    keys: Keys,
    run: PrefixRun,
    matcher: Matcher,
    /// The index condition.
    index_tester: Option<Tester>,
    output: Output,
    /// Something may be left of the keys begun with last.
    busy: bool,
    /// The keys ascend and none begins with another.
    valid: bool,
    /// The last key that found an entry.
    last_found: Option<usize>,
    reading: Reading,
}

impl Lookup {
    /// Reads no page yet. Errors: `WrongType` for columns and indexes that the table does not have, and for an index
    /// filter on columns that the index does not hold.
    pub fn new(table: Arc<Table>, request: LookupRequest) -> Result<Lookup> {
        let LookupRequest { view, index, columns, index_filter, filter, fetch, batched, batch_rows, counters } =
            request;
        let access = RowAccess::new(table, view, index, columns, &[], index_filter, filter)?;
        let batch_rows = batch_rows.max(1);
        Ok(Lookup {
            fetch,
            batch_rows,
            counters,
            keys: Keys::default(),
            run: PrefixRun::default(),
            matcher: Matcher::new(&access.tree, access.view.clone(), None),
            index_tester: access.index_tester(),
            output: output(&access, fetch, batch_rows),
            busy: false,
            valid: true,
            last_found: None,
            reading: Reading::of(&access.tree, batched),
            access,
        })
    }

    /// The schema of batches. Columns have no names of their own here.
    pub fn schema(&self) -> &SchemaRef {
        &self.access.output.schema
    }

    /// Begins to look up `keys`: beginnings of the index's keys, as [`Table::lookup_keys`] makes them. If they are
    /// looked up together they ascend, and none is the beginning of another (so no two are equal). What is left of the
    /// keys before is dropped.
    pub fn begin(&mut self, keys: Keys) {
        if self.busy {
            self.index_tester = self.access.index_tester();
            self.output = output(&self.access, self.fetch, self.batch_rows);
        } else if let Output::Rows(fetcher) = &mut self.output {
            fetcher.restart();
        }
        let codec = &self.access.tree.layout().key;
        let mut parts = if keys.is_empty() { None } else { codec.whole_parts(keys.get(0)) };
        self.valid = true;
        for i in 1..keys.len() {
            let (before, key) = (keys.get(i - 1), keys.get(i));
            self.valid &= !self.reading.is_batched() || before < key && !key.starts_with(before);
            if parts.is_some() && codec.whole_parts(key) != parts {
                parts = None;
            }
        }
        self.matcher = Matcher::new(&self.access.tree, self.access.view.clone(), parts);
        self.run = PrefixRun::default();
        self.last_found = None;
        self.reading = Reading::of(&self.access.tree, self.reading.is_batched());
        self.busy = true;
        self.keys = keys;
        if matches!((&self.output, self.fetch), (Output::Rows(_), Fetch::KeyOrder { .. })) {
            self.counters.add(Counter::key_order_fetches, 1);
        }
    }

    /// The next rows, columns in the order of [`LookupRequest::columns`] with the Arrow types that
    /// [`muster_types::SqlType`] documents; and for each the position of its key among those begun with. Rows are in
    /// the order of the index unless they are fetched in another ([`Fetch::KeyOrder`]). `None` at the end. Never an
    /// empty batch. After an error there is no more, until the next [`Lookup::begin`].
    ///
    /// Errors: `WrongType` for keys that do not ascend.
    pub fn next_batch(&mut self) -> Result<Option<(RecordBatch, Vec<u32>)>> {
        if !self.valid {
            return Err(StorageError::WrongType { value: "a list of keys out of order".to_string() });
        }
        let counters = Arc::clone(&self.counters);
        let (batch, ordinals) = loop {
            let ended = self.run.is_done(self.keys.len());
            match &mut self.output {
                Output::Entries(entries) => {
                    if entries.rows() >= self.batch_rows || ended && entries.rows() > 0 {
                        break entries.take()?;
                    }
                }
                Output::Rows(fetcher) => {
                    if let Some(batch) = fetcher.next_batch(self.batch_rows, ended, &counters)? {
                        break batch;
                    }
                }
            }
            if ended {
                self.busy = false;
                return Ok(None);
            }
            self.read_leaves(&counters)?;
        };
        count_delivered(&batch, &counters);
        Ok(Some((batch, ordinals)))
    }

    /// Reads the next leaves.
    fn read_leaves(&mut self, counters: &Counters) -> Result<()> {
        let keys = KeyList::all(&self.keys);
        let wanted = match &self.output {
            Output::Entries(entries) => self.batch_rows.saturating_sub(entries.rows()).max(1),
            Output::Rows(_) => self.batch_rows,
        };
        let begun = self.run.begun();
        let (mut leaves, numbers) = self.matcher.next_rows(&mut self.run, keys, self.reading, wanted, counters)?;
        counters.add(Counter::key_lookups, (self.run.begun() - begun) as u64);
        let mut ordinals = Vec::with_capacity(numbers.len());
        let mut first = 0;
        for number in numbers {
            first += (self.last_found != Some(number)) as u64;
            self.last_found = Some(number);
            ordinals.push(number as u32);
        }
        counters.add(Counter::entries_forward, ordinals.len() as u64 - first);
        if let Some(tester) = &mut self.index_tester {
            tester.narrow(&mut leaves, &mut ordinals, counters)?;
        }
        match &mut self.output {
            Output::Entries(entries) => entries.add(&leaves, &ordinals, counters),
            Output::Rows(fetcher) => {
                let mut rest = ordinals.as_slice();
                for LeafRows { page, rows } in leaves {
                    let (here, behind) = rest.split_at(rows.len());
                    rest = behind;
                    fetcher.add_entries(&self.access.tree, &page, &rows, here)?;
                }
                Ok(())
            }
        }
    }
}

fn output(access: &RowAccess, fetch: Fetch, batch_rows: usize) -> Output {
    match access.covering {
        true => Output::Entries(Box::new(access.collector(&access.tree))),
        false => Output::Rows(Box::new(Fetcher::new(access, fetch, false, batch_rows))),
    }
}
