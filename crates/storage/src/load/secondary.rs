//! Builds secondary trees from a clustered one, several at a time.

use super::{
    LoadProgress, duplicate,
    files::NewFiles,
    prefix_counts::{PrefixCounter, has_null},
    reader::{LoadSource, TreeReader},
    row::{RowBuffer, RowLayout},
    sort::{SortOptions, Sorter},
};
use crate::{
    Counters, IndexStats, Result, StorageError, TableSchema,
    file::{PageFile, SequentialWriter},
    key::Keys,
    tree::{ColumnSource, TreeBuilder, TreeLayout},
};
use arrow_array::{Array, ArrayRef};
use parking_lot::Mutex;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

/// Sorted entries handed to the tree builder at a time.
const BLOCK_RECORDS: usize = 8192;

/// The table, memory and counters that building an index needs.
pub(super) struct IndexBuilder<'a> {
    /// The table's rows.
    pub clustered: LoadSource,
    pub schema: &'a TableSchema,
    pub files: &'a NewFiles,
    pub memory_bytes: usize,
    pub temp_dir: PathBuf,
    pub threads: usize,
    pub progress: Arc<LoadProgress>,
    pub counters: Arc<Counters>,
}

impl IndexBuilder<'_> {
    /// Builds these indexes, in their order. The memory is shared by those under way.
    pub fn build_all(&self, indexes: &[usize]) -> Result<Vec<(Arc<PageFile>, IndexStats)>> {
        let threads = self.threads.clamp(1, indexes.len().max(1));
        let memory = self.memory_bytes / threads;
        // The widest first, so that none is left alone at the end.
        let mut order: Vec<usize> = (0..indexes.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(TreeLayout::new(self.schema, indexes[*i]).columns.len()));
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let built: Mutex<Vec<Option<Result<(Arc<PageFile>, IndexStats)>>>> =
            Mutex::new(indexes.iter().map(|_| None).collect());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(&i) = order.get(next.fetch_add(1, Relaxed)) {
                        let result = self.build(indexes[i], memory, &failed);
                        failed.fetch_or(result.is_err(), Relaxed);
                        built.lock()[i] = Some(result);
                    }
                });
            }
        });
        let mut results: Vec<_> = built.into_inner().into_iter().flatten().collect();
        // The others were interrupted because of the one that failed.
        if let Some(i) = results.iter().position(|r| matches!(r, Err(e) if !matches!(e, StorageError::Interrupted))) {
            results.swap(0, i);
        }
        results.into_iter().collect()
    }

    fn check(&self, failed: &AtomicBool) -> Result<()> {
        let stop = failed.load(Relaxed) || self.progress.cancelled.load(Relaxed);
        if stop { Err(StorageError::Interrupted) } else { Ok(()) }
    }

    fn build(&self, index: usize, memory_bytes: usize, failed: &AtomicBool) -> Result<(Arc<PageFile>, IndexStats)> {
        let layout = Arc::new(TreeLayout::new(self.schema, index));
        let mut rows = TreeReader::new(self.clustered.clone(), self.sources(&layout)?, Arc::clone(&self.counters))?;
        let file = self.files.create(layout.index_id)?;
        let writer = SequentialWriter::new(file, Arc::clone(&self.counters));
        let mut entries = Entries {
            builder: TreeBuilder::new(Arc::clone(&layout), writer),
            prefixes: PrefixCounter::new(&layout.key, layout.declared_parts),
            layout: Arc::clone(&layout),
            progress: &self.progress,
        };
        let mut keys = Keys::default();
        if in_clustered_order(&layout) {
            while let Some(columns) = rows.next_batch()? {
                self.check(failed)?;
                declared_keys(&layout, &columns, &mut keys)?;
                entries.append(&columns, keys.iter())?;
            }
        } else {
            let types: Vec<_> = layout.columns.iter().map(|c| (crate::arrow_type(&c.ty), c.nullable)).collect();
            let row_layout = RowLayout::new(&types);
            let mut sorter = Sorter::new(SortOptions {
                memory_bytes,
                temp_dir: self.temp_dir.clone(),
                progress: Arc::clone(&self.progress),
            });
            let mut payloads = RowBuffer::default();
            while let Some(columns) = rows.next_batch()? {
                self.check(failed)?;
                declared_keys(&layout, &columns, &mut keys)?;
                row_layout.encode(&columns, &mut payloads);
                for (i, key) in keys.iter().enumerate() {
                    sorter.push(key, payloads.row(i))?;
                }
            }
            let mut sorted = sorter.finish()?;
            loop {
                self.check(failed)?;
                let block = sorted.next_block(BLOCK_RECORDS)?;
                if block.is_empty() {
                    break;
                }
                let payloads: Vec<&[u8]> = block.iter().map(|r| r.payload).collect();
                entries.append(&row_layout.decode(&payloads)?, block.iter().map(|r| r.key))?;
            }
        }
        entries.finish()
    }

    /// The positions of the index's stored columns in the clustered tree.
    fn sources(&self, layout: &TreeLayout) -> Result<Vec<usize>> {
        let clustered = self.clustered.layout();
        let source = |source: &ColumnSource| match source {
            ColumnSource::Table { column, .. } => clustered.column_of(*column),
            ColumnSource::RowNumber => clustered.row_number(),
        };
        let missing = || StorageError::WrongType { value: "an index of columns that the table has not".into() };
        layout.columns.iter().map(|c| source(&c.source).ok_or_else(missing)).collect()
    }
}

/// Returns true if rows in clustered order are in the order of this index: its parts are the first ones of the
/// clustered key.
fn in_clustered_order(layout: &TreeLayout) -> bool {
    let declared = &layout.key.parts[..layout.declared_parts];
    let clustered = &layout.clustered_key.parts;
    declared.len() <= clustered.len() && declared.iter().zip(clustered).all(|(a, b)| a == b)
}

fn declared_keys(layout: &TreeLayout, columns: &[ArrayRef], keys: &mut Keys) -> Result<()> {
    let rows = columns.first().map_or(0, |c| c.len());
    keys.clear();
    layout.key.append_keys_of_parts(columns, layout.declared_parts, 0..rows, keys)
}

/// The end of building: entries in order.
struct Entries<'a> {
    builder: TreeBuilder,
    prefixes: PrefixCounter,
    layout: Arc<TreeLayout>,
    progress: &'a LoadProgress,
}

impl Entries<'_> {
    /// `keys`: of the declared parts.
    fn append<'k>(&mut self, columns: &[ArrayRef], keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        let rows = columns.first().map_or(0, |c| c.len());
        let layout = &self.layout;
        for (row, key) in keys.enumerate() {
            let new = self.prefixes.add(key);
            if !new && layout.unique && !has_null(&layout.key, layout.declared_parts, key) {
                return Err(duplicate(layout, columns, row));
            }
        }
        self.builder.append(columns, 0..rows)?;
        self.progress.entries_written.fetch_add(rows as u64, Relaxed);
        Ok(())
    }

    fn finish(self) -> Result<(Arc<PageFile>, IndexStats)> {
        let (file, shape) = self.builder.finish()?;
        let distinct = self.prefixes.finish();
        Ok((file, IndexStats { distinct, leaf_pages: shape.leaf_pages, height: shape.height }))
    }
}
