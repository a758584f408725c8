//! Reads a tree from its first row to its last, some of its stored columns, in batches.

use crate::{
    Counters, ReadView, Result, Table,
    key::ByteRange,
    tree::{
        LeafRun, Tree, TreeOverflow,
        page::leaf::{decode::ColumnSink, visible::visible},
    },
};
use arrow_array::ArrayRef;
use std::{ops::Deref, sync::Arc};

/// Rows of a batch, a few more at most.
const BATCH_ROWS: usize = 8192;
/// Leaves latched at a time, at most, and the share of the pool's frames that they may be.
const LEAVES: usize = 32;
const FRAMES_PER_LEAF: usize = 32;
/// Leaves read ahead.
const READ_AHEAD_LEAVES: usize = 128;

/// A tree that is read: one of a table, or one that was just built.
#[derive(Clone)]
pub(super) enum LoadSource {
    Table { table: Arc<Table>, index: usize },
    Built(Arc<Tree>),
}

impl Deref for LoadSource {
    type Target = Tree;
    fn deref(&self) -> &Tree {
        match self {
            LoadSource::Table { table, index } => table.tree(*index),
            LoadSource::Built(tree) => tree,
        }
    }
}

pub(super) struct TreeReader {
    tree: LoadSource,
    run: LeafRun,
    /// Positions among the tree's stored columns.
    columns: Vec<usize>,
    counters: Arc<Counters>,
}

impl TreeReader {
    pub fn new(tree: LoadSource, columns: Vec<usize>, counters: Arc<Counters>) -> Result<TreeReader> {
        let (mut run, rest) = tree.plan(ByteRange::default(), false, READ_AHEAD_LEAVES, &counters)?;
        run.continue_with(rest);
        Ok(TreeReader { tree, run, columns, counters })
    }

    /// The next rows; `None` at the end, never an empty batch.
    pub fn next_batch(&mut self) -> Result<Option<Vec<ArrayRef>>> {
        let stored = &self.tree.layout().columns;
        let mut sinks: Vec<ColumnSink> =
            self.columns.iter().map(|c| ColumnSink::new(stored[*c].ty, BATCH_ROWS + BATCH_ROWS / 4)).collect();
        let overflow = TreeOverflow { tree: &self.tree, view: None, counters: &self.counters };
        let at_once = LEAVES.min(self.tree.pool().frame_count() / FRAMES_PER_LEAF).max(1);
        let mut rows_read = 0;
        while rows_read < BATCH_ROWS {
            let leaves = self.tree.next_leaves(&mut self.run, &ReadView::latest(), at_once, &self.counters)?;
            let upcoming = self.run.upcoming();
            let ahead = &upcoming[..upcoming.len().min(READ_AHEAD_LEAVES)];
            self.tree.pool().prefetch(self.tree.file(), ahead, &self.counters);
            if leaves.is_empty() {
                break;
            }
            for slice in leaves {
                let page = slice.page.page_no();
                let leaf = self.tree.leaf(&slice.page)?;
                let corrupt = |e| self.tree.decode_error(page, e);
                let rows = visible(&leaf, slice.rows).map_err(|e| corrupt(e.into()))?;
                for (sink, column) in sinks.iter_mut().zip(&self.columns) {
                    let column = leaf.column(*column, stored[*column].physical).map_err(|e| corrupt(e.into()))?;
                    sink.append(&column, &rows, &overflow).map_err(corrupt)?;
                }
                rows_read += rows.len();
            }
        }
        Ok((rows_read > 0).then(|| sinks.into_iter().map(ColumnSink::finish).collect()))
    }
}
