//! Sorted runs on disk. A run file has no name: it is unlinked as soon as it is open, so it goes away with its last
//! handle, also when the process is killed. So no restart ever reads one, and runs are files of the operating system,
//! not of the store's [`crate::io::Disk`].
//!
//! ```text
//!   block:   | bytes u32 | CRC32C u32 | records |
//!   record:  | key bytes u32 | payload bytes u32 | key | payload |
//! ```
//!
//! Records do not cross blocks. A run knows how many records it has, so one that ends early is an error too.

use crate::{Result, StorageError};
use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

const BLOCK_HEADER_BYTES: usize = 8;
const RECORD_HEADER_BYTES: usize = 8;

/// A record: the key decides the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub key: &'a [u8],
    pub payload: &'a [u8],
}

/// A finished run.
#[derive(Debug)]
pub(super) struct SortedRun {
    file: File,
    path: PathBuf,
    records: u64,
}

/// Writes a run.
pub(super) struct RunWriter {
    run: SortedRun,
    block: Vec<u8>,
    block_bytes: usize,
    written: u64,
}

impl RunWriter {
    pub fn create(directory: &Path, block_bytes: usize) -> Result<RunWriter> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let n = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("sort-{}-{n}.run", std::process::id()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| StorageError::io(&path, e))?;
        std::fs::remove_file(&path).map_err(|e| StorageError::io(&path, e))?;
        let block = vec![0; BLOCK_HEADER_BYTES];
        Ok(RunWriter { run: SortedRun { file, path, records: 0 }, block, block_bytes, written: 0 })
    }

    pub fn push(&mut self, record: &Record) -> Result<()> {
        for n in [record.key.len(), record.payload.len()] {
            self.block.extend_from_slice(&(n as u32).to_le_bytes());
        }
        self.block.extend_from_slice(record.key);
        self.block.extend_from_slice(record.payload);
        self.run.records += 1;
        if self.block.len() >= self.block_bytes { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = self.block.len() - BLOCK_HEADER_BYTES;
        let checksum = crc32c::crc32c(&self.block[BLOCK_HEADER_BYTES..]);
        let length = u32::try_from(bytes).map_err(|_| StorageError::RowTooLarge { bytes, limit: u32::MAX as usize })?;
        self.block[..4].copy_from_slice(&length.to_le_bytes());
        self.block[4..8].copy_from_slice(&checksum.to_le_bytes());
        self.run.file.write_all_at(&self.block, self.written).map_err(|e| StorageError::io(&self.run.path, e))?;
        self.written += self.block.len() as u64;
        self.block.truncate(BLOCK_HEADER_BYTES);
        Ok(())
    }

    pub fn finish(mut self) -> Result<SortedRun> {
        if self.block.len() > BLOCK_HEADER_BYTES {
            self.flush()?;
        }
        Ok(self.run)
    }
}

/// Reads a run from its beginning, one block in memory.
pub(super) struct RunReader {
    run: SortedRun,
    block: Vec<u8>,
    block_number: u32,
    /// File offset of the next block.
    next: u64,
    /// The beginning of the current record in `block`; 0 before the first.
    at: usize,
    key_end: usize,
    end: usize,
    left: u64,
}

impl RunReader {
    pub fn new(run: SortedRun) -> RunReader {
        let left = run.records;
        RunReader { run, block: Vec::new(), block_number: 0, next: 0, at: 0, key_end: 0, end: 0, left }
    }

    /// Moves to the next record; `false` at the end.
    pub fn advance(&mut self) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        if self.end == self.block.len() {
            self.read_block()?;
        }
        let field = |i: usize| {
            let at = self.end + 4 * i;
            Some(u32::from_le_bytes(self.block.get(at..at + 4)?.try_into().ok()?) as usize)
        };
        let (Some(key), Some(payload)) = (field(0), field(1)) else {
            return Err(self.corrupt("a record is cut off"));
        };
        let at = self.end + RECORD_HEADER_BYTES;
        if at + key + payload > self.block.len() {
            return Err(self.corrupt("a record is longer than its block"));
        }
        (self.at, self.key_end, self.end) = (at, at + key, at + key + payload);
        self.left -= 1;
        Ok(true)
    }

    /// The record that the last successful `advance` moved to.
    pub fn record(&self) -> Record<'_> {
        Record { key: &self.block[self.at..self.key_end], payload: &self.block[self.key_end..self.end] }
    }

    fn read_block(&mut self) -> Result<()> {
        let mut header = [0; BLOCK_HEADER_BYTES];
        self.read_at_next(&mut header)?;
        let [length, checksum] = [0, 4].map(|i| u32::from_le_bytes([0, 1, 2, 3].map(|j: usize| header[i + j])));
        self.next += BLOCK_HEADER_BYTES as u64;
        let file_bytes = self.run.file.metadata().map_err(|e| StorageError::io(&self.run.path, e))?.len();
        if length == 0 || self.next + length as u64 > file_bytes {
            return Err(self.corrupt("a block is cut off"));
        }
        let mut block = std::mem::take(&mut self.block);
        block.resize(length as usize, 0);
        self.read_at_next(&mut block)?;
        self.next += length as u64;
        self.block = block;
        if crc32c::crc32c(&self.block) != checksum {
            return Err(self.corrupt("wrong checksum"));
        }
        self.block_number += 1;
        self.end = 0;
        Ok(())
    }

    fn read_at_next(&self, out: &mut [u8]) -> Result<()> {
        self.run.file.read_exact_at(out, self.next).map_err(|e| StorageError::io(&self.run.path, e))
    }

    fn corrupt(&self, reason: &str) -> StorageError {
        StorageError::Corrupt { path: self.run.path.clone(), page: self.block_number, reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(n: u32, directory: &Path) -> SortedRun {
        let mut writer = RunWriter::create(directory, 4096).unwrap();
        for i in 0..n {
            let key = i.to_be_bytes();
            writer.push(&Record { key: &key, payload: &vec![i as u8; i as usize % 50] }).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read_all(run: SortedRun) -> Result<u32> {
        let mut reader = RunReader::new(run);
        let mut n = 0u32;
        while reader.advance()? {
            let record = reader.record();
            assert_eq!(record.key, n.to_be_bytes());
            assert_eq!(record.payload, vec![n as u8; n as usize % 50]);
            n += 1;
        }
        Ok(n)
    }

    #[test]
    fn records_come_back_and_no_file_is_left() {
        let directory = tempfile::tempdir().unwrap();
        for n in [0, 1, 5000] {
            let run = run_of(n, directory.path());
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
            assert_eq!(read_all(run).unwrap(), n);
        }
    }

    #[test]
    fn a_flipped_bit_or_a_cut_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let run = run_of(5000, directory.path());
        let bytes = run.file.metadata().unwrap().len();
        for at in [0, 4, 9, bytes / 2, bytes - 1] {
            let run = run_of(5000, directory.path());
            let mut byte = [0];
            run.file.read_exact_at(&mut byte, at).unwrap();
            run.file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
            assert!(matches!(read_all(run), Err(StorageError::Corrupt { .. })), "bit at {at}");
        }
        run.file.set_len(bytes - 5).unwrap();
        assert!(matches!(read_all(run), Err(StorageError::Corrupt { .. })));
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        assert!(matches!(RunWriter::create(Path::new("/nonexistent"), 4096), Err(StorageError::Io { .. })));
    }
}
