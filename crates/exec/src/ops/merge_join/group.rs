//! The right rows of one key, to be read again for each batch of left rows that has it.

use crate::ops::{
    compact::{compact, held_bytes},
    spill::{SpillFile, SpillReader, SpillSpace, SpillWriter},
};
use arrow_array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;

/// Takes rows in.
pub struct GroupWriter<'a> {
    space: &'a SpillSpace,
    memory: &'a MemoryReservation,
    batches: Vec<RecordBatch>,
    file: Option<SpillWriter>,
}

impl<'a> GroupWriter<'a> {
    /// `memory`: an empty reservation.
    pub fn new(space: &'a SpillSpace, memory: &'a MemoryReservation) -> GroupWriter<'a> {
        GroupWriter { space, memory, batches: Vec::new(), file: None }
    }

    /// Errors of the file system.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        if let Some(file) = &mut self.file {
            return file.write(rows);
        }
        let rows = compact(rows)?;
        let refused = self.memory.try_grow(held_bytes(&rows)).is_err();
        self.batches.push(rows);
        if refused {
            let mut file = SpillWriter::create(self.space, &self.batches[0].schema())?;
            for batch in std::mem::take(&mut self.batches) {
                file.write(&batch)?;
            }
            self.file = Some(file);
            self.memory.free();
        }
        Ok(())
    }

    /// Errors of the file system.
    pub fn finish(self) -> Result<Group> {
        Ok(match self.file {
            Some(file) => Group::File(file.finish()?),
            None => Group::Memory(self.batches),
        })
    }
}

/// The rows.
pub enum Group {
    Memory(Vec<RecordBatch>),
    File(SpillFile),
}

impl Group {
    /// Reads from the beginning. Errors of the file system.
    pub fn read(&self) -> Result<GroupReader> {
        Ok(match self {
            Group::Memory(batches) => GroupReader::Memory(batches.clone().into_iter()),
            Group::File(file) => GroupReader::File(Box::new(file.open()?)),
        })
    }
}

/// Batches of a group.
pub enum GroupReader {
    Memory(std::vec::IntoIter<RecordBatch>),
    File(Box<SpillReader>),
}

impl GroupReader {
    /// Errors of the file system.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            GroupReader::Memory(batches) => Ok(batches.next()),
            GroupReader::File(reader) => reader.next().transpose(),
        }
    }
}
