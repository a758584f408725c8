//! Batches on disk: an Arrow IPC stream in a file without a name. It is unlinked as soon as it is open, so it goes away
//! with its last handle, also when the process is killed.

use super::SpillSpace;
use crate::counters::OperatorCounter;
use crate::ops::compact::{compact, held_bytes};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, BufWriter, Read},
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// A finished file. It can be read any number of times, also at once.
#[derive(Debug, Clone)]
pub struct SpillFile {
    file: Arc<File>,
    /// Memory of its largest batch.
    pub batch_bytes: usize,
    /// Memory of all its batches.
    pub bytes: usize,
    pub rows: usize,
}

/// Writes a file.
pub struct SpillWriter {
    writer: StreamWriter<BufWriter<File>>,
    schema: SchemaRef,
    batch_bytes: usize,
    bytes: usize,
    rows: usize,
}

impl SpillWriter {
    /// Errors of the file system.
    pub fn create(space: &SpillSpace, schema: &SchemaRef) -> Result<SpillWriter> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("spill-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = space.temp_dir.join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        space.counters.add(OperatorCounter::spill_files, 1);
        let writer = StreamWriter::try_new(BufWriter::new(file), schema)?;
        Ok(SpillWriter { writer, schema: schema.clone(), batch_bytes: 0, bytes: 0, rows: 0 })
    }

    /// The next rows. Errors of the file system.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = compact(batch)?;
        let bytes = held_bytes(&batch);
        self.batch_bytes = self.batch_bytes.max(bytes);
        self.bytes += bytes;
        self.rows += batch.num_rows();
        // Whoever made it may have named its fields otherwise.
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &options)?;
        Ok(self.writer.write(&batch)?)
    }

    /// Errors of the file system.
    pub fn finish(mut self) -> Result<SpillFile> {
        self.writer.finish()?;
        let file = self.writer.into_inner()?.into_inner().map_err(|e| e.into_error())?;
        Ok(SpillFile { file: Arc::new(file), batch_bytes: self.batch_bytes, bytes: self.bytes, rows: self.rows })
    }
}

impl SpillFile {
    /// Reads from the beginning. Errors of the file system.
    pub fn open(&self) -> Result<SpillReader> {
        let from = FromStart { file: self.file.clone(), at: 0 };
        Ok(SpillReader(StreamReader::try_new(BufReader::new(from), None)?))
    }
}

/// The batches of a file.
pub struct SpillReader(StreamReader<BufReader<FromStart>>);

impl Iterator for SpillReader {
    type Item = Result<RecordBatch>;

    /// Errors of the file system.
    fn next(&mut self) -> Option<Result<RecordBatch>> {
        Some(self.0.next()?.map_err(Into::into))
    }
}

/// A file with a position of its own.
struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(into, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, StringViewArray};

    #[test]
    fn a_file_is_read_twice_at_once_and_has_no_name() {
        let temp = tempfile::tempdir().unwrap();
        let texts =
            |n: usize| -> ArrayRef { Arc::new((0..n).map(|i| Some(format!("{i:0>50}"))).collect::<StringViewArray>()) };
        let whole = RecordBatch::try_from_iter([("t", texts(10_000))]).unwrap();
        let space = SpillSpace { temp_dir: temp.path().to_path_buf(), block_bytes: 4096, counters: Arc::default() };
        let mut writer = SpillWriter::create(&space, &whole.schema()).unwrap();
        assert_eq!(space.counters.operators().spill_files(), 1);
        let parts = [whole.slice(0, 10), whole.slice(500, 300)];
        parts.iter().for_each(|part| writer.write(part).unwrap());
        let file = writer.finish().unwrap();
        assert_eq!(file.rows, 310);
        assert!(file.bytes < 310 * 200, "{}: only what is used", file.bytes);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
        let (first, second) = (file.open().unwrap(), file.open().unwrap());
        let pairs: Vec<_> = first.zip(second).map(|(a, b)| (a.unwrap(), b.unwrap())).collect();
        assert_eq!(pairs, parts.map(|p| (p.clone(), p)));
    }
}
