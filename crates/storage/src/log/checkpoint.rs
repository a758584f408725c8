//! The file `CHECKPOINT`: where redo begins, and what else must be known before the log is read. Two blocks are written
//! in turn, so a write that was cut short leaves the checkpoint before.

use super::{Lsn, geometry::Geometry, segments::LogFiles};
use crate::{
    Result, StorageError,
    io::{AlignedBuf, IoFile, OpenMode},
    page::{u32_at, u64_at},
};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"MUSTCKPT";
const BLOCK: usize = 4096;
/// The version of the log's records: one that an older build would pass by without a word raises it, so that such a
/// build refuses the directory. Version 3 has changes of definitions.
const VERSION: u32 = 3;
/// The oldest version that is read.
const OLDEST_VERSION: u32 = 2;
/// The name of the file.
pub(crate) const NAME: &str = "CHECKPOINT";

/// The content of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// One more than the checkpoint before.
    pub number: u64,
    /// Redo begins here. A group begins here, or the log ends.
    pub redo: Lsn,
    /// The log was durable up to here. Groups from here on have this epoch or a higher one.
    pub synced: Lsn,
    /// Nobody needs the log before this: neither redo nor older versions of rows.
    pub oldest: Lsn,
    pub epoch: u32,
    pub geometry: Geometry,
    /// The random number by which the data directory is known.
    pub identity: u64,
    pub next_transaction: u64,
}

impl Checkpoint {
    fn encode(&self, block: &mut [u8]) {
        block.fill(0);
        block[..8].copy_from_slice(&MAGIC);
        block[12..16].copy_from_slice(&VERSION.to_le_bytes());
        block[16..24].copy_from_slice(&self.number.to_le_bytes());
        block[24..32].copy_from_slice(&self.redo.to_le_bytes());
        block[32..40].copy_from_slice(&self.synced.to_le_bytes());
        block[40..44].copy_from_slice(&self.epoch.to_le_bytes());
        block[44..48].copy_from_slice(&(self.geometry.segment_bytes() as u32).to_le_bytes());
        block[48..56].copy_from_slice(&self.identity.to_le_bytes());
        block[56..64].copy_from_slice(&self.next_transaction.to_le_bytes());
        block[64..72].copy_from_slice(&self.oldest.to_le_bytes());
        let crc = crc32c::crc32c(&block[12..]);
        block[8..12].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads a block. Errors: why it is none.
    fn decode(block: &[u8]) -> Result<Checkpoint, String> {
        if block[..8] != MAGIC {
            return Err("not a checkpoint".to_string());
        }
        if u32_at(block, 8) != crc32c::crc32c(&block[12..]) {
            return Err("wrong checksum".to_string());
        }
        let version = u32_at(block, 12);
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(format!("format {version}, this build reads {OLDEST_VERSION} to {VERSION}"));
        }
        let geometry = Geometry::new(u32_at(block, 44).into()).ok_or("impossible size of segments")?;
        let checkpoint = Checkpoint {
            number: u64_at(block, 16),
            redo: u64_at(block, 24),
            synced: u64_at(block, 32),
            oldest: u64_at(block, 64),
            epoch: u32_at(block, 40),
            geometry,
            identity: u64_at(block, 48),
            next_transaction: u64_at(block, 56),
        };
        if checkpoint.oldest > checkpoint.redo
            || checkpoint.redo > checkpoint.synced
            || !checkpoint.redo.is_multiple_of(8)
        {
            return Err("impossible positions".to_string());
        }
        Ok(checkpoint)
    }
}

/// The open file.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    files: LogFiles,
    file: IoFile,
    last: Checkpoint,
}

fn path(files: &LogFiles) -> PathBuf {
    files.directory.join(NAME)
}

impl CheckpointFile {
    /// Makes the file, durable with its name. A file that a crash left before the log was whole is replaced.
    pub fn create(files: &LogFiles, checkpoint: Checkpoint) -> Result<CheckpointFile> {
        let path = path(files);
        files.remove_if_there(&path)?;
        let file = files.disk.open(&path, OpenMode::CreateNew).map_err(|e| StorageError::io(&path, e))?;
        let mut blocks = AlignedBuf::zeroed(2 * BLOCK);
        checkpoint.encode(&mut blocks[place(checkpoint.number)..][..BLOCK]);
        files.write(&file, 0, &blocks)?;
        files.sync_file(&file)?;
        files.sync_directory()?;
        Ok(CheckpointFile { files: files.clone(), file, last: checkpoint })
    }

    /// Opens the file. Errors: `DamagedLog` if neither block is valid, I/O.
    pub fn open(files: &LogFiles) -> Result<CheckpointFile> {
        let path = path(files);
        let file = files.disk.open(&path, OpenMode::Existing).map_err(|e| StorageError::io(&path, e))?;
        let damaged = |reason| StorageError::DamagedLog { path: path.clone(), offset: 0, reason };
        let len = files.disk.file_len(&file).map_err(|e| StorageError::io(&path, e))?;
        if len < 2 * BLOCK as u64 {
            return Err(damaged(format!("the file is cut short: {len} bytes")));
        }
        let mut blocks = AlignedBuf::zeroed(2 * BLOCK);
        files.read(&file, 0, &mut blocks)?;
        let (first, second) = blocks.split_at(BLOCK);
        let last = match (Checkpoint::decode(first), Checkpoint::decode(second)) {
            (Ok(a), Ok(b)) => {
                if a.number > b.number {
                    a
                } else {
                    b
                }
            }
            (Ok(valid), Err(_)) | (Err(_), Ok(valid)) => valid,
            (Err(a), Err(b)) => return Err(damaged(format!("neither checkpoint is valid: {a}; {b}"))),
        };
        Ok(CheckpointFile { files: files.clone(), file, last })
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn last(&self) -> Checkpoint {
        self.last
    }

    /// Writes the next checkpoint, durably; its number is given here. After an error either of the two may
    /// count after a crash, and the next attempt writes to the same block.
    pub fn write(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let checkpoint = Checkpoint { number: self.last.number + 1, ..checkpoint };
        let mut block = AlignedBuf::zeroed(BLOCK);
        checkpoint.encode(&mut block);
        self.files.write(&self.file, place(checkpoint.number) as u64, &block)?;
        self.files.sync_file(&self.file)?;
        self.last = checkpoint;
        Ok(())
    }
}

/// The place of the block that a checkpoint is written to.
fn place(number: u64) -> usize {
    (number % 2) as usize * BLOCK
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
