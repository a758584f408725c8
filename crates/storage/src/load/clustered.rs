//! Builds the clustered tree: from rows as they come while they are in key order, from sorted rows otherwise; merged
//! with the rows that the table has.
//!
//! ```text
//!   rows in order ----------------------------\
//!   rows out of order -> Sorter -> sorted ----> merge -> TreeBuilder, statistics
//!   table's rows, rows streamed before --------/
//! ```
//!
//! When a row comes out of order, the tree built so far becomes a first sorted run, like the table's old rows, and all
//! further rows are sorted.

use super::{
    DuplicatePolicy, LoadProgress, duplicate, entry_texts,
    files::NewFiles,
    prefix_counts::PrefixCounter,
    reader::{LoadSource, TreeReader},
    row::{RowBuffer, RowLayout},
    sort::{SortOptions, Sorter},
    statistics::{Collected, StatisticsThread},
};
use crate::{
    ColumnStats, Counters, IndexStats, Result, StorageError,
    buffer_pool::BufferPool,
    file::{PageFile, SequentialWriter},
    key::Keys,
    tree::{Tree, TreeBuilder, TreeLayout},
};
use arrow_array::{Array, ArrayRef};
use arrow_select::interleave::interleave;
use muster_types::{SqlType, distribution::Distribution};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// Sorted rows merged at a time.
const BLOCK_RECORDS: usize = 8192;

pub(super) struct ClusteredOptions {
    pub sort: SortOptions,
    pub duplicates: DuplicatePolicy,
    pub pool: Arc<BufferPool>,
    pub counters: Arc<Counters>,
    pub files: Arc<NewFiles>,
}

/// The tree that was built.
pub(super) struct Clustered {
    pub file: Arc<PageFile>,
    pub index: IndexStats,
    pub rows: u64,
    pub columns: Vec<ColumnStats>,
    pub distribution: Distribution,
    pub duplicates: Dropped,
}

/// Most entries of rows left out that a load names: as many as a session keeps warnings by default.
const NAMED_MAX: usize = 1024;

/// Rows that were dropped or replaced for the sake of others with their keys.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    pub rows: u64,
    /// The entries of those that were dropped, the first ones in the order of keys.
    pub entries: Vec<Vec<String>>,
}

impl Dropped {
    fn has_room(&self) -> bool {
        self.entries.len() < NAMED_MAX
    }

    /// Names a row of these columns.
    fn name(&mut self, layout: &TreeLayout, columns: &[ArrayRef], row: usize) {
        if self.has_room() {
            self.entries.push(entry_texts(layout, columns, row));
        }
    }
}

/// A clustered tree under way.
pub(super) struct ClusteredBuild {
    options: ClusteredOptions,
    layout: Arc<TreeLayout>,
    merge: Merge,
    mode: Mode,
    /// The key of the last row that came in order.
    last_key: Vec<u8>,
    keys: Keys,
}

enum Mode {
    /// All rows so far came in order.
    Streaming,
    Sorting(Box<Sorting>),
}

struct Sorting {
    sorter: Sorter,
    rows: RowLayout,
    buffer: RowBuffer,
}

impl ClusteredBuild {
    /// `old`: the table's tree, unless it is empty.
    pub fn new(layout: Arc<TreeLayout>, old: Option<LoadSource>, options: ClusteredOptions) -> Result<ClusteredBuild> {
        let mut base = Base::default();
        if let Some(tree) = old {
            base.runs.push_back(BaseRun::Reader(all_columns(tree, &options.counters)?));
        }
        let output = Output::new(&layout, &options)?;
        let merge = Merge {
            layout: Arc::clone(&layout),
            base,
            output,
            duplicates: options.duplicates,
            dropped: Dropped::default(),
        };
        let (last_key, keys) = (Vec::new(), Keys::default());
        Ok(ClusteredBuild { options, layout, merge, mode: Mode::Streaming, last_key, keys })
    }

    /// Adds rows: the tree's stored columns.
    pub fn push(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        self.options.sort.check_cancelled()?;
        let rows = columns.first().map_or(0, |c| c.len());
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        self.layout.key.append_keys(&columns, 0..rows, &mut keys)?;
        if matches!(self.mode, Mode::Streaming) && !self.in_order(&keys) {
            self.start_sorting()?;
        }
        match &mut self.mode {
            Mode::Streaming => {
                self.last_key.clear();
                self.last_key.extend_from_slice(keys.iter().last().unwrap_or_default());
                self.merge.add(columns, &keys)?;
            }
            Mode::Sorting(sorting) => {
                sorting.rows.encode(&columns, &mut sorting.buffer);
                for (i, key) in keys.iter().enumerate() {
                    sorting.sorter.push(key, sorting.buffer.row(i))?;
                }
            }
        }
        self.keys = keys;
        Ok(())
    }

    fn in_order(&self, keys: &Keys) -> bool {
        let mut last = self.last_key.as_slice();
        keys.iter().all(|key| {
            // The empty key is less than all that there are.
            let greater = last < key || last.is_empty();
            last = key;
            greater
        })
    }

    /// Makes what was streamed a sorted run in front of the table's rows that were not reached yet.
    fn start_sorting(&mut self) -> Result<()> {
        let output = Output::new(&self.layout, &self.options)?;
        let streamed = std::mem::replace(&mut self.merge.output, output);
        let rows = streamed.builder.rows();
        let streamed = streamed.finish(Dropped::default())?;
        if rows > 0 {
            let tree =
                Tree::open(Arc::clone(&self.options.pool), None, Arc::clone(&streamed.file), Arc::clone(&self.layout))?;
            let reader = all_columns(LoadSource::Built(Arc::new(tree)), &self.options.counters)?;
            let base = &mut self.merge.base;
            // The batch under way comes after it.
            if let Some(batch) = base.batch.take() {
                base.runs.push_front(BaseRun::Batch(batch));
            }
            base.runs.push_front(BaseRun::Reader(reader));
            base.temporary.push(streamed.file);
        } else {
            self.options.files.remove(&streamed.file)?;
        }
        let columns: Vec<_> = self.layout.columns.iter().map(|c| (crate::arrow_type(&c.ty), c.nullable)).collect();
        self.mode = Mode::Sorting(Box::new(Sorting {
            sorter: Sorter::new(self.options.sort.clone()),
            rows: RowLayout::new(&columns),
            buffer: RowBuffer::default(),
        }));
        Ok(())
    }

    pub fn finish(mut self) -> Result<Clustered> {
        if let Mode::Sorting(sorting) = self.mode {
            let Sorting { sorter, rows, .. } = *sorting;
            let mut sorted = sorter.finish()?;
            let mut dedup = Dedup::new(self.options.duplicates);
            loop {
                let block = sorted.next_block(BLOCK_RECORDS)?;
                let last = block.is_empty();
                let mut keys = Keys::default();
                let mut payloads: Vec<&[u8]> = Vec::with_capacity(block.len() + 1);
                let mut left_out: Vec<&[u8]> = Vec::new();
                let room = NAMED_MAX.saturating_sub(self.merge.dropped.entries.len());
                let held = dedup.held.take();
                let records =
                    held.iter().map(|(k, p)| (&k[..], &p[..])).chain(block.iter().map(|r| (r.key, r.payload)));
                let kept = |key, payload| {
                    keys.push(key);
                    payloads.push(payload);
                };
                let dropped = |payload| {
                    if left_out.len() < room {
                        left_out.push(payload);
                    }
                };
                let repeated = dedup.filter(records, last, kept, dropped);
                if !left_out.is_empty() {
                    let columns = rows.decode(&left_out)?;
                    (0..left_out.len()).for_each(|row| self.merge.dropped.name(&self.layout, &columns, row));
                }
                let columns = rows.decode(&payloads)?;
                if let Some(row) = repeated {
                    return Err(duplicate(&self.layout, &columns, row));
                }
                if !keys.is_empty() {
                    self.merge.add(columns, &keys)?;
                }
                if last {
                    break;
                }
            }
            self.merge.dropped.rows += dedup.dropped;
        }
        self.merge.drain_base()?;
        for file in std::mem::take(&mut self.merge.base.temporary) {
            self.options.files.remove(&file)?;
        }
        self.merge.output.finish(self.merge.dropped)
    }
}

fn all_columns(tree: LoadSource, counters: &Arc<Counters>) -> Result<TreeReader> {
    let columns = (0..tree.layout().columns.len()).collect();
    TreeReader::new(tree, columns, Arc::clone(counters))
}

/// Takes rows of equal keys out of a sorted stream, which keeps the order of arrival among them.
struct Dedup {
    policy: DuplicatePolicy,
    last: Option<Vec<u8>>,
    /// The last record of a block, as long as a later one may replace it.
    held: Option<(Vec<u8>, Vec<u8>)>,
    dropped: u64,
}

impl Dedup {
    fn new(policy: DuplicatePolicy) -> Dedup {
        Dedup { policy, last: None, held: None, dropped: 0 }
    }

    /// Hands on the records that stay, and the payloads of those that the first with their key is kept instead of. With
    /// [`DuplicatePolicy::Error`] returns the place, among those handed on, of the first repeated key (it is handed on,
    /// and none behind it).
    fn filter<'a>(
        &mut self,
        records: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        last: bool,
        mut keep: impl FnMut(&'a [u8], &'a [u8]),
        mut drop: impl FnMut(&'a [u8]),
    ) -> Option<usize> {
        let mut records = records.peekable();
        let mut kept = 0;
        while let Some((key, payload)) = records.next() {
            match self.policy {
                DuplicatePolicy::Replace => match records.peek() {
                    Some((next, _)) if *next == key => {
                        self.dropped += 1;
                        continue;
                    }
                    None if !last => {
                        self.held = Some((key.to_vec(), payload.to_vec()));
                        continue;
                    }
                    _ => (),
                },
                DuplicatePolicy::Error | DuplicatePolicy::Ignore => {
                    let repeated = self.last.as_deref() == Some(key);
                    if repeated && self.policy == DuplicatePolicy::Error {
                        keep(key, payload);
                        return Some(kept);
                    }
                    if repeated {
                        self.dropped += 1;
                        drop(payload);
                        continue;
                    }
                    let last = self.last.get_or_insert_default();
                    last.clear();
                    last.extend_from_slice(key);
                }
            }
            keep(key, payload);
            kept += 1;
        }
        None
    }
}

/// Rows that were there before, in key order: streamed ones, then the table's.
#[derive(Default)]
struct Base {
    runs: VecDeque<BaseRun>,
    batch: Option<Batch>,
    /// Files to remove when all is read.
    temporary: Vec<Arc<PageFile>>,
}

enum BaseRun {
    Batch(Batch),
    Reader(TreeReader),
}

struct Batch {
    columns: Vec<ArrayRef>,
    keys: Keys,
    /// The next row.
    at: usize,
}

impl Base {
    /// The batch with the next row, read if need be; `None` at the end.
    fn batch(&mut self, layout: &TreeLayout) -> Result<Option<&mut Batch>> {
        while self.batch.as_ref().is_none_or(|b| b.at == b.keys.len()) {
            match self.runs.pop_front() {
                None => {
                    self.batch = None;
                    return Ok(None);
                }
                Some(BaseRun::Batch(batch)) => self.batch = Some(batch),
                Some(BaseRun::Reader(mut reader)) => {
                    if let Some(columns) = reader.next_batch()? {
                        let mut keys = Keys::default();
                        layout.key.append_keys(&columns, 0..columns[0].len(), &mut keys)?;
                        self.batch = Some(Batch { columns, keys, at: 0 });
                        self.runs.push_front(BaseRun::Reader(reader));
                    }
                }
            }
        }
        Ok(self.batch.as_mut())
    }
}

/// Merges new rows, which come in key order, with those that were there.
struct Merge {
    layout: Arc<TreeLayout>,
    base: Base,
    output: Output,
    duplicates: DuplicatePolicy,
    dropped: Dropped,
}

/// Which side of a merge a row comes from.
const BASE: usize = 0;
const NEW: usize = 1;

impl Merge {
    /// Adds new rows, whose keys are greater than all added before.
    fn add(&mut self, columns: Vec<ArrayRef>, keys: &Keys) -> Result<()> {
        let mut at = 0;
        while at < keys.len() {
            let Some(base) = self.base.batch(&self.layout)? else {
                let rest: Vec<_> = columns.iter().map(|c| c.slice(at, keys.len() - at)).collect();
                return self.output.emit(&rest, Some((keys, at)));
            };
            // Until one side's batch is at its end.
            let mut picks: Vec<(usize, usize)> = Vec::with_capacity(base.keys.len() - base.at + keys.len() - at);
            while at < keys.len() && base.at < base.keys.len() {
                let (new, old) = (keys.get(at), base.keys.get(base.at));
                match new.cmp(old) {
                    std::cmp::Ordering::Less => {
                        picks.push((NEW, at));
                        at += 1;
                    }
                    std::cmp::Ordering::Greater => {
                        picks.push((BASE, base.at));
                        base.at += 1;
                    }
                    std::cmp::Ordering::Equal => match self.duplicates {
                        DuplicatePolicy::Error => return Err(duplicate(&self.layout, &columns, at)),
                        DuplicatePolicy::Ignore => {
                            self.dropped.rows += 1;
                            self.dropped.name(&self.layout, &columns, at);
                            at += 1;
                        }
                        DuplicatePolicy::Replace => {
                            self.dropped.rows += 1;
                            base.at += 1;
                        }
                    },
                }
            }
            if picks.is_empty() {
                continue;
            }
            let merged = base.columns.iter().zip(&columns).map(|(old, new)| interleave(&[old, new], &picks));
            let merged = merged.collect::<Result<Vec<_>, _>>();
            let merged = merged.map_err(|e| StorageError::WrongType { value: e.to_string() })?;
            self.output.emit(&merged, None)?;
        }
        Ok(())
    }

    fn drain_base(&mut self) -> Result<()> {
        while let Some(base) = self.base.batch(&self.layout)? {
            let rest: Vec<_> = base.columns.iter().map(|c| c.slice(base.at, base.keys.len() - base.at)).collect();
            base.at = base.keys.len();
            self.output.emit(&rest, None)?;
        }
        Ok(())
    }
}

/// The receiver of rows in their final order.
struct Output {
    layout: Arc<TreeLayout>,
    builder: TreeBuilder,
    statistics: StatisticsThread,
    /// Number of the table's columns, which come before what else is stored.
    table_columns: usize,
    prefixes: PrefixCounter,
    progress: Arc<LoadProgress>,
}

impl Output {
    fn new(layout: &Arc<TreeLayout>, options: &ClusteredOptions) -> Result<Output> {
        let file = options.files.create(layout.index_id)?;
        let writer = SequentialWriter::new(file, Arc::clone(&options.counters));
        let table_columns = layout.columns.len() - layout.row_number().is_some() as usize;
        Ok(Output {
            layout: Arc::clone(layout),
            builder: TreeBuilder::new(Arc::clone(layout), writer),
            statistics: StatisticsThread::start(table_columns),
            table_columns,
            prefixes: PrefixCounter::new(&layout.key, layout.declared_parts),
            progress: Arc::clone(&options.sort.progress),
        })
    }

    /// `keys`: where the rows' keys are, if they are known.
    fn emit(&mut self, columns: &[ArrayRef], keys: Option<(&Keys, usize)>) -> Result<()> {
        let rows = columns.first().map_or(0, |c| c.len());
        self.statistics.add(columns);
        let declared = self.layout.declared_parts;
        // Keys are unique, so one part needs no counting.
        if declared > 1 {
            match keys {
                Some((keys, from)) => (from..keys.len()).for_each(|i| {
                    self.prefixes.add(keys.get(i));
                }),
                None => {
                    let mut keys = Keys::default();
                    self.layout.key.append_keys(columns, 0..rows, &mut keys)?;
                    keys.iter().for_each(|key| {
                        self.prefixes.add(key);
                    });
                }
            }
        }
        self.builder.append(columns, 0..rows)?;
        self.progress.entries_written.fetch_add(rows as u64, Relaxed);
        Ok(())
    }

    fn finish(self, duplicates: Dropped) -> Result<Clustered> {
        let (file, shape) = self.builder.finish()?;
        let types: Vec<SqlType> = self.layout.columns.iter().take(self.table_columns).map(|column| column.ty).collect();
        let Collected { rows, columns, sample } = self.statistics.finish(&types)?;
        let distribution = Distribution::new(sample, types, BTreeMap::new());
        let distinct = match self.layout.declared_parts {
            1 => vec![rows as f64],
            _ => self.prefixes.finish(),
        };
        let index = IndexStats { distinct, leaf_pages: shape.leaf_pages, height: shape.height };
        Ok(Clustered { file, index, rows, columns, distribution, duplicates })
    }
}
