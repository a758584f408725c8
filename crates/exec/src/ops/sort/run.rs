//! Sorted rows on disk: an Arrow IPC stream whose last column is the key. The file has no name: it is unlinked as soon
//! as it is open, so it goes away with its last handle, also when the process is killed.

use super::block::Block;
use crate::ops::compact::held_bytes;
use arrow_array::{Array, BinaryArray, RecordBatch, RecordBatchOptions, cast::AsArray};
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use std::{
    fs::{File, OpenOptions},
    io::{BufReader, BufWriter, Seek},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// A finished run.
pub struct Run {
    file: File,
    /// Of the rows, without the key.
    schema: SchemaRef,
    /// Memory of its largest block.
    pub block_bytes: usize,
}

/// Writes a run.
pub struct RunWriter {
    writer: StreamWriter<BufWriter<File>>,
    with_key: SchemaRef,
    schema: SchemaRef,
    block_bytes: usize,
}

impl RunWriter {
    /// `schema`: of the rows. Errors of the file system.
    pub fn create(directory: &Path, schema: &SchemaRef) -> Result<RunWriter> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("order-{}-{}.run", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = directory.join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        let key = Arc::new(Field::new("key", DataType::Binary, false));
        let with_key = Arc::new(Schema::new(schema.fields().iter().cloned().chain([key]).collect::<Vec<_>>()));
        let writer = StreamWriter::try_new(BufWriter::new(file), &with_key)?;
        Ok(RunWriter { writer, with_key, schema: schema.clone(), block_bytes: 0 })
    }

    /// The next rows. Errors of the file system.
    pub fn write(&mut self, batch: &RecordBatch, keys: BinaryArray) -> Result<()> {
        self.block_bytes = self.block_bytes.max(held_bytes(batch) + keys.get_buffer_memory_size());
        let columns = batch.columns().iter().cloned().chain([Arc::new(keys) as _]).collect();
        self.writer.write(&RecordBatch::try_new(self.with_key.clone(), columns)?)?;
        Ok(())
    }

    /// Errors of the file system.
    pub fn finish(mut self) -> Result<Run> {
        self.writer.finish()?;
        let mut file = self.writer.into_inner()?.into_inner().map_err(|e| e.into_error())?;
        file.rewind()?;
        Ok(Run { file, schema: self.schema, block_bytes: self.block_bytes })
    }
}

/// Reads a run from its beginning.
pub struct RunReader {
    reader: StreamReader<BufReader<File>>,
    schema: SchemaRef,
}

impl RunReader {
    /// Errors of the file system.
    pub fn open(run: Run) -> Result<RunReader> {
        Ok(RunReader { reader: StreamReader::try_new(BufReader::new(run.file), None)?, schema: run.schema })
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
