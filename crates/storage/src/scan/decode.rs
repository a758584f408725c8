//! Latched rows to Arrow arrays. The filter's columns are decoded first, for all rows; the others only for those it
//! keeps.

use super::BatchFilter;
use crate::{
    Counters, Result, StorageError,
    tree::{LeafRows, Tree, TreeOverflow, leaf::decode::ColumnSink, leaf::decode::arrow_type, leaf::visible::Rows},
};
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use std::sync::Arc;

/// Stored columns of a tree, collected into a batch.
pub struct BatchSink {
    /// Stored column positions.
    columns: Vec<usize>,
    sinks: Vec<ColumnSink>,
    rows: usize,
    schema: SchemaRef,
    capacity: usize,
}

/// Stored positions of table columns in a tree, and the batch schema they make. The tree holds all of them.
pub fn stored_columns(tree: &Tree, table_columns: &[usize]) -> Result<(Vec<usize>, SchemaRef)> {
    let layout = tree.layout();
    let columns: Vec<usize> = table_columns
        .iter()
        .map(|c| {
            layout.column_of(*c).ok_or_else(|| StorageError::WrongType { value: format!("column {c} of this index") })
        })
        .collect::<Result<_>>()?;
    let fields: Vec<Field> = (columns.iter().zip(table_columns))
        .map(|(stored, c)| Field::new(format!("c{c}"), arrow_type(&layout.columns[*stored].ty), true))
        .collect();
    Ok((columns, Arc::new(Schema::new(fields))))
}

impl BatchSink {
    pub fn new(tree: &Tree, table_columns: &[usize], capacity: usize) -> Result<BatchSink> {
        let (columns, schema) = stored_columns(tree, table_columns)?;
        let mut sink = BatchSink { columns, sinks: Vec::new(), rows: 0, schema, capacity };
        sink.reset(tree);
        Ok(sink)
    }

    fn reset(&mut self, tree: &Tree) {
        let types = &tree.layout().columns;
        self.sinks = self.columns.iter().map(|c| ColumnSink::new(types[*c].ty, self.capacity)).collect();
        self.rows = 0;
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends rows of latched leaves.
    pub fn append(&mut self, tree: &Tree, parts: &[LeafRows], counters: &Counters) -> Result<()> {
        let overflow = TreeOverflow { tree, counters };
        for part in parts {
            let page_no = part.page.page_no();
            let leaf = tree.leaf(&part.page)?;
            for (stored, sink) in self.columns.iter().zip(&mut self.sinks) {
                let column = leaf.column(*stored, sink.physical()).map_err(|e| tree.decode_error(page_no, e.into()))?;
                sink.append(&column, &part.rows, &overflow).map_err(|e| tree.decode_error(page_no, e))?;
            }
            self.rows += part.rows.len();
        }
        Ok(())
    }

    /// What was collected, as a batch.
    pub fn take(&mut self, tree: &Tree) -> Result<RecordBatch> {
        let arrays = std::mem::take(&mut self.sinks).into_iter().map(ColumnSink::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|e| StorageError::WrongType { value: e.to_string() });
        self.reset(tree);
        batch
    }
}

/// Keeps the rows for which the filter is TRUE; `sink` is over the filter's columns.
pub fn keep_matching(
    tree: &Tree,
    parts: &mut Vec<LeafRows>,
    filter: &dyn BatchFilter,
    sink: &mut BatchSink,
    counters: &Counters,
) -> Result<()> {
    sink.append(tree, parts, counters)?;
    if sink.rows() == 0 {
        return Ok(());
    }
    let kept = filter.evaluate(&sink.take(tree)?)?;
    let kept = match kept.nulls() {
        Some(nulls) => kept.values() & nulls.inner(),
        None => kept.values().clone(),
    };
    let mut start = 0;
    for part in parts.iter_mut() {
        let count = part.rows.len();
        let slice = kept.slice(start, count);
        start += count;
        match slice.count_set_bits() {
            n if n == count => {}
            0 => part.rows = Rows::List(Vec::new()),
            _ => part.rows = part.rows.pick(slice.set_indices()),
        }
    }
    parts.retain(|p| !p.rows.is_empty());
    Ok(())
}
