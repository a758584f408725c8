//! Sorted rows on disk: their key is the last column.

use super::block::Block;
use crate::ops::spill::{SpillFile, SpillReader, SpillSpace, SpillWriter};
use arrow_array::{BinaryArray, RecordBatch, RecordBatchOptions, cast::AsArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use std::sync::Arc;

/// A finished run.
pub struct SortedRun {
    file: SpillFile,
    /// The schema of the rows, without the key.
    schema: SchemaRef,
    /// Memory of its largest block.
    pub block_bytes: usize,
}

/// Writes a run.
pub struct RunWriter {
    writer: SpillWriter,
    with_key: SchemaRef,
    schema: SchemaRef,
}

impl RunWriter {
    /// `schema`: of the rows. Errors of the file system.
    pub fn create(space: &SpillSpace, schema: &SchemaRef) -> Result<RunWriter> {
        let key = Arc::new(Field::new("key", DataType::Binary, false));
        let with_key = Arc::new(Schema::new(schema.fields().iter().cloned().chain([key]).collect::<Vec<_>>()));
        let writer = SpillWriter::create(space, &with_key)?;
        Ok(RunWriter { writer, with_key, schema: schema.clone() })
    }

    /// The next rows. Errors of the file system.
    pub fn write(&mut self, batch: &RecordBatch, keys: BinaryArray) -> Result<()> {
        let columns = batch.columns().iter().cloned().chain([Arc::new(keys) as _]).collect();
        self.writer.write(&RecordBatch::try_new(self.with_key.clone(), columns)?)
    }

    /// Errors of the file system.
    pub fn finish(self) -> Result<SortedRun> {
        let file = self.writer.finish()?;
        Ok(SortedRun { block_bytes: file.batch_bytes, file, schema: self.schema })
    }
}

/// Reads a run from its beginning.
pub struct RunReader {
    reader: SpillReader,
    schema: SchemaRef,
}

impl RunReader {
    /// Errors of the file system.
    pub fn open(run: &SortedRun) -> Result<RunReader> {
        Ok(RunReader { reader: run.file.open()?, schema: run.schema.clone() })
    }

    /// The next rows, `None` at the end. Errors of the file system.
    pub fn next(&mut self) -> Result<Option<Block>> {
        let Some(batch) = self.reader.next().transpose()? else { return Ok(None) };
        let mut columns = batch.columns().to_vec();
        let Some(keys) = columns.pop() else { return Ok(None) };
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        Ok(Some(Block::new(rows, keys.as_binary::<i32>().clone())))
    }
}
